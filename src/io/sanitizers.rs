//! Where NVIDIA's compute-sanitizer is, and how it is called.
//!
//! Decides nothing about what it finds: `kernel_test::sanitizer` reads that.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::process::Environment;

const PROGRAM: &str = "compute-sanitizer";

/// The program: on `PATH`, or in the toolkit whose compiler `CUDACXX` or `CUDA_PATH` names, or nvcc's on `PATH`.
#[must_use]
pub fn find(env: &Environment) -> Option<PathBuf> {
    let found = env.find(Path::new(PROGRAM)).filter(|file| file.is_file());
    found.or_else(|| toolkits(env).iter().find_map(|toolkit| in_toolkit(toolkit)))
}

/// Folders of CUDA toolkits, the more certain ones first.
fn toolkits(env: &Environment) -> Vec<PathBuf> {
    let nvcc = env.get("CUDACXX").map_or_else(|| PathBuf::from("nvcc"), PathBuf::from);
    let nvcc = env.find(&nvcc).map(|nvcc| nvcc.canonicalize().unwrap_or(nvcc));
    // `nvcc` stands in `bin`.
    let of_nvcc = nvcc.and_then(|nvcc| Some(nvcc.parent()?.parent()?.to_owned()));
    let named = env.get("CUDA_PATH").map(PathBuf::from);
    of_nvcc.into_iter().chain(named).chain([PathBuf::from("/usr/local/cuda")]).collect()
}

/// In `bin` stands a script that starts the program in a folder of its own; in some packages there is only that.
fn in_toolkit(toolkit: &Path) -> Option<PathBuf> {
    let places =
        ["bin", "compute-sanitizer", "extras/compute-sanitizer", "cuda_sanitizer_api/compute-sanitizer"];
    places.iter().map(|place| toolkit.join(place).join(PROGRAM)).find(|file| file.is_file())
}

/// A command, watched by one of its tools; the findings go to `report` as XML. A kernel that did something wrong is
/// ended, so that what it would have done next is not reported as well.
#[must_use]
pub fn command(program: &Path, tool: &str, report: &Path, watched: &[OsString]) -> Vec<OsString> {
    let mut command: Vec<OsString> = vec![program.into()];
    command.extend(["--tool", tool, "--xml", "--save"].map(OsString::from));
    command.push(report.into());
    command.extend(["--destroy-on-device-error", "kernel", "--target-processes", "all"].map(OsString::from));
    command.extend(watched.iter().cloned());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_found_beside_the_compiler() {
        let top = std::env::temp_dir().join(format!("overlaid-sanitizers-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&top);
        for file in ["toolkit/bin/nvcc", "toolkit/compute-sanitizer/compute-sanitizer"] {
            std::fs::create_dir_all(top.join(file).parent().unwrap()).unwrap();
            std::fs::write(top.join(file), "").unwrap();
        }
        let top = top.canonicalize().unwrap();
        let mut env = Environment::empty();
        env.set("PATH", "/nowhere");
        env.set("CUDACXX", top.join("toolkit/bin/nvcc"));
        assert_eq!(find(&env), Some(top.join("toolkit/compute-sanitizer/compute-sanitizer")));
        env.set("CUDACXX", top.join("elsewhere/bin/nvcc"));
        assert_ne!(find(&env), Some(top.join("toolkit/compute-sanitizer/compute-sanitizer")));
        std::fs::remove_dir_all(&top).unwrap();
    }

    #[test]
    fn the_test_and_its_arguments_come_last() {
        let watched = ["/b/test", "--full"].map(OsString::from);
        let command = command(Path::new("cs"), "racecheck", Path::new("/r/x.xml"), &watched);
        let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        assert_eq!(words[..3], ["cs", "--tool", "racecheck"]);
        assert_eq!(words[words.len() - 2..], ["/b/test", "--full"]);
    }
}
