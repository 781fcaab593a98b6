//! Source text as tokens and comments.

use serde::{Deserialize, Serialize};

/// How far two texts are apart. Ordered: each holds what the ones before it allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Delta {
    /// The same bytes.
    Identical,
    /// The same tokens and comments.
    Whitespace,
    /// The same tokens.
    Comments,
    /// Other tokens.
    Code,
}
