//! The shared libraries that a program loads when it starts.
//!
//! Decides nothing: it asks the system's loader, which maps the libraries and does not run the program.
//! A file that has no loader (a script, a static program) has none.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::process::{self, Environment, ProcessError, Program};

/// The libraries of a program, in the environment that it will get; `log` is a file for the loader's answer.
///
/// # Errors
/// If the loader cannot be run to its end.
pub fn libraries(program: &Path, env: &Environment, log: &Path) -> Result<BTreeSet<PathBuf>, ProcessError> {
    if !has_loader(program) {
        return Ok(BTreeSet::new());
    }
    let mut env = env.clone();
    env.set("LD_TRACE_LOADED_OBJECTS", "1");
    process::run(&Program {
        program: program.to_owned(),
        args: Vec::new(),
        dir: log.parent().unwrap_or(Path::new("/")).to_owned(),
        env,
        stdout: log.to_owned(),
        stderr: log.to_owned(),
        timeout: Some(Duration::from_secs(30)),
        cap: process::OUTPUT_CAP,
    })?;
    let text = std::fs::read(log).unwrap_or_default();
    Ok(parse(&String::from_utf8_lossy(&text)))
}

/// `libc.so.6 => /lib/libc.so.6 (0x7f...)` and `/lib64/ld-linux-x86-64.so.2 (0x7f...)`, each after a tab.
fn parse(text: &str) -> BTreeSet<PathBuf> {
    text.lines()
        .filter_map(|line| {
            let line = line.trim();
            let file = line.split_once(" => ").map_or(line, |(_, file)| file);
            let file = file.rsplit_once(" (0x").map_or(file, |(file, _)| file);
            file.starts_with('/').then(|| PathBuf::from(file))
        })
        .collect()
}

/// Whether a file is an ELF program that names a loader. Without one, starting it would run it.
fn has_loader(program: &Path) -> bool {
    let mut head = Vec::new();
    let read = std::fs::File::open(program).and_then(|file| file.take(1 << 16).read_to_end(&mut head));
    read.is_ok() && elf_has_interpreter(&head).unwrap_or(false)
}

/// Whether a file is an ELF program or library.
#[must_use]
pub fn is_elf(file: &Path) -> bool {
    let mut head = [0; 4];
    let read = std::fs::File::open(file).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && head == *b"\x7fELF"
}

/// Looks for a program header of type `PT_INTERP` (3). ELF-64 and ELF-32, little endian.
fn elf_has_interpreter(head: &[u8]) -> Option<bool> {
    let number = |at: usize, size: usize| {
        let bytes = head.get(at..at.checked_add(size)?)?;
        Some(bytes.iter().rev().fold(0usize, |number, &byte| number << 8 | usize::from(byte)))
    };
    if !head.starts_with(b"\x7fELF") || *head.get(5)? != 1 {
        return None;
    }
    let is_64 = *head.get(4)? == 2;
    let (table, size, count) = if is_64 {
        (number(32, 8)?, number(54, 2)?, number(56, 2)?)
    } else {
        (number(28, 4)?, number(42, 2)?, number(44, 2)?)
    };
    (0..count).try_fold(false, |found, index| {
        let at = index.checked_mul(size)?.checked_add(table)?;
        Some(found || number(at, 4)? == 3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_answer_is_read() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/x/libc.so.6 (0x00007f12)\n\
                    \tlibabsent.so => not found\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f13)\n";
        let files: Vec<_> = parse(text).into_iter().collect();
        assert_eq!(files, [Path::new("/lib/x/libc.so.6"), Path::new("/lib64/ld-linux-x86-64.so.2")]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_has_libraries_and_a_script_has_none() {
        let folder = std::env::temp_dir().join(format!("overlaid-loaded-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let env = Environment::of_the_user();
        let found = libraries(Path::new("/bin/sh"), &env, &folder.join("log")).unwrap();
        assert!(found.iter().any(|file| file.to_string_lossy().contains("libc.so")), "{found:?}");
        let script = folder.join("script");
        std::fs::write(&script, "#!/bin/sh\ntouch ran\n").unwrap();
        assert!(libraries(&script, &env, &folder.join("log")).unwrap().is_empty());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
