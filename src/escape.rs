//! Text of others, made safe to show.
//!
//! Subjects, paths and output come from an upstream. In a terminal, control characters can move the
//! cursor or rewrite what was said before, and direction marks can reorder what a person reads.

use std::fmt::Write;

use bstr::ByteSlice;

/// Text for a terminal: control characters, direction marks and bytes that are no UTF-8 become visible
/// escapes. Line breaks too: the result is one line.
#[must_use]
pub fn for_terminal(text: impl AsRef<[u8]>) -> String {
    let mut shown = String::with_capacity(text.as_ref().len());
    for (start, end, c) in text.as_ref().char_indices() {
        let bytes = &text.as_ref()[start..end];
        if c == '\u{fffd}' && bytes != "\u{fffd}".as_bytes() {
            for byte in bytes {
                let _ = write!(shown, "\\x{byte:02x}");
            }
        } else if is_unsafe(c) {
            let _ = write!(shown, "{}", c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Text of several lines for a terminal: as [`for_terminal`], but line breaks and tabs stay.
#[must_use]
pub fn lines_for_terminal(text: impl AsRef<[u8]>) -> String {
    let lines: Vec<String> = text
        .as_ref()
        .split(|&b| b == b'\n')
        .map(|line| {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            line.split(|&b| b == b'\t').map(for_terminal).collect::<Vec<_>>().join("\t")
        })
        .collect();
    lines.join("\n")
}

fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A word of a command for a person to copy: quoted where a shell would take it for something else.
#[must_use]
pub fn for_shell(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:=@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", for_terminal(text).replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_control_characters() {
        assert_eq!(for_terminal("ok \u{1b}[31mred"), "ok \\u{1b}[31mred");
        assert_eq!(for_terminal("a\nb\tc"), "a\\nb\\tc");
        assert_eq!(for_terminal("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(for_terminal(b"caf\xe9"), "caf\\xe9");
        assert_eq!(for_terminal("naïve – ok"), "naïve – ok");
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(lines_for_terminal("a\tb\r\nc\u{7}\n"), "a\tb\nc\\u{7}\n");
    }
}
