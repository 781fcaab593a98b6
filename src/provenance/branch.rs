//! What can be said of an overlay where the manifest's branch, on which newer contents are looked for, does not answer.

use super::{OverlayReport, PathReport, State, may_be_newer, without_branch};
use crate::overlay::Loaded;

/// Why nothing is known of what upstream has on its branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoBranch {
    /// The store has other branches and not this one.
    Missing,
    /// The store has no branch at all: a clone of single commits.
    NoneAtAll,
    /// Its name is there and cannot be read, and why.
    Unreadable(String),
    /// It is there, and a submodule is not here at the commit that its tip names.
    SubmoduleMissing,
}

impl NoBranch {
    /// What stands behind the branch's name.
    #[must_use]
    pub fn in_few_words(&self) -> &'static str {
        match self {
            NoBranch::Missing => "which upstream does not have",
            NoBranch::NoneAtAll => "which upstream does not have here: the clone has no branches",
            NoBranch::Unreadable(_) => "which cannot be read",
            NoBranch::SubmoduleMissing => "at whose tip a submodule is not here",
        }
    }

    /// A sentence about the branch of this name.
    #[must_use]
    pub fn sentence(&self, branch: &str) -> String {
        match self {
            NoBranch::Missing => format!("upstream has no branch `{branch}`"),
            NoBranch::NoneAtAll => format!("the clone has no branches, so not `{branch}` either"),
            NoBranch::Unreadable(why) => format!("the branch `{branch}` cannot be read: {why}"),
            NoBranch::SubmoduleMissing => {
                format!("a submodule is not here at the commit that the tip of `{branch}` names")
            }
        }
    }

    /// Says so in reports for which nothing on the branch was looked at. Where the branch cannot be read, whole content may
    /// be what stands on it, so what is open is unknown. Where it is not there, that is said beside the state.
    #[must_use]
    pub fn add_to(
        &self,
        reports: Vec<OverlayReport>,
        overlays: &[&Loaded],
        branch: &str,
    ) -> Vec<OverlayReport> {
        if let NoBranch::Unreadable(why) = self {
            return without_branch(reports, overlays, why);
        }
        let mut reports = reports;
        for (report, loaded) in reports.iter_mut().zip(overlays) {
            let open = report.paths.iter_mut().filter(|path| may_be_newer(loaded, path));
            for path in open.filter(|path| path.state != State::Unknown) {
                self.add_word(path, branch);
            }
        }
        reports
    }

    fn add_word(&self, path: &mut PathReport, branch: &str) {
        path.why.push_str("; whether upstream has it on its branch is not known: ");
        path.why.push_str(&self.sentence(branch));
    }
}
