//! The manuals: every command in them is run, in a repository as `scripts/tutorial` makes it, or a comment before it says why
//! not. What they show as output is what comes out. Every `overlaid ...` in them is one that the program parses.
//!
//! Before a block of commands can stand
//!
//!     <!-- not run: WHY -->      it is not run, and why; readers do not see that
//!     <!-- ends: 0 3 -->         the exit codes of its commands, if one of them is not 0
//!
//!     <!-- file: PATH -->        the block is what this file has
//!
//! A `text` block after a block of one command is what that prints; a line `...` in it stands for any lines, and `...` at the end
//! of a line for its rest.

mod page;
mod words;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;

use crate::support::{Project, Run, command, write};
use page::{Block, Page};

/// Pages with a test of their own, or that are made by the program.
const ELSEWHERE: [&str; 1] = ["docs/cookbook.md"];

/// The first line of a lock file, and any command.
const NO_COMMANDS: [&str; 2] = ["overlaid lock 1", "overlaid ..."];

fn top() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> Page {
    Page::read(
        name,
        &std::fs::read_to_string(top().join(name)).unwrap_or_else(|error| panic!("{name}: {error}")),
    )
}

/// Where the commands of a page are run: what the tutorial starts from, with a home, a name, and an editor that changes nothing.
struct Place {
    project: Project,
    /// The folder that a reader is in.
    folder: PathBuf,
}

impl Place {
    fn new() -> Self {
        let project = Project::new();
        let made = command(top().join("scripts/tutorial"))
            .arg(project.path().join("ours"))
            .output()
            .expect("a shell");
        assert!(made.status.success(), "{made:?}");
        let folder = project.path().join("ours");
        Self { project, folder }
    }

    /// Runs a line, in the folder that the one before led to.
    fn run(&mut self, line: &str) -> Run {
        let to = self.project.path().join("folder");
        let script = format!("{line}\ncode=$?\npwd > {}\nexit $code", to.display());
        let bin = Path::new(env!("CARGO_BIN_EXE_overlaid")).parent().expect("it lies in a folder");
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(bin.to_owned()).chain(std::env::split_paths(&paths));
        let home = self.project.path().join("home");
        std::fs::create_dir_all(&home).unwrap();
        let output = command("sh")
            .args(["-c", &script])
            .current_dir(&self.folder)
            .env("PATH", std::env::join_paths(paths).expect("a PATH"))
            .env("HOME", &home)
            .env("XDG_CACHE_HOME", self.project.path().join("cache"))
            .env("EDITOR", "true")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Ada")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "ada@example.org")))
            .output()
            .expect("a shell");
        if let Ok(folder) = std::fs::read_to_string(&to) {
            self.folder = folder.trim_end().into();
        }
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs the commands of a page one after the other, as a reader does.
fn follow(name: &str) {
    let page = read(name);
    let mut place = None;
    for block in page.blocks.iter().filter(|block| block.not_run.is_none()) {
        if let Some(file) = &block.file {
            let place = place.get_or_insert_with(Place::new);
            write(&place.folder.join(file), &block.text);
        } else if block.is_commands() {
            follow_block(name, block, place.get_or_insert_with(Place::new));
        }
    }
}

fn follow_block(name: &str, block: &Block, place: &mut Place) {
    let commands = block.lines();
    assert!(!commands.is_empty(), "{name}:{}: no command", block.line);
    let codes = block.exit_codes(commands.len());
    for (at, (line, code)) in commands.iter().zip(codes).enumerate() {
        let run = place.run(line);
        assert_eq!(run.code, code, "{name}:{}: {line}\n{}\n{}", block.line, run.stdout, run.stderr);
        if let (Some(shown), true) = (&block.output, at + 1 == commands.len()) {
            let complaint = page::difference(shown, &run.stdout);
            let all = &run.stdout;
            assert_eq!(complaint, None, "{name}:{}: {line} prints\n{all}", block.line);
        }
    }
}

macro_rules! followed {
    ($($test:ident: $page:literal,)*) => {
        $(#[test]
        fn $test() {
            follow($page);
        })*

        const FOLLOWED: &[&str] = &[$($page,)*];
    };
}

followed! {
    the_readme: "README.md",
    adopting: "docs/adopting.md",
    architecture: "docs/architecture.md",
    builds: "docs/build-integration.md",
    bump: "docs/bump.md",
    cuda: "docs/cuda.md",
    daily_work: "docs/daily.md",
    evidence: "docs/evidence.md",
    findings: "docs/findings.md",
    gpu: "docs/gpu.md",
    integrations: "docs/integrations.md",
    lock: "docs/lock.md",
    the_manifest: "docs/manifest.md",
    the_page: "docs/page.md",
    reports: "docs/reports.md",
    sanitizers: "docs/sanitizers.md",
    states: "docs/states.md",
    stories: "docs/stories.md",
    trees: "docs/trees.md",
    trust: "docs/trust.md",
    tutorial: "docs/tutorial.md",
    verdicts: "docs/verdicts.md",
    example_rowops: "examples/rowops/README.md",
    example_tileattn: "examples/tileattn/README.md",
    kernel_tests: "templates/kernel-test/README.md",
}

#[test]
fn every_manual_is_followed_and_linked_from_the_readme() {
    let manuals = std::fs::read_dir(top().join("docs")).unwrap();
    let manuals = manuals.map(|entry| format!("docs/{}", entry.unwrap().file_name().into_string().unwrap()));
    let manuals: BTreeSet<String> = manuals.filter(|name| name.ends_with(".md")).collect();
    let known: BTreeSet<&str> = FOLLOWED.iter().chain(&ELSEWHERE).copied().collect();
    let readme = std::fs::read_to_string(top().join("README.md")).unwrap();
    for manual in &manuals {
        assert!(known.contains(manual.as_str()), "{manual}: add it to tests/manuals.rs");
        assert!(readme.contains(&format!("]({manual})")), "README.md has no link to {manual}");
    }
}

#[test]
fn every_command_line_of_the_manuals_is_one_that_the_program_knows() {
    let definition = overlaid::cli::definition();
    let mut wrong = Vec::new();
    let mut seen = 0;
    for name in FOLLOWED.iter().chain(&ELSEWHERE) {
        let page = read(name);
        let whole =
            page.commands().flat_map(|block| block.lines().into_iter().map(|line| (block.line, line, true)));
        let mentioned = page.mentioned.iter().map(|(line, text)| (*line, text.clone(), false));
        let all = whole.chain(mentioned).filter(|(_, text, _)| !NO_COMMANDS.contains(&text.as_str()));
        for (line, text, is_whole) in all {
            for words in words::of_program(&text, "overlaid") {
                seen += 1;
                let Err(error) = definition.clone().try_get_matches_from(&words) else { continue };
                if !is_fine(error.kind(), &words, is_whole) {
                    wrong.push(format!("{name}:{line}: {text}\n    {}", error.to_string().trim()));
                }
            }
        }
    }
    assert!(seen > 100, "{seen}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A command that a sentence mentions need not be whole, and words in capitals stand for something.
fn is_fine(kind: ErrorKind, words: &[String], is_whole: bool) -> bool {
    let has_placeholder =
        words.iter().any(|word| word.len() > 2 && word.bytes().all(|b| b.is_ascii_uppercase() || b == b'-'));
    match kind {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::MissingRequiredArgument | ErrorKind::MissingSubcommand => !is_whole,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => !is_whole,
        ErrorKind::InvalidValue => has_placeholder || !is_whole,
        ErrorKind::ValueValidation => has_placeholder,
        _ => false,
    }
}

#[test]
fn no_command_of_the_manuals_hides_in_an_indented_block() {
    let programs = ["overlaid", "make", "git", "cd", "pip", "cargo", "mkdir", "cp", "npm", "scripts/", "./"];
    for name in FOLLOWED.iter().chain(&ELSEWHERE) {
        for (line, text) in read(name).indented {
            let first = text.trim_start().trim_start_matches("$ ").split(' ').next().unwrap_or_default();
            let is_command = programs
                .iter()
                .any(|program| first == *program || (program.ends_with('/') && first.starts_with(program)));
            assert!(!is_command, "{name}:{line}: put commands into a block that begins with ```sh: {text}");
        }
    }
}

#[test]
fn a_page_is_taken_apart_into_what_is_run_and_what_is_shown() {
    let page = Page::read(
        "a.md",
        "Say `overlaid status`.\n\n```sh\noverlaid test \\\n    --at pin  # twice\n\ntrue\n```\n\n```text\none\n...\nthe end ...\n```\n\n\
         <!-- not run: needs a GPU -->\n```sh\nmake test-gpu\n```\n\n<!-- ends: 1 -->\n```sh\nfalse\n```\n\n    overlaid apply\n",
    );
    let blocks: Vec<&Block> = page.commands().collect();
    assert_eq!(blocks[0].lines(), ["overlaid test     --at pin  # twice", "true"]);
    assert_eq!(blocks[0].exit_codes(2), [0, 0]);
    let shown = blocks[0].output.as_deref().unwrap();
    assert_eq!(page::difference(shown, "one\ntwo\nthree\nthe end of it\n"), None);
    assert!(page::difference(shown, "one\ntwo\n").unwrap().contains("the end"));
    assert!(page::difference(shown, "two\nthe end\n").unwrap().contains("one"));
    assert!(page::difference("one\n", "one\ntwo\n").unwrap().contains("two"));
    assert_eq!(blocks[1].not_run.as_deref(), Some("needs a GPU"));
    assert_eq!(blocks[2].exit_codes(1), [1]);
    assert_eq!(page.indented, [(26, "    overlaid apply".to_owned())]);
    assert_eq!(page.mentioned, [(1, "overlaid status".to_owned())]);
}

#[test]
fn a_command_line_is_taken_apart_as_a_shell_does() {
    let words = |line: &str| words::of_program(line, "overlaid");
    let one = |line: &str| words(line).into_iter().next().unwrap().join("|");
    assert_eq!(one("overlaid test a --case '{\"x\": 1}' # why"), "overlaid|test|a|--case|{\"x\": 1}");
    assert_eq!(one("overlaid cmake > cmake/Overlaid.cmake"), "overlaid|cmake");
    assert_eq!(one("X=1 overlaid status"), "overlaid|status");
    assert_eq!(words("git status && overlaid apply; overlaid verify | head").len(), 2);
    assert!(words("echo overlaid").is_empty() && words("overlaid-x status").is_empty());
}

/// The folder of the sample is not this repository.
#[test]
fn the_tutorial_starts_from_a_repository_that_asks_for_no_gpu() {
    let mut place = Place::new();
    let manifest = place.run("cat manifests/rowops.toml").stdout;
    assert!(!manifest.contains("[profile.cuda]") && !manifest.contains("sanitizers"), "{manifest}");
    assert!(manifest.contains("[profile.cpu]") && manifest.contains("\"rms-norm-sweep\""));
    assert_eq!(place.run("git status --porcelain").stdout, "");
    let again =
        command(top().join("scripts/tutorial")).arg(PathBuf::from(place.project.path())).output().unwrap();
    assert_eq!(again.status.code(), Some(2), "{again:?}");
}
