//! Contents that lie beside a lock, each proven by the id that is its name.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::id::BlobId;

/// What is wrong with a vendored content.
#[derive(Debug)]
pub enum BadVendored {
    /// It is not there.
    Missing(PathBuf),
    /// It has other bytes.
    Other(PathBuf),
    /// It cannot be read.
    Unreadable(PathBuf, std::io::Error),
}

impl fmt::Display for BadVendored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadVendored::Missing(file) => write!(f, "`{}` is not there", file.display()),
            BadVendored::Other(file) => {
                write!(f, "`{}` has other bytes than its name says", file.display())
            }
            BadVendored::Unreadable(file, error) => write!(f, "`{}` cannot be read: {error}", file.display()),
        }
    }
}

/// A vendored content, proven by its id.
///
/// # Errors
/// If it is not there or not right.
pub fn read_vendored(root: &Path, folder: &Path, id: BlobId, size: u64) -> Result<Arc<[u8]>, BadVendored> {
    let file = folder.join(id.to_string());
    let path = root.join(&file);
    match std::fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_file() && metadata.len() == size => {}
        Ok(_) => return Err(BadVendored::Other(file)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(BadVendored::Missing(file)),
        Err(error) => return Err(BadVendored::Unreadable(file, error)),
    }
    match std::fs::read(&path) {
        Ok(bytes) if BlobId::of(&bytes) == id => Ok(bytes.into()),
        Ok(_) => Err(BadVendored::Other(file)),
        Err(error) => Err(BadVendored::Unreadable(file, error)),
    }
}
