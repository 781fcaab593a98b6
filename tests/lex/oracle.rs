//! Programs that know a language, if they are there.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whether a program can be run. If not, the test is skipped and says so, or fails if oracles are required.
pub fn is_here(program: &str) -> bool {
    let ran = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let here = ran.is_ok_and(|status| status.success());
    if !here {
        let required = std::env::var("OVERLAID_TEST_ORACLES").is_ok_and(|value| value == "require");
        assert!(!required, "`{program}` is missing, and OVERLAID_TEST_ORACLES=require");
        eprintln!("skipped: `{program}` is missing");
    }
    here
}

/// A folder that goes away with the value.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("overlaid-lex-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
