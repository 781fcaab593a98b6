//! Names of a repository that keeps them in a reftable: git reads those.
//!
//! Asked for once, and only when a name is wanted. Git reads names here and nothing else: no hook, no helper.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use bstr::{BString, ByteSlice};

use super::environment::Environment;
use super::location::escaped;
use super::objects::Oid;
use crate::id::CommitId;

/// All names of a repository.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// What each stands for, names that point to others too.
    ids: BTreeMap<BString, Oid>,
    /// Names that point to others: `HEAD`.
    symbolic: BTreeMap<BString, BString>,
}

impl Names {
    /// What a full name stands for.
    pub(super) fn get(&self, name: &str) -> Option<Oid> {
        self.ids.get(name.as_bytes().as_bstr()).copied()
    }

    /// The name that a name points to.
    pub(super) fn target(&self, name: &str) -> Option<&BString> {
        self.symbolic.get(name.as_bytes().as_bstr())
    }

    /// The full names, in their order, with what they stand for.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&BString, &Oid)> {
        self.ids.iter()
    }
}

/// Whether a repository keeps its names so.
pub(super) fn is_used(repository: &gix::Repository) -> bool {
    let format = repository.config_snapshot().string("extensions.refStorage");
    format.is_some_and(|format| format.eq_ignore_ascii_case(b"reftable"))
}

/// The names of the repository with this git folder.
///
/// # Errors
/// A sentence that says what to do, if git is not there or cannot read them.
pub(super) fn read(git_dir: &Path) -> Result<Names, String> {
    let failed = |why: &str| {
        format!(
            "the clone keeps them in a reftable, which only git reads: {why}; \
             `git refs migrate --ref-format=files` in the clone makes files of them"
        )
    };
    let mut option = OsString::from("--git-dir=");
    option.push(git_dir);
    let environment = Environment::of_process();
    let output = Command::new("git")
        .arg(option)
        .args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "--no-pager"])
        .args(["for-each-ref", "--include-root-refs"])
        .arg("--format=%(objectname) %(refname) %(symref)")
        // Not the user's folder, so that nothing in it is found.
        .current_dir(git_dir)
        .env_clear()
        .envs(environment.for_git())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(&format!("git cannot be started: {error}")))?;
    if !output.status.success() {
        let said = escaped(String::from_utf8_lossy(&output.stderr).trim());
        return Err(failed(if said.is_empty() { "git failed" } else { &said }));
    }
    let mut names = Names::default();
    for line in output.stdout.lines() {
        let mut words = line.splitn(3, |byte| *byte == b' ');
        let id = words.next().and_then(|id| CommitId::parse(id.to_str().ok()?).ok());
        let (Some(id), Some(name)) = (id, words.next()) else { continue };
        names.ids.insert(name.into(), *id.as_bytes());
        if let Some(target) = words.next().filter(|target| !target.is_empty()) {
            names.symbolic.insert(name.into(), target.into());
        }
    }
    Ok(names)
}
