//! What an earlier run left in a tree: `.overlaid/state`.
//!
//! For each path that was written: the entry, and what `lstat` said of it then. As long as `lstat` says the
//! same, the content is the same and need not be read. The exception is as in git's index: if the inode was
//! changed no earlier than the state was written, a later change can have got the same time.
//!
//! The file, little-endian: a line with the version; the header; per path, in order, the length of what it
//! shares with the path before, the length of the rest, the rest, mode, id, size, mtime, ctime, inode,
//! device; at the end the SHA-1 of all before it. It is never edited, always replaced.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::fs::{Stat, Timespec};

use super::error::TreeError;
use super::folder::{Root, create_at, read_at, rename_at, stat_at, unlink_at};
use crate::id::{BlobId, CommitId, UpstreamPath};
use crate::sha1::sha1;
use crate::tree::{Entry, Mode};

/// The file in `.overlaid`.
pub(super) const FILE: &str = "state";
const NEW_FILE: &str = "state.new";
const VERSION: &[u8] = b"overlaid tree state 1\n";
const CHECKSUM: usize = 20;

/// How a tree came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// All of it was written by us.
    Made,
    /// Somebody else made it; only overlaid paths are ours.
    Adopted,
}

impl Origin {
    /// The word for it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Origin::Made => "made",
            Origin::Adopted => "adopted",
        }
    }

    /// What a word stands for.
    pub(super) fn parse(word: &str) -> Option<Self> {
        [Origin::Made, Origin::Adopted].into_iter().find(|origin| origin.as_str() == word)
    }
}

/// Which tree it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) origin: Origin,
    pub(super) upstream: String,
    pub(super) commit: CommitId,
    pub(super) fingerprint: String,
}

/// What `lstat` said. All but the device change with the content on a file system that works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) size: u64,
    /// Nanoseconds since 1970.
    pub(super) mtime: i64,
    /// Nanoseconds since 1970; nobody can set it.
    pub(super) ctime: i64,
    pub(super) inode: u64,
    pub(super) device: u64,
}

impl Stamp {
    #[allow(clippy::unnecessary_cast)] // The fields of `Stat` have other types on other platforms.
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            size: stat.st_size as u64,
            mtime: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            ctime: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            inode: stat.st_ino as u64,
            device: stat.st_dev as u64,
        }
    }

    /// A stamp that proves nothing.
    pub(super) const NONE: Stamp = Stamp { size: 0, mtime: 0, ctime: 0, inode: 0, device: 0 };

    /// Whether it is the same file with the same content, as far as a link to it leaves that to see: making
    /// and removing hard links changes the ctime.
    pub(super) fn same_file(&self, other: &Stamp) -> bool {
        (self.size, self.mtime, self.inode, self.device)
            == (other.size, other.mtime, other.inode, other.device)
    }
}

fn nanoseconds(seconds: i64, nanoseconds: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}

/// The time as system calls want it.
pub(super) fn timespec(nanoseconds: i64) -> Timespec {
    Timespec { tv_sec: nanoseconds.div_euclid(1_000_000_000), tv_nsec: nanoseconds.rem_euclid(1_000_000_000) }
}

/// What is known of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    /// What was written; `None`: in an adopted tree, an overlay removed it.
    pub(super) entry: Option<Entry>,
    pub(super) stamp: Stamp,
}

/// A state as it was read. Records stay as bytes until they are asked for.
#[derive(Debug)]
pub(super) struct State {
    pub(super) header: Header,
    bytes: Vec<u8>,
    start: usize,
    count: usize,
    /// When the file was written, by the kernel's clock.
    written: i64,
}

/// What is where the state should be.
#[derive(Debug)]
pub(super) enum Saved {
    /// Nothing: the tree has none.
    Absent,
    /// A state.
    Good(State),
    /// Bytes that are none, and why.
    Damaged(&'static str),
}

impl State {
    /// Reads the state.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn load(home: &Root) -> Result<Saved, TreeError> {
        let failed = |error| TreeError::io("read", home.at(FILE), error);
        let Some(stat) = stat_at(home, FILE).map_err(failed)? else { return Ok(Saved::Absent) };
        let bytes = read_at(home, FILE).map_err(failed)?;
        let written = Stamp::of(&stat).mtime;
        Ok(match Self::parse(bytes, written) {
            Ok(state) => Saved::Good(state),
            Err(why) => Saved::Damaged(why),
        })
    }

    fn parse(bytes: Vec<u8>, written: i64) -> Result<Self, &'static str> {
        if !bytes.starts_with(VERSION) {
            return Err("it was written by another version of the program");
        }
        let Some(end) = bytes.len().checked_sub(CHECKSUM).filter(|end| *end >= VERSION.len()) else {
            return Err("it is cut off");
        };
        if sha1(&[&bytes[..end]]) != bytes[end..] {
            return Err("it is damaged");
        }
        let mut reader = Reader { bytes: &bytes[..end], at: VERSION.len() };
        let header = reader.header().ok_or("it is damaged")?;
        let count = reader.u32().ok_or("it is damaged")? as usize;
        let start = reader.at;
        Ok(Self { header, bytes, start, count, written })
    }

    /// The records in the order of their paths.
    pub(super) fn records(&self) -> Records<'_> {
        let end = self.bytes.len() - CHECKSUM;
        Records {
            reader: Reader { bytes: &self.bytes[..end], at: self.start },
            left: self.count,
            path: Vec::new(),
        }
    }

    /// Whether what `lstat` says now proves that the content is the recorded one.
    pub(super) fn proves(&self, record: &Record, now: &Stamp) -> bool {
        record.stamp == *now && record.stamp.ctime < self.written
    }
}

/// Goes through the records.
#[derive(Debug)]
pub(super) struct Records<'s> {
    reader: Reader<'s>,
    left: usize,
    path: Vec<u8>,
}

impl Records<'_> {
    /// The path of the record that came last.
    pub(super) fn path(&self) -> &[u8] {
        &self.path
    }

    /// The next record, if there is one.
    pub(super) fn next(&mut self) -> Option<Record> {
        self.left = self.left.checked_sub(1)?;
        let shared = usize::from(self.reader.u16()?);
        let rest = usize::from(self.reader.u16()?);
        self.path.truncate(shared);
        self.path.extend_from_slice(self.reader.take(rest)?);
        let entry = self.reader.entry()?;
        let stamp = Stamp {
            size: self.reader.u64()?,
            mtime: self.reader.i64()?,
            ctime: self.reader.i64()?,
            inode: self.reader.u64()?,
            device: self.reader.u64()?,
        };
        Some(Record { entry, stamp })
    }
}

/// Renders a state.
#[derive(Debug)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    count_at: usize,
    count: u32,
    last: Vec<u8>,
    newest: i64,
}

impl Writer {
    pub(super) fn new(header: &Header) -> Self {
        let mut bytes = VERSION.to_vec();
        render_header(&mut bytes, header);
        let count_at = bytes.len();
        bytes.extend_from_slice(&0_u32.to_le_bytes());
        Self { bytes, count_at, count: 0, last: Vec::new(), newest: i64::MIN }
    }

    /// Adds a path; they come in order.
    pub(super) fn push(&mut self, path: &UpstreamPath, record: &Record) {
        let path: &[u8] = path.as_bytes();
        let shared = path.iter().zip(&self.last).take_while(|(a, b)| a == b).count();
        // Paths have at most 4095 bytes.
        self.bytes.extend_from_slice(&(shared as u16).to_le_bytes());
        self.bytes.extend_from_slice(&((path.len() - shared) as u16).to_le_bytes());
        self.bytes.extend_from_slice(&path[shared..]);
        render_entry(&mut self.bytes, record.entry);
        let Stamp { size, mtime, ctime, inode, device } = record.stamp;
        for field in [size, mtime.cast_unsigned(), ctime.cast_unsigned(), inode, device] {
            self.bytes.extend_from_slice(&field.to_le_bytes());
        }
        self.last.truncate(shared);
        self.last.extend_from_slice(&path[shared..]);
        self.count += 1;
        self.newest = self.newest.max(ctime);
    }

    /// The state without a file; it proves nothing, but says what was written.
    pub(super) fn unproven(mut self) -> Option<State> {
        self.seal();
        State::parse(self.bytes, i64::MIN).ok()
    }

    fn seal(&mut self) {
        self.bytes[self.count_at..self.count_at + 4].copy_from_slice(&self.count.to_le_bytes());
        let checksum = sha1(&[&self.bytes]);
        self.bytes.extend_from_slice(&checksum);
    }

    /// Writes the state in place of the old one, in one step.
    pub(super) fn write(mut self, home: &Root, flush: bool) -> Result<(), TreeError> {
        let failed = |error| TreeError::io("write", home.at(FILE), error);
        self.seal();
        unlink_at(home, NEW_FILE).map_err(failed)?;
        let file = create_at(home, NEW_FILE, false, &self.bytes).map_err(failed)?;
        outlast(&file, self.newest).map_err(failed)?;
        if flush {
            rustix::fs::fsync(&file).map_err(failed)?;
        }
        rename_at(home, NEW_FILE, home, FILE).map_err(failed)
    }
}

/// Waits until the kernel's clock has left the tick in which the newest path was written, so that no record
/// is in doubt at the next run. Gives up after a while: then some are, and their content is read.
fn outlast(file: impl AsFd, newest: i64) -> rustix::io::Result<()> {
    let now = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_NOW };
    let times = rustix::fs::Timestamps { last_access: now, last_modification: now };
    for pause in [0].into_iter().chain([1; 30]) {
        if Stamp::of(&rustix::fs::fstat(&file)?).mtime > newest {
            break;
        }
        // Recent kernels use a finer clock for a file whose time was asked for: then no pause is needed.
        std::thread::sleep(Duration::from_millis(pause));
        rustix::fs::futimens(&file, &times)?;
    }
    Ok(())
}

pub(super) fn render_header(bytes: &mut Vec<u8>, header: &Header) {
    bytes.push(match header.origin {
        Origin::Made => 0,
        Origin::Adopted => 1,
    });
    bytes.extend_from_slice(header.commit.as_bytes());
    for text in [&header.upstream, &header.fingerprint] {
        // Names have at most 100 bytes, fingerprints are hashes.
        let text = &text.as_bytes()[..text.len().min(usize::from(u16::MAX))];
        bytes.extend_from_slice(&(text.len() as u16).to_le_bytes());
        bytes.extend_from_slice(text);
    }
}

/// A mode and an id; nothing is a mode of its own.
pub(super) fn render_entry(bytes: &mut Vec<u8>, entry: Option<Entry>) {
    bytes.push(match entry.map(|entry| entry.mode) {
        Some(Mode::File) => 0,
        Some(Mode::Executable) => 1,
        Some(Mode::Symlink) => 2,
        Some(Mode::Submodule) => 3,
        None => 4,
    });
    bytes.extend_from_slice(&entry.map_or([0; 20], |entry| *entry.id.as_bytes()));
}

/// Takes numbers and strings from bytes; `None` at the end.
#[derive(Debug)]
pub(super) struct Reader<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) at: usize,
}

impl<'b> Reader<'b> {
    pub(super) fn take(&mut self, length: usize) -> Option<&'b [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn i64(&mut self) -> Option<i64> {
        self.u64().map(u64::cast_signed)
    }

    pub(super) fn entry(&mut self) -> Option<Option<Entry>> {
        let mode = match self.u8()? {
            0 => Some(Mode::File),
            1 => Some(Mode::Executable),
            2 => Some(Mode::Symlink),
            3 => Some(Mode::Submodule),
            4 => None,
            _ => return None,
        };
        let id = BlobId::from_bytes(self.take(20)?.try_into().ok()?);
        Some(mode.map(|mode| Entry { mode, id }))
    }

    fn text(&mut self) -> Option<String> {
        let length = self.u16()?;
        String::from_utf8(self.take(usize::from(length))?.to_vec()).ok()
    }

    pub(super) fn header(&mut self) -> Option<Header> {
        let origin = match self.u8()? {
            0 => Origin::Made,
            1 => Origin::Adopted,
            _ => return None,
        };
        let commit = CommitId::from_bytes(self.take(20)?.try_into().ok()?);
        let upstream = self.text()?;
        let fingerprint = self.text()?;
        Some(Header { origin, upstream, commit, fingerprint })
    }
}
