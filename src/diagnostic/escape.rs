//! Foreign text that is shown: what could steer a terminal or reorder a line is made visible.

use std::borrow::Cow;
use std::path::Path;

/// The character itself, or one that shows that it was there.
pub(super) fn visible(c: char) -> char {
    match c {
        '\t' => '\t',
        '\0'..='\u{1f}' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        c if is_hidden(c) => '\u{fffd}',
        c => c,
    }
}

/// Characters that steer a terminal, reorder a line, or cannot be seen.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Foreign text for one line of a message: what could steer a terminal or reorder the line is written
/// as `\u{1b}`.
///
/// Line breaks stay when they are ours: a `\n` is kept, `\r` is not.
#[must_use]
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c != '\n' && is_hidden(c)) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if c != '\n' && is_hidden(c) {
            safe.extend(c.escape_unicode());
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// Foreign text as a short word of a message: in backticks, on one line, cut after 60 characters.
#[must_use]
pub fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    let mut word = String::from("`");
    for (count, c) in text.chars().enumerate() {
        if count == LONGEST {
            word.push_str("...");
            break;
        }
        if c == '\n' || is_hidden(c) {
            word.extend(c.escape_default());
        } else {
            word.push(c);
        }
    }
    word.push('`');
    word
}

pub(super) fn escaped_path(path: &Path) -> Cow<'_, str> {
    match path.to_string_lossy() {
        Cow::Borrowed(text) => escaped(text),
        Cow::Owned(text) => Cow::Owned(escaped(&text).into_owned()),
    }
}
