//! How much two versions of a source file differ.

/// How much two versions of a source file differ, from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Delta {
    /// Byte by byte the same.
    Identical,
    /// White space only.
    Whitespace,
    /// Comments and white space only.
    Comments,
    /// Anything else.
    Code,
}
