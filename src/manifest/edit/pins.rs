//! The pin in other files: finding and replacing it, over bytes.

use std::ops::Range;

use regex::bytes::Regex;

use crate::id::CommitId;

/// Where a file repeats the pin: what the one group of an `also-pinned` pattern captures, at every match.
#[must_use]
pub fn find_pins(text: &[u8], regex: &Regex) -> Vec<Range<usize>> {
    regex.captures_iter(text).filter_map(|captures| captures.get(1)).map(|group| group.range()).collect()
}

/// The same file with another pin at all of these places. Every other byte stays.
#[must_use]
pub fn replace_pins(text: &[u8], regex: &Regex, new: CommitId) -> Vec<u8> {
    let new = new.to_string();
    let mut edited = Vec::with_capacity(text.len() + new.len());
    let mut copied = 0;
    for place in find_pins(text, regex) {
        edited.extend_from_slice(&text[copied..place.start]);
        edited.extend_from_slice(new.as_bytes());
        copied = place.end;
    }
    edited.extend_from_slice(&text[copied..]);
    edited
}
