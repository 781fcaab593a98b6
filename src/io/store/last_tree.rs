//! Reads many trees of one folder for a few names each.
//!
//! A tree is mostly the one that was read before it. Of the bytes that both have at their start and at their end, the
//! lines are known; only what is between them is taken apart. The answer is that of taking all of it apart.

use std::sync::Arc;

use gix::objs::Kind;

use super::history::Folder;
use super::objects::{Found, Oid, TreeLine, parse_tree_line, unreadable};
use crate::upstream::UpstreamError;

/// What each wanted name stands for; `None`: it is not there.
pub(super) type Names = [Option<Found>];

/// The tree that was read last.
pub(super) struct LastTree {
    bytes: Vec<u8>,
    /// Where its lines start.
    starts: Vec<usize>,
    /// The line of each wanted name.
    lines: Vec<Option<usize>>,
    pub(super) names: Arc<Names>,
}

impl LastTree {
    pub(super) fn new(names: usize) -> Self {
        Self {
            bytes: Vec::new(),
            starts: Vec::new(),
            lines: vec![None; names],
            names: vec![None; names].into(),
        }
    }

    /// Reads the next tree.
    ///
    /// # Errors
    /// If it is no tree, or has a name twice.
    pub(super) fn read(&mut self, folder: &Folder, tree: &Oid, data: &[u8]) -> Result<(), UpstreamError> {
        let broken = |why: String| unreadable(Kind::Tree, tree, why);
        let (head, tail) = equal_ends(&self.bytes, data);
        // The lines that end within the equal start stay.
        let kept = self.starts.partition_point(|start| *start <= head);
        let kept = if head == self.bytes.len() { self.starts.len() } else { kept.saturating_sub(1) };
        let start = if kept == self.starts.len() { self.bytes.len() } else { self.starts[kept] };
        let tail_start = self.bytes.len() - tail.min(self.bytes.len() - start);

        let mut middle: Vec<usize> = Vec::new();
        let mut found: Vec<(usize, usize, Found)> = Vec::new();
        let mut at = start;
        // The line of the last tree from which on both are equal.
        let rest = loop {
            if at == data.len() {
                break self.starts.len();
            }
            let old = (at + self.bytes.len()).checked_sub(data.len()).filter(|old| *old >= tail_start);
            if let Some(line) = old.and_then(|old| self.starts.binary_search(&old).ok())
                && line >= kept
            {
                break line;
            }
            let (TreeLine { name, what }, rest) =
                parse_tree_line(&data[at..]).map_err(|why| broken(why.to_owned()))?;
            if let Some(index) = folder.find(name) {
                if found.iter().any(|(known, ..)| *known == index) {
                    return Err(broken(format!("it has {name:?} twice")));
                }
                found.push((index, kept + middle.len(), what));
            }
            middle.push(at);
            at = data.len() - rest.len();
        };

        let is_gone = |line: &Option<usize>| line.is_some_and(|line| (kept..rest).contains(&line));
        let moved = (kept + middle.len()) as isize - rest as isize;
        let mut lines: Vec<Option<usize>> = self.lines.clone();
        for line in &mut lines {
            if is_gone(line) {
                *line = None;
            } else if let Some(number) = line.filter(|line| *line >= rest) {
                *line = number.checked_add_signed(moved);
            }
        }
        let mut changes: Vec<(usize, Option<Found>)> = Vec::new();
        for (index, (old, new)) in self.lines.iter().zip(&lines).enumerate() {
            if old.is_some() && new.is_none() {
                changes.push((index, None));
            }
        }
        for (index, line, what) in found {
            if lines[index].replace(line).is_some() {
                return Err(broken("it has a name twice".to_owned()));
            }
            changes.retain(|(known, _)| *known != index);
            changes.push((index, Some(what)));
        }
        changes.retain(|(index, what)| self.names[*index] != *what);
        if !changes.is_empty() {
            let mut names: Vec<Option<Found>> = self.names.to_vec();
            for (index, what) in changes {
                names[index] = what;
            }
            self.names = names.into();
        }

        let (old_len, new_len) = (self.bytes.len(), data.len());
        let tail_lines: Vec<usize> =
            self.starts[rest..].iter().map(|start| start + new_len - old_len).collect();
        self.starts.truncate(kept);
        self.starts.extend(middle);
        self.starts.extend(tail_lines);
        self.lines = lines;
        self.bytes.truncate(start);
        self.bytes.extend_from_slice(&data[start..]);
        Ok(())
    }
}

/// How many bytes two texts have in common at their start, and at their end.
fn equal_ends(a: &[u8], b: &[u8]) -> (usize, usize) {
    const STEP: usize = 64;
    let most = a.len().min(b.len());
    let mut head = 0;
    while head + STEP <= most && a[head..head + STEP] == b[head..head + STEP] {
        head += STEP;
    }
    head += a[head..].iter().zip(&b[head..]).take_while(|(a, b)| a == b).count();
    let mut tail = 0;
    let (x, y) = (a.len(), b.len());
    while tail + STEP <= most && a[x - tail - STEP..x - tail] == b[y - tail - STEP..y - tail] {
        tail += STEP;
    }
    let (a, b) = (a[..x - tail].iter().rev(), b[..y - tail].iter().rev());
    tail += a.zip(b).take_while(|(a, b)| a == b).count();
    (head, tail)
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

    /// What reading one tree after the other gives for the names `a`, `c` and `e`.
    fn read(trees: &[Vec<u8>]) -> Vec<Result<Vec<Option<u8>>, ()>> {
        let paths = ["a", "c", "e"].map(|path| UpstreamPath::parse(path).unwrap());
        let folder = folders_of(&paths).remove(0);
        let mut last = LastTree::new(3);
        let id = |found: &Option<Found>| match found {
            Some(Found::Entry(_, id)) => Some(id[0]),
            _ => None,
        };
        let mut one = |tree: &Vec<u8>| {
            last.read(&folder, &[0; 20], tree).map_err(|_| ())?;
            Ok(last.names.iter().map(id).collect())
        };
        trees.iter().map(&mut one).collect()
    }

    #[test]
    fn each_tree_is_read_as_if_it_were_the_first() {
        let mut trees: Vec<Vec<u8>> = Vec::new();
        let mut dice = 7_u32;
        let mut roll = |sides: u32| {
            dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (dice >> 16) % sides
        };
        let all = ["a", "b", "bb", "c", "d", "dd", "e", "f"];
        for _ in 0..3000 {
            // Few ids, so that parts of lines are equal by chance.
            let chosen: Vec<(&str, u8)> = all
                .iter()
                .filter_map(|name| (roll(4) > 0).then_some((*name, u8::try_from(roll(3)).unwrap())))
                .collect();
            trees.push(tree(&chosen));
        }
        let together = read(&trees);
        for (tree, expected) in trees.iter().zip(together) {
            assert_eq!(read(std::slice::from_ref(tree))[0], expected, "{:?}", BString::from(tree.clone()));
        }
    }

    #[test]
    fn a_broken_tree_is_no_answer_after_a_good_one_either() {
        let good = tree(&[("a", 1), ("c", 2)]);
        let cut = good[..good.len() - 1].to_vec();
        let twice = [good.clone(), tree(&[("c", 3)])].concat();
        assert_eq!(
            read(&[good.clone(), cut, good.clone()]),
            [Ok(vec![Some(1), Some(2), None]), Err(()), Ok(vec![Some(1), Some(2), None]),]
        );
        assert_eq!(read(&[good.clone(), twice]), [Ok(vec![Some(1), Some(2), None]), Err(())]);
    }
}
