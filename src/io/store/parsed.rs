//! What commit and tree objects say, as far as it matters here.

use bstr::{BStr, ByteSlice};

use super::objects::Oid;
use crate::tree::Mode;

/// The parts of a commit object that matter here.
pub(super) struct ParsedCommit<'a> {
    pub tree: Oid,
    pub parents: Vec<Oid>,
    pub authored: i64,
    pub committed: i64,
    pub subject: &'a BStr,
}

/// Reads a commit object. Dates that cannot be read are 0, as git takes them; a tree or a parent is needed.
pub(super) fn parse_commit(data: &[u8]) -> Result<ParsedCommit<'_>, &'static str> {
    let (head, message) = match data.find("\n\n") {
        Some(end) => (&data[..end], &data[end + 2..]),
        None => (data, &data[..0]),
    };
    let mut lines = head.lines();
    let tree = lines.next().and_then(|line| line.strip_prefix(b"tree ")).and_then(unhex);
    let tree = tree.ok_or("it does not start with a tree")?;
    let mut commit =
        ParsedCommit { tree, parents: Vec::new(), authored: 0, committed: 0, subject: BStr::new("") };
    for line in lines {
        if let Some(parent) = line.strip_prefix(b"parent ") {
            commit.parents.push(unhex(parent).ok_or("a parent is not a commit id")?);
        } else if let Some(author) = line.strip_prefix(b"author ") {
            commit.authored = seconds(author);
        } else if let Some(committer) = line.strip_prefix(b"committer ") {
            commit.committed = seconds(committer);
            // What follows are headers such as `gpgsig`, whose lines are the committer's to choose.
            break;
        }
    }
    commit.subject =
        message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim_end().as_bstr();
    Ok(commit)
}

/// The seconds in `name <mail> seconds zone`.
fn seconds(signature: &[u8]) -> i64 {
    let after = signature.rfind_byte(b'>').map_or(&signature[..0], |end| &signature[end + 1..]);
    let digits = after.fields().next().unwrap_or_default();
    digits.to_str().ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// One line of a tree object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TreeLine<'a> {
    pub name: &'a BStr,
    pub what: Found,
}

/// What a name in a tree stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A folder.
    Folder(Oid),
    /// Anything else.
    Entry(Mode, Oid),
}

/// The lines of a tree object, in git's order. An error is the last item.
pub(super) fn parse_tree(mut data: &[u8]) -> impl Iterator<Item = Result<TreeLine<'_>, &'static str>> {
    std::iter::from_fn(move || {
        if data.is_empty() {
            return None;
        }
        let line = parse_tree_line(data);
        data = line.as_ref().map_or(&[], |(_, rest)| rest);
        Some(line.map(|(line, _)| line))
    })
}

/// The first line of a tree object, and what is behind it.
pub(super) fn parse_tree_line(data: &[u8]) -> Result<(TreeLine<'_>, &[u8]), &'static str> {
    // A history reads tens of millions of lines: no general search and no general number here.
    let digits = data.iter().take(7).position(|&byte| byte == b' ').ok_or("an entry has no mode")?;
    let mut mode = 0_u32;
    for &digit in &data[..digits] {
        if !matches!(digit, b'0'..=b'7') {
            return Err("an entry has a bad mode");
        }
        mode = mode << 3 | u32::from(digit - b'0');
    }
    let rest = &data[digits + 1..];
    let end = rest.find_byte(b'\0').ok_or("an entry has no name")?;
    let (name, rest) = rest.split_at(end);
    let (id, rest) = rest[1..].split_first_chunk().ok_or("an entry has no id")?;
    let what = match mode & 0o170_000 {
        0o040_000 => Found::Folder(*id),
        0o120_000 => Found::Entry(Mode::Symlink, *id),
        0o160_000 => Found::Entry(Mode::Submodule, *id),
        0o100_000 if mode & 0o100 != 0 => Found::Entry(Mode::Executable, *id),
        0o100_000 => Found::Entry(Mode::File, *id),
        _ => return Err("an entry has a bad mode"),
    };
    Ok((TreeLine { name: name.as_bstr(), what }, rest))
}

fn unhex(text: &[u8]) -> Option<Oid> {
    Some(*crate::id::BlobId::parse(text.to_str().ok()?).ok()?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::objects::hex;
    use super::*;

    const ID: &str = "b7c3dd6d27f45b5365b08a840310187dc503f1db";

    #[test]
    fn a_commit_is_read_as_git_writes_it() {
        let text = format!(
            "tree {ID}\nparent {ID}\nparent {ID}\nauthor A > <a@b> 12 +0100\ncommitter B <> -34 +0000\ngpgsig x\n \n parent {ID}\n\nsubject \nmore\n"
        );
        let commit = parse_commit(text.as_bytes()).unwrap();
        assert_eq!(hex(&commit.tree), ID);
        assert_eq!(commit.parents.len(), 2);
        assert_eq!((commit.authored, commit.committed), (12, -34));
        assert_eq!(commit.subject, "subject");
    }

    #[test]
    fn a_commit_without_a_date_or_message_is_still_a_commit() {
        let text = format!("tree {ID}\nauthor A\n");
        let commit = parse_commit(text.as_bytes()).unwrap();
        assert_eq!((commit.authored, commit.committed), (0, 0));
        assert_eq!(commit.subject, "");
    }

    #[test]
    fn a_commit_without_a_tree_is_none() {
        assert!(parse_commit(b"").is_err());
        assert!(parse_commit(b"tree 12\n\n").is_err());
        assert!(parse_commit(format!("tree {ID}\nparent 12\n\n").as_bytes()).is_err());
    }

    #[test]
    fn a_tree_is_read_up_to_its_first_fault() {
        let mut data = b"100664 a\0".to_vec();
        data.extend([1; 20]);
        data.extend(b"40000 b\0");
        data.extend([2; 20]);
        data.extend(b"100644 c\0short");
        let lines: Vec<_> = parse_tree(&data).collect();
        assert_eq!(lines[0], Ok(TreeLine { name: "a".into(), what: Found::Entry(Mode::File, [1; 20]) }));
        assert_eq!(lines[1], Ok(TreeLine { name: "b".into(), what: Found::Folder([2; 20]) }));
        assert!(lines[2].is_err());
        assert_eq!(lines.len(), 3);
    }
}
