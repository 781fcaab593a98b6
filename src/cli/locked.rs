//! `apply` and `restore` of a folder that something else filled, from the lock file beside the manifest.
//!
//! Decides whether the lock is enough; if not, git objects are asked, and only if those cannot be had either does
//! a command fail.

use std::collections::BTreeSet;
use std::path::Path;

use crate::id::Name;
use crate::io::locked::{Locked, LockedError, lock_file};
use crate::io::no_tree::NoTree;
use crate::io::store::Store;
use crate::io::tree::{Options, TreeError};
use crate::io::workspace::{LoadError, Workspace};
use crate::overlay::{Resolution, Unwanted};
use crate::plan::{Plan, Wanted};

use super::apply::{Place, Saying, conclude, tell};
use super::{Answer, Context, Failure, Ui};

/// Whether the lock is enough.
pub enum Tried {
    /// It is.
    Ready(Box<(Locked, Wanted, Resolution)>),
    /// There is none.
    NoLock,
    /// It is not, or something in it is wrong.
    NotEnough(LockedError),
}

/// Tries to find out from the lock what a folder should be.
pub fn try_apply(workspace: &Workspace, features: &BTreeSet<Name>, dir: &Path) -> Tried {
    let ready = Locked::open(workspace, dir).and_then(|locked| {
        let (wanted, resolution) = locked.wanted(workspace, features)?;
        Ok(Box::new((locked, wanted, resolution)))
    });
    Tried::from(ready)
}

/// Tries to find out from the lock what a folder is without overlays.
pub fn try_restore(workspace: &Workspace, dir: &Path) -> Tried {
    let ready = Locked::open(workspace, dir).and_then(|locked| {
        let wanted = locked.pristine(workspace)?;
        Ok(Box::new((locked, wanted, Resolution::default())))
    });
    Tried::from(ready)
}

/// Refuses a folder that somebody else should have filled and has not: one that was named and is empty, and a submodule
/// that is not checked out. With a file of ours in it, git would refuse to fill it.
///
/// # Errors
/// If it is one, or that cannot be seen.
pub fn refuse_unfilled(context: &Context, workspace: &Workspace, place: &Place) -> Result<(), Failure> {
    let dir = match &place.tree {
        Some(dir) => dir.clone(),
        None => context.tree(workspace)?,
    };
    let Some(no_tree) = NoTree::at(&dir)? else { return Ok(()) };
    if no_tree.submodule.is_none() && (place.tree.is_none() || !no_tree.is_there) {
        // It is made from git objects.
        return Ok(());
    }
    let hint = no_tree.hint().unwrap_or_else(|| {
        "fill it with the pin's sources, or remove the folder: then it is made from git objects".to_owned()
    });
    Err(Failure::environment(no_tree.to_string()).with_hint(hint))
}

/// Without a folder that something else filled, a lock does not help; if there is one, that is worth saying.
pub fn without_tree(workspace: &Workspace) -> Tried {
    let lock = lock_file(&workspace.manifest.file);
    if workspace.root.join(lock).is_file() {
        Tried::NotEnough(LockedError::NoContents)
    } else {
        Tried::NoLock
    }
}

impl From<Result<Box<(Locked, Wanted, Resolution)>, LockedError>> for Tried {
    fn from(result: Result<Box<(Locked, Wanted, Resolution)>, LockedError>) -> Self {
        match result {
            Ok(ready) => Tried::Ready(ready),
            Err(LockedError::NoLock { .. }) => Tried::NoLock,
            Err(error) => Tried::NotEnough(error),
        }
    }
}

impl Tried {
    /// The git objects, since the lock is not enough.
    ///
    /// # Errors
    /// If the lock shows that they would not help, or they cannot be had.
    pub fn or_store(self, context: &Context, workspace: &Workspace, ui: &mut Ui) -> Result<Store, Failure> {
        let error = match self {
            Tried::NoLock | Tried::Ready(_) => return context.store(workspace, ui),
            Tried::NotEnough(error) => error,
        };
        let helps = match &error {
            // What is wrong with a file of ours is wrong with git objects, too.
            LockedError::Load(_) => false,
            LockedError::Unwanted(unwanted) => matches!(unwanted, Unwanted::Upstream(_)),
            LockedError::Tree(error) => matches!(error, TreeError::Upstream { .. }),
            _ => true,
        };
        if !helps {
            return Err(error.into());
        }
        // Of a tree that is to be made from the start, nobody expects that a lock is enough.
        if !matches!(error, LockedError::NoContents | LockedError::NoTree(_)) {
            ui.note(format_args!("note: the lock is not enough, so git objects are read: {error}"));
        }
        context.store(workspace, ui).map_err(|mut failure| {
            let locked = Failure::from(error);
            let objects = std::mem::take(&mut failure.message);
            failure.message = "neither the lock nor git objects are enough".to_owned();
            failure.causes.insert(0, format!("for the lock: {}", locked.message));
            failure.causes.insert(1, format!("for git objects: {objects}"));
            failure.hint = match (failure.hint.take(), locked.hint) {
                (Some(store), Some(lock)) => Some(format!("{store}\nor, for the lock: {lock}")),
                (store, lock) => store.or(lock),
            };
            failure
        })
    }
}

/// Makes the folder what is wanted, and says what was done.
#[allow(clippy::too_many_arguments, reason = "two commands share it, and each argument is one of theirs")]
pub fn bring(
    context: &Context,
    workspace: &Workspace,
    locked: &Locked,
    wanted: &Wanted,
    place: &Place,
    dry_run: bool,
    saying: Saying<'_>,
    ui: &mut Ui,
) -> Result<(Answer, Plan), Failure> {
    if let Some(first) = locked.stale.first() {
        let file = lock_file(&workspace.manifest.file);
        ui.warn(format_args!("`{}` is stale: {first}; write it anew: overlaid lock", file.display()));
    }
    let dir = place.tree.clone().unwrap_or_default();
    let options = Options { force: place.force, dry_run, adopt: true };
    let outcome = locked.bring(wanted, &options, &mut |event| tell(&event, ui));
    ui.end_progress();
    conclude(context, &dir, wanted, outcome?, None, place, dry_run, saying, ui)
}

impl From<LockedError> for Failure {
    fn from(error: LockedError) -> Self {
        let hint = error.hint();
        match error {
            LockedError::Load(LoadError::Manifest(diagnostics)) => Failure::diagnostics(diagnostics),
            LockedError::Load(error) => error.into(),
            LockedError::Unwanted(unwanted) => unwanted.into(),
            LockedError::Tree(error) => error.into(),
            LockedError::Stale { .. } => Failure { hint, ..Failure::input(error.to_string()) },
            error => Failure { hint, ..Failure::environment(error.to_string()) },
        }
    }
}
