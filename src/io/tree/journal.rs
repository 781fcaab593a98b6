//! What a run is about to do to a tree, written down before it starts.
//!
//! Either a file `journal` is there: the steps have begun and the next run finishes them. Or a file
//! `journal.undo`: they failed and the next run takes them back. Or neither: nothing has begun. Each of the
//! changes between these is one rename.

use bstr::{BStr, BString, ByteSlice};
use rustix::io::Errno;

use super::error::TreeError;
use super::folder::{Root, create_at, read_at, rename_at, stat_at, unlink_at};
use super::state::{Header, Reader, render_entry, render_header};
use crate::id::UpstreamPath;
use crate::plan::{Found, Step};
use crate::sha1::sha1;

/// The folder in `.overlaid` for what belongs to somebody.
pub(super) const KEPT: &str = "kept";
const FORWARD: &str = "journal";
const BACKWARD: &str = "journal.undo";
const DRAFT: &str = "journal.new";
const FAMILY: &[u8] = b"overlaid tree journal ";
const VERSION: &[u8] = b"overlaid tree journal 1\n";

/// The steps of a run and what the tree's state will be after them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Journal {
    pub(super) header: Header,
    pub(super) steps: Vec<Step>,
    /// Folders that go away once they are empty, innermost first.
    pub(super) emptied: Vec<BString>,
    /// The number of the first folder in `kept/` for what is moved aside.
    pub(super) kept: u32,
}

/// What an interrupted run left to do.
#[derive(Debug)]
pub(super) enum Pending {
    /// Nothing.
    Nothing,
    /// The rest of the steps.
    Forward(Journal),
    /// To take the steps back.
    Backward(Journal),
    /// A journal is there that says nothing: its bytes are damaged.
    Damaged,
}

impl Pending {
    pub(super) fn load(home: &Root) -> Result<Self, TreeError> {
        Ok(match load(home, BACKWARD)? {
            Some(Some(journal)) => Pending::Backward(journal),
            Some(None) => Pending::Damaged,
            None => match load(home, FORWARD)? {
                Some(Some(journal)) => Pending::Forward(journal),
                Some(None) => Pending::Damaged,
                None => Pending::Nothing,
            },
        })
    }

    /// Whether there is anything to do, without reading it.
    pub(super) fn is_there(home: &Root) -> Result<bool, TreeError> {
        let there =
            |name| stat_at(home, name).map_err(|error| TreeError::io("look at", home.at(name), error));
        Ok(there(BACKWARD)?.is_some() || there(FORWARD)?.is_some())
    }
}

/// `None`: there is no such file; `Some(None)`: it is damaged.
fn load(home: &Root, name: &str) -> Result<Option<Option<Journal>>, TreeError> {
    match read_at(home, name) {
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(TreeError::io("read", home.at(name), error)),
        Ok(bytes) if is_of_another_version(&bytes) => Err(TreeError::State {
            path: home.at(name),
            why: "another version of the program began a run; finish it with that one".to_owned(),
        }),
        Ok(bytes) => Ok(Some(Journal::parse(&bytes))),
    }
}

/// Whether a journal is whole and of a version that we do not know.
fn is_of_another_version(bytes: &[u8]) -> bool {
    let Some((content, checksum)) = bytes.split_last_chunk::<20>().map(|(content, sum)| (content, *sum))
    else {
        return false;
    };
    bytes.starts_with(FAMILY) && !bytes.starts_with(VERSION) && sha1(&[content]) == checksum
}

impl Journal {
    /// Writes the journal; from here on the run is finished or taken back, by whoever comes next.
    pub(super) fn begin(&self, home: &Root) -> Result<(), TreeError> {
        let failed = |error| TreeError::io("write", home.at(FORWARD), error);
        unlink_at(home, DRAFT).map_err(failed)?;
        let file = create_at(home, DRAFT, false, &self.render()).map_err(failed)?;
        rustix::fs::fsync(&file).map_err(failed)?;
        rename_at(home, DRAFT, home, FORWARD).map_err(failed)?;
        home.flush()
    }

    /// Turns round: from here on the run is taken back.
    pub(super) fn turn_round(home: &Root) -> Result<(), TreeError> {
        rename_at(home, FORWARD, home, BACKWARD)
            .map_err(|error| TreeError::io("rename", home.at(FORWARD), error))
    }

    /// The run is finished, or taken back.
    pub(super) fn end(home: &Root) -> Result<(), TreeError> {
        for name in [FORWARD, BACKWARD, DRAFT] {
            unlink_at(home, name).map_err(|error| TreeError::io("remove", home.at(name), error))?;
        }
        Ok(())
    }

    /// Where in `.overlaid` the original of a step that keeps it goes: `kept/<number>/<path>`. A folder that
    /// is kept and a file in it that is kept by a step of its own get different numbers.
    pub(super) fn kept_path(&self, index: usize) -> BString {
        let path = self.steps[index].path.as_bytes();
        let below = [path.as_bytes(), b"/"].concat();
        let first = self.steps.partition_point(|step| step.path.as_bytes() < below.as_slice());
        let inside = self.steps[first..].iter().take_while(|step| step.path.as_bytes().starts_with(&below));
        // There are fewer steps than that.
        let nested = u32::try_from(inside.filter(|step| step.keep).count()).unwrap_or(u32::MAX);
        kept_path(self.steps[index].path.as_bytes(), self.kept.saturating_add(nested))
    }

    /// The first number after all that [`Journal::kept_path`] can give.
    pub(super) fn kept_end(&self) -> u32 {
        self.kept.saturating_add(u32::try_from(self.steps.len()).unwrap_or(u32::MAX))
    }

    fn render(&self) -> Vec<u8> {
        let mut bytes = VERSION.to_vec();
        render_header(&mut bytes, &self.header);
        bytes.extend_from_slice(&self.kept.to_le_bytes());
        bytes.extend_from_slice(&(self.steps.len() as u32).to_le_bytes());
        for step in &self.steps {
            render_path(&mut bytes, step.path.as_bytes());
            let (kind, from) = match &step.from {
                Found::Absent | Found::Behind { .. } => (0, None),
                Found::Entry(entry) => (1, Some(*entry)),
                Found::Folder => (2, None),
                Found::Special(_) => (3, None),
            };
            bytes.push(kind);
            render_entry(&mut bytes, from);
            render_entry(&mut bytes, step.to);
            bytes.push(u8::from(step.keep));
        }
        bytes.extend_from_slice(&(self.emptied.len() as u32).to_le_bytes());
        for folder in &self.emptied {
            render_path(&mut bytes, folder);
        }
        let checksum = sha1(&[&bytes]);
        bytes.extend_from_slice(&checksum);
        bytes
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let end = bytes.len().checked_sub(20)?;
        if !bytes.starts_with(VERSION) || sha1(&[&bytes[..end]]) != bytes[end..] {
            return None;
        }
        let mut reader = Reader { bytes: &bytes[..end], at: VERSION.len() };
        let header = reader.header()?;
        let kept = reader.u32()?;
        let mut steps = Vec::new();
        for _ in 0..reader.u32()? {
            let path = UpstreamPath::parse(parse_path(&mut reader)?).ok()?;
            let kind = reader.u8()?;
            let from = match (kind, reader.entry()?) {
                (0, None) => Found::Absent,
                (1, Some(entry)) => Found::Entry(entry),
                (2, None) => Found::Folder,
                (3, None) => Found::Special("something that is no file"),
                _ => return None,
            };
            let to = reader.entry()?;
            let keep = reader.u8()? == 1;
            steps.push(Step { path, from, to, keep });
        }
        let mut emptied = Vec::new();
        for _ in 0..reader.u32()? {
            emptied.push(parse_path(&mut reader)?.into());
        }
        Some(Self { header, steps, emptied, kept })
    }
}

/// Where something is kept, relative to `.overlaid`.
pub(super) fn kept_path(path: &BStr, number: u32) -> BString {
    [KEPT.as_bytes(), b"/", number.to_string().as_bytes(), b"/", path.as_bytes()].concat().into()
}

fn render_path(bytes: &mut Vec<u8>, path: &[u8]) {
    // Paths have at most 4095 bytes.
    bytes.extend_from_slice(&(path.len() as u16).to_le_bytes());
    bytes.extend_from_slice(path);
}

fn parse_path<'b>(reader: &mut Reader<'b>) -> Option<&'b [u8]> {
    let length = reader.u16()?;
    reader.take(usize::from(length))
}

#[cfg(test)]
mod tests {
    use super::super::state::Origin;
    use super::*;
    use crate::id::CommitId;
    use crate::tree::Content;

    #[test]
    fn a_journal_is_read_as_it_was_written_and_never_half() {
        let entry = Content::file(*b"x").entry();
        let step =
            |path: &str, from, to, keep| Step { path: UpstreamPath::parse(path).unwrap(), from, to, keep };
        let journal = Journal {
            header: Header {
                origin: Origin::Adopted,
                upstream: "up".to_owned(),
                commit: CommitId::from_bytes([3; 20]),
                fingerprint: "f".to_owned(),
            },
            steps: vec![
                step("a", Found::Absent, Some(entry), false),
                step("b\n", Found::Entry(entry), None, true),
                step("c", Found::Folder, Some(entry), true),
            ],
            emptied: vec!["d/e".into(), "d".into()],
            kept: 7,
        };
        let bytes = journal.render();
        assert_eq!(Journal::parse(&bytes).unwrap(), journal);
        for cut in 0..bytes.len() {
            assert_eq!(Journal::parse(&bytes[..cut]), None);
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(Journal::parse(&damaged), None);
        }
    }
}
