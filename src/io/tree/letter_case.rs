//! Paths that differ in case only, on file systems that take them for one.

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice};

use super::error::TreeError;
use super::folder::{Root, create_at, split, stat_at, unlink_at};
use crate::plan::Wanted;

const PROBE: &str = "Case-Probe";
const PROBE_OTHERWISE: &str = "cASE-pROBE";

/// Refuses wanted paths that would be one here. Asks the file system only if there are such paths.
pub(super) fn check(home: &Root, wanted: &Wanted) -> Result<(), TreeError> {
    let Some((path, other)) = collision(wanted) else { return Ok(()) };
    let failed = |error| TreeError::io("write", home.at(PROBE), error);
    unlink_at(home, PROBE).map_err(failed)?;
    create_at(home, PROBE, false, b"").map_err(failed)?;
    let is_one = stat_at(home, PROBE_OTHERWISE).map_err(failed)?.is_some();
    unlink_at(home, PROBE).map_err(failed)?;
    if is_one { Err(TreeError::CaseCollision { path, other }) } else { Ok(()) }
}

/// Two wanted paths, or folders of such, that differ in case only.
fn collision(wanted: &Wanted) -> Option<(BString, BString)> {
    let mut spelled: HashMap<Vec<u8>, &BStr> = HashMap::with_capacity(wanted.listing.len());
    let added = wanted.changes.iter().filter(|(_, change)| change.is_some()).map(|(path, _)| path);
    let mut before = BStr::new("");
    for path in wanted.listing.keys().chain(added) {
        let folder = split(path.as_bytes()).0;
        // Paths come sorted: the folder is mostly the one that was looked at last.
        let is_next = folder != std::mem::replace(&mut before, folder);
        for part in path.ancestors().filter(|_| is_next).chain([path.as_bytes()]) {
            let folded = fold(part);
            match spelled.get(&folded) {
                Some(first) if *first != part => return Some(((*first).into(), part.into())),
                Some(_) => {}
                None => {
                    spelled.insert(folded, part);
                }
            }
        }
    }
    None
}

/// Lower case, for text; of other bytes only the ASCII letters.
fn fold(part: &BStr) -> Vec<u8> {
    match part.to_str() {
        Ok(text) => text.to_lowercase().into_bytes(),
        Err(_) => part.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{BlobId, CommitId, Name, UpstreamPath};
    use crate::tree::{Entry, Mode};

    fn found(paths: &[&str]) -> Option<(BString, BString)> {
        let entry = Entry { mode: Mode::File, id: BlobId::of(b"") };
        let listing = paths.iter().map(|path| (UpstreamPath::parse(path).unwrap(), entry)).collect();
        let commit = CommitId::from_bytes([1; 20]);
        collision(&Wanted::pristine(Name::parse("up").unwrap(), commit, listing, String::new()))
    }

    #[test]
    fn files_and_folders_that_differ_in_case_only_are_found() {
        assert_eq!(found(&["a/b", "a/c", "d"]), None);
        assert_eq!(found(&["Makefile", "makefile"]), Some(("Makefile".into(), "makefile".into())));
        assert_eq!(found(&["A", "a/b"]), Some(("A".into(), "a".into())));
        assert_eq!(found(&["x/Ä", "x/ä"]), Some(("x/Ä".into(), "x/ä".into())));
    }
}
