//! Why a tree could not be brought to what is wanted. In every case nothing is half done.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use bstr::{BString, ByteSlice};

use crate::escape;
use crate::id::{BlobId, UpstreamPath};
use crate::upstream::UpstreamError;

/// Could not find out, or could not write. The tree is as it was.
#[derive(Debug)]
pub enum TreeError {
    /// The file system refused.
    Io {
        /// What was tried: `read`, `write`, `remove` ...
        what: &'static str,
        /// The path.
        path: PathBuf,
        /// Its reason.
        error: io::Error,
    },
    /// The upstream cannot give the content of a path.
    Upstream {
        /// The path; `None` if none in particular.
        path: Option<UpstreamPath>,
        /// Its reason.
        error: UpstreamError,
    },
    /// The upstream gave content with another id than it should have: the store is damaged.
    WrongContent {
        /// The path.
        path: UpstreamPath,
        /// The id of what should be there.
        wanted: BlobId,
        /// The id of what came.
        got: BlobId,
    },
    /// A symbolic link with an empty target or a NUL in it.
    BadLink {
        /// The path.
        path: UpstreamPath,
    },
    /// A wanted path is a file and a folder.
    Overlap {
        /// A path that an overlay adds.
        path: UpstreamPath,
        /// The other path.
        other: UpstreamPath,
    },
    /// Two wanted paths are one on this file system, which takes upper and lower case for the same.
    CaseCollision {
        /// A path.
        path: BString,
        /// The other path.
        other: BString,
    },
    /// The recorded state of the tree cannot be read.
    State {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// An earlier run was interrupted, and a dry run cannot finish it.
    Interrupted {
        /// The tree.
        dir: PathBuf,
    },
    /// A file changed between the look at it and the write.
    Raced {
        /// The path.
        path: UpstreamPath,
    },
    /// The tree is what was wanted, but what the run needed for it could not be put away; the next run does it.
    NotEnded(Box<TreeError>),
    /// A failure in the middle could not be undone; the next run does it.
    NotUndone {
        /// What went wrong first.
        first: Box<TreeError>,
        /// What went wrong while undoing.
        then: Box<TreeError>,
    },
}

impl TreeError {
    pub(super) fn io(what: &'static str, path: impl Into<PathBuf>, error: impl Into<io::Error>) -> Self {
        TreeError::Io { what, path: path.into(), error: error.into() }
    }
}

fn shown(path: &Path) -> String {
    escape::for_terminal(<[u8]>::from_path(path).unwrap_or_default())
}

fn named(path: &UpstreamPath) -> String {
    escape::for_terminal(path.as_bytes())
}

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TreeError::Io { what, path, error } => write!(f, "cannot {what} `{}`: {error}", shown(path)),
            TreeError::Upstream { path: Some(path), error } => {
                write!(f, "no content for `{}`: {}", named(path), escape::for_terminal(error.to_string()))
            }
            TreeError::Upstream { path: None, error } => {
                f.write_str(&escape::for_terminal(error.to_string()))
            }
            TreeError::WrongContent { path, wanted, got } => write!(
                f,
                "the upstream store is damaged: for `{}` it has content with id {got} as {wanted}",
                named(path)
            ),
            TreeError::BadLink { path } => {
                write!(f, "`{}` is a symbolic link with an empty target or a NUL in it", named(path))
            }
            TreeError::Overlap { path, other } => {
                write!(f, "`{}` and `{}` cannot be there together", named(path), named(other))
            }
            TreeError::CaseCollision { path, other } => write!(
                f,
                "`{}` and `{}` are one file here: this file system takes upper and lower case for the same",
                escape::for_terminal(path),
                escape::for_terminal(other)
            ),
            TreeError::State { path, why } => {
                write!(f, "cannot use the recorded state `{}`: {why}", shown(path))
            }
            TreeError::Interrupted { dir } => write!(
                f,
                "an earlier run was interrupted in `{}`; run once without --dry-run to finish it",
                shown(dir)
            ),
            TreeError::Raced { path } => {
                write!(f, "`{}` changed while this ran; nothing was written", named(path))
            }
            TreeError::NotEnded(error) => {
                write!(f, "the tree is what was wanted, but {error}; the next run finishes it")
            }
            TreeError::NotUndone { first, then } => {
                write!(f, "{first}; undoing it failed, too ({then}): the next run finishes it")
            }
        }
    }
}

impl std::error::Error for TreeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            TreeError::Io { error, .. } => Some(error),
            TreeError::Upstream { error, .. } => Some(error),
            TreeError::NotUndone { first, .. } | TreeError::NotEnded(first) => Some(first),
            _ => None,
        }
    }
}
