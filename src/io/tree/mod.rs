//! The tree on disk: a directory of upstream sources with overlays applied.
//!
//! [`bring_to`] makes a directory what [`Wanted`] says, completely or not at all. [`compare`] tells how a
//! directory differs from it. Both look at bytes only: no git discovery, no index, no filters.
//!
//! | what | where |
//! | --- | --- |
//! | which paths stand how, with as few reads as possible | `survey` |
//! | what an earlier run left, to compare with | `state`, in `.overlaid/state` |
//! | a tree that is not there yet | `cold` |
//! | one run: look, plan, do, remember | `run` |
//! | all steps or none, whatever happens; a damaged state | `transaction`, `new_content`, `journal`, `recovery` |
//! | paths that never follow a link | `folder` |
//! | every file against what is wanted | `observe` |
//! | that nothing changed since the last run, without reading anything | `unchanged` |

mod attestation;
#[cfg(any(feature = "git", feature = "proof"))]
mod cold;
mod error;
mod execute_bit;
mod folder;
mod journal;
mod letter_case;
mod lock;
mod new_content;
#[cfg(feature = "git")]
mod observe;
mod originals;
mod recovery;
mod run;
mod state;
mod survey;
mod transaction;
#[cfg(feature = "cli")]
pub mod unchanged;

use std::path::{Path, PathBuf};

use bstr::ByteSlice;
use rustix::io::Errno;

pub use attestation::{
    Attested, Claimed, FILE as ATTESTATION_FILE, parse as parse_attestation, render as render_attestation,
};
pub use error::TreeError;
#[cfg(feature = "git")]
pub use observe::{Cache, Difference, Kind, compare, observe_all};
pub use originals::{Originals, Recorded};
pub use state::Origin;

use crate::id::UpstreamPath;
use crate::plan::{Plan, Refusal, Wanted};
use crate::tree::Mode;
use crate::upstream::Upstream;
use folder::{Root, Way, create_at, mode_of, read_at, stat_at};
use journal::Pending;
use lock::{Lock, Sharing};
use recovery::{load_or_rebuild, recover};
use run::Run;
use state::{Header, Saved, State};
use survey::Survey;

/// The folder at the top of a tree in which its state is kept.
pub const HOME: &str = ".overlaid";
const LOCK: &str = "lock";
const IGNORE: &str = ".gitignore";

/// How to go about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Local edits in the way are moved into `.overlaid/kept`, not refused.
    pub force: bool,
    /// Only the plan; nothing is written.
    pub dry_run: bool,
    /// A directory that somebody else filled is taken as it is, and only overlaid paths are looked at.
    pub adopt: bool,
}

/// What happens meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Another run has the tree; this one has been waiting for a second.
    Waiting {
        /// The tree.
        dir: PathBuf,
    },
    /// An earlier run was interrupted; its steps were finished or taken back.
    Recovered {
        /// Whether they were finished.
        finished: bool,
        /// How many steps it had.
        steps: usize,
    },
    /// An earlier run was interrupted before it changed the tree, or after; what it left over is removed.
    Discarded,
    /// The journal of an interrupted run is damaged. The tree is looked at byte by byte.
    JournalDamaged {
        /// Where that is now what the run had moved aside, if it had.
        kept: Option<PathBuf>,
    },
    /// The recorded state cannot be used; it is made anew from the attestation, the upstream and the bytes of the tree.
    StateRebuilt {
        /// What is wrong with it.
        why: &'static str,
    },
    /// Somebody's content was moved aside.
    Kept {
        /// Where it was.
        path: UpstreamPath,
        /// Where it is now.
        copy: PathBuf,
    },
    /// So many contents are written.
    Writing {
        /// Done.
        done: usize,
        /// Of these.
        total: usize,
    },
}

/// How it went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The tree was right already; the plan has no steps.
    Unchanged(Plan),
    /// The steps of the plan were done; with `dry_run`: would be.
    Changed(Plan),
    /// Somebody's content is in the way; nothing was changed.
    Refused(Vec<Refusal>),
    /// The directory has files and no state of ours, and `adopt` was not asked for; nothing was changed.
    NotOurs,
}

/// Makes a directory what is wanted: completely, or not at all.
///
/// Right files are not touched, not even their times. One run at a time works on a tree; others wait. What an
/// interrupted run left is finished first. Content comes from `wanted.changes`, else from `upstream`.
///
/// # Errors
/// If it could not be found out what is there, or could not be written. The tree is as it was.
pub fn bring_to(
    dir: &Path,
    wanted: &Wanted,
    upstream: &dyn Upstream,
    options: &Options,
    events: &mut dyn FnMut(Event),
) -> Result<Outcome, TreeError> {
    if let Some((path, other)) = wanted.overlap() {
        return Err(TreeError::Overlap { path: path.clone(), other });
    }
    match std::fs::symlink_metadata(dir) {
        Ok(_) => {}
        // A build script without git objects has nothing to make a whole tree of.
        #[cfg(any(feature = "git", feature = "proof"))]
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if options.dry_run {
                return Ok(Outcome::Changed(cold::plan(wanted)));
            }
            if let Some(plan) = cold::make(dir, wanted, upstream, events)? {
                return Ok(Outcome::Changed(plan));
            }
        }
        Err(error) => return Err(TreeError::io("look at", dir, error)),
    }
    bring_existing(&Root::open(dir)?, wanted, upstream, options, events)
}

fn bring_existing(
    root: &Root,
    wanted: &Wanted,
    upstream: &dyn Upstream,
    options: &Options,
    events: &mut dyn FnMut(Event),
) -> Result<Outcome, TreeError> {
    let home = match root.inside(HOME)? {
        Some(home) => home,
        None => match whose(root, options)? {
            Whose::Others => return Ok(Outcome::NotOurs),
            Whose::ToAdopt if wanted.changes.is_empty() => return Ok(Outcome::Unchanged(Plan::default())),
            whose if options.dry_run => return survey_only(root, wanted, whose.origin(), options),
            Whose::Nobodys => root.make_inside(HOME)?,
            // In a folder that is not taken, nothing of ours is left.
            Whose::ToAdopt => match survey_only(root, wanted, Origin::Adopted, options)? {
                Outcome::Refused(refusals) => return Ok(Outcome::Refused(refusals)),
                _ => root.make_inside(HOME)?,
            },
        },
    };
    if options.dry_run {
        let is_locked = stat_at(&home, LOCK).is_ok_and(|stat| stat.is_some());
        let mut waiting = || events(Event::Waiting { dir: root.path().to_owned() });
        let _lock = is_locked.then(|| Lock::take(&home, LOCK, Sharing::Shared, &mut waiting)).transpose()?;
        if Pending::is_there(&home)? {
            return Err(TreeError::Interrupted { dir: root.path().to_owned() });
        }
        return match load_or_rebuild(&home, wanted, upstream, options.adopt, events)? {
            Some(state) => {
                own_upstream(root, &state, wanted)?;
                let survey = Survey::take(root, wanted, Some(&state), state.header.origin)?;
                dry_outcome(&survey, root, wanted, options)
            }
            None => match whose(root, options)? {
                Whose::Others => Ok(Outcome::NotOurs),
                whose => survey_only(root, wanted, whose.origin(), options),
            },
        };
    }
    let mut waiting = || events(Event::Waiting { dir: root.path().to_owned() });
    let _lock = Lock::take(&home, LOCK, Sharing::Exclusive, &mut waiting)?;
    let mut state = load_or_rebuild(&home, wanted, upstream, options.adopt, events)?;
    if recover(root, &home, state.as_ref(), events)? {
        state = load_or_rebuild(&home, wanted, upstream, options.adopt, events)?;
    }
    let origin = match &state {
        Some(state) => {
            own_upstream(root, state, wanted)?;
            state.header.origin
        }
        None => match whose(root, options)? {
            Whose::Others => return Ok(Outcome::NotOurs),
            Whose::ToAdopt if wanted.changes.is_empty() => return Ok(Outcome::Unchanged(Plan::default())),
            whose => whose.origin(),
        },
    };
    Run { root, home: &home, wanted, state: state.as_ref(), origin }.go(upstream, options, events)
}

/// Whether a folder has nothing in it, or only what a run left that did not get as far as a tree: then nobody has filled it.
///
/// # Errors
/// If it cannot be read.
pub fn is_unfilled(dir: &Path) -> Result<bool, TreeError> {
    let root = Root::open(dir)?;
    if let Some(home) = root.inside(HOME)? {
        let is_there = |name| match stat_at(&home, name) {
            Ok(stat) => Ok(stat.is_some()),
            Err(error) => Err(TreeError::io("look at", home.at(name), error)),
        };
        if Pending::is_there(&home)? || is_there(state::FILE)? || is_there(ATTESTATION_FILE)? {
            return Ok(false);
        }
    }
    Ok(root.names()?.iter().all(|name| name == HOME))
}

/// The bytes of a file of a tree, or the target of a link; `None` if nothing of the kind is there. Links on the way are not
/// followed.
///
/// # Errors
/// If it cannot be read.
pub fn content_on_disk(dir: &Path, path: &UpstreamPath) -> Result<Option<Vec<u8>>, TreeError> {
    let root = Root::open(dir)?;
    let failed = |error| TreeError::io("read", root.at(path.as_bytes()), error);
    let (Way::Open(folder), name) = root.parent(path)? else { return Ok(None) };
    let Some(stat) = stat_at(&folder, name).map_err(failed)? else { return Ok(None) };
    Ok(match mode_of(&stat) {
        Ok(Mode::File | Mode::Executable) => Some(read_at(&folder, name).map_err(failed)?),
        Ok(Mode::Symlink) => {
            let target = rustix::fs::readlinkat(&folder, name.as_bytes(), Vec::new()).map_err(failed)?;
            Some(target.into_bytes())
        }
        Ok(Mode::Submodule) | Err(_) => None,
    })
}

/// What a tree says of itself.
///
/// # Errors
/// If it cannot be read.
pub fn load_attestation(dir: &Path) -> Result<Attested, TreeError> {
    let Some(home) = Root::open(dir)?.inside(HOME)? else { return Ok(Attested::Nothing) };
    Ok(match attestation::load(&home)? {
        Some(text) => parse_attestation(&text).map_or(Attested::Damaged, Attested::Claims),
        None if matches!(State::load(&home)?, Saved::Absent) => Attested::Nothing,
        None => Attested::Withdrawn,
    })
}

/// The fingerprint that a tree says it has; `None` if it says none, or overlaid paths are not what it says: then it is
/// nobody's.
///
/// # Errors
/// If it cannot be read.
pub fn attested_fingerprint(dir: &Path) -> Result<Option<String>, TreeError> {
    let Attested::Claims(claimed) = load_attestation(dir)? else { return Ok(None) };
    let originals = Originals::open(dir)?;
    for (path, entry) in &claimed.overlaid {
        if originals.in_tree(path)?.as_ref().map(crate::tree::Content::entry) != *entry {
            return Ok(None);
        }
    }
    Ok(Some(claimed.fingerprint))
}

/// Whose a directory without a state is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// Nobody's: it is empty.
    Nobodys,
    /// Somebody else's, and to be adopted.
    ToAdopt,
    /// Somebody else's.
    Others,
}

impl Whose {
    fn origin(self) -> Origin {
        match self {
            Whose::Nobodys => Origin::Made,
            Whose::ToAdopt | Whose::Others => Origin::Adopted,
        }
    }
}

fn whose(root: &Root, options: &Options) -> Result<Whose, TreeError> {
    Ok(if root.names()?.iter().all(|name| name == HOME) {
        Whose::Nobodys
    } else if options.adopt {
        Whose::ToAdopt
    } else {
        Whose::Others
    })
}

fn survey_only(
    root: &Root,
    wanted: &Wanted,
    origin: Origin,
    options: &Options,
) -> Result<Outcome, TreeError> {
    dry_outcome(&Survey::take(root, wanted, None, origin)?, root, wanted, options)
}

fn dry_outcome(
    survey: &Survey<'_>,
    root: &Root,
    wanted: &Wanted,
    options: &Options,
) -> Result<Outcome, TreeError> {
    Ok(match survey.plan(root, wanted, options.force)? {
        Err(refusals) => Outcome::Refused(refusals),
        Ok(planned) if planned.plan.steps.is_empty() => Outcome::Unchanged(planned.plan),
        Ok(planned) => Outcome::Changed(planned.plan),
    })
}

fn own_upstream(root: &Root, state: &State, wanted: &Wanted) -> Result<(), TreeError> {
    let recorded = &state.header.upstream;
    if recorded == wanted.upstream.as_str() {
        return Ok(());
    }
    let why = format!("it is of a tree of `{recorded}`, not of `{}`", wanted.upstream);
    Err(TreeError::State { path: root.at(HOME).join(state::FILE), why })
}

impl Header {
    fn of(wanted: &Wanted, origin: Origin) -> Self {
        Self {
            origin,
            upstream: wanted.upstream.as_str().to_owned(),
            commit: wanted.commit,
            fingerprint: wanted.fingerprint.clone(),
        }
    }
}

/// Puts into our folder what is always there: the lock, and a `.gitignore` for a repository around the tree.
fn prepare_home(home: &Root) -> Result<(), TreeError> {
    for (name, content) in [(IGNORE, "*\n"), (LOCK, "")] {
        match create_at(home, name, false, content.as_bytes()) {
            Ok(_) | Err(Errno::EXIST) => {}
            Err(error) => return Err(TreeError::io("write", home.at(name), error)),
        }
    }
    Ok(())
}

#[cfg(feature = "git")]
#[cfg(test)]
mod tests;
