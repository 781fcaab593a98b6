//! What a drop changes: the manifest, the overlays' files, their records and reports; then the tree.
//!
//! Decides nothing about overlays. All of it is written, or none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::bump::FileEdit;
use crate::escape::for_terminal;
use crate::id::{BlobId, OverlayName};
use crate::io::own_edits::{self, Lock};
use crate::io::own_files::{Disk, OwnFiles};
use crate::io::own_history::Revision;
use crate::io::store::Store;
use crate::io::workspace::Workspace;
use crate::manifest;
use crate::manifest::edit::{self, EditError};
use crate::overlay::Loaded;
use crate::report::retired::Retired;
use crate::report::templates::Template;

use super::super::apply::{Place, Saying, bring};
use super::super::report::finished;
use super::super::report::gather::Gathered;
use super::super::{Answer, Context, Failure, FailureKind, Ui, without_problems};

/// The overlay's table as it stands in the manifest: what goes when it is removed.
pub(super) fn overlay_table(text: &str, overlay: &str) -> Result<String, EditError> {
    let without = edit::remove_overlay(text, overlay)?;
    let start = text.bytes().zip(without.bytes()).take_while(|(a, b)| a == b).count();
    let max = text.len().min(without.len()) - start;
    let end = text.bytes().rev().zip(without.bytes().rev()).take(max).take_while(|(a, b)| a == b).count();
    let removed = text.as_bytes().get(start..text.len() - end).unwrap_or_default();
    Ok(String::from_utf8_lossy(removed).trim().to_owned())
}

/// The files of an overlay that no overlay names that stays.
pub(super) fn files_of(
    workspace: &Workspace,
    loaded: &Loaded,
    gone: &[OverlayName],
) -> Vec<(PathBuf, BlobId)> {
    let others: BTreeSet<&Path> = workspace
        .overlays
        .iter()
        .filter(|other| !gone.contains(other.name()))
        .flat_map(|other| other.own.iter().map(|own| own.file.as_path()))
        .collect();
    loaded
        .own
        .iter()
        .filter(|own| !others.contains(own.file.as_path()))
        .map(|own| (own.file.clone(), own.id))
        .collect()
}

/// Our last commit, if it has the overlay as it stands here.
pub(super) fn last_in(
    workspace: &Workspace,
    loaded: &Loaded,
    gone: &[OverlayName],
) -> Option<crate::id::CommitId> {
    let head = Revision::open(&workspace.root, "HEAD").ok()?;
    let same = |file: &Path, id: BlobId| {
        head.read(file).ok().flatten().is_some_and(|content| BlobId::of(&content.bytes) == id)
    };
    let manifest = &workspace.manifest;
    let is_committed = same(&manifest.file, BlobId::of(manifest.text.as_bytes()))
        && files_of(workspace, loaded, gone).iter().all(|(file, id)| same(file, *id));
    is_committed.then(|| head.commit())
}

/// What a drop changes.
pub(super) struct Drop {
    edits: Vec<FileEdit>,
    dropped: Vec<Dropped>,
    /// Tests that no overlay names any more.
    tests: Vec<String>,
    store: Rc<Store>,
}

/// An overlay that goes.
struct Dropped {
    retired: Retired,
    record: PathBuf,
    report: Option<PathBuf>,
}

impl Drop {
    /// What is to be written so that these overlays are gone, each with its record.
    ///
    /// # Errors
    /// If the manifest would not be right without them, or a file cannot be read.
    pub fn plan(
        workspace: &Workspace,
        all: &[(&Gathered<'_>, Retired)],
        store: Rc<Store>,
    ) -> Result<Self, Failure> {
        let manifest = &workspace.manifest;
        let gone: Vec<OverlayName> = all.iter().map(|(_, retired)| retired.name.clone()).collect();
        let text = gone
            .iter()
            .try_fold(manifest.text.to_string(), |text, name| edit::remove_overlay(&text, name.as_str()))
            .map_err(|error| Failure::input(error.to_string()))?;
        let (parsed, diagnostics) = manifest::parse(&manifest.file, &text);
        if parsed.is_none() {
            let names = gone.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let message = format!("the manifest would not be right without overlay {names}");
            return Err(Failure { message, ..Failure::diagnostics(diagnostics) });
        }
        let disk = Disk::new(&workspace.root);
        let write = |file: &Path, bytes: Vec<u8>| -> Result<FileEdit, Failure> {
            let before = disk.read(file)?.map(|content| BlobId::of(&content.bytes));
            Ok(FileEdit { file: file.to_owned(), before, after: Some(Arc::from(bytes)), mode: None })
        };
        let mut edits = vec![FileEdit {
            file: manifest.file.clone(),
            before: Some(BlobId::of(manifest.text.as_bytes())),
            after: Some(Arc::from(text.as_bytes())),
            mode: None,
        }];
        // Two that go may share a file.
        let files: BTreeSet<(PathBuf, BlobId)> =
            all.iter().flat_map(|(gathered, _)| files_of(workspace, gathered.loaded, &gone)).collect();
        edits.extend(files.into_iter().map(|(file, id)| FileEdit {
            file,
            before: Some(id),
            after: None,
            mode: None,
        }));
        let mut dropped = Vec::new();
        for (gathered, retired) in all {
            let record = manifest.docs_folder().join("retired").join(format!("{}.toml", retired.name));
            edits.push(write(&record, retired.to_toml().into_bytes())?);
            let mut report = None;
            if gathered.before.is_some() || !gathered.proofs.is_empty() {
                let mut facts = gathered.facts(Template::Retraction, false);
                facts.retired = Some(retired.clone());
                edits.push(write(&gathered.file, finished(gathered, facts)?)?);
                report = Some(gathered.file.clone());
            }
            dropped.push(Dropped { retired: retired.clone(), record, report });
        }
        let others = manifest.overlays.iter().filter(|other| !gone.contains(&other.name.value));
        let named: BTreeSet<&str> = others.flat_map(|o| o.tests.iter().map(|test| test.as_str())).collect();
        let tests = all.iter().flat_map(|(gathered, _)| &gathered.loaded.overlay.tests);
        let tests: BTreeSet<String> = tests.map(|test| test.value.to_string()).collect();
        let tests = tests.into_iter().filter(|test| !named.contains(test.as_str())).collect();
        Ok(Self { edits, dropped, tests, store })
    }

    /// Writes our own files, then the tree. Where the tree cannot be written, our files are taken back.
    ///
    /// # Errors
    /// If something cannot be written, or the tree refuses. Nothing has changed then.
    pub fn write(
        &mut self,
        context: &Context,
        workspace: &Workspace,
        (lock, tree): (&Lock, Option<&Path>),
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let dir = match tree {
            Some(tree) => tree.to_owned(),
            None => context.tree(workspace)?,
        };
        if tree.is_some() && !dir.is_dir() {
            return Err(Failure::input(format!("`{}` is no folder", dir.display()))
                .with_hint("name the folder that `apply --tree` was given"));
        }
        let features = match dir.is_dir() {
            true => Some(super::super::apply::features(context, workspace)?),
            false => None,
        };
        self.edits.extend(super::super::lock::follow(context, &self.edits, ui));
        let old = self.contents(workspace)?;
        own_edits::write(lock, &self.edits)?;
        if let Some(features) = features
            && let Err(failure) = restore_tree(context, &features, &self.store, tree)
        {
            own_edits::write(lock, &old)?;
            return Err(failure);
        }
        Ok(())
    }

    /// The edits that take all of it back.
    fn contents(&self, workspace: &Workspace) -> Result<Vec<FileEdit>, Failure> {
        let disk = Disk::new(&workspace.root);
        let back = |edit: &FileEdit| -> Result<FileEdit, Failure> {
            let there = disk.read(&edit.file)?;
            Ok(FileEdit {
                file: edit.file.clone(),
                before: edit.after.as_ref().map(|bytes| BlobId::of(bytes)),
                mode: there.as_ref().map(|content| content.mode),
                after: there.map(|content| content.bytes),
            })
        };
        self.edits.iter().map(back).collect()
    }

    /// Says what was removed, or would be.
    pub fn say(&self, workspace: &Workspace, is_done: bool, ui: &mut Ui) {
        if ui.is_json() {
            ui.document(&self.document(is_done));
            return;
        }
        let done = if is_done { "removed" } else { "would be removed" };
        for Dropped { retired, record, report } in &self.dropped {
            let Retired { name, verdict, by, forced, files, .. } = retired;
            ui.line(format_args!("{name}: {verdict}; {done}, as {} decides", for_terminal(by)));
            if let Some(reason) = forced {
                ui.line(format_args!("  without the proof: {}", for_terminal(reason)));
            }
            ui.line(format_args!("  its table in {}", workspace.manifest.file.display()));
            for file in files {
                ui.line(format_args!("  {}", for_terminal(file.display().to_string())));
            }
            ui.line(format_args!("  the record: {}", record.display()));
            if let Some(report) = report {
                ui.line(format_args!("  the report: {}", report.display()));
            }
        }
        for test in &self.tests {
            ui.note(format_args!("no overlay names test `{test}` any more; it stays"));
        }
        let is_in_no_commit = |dropped: &&Dropped| dropped.retired.last_in.is_none();
        let lost: Vec<&str> =
            self.dropped.iter().filter(is_in_no_commit).map(|one| one.retired.name.as_str()).collect();
        if lost.is_empty() {
            ui.note("to bring it back: commit this, and later: git revert COMMIT");
        } else if self.dropped.len() == 1 {
            ui.note("the overlay was in no commit as it stood here: its files are in .overlaid/before only");
        } else {
            ui.note(format_args!(
                "in no commit as they stood here, so that their files are in .overlaid/before only: {}",
                lost.join(", ")
            ));
        }
    }

    /// For one overlay its fields stand on top, too.
    fn document(&self, is_done: bool) -> Value {
        let of = |Dropped { retired, record, report }: &Dropped| {
            json!({
                "overlay": retired.name,
                "verdict": retired.verdict,
                "forced": retired.forced,
                "by": retired.by,
                "files": retired.files,
                "record": record,
                "report": report,
            })
        };
        let overlays: Vec<Value> = self.dropped.iter().map(of).collect();
        let mut document = match overlays.as_slice() {
            [one] => one.clone(),
            _ => json!({}),
        };
        document["schema"] = "overlaid.drop.v1".into();
        document["dropped"] = is_done.into();
        document["tests"] = json!(self.tests);
        document["overlays"] = overlays.into();
        document
    }
}

/// Makes the tree what the new manifest says.
fn restore_tree(
    context: &Context,
    features: &BTreeSet<crate::id::Name>,
    store: &Store,
    tree: Option<&Path>,
) -> Result<(), Failure> {
    let workspace = without_problems(context.workspace()?)?;
    let (wanted, _) = super::super::wanted::wanted(&workspace, features, store)?;
    let place = Place { tree: tree.map(Path::to_owned), force: false };
    let mut silent = Ui::silent();
    let (answer, _) =
        bring(context, &workspace, &wanted, store, &place, false, Saying::Report("apply"), &mut silent)?;
    match answer {
        Answer::Yes => Ok(()),
        _ => {
            Err(Failure::new(FailureKind::NeedsPerson, "the tree cannot be made what the manifest would say")
                .with_hint(format!("see what is in the way: {} --dry-run", context.command("apply", tree))))
        }
    }
}
