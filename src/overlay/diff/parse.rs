//! From the text of a patch to its parts.
//!
//! Text that belongs to no part is skipped, as in mails and DEP-3 files; text that looks like a part and is not a
//! whole one is an error, never skipped.

use std::sync::Arc;

use bstr::ByteSlice;

use super::binary::parse_binary;
use super::error::{ParseError, ParseErrorWhy as Why};
use super::header::{Strip, parse_git_header, parse_plain_header};
use super::hunk::{parse_header, parse_hunk};
use super::{Body, FilePatch, IdPrefix, Kind, Patch};
use crate::id::BlobId;

/// A place in the patch: always at the start of a line.
pub(super) struct Cursor {
    text: Arc<[u8]>,
    at: usize,
    end: usize,
    number: usize,
}

impl Cursor {
    fn new(text: Arc<[u8]>) -> Self {
        let mut cursor = Self { text, at: 0, end: 0, number: 0 };
        cursor.advance();
        cursor
    }

    /// The line at the cursor with its newline; empty at the end of the text.
    pub(super) fn line(&self) -> &[u8] {
        &self.text[self.at..self.end]
    }

    /// The line after that.
    fn next_line(&self) -> &[u8] {
        let rest = &self.text[self.end..];
        &rest[..line_length(rest)]
    }

    /// The number of the line, from 1.
    pub(super) fn number(&self) -> usize {
        self.number
    }

    /// The offset of the line.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn text(&self) -> Arc<[u8]> {
        self.text.clone()
    }

    pub(super) fn advance(&mut self) {
        self.at = self.end;
        self.end += line_length(&self.text[self.at..]);
        self.number += 1;
    }

    pub(super) fn error(&self, why: Why) -> ParseError {
        ParseError { line: self.number, why }
    }
}

fn line_length(text: &[u8]) -> usize {
    text.find_byte(b'\n').map_or(text.len(), |newline| newline + 1)
}

/// Parses a patch.
///
/// # Errors
/// If there is no diff in the text, or one that is damaged, incomplete or names a path outside the tree.
pub fn parse(patch: &[u8]) -> Result<Patch, ParseError> {
    if is_utf16(patch) {
        return Err(ParseError { line: 1, why: Why::Utf16 });
    }
    let mut cursor = Cursor::new(patch.into());
    if patch.starts_with(b"\xef\xbb\xbf") {
        // A byte order mark hides the first line from git; a lost first part would be worse.
        cursor.at = 3;
    }
    let mut files = Vec::new();
    let mut strip = Strip::default();
    let mut preamble = None;
    while let Some(file) = next_file(&mut cursor, &mut strip, &mut preamble)? {
        files.push(file);
    }
    let Some(preamble) = preamble else {
        let why = match patch.trim_ascii() {
            b"" => Why::Empty,
            _ if is_encoded_mail(patch) => Why::EncodedMail,
            _ => Why::NoDiff,
        };
        return Err(ParseError { line: 1, why });
    };
    let preamble = patch[..preamble].to_vec();
    if is_encoded_mail(&preamble) {
        return Err(ParseError { line: 1, why: Why::EncodedMail });
    }
    Ok(Patch { preamble, files })
}

/// The next part, however much text stands before it. Notes where the first one starts.
fn next_file(
    cursor: &mut Cursor,
    strip: &mut Strip,
    first: &mut Option<usize>,
) -> Result<Option<FilePatch>, ParseError> {
    while !cursor.line().is_empty() {
        let start = cursor.at();
        let line = cursor.line();
        if parse_header(line).is_some() {
            return Err(cursor.error(Why::HunkWithoutFile));
        }
        if line == b"GIT binary patch\n" || is_git_line(line) {
            return Err(cursor.error(Why::HeaderWithoutFile));
        }
        if is_combined(line, cursor.next_line()) {
            return Err(cursor.error(Why::Combined));
        }
        let file = if line.starts_with(b"diff --git ") {
            match parse_git_header(cursor, strip.count)? {
                Some(file) => file,
                // `git diff` writes a lone line for a file that only its time stamp touched.
                None if is_after_lone_line(cursor.line()) => continue,
                None => return Err(cursor.error(Why::NoHunks)),
            }
        } else if line.starts_with(b"--- ") && cursor.next_line().starts_with(b"+++ ") {
            parse_plain_header(cursor, strip)?
        } else {
            cursor.advance();
            continue;
        };
        first.get_or_insert(start);
        return parse_body(cursor, file).map(Some);
    }
    Ok(None)
}

/// Reads what follows a header.
fn parse_body(cursor: &mut Cursor, mut file: FilePatch) -> Result<FilePatch, ParseError> {
    let mut hunks = Vec::new();
    while cursor.line().starts_with(b"@@ -") {
        let start = cursor.number();
        let hunk = parse_hunk(cursor).map_err(|why| {
            let line = if why == Why::HunkChangesNothing { start } else { cursor.number() };
            ParseError { line, why }
        })?;
        hunks.push(hunk);
    }
    let any_old = hunks.iter().any(|hunk| hunk.old.lines > 0);
    let any_new = hunks.iter().any(|hunk| hunk.new.lines > 0);
    let line = hunks.first().map_or(file.line, |hunk| hunk.line);
    match file.kind {
        Kind::New if any_old => return Err(ParseError { line, why: Why::NewFileHasOldLines }),
        Kind::Delete if any_new => return Err(ParseError { line, why: Why::DeletedFileHasNewLines }),
        _ => {}
    }
    file.may_create &= !any_old && hunks.len() == 1;
    if !hunks.is_empty() {
        file.body = Body::Text(hunks);
    } else if matches!(cursor.line(), b"GIT binary patch\n" | b"GIT binary patch\r\n") {
        cursor.advance();
        let (forward, reverse) = parse_binary(cursor)?;
        file.body = Body::Binary { forward, reverse };
    } else if is_binary_notice(cursor.line()) {
        cursor.advance();
        file.body = Body::BinaryOmitted;
    } else if matches!(file.body, Body::Text(_)) || !is_unchanged(&file) {
        // The header had `---` and `+++`, or ids that differ.
        return Err(cursor.error(Why::NoHunks));
    } else {
        let mode_changes = matches!((file.old_mode, file.new_mode), (Some(old), Some(new)) if old != new);
        if file.kind == Kind::Modify && !mode_changes {
            return Err(ParseError { line: file.line, why: Why::ChangesNothing });
        }
    }
    Ok(file)
}

/// Whether the ids of a part allow that it has no hunks: both the same, or empty and absent.
fn is_unchanged(file: &FilePatch) -> bool {
    let (Some(old), Some(new)) = (&file.old_id, &file.new_id) else { return true };
    let nothing = |id: &IdPrefix| id.is_null() || id.names(BlobId::of(b""));
    old == new || (nothing(old) && nothing(new))
}

/// What can follow a `diff --git` line that nothing belongs to.
fn is_after_lone_line(line: &[u8]) -> bool {
    line.trim_ascii().is_empty() || line.starts_with(b"diff --git ") || line.starts_with(b"-- ")
}

/// A line of git's header as no prose has it.
fn is_git_line(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    let modes = [&b"new file mode "[..], b"deleted file mode ", b"old mode ", b"new mode "];
    let mode = modes.iter().find_map(|prefix| line.strip_prefix(*prefix));
    let percent = line.strip_prefix(b"similarity index ").and_then(|rest| rest.strip_suffix(b"%"));
    mode.is_some_and(|mode| mode.len() == 6 && mode.iter().all(u8::is_ascii_digit))
        || percent.is_some_and(|percent| !percent.is_empty() && percent.iter().all(u8::is_ascii_digit))
}

fn is_binary_notice(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    (line.starts_with(b"Binary files ") || line.starts_with(b"Files ")) && line.ends_with(b" differ")
}

fn is_combined(line: &[u8], next: &[u8]) -> bool {
    let starts = [&b"index "[..], b"mode ", b"new file ", b"deleted file ", b"--- "];
    (line.starts_with(b"diff --cc ") || line.starts_with(b"diff --combined "))
        && starts.iter().any(|start| next.starts_with(start))
}

/// A byte order mark, or text in which every other byte is zero.
fn is_utf16(text: &[u8]) -> bool {
    if text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff") {
        return true;
    }
    let sample = &text[..text.len().min(64) / 2 * 2];
    let zeros = |odd: usize| sample.iter().skip(odd).step_by(2).filter(|&&byte| byte == 0).count();
    let half = sample.len() / 2;
    half >= 4 && ((zeros(0) == 0 && zeros(1) == half) || (zeros(0) == half && zeros(1) == 0))
}

/// Mail headers that say the body is not the text itself.
fn is_encoded_mail(preamble: &[u8]) -> bool {
    preamble.lines().any(|line| {
        let line = line.to_ascii_lowercase();
        line.strip_prefix(b"content-transfer-encoding:")
            .is_some_and(|encoding| matches!(encoding.trim_ascii(), b"base64" | b"quoted-printable"))
    })
}
