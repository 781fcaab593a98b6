//! The tree of a commit's site, made that of one variant after the other.

use std::time::Duration;

use crate::io::tree;
use crate::verdict::Obstacle;

use super::event::Event;
use super::make::MakeError;
use super::measure::{Lab, Open, Subject};
use super::pristine::{Snapshot, clean};
use super::site::Site;

impl Lab<'_> {
    /// Makes the tree of the variant's commit what the variant says.
    pub(super) fn flip(&mut self, subject: &Subject) -> Result<(), MakeError> {
        let commit = subject.sources.commit;
        let events = &mut *self.events;
        // One commit's folder at a time: two that wait for each other's would wait for ever.
        self.sites.retain(|other, _| *other == commit);
        if !self.sites.contains_key(&commit) {
            let opened = Site::open(&self.workshop.root, &self.name, commit, &mut |folder| {
                events(Event::Waiting { folder: folder.to_owned() });
            });
            let site = opened.map_err(|error| Obstacle::Environment(error.to_string()))?;
            self.sites.insert(commit, Open { site, now: None });
        }
        let Some(open) = self.sites.get_mut(&commit) else { return Ok(()) };
        let fingerprint = subject.sources.whole().to_owned();
        let tree = open.site.tree();
        if open.now.as_ref() == Some(&fingerprint) && tree.is_dir() {
            return Ok(());
        }
        events(Event::Flipping { variant: subject.label.clone(), changes: subject.sources.changes.len() });
        let cleaned = clean(&open.site).map_err(|error| Obstacle::Environment(error.to_string()))?;
        if let Some(what) = cleaned {
            events(Event::Warning(what));
        }
        open.now = None;
        // Times of files are coarse. What is written now must be newer than what was built just before.
        std::thread::sleep(Duration::from_millis(10));
        let wanted = subject.sources.wanted(&self.name);
        // The tree is nobody's but ours: what stands in the way was left by a test, and a copy is kept.
        let options = tree::Options { force: true, ..tree::Options::default() };
        let outcome = tree::bring_to(&tree, &wanted, self.upstream, &options, &mut |event| {
            if let tree::Event::Kept { path, .. } = event {
                events(Event::Warning(format!("{path} was changed in the lab's tree; it is put right")));
            }
        });
        match outcome {
            Ok(tree::Outcome::Unchanged(_) | tree::Outcome::Changed(_)) => {
                let noted = Snapshot::of(&tree).and_then(|now| now.save(&open.site.snapshot()));
                noted.map_err(|error| Obstacle::Environment(format!("{}: {error}", tree.display())))?;
                open.now = Some(fingerprint);
                Ok(())
            }
            Ok(tree::Outcome::Refused(_) | tree::Outcome::NotOurs) => {
                let text = format!("{} is in the way; remove it", tree.display());
                Err(Obstacle::Environment(text).into())
            }
            Err(tree::TreeError::Upstream { error, .. }) => Err(Obstacle::Upstream(error.to_string()).into()),
            Err(error) => Err(Obstacle::Environment(error.to_string()).into()),
        }
    }
}
