//! `overlaid which`

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use crate::blame;
use crate::escape::for_terminal;
use crate::id::{Name, UpstreamPath};
use crate::io::lab::records::now;
use crate::io::scratch::Scratch;
use crate::io::store::Store;
use crate::io::tree::Originals;
use crate::io::verdicts::{self, Verdicts};
use crate::io::workspace::Workspace;
use crate::manifest::{Kind, Located};
use crate::overlay::{At, Loaded, content_at, resolve};
use crate::provenance::OverlayReport;
use crate::refresh::Stand;
use crate::tree::Content;
use crate::upstream::Upstream;

use super::edit::features;
use super::status::{describe_age, kept_reports};
use super::{Answer, Context, Failure, Tone, Ui};

/// Say which overlay owns a file, or a line of it
///
/// PATH is a path of the upstream, a file in the tree (or in a folder of `overlaid edit`), or an overlay file. With :LINE,
/// whose that line is: the overlay's that wrote it, or upstream's.
///
/// For each overlay: why it is carried, its state and its last verdict. Nothing is found out anew for that: the state is what
/// `overlaid status` found last.
///
/// Exit code 0: an overlay has it. 1: none has.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file, and a line of it
    #[arg(value_name = "PATH[:LINE]")]
    place: String,
}

/// Runs the command.
///
/// # Errors
/// If the manifests cannot be read, or the line is not there.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    let (path, line) = take_apart(&args.place, |path| path.exists() || context.root.join(path).exists());
    let mut documents = Vec::new();
    let mut answer = Answer::No;
    let mut is_known = false;
    for workspace in context.workspaces()? {
        let Some(target) = Target::find(context, &workspace, &path, line) else { continue };
        let found = look(context, &workspace, &target, ui)?;
        if found.owners.is_empty() && !found.is_upstreams {
            continue;
        }
        is_known = true;
        if !found.owners.is_empty() {
            answer = Answer::Yes;
        }
        if ui.is_json() {
            documents.push(to_json(&workspace, &target, &found));
        } else {
            print(&workspace, &target, &found, ui);
        }
    }
    if !is_known {
        return Err(Failure::input(format!(
            "no upstream and no overlay has `{}`",
            for_terminal(&args.place)
        ))
        .with_hint("name a path of the upstream, a file in the tree, or an overlay file"));
    }
    if ui.is_json() {
        ui.document(&json!({ "schema": "overlaid.which.v1", "files": documents }));
    }
    Ok(answer)
}

/// The path and the line. A colon can be part of a path that is there.
fn take_apart(place: &str, exists: impl Fn(&Path) -> bool) -> (PathBuf, Option<usize>) {
    if !exists(Path::new(place)) {
        // `path:12:3` is what compilers print.
        let parts: Vec<&str> = place.rsplitn(3, ':').collect();
        let number = |text: &str| text.parse::<usize>().ok().filter(|line| *line > 0);
        match parts.as_slice() {
            [column, line, path] if number(column).is_some() && number(line).is_some() => {
                return (PathBuf::from(path), number(line));
            }
            [line, rest @ ..] if !rest.is_empty() => {
                if let Some(line) = number(line) {
                    return (
                        PathBuf::from(place.rsplit_once(':').map_or(place, |(path, _)| path)),
                        Some(line),
                    );
                }
            }
            _ => {}
        }
    }
    (PathBuf::from(place), None)
}

/// What is asked about.
struct Target {
    path: UpstreamPath,
    line: Option<usize>,
    /// A tree in which the file stands: its lines are those that are counted.
    tree: Option<PathBuf>,
    /// The patch that was named; it decides the overlay.
    patch: Option<PathBuf>,
}

impl Target {
    fn find(context: &Context, workspace: &Workspace, path: &Path, line: Option<usize>) -> Option<Self> {
        let root = absolute(&context.root)?;
        let tree = absolute(&context.root.join(workspace.manifest.tree_folder()))?;
        let overlays = absolute(&context.root.join(workspace.manifest.overlay_folder()))?;
        let mut trees: Vec<PathBuf> = vec![tree];
        for loaded in &workspace.overlays {
            trees.push(root.join(Scratch::of(&root, loaded.name()).folder()));
        }
        let from_root = absolute(&context.root.join(path))?;
        for place in [absolute(path)?, from_root] {
            for tree in &trees {
                if let Some(path) = below(&place, tree) {
                    return Some(Self { path, line, tree: Some(tree.clone()), patch: None });
                }
            }
            if let Ok(inside) = place.strip_prefix(&overlays) {
                let is_it = |loaded: &&Loaded| matches!(&loaded.overlay.kind, Kind::Patch(file) if file.value == inside);
                if let Some(loaded) = workspace.overlays.iter().find(is_it) {
                    return in_patch(loaded, line).map(|path| Self {
                        path,
                        line: None,
                        tree: None,
                        patch: Some(inside.to_owned()),
                    });
                }
                return below(&place, &overlays).map(|path| Self { path, line, tree: None, patch: None });
            }
        }
        let path = UpstreamPath::parse(normal(path).as_os_str().as_encoded_bytes()).ok()?;
        Some(Self { path, line, tree: None, patch: None })
    }
}

/// The file that a line of a patch is about; without a line, the first.
fn in_patch(loaded: &Loaded, line: Option<usize>) -> Option<UpstreamPath> {
    let patch = loaded.patch.as_ref()?;
    let part = patch.files.iter().rfind(|file| line.is_some_and(|line| file.line <= line));
    let part = part.or(patch.files.first())?;
    part.new_path().or(part.old_path()).cloned()
}

fn absolute(path: &Path) -> Option<PathBuf> {
    std::path::absolute(path).ok().map(|path| normal(&path))
}

/// Without `.` and `..`; links are not looked at.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => drop(normal.pop()),
            component => normal.push(component),
        }
    }
    normal
}

fn below(place: &Path, folder: &Path) -> Option<UpstreamPath> {
    UpstreamPath::parse(place.strip_prefix(folder).ok()?.as_os_str().as_encoded_bytes()).ok()
}

/// Whose the line is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LineOwner {
    Upstream,
    Overlay(String),
    /// In the tree and nowhere else.
    Edited,
}

struct Found<'w> {
    /// In the order in which they go on.
    owners: Vec<Owner<'w>>,
    is_upstreams: bool,
    line: Option<LineOwner>,
    verdicts: Verdicts,
}

struct Owner<'w> {
    loaded: &'w Loaded,
    /// How many lines of the file it wrote; `None` if the contents cannot be had.
    lines: Option<usize>,
    report: Option<OverlayReport>,
    is_on: bool,
}

fn look<'w>(
    context: &Context,
    workspace: &'w Workspace,
    target: &Target,
    ui: &mut Ui,
) -> Result<Found<'w>, Failure> {
    // An editor does not wait for the network.
    let context = Context { offline: true, ..context.clone() };
    let store = context.store(workspace, ui).ok();
    let touches = |loaded: &Loaded| match (&loaded.overlay.kind, &target.patch) {
        (Kind::Patch(file), Some(patch)) => file.value == *patch,
        (_, Some(_)) => false,
        (Kind::Files(_), _) => loaded.files.contains_key(&target.path),
        (Kind::Patch(_), _) => loaded.patch.iter().any(|patch| patch.touched().contains(&target.path)),
        (Kind::HeldBack { paths, .. } | Kind::Delete(paths), _) => {
            paths.iter().any(|path| path.value == target.path)
        }
        (Kind::Commits { commits, .. }, _) => store.iter().any(|store| {
            let of = |commit| store.diff(commit).unwrap_or_default();
            commits.iter().any(|commit| of(commit.value).iter().any(|change| change.path == target.path))
        }),
    };
    let on = features(&context, workspace)?;
    let mut touching: Vec<&Loaded> = workspace.overlays.iter().filter(|loaded| touches(loaded)).collect();
    touching.sort_by_key(|loaded| !loaded.overlay.kind.is_whole());
    let pin = workspace.manifest.upstream.pin.value;
    let upstreams = store.as_ref().and_then(|store| content_at(store, pin, &target.path).ok().flatten());
    let layers =
        store.as_ref().and_then(|store| layers(workspace, &on, &touching, &upstreams, target, store));
    let (line, counts) = match layers {
        Some(layers) => by_line(layers, target)?,
        None => (None, Vec::new()),
    };
    let reports = match &store {
        Some(store) => kept_reports(workspace, &touching, store),
        None => touching.iter().map(|_| None).collect(),
    };
    let docs = workspace.root.join(workspace.manifest.docs_folder());
    let file = verdicts::file(&docs, workspace.manifest.upstream.name.as_str());
    let owners = touching
        .iter()
        .zip(reports)
        .map(|(loaded, report)| {
            let name = loaded.name().as_str();
            let lines = counts.iter().find(|(of, _)| of == name).map(|(_, count)| *count);
            Owner { loaded, lines, report, is_on: loaded.overlay.is_on(&on) }
        })
        .collect();
    Ok(Found { owners, is_upstreams: upstreams.is_some(), line, verdicts: verdicts::load(&file) })
}

/// A content of the file and who made it: `None` is upstream.
type Layer = (LineOwner, Content);

/// The contents of the file from the pin through the overlays. `None` if they cannot be had.
fn layers<'w>(
    workspace: &'w Workspace,
    on: &BTreeSet<Name>,
    touching: &[&'w Loaded],
    upstreams: &Option<Content>,
    target: &Target,
    store: &Store,
) -> Option<Vec<Layer>> {
    let pin = workspace.manifest.upstream.pin.value;
    let nothing = || Content::file(Vec::new());
    let mut layers = vec![(LineOwner::Upstream, upstreams.clone().unwrap_or_else(nothing))];
    let is_any_on = touching.iter().any(|loaded| loaded.overlay.is_on(on));
    let mut below: Vec<&Loaded> = match touching.first() {
        // Off under these features: as it is under its own.
        Some(first) if !is_any_on => {
            let stand = Stand::of(&workspace.manifest, &workspace.overlays, first, on);
            stand.below.into_iter().chain([*first]).collect()
        }
        _ => workspace.overlays.iter().filter(|loaded| loaded.overlay.is_on(on)).collect(),
    };
    below.sort_by_key(|loaded| !loaded.overlay.kind.is_whole());
    for (place, loaded) in below.iter().enumerate() {
        if !touching.iter().any(|touching| touching.name() == loaded.name()) {
            continue;
        }
        let resolution = resolve(&below[..=place], At::Pin(pin), store).ok()?;
        if !resolution.refused.is_empty() {
            return None;
        }
        let content = resolution.changes.get(&target.path)?.clone().unwrap_or_else(nothing);
        layers.push((LineOwner::Overlay(loaded.name().to_string()), content));
    }
    Some(layers)
}

/// Whose the line is, and how many lines each overlay wrote.
type Lines = (Option<LineOwner>, Vec<(String, usize)>);

/// Counts the lines of the last content: that of the tree, if the file was named there.
fn by_line(mut layers: Vec<Layer>, target: &Target) -> Result<Lines, Failure> {
    if let Some(tree) = &target.tree
        && let Some(there) = Originals::open(tree).and_then(|tree| tree.in_tree(&target.path)).ok().flatten()
    {
        layers.push((LineOwner::Edited, there));
    }
    let contents: Vec<&[u8]> = layers.iter().map(|(_, content)| &content.bytes[..]).collect();
    let owners = blame::owners(&contents);
    let counts = blame::count(&owners, layers.len());
    let counts = layers.iter().zip(counts).filter_map(|((owner, _), count)| match owner {
        LineOwner::Overlay(name) => Some((name.clone(), count)),
        _ => None,
    });
    let line = match target.line {
        Some(line) => match owners.get(line - 1) {
            Some(owner) => Some(layers[*owner].0.clone()),
            None => {
                let message = format!("`{}` has {} lines, and no line {line}", target.path, owners.len());
                return Err(Failure::input(for_terminal(message)));
            }
        },
        None => None,
    };
    Ok((line, counts.collect()))
}

fn print(workspace: &Workspace, target: &Target, found: &Found<'_>, ui: &mut Ui) {
    let upstream = &workspace.manifest.upstream.name.value;
    let line = target.line.map_or_else(String::new, |line| format!(":{line}"));
    let path = format!("{}{line}", for_terminal(target.path.as_bytes()));
    let whose = match (&found.line, found.owners.as_slice()) {
        (Some(LineOwner::Upstream), _) => "the line is upstream's".to_owned(),
        (Some(LineOwner::Overlay(name)), _) => format!("the line is of overlay `{name}`"),
        (Some(LineOwner::Edited), _) => "the line is in the tree only; no overlay has it".to_owned(),
        (None, []) => "no overlay has it; it is upstream's".to_owned(),
        (None, [one]) => format!("overlay `{}` has it", one.loaded.name()),
        (None, many) => {
            let names: Vec<String> = many.iter().map(|owner| format!("`{}`", owner.loaded.name())).collect();
            format!("overlays {} have it, in this order", names.join(", "))
        }
    };
    ui.text(0, Some((Tone::Strong, &path)), &format!(" ({upstream}): {whose}"));
    for owner in &found.owners {
        print_owner(workspace, target, owner, &found.verdicts, ui);
    }
}

fn print_owner(workspace: &Workspace, target: &Target, owner: &Owner<'_>, verdicts: &Verdicts, ui: &mut Ui) {
    let overlay = &owner.loaded.overlay;
    let reason = overlay.reason.as_ref().map_or("no reason is given", |reason| reason.value.as_str());
    let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    ui.text(0, Some((Tone::Strong, overlay.name.as_str())), &format!(": {}", for_terminal(reason)));
    let lines = match owner.lines {
        Some(1) => ", 1 line of it".to_owned(),
        Some(lines) => format!(", {lines} lines of it"),
        None => String::new(),
    };
    let file = file_of(workspace, target, owner.loaded);
    let off = if owner.is_on { "" } else { "; off under these features" };
    ui.text(2, None, &for_terminal(format!("{}{lines}{off}", file)));
    let state = match &owner.report {
        Some(report) => report.state.to_string(),
        None => format!("not looked at since it changed: overlaid status {}", overlay.name.value),
    };
    ui.text(2, None, &format!("state: {state}"));
    if let Some((profile, noted)) = verdicts.last(overlay.name.as_str(), None) {
        let on = if profile.is_empty() { String::new() } else { format!(" on {profile}") };
        let is_of_now = owner.report.as_ref().is_some_and(|report| {
            report.content_digest(workspace.manifest.upstream.pin.value) == noted.content
        });
        let since = if is_of_now || owner.report.is_none() { "" } else { ", changed since" };
        let age = describe_age(now() - noted.recorded);
        ui.text(2, None, &for_terminal(format!("last verdict: {}{on}, {age}{since}", noted.verdict)));
    }
    let links = [
        ("issue", overlay.issue.as_ref().map(|link| link.value.clone())),
        ("pull request", overlay.pull_request.as_ref().map(|link| link.value.clone())),
        ("report", overlay.report.as_ref().map(|file| file.value.display().to_string())),
        ("tests", (!overlay.tests.is_empty()).then(|| names(&overlay.tests))),
    ];
    for (what, text) in links {
        if let Some(text) = text {
            ui.text(2, None, &for_terminal(format!("{what}: {text}")));
        }
    }
}

fn names(tests: &[Located<Name>]) -> String {
    tests.iter().map(|test| test.value.to_string()).collect::<Vec<_>>().join(", ")
}

/// Where an overlay's content for the path is.
fn file_of(workspace: &Workspace, target: &Target, loaded: &Loaded) -> String {
    let folder = workspace.manifest.overlay_folder();
    match &loaded.overlay.kind {
        Kind::Files(_) => folder.join(target.path.to_os_path()).display().to_string(),
        Kind::Patch(file) => {
            let part = loaded.patch.iter().flat_map(|patch| &patch.files);
            let part = part
                .clone()
                .find(|part| part.new_path() == Some(&target.path) || part.old_path() == Some(&target.path));
            let line = part.map_or_else(String::new, |part| format!(":{}", part.line));
            format!("{}{line}", folder.join(&file.value).display())
        }
        Kind::Commits { commits, .. } => {
            let ids: Vec<String> = commits.iter().map(|commit| commit.value.short()).collect();
            format!("commit {}", ids.join(", "))
        }
        Kind::HeldBack { commit, .. } => format!("held back at commit {}", commit.value.short()),
        Kind::Delete(_) => "it goes away".to_owned(),
    }
}

fn to_json(workspace: &Workspace, target: &Target, found: &Found<'_>) -> Value {
    let owners: Vec<Value> = found
        .owners
        .iter()
        .map(|owner| {
            let overlay = &owner.loaded.overlay;
            let verdict = found.verdicts.last(overlay.name.as_str(), None);
            json!({
                "name": overlay.name.value,
                "reason": overlay.reason.as_ref().map(|reason| &reason.value),
                "file": file_of(workspace, target, owner.loaded),
                "lines": owner.lines,
                "on": owner.is_on,
                "state": owner.report.as_ref().map(|report| report.state.as_str()),
                "verdict": verdict.map(|(_, noted)| &noted.verdict),
                "issue": overlay.issue.as_ref().map(|link| &link.value),
                "pull-request": overlay.pull_request.as_ref().map(|link| &link.value),
                "report": overlay.report.as_ref().map(|file| &file.value),
            })
        })
        .collect();
    let owner = found.line.as_ref().map(|line| match line {
        LineOwner::Upstream => json!({ "kind": "upstream" }),
        LineOwner::Overlay(name) => json!({ "kind": "overlay", "name": name }),
        LineOwner::Edited => json!({ "kind": "tree" }),
    });
    json!({
        "upstream": workspace.manifest.upstream.name.value,
        "path": target.path,
        "line": target.line,
        "owner": owner,
        "overlays": owners,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stands_behind_the_last_colon() {
        let apart = |place: &str| take_apart(place, |path| path == Path::new("odd:7"));
        assert_eq!(apart("a/b.c"), (PathBuf::from("a/b.c"), None));
        assert_eq!(apart("a/b.c:12"), (PathBuf::from("a/b.c"), Some(12)));
        assert_eq!(apart("a/b.c:12:3"), (PathBuf::from("a/b.c"), Some(12)));
        assert_eq!(apart("odd:7"), (PathBuf::from("odd:7"), None));
        assert_eq!(apart("a:0"), (PathBuf::from("a:0"), None));
        assert_eq!(apart("a:b:7"), (PathBuf::from("a:b"), Some(7)));
    }
}
