//! The headers of a part: `diff --git` with git's extended lines, or a plain pair of `---` and `+++`.

use bstr::BString;

use super::error::{ParseError, ParseErrorWhy as Why};
use super::name::{Name, Until, find_name, find_plain_name, has_epoch, is_dev_null, name_of_git_line};
use super::parse::Cursor;
use super::{Body, FilePatch, IdPrefix, Kind, PatchPath};
use crate::id::UpstreamPath;
use crate::tree::Mode;

/// How many components are taken from the front of names.
///
/// One, until a plain diff has a new name without any folder: then none from there on.
pub(super) struct Strip {
    pub(super) count: usize,
    known: bool,
}

impl Default for Strip {
    fn default() -> Self {
        Self { count: 1, known: false }
    }
}

impl Strip {
    fn learn(&mut self, second: &[u8]) {
        if self.known || is_dev_null(second) {
            return;
        }
        if find_plain_name(second, 0).is_some_and(|name| !name.stripped.contains(&b'/')) {
            *self = Self { count: 0, known: true };
        }
    }
}

/// The lines of a git header, as they are collected.
#[derive(Default)]
struct Collected {
    old: Option<Name>,
    new: Option<Name>,
    is_new: bool,
    is_delete: bool,
    is_rename: bool,
    is_copy: bool,
    similarity: Option<u8>,
    old_mode: Option<Mode>,
    new_mode: Option<Mode>,
    old_id: Option<IdPrefix>,
    new_id: Option<IdPrefix>,
    has_name_lines: bool,
}

/// Reads a header that starts with `diff --git`; `None` if no other line belongs to it.
pub(super) fn parse_git_header(cursor: &mut Cursor, strip: usize) -> Result<Option<FilePatch>, ParseError> {
    let start = cursor.number();
    let common = cursor.line().strip_prefix(b"diff --git ").and_then(|line| name_of_git_line(line, strip));
    cursor.advance();
    let mut header = Collected::default();
    while cursor.line().ends_with(b"\n") {
        match header.take(cursor.line(), common.as_ref(), strip) {
            Ok(true) => cursor.advance(),
            Ok(false) => break,
            Err(why) => return Err(cursor.error(why)),
        }
    }
    if cursor.number() == start + 1 {
        return Ok(None);
    }
    header.finish(start, common).map(Some).map_err(|why| ParseError { line: start, why })
}

impl Collected {
    /// Takes one line; false if it is none of a header's.
    fn take(&mut self, line: &[u8], common: Option<&Name>, strip: usize) -> Result<bool, Why> {
        let rest = |prefix: &str| line.strip_prefix(prefix.as_bytes());
        // `rename from` and its kin have no prefix, so one component less is taken away.
        let plain =
            |text: &[u8]| find_name(text, strip.saturating_sub(1), Until::Line).ok_or(Why::NoFileName);
        if let Some(text) = rest("--- ") {
            self.has_name_lines = true;
            check_name(&mut self.old, text, self.is_new, strip)?;
        } else if let Some(text) = rest("+++ ") {
            self.has_name_lines = true;
            check_name(&mut self.new, text, self.is_delete, strip)?;
        } else if let Some(text) = rest("old mode ") {
            self.old_mode = Some(parse_mode(text)?);
        } else if let Some(text) = rest("new mode ") {
            self.new_mode = Some(parse_mode(text)?);
        } else if let Some(text) = rest("deleted file mode ") {
            self.is_delete = true;
            self.old = common.cloned();
            self.old_mode = Some(parse_mode(text)?);
        } else if let Some(text) = rest("new file mode ") {
            self.is_new = true;
            self.new = common.cloned();
            self.new_mode = Some(parse_mode(text)?);
        } else if let Some(text) = rest("copy from ") {
            self.is_copy = true;
            self.old = Some(plain(text)?);
        } else if let Some(text) = rest("copy to ") {
            self.is_copy = true;
            self.new = Some(plain(text)?);
        } else if let Some(text) = rest("rename from ").or_else(|| rest("rename old ")) {
            self.is_rename = true;
            self.old = Some(plain(text)?);
        } else if let Some(text) = rest("rename to ").or_else(|| rest("rename new ")) {
            self.is_rename = true;
            self.new = Some(plain(text)?);
        } else if let Some(text) = rest("similarity index ") {
            self.similarity = parse_percent(text);
        } else if rest("dissimilarity index ").is_some() {
            // Says that the content was rewritten; the hunks say how.
        } else if let Some(text) = rest("index ") {
            self.take_index(text)?;
        } else {
            return Ok(false);
        }
        let extensions = [self.is_new, self.is_delete, self.is_rename, self.is_copy];
        if extensions.iter().filter(|&&set| set).count() > 1 {
            return Err(Why::HeaderContradicts);
        }
        Ok(true)
    }

    /// `index OLD..NEW MODE`.
    fn take_index(&mut self, text: &[u8]) -> Result<(), Why> {
        let text = text.trim_ascii_end();
        let (ids, mode) = match text.iter().position(|&byte| byte == b' ') {
            Some(space) => (&text[..space], Some(&text[space + 1..])),
            None => (text, None),
        };
        if let Some(dots) = ids.windows(2).position(|pair| pair == b"..") {
            self.old_id = IdPrefix::parse(&ids[..dots]);
            self.new_id = IdPrefix::parse(&ids[dots + 2..]);
        }
        if let Some(mode) = mode {
            self.old_mode = Some(parse_mode(mode)?);
        }
        Ok(())
    }

    fn finish(self, line: usize, common: Option<Name>) -> Result<FilePatch, Why> {
        let (mut old, mut new) = (self.old, self.new);
        if old.is_none() && new.is_none() {
            let common = common.ok_or(Why::NoFileName)?;
            (old, new) = (Some(common.clone()), Some(common));
        }
        let kind = if self.is_new {
            old = None;
            Kind::New
        } else if self.is_delete {
            new = None;
            Kind::Delete
        } else if self.is_rename {
            Kind::Rename { similarity: self.similarity }
        } else if self.is_copy {
            Kind::Copy { similarity: self.similarity }
        } else {
            Kind::Modify
        };
        if (old.is_none() && kind != Kind::New) || (new.is_none() && kind != Kind::Delete) {
            return Err(Why::NoFileName);
        }
        if let (Kind::Modify, Some(old), Some(new)) = (kind, &old, &new)
            && old.stripped != new.stripped
        {
            return Err(names_differ(old, new));
        }
        // A rename's names are written without prefix.
        let prefixed = !matches!(kind, Kind::Rename { .. } | Kind::Copy { .. });
        Ok(FilePatch {
            line,
            kind,
            old_mode: self.old_mode,
            new_mode: self.new_mode,
            old_id: self.old_id,
            new_id: self.new_id,
            body: if self.has_name_lines { Body::Text(Vec::new()) } else { Body::None },
            old: old.map(|name| path(name, prefixed)).transpose()?,
            new: new.map(|name| path(name, prefixed)).transpose()?,
            may_create: false,
        })
    }
}

/// Compares a `---` or `+++` line with what is known, or learns the name from it.
fn check_name(known: &mut Option<Name>, text: &[u8], absent: bool, strip: usize) -> Result<(), Why> {
    if absent {
        return if is_dev_null(text) { Ok(()) } else { Err(Why::DevNull) };
    }
    if is_dev_null(text) {
        return Err(Why::DevNull);
    }
    let name = find_name(text, strip, Until::Tab).ok_or(Why::NoFileName)?;
    match known {
        Some(known) if known.stripped != name.stripped => Err(names_differ(known, &name)),
        Some(_) => Ok(()),
        None => {
            *known = Some(name);
            Ok(())
        }
    }
}

fn names_differ(first: &Name, second: &Name) -> Why {
    Why::NamesDiffer { first: BString::from(&*first.stripped), second: BString::from(&*second.stripped) }
}

fn path(name: Name, prefixed: bool) -> Result<PatchPath, Why> {
    match UpstreamPath::parse(&name.stripped) {
        Ok(path) => Ok(PatchPath { path, written: prefixed.then_some(name.written) }),
        Err(why) => Err(Why::Path { path: name.written.into(), why }),
    }
}

/// An octal mode. Of a file's permissions only the owner's right to execute counts, as in git.
fn parse_mode(text: &[u8]) -> Result<Mode, Why> {
    let text = text.trim_ascii_end();
    let number = std::str::from_utf8(text).ok().and_then(|text| u32::from_str_radix(text, 8).ok());
    match number.map(|number| (number & 0o170_000, number & 0o100 != 0, number)) {
        Some((0o100_000, false, _)) => Ok(Mode::File),
        Some((0o100_000, true, _)) => Ok(Mode::Executable),
        Some((0o120_000, _, _)) => Ok(Mode::Symlink),
        Some((0o160_000, _, _)) => Ok(Mode::Submodule),
        _ => Err(Why::Mode { mode: text.into() }),
    }
}

fn parse_percent(text: &[u8]) -> Option<u8> {
    let digits = text.trim_ascii_end();
    let digits = digits.strip_suffix(b"%").unwrap_or(digits);
    std::str::from_utf8(digits).ok()?.parse().ok().filter(|&percent| percent <= 100)
}

/// Reads the `---` and `+++` lines of a plain diff.
pub(super) fn parse_plain_header(cursor: &mut Cursor, strip: &mut Strip) -> Result<FilePatch, ParseError> {
    let start = cursor.number();
    let first = cursor.line()[4..].to_vec();
    cursor.advance();
    let second = cursor.line()[4..].to_vec();
    cursor.advance();
    if !cursor.line().starts_with(b"@@ -") {
        let why = if cursor.line().starts_with(b"@@@ -") { Why::Combined } else { Why::NoHunks };
        return Err(cursor.error(why));
    }
    strip.learn(&second);
    plain_header(&first, &second, strip.count, start).map_err(|why| ParseError { line: start, why })
}

fn plain_header(first: &[u8], second: &[u8], strip: usize, line: usize) -> Result<FilePatch, Why> {
    let find = |text: &[u8]| find_plain_name(text, strip);
    let (kind, name) = match (is_dev_null(first), is_dev_null(second)) {
        (true, true) => return Err(Why::NoFileName),
        (true, false) => (Kind::New, find(second)),
        (false, true) => (Kind::Delete, find(first)),
        (false, false) => {
            // The shorter name, where the other is only that with something behind it (`x` and `x.orig`).
            let name = match (find(first), find(second)) {
                (Some(first), Some(second)) if second.stripped.starts_with(&first.stripped) => Some(first),
                (_, Some(second)) => Some(second),
                (first, None) => first,
            };
            let kind = match (has_epoch(first), has_epoch(second)) {
                (true, _) => Kind::New,
                (_, true) => Kind::Delete,
                _ => Kind::Modify,
            };
            (kind, name)
        }
    };
    let name = path(name.ok_or(Why::NoFileName)?, true)?;
    Ok(FilePatch {
        line,
        kind,
        old_mode: None,
        new_mode: None,
        old_id: None,
        new_id: None,
        body: Body::None,
        old: (kind != Kind::New).then(|| name.clone()),
        new: (kind != Kind::Delete).then_some(name),
        may_create: kind == Kind::Modify,
    })
}
