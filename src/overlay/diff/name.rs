//! File names in the headers of a diff: quotes, prefixes, time stamps.
//!
//! Follows the rules by which `git apply` finds where a name ends. Decides nothing about paths: whether a name
//! may be used is [`crate::id::UpstreamPath`]'s to say.

use std::borrow::Cow;

/// White space as git's parser has it.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Whether the name on this line is `/dev/null`.
pub(super) fn is_dev_null(line: &[u8]) -> bool {
    line.strip_prefix(b"/dev/null").is_some_and(|rest| rest.first().copied().is_some_and(is_space))
}

/// A name as written and after components were taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) written: Vec<u8>,
    pub(super) stripped: Vec<u8>,
}

impl Name {
    fn new(written: &[u8], strip: usize) -> Option<Self> {
        let stripped = strip_components(written, strip)?;
        (!stripped.is_empty()).then(|| Self { written: written.to_vec(), stripped: squash(stripped) })
    }
}

/// Where a name ends when it is not quoted. A carriage return always ends it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// At the end of the line: `rename from`.
    Line,
    /// At a tab or the end of the line: `---`, `+++`.
    Tab,
}

/// The name at the start of `line`, without its first `strip` components.
pub(super) fn find_name(line: &[u8], strip: usize, until: Until) -> Option<Name> {
    if let Some((name, _)) = unquote(line) {
        return Name::new(&name, strip);
    }
    let ends = |&byte: &u8| matches!(byte, b'\n' | b'\r') || (byte == b'\t' && until == Until::Tab);
    let end = line.iter().position(ends).unwrap_or(line.len());
    Name::new(&line[..end], strip)
}

/// The name on a `---` or `+++` line of a plain diff, which may have a time stamp behind it.
pub(super) fn find_plain_name(line: &[u8], strip: usize) -> Option<Name> {
    let text = line.strip_suffix(b"\n").unwrap_or(line);
    match before_time_stamp(text) {
        Some(name) if !name.starts_with(b"\"") => Name::new(name, strip),
        _ => find_name(line, strip, Until::Tab),
    }
}

/// Takes `count` components from the front; `None` if there are not as many or the name is absolute.
fn strip_components(name: &[u8], count: usize) -> Option<&[u8]> {
    let mut rest = name;
    for _ in 0..count {
        let slash = rest.iter().position(|&byte| byte == b'/')?;
        if slash == 0 && rest.len() == name.len() {
            // Absolute: let the path itself be refused, with its name.
            return Some(name);
        }
        rest = &rest[slash + 1..];
    }
    Some(rest)
}

/// Makes `//` one slash.
fn squash(name: &[u8]) -> Vec<u8> {
    let mut squashed = Vec::with_capacity(name.len());
    for (index, &byte) in name.iter().enumerate() {
        if byte != b'/' || index == 0 || name[index - 1] != b'/' {
            squashed.push(byte);
        }
    }
    squashed
}

/// The name in a `diff --git` line, if both sides have the same. (A rename has its names elsewhere.)
///
/// `line` is what follows `diff --git `. Names with spaces are not quoted, so the place where the line splits
/// is the one at which both halves are equal.
pub(super) fn name_of_git_line(line: &[u8], strip: usize) -> Option<Name> {
    let line = line.strip_suffix(b"\n")?;
    if line.len() > 20_000 {
        return None;
    }
    if line.first() == Some(&b'"') {
        let (first, rest) = unquote(line)?;
        let second = rest.trim_ascii_start();
        let first = Name::new(&first, strip)?;
        let second = match unquote(second) {
            Some((second, _)) => Name::new(&second, strip)?,
            None => Name::new(second, strip)?,
        };
        return (first.stripped == second.stripped).then_some(first);
    }
    if let Some(quote) = line.iter().position(|&byte| byte == b'"') {
        let (second, _) = unquote(&line[quote..])?;
        let second = Name::new(&second, strip)?;
        let first = Name::new(line[..quote].trim_ascii_end(), strip)?;
        return (first.stripped == second.stripped).then_some(first);
    }
    let splits = line.iter().enumerate().filter(|(_, byte)| matches!(byte, b' ' | b'\t'));
    for (split, _) in splits {
        let (first, second) = (&line[..split], &line[split + 1..]);
        let (Some(first), Some(second)) = (Name::new(first, strip), Name::new(second, strip)) else {
            continue;
        };
        if first.stripped == second.stripped {
            return Some(first);
        }
    }
    None
}

/// Reads a name in double quotes as git and C write it; gives what follows it too.
pub(crate) fn unquote(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut name = Vec::new();
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((name, rest)),
            b'\n' => return None,
            b'\\' => {
                let (&escaped, after) = rest.split_first()?;
                rest = after;
                name.push(match escaped {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'\\' | b'"' => escaped,
                    b'0'..=b'3' => {
                        let (&[middle @ b'0'..=b'7', last @ b'0'..=b'7'], after) =
                            rest.split_first_chunk::<2>()?
                        else {
                            return None;
                        };
                        rest = after;
                        (escaped - b'0') << 6 | (middle - b'0') << 3 | (last - b'0')
                    }
                    _ => return None,
                });
            }
            _ => name.push(byte),
        }
    }
}

/// Writes a name as git does with its default settings: in quotes if any byte needs it.
pub(crate) fn quote(name: &[u8]) -> Cow<'_, [u8]> {
    let plain = |&byte: &u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    if name.iter().all(plain) {
        return Cow::Borrowed(name);
    }
    let mut quoted = vec![b'"'];
    for byte in name {
        match byte {
            7 => quoted.extend(b"\\a"),
            8 => quoted.extend(b"\\b"),
            b'\t' => quoted.extend(b"\\t"),
            b'\n' => quoted.extend(b"\\n"),
            11 => quoted.extend(b"\\v"),
            12 => quoted.extend(b"\\f"),
            b'\r' => quoted.extend(b"\\r"),
            b'"' => quoted.extend(b"\\\""),
            b'\\' => quoted.extend(b"\\\\"),
            byte if plain(byte) => quoted.push(*byte),
            byte => quoted.extend(format!("\\{byte:03o}").bytes()),
        }
    }
    quoted.push(b'"');
    Cow::Owned(quoted)
}

/// What stands before the time stamp at the end of a line, if there is one.
///
/// Two forms exist: `2010-07-05 19:41:17` (POSIX) and `2010-07-05 19:41:17.620000023 -0500` (GNU).
fn before_time_stamp(line: &[u8]) -> Option<&[u8]> {
    let rest = without(line, b" sdddd").or_else(|| without(line, b" sdd:dd")).unwrap_or(line);
    let rest = without(rest, b" dd:dd:dd").or_else(|| without_fraction(rest)).unwrap_or(rest);
    let rest = without(rest, b"dddd-dd-dd").or_else(|| without(rest, b"dd-dd-dd"))?;
    if !line.last()?.is_ascii_digit() {
        return None;
    }
    match rest.split_last()? {
        (b'\t', name) => Some(name),
        (b' ', _) => {
            let end = rest.iter().rposition(|&byte| byte != b' ').map_or(0, |last| last + 1);
            Some(&rest[..end])
        }
        _ => None,
    }
}

fn without_fraction(text: &[u8]) -> Option<&[u8]> {
    let point = text.iter().rposition(|byte| !byte.is_ascii_digit())?;
    (text[point] == b'.').then(|| without(&text[..point], b" dd:dd:dd"))?
}

/// Takes a suffix of a shape away: `d` is a digit, `s` a sign, all else stands for itself.
fn without<'a>(text: &'a [u8], shape: &[u8]) -> Option<&'a [u8]> {
    let (rest, suffix) = text.split_at_checked(text.len().checked_sub(shape.len())?)?;
    let fits = |(&byte, &shape): (&u8, &u8)| match shape {
        b'd' => byte.is_ascii_digit(),
        b's' => matches!(byte, b'+' | b'-'),
        _ => byte == shape,
    };
    suffix.iter().zip(shape).all(fits).then_some(rest)
}

/// Whether the time stamp of a plain diff's name line is the epoch, by which GNU diff marks an absent file.
pub(super) fn has_epoch(line: &[u8]) -> bool {
    epoch_minutes(line).is_some_and(|(day, minutes)| day + minutes == 0)
}

/// Minutes of the day's start before the epoch, and minutes since then in UTC.
fn epoch_minutes(line: &[u8]) -> Option<(i64, i64)> {
    let tab = line.iter().rposition(|&byte| byte == b'\t')?;
    let stamp = line[tab + 1..].strip_suffix(b"\n")?;
    let (day, rest) = if let Some(rest) = stamp.strip_prefix(b"1969-12-31 ") {
        (-24 * 60, rest)
    } else {
        (0, stamp.strip_prefix(b"1970-01-01 ")?)
    };
    let (time, zone) = rest.split_at_checked(rest.iter().position(|&byte| byte == b' ')?)?;
    let (time, fraction) = time.split_at_checked(8)?;
    let whole = fraction.is_empty()
        || (fraction.len() > 1 && fraction[0] == b'.' && fraction[1..].iter().all(|&b| b == b'0'));
    if !whole || without(time, b"dd:dd:00") != Some(b"") {
        return None;
    }
    let digits: Vec<u8> = zone.iter().copied().filter(u8::is_ascii_digit).collect();
    if digits.len() != 4 || (without(zone, b" sdddd") != Some(b"") && without(zone, b" sdd:dd") != Some(b""))
    {
        return None;
    }
    let pair = |tens: u8, ones: u8| i64::from(tens - b'0') * 10 + i64::from(ones - b'0');
    let offset = pair(digits[0], digits[1]) * 60 + pair(digits[2], digits[3]);
    let offset = if zone[1] == b'-' { -offset } else { offset };
    Some((day, pair(time[0], time[1]) * 60 + pair(time[3], time[4]) - offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stripped(name: Option<Name>) -> Option<String> {
        name.map(|name| String::from_utf8_lossy(&name.stripped).into_owned())
    }

    #[test]
    fn a_name_is_quoted_where_git_quotes_it() {
        for (name, quoted) in [
            (&b"plain name.cu"[..], &b"plain name.cu"[..]),
            (b"a\tb", b"\"a\\tb\""),
            (b"a\nb", b"\"a\\nb\""),
            (b"a\"b\\", b"\"a\\\"b\\\\\""),
            ("ä".as_bytes(), b"\"\\303\\244\""),
            (b"\x01\x7f", b"\"\\001\\177\""),
        ] {
            assert_eq!(quote(name), quoted);
            if name != quoted {
                assert_eq!(unquote(quoted), Some((name.to_vec(), &b""[..])));
            }
        }
        assert_eq!(unquote(b"\"open"), None);
        assert_eq!(unquote(b"\"\\9\""), None);
        assert_eq!(unquote(b"\"\\400\""), None);
    }

    #[test]
    fn the_name_of_a_git_line_is_the_one_that_stands_there_twice() {
        for (line, name) in [
            ("a/x b/x\n", Some("x")),
            ("a/x y b/x y\n", Some("x y")),
            ("a/x b/x b/x b/x\n", Some("x b/x")),
            ("\"a/\\303\\244\" \"b/\\303\\244\"\n", Some("ä")),
            ("a/x \"b/x\"\n", Some("x")),
            ("\"a/x\" b/x\n", Some("x")),
            ("i/x w/x\n", Some("x")),
            ("a/x b/y\n", None),
            ("x x\n", None),
            ("d/x d/x\n", Some("x")),
        ] {
            assert_eq!(stripped(name_of_git_line(line.as_bytes(), 1)).as_deref(), name, "{line}");
        }
        assert_eq!(stripped(name_of_git_line(b"x x\n", 0)).as_deref(), Some("x"));
    }

    #[test]
    fn a_time_stamp_is_not_part_of_a_name() {
        for (line, name) in [
            ("a/x\t2010-07-05 19:41:17.620000023 -0500\n", "x"),
            ("a/x y\t2010-07-05 19:41:17\n", "x y"),
            ("a/x y 2010-07-05 19:41:17 +02:00\n", "x y"),
            ("a/x y\tany text\n", "x y"),
            ("a/x y\n", "x y"),
            ("a/x\r\n", "x"),
            ("\"a/\\303\\244\"\t2010-07-05 19:41:17\n", "ä"),
        ] {
            assert_eq!(stripped(find_plain_name(line.as_bytes(), 1)).as_deref(), Some(name), "{line}");
        }
    }

    #[test]
    fn the_epoch_is_seen_in_every_zone() {
        for (line, epoch) in [
            ("a\t1970-01-01 00:00:00 +0000\n", true),
            ("a\t1970-01-01 01:00:00.000000000 +0100\n", true),
            ("a\t1969-12-31 19:00:00 -05:00\n", true),
            ("a\t1970-01-01 00:00:01 +0000\n", false),
            ("a\t1970-01-01 01:00:00 +0000\n", false),
            ("a\t2010-01-01 00:00:00 +0000\n", false),
            ("a\n", false),
        ] {
            assert_eq!(has_epoch(line.as_bytes()), epoch, "{line}");
        }
    }
}
