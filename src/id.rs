//! Names that are parsed once and valid ever after: commits, blobs, overlays, upstream paths.
//!
//! Decides what is a well-formed name. Never looks whether the thing that is named exists.

#[cfg(feature = "serde")]
mod serialized;

use std::fmt;

use bstr::{BStr, BString, ByteSlice};

use crate::sha1::sha1;

/// A full commit id (SHA-1, 40 hexadecimal digits when written).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId([u8; 20]);

/// The name git gives to a content (SHA-1 over `blob <length>\0<content>`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId([u8; 20]);

/// The name git gives to a folder with all that is in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeId([u8; 20]);

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdError {
    /// Hexadecimal, but not all of the 40 digits.
    Abbreviated {
        /// How many digits there were.
        digits: usize,
    },
    /// Something other than hexadecimal digits.
    NotHex,
}

impl fmt::Display for IdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IdError::Abbreviated { digits } => {
                write!(f, "abbreviated commit id: {digits} of 40 hexadecimal digits")
            }
            IdError::NotHex => f.write_str("not a commit id: expected 40 hexadecimal digits"),
        }
    }
}

impl std::error::Error for IdError {}

fn parse_hex(text: &str) -> Result<[u8; 20], IdError> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(IdError::NotHex);
    }
    if text.len() != 40 {
        return Err(if text.len() < 40 {
            IdError::Abbreviated { digits: text.len() }
        } else {
            IdError::NotHex
        });
    }
    let mut id = [0; 20];
    for (byte, pair) in id.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = hex_digit(pair[0]) << 4 | hex_digit(pair[1]);
    }
    Ok(id)
}

fn hex_digit(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => digit.to_ascii_lowercase().wrapping_sub(b'a') + 10,
    }
}

fn write_hex(id: &[u8; 20], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 40];
    for (pair, byte) in text.chunks_exact_mut(2).zip(id) {
        pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    f.write_str(std::str::from_utf8(&text).unwrap_or_default())
}

macro_rules! id_type {
    ($name:ident) => {
        impl $name {
            /// Parses 40 hexadecimal digits.
            ///
            /// # Errors
            /// If the text has other characters or another length.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                parse_hex(text).map(Self)
            }

            /// The 20 bytes of the id.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8; 20] {
                &self.0
            }

            /// An id from its 20 bytes.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 20]) -> Self {
                Self(bytes)
            }

            /// The first 10 digits, for tables. Never for input.
            #[must_use]
            pub fn short(&self) -> String {
                let mut text = self.to_string();
                text.truncate(10);
                text
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hex(&self.0, f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_hex(&self.0, f)
            }
        }
    };
}

id_type!(CommitId);
id_type!(BlobId);
id_type!(TreeId);

impl BlobId {
    /// The id that `git hash-object` gives to this content, with no filter applied.
    #[must_use]
    pub fn of(content: &[u8]) -> Self {
        Self(sha1(&[b"blob ", content.len().to_string().as_bytes(), b"\0", content]))
    }
}

/// The name of an overlay, a test, a profile or an upstream: letters, digits, `-`, `_`, `.`, `+`;
/// first a letter or digit; at most 100 bytes. Safe as a file name and in a terminal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// The name of an overlay.
pub type OverlayName = Name;

impl Name {
    /// Parses a name.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let Some(first) = text.bytes().next() else {
            return Err("a name cannot be empty");
        };
        if text.len() > 100 {
            return Err("a name has at most 100 characters");
        }
        if !first.is_ascii_alphanumeric() {
            return Err("a name starts with a letter or a digit");
        }
        if !text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.+".contains(&b)) {
            return Err("a name has only letters, digits, `-`, `_`, `.` and `+`");
        }
        Ok(Self(text.to_owned()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// A path inside an upstream's tree: relative, `/` between components, bytes as git has them.
///
/// It cannot leave the tree and cannot reach git's own folder: no empty, `.` or `..` component, no
/// `.git` in any of the forms that some file system takes for it, no NUL. It cannot reach the folder
/// `.overlaid` at the top, where the tree's own state is kept.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UpstreamPath(BString);

/// Why a text is not a path inside a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathError {
    /// Nothing there.
    Empty,
    /// Starts with `/`.
    Absolute,
    /// A component is empty, as in `a//b` or `a/`.
    EmptyComponent,
    /// A component is `.` or `..`.
    Dots,
    /// A component is `.git`, or a file system would take it for that.
    DotGit,
    /// The folder in which a tree's own state is kept.
    Reserved,
    /// A NUL byte.
    Nul,
    /// More bytes than a path can have (4095), or than a component can have (255).
    TooLong,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PathError::Empty => "the path is empty",
            PathError::Absolute => "the path is absolute; paths are relative to the upstream's top folder",
            PathError::EmptyComponent => "the path has an empty component (`//` or a `/` at the end)",
            PathError::Dots => "the path has a `.` or `..` component; it must stay inside the tree",
            PathError::DotGit => "the path reaches into `.git`",
            PathError::Reserved => "`.overlaid` at the top of a tree is where its state is kept",
            PathError::Nul => "the path has a NUL byte",
            PathError::TooLong => "the path is longer than a file system allows",
        })
    }
}

impl std::error::Error for PathError {}

impl UpstreamPath {
    /// Parses a path.
    ///
    /// # Errors
    /// If the path could leave the tree or reach into `.git`.
    pub fn parse(path: impl AsRef<[u8]>) -> Result<Self, PathError> {
        let path = path.as_ref();
        if path.is_empty() {
            return Err(PathError::Empty);
        }
        if path.contains(&0) {
            return Err(PathError::Nul);
        }
        if path[0] == b'/' {
            return Err(PathError::Absolute);
        }
        if path.len() > 4095 {
            return Err(PathError::TooLong);
        }
        for (index, component) in path.split(|&b| b == b'/').enumerate() {
            match component {
                b"" => return Err(PathError::EmptyComponent),
                b"." | b".." => return Err(PathError::Dots),
                _ if component.len() > 255 => return Err(PathError::TooLong),
                _ if is_dot_git(component) => return Err(PathError::DotGit),
                _ if index == 0 && component.eq_ignore_ascii_case(b".overlaid") => {
                    return Err(PathError::Reserved);
                }
                _ => {}
            }
        }
        Ok(Self(path.into()))
    }

    /// The bytes of the path.
    #[must_use]
    pub fn as_bytes(&self) -> &BStr {
        self.0.as_bstr()
    }

    /// The path as the operating system wants it, still relative.
    #[must_use]
    pub fn to_os_path(&self) -> &std::path::Path {
        use std::os::unix::ffi::OsStrExt;
        std::path::Path::new(std::ffi::OsStr::from_bytes(&self.0))
    }

    /// The folders that hold this path, outermost first, without the path itself.
    pub fn ancestors(&self) -> impl Iterator<Item = &BStr> {
        self.0.find_iter(b"/").map(|end| self.0[..end].as_bstr())
    }

    /// The last component.
    #[must_use]
    pub fn file_name(&self) -> &BStr {
        match self.0.rfind_byte(b'/') {
            Some(slash) => self.0[slash + 1..].as_bstr(),
            None => self.0.as_bstr(),
        }
    }
}

/// `.git`, or what NTFS (`GIT~1`, trailing dots and spaces, streams) or HFS+ (ignored code points) takes for it.
fn is_dot_git(component: &[u8]) -> bool {
    // Nearly all names: nothing is ignored in ASCII, so the first letter is one of these.
    if component.is_ascii() && !matches!(component.first(), Some(b'.' | b'g' | b'G')) {
        return false;
    }
    let stream = component.split(|&b| b == b':').next().unwrap_or(component);
    let ntfs = stream.trim_end_with(|c| c == '.' || c == ' ');
    if ntfs.eq_ignore_ascii_case(b".git") || ntfs.eq_ignore_ascii_case(b"git~1") {
        return true;
    }
    let visible: String = component.chars().filter(|&c| !is_ignored_by_hfs(c)).collect();
    visible.eq_ignore_ascii_case(".git")
}

/// The code points that HFS+ leaves out when it compares names (TN1150, "ignorable characters").
fn is_ignored_by_hfs(c: char) -> bool {
    matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

impl fmt::Display for UpstreamPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.0.as_bstr(), f)
    }
}

impl fmt::Debug for UpstreamPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0.as_bstr(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_id_has_forty_digits() {
        let full = "b7c3dd6d27f45b5365b08a840310187dc503f1db";
        assert_eq!(CommitId::parse(full).unwrap().to_string(), full);
        assert_eq!(CommitId::parse(&full.to_uppercase()).unwrap().to_string(), full);
        assert_eq!(CommitId::parse(&full[..8]), Err(IdError::Abbreviated { digits: 8 }));
        assert_eq!(CommitId::parse("main"), Err(IdError::NotHex));
        assert_eq!(CommitId::parse(&format!("{full}0")), Err(IdError::NotHex));
    }

    #[test]
    fn a_blob_has_the_name_that_git_gives_it() {
        assert_eq!(BlobId::of(b"").to_string(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(BlobId::of(b"hello\n").to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
    }

    #[test]
    fn a_path_stays_inside_the_tree() {
        for (path, error) in [
            ("", PathError::Empty),
            ("/etc/passwd", PathError::Absolute),
            ("a//b", PathError::EmptyComponent),
            ("a/", PathError::EmptyComponent),
            ("../a", PathError::Dots),
            ("a/../b", PathError::Dots),
            ("./a", PathError::Dots),
            (".git/config", PathError::DotGit),
            ("a/.GIT/config", PathError::DotGit),
            ("git~1/config", PathError::DotGit),
            (".git . ./config", PathError::DotGit),
            (".git::$INDEX_ALLOCATION/config", PathError::DotGit),
            (".g\u{200c}it/config", PathError::DotGit),
            (".overlaid/state", PathError::Reserved),
            ("a\0b", PathError::Nul),
        ] {
            assert_eq!(UpstreamPath::parse(path), Err(error), "{path:?}");
        }
        assert_eq!(UpstreamPath::parse("a".repeat(256)), Err(PathError::TooLong));
    }

    #[test]
    fn ordinary_paths_are_taken_as_they_are() {
        for path in ["a", "a/b.cu", ".gitignore", ".github/x", "a b/ü", "...", "a/.overlaid", "a\\b"] {
            assert_eq!(UpstreamPath::parse(path).unwrap().as_bytes(), path.as_bytes());
        }
        let path = UpstreamPath::parse("a/b/c.h").unwrap();
        assert_eq!(path.ancestors().collect::<Vec<_>>(), ["a", "a/b"]);
        assert_eq!(path.file_name(), "c.h");
    }
}
