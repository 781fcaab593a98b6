//! Upstreams that Python imports as they are.
//!
//! Decides what a run is given so that it imports the variant's files, and what of the machine it depends on: the
//! interpreter and the packages that are installed beside it. Never what a test means.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::hashes::sha256_of;
use super::process::{self, Environment, ProcessError, Program};

/// How names of folders of installed packages begin among the files of a record.
pub const PACKAGES: &str = "packages: ";

/// Prints the interpreter, then the folders that it imports packages from.
const PROBE: &str = "import os, sys
print(os.path.realpath(sys.executable))
for path in sys.path:
    if os.path.basename(path) in ('site-packages', 'dist-packages'):
        print(os.path.realpath(path))
";

/// Lets Python import from these folders first, and keep nothing that it compiles: files that another variant left
/// would be read in place of the sources, and nobody would see which were imported.
pub fn steer(env: &mut Environment, folders: impl Iterator<Item = PathBuf>) {
    let users = env.get("PYTHONPATH").map(ToOwned::to_owned).unwrap_or_default();
    let all = folders.chain(std::env::split_paths(&users).filter(|path| !path.as_os_str().is_empty()));
    if let Ok(joined) = std::env::join_paths(all) {
        env.set("PYTHONPATH", joined);
    }
    env.set("PYTHONDONTWRITEBYTECODE", "1");
    env.remove("PYTHONPYCACHEPREFIX");
}

/// Whether a program is an interpreter of Python, by its name.
#[must_use]
pub fn is_python(program: &Path) -> bool {
    program.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python"))
}

/// What a run stands on: the interpreter, and the folders of installed packages. `log` is a file for the answer.
///
/// # Errors
/// If the interpreter cannot be run to its end.
pub fn surroundings(
    program: &Path,
    env: &Environment,
    log: &Path,
) -> Result<(Option<PathBuf>, Vec<PathBuf>), ProcessError> {
    let finished = process::run(&Program {
        program: program.to_owned(),
        args: ["-c", PROBE].map(OsString::from).to_vec(),
        dir: log.parent().unwrap_or(Path::new("/")).to_owned(),
        env: env.clone(),
        stdout: log.to_owned(),
        stderr: log.with_extension("stderr"),
        timeout: Some(Duration::from_secs(60)),
        cap: process::OUTPUT_CAP,
    })?;
    if !finished.how.is_success() {
        return Ok((None, Vec::new()));
    }
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let mut lines = text.lines().map(PathBuf::from);
    Ok((lines.next(), lines.collect()))
}

/// A hash over the names and versions of the packages in a folder, from the names of their folders of data.
#[must_use]
pub fn packages(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let names: BTreeSet<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| [".dist-info", ".egg-info", ".egg-link", ".pth"].iter().any(|end| name.ends_with(end)))
        .collect();
    sha256_of(names.into_iter().collect::<Vec<_>>().join("\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variants_folders_come_first_and_nothing_is_kept() {
        let mut env = Environment::empty();
        env.set("PYTHONPATH", "/users/own");
        env.set("PYTHONPYCACHEPREFIX", "/cache");
        steer(&mut env, ["/tree/python", "/tree"].into_iter().map(PathBuf::from));
        assert_eq!(env.get("PYTHONPATH").unwrap(), "/tree/python:/tree:/users/own");
        assert_eq!(env.get("PYTHONDONTWRITEBYTECODE").unwrap(), "1");
        assert_eq!(env.get("PYTHONPYCACHEPREFIX"), None);
    }

    #[test]
    fn another_version_of_a_package_is_another_folder() {
        let top = std::env::temp_dir().join(format!("overlaid-packages-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&top);
        std::fs::create_dir_all(top.join("numpy-2.0.dist-info")).unwrap();
        let before = packages(&top);
        std::fs::create_dir_all(top.join("numpy")).unwrap();
        assert_eq!(packages(&top), before);
        std::fs::rename(top.join("numpy-2.0.dist-info"), top.join("numpy-2.1.dist-info")).unwrap();
        assert_ne!(packages(&top), before);
        std::fs::remove_dir_all(&top).unwrap();
    }
}
