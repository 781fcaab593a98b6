//! That there is no tree where somebody else should have filled a folder, and how to fill it.
//!
//! An empty folder is no tree: git makes one for each submodule that is not checked out, and refuses to check it out
//! once something is in it.

use std::fmt;
use std::path::{Path, PathBuf};

use super::checkout::Submodule;
use super::tree::{HOME, TreeError, is_unfilled};
use crate::escape::for_terminal;

/// A folder that is not there, or has nothing in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoTree {
    /// Where the tree should be.
    pub dir: PathBuf,
    /// Whether the folder is there.
    pub is_there: bool,
    /// What a repository around it says it is.
    pub submodule: Option<Submodule>,
}

impl NoTree {
    /// Finds out whether there is no tree.
    ///
    /// # Errors
    /// If that cannot be seen.
    pub fn at(dir: &Path) -> Result<Option<Self>, TreeError> {
        let is_there = std::fs::symlink_metadata(dir).is_ok();
        // What is no folder is told by whoever opens it.
        if is_there && !(dir.is_dir() && is_unfilled(dir)?) {
            return Ok(None);
        }
        Ok(Some(Self { dir: dir.to_owned(), is_there, submodule: Submodule::at(dir) }))
    }

    /// How to fill it, if that is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let fill = self.submodule.as_ref()?.fill();
        let ours = self.dir.join(HOME);
        if std::fs::symlink_metadata(&ours).is_ok() {
            let ours = for_terminal(ours.display().to_string());
            return Some(format!("move `{ours}` away, for git wants the folder empty, then: {fill}"));
        }
        Some(format!("check it out: {fill}"))
    }
}

impl fmt::Display for NoTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match (&self.submodule, self.is_there) {
            (Some(_), _) => ": the submodule is not checked out",
            (None, true) => ": the folder is empty",
            (None, false) => "",
        };
        write!(f, "there is no tree at `{}`{why}", for_terminal(self.dir.display().to_string()))
    }
}
