//! `overlaid init`

use std::path::Path;

use serde_json::json;

use crate::id::Name;
use crate::io::scaffold;

use super::{Answer, Context, Failure, Tone, Ui};

const HEADER: &str = include_str!("../../templates/kernel-test/kernel_test.h");
const MODULE: &str = include_str!("../../templates/kernel-test/kernel_test.py");
const CPP: &str = include_str!("../../templates/kernel-test/start/test.cpp");
const PYTHON: &str = include_str!("../../templates/kernel-test/start/test.py");
const LISTS: &str = include_str!("../../templates/kernel-test/start/CMakeLists.txt");

/// Where tests begin.
const FOLDER: &str = "tests/kernels";

/// Start something new in your repository
///
/// --test NAME starts a kernel test: tests/kernels/NAME.cpp with the header kernel_test.h beside it and an entry in the
/// CMakeLists.txt there, or with --python tests/kernels/NAME.py and the module kernel_test.py. It prints the table to
/// add to the manifest. A file that is there is not written over.
///
/// Exit codes: 0 done. 2 the test is there already.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Start a kernel test of this name
    #[arg(long, value_name = "NAME", required = true, value_parser = super::parse_name)]
    test: Name,
    /// In Python
    #[arg(long, requires = "test")]
    python: bool,
}

/// Runs the command.
///
/// # Errors
/// If the test is there already, or a file cannot be written.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let target = args.test.as_str().replace(['-', '.', '+'], "_");
    let folder = Path::new(FOLDER);
    let (source, text, helper) = match args.python {
        true => (folder.join(format!("{target}.py")), PYTHON, ("kernel_test.py", MODULE)),
        false => (folder.join(format!("{target}.cpp")), CPP, ("kernel_test.h", HEADER)),
    };
    if scaffold::exists(&context.root.join(&source)) {
        return Err(Failure::input(format!("`{}` is there already", source.display()))
            .with_hint("choose another name; nothing was written"));
    }
    let mut written = Vec::new();
    let mut kept = Vec::new();
    let mut create = |file: &Path, text: &str| -> Result<bool, Failure> {
        let created = scaffold::create(&context.root.join(file), text)
            .map_err(|error| Failure::environment(format!("{}: {error}", file.display())))?;
        if created { &mut written } else { &mut kept }.push(file.display().to_string());
        Ok(created)
    };
    create(&source, text)?;
    create(&folder.join(helper.0), helper.1)?;
    let mut by_hand = None;
    if !args.python {
        let lists = folder.join("CMakeLists.txt");
        let line = format!("kernel_test({target})");
        let is_ours = create(&lists, &format!("{LISTS}{line}\n"))?;
        let known = scaffold::read(&context.root.join(&lists)).unwrap_or_default();
        if !is_ours && known.contains("function(kernel_test") {
            let added = scaffold::add_line(&context.root.join(&lists), &line)
                .map_err(|error| Failure::environment(format!("{}: {error}", lists.display())))?;
            if added {
                kept.retain(|file| *file != lists.display().to_string());
                written.push(lists.display().to_string());
            }
        } else if !is_ours {
            by_hand = Some(format!("add a target `{target}` for {target}.cpp to {}", lists.display()));
        }
    }
    let table = table(&args.test, &target, args.python);
    if ui.is_json() {
        ui.document(&json!({
            "schema": "overlaid.init.v1",
            "written": written,
            "kept": kept,
            "manifest": table,
            "by-hand": by_hand,
        }));
        return Ok(Answer::Yes);
    }
    for file in &written {
        ui.line(format_args!("{} {file}", Tone::Good.paint("wrote")));
    }
    for file in &kept {
        ui.line(format_args!("kept  {file}: it was there"));
    }
    if let Some(by_hand) = by_hand {
        ui.line(format_args!("{by_hand}"));
    }
    ui.line(format_args!(
        "\nadd this to the manifest, and tests = [\"{}\"] to the overlays that it is for:\n\n{table}",
        args.test
    ));
    Ok(Answer::Yes)
}

/// What the manifest says of the test.
fn table(name: &Name, target: &str, python: bool) -> String {
    match python {
        true => format!(
            "[profile.python]\npython-path = [\".\"]          # folders of the upstream to import from\n\n[[test]]\n\
             name     = \"{name}\"\ncommand  = [\"python3\", \"{{repository}}/{FOLDER}/{target}.py\"]\n\
             sources  = [\"{FOLDER}/{target}.py\", \"{FOLDER}/kernel_test.py\"]\nprofiles = [\"python\"]"
        ),
        false => format!(
            "[[test]]\nname    = \"{name}\"\nproject = \"{FOLDER}\"\ntarget  = \"{target}\"\n\
             command = [\"{{build}}/{target}\"]\n\
             sources = [\"{FOLDER}/CMakeLists.txt\", \"{FOLDER}/{target}.cpp\", \"{FOLDER}/kernel_test.h\"]"
        ),
    }
}
