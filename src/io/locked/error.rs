//! Why a tree cannot be brought up from a lock alone, in words for people.

use std::fmt;
use std::path::PathBuf;

use crate::escape::for_terminal;
use crate::id::UpstreamPath;
use crate::io::no_tree::NoTree;
use crate::io::tree::TreeError;
use crate::io::workspace::LoadError;
use crate::lock::Stale;
use crate::overlay::Unwanted;

/// Why a tree cannot be brought up from a lock alone.
#[derive(Debug)]
pub enum LockedError {
    /// There is no lock.
    NoLock {
        /// Where it would be.
        file: PathBuf,
    },
    /// The lock, a file of ours or a vendored content cannot be read, or is wrong.
    Load(LoadError),
    /// The lock is about another pin.
    Stale {
        /// The lock.
        file: PathBuf,
        /// How the manifest moved on.
        why: Vec<Stale>,
    },
    /// A whole tree is asked for, and a lock has no contents.
    NoContents,
    /// There is no tree.
    NoTree(NoTree),
    /// The tree was made from git objects as a whole, and changes of it need them.
    Made {
        /// The tree.
        dir: PathBuf,
    },
    /// An earlier run wrote a path that the lock does not have, so what upstream has there is not known: its overlay
    /// went away, or came after the lock.
    Orphan {
        /// The path.
        path: UpstreamPath,
        /// The lock.
        file: PathBuf,
        /// How the manifest moved on since it was written; empty if the lock is right.
        stale: Vec<Stale>,
    },
    /// The lock does not have what is needed, or the overlays do not fit.
    Unwanted(Unwanted),
    /// The tree cannot be read or written.
    Tree(TreeError),
}

impl LockedError {
    /// What to do.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            LockedError::NoLock { .. } | LockedError::Stale { .. } => {
                "write it where the upstream can be read: overlaid lock".to_owned()
            }
            LockedError::NoTree(no_tree) => no_tree.hint().unwrap_or_else(|| {
                "fill the folder with the pin's sources first, or run this where the upstream can be read"
                    .to_owned()
            }),
            LockedError::NoContents => {
                "fill a folder with the pin's sources by other means and name it: overlaid apply --tree DIR"
                    .to_owned()
            }
            LockedError::Made { .. } => {
                "run it where the upstream can be read, or fill another folder and name it with --tree"
                    .to_owned()
            }
            LockedError::Orphan { stale, .. } if !stale.is_empty() => {
                "write it where the upstream can be read: overlaid lock".to_owned()
            }
            LockedError::Orphan { .. } => {
                "fill the folder with the pin's sources again, or run this where the upstream can be read"
                    .to_owned()
            }
            LockedError::Unwanted(unwanted) => return unwanted.hint(),
            LockedError::Load(_) | LockedError::Tree(_) => return None,
        })
    }
}

impl fmt::Display for LockedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LockedError::NoLock { file } => write!(f, "there is no lock file `{}`", file.display()),
            LockedError::Load(LoadError::Io { path, error }) => {
                write!(f, "cannot read `{}`: {error}", path.display())
            }
            LockedError::Load(LoadError::Manifest(diagnostics)) => {
                let all: Vec<String> = diagnostics.iter().map(|one| one.render(false, 100)).collect();
                f.write_str(&all.join("\n"))
            }
            LockedError::Stale { file, why } => {
                write!(f, "the lock file `{}` is stale: {}", file.display(), all(why))
            }
            LockedError::NoContents => {
                f.write_str("it has ids and no contents, so it cannot make a whole tree")
            }
            LockedError::NoTree(no_tree) => no_tree.fmt(f),
            LockedError::Made { dir } => {
                write!(f, "the tree `{}` was made from git objects, and a lock has none", dir.display())
            }
            LockedError::Orphan { path, stale, .. } if stale.is_empty() => write!(
                f,
                "{} was written by an overlay that is gone, and the lock does not know what upstream has there",
                for_terminal(path.as_bytes())
            ),
            LockedError::Orphan { path, file, stale } => write!(
                f,
                "an earlier run wrote {}, and the lock file `{}` does not know what upstream has there; it is stale: {}",
                for_terminal(path.as_bytes()),
                file.display(),
                all(stale)
            ),
            LockedError::Unwanted(unwanted) => unwanted.fmt(f),
            LockedError::Tree(error) => error.fmt(f),
        }
    }
}

fn all(stale: &[Stale]) -> String {
    stale.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl std::error::Error for LockedError {}

impl From<TreeError> for LockedError {
    fn from(error: TreeError) -> Self {
        LockedError::Tree(error)
    }
}

impl From<LoadError> for LockedError {
    fn from(error: LoadError) -> Self {
        LockedError::Load(error)
    }
}

impl From<Unwanted> for LockedError {
    fn from(unwanted: Unwanted) -> Self {
        LockedError::Unwanted(unwanted)
    }
}
