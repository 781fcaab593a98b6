//! The pins of one upstream, from all files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::id::Name;
use crate::import::name;

use super::Pin;

/// A pin with its file, relative to the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The file.
    pub file: PathBuf,
    /// The pin.
    pub pin: Pin,
    /// The folder of the repository in which the sources are because of it: that of a submodule.
    pub sources: Option<String>,
}

/// An upstream and where it is pinned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// A name that is free among the upstreams.
    pub name: Name,
    /// The repository, as the first pin has it.
    pub url: String,
    /// Where, in the order of files and lines.
    pub pins: Vec<Placed>,
}

impl Upstream {
    /// The folder of the repository in which the sources are, if there is one.
    #[must_use]
    pub fn sources(&self) -> Option<&str> {
        let folders: BTreeSet<&str> =
            self.pins.iter().filter_map(|placed| placed.sources.as_deref()).collect();
        let mut folders = folders.into_iter();
        folders.next().filter(|_| folders.next().is_none())
    }

    /// The revisions that it is pinned at; several contradict each other until they are resolved.
    #[must_use]
    pub fn revisions(&self) -> BTreeSet<&str> {
        self.pins.iter().map(|placed| placed.pin.revision.as_str()).collect()
    }
}

/// Puts pins of the same repository together, in the order in which the first of each was found.
#[must_use]
pub fn upstreams(pins: Vec<Placed>) -> Vec<Upstream> {
    let mut by_key: BTreeMap<String, usize> = BTreeMap::new();
    let mut upstreams: Vec<Upstream> = Vec::new();
    let mut taken = BTreeSet::new();
    for placed in pins {
        let key = key(&placed.pin.url);
        match by_key.get(&key).and_then(|at| upstreams.get_mut(*at)) {
            Some(upstream) => upstream.pins.push(placed),
            None => {
                let last = key.rsplit(['/', ':']).next().unwrap_or_default();
                let own = name::of_text(last).or_else(|| name::of_text(placed.pin.name.as_deref()?));
                let Some(own) = own else { continue };
                by_key.insert(key, upstreams.len());
                let name = name::unique(own, &mut taken);
                upstreams.push(Upstream { name, url: placed.pin.url.clone(), pins: vec![placed] });
            }
        }
    }
    upstreams
}

/// The same for all ways to write the address of one repository.
fn key(url: &str) -> String {
    let url = url.trim_end_matches('/');
    let url = url.strip_suffix(".git").unwrap_or(url);
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    // A user before the host, not an `@` in the path.
    let rest = rest.split_once('@').filter(|(user, _)| !user.contains('/')).map_or(rest, |(_, rest)| rest);
    rest.replacen(':', "/", 1).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(file: &str, url: &str, revision: &str) -> Placed {
        let pin = Pin { by: "CPM", name: None, url: url.to_owned(), revision: revision.to_owned(), line: 1 };
        Placed { file: file.into(), pin, sources: None }
    }

    #[test]
    fn the_same_repository_is_one_upstream_however_it_is_written() {
        let found = upstreams(vec![
            placed("a", "https://github.com/A/Up.git", "c0"),
            placed("b", "git@github.com:a/up", "c1"),
            placed("c", "https://example.org/b/up/", "c2"),
        ]);
        let names: Vec<_> =
            found.iter().map(|upstream| (upstream.name.as_str(), upstream.pins.len())).collect();
        assert_eq!(names, [("up", 2), ("up-2", 1)]);
        assert_eq!(found[0].revisions().len(), 2);
    }
}
