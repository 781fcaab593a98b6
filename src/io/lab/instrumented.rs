//! Builds with a sanitizer that the compiler builds in: AddressSanitizer, UndefinedBehaviorSanitizer.
//!
//! Decides with which flags, and whether what was built has the sanitizer in it: a build that takes no notice of the
//! flags would be clean for ever.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::io::process::Environment;
use crate::manifest::{Profile, Sanitizer};

/// The cache variable of CMake that has a language's flags, and the variable of the environment that it starts from.
const LANGUAGES: [(&str, &str); 2] = [("CMAKE_C_FLAGS", "CFLAGS"), ("CMAKE_CXX_FLAGS", "CXXFLAGS")];

/// What the compiler is told. Line numbers for places, frame pointers for stacks.
fn flags(sanitizer: Sanitizer) -> &'static str {
    match sanitizer {
        Sanitizer::Address => "-fsanitize=address -fno-omit-frame-pointer -g",
        Sanitizer::Undefined => {
            "-fsanitize=undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g"
        }
        _ => "",
    }
}

/// Adds the flags to those in the environment, for languages for which the profile has none: a toolchain file adds
/// its own to these.
pub(super) fn add_flags(env: &mut Environment, profile: Option<&Profile>, sanitizer: Sanitizer) {
    for (variable, name) in LANGUAGES {
        if profile.is_some_and(|profile| profile.cmake.contains_key(variable)) {
            continue;
        }
        let mut value = env.get(name).map(ToOwned::to_owned).unwrap_or_default();
        if !value.is_empty() {
            value.push(" ");
        }
        value.push(flags(sanitizer));
        env.set(name, value);
    }
}

/// Adds the flags to those of the profile.
pub(super) fn add_variables(variables: &mut BTreeMap<String, String>, sanitizer: Sanitizer) {
    for (variable, _) in LANGUAGES {
        if let Some(value) = variables.get_mut(variable) {
            value.push_str(&format!(" {}", flags(sanitizer)));
        }
    }
}

/// Tells the sanitizer to write to files that begin with `log` and to end the process at its first finding. What the
/// user has told it stays. Leaks are not looked for: they are no wrong access, and tests are full of them.
pub(super) fn steer(env: &mut Environment, sanitizer: Sanitizer, log: &Path) {
    let (name, more) = match sanitizer {
        Sanitizer::Address => ("ASAN_OPTIONS", "detect_leaks=0"),
        Sanitizer::Undefined => ("UBSAN_OPTIONS", "print_stacktrace=1"),
        _ => return,
    };
    let mut value: OsString = env.get(name).map(ToOwned::to_owned).unwrap_or_default();
    if !value.is_empty() {
        value.push(":");
    }
    value.push(format!("{more}:halt_on_error=1:log_path="));
    value.push(log);
    env.set(name, value);
}

/// All that a sanitizer wrote to files that begin with `log`, one process after the other.
pub(super) fn read_logs(log: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    for file in logs(log)? {
        text.push_str(&String::from_utf8_lossy(&std::fs::read(file)?));
    }
    Ok(text)
}

/// Removes what an earlier run has written.
pub(super) fn forget_logs(log: &Path) -> std::io::Result<()> {
    logs(log)?.iter().try_for_each(std::fs::remove_file)
}

fn logs(log: &Path) -> std::io::Result<Vec<PathBuf>> {
    let start = log.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let start = format!("{start}.");
    let entries = std::fs::read_dir(log.parent().unwrap_or(Path::new("")))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&start))
        .map(|entry| entry.path())
        .collect();
    files.sort();
    Ok(files)
}

/// Whether the sanitizer is in any of the files that were built.
pub(super) fn is_in<'a>(sanitizer: Sanitizer, mut files: impl Iterator<Item = &'a PathBuf>) -> bool {
    let mark: &[u8] = match sanitizer {
        Sanitizer::Address => b"__asan_init",
        Sanitizer::Undefined => b"__ubsan_handle_",
        _ => return false,
    };
    files.any(|file| {
        std::fs::read(file).is_ok_and(|bytes| bytes.windows(mark.len()).any(|window| window == mark))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_added_to_those_that_are_there() {
        let mut env = Environment::empty();
        env.set("CXXFLAGS", "-O3");
        add_flags(&mut env, None, Sanitizer::Address);
        assert_eq!(env.get("CXXFLAGS").unwrap(), "-O3 -fsanitize=address -fno-omit-frame-pointer -g");
        assert_eq!(env.get("CFLAGS").unwrap(), "-fsanitize=address -fno-omit-frame-pointer -g");
        let mut variables = BTreeMap::from([("CMAKE_CXX_FLAGS".to_owned(), "-O1".to_owned())]);
        add_variables(&mut variables, Sanitizer::Undefined);
        assert!(variables["CMAKE_CXX_FLAGS"].starts_with("-O1 -fsanitize=undefined"));
        assert_eq!(variables.len(), 1);
    }

    #[test]
    fn the_users_options_stay_and_ours_come_last() {
        let mut env = Environment::empty();
        env.set("ASAN_OPTIONS", "log_path=elsewhere:detect_stack_use_after_return=1");
        steer(&mut env, Sanitizer::Address, Path::new("/r/log"));
        let value = env.get("ASAN_OPTIONS").unwrap().to_string_lossy().into_owned();
        assert!(value.starts_with("log_path=elsewhere:") && value.ends_with(":log_path=/r/log"), "{value}");
    }
}
