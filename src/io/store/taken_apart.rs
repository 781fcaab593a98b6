//! A tree of one folder, taken apart for a few names.
//!
//! Most trees are another one with a line or two changed. Where copies are known that a tree is made of, the whole
//! lines in them are known, too; only lines at the seams are read. The answer is that of reading all of it.

use std::ops::Range;
use std::sync::Arc;

use super::history::Folder;
use super::parsed::{Found, TreeLine, parse_tree_line};

/// What each wanted name stands for; `None`: it is not there.
pub(super) type Names = [Option<Found>];

/// A part of a tree that is the same in another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Copied {
    /// Where it starts here.
    pub at: usize,
    /// Where it lies in the other tree.
    pub from: Range<usize>,
}

/// A tree's bytes, and room for where its lines start.
#[derive(Debug, Default)]
pub(super) struct Room {
    pub bytes: Vec<u8>,
    pub starts: Vec<u32>,
}

/// A tree whose lines are known.
#[derive(Debug)]
pub(super) struct TakenApart {
    pub bytes: Vec<u8>,
    /// Where its lines start.
    starts: Vec<u32>,
    /// The lines with a wanted name, and the place of that name.
    wanted: Vec<(u32, u32)>,
    pub names: Arc<Names>,
}

impl TakenApart {
    /// Reads all lines.
    ///
    /// # Errors
    /// What is wrong, if it is no tree or has a wanted name twice.
    pub fn whole(folder: &Folder, bytes: Vec<u8>) -> Result<Self, String> {
        let mut tree = Lines::new(folder, &bytes, Vec::new());
        tree.read_up_to(bytes.len())?;
        tree.finish(None).map(|(starts, wanted, names)| Self { bytes, starts, wanted, names })
    }

    /// Reads what is not copied from this tree of the same folder. The copies are in order and do not overlap here.
    ///
    /// # Errors
    /// As [`TakenApart::whole`].
    pub fn from(folder: &Folder, tree: Room, other: &Self, copies: &[Copied]) -> Result<Self, String> {
        let Room { bytes, starts } = tree;
        let mut tree = Lines::new(folder, &bytes, starts);
        for copied in copies {
            tree.read_up_to(copied.at)?;
            tree.take_over(other, copied)?;
        }
        tree.read_up_to(bytes.len())?;
        tree.finish(Some(other)).map(|(starts, wanted, names)| Self { bytes, starts, wanted, names })
    }

    /// The room that this took, empty.
    pub fn into_room(self) -> Room {
        let Self { mut bytes, mut starts, .. } = self;
        bytes.clear();
        starts.clear();
        Room { bytes, starts }
    }

    /// About how much memory this takes.
    pub fn size(&self) -> usize {
        self.bytes.capacity() + 4 * self.starts.capacity() + 8 * self.wanted.len() + size_of::<Self>()
    }

    /// Where the line behind this one starts.
    fn end_of(&self, line: usize) -> usize {
        self.starts.get(line + 1).map_or(self.bytes.len(), |start| *start as usize)
    }
}

/// The lines of a tree as far as they are known.
struct Lines<'a> {
    folder: &'a Folder,
    bytes: &'a [u8],
    /// Where the next line starts.
    at: usize,
    starts: Vec<u32>,
    wanted: Vec<(u32, u32)>,
    /// Wanted names that were read, and what they stand for.
    read: Vec<(u32, Found)>,
}

type Finished = (Vec<u32>, Vec<(u32, u32)>, Arc<Names>);

impl<'a> Lines<'a> {
    fn new(folder: &'a Folder, bytes: &'a [u8], mut starts: Vec<u32>) -> Self {
        starts.clear();
        starts.reserve(bytes.len() / 32);
        Self { folder, bytes, at: 0, starts, wanted: Vec::new(), read: Vec::new() }
    }

    /// Reads lines until the next one starts here or behind.
    fn read_up_to(&mut self, end: usize) -> Result<(), String> {
        while self.at < end {
            self.read_line()?;
        }
        Ok(())
    }

    fn read_line(&mut self) -> Result<(), String> {
        let start = u32::try_from(self.at).map_err(|_| "it has more than 4 GiB".to_owned())?;
        let (TreeLine { name, what }, rest) = parse_tree_line(&self.bytes[self.at..])?;
        if let Some(place) = self.folder.find(name) {
            let place = u32::try_from(place).unwrap_or(u32::MAX);
            self.wanted.push((number(&self.starts), place));
            self.read.push((place, what));
        }
        self.starts.push(start);
        self.at = self.bytes.len() - rest.len();
        Ok(())
    }

    /// Takes over the lines that are wholly in a copied part, and reads those that only start in it.
    fn take_over(&mut self, other: &TakenApart, copied: &Copied) -> Result<(), String> {
        let Copied { at, from } = copied;
        let end = at + from.len();
        while self.at < end {
            let there = from.start + (self.at - at);
            let first = other.starts.binary_search_by(|start| (*start as usize).cmp(&there));
            let Ok(first) = first else {
                // The line started before the copy: its end may be a line's end there.
                self.read_line()?;
                continue;
            };
            let mut last = other.starts.partition_point(|start| (*start as usize) < from.end);
            // The last line that starts in the copy may go on behind it.
            if last > first && other.end_of(last - 1) > from.end {
                last -= 1;
            }
            if last == first {
                self.read_line()?;
                continue;
            }
            let before = number(&self.starts);
            let moved = |start: &u32| start.wrapping_sub(there as u32).wrapping_add(self.at as u32);
            self.starts.extend(other.starts[first..last].iter().map(moved));
            let line = |line: usize| other.wanted.partition_point(|(wanted, _)| (*wanted as usize) < line);
            let wanted = other.wanted[line(first)..line(last)].iter();
            self.wanted.extend(wanted.map(|(line, place)| (line - first as u32 + before, *place)));
            self.at += other.end_of(last - 1) - there;
        }
        Ok(())
    }

    fn finish(self, other: Option<&TakenApart>) -> Result<Finished, String> {
        let same = |other: &&TakenApart| {
            let places = |wanted: &[(u32, u32)]| wanted.iter().map(|(_, place)| *place).collect::<Vec<_>>();
            other.wanted.len() == self.wanted.len()
                && self.read.iter().all(|(place, what)| other.names[*place as usize] == Some(*what))
                && places(&other.wanted) == places(&self.wanted)
        };
        if let Some(other) = other.filter(same) {
            return Ok((self.starts, self.wanted, Arc::clone(&other.names)));
        }
        let mut names: Vec<Option<Found>> = vec![None; self.folder.names()];
        let mut seen = vec![false; names.len()];
        for (_, place) in &self.wanted {
            let place = *place as usize;
            if std::mem::replace(&mut seen[place], true) {
                return Err("it has a name twice".to_owned());
            }
            names[place] = other.and_then(|other| other.names[place]);
        }
        for (place, what) in self.read {
            names[place as usize] = Some(what);
        }
        Ok((self.starts, self.wanted, names.into()))
    }
}

fn number(starts: &[u32]) -> u32 {
    u32::try_from(starts.len()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use bstr::BString;

    use super::super::history::folders_of;
    use super::*;
    use crate::id::UpstreamPath;

    fn tree(lines: &[(&str, u8)]) -> Vec<u8> {
        let line = |(name, id): &(&str, u8)| [b"100644 ", name.as_bytes(), b"\0", &[*id; 20]].concat();
        lines.iter().flat_map(line).collect()
    }

    /// The top folder with the names `a`, `c` and `e`.
    fn folder() -> Folder {
        folders_of(&["a", "c", "e"].map(|path| UpstreamPath::parse(path).unwrap())).remove(0)
    }

    /// What the names stand for, and where lines start.
    fn answer(tree: &TakenApart) -> (Vec<Option<u8>>, Vec<u32>) {
        let id = |found: &Option<Found>| match found {
            Some(Found::Entry(_, id)) => Some(id[0]),
            _ => None,
        };
        (tree.names.iter().map(id).collect(), tree.starts.clone())
    }

    fn room(bytes: Vec<u8>) -> Room {
        Room { bytes, starts: Vec::new() }
    }

    /// Numbers that look random.
    struct Dice(u32);

    impl Dice {
        fn roll(&mut self, sides: usize) -> usize {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (self.0 >> 16) as usize % sides
        }
    }

    /// Copies of parts that are equal by chance or not, found by looking at any place of the other tree.
    fn copies(dice: &mut Dice, old: &[u8], new: &[u8]) -> Vec<Copied> {
        let (mut copies, mut at) = (Vec::new(), 0);
        while at < new.len() {
            let from = match dice.roll(3) {
                0 => dice.roll(old.len() + 1),
                _ => at.min(old.len()),
            };
            let equal = old[from..].iter().zip(&new[at..]).take_while(|(a, b)| a == b).count();
            let len = if dice.roll(3) == 0 { dice.roll(equal + 1) } else { equal };
            if len > 0 {
                copies.push(Copied { at, from: from..from + len });
            }
            at += len + dice.roll(4);
        }
        copies
    }

    #[test]
    fn a_tree_made_of_copies_is_read_as_if_it_were_alone() {
        let (folder, mut dice) = (folder(), Dice(7));
        let all = ["a", "b", "bb", "c", "d", "dd", "e", "f"];
        let mut last = TakenApart::whole(&folder, Vec::new()).unwrap();
        let mut shared = 0;
        for _ in 0..5000 {
            // Few ids, so that parts of lines are equal by chance.
            let mut chosen: Vec<(&str, u8)> = Vec::new();
            for name in all {
                if dice.roll(4) > 0 {
                    chosen.push((name, u8::try_from(dice.roll(3)).unwrap()));
                }
            }
            let bytes = tree(&chosen);
            let alone = TakenApart::whole(&folder, bytes.clone()).unwrap();
            let copies = copies(&mut dice, &last.bytes, &bytes);
            let next = TakenApart::from(&folder, room(bytes), &last, &copies).unwrap();
            assert_eq!(answer(&next), answer(&alone), "{:?}\n{copies:?}", BString::from(next.bytes));
            shared += usize::from(Arc::ptr_eq(&next.names, &last.names));
            last = next;
        }
        assert!(shared > 20, "names that did not change are shared: {shared}");
    }

    #[test]
    fn a_broken_tree_is_an_error_after_a_good_one_too() {
        let folder = folder();
        let good = tree(&[("a", 1), ("c", 2)]);
        let other = TakenApart::whole(&folder, good.clone()).unwrap();
        let cut = good[..good.len() - 1].to_vec();
        let head = [Copied { at: 0, from: 0..cut.len() }];
        assert!(TakenApart::whole(&folder, cut.clone()).is_err());
        assert!(TakenApart::from(&folder, room(cut), &other, &head).is_err());

        let twice = [good.clone(), tree(&[("c", 3)])].concat();
        let head = [Copied { at: 0, from: 0..good.len() }];
        assert_eq!(TakenApart::whole(&folder, twice.clone()).unwrap_err(), "it has a name twice");
        assert_eq!(TakenApart::from(&folder, room(twice), &other, &head).unwrap_err(), "it has a name twice");

        let copied_twice = [good.clone(), good.clone()].concat();
        let copies = [0, good.len()].map(|at| Copied { at, from: 0..good.len() });
        assert_eq!(
            TakenApart::from(&folder, room(copied_twice), &other, &copies).unwrap_err(),
            "it has a name twice"
        );
    }
}
