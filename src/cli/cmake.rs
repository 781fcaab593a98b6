//! `overlaid cmake`

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::cmake_script::{CONFIG, CONFIG_VERSION, MODULE};
use crate::io::own_files::write_new;

use super::{Answer, Failure, Ui};

/// Print or install the CMake module
///
/// The module has one command, overlaid_fetch(NAME mlx MANIFEST manifests/mlx.toml).
/// It gives FetchContent a source directory that is pinned and overlaid, and
/// configures again when the manifest or an overlay changes.
///
/// Keep a copy in your repository and include it:
///
///   overlaid cmake > cmake/Overlaid.cmake
///
/// or install it for find_package(Overlaid), for example next to the program:
///
///   overlaid cmake --install ~/.local
///
/// Needs CMake 3.20 or later.
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// Write the files of find_package(Overlaid) into DIR/lib/cmake/Overlaid
    #[arg(long, value_name = "DIR")]
    install: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// If a file cannot be written.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let Some(prefix) = &args.install else {
        if ui.is_json() {
            ui.document(&json!({ "schema": "overlaid.cmake.v1", "module": MODULE }));
        } else {
            ui.bytes(MODULE.as_bytes());
        }
        return Ok(Answer::Yes);
    };
    let folder = prefix.join("lib/cmake/Overlaid");
    let version = CONFIG_VERSION.replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    let files = [
        ("Overlaid.cmake", MODULE),
        ("OverlaidConfig.cmake", CONFIG),
        ("OverlaidConfigVersion.cmake", &version),
    ];
    for (name, text) in files {
        write(&folder.join(name), text)?;
    }
    if ui.is_json() {
        let names = files.map(|(name, _)| name);
        ui.document(&json!({ "schema": "overlaid.cmake.v1", "folder": folder, "files": names }));
    } else {
        ui.line(format_args!("{}: {} files", folder.display(), files.len()));
    }
    Ok(Answer::Yes)
}

fn write(file: &Path, text: &str) -> Result<(), Failure> {
    write_new(file, text.as_bytes())
        .map_err(|error| Failure::environment(format!("cannot write `{}`", file.display())).caused_by(error))
}
