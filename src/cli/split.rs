//! `overlaid split`

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;

use crate::bump::FileEdit;
use crate::escape::for_terminal;
use crate::id::{BlobId, Name, OverlayName};
use crate::io::own_edits;
use crate::io::own_files::{Disk, Edited, OwnFiles};
use crate::io::store::Store;
use crate::io::workspace::Workspace;
use crate::manifest::Kind;
use crate::manifest::edit::{self, Value};
use crate::overlay::Loaded;
use crate::overlay::diff::Patch;
use crate::refresh::{Others, PathSides, Question, Stand, plan};
use crate::split::{Halves, Unit, as_patch, split, units};
use crate::tree::Changes;

use super::edit::{features, overlay_of};
use super::refresh::{path_sides, prove};
use super::table;
use super::{Answer, Context, Failure, FailureKind, Ui, without_problems};

/// Make two overlays of one
///
/// Without --hunks: lists what can be taken out, with numbers. With --hunks 1,3 --new NAME --reason TEXT: these go into a new
/// overlay, a patch behind the old one; the rest stays. Both have their own tests then: the old one keeps its list, the new one
/// gets that of --tests, or the same.
///
/// Before anything is written it is proven that both together make of the tree what the one made of it. All or nothing.
///
/// Exit code 0: done, or listed. 2: there is no such hunk. 3: the overlay cannot be split so.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The overlay
    #[arg(value_name = "OVERLAY")]
    overlay: String,
    /// What to take out
    #[arg(long, value_name = "1,3", value_delimiter = ',', requires_all = ["new", "reason"])]
    hunks: Vec<usize>,
    /// The name of the new overlay
    #[arg(long, value_name = "NAME", value_parser = super::parse_name, requires = "hunks")]
    new: Option<OverlayName>,
    /// Why the new overlay is carried
    #[arg(long, value_name = "TEXT", requires = "hunks")]
    reason: Option<String>,
    /// The tests of the new overlay, if they are not those of the old one
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = super::parse_name, requires = "hunks")]
    tests: Vec<Name>,
}

/// Runs the command.
///
/// # Errors
/// If the overlay cannot be split, or files cannot be written.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let lock = if args.new.is_some() { Some(context.lock(ui)?) } else { None };
    let workspace = without_problems(context.workspace()?)?;
    let loaded = overlay_of(&workspace, &args.overlay)?;
    if let Some(group) = &loaded.overlay.rivals {
        let message = format!("overlay `{}` is one of the rivals `{}`", args.overlay, group.value);
        return Err(Failure::new(FailureKind::NeedsPerson, message)
            .with_hint("its other half would be on whichever of them is; split it by hand"));
    }
    let store = context.store(&workspace, ui)?;
    let on = features(context, &workspace)?;
    let stand = Stand::of(&workspace.manifest, &workspace.overlays, loaded, &on);
    let sides = stand.sides(&store)?;
    Failure::if_refused(&sides.with)?;
    let paths = path_sides(&stand, &sides, &Changes::new(), &store)?;
    let patch = match &loaded.overlay.kind {
        Kind::Patch(_) => loaded.patch.clone(),
        Kind::Files(_) => as_patch(&paths),
        _ => None,
    };
    let Some(patch) = patch else {
        let message = format!("overlay `{}` has no content of ours that could be split", args.overlay);
        return Err(Failure::new(FailureKind::NeedsPerson, message));
    };
    let (Some(new), Some(reason), Some(lock)) = (&args.new, &args.reason, &lock) else {
        list(context, args, &patch, ui);
        return Ok(Answer::Yes);
    };
    let taken: BTreeSet<usize> = args.hunks.iter().copied().collect();
    let halves = split(&patch, &taken, &paths).map_err(|error| {
        let message = format!("overlay `{}` cannot be split so: {error}", args.overlay);
        let kind = match error {
            crate::split::SplitError::NoHunk(_) => FailureKind::Input,
            _ => FailureKind::NeedsPerson,
        };
        let list = format!("{} {}", context.command("split", None), args.overlay);
        Failure::new(kind, message).with_hint(format!("see what can be taken: {list}"))
    })?;
    let mut edits = edits(&workspace, loaded, &paths, &halves, new, reason, &args.tests)?;
    let disk = Disk::new(&context.root);
    let after = Workspace::load_from(&Edited::new(&disk, &edits), &context.root, &workspace.manifest.file)?;
    let after = without_problems(after)?;
    prove(&after, &stand, Some(new), &sides, &Changes::new(), &store)?;
    same_tree(context, &workspace, &after, &store)?;
    edits.extend(super::lock::follow(context, &edits, ui));
    own_edits::write(lock, &edits)?;
    let needed_by: Vec<&str> = workspace
        .overlays
        .iter()
        .filter(|other| other.overlay.needs.iter().any(|need| need.as_str() == args.overlay))
        .map(|other| other.name().as_str())
        .collect();
    if ui.is_json() {
        ui.document(&json!({
            "schema": "overlaid.split.v1",
            "overlay": args.overlay,
            "new": new,
            "needs_old": !halves.is_free,
            "files": edits.iter().map(|edit| &edit.file).collect::<Vec<_>>(),
        }));
        return Ok(Answer::Yes);
    }
    let stands = if halves.is_free { "applies alone, too" } else { "needs it" };
    ui.line(format_args!(
        "{new} has {} of {} hunks; it goes on after {}, and {stands}",
        taken.len(),
        units(&patch).len(),
        args.overlay
    ));
    for edit in &edits {
        ui.note(format_args!("wrote {}", for_terminal(edit.file.as_os_str().as_encoded_bytes())));
    }
    for name in needed_by {
        ui.note(format_args!(
            "note: `{name}` needs `{}`; if it needs `{new}`, too, say so in its `needs`",
            args.overlay
        ));
    }
    Ok(Answer::Yes)
}

fn list(context: &Context, args: &Args, patch: &Patch, ui: &mut Ui) {
    let units = units(patch);
    if ui.is_json() {
        let unit = |unit: &Unit| {
            json!({
                "number": unit.number, "path": unit.path, "line": unit.line,
                "added": unit.lines.0, "removed": unit.lines.1,
            })
        };
        ui.document(&json!({
            "schema": "overlaid.split.v1",
            "overlay": args.overlay,
            "hunks": units.iter().map(unit).collect::<Vec<_>>(),
        }));
        return;
    }
    let rows: Vec<Vec<table::TableCell>> = units
        .iter()
        .map(|unit| {
            let line = unit.line.map_or_else(|| "whole".to_owned(), |line| line.to_string());
            let first: String = for_terminal(&unit.first).chars().take(50).collect();
            vec![
                unit.number.to_string().into(),
                for_terminal(unit.path.as_bytes()).into(),
                line.into(),
                format!("+{} -{}", unit.lines.0, unit.lines.1).into(),
                first.into(),
            ]
        })
        .collect();
    ui.line(table::render(&["hunk", "path", "line", "lines", "starts with"], &rows).trim_end());
    ui.note(format_args!(
        "take some out: {} {} --hunks 1,3 --new NAME --reason TEXT",
        context.command("split", None),
        args.overlay
    ));
}

/// The files that change.
fn edits(
    workspace: &Workspace,
    loaded: &Loaded,
    paths: &[PathSides],
    halves: &Halves,
    new: &OverlayName,
    reason: &str,
    tests: &[Name],
) -> Result<Vec<FileEdit>, Failure> {
    let manifest = &workspace.manifest;
    let paths: Vec<PathSides> = paths
        .iter()
        .map(|side| PathSides { after: halves.rest[&side.path].clone(), ..side.clone() })
        .collect();
    let patch_text = match &loaded.overlay.kind {
        Kind::Patch(file) => Disk::new(&workspace.root).read(&manifest.overlay_folder().join(&file.value))?,
        _ => None,
    };
    let question = Question {
        manifest,
        overlay: loaded,
        paths: &paths,
        by: &Default::default(),
        patch_text: patch_text.as_ref().map(|content| &content.bytes[..]),
        others: &Others::Refuse,
    };
    let mut edits = plan(&question)
        .map_err(|error| {
            let message = format!("overlay `{}`: {error}", loaded.name());
            Failure::new(FailureKind::NeedsPerson, for_terminal(message))
        })?
        .edits;
    // A whole file that goes away takes its name out of the manifest.
    let place = edits.iter().position(|edit| edit.file == manifest.file);
    let text = match place.map(|place| edits.remove(place)).and_then(|edit| edit.after) {
        Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        None => manifest.text.to_string(),
    };
    let overlay = &loaded.overlay;
    let list = |names: Vec<String>| Value::List(names);
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    let file = format!("{new}.patch");
    let mut keys = vec![("reason", Value::Text(reason)), ("base", manifest.upstream.pin.value.into())];
    keys.push(("patch", Value::Text(file.clone())));
    let when: Vec<String> =
        overlay.when.iter().map(|c| format!("{}{}", if c.negated { "!" } else { "" }, c.feature)).collect();
    let mut needs: Vec<String> = overlay.needs.iter().map(|need| need.value.to_string()).collect();
    if !halves.is_free {
        needs.push(overlay.name.value.to_string());
    }
    let own: Vec<String> = overlay.tests.iter().map(|test| test.value.to_string()).collect();
    let tests = if tests.is_empty() { own } else { tests.iter().map(ToString::to_string).collect() };
    let devices: Vec<String> = overlay.devices.iter().map(|device| device.value.clone()).collect();
    for (key, names) in [("when", when), ("needs", needs), ("tests", tests), ("devices", devices)] {
        if !names.is_empty() {
            keys.push((key, list(names)));
        }
    }
    let text = edit::add_overlay_after(&text, overlay.name.as_str(), new, &keys)
        .map_err(|error| Failure::input(error.to_string()))?;
    edits.push(FileEdit {
        file: manifest.overlay_folder().join(file),
        before: None,
        after: Some(halves.taken.clone().into()),
        mode: None,
    });
    edits.push(FileEdit {
        file: manifest.file.clone(),
        before: Some(BlobId::of(manifest.text.as_bytes())),
        after: Some(Arc::from(text.into_bytes())),
        mode: None,
    });
    Ok(edits)
}

/// Sees that the tree with all overlays that are on stays what it is, if there is one.
pub(super) fn same_tree(
    context: &Context,
    before: &Workspace,
    after: &Workspace,
    store: &Store,
) -> Result<(), Failure> {
    let on = features(context, before)?;
    let of =
        |workspace: &Workspace| crate::overlay::wanted(&workspace.manifest, &workspace.overlays, &on, store);
    let Ok((old, _)) = of(before) else { return Ok(()) };
    let (new, _) = of(after)?;
    let paths: BTreeSet<_> = old.changes.keys().chain(new.changes.keys()).collect();
    match paths.into_iter().find(|path| old.entry(path) != new.entry(path)) {
        None => Ok(()),
        Some(path) => Err(Failure::new(
            FailureKind::NeedsPerson,
            for_terminal(format!("`{path}` would not stay what it is; nothing was written")),
        )),
    }
}
