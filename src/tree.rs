//! What stands at the paths of a tree, as values.
//!
//! Never touches a file: `io` reads trees from git objects and from disk and writes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::id::{BlobId, UpstreamPath};

/// The kinds of entries that git knows, with its modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(all(test, feature = "proof"), derive(schemars::JsonSchema))]
pub enum Mode {
    /// A file, 100644.
    #[cfg_attr(feature = "serde", serde(rename = "100644"))]
    File,
    /// An executable file, 100755.
    #[cfg_attr(feature = "serde", serde(rename = "100755"))]
    Executable,
    /// A symbolic link, 120000; its content is the target.
    #[cfg_attr(feature = "serde", serde(rename = "120000"))]
    Symlink,
    /// A commit of another repository, 160000; it has no content here.
    #[cfg_attr(feature = "serde", serde(rename = "160000"))]
    Submodule,
}

impl Mode {
    /// The mode as git writes it, six octal digits.
    #[must_use]
    pub fn as_octal(self) -> &'static str {
        match self {
            Mode::File => "100644",
            Mode::Executable => "100755",
            Mode::Symlink => "120000",
            Mode::Submodule => "160000",
        }
    }

    /// The mode that six octal digits stand for; `None` for modes that an index cannot hold.
    #[must_use]
    pub fn from_octal(text: &[u8]) -> Option<Self> {
        match text {
            b"100644" | b"100664" => Some(Mode::File),
            b"100755" => Some(Mode::Executable),
            b"120000" => Some(Mode::Symlink),
            b"160000" => Some(Mode::Submodule),
            _ => None,
        }
    }
}

/// An entry of a tree by the name of its content. For a submodule, `id` is the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(all(test, feature = "proof"), derive(schemars::JsonSchema))]
pub struct Entry {
    /// What kind of entry it is.
    pub mode: Mode,
    /// The content's name.
    pub id: BlobId,
}

/// An entry of a tree with its content.
#[derive(Clone, PartialEq, Eq)]
pub struct Content {
    /// What kind of entry it is. Never a submodule.
    pub mode: Mode,
    /// The bytes of the file, or the target of the link.
    pub bytes: Arc<[u8]>,
}

impl Content {
    /// An ordinary file.
    #[must_use]
    pub fn file(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self { mode: Mode::File, bytes: bytes.into() }
    }

    /// The same entry by name.
    #[must_use]
    pub fn entry(&self) -> Entry {
        Entry { mode: self.mode, id: BlobId::of(&self.bytes) }
    }
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = bstr::BStr::new(&self.bytes[..self.bytes.len().min(60)]);
        write!(f, "{} {bytes:?} ({} bytes)", self.mode.as_octal(), self.bytes.len())
    }
}

/// All entries of a tree.
pub type Listing = BTreeMap<UpstreamPath, Entry>;

/// What overlays make of some paths: the new content, or `None` where the path goes away.
pub type Changes = BTreeMap<UpstreamPath, Option<Content>>;
