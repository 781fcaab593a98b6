//! The changed-path filters of a commit-graph: in which paths a commit can differ from its first parent.
//!
//! For each commit there can be a Bloom filter of the paths in which it differs from its first parent, and of the folders
//! that lead to them. It never leaves one out, and takes one path in a hundred for one of them; so a path that is not in
//! it need not be looked for in trees. The format is that of `gitformat-commit-graph`: chunk `BIDX` has where each
//! filter ends, `BDAT` the filters, which are read with murmur3 and double hashing.
//!
//! Nothing depends on it but time: a file that is not as it should be has no filters.

use std::fs;
use std::path::{Path, PathBuf};

use gix::commitgraph::{Graph, Position};

use crate::id::UpstreamPath;

/// The filters of all files of a commit-graph.
pub(super) struct ChangedPaths(Vec<Filters>);

/// Those of one file.
struct Filters {
    /// The places of its commits in the whole graph.
    commits: std::ops::Range<usize>,
    /// `None`: it has no filters, or of a version that is not known.
    read: Option<Read>,
}

struct Read {
    /// Where each filter ends, four bytes for each commit.
    ends: Vec<u8>,
    data: Vec<u8>,
    hashes: u32,
    version: u32,
}

impl ChangedPaths {
    /// Those of the commit-graph below this folder of objects. Only if it is the very graph that was read.
    pub(super) fn of(objects: &Path, graph: &Graph) -> Option<Self> {
        let info = objects.join("info");
        let files = match fs::read(info.join("commit-graph")) {
            Ok(file) => vec![file],
            Err(_) => {
                let folder = info.join("commit-graphs");
                let chain = fs::read_to_string(folder.join("commit-graph-chain")).ok()?;
                let file = |hash: &str| -> PathBuf { folder.join(format!("graph-{hash}.graph")) };
                chain.lines().map(|hash| fs::read(file(hash)).ok()).collect::<Option<_>>()?
            }
        };
        let mut filters: Vec<Filters> = Vec::new();
        for file in files {
            let start = filters.last().map_or(0, |filters| filters.commits.end);
            filters.push(Filters::read(&file, start, graph)?);
        }
        let commits = filters.last().map_or(0, |filters| filters.commits.end);
        let has_some = filters.iter().any(|filters| filters.read.is_some());
        (has_some && commits == graph.num_commits() as usize).then_some(Self(filters))
    }

    /// Whether the commit at this place of the graph can differ in a path from its first parent.
    pub(super) fn may_change(&self, place: u32, path: &Sought) -> bool {
        let place = place as usize;
        let filters = self.0.iter().find(|filters| filters.commits.contains(&place));
        let read = filters.and_then(|filters| Some((filters.read.as_ref()?, place - filters.commits.start)));
        read.is_none_or(|(read, place)| read.may_have(place, path))
    }
}

impl Filters {
    /// `None` if the file does not have the commits that the graph has from `start` on.
    fn read(file: &[u8], start: usize, graph: &Graph) -> Option<Self> {
        let chunk = |name: &[u8; 4]| chunk(file, name);
        let count = number(chunk(b"OIDF")?, 255)? as usize;
        let names = chunk(b"OIDL")?.chunks_exact(20);
        let commits = start..start.checked_add(count)?;
        if names.len() != count || commits.end > graph.num_commits() as usize {
            return None;
        }
        let is_same = |(place, name): (usize, &[u8])| {
            u32::try_from(place).is_ok_and(|place| graph.id_at(Position(place)).as_bytes() == name)
        };
        if !commits.clone().zip(names).all(is_same) {
            return None;
        }
        let read = || {
            let (ends, data) = (chunk(b"BIDX")?, chunk(b"BDAT")?);
            let (version, hashes) = (number(data, 0)?, number(data, 1)?);
            let is_known = matches!(version, 1 | 2) && (1..=64).contains(&hashes) && ends.len() == 4 * count;
            is_known.then(|| Read { ends: ends.to_vec(), data: data[12..].to_vec(), hashes, version })
        };
        Some(Self { read: read().filter(|read| read.data.len() <= u32::MAX as usize), commits })
    }
}

impl Read {
    fn may_have(&self, place: usize, path: &Sought) -> bool {
        if self.version == 1 && !path.is_ascii {
            // Its hash takes bytes for signed numbers on some machines.
            return true;
        }
        let end = |place: usize| number(&self.ends, place).map(|end| end as usize);
        let start = place.checked_sub(1).map_or(Some(0), end);
        let filter = start.zip(end(place)).and_then(|(start, end)| self.data.get(start..end));
        // An empty one was not made.
        let Some(filter) = filter.filter(|filter| !filter.is_empty()) else { return true };
        let bits = 8 * filter.len() as u64;
        path.keys.iter().all(|(first, step)| {
            (0..self.hashes).all(|round| {
                let hash = first.wrapping_add(round.wrapping_mul(*step));
                let bit = (u64::from(hash) % bits) as usize;
                filter[bit / 8] >> (bit % 8) & 1 == 1
            })
        })
    }
}

/// A path as it is sought in filters.
pub(super) struct Sought {
    /// Two hashes of the path, and of each folder that leads to it.
    keys: Vec<(u32, u32)>,
    is_ascii: bool,
}

impl Sought {
    pub(super) fn new(path: &UpstreamPath) -> Self {
        let path = path.as_bytes();
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        // The path says more than its folders.
        let keys = std::iter::once(path.len()).chain(slashes);
        let hash = |end: usize| (murmur3(0x293a_e76f, &path[..end]), murmur3(0x7e64_6e2c, &path[..end]));
        Self { keys: keys.map(hash).collect(), is_ascii: path.is_ascii() }
    }
}

/// `MurmurHash3_x86_32`.
fn murmur3(seed: u32, bytes: &[u8]) -> u32 {
    let mix = |word: u32| word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (words, rest) = bytes.as_chunks();
    let mut hash = words.iter().fold(seed, |hash, word| {
        (hash ^ mix(u32::from_le_bytes(*word))).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    hash ^= mix(rest.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte)));
    hash ^= bytes.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// A number of four bytes.
fn number(bytes: &[u8], index: usize) -> Option<u32> {
    bytes.get(4 * index..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// The chunk of this name of a commit-graph file.
fn chunk<'f>(file: &'f [u8], name: &[u8; 4]) -> Option<&'f [u8]> {
    let head: &[u8; 8] = file.first_chunk()?;
    // The version of the format, and of the hash: SHA-1.
    if !head.starts_with(b"CGPH\x01\x01") {
        return None;
    }
    let mut entries = file.get(8..)?.chunks_exact(12).take(usize::from(head[6]) + 1);
    let offset = |entry: &[u8]| usize::try_from(u64::from_be_bytes(*entry.last_chunk()?)).ok();
    let entry = entries.find(|entry| entry.starts_with(name))?;
    file.get(offset(entry)?..offset(entries.next()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of git's own test of its filters (`test-tool bloom get_murmur3`).
    #[test]
    fn the_hash_is_murmur3() {
        assert_eq!(murmur3(0, b""), 0);
        assert_eq!(murmur3(0, b"Hello world!"), 0x627b_0c2c);
        assert_eq!(murmur3(0, b"The quick brown fox jumps over the lazy dog"), 0x2e4f_f723);
    }

    #[test]
    fn a_path_is_sought_with_the_folders_that_lead_to_it() {
        let sought = |path| Sought::new(&UpstreamPath::parse(path).unwrap()).keys;
        assert_eq!(sought("a/b/c").len(), 3);
        assert_eq!(sought("a/b/c")[1..], [sought("a")[0], sought("a/b")[0]]);
    }
}
