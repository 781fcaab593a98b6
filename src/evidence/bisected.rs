//! What a search over the upstream's history came to: the note that `overlaid bisect` leaves.
//!
//! Decides what is said of it, and for what it holds: this pin and this content of the overlay. It is no measurement of
//! its own; what the search ran is evidence as ever.

use serde::{Deserialize, Serialize};

use super::{Digest, Machine};
use crate::id::{CommitId, Name, OverlayName};

/// The format of a note on disk.
pub const SCHEMA: &str = "overlaid.bisected.v1";

/// What was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Asked {
    /// The first commit at which the overlay is no longer needed.
    Unneeded,
    /// The commit that brought the fault.
    Introduced,
}

/// What came out. A search that found nothing out leaves no note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// This commit.
    One,
    /// One of these; all but the last cannot be judged.
    Range,
    /// The fault is still there at the pin.
    StillNeeded,
    /// The fault is as old as the tests can tell.
    AlwaysThere,
}

/// A commit of the upstream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Its id.
    pub commit: CommitId,
    /// Its subject, as upstream wrote it.
    pub subject: String,
}

/// The answer of a search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bisected {
    /// [`SCHEMA`].
    pub schema: String,
    /// The overlay.
    pub overlay: OverlayName,
    /// What was looked for.
    pub asked: Asked,
    /// The profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Name>,
    /// The pin at that time.
    pub pin: CommitId,
    /// A hash of the pin and of what the overlay gave its paths then.
    pub content: Digest,
    /// Where the fault was seen.
    pub seen_at: CommitId,
    /// What came out.
    pub found: Found,
    /// The commits of the answer, oldest first.
    pub commits: Vec<Step>,
    /// How many commits the line had.
    pub searched: usize,
    /// How many of them were built and tested.
    pub tried: usize,
    /// How many cases the overlay is there for.
    pub cases: usize,
    /// The machine.
    pub machine: Machine,
    /// When it was noted, in seconds since 1970.
    pub recorded: i64,
}

impl Bisected {
    /// Whether it is about what stands there now.
    #[must_use]
    pub fn holds(&self, pin: CommitId, content: &str) -> bool {
        self.pin == pin && self.content == content
    }

    /// The processor, or the accelerator where the profile has one.
    #[must_use]
    pub fn device(&self) -> String {
        self.machine.device.clone().unwrap_or_else(|| format!("CPU {}", self.machine.cpu))
    }

    /// The answer in words: `no longer needed from a4a1f70235 softmax: ... on; ...`.
    #[must_use]
    pub fn text(&self) -> String {
        let step = |step: &Step| format!("{} {}", step.commit.short(), step.subject);
        let (first, last) = (self.commits.first().map(step), self.commits.last().map(step));
        let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
        let count = self.commits.len();
        let what = match (self.asked, self.found) {
            (Asked::Unneeded, Found::One) => format!("no longer needed from {first} on"),
            (Asked::Unneeded, Found::Range) => {
                format!(
                    "no longer needed from one of {count} commits on, {first} to {last}; all but the last cannot be judged"
                )
            }
            (Asked::Introduced, Found::One) => format!("{first} brought the fault"),
            (Asked::Introduced, Found::Range) => {
                format!(
                    "one of {count} commits brought the fault, {first} to {last}; all but the last cannot be judged"
                )
            }
            (_, Found::StillNeeded) => "the fault is still there at the pin".to_owned(),
            (_, Found::AlwaysThere) => {
                format!("the fault is there as far back as the tests can tell, since {first}")
            }
        };
        format!(
            "{what} (searched {} commits with the fault seen at {}, {} of them built and tested, {} cases)",
            self.searched,
            self.seen_at.short(),
            self.tried,
            self.cases
        )
    }
}

/// The notes of an overlay that hold, one for each question and profile.
#[must_use]
pub fn of<'a>(all: &'a [Bisected], overlay: &str, pin: CommitId, content: &str) -> Vec<&'a Bisected> {
    all.iter().filter(|note| note.overlay.as_str() == overlay && note.holds(pin, content)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(asked: Asked, found: Found, commits: &[u8]) -> Bisected {
        let step =
            |id: &u8| Step { commit: CommitId::from_bytes([*id; 20]), subject: format!("change {id}") };
        Bisected {
            schema: SCHEMA.into(),
            overlay: OverlayName::parse("fix").unwrap(),
            asked,
            profile: None,
            pin: CommitId::from_bytes([9; 20]),
            content: "c".into(),
            seen_at: CommitId::from_bytes([1; 20]),
            found,
            commits: commits.iter().map(step).collect(),
            searched: 12,
            tried: 4,
            cases: 3,
            machine: Machine {
                os: "linux".into(),
                arch: "x86_64".into(),
                cpu: "a processor".into(),
                device: None,
                driver: None,
                cuda: None,
            },
            recorded: 0,
        }
    }

    #[test]
    fn each_answer_is_told_in_words() {
        let text = |asked, found, commits: &[u8]| note(asked, found, commits).text();
        let one = text(Asked::Unneeded, Found::One, &[7]);
        assert!(
            one.starts_with("no longer needed from 0707070707 change 7 on (searched 12 commits"),
            "{one}"
        );
        assert!(
            text(Asked::Unneeded, Found::Range, &[6, 7])
                .contains("one of 2 commits on, 0606060606 change 6 to")
        );
        assert!(
            text(Asked::Introduced, Found::One, &[7]).starts_with("0707070707 change 7 brought the fault")
        );
        assert!(text(Asked::Introduced, Found::Range, &[6, 7]).starts_with("one of 2 commits brought"));
        assert!(
            text(Asked::Unneeded, Found::StillNeeded, &[]).starts_with("the fault is still there at the pin")
        );
        assert!(text(Asked::Introduced, Found::AlwaysThere, &[2]).contains("since 0202020202 change 2"));
    }

    #[test]
    fn it_holds_for_this_pin_and_this_content() {
        let all = [note(Asked::Unneeded, Found::One, &[7])];
        let pin = CommitId::from_bytes([9; 20]);
        assert_eq!(of(&all, "fix", pin, "c").len(), 1);
        assert!(of(&all, "fix", pin, "d").is_empty());
        assert!(of(&all, "fix", CommitId::from_bytes([8; 20]), "c").is_empty());
        assert!(of(&all, "other", pin, "c").is_empty());
    }
}
