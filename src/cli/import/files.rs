//! Whole files become overlays: one a file, or one for all of them, with the bases that history shows.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use globset::{GlobSet, GlobSetBuilder};

use crate::id::{BlobId, CommitId, Name, UpstreamPath};
use crate::import::name;
use crate::io::store::Store;
use crate::manifest::edit::{Value, add_overlay, set_key};
use crate::manifest::pattern;
use crate::overlay::{Loaded, beside};
use crate::provenance::base::infer;
use crate::tree::{Content, Listing};
use crate::upstream::Upstream;

use super::super::base::{Judgement, heads, judge};
use super::super::{Failure, Ui};
use super::write::Edits;
use super::{Row, Target, write};

/// A file and the path of the upstream that it is for.
struct Mapped {
    file: PathBuf,
    path: UpstreamPath,
    content: Content,
    /// How the path was found, if it is not the file's own.
    note: Option<String>,
}

/// What the manifest will say, and the rows of the table.
pub(super) fn plan(
    target: &Target<'_>,
    found: Vec<(PathBuf, Content)>,
    left_out: &mut Vec<(PathBuf, String)>,
    ui: &mut Ui,
) -> Result<(Edits, Vec<Row>), Failure> {
    let manifest = &target.workspace.manifest;
    let listing = target.store.listing(manifest.upstream.pin.value)?;
    let excluded = globs("--exclude", &target.args.exclude)?;
    let included = globs("--include", &target.args.include)?;
    let mut mapped = Vec::new();
    for (file, content) in found {
        if excluded.is_match(&file) {
            continue;
        }
        let is_wanted = included.is_match(&file);
        if let Some(why) = beside::by_name(&file).filter(|_| !is_wanted) {
            left_out.push((file, why.to_owned()));
            continue;
        }
        let one = map(file, content, &listing)?;
        match needless(&one, &listing, target.store)? {
            Some(why) if !is_wanted => left_out.push((one.file, why)),
            _ => mapped.push(one),
        }
    }
    if mapped.is_empty() {
        let failure = Failure::input("there is no file to import");
        return Err(match left_out.first() {
            Some((file, why)) => failure.with_hint(format!(
                "{} was left out: {why}; to have it all the same: --include GLOB",
                file.display()
            )),
            None => failure,
        });
    }
    let mut taken = target.taken();
    let groups: Vec<(Name, Vec<&Mapped>)> = match &target.args.group {
        Some(group) => {
            let name =
                Name::parse(group).map_err(|why| Failure::input(format!("--group: the name {why}")))?;
            vec![(name, mapped.iter().collect())]
        }
        None => mapped
            .iter()
            .map(|one| Ok((name_of(one, &mut taken)?, vec![one])))
            .collect::<Result<_, Failure>>()?,
    };
    let folder = manifest.overlay_folder();
    let mut edits = Edits::new(target);
    let mut text = manifest.text.to_string();
    for (name, members) in &groups {
        let paths: Vec<String> = members.iter().map(|one| pattern_of(&one.path)).collect();
        let mut keys = vec![("files", Value::List(paths))];
        if !target.args.when.is_empty() {
            keys.push(("when", Value::List(target.args.when.clone())));
        }
        text = add_overlay(&text, name, &keys).map_err(|error| Failure::input(error.to_string()))?;
        for one in members {
            edits.place(folder.join(one.path.to_os_path()), one.content.clone())?;
        }
    }
    edits.manifest(manifest, &text);
    let bases = bases(target, &edits, &groups, ui)?;
    let mut rows = Vec::new();
    for (name, members) in groups {
        let base = bases.get(&name);
        if let Some(Base { commit: Some(commit), is_certain: true, .. }) = base {
            text = set_key(&text, name.as_str(), "base", &(*commit).into())
                .map_err(|error| Failure::input(error.to_string()))?;
        }
        rows.push(row(name, &members, base, manifest.upstream.pin.value));
    }
    edits.manifest(manifest, &text);
    Ok((edits, rows))
}

fn row(name: Name, members: &[&Mapped], base: Option<&Base>, pin: CommitId) -> Row {
    let is_doubtful = base.is_none_or(|base| !base.is_certain);
    let shown = match base.and_then(|base| base.commit) {
        Some(commit) if commit == pin => "pin".to_owned(),
        Some(commit) if is_doubtful => format!("{}?", commit.short()),
        Some(commit) => commit.short(),
        None => "?".to_owned(),
    };
    let mut notes: Vec<String> = members.iter().filter_map(|one| one.note.clone()).collect();
    if let Some(base) = base {
        notes.push(format!("base: {}", base.why));
    }
    if is_doubtful {
        notes.push(format!("its base is not written, since a person must decide; see: overlaid base {name}"));
    }
    let first = members.first().map(|one| (one.file.display().to_string(), one.path.to_string()));
    let (mut from, mut content) = first.unwrap_or_default();
    if members.len() > 1 {
        from = format!("{from} and {} more", members.len() - 1);
        content = format!("{content} and {} more", members.len() - 1);
    }
    Row { from, overlay: name, content, needs: Vec::new(), base: shown, is_doubtful, notes }
}

fn globs(option: &str, globs: &[String]) -> Result<GlobSet, Failure> {
    let wrong = |error: globset::Error| Failure::input(format!("{option}: {error}"));
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        set.add(pattern::glob(glob).map_err(wrong)?);
    }
    set.build().map_err(wrong)
}

/// Why nobody misses a file: the pin has the same, or it is about the folder and not from the upstream's.
fn needless(one: &Mapped, listing: &Listing, store: &Store) -> Result<Option<String>, Failure> {
    let about = beside::about_the_folder(&one.file);
    let Some(entry) = listing.get(&one.path) else {
        return Ok(about.map(|why| format!("{why}, and the upstream has none")));
    };
    if entry.mode == one.content.mode && entry.id == BlobId::of(&one.content.bytes) {
        return Ok(Some("the pin has the same".to_owned()));
    }
    let Some(why) = about else { return Ok(None) };
    let upstream = store.blob(entry.id)?;
    let is_from = beside::is_from(&one.content.bytes, &upstream);
    Ok((!is_from).then(|| format!("{why}, and is not made from the upstream's")))
}

/// The upstream path of a file: its own, if the upstream has it; else the only one that ends like it; else its own, as a new file.
fn map(file: PathBuf, content: Content, listing: &Listing) -> Result<Mapped, Failure> {
    let wrong = |error| Failure::input(format!("`{}` cannot be an upstream path: {error}", file.display()));
    let own = UpstreamPath::parse(file.as_os_str().as_bytes()).map_err(wrong)?;
    if listing.contains_key(&own) {
        return Ok(Mapped { file, path: own, content, note: None });
    }
    let (path, note) = match ending_like(&file, listing).as_slice() {
        [] => (own.clone(), format!("upstream has no {own} at the pin: a new file")),
        [one] => (
            (*one).clone(),
            format!("{} is for {one}: the only path of the pin that ends so", file.display()),
        ),
        several => {
            let several: Vec<String> = several.iter().map(|path| path.to_string()).collect();
            return Err(Failure::input(format!(
                "`{}` could be for several paths: {}",
                file.display(),
                several.join(", ")
            ))
            .with_hint("put it into folders as upstream has them, or leave it out: --exclude GLOB"));
        }
    };
    Ok(Mapped { file, path, content, note: Some(note) })
}

/// The upstream's paths that end in a file's path, or, if it is in no folder, in its name. The longest ending counts.
fn ending_like<'l>(file: &Path, listing: &'l Listing) -> Vec<&'l UpstreamPath> {
    let mut rest: Vec<_> = file.components().collect();
    while !rest.is_empty() {
        let ending: PathBuf = rest.iter().collect();
        let found: Vec<&UpstreamPath> =
            listing.keys().filter(|path| path.to_os_path().ends_with(&ending)).collect();
        if !found.is_empty() {
            return found;
        }
        rest.remove(0);
    }
    Vec::new()
}

/// The path as a glob that matches it and nothing else.
fn pattern_of(path: &UpstreamPath) -> String {
    crate::manifest::pattern::literal(&path.to_string())
}

fn name_of(one: &Mapped, taken: &mut BTreeSet<Name>) -> Result<Name, Failure> {
    let path = one.path.to_os_path();
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let parent = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let longer = parent.map(|parent| format!("{parent}-{stem}"));
    let candidates =
        std::iter::once(stem).chain(longer).filter_map(|text| name::of_text(&text.replace('_', "-")));
    let candidates: Vec<Name> = candidates.collect();
    let free = candidates.iter().find(|name| !taken.contains(*name)).or(candidates.first()).cloned();
    let free =
        free.ok_or_else(|| Failure::input(format!("`{}` gives no name for an overlay", path.display())))?;
    Ok(name::unique(free, taken))
}

/// What history says about where an overlay comes from.
struct Base {
    commit: Option<CommitId>,
    is_certain: bool,
    why: String,
}

fn bases(
    target: &Target<'_>,
    edits: &Edits,
    groups: &[(Name, Vec<&Mapped>)],
    ui: &mut Ui,
) -> Result<BTreeMap<Name, Base>, Failure> {
    let workspace = write::load(target, edits)?;
    let new: BTreeSet<&Name> = groups.iter().map(|(name, _)| name).collect();
    let loaded: Vec<&Loaded> =
        workspace.overlays.iter().filter(|loaded| new.contains(loaded.name())).collect();
    ui.progress("looking for bases in the history");
    let store = target.store;
    let resolve = |digits: &str| store.resolve(digits).ok().flatten();
    let inferred = infer(&loaded, &heads(&workspace, store, false)?, &resolve, store)?;
    ui.end_progress();
    let mut bases = BTreeMap::new();
    for (loaded, inferred) in loaded.into_iter().zip(inferred) {
        let is_certain = judge(loaded, &inferred, store)? == Judgement::Found;
        let commit = inferred.base.as_ref().map(|base| base.id);
        bases.insert(loaded.name().clone(), Base { commit, is_certain, why: inferred.why });
    }
    Ok(bases)
}
