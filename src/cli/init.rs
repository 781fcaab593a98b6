//! `overlaid init`

mod test;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::escape::for_terminal;
use crate::id::{CommitId, Name};
use crate::import::name;
use crate::io::repository_files::{as_text, submodules, texts};
use crate::io::store::{Environment, Named, Standing, resolve_revision, variable};
use crate::io::workspace::{Workspace, find_manifests};
use crate::pins::group::{Placed, Upstream, upstreams};
use crate::pins::{Pin, of_file, repeats};

use super::table;
use super::{Answer, Context, Failure, Tone, Ui};

/// Look for pinned upstreams and write a manifest for each
///
/// Looks into CMake files (FetchContent, ExternalProject, CPM), .gitmodules, Cargo.toml, build.rs, Bazel files, west.yml,
/// conandata.yml and vcpkg files. Every other place with the same commit goes into the manifest as `also-pinned`. A tag is
/// looked up; what a branch stands for now becomes the pin. Shows what it found, and asks nothing.
///
/// --test NAME starts a kernel test instead: tests/kernels/NAME.cpp with the header kernel_test.h beside it and an entry in the
/// CMakeLists.txt there, or with --python tests/kernels/NAME.py and the module kernel_test.py. It prints the table to
/// add to the manifest. A file that is there is not written over.
///
/// A manifest that is there is left alone. Upstreams that are pinned at several commits get none: a person must say which
/// one holds.
///
/// Exit codes: 0 done. 2 there is nothing to write a manifest from, or the test is there already. 3 a person must decide about an upstream. 4 a tag or
/// branch could not be looked up.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only upstreams of these names
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    only: Vec<String>,
    /// The repository of an upstream, instead of looking for some
    #[arg(long, value_name = "URL", requires = "pin")]
    url: Option<String>,
    /// The commit, by its full id, the tag or the branch; of a repository at a path, an abbreviated id or main~1, too
    #[arg(long, value_name = "REV", requires = "url")]
    pin: Option<String>,
    /// The name of that upstream
    #[arg(long, value_name = "NAME", requires = "url")]
    name: Option<String>,
    /// Say what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Start a kernel test of this name
    #[arg(long, value_name = "NAME", value_parser = super::parse_name, conflicts_with_all = ["only", "url", "dry_run"])]
    test: Option<Name>,
    /// In Python
    #[arg(long, requires = "test")]
    python: bool,
}

/// What becomes of an upstream.
enum Outcome {
    /// A manifest with these places.
    New { commit: CommitId, places: Vec<(PathBuf, repeats::Place)>, named: BTreeMap<String, Named> },
    /// One that is there, as this file.
    There(PathBuf),
    /// It is pinned at several commits.
    Several(BTreeMap<CommitId, Vec<String>>),
    /// A revision that nothing has.
    Nothing(String),
    /// A revision that was not looked up.
    Offline(String),
    /// A revision that only a clone knows.
    NeedsClone(String),
    /// A repository that cannot be asked, or an address that is not taken.
    Failed(String),
}

impl Outcome {
    fn answer(&self) -> Answer {
        match self {
            Outcome::New { .. } | Outcome::There(_) => Answer::Yes,
            Outcome::Several(_) => Answer::NeedsPerson,
            Outcome::Nothing(_) | Outcome::Offline(_) | Outcome::NeedsClone(_) | Outcome::Failed(_) => {
                Answer::Unknown
            }
        }
    }

    fn as_str(&self) -> &'static str {
        match self {
            Outcome::New { .. } => "new",
            Outcome::There(_) => "is there",
            Outcome::Several(_) => "several commits",
            Outcome::Nothing(_) => "not found",
            Outcome::Offline(_) | Outcome::NeedsClone(_) => "not looked up",
            Outcome::Failed(_) => "cannot be asked",
        }
    }
}

/// Runs the command.
///
/// # Errors
/// If files cannot be read, or nothing is found.
pub fn run(context: &Context, args: &Args, ui: &mut Ui) -> Result<Answer, Failure> {
    if let Some(name) = &args.test {
        return test::run(context, name, args.python, ui);
    }
    let root = &context.root;
    let lock = if args.dry_run { None } else { Some(context.lock_anyhow(ui)?) };
    let texts = texts(root)?;
    let mut found = match (&args.url, &args.pin) {
        (Some(url), Some(pin)) => vec![named(url, pin, args.name.as_deref())?],
        _ => upstreams(pins(root, &texts)?),
    };
    if !args.only.is_empty() {
        found.retain(|upstream| args.only.iter().any(|name| name == upstream.name.as_str()));
    }
    if found.is_empty() {
        let has_modules = texts.iter().any(|(file, _)| file == Path::new(".gitmodules"));
        let staged = if has_modules && args.only.is_empty() {
            "stage the submodules that .gitmodules names with `git submodule add` or `git add`, or "
        } else {
            ""
        };
        return Err(Failure::input("no pinned upstream was found")
            .with_hint(format!("{staged}name one: overlaid init --url URL --pin COMMIT-OR-TAG")));
    }
    let there = there(root)?;
    let mut rows = Vec::new();
    for upstream in found {
        ui.progress(format!("looking up {}", upstream.name));
        let outcome = judge(context, &upstream, &texts, &there);
        rows.push((upstream, outcome));
    }
    ui.end_progress();
    show(&rows, args, ui);
    if let Some(lock) = &lock {
        write::write(lock, &rows, ui)?;
    }
    Ok(rows.iter().map(|(_, outcome)| outcome.answer()).max().unwrap_or(Answer::Yes))
}

fn named(url: &str, pin: &str, given: Option<&str>) -> Result<Upstream, Failure> {
    let pin = Pin { by: "--pin", name: None, url: url.to_owned(), revision: pin.to_owned(), line: 0 };
    let placed = Placed { file: PathBuf::new(), pin, sources: None };
    let hint = "give it a name: --name NAME";
    let mut found = upstreams(vec![placed]);
    let mut upstream = found.pop().ok_or_else(|| Failure::input("the URL gives no name").with_hint(hint))?;
    if let Some(given) = given {
        upstream.name =
            Name::parse(given).map_err(|why| Failure::input(format!("--name: the name {why}")))?;
    }
    Ok(upstream)
}

/// The pins of all files, and the submodules.
fn pins(root: &Path, texts: &[(PathBuf, String)]) -> Result<Vec<Placed>, Failure> {
    let mut pins = Vec::new();
    for (file, text) in texts {
        let Some(path) = as_text(file) else { continue };
        pins.extend(of_file(path, text).into_iter().map(|pin| Placed {
            file: file.clone(),
            pin,
            sources: None,
        }));
        if path == ".gitmodules" {
            for module in submodules(root, text, "")? {
                let line = text.lines().position(|line| line.contains(&module.path)).map_or(1, |at| at + 1);
                let revision = module.commit.to_string();
                let name = name::of_text(&module.path).map(|name| name.to_string());
                let pin = Pin { by: "submodule", name, url: module.url, revision, line };
                pins.push(Placed { file: file.clone(), pin, sources: Some(module.path) });
            }
        }
    }
    Ok(pins)
}

/// The upstreams of the manifests that are there: their file, name and URL.
fn there(root: &Path) -> Result<Vec<(PathBuf, Name, String)>, Failure> {
    let mut there = Vec::new();
    for file in find_manifests(root)? {
        let workspace = Workspace::load(root, &file)?;
        let upstream = &workspace.manifest.upstream;
        there.push((file, upstream.name.value.clone(), upstream.url.value.clone()));
    }
    Ok(there)
}

fn judge(
    context: &Context,
    upstream: &Upstream,
    texts: &[(PathBuf, String)],
    there: &[(PathBuf, Name, String)],
) -> Outcome {
    let is_same = |(_, name, url): &&(PathBuf, Name, String)| *name == upstream.name || *url == upstream.url;
    if let Some((file, ..)) = there.iter().find(is_same) {
        return Outcome::There(file.clone());
    }
    let environment = Environment::of_process();
    let root = std::path::absolute(&context.root).unwrap_or_else(|_| context.root.clone());
    let mut commits: BTreeMap<CommitId, Vec<String>> = BTreeMap::new();
    let mut known: BTreeMap<&str, (CommitId, Named)> = BTreeMap::new();
    for placed in &upstream.pins {
        let revision = placed.pin.revision.as_str();
        let (commit, named) = match known.get(revision) {
            Some(found) => *found,
            None => match resolve_revision(
                &upstream.name,
                &upstream.url,
                &root,
                revision,
                context.offline,
                &environment,
            ) {
                Ok(Standing::Commit(commit, named)) => (commit, named),
                Ok(Standing::Unclear(why)) => return Outcome::Failed(why),
                Ok(Standing::NeedsClone) => return Outcome::NeedsClone(revision.to_owned()),
                Ok(Standing::Nothing) => return Outcome::Nothing(revision.to_owned()),
                Ok(Standing::Offline) => return Outcome::Offline(revision.to_owned()),
                Err(error) => return Outcome::Failed(error.to_string()),
            },
        };
        known.insert(revision, (commit, named));
        commits.entry(commit).or_default().push(place_of(placed));
    }
    let mut all = commits.keys().copied();
    match (all.next(), all.next()) {
        (Some(commit), None) => {
            let found = texts.iter().flat_map(|(file, text)| {
                repeats::find(text, commit).into_iter().map(move |place| (file.clone(), place))
            });
            let named = known.iter().map(|(revision, (_, named))| ((*revision).to_owned(), *named)).collect();
            Outcome::New { commit, places: found.collect(), named }
        }
        _ => Outcome::Several(commits),
    }
}

fn place_of(placed: &Placed) -> String {
    match placed.pin.line {
        0 => placed.pin.by.to_owned(),
        line => format!("{}:{line}", placed.file.display()),
    }
}

fn show(rows: &[(Upstream, Outcome)], args: &Args, ui: &mut Ui) {
    if ui.is_json() {
        let upstreams: Vec<_> = rows.iter().map(|(upstream, outcome)| to_json(upstream, outcome)).collect();
        ui.document(
            &json!({ "schema": "overlaid.init.v1", "written": !args.dry_run, "upstreams": upstreams }),
        );
        return;
    }
    let cells = rows.iter().map(|(upstream, outcome)| {
        let by: BTreeSet<&str> = upstream.pins.iter().map(|placed| placed.pin.by).collect();
        let places: Vec<String> = upstream.pins.iter().map(place_of).collect();
        let revisions: Vec<String> = upstream.revisions().into_iter().map(shortened).collect();
        let word = match outcome {
            Outcome::New { .. } => Tone::Good.cell(outcome.as_str()),
            Outcome::There(_) => outcome.as_str().into(),
            _ => Tone::Warning.cell(outcome.as_str()),
        };
        vec![
            Tone::Strong.cell(upstream.name.as_str()),
            by.into_iter().collect::<Vec<_>>().join(", ").into(),
            for_terminal(places.join(", ")).into(),
            for_terminal(revisions.join(", ")).into(),
            word,
        ]
    });
    let rendered =
        table::render(&["upstream", "pinned by", "where", "at", "manifest"], &cells.collect::<Vec<_>>());
    ui.line(rendered.trim_end());
    for (upstream, outcome) in rows {
        for line in notes(upstream, outcome) {
            ui.line(format_args!("{}: {}", upstream.name, for_terminal(line)));
        }
    }
}

fn shortened(revision: &str) -> String {
    CommitId::parse(revision).map_or_else(|_| revision.to_owned(), |commit| commit.short())
}

/// What the table has no room for.
fn notes(upstream: &Upstream, outcome: &Outcome) -> Vec<String> {
    match outcome {
        Outcome::New { commit, places, named } => {
            let mut notes = Vec::new();
            let called: Vec<String> = named
                .iter()
                .filter(|(_, named)| **named != Named::Id)
                .map(|(revision, named)| format!("{revision}, {},", named.as_str()))
                .collect();
            if !called.is_empty() {
                let is_in_a_file = upstream.pins.iter().any(|placed| placed.pin.line > 0);
                let advice = match is_in_a_file {
                    true => "; `also-pinned` cannot watch a place that names it so: write the commit there",
                    false => "",
                };
                notes.push(format!("{} is commit {commit}{advice}", called.join(" ")));
            }
            notes.extend(places.iter().map(|(file, place)| match &place.regex {
                Some(_) => format!("also pinned in {}:{}", file.display(), place.line),
                None => format!(
                    "{}:{} has the commit, and no pattern that matches it alone: add [[upstream.also-pinned]] by hand",
                    file.display(),
                    place.line
                ),
            }));
            notes
        }
        Outcome::There(file) => vec![format!("left alone: {}", file.display())],
        Outcome::Several(commits) => {
            let all =
                commits.iter().map(|(commit, places)| format!("{} in {}", commit.short(), places.join(", ")));
            let all: Vec<String> = all.collect();
            vec![
                format!("pinned at several commits: {}", all.join("; ")),
                "write the one that holds in all of them, and run it again".to_owned(),
            ]
        }
        Outcome::Nothing(revision) => vec![format!(
            "{} has no `{revision}`: name a tag, a branch or the full id of a commit",
            upstream.url
        )],
        Outcome::NeedsClone(revision) => vec![format!(
            "`{revision}` is no tag and no branch; a commit of {} that is named in another way than by its full id can \
             only be looked up in a clone: {}=DIR",
            upstream.url,
            variable(&upstream.name)
        )],
        Outcome::Offline(revision) => vec![format!(
            "`{revision}` has to be looked up: run it without --offline, or name a clone: {}=DIR",
            variable(&upstream.name)
        )],
        Outcome::Failed(why) => vec![format!("{}: {why}", upstream.url)],
    }
}

fn to_json(upstream: &Upstream, outcome: &Outcome) -> serde_json::Value {
    let pins: Vec<_> = upstream
        .pins
        .iter()
        .map(|placed| {
            json!({
                "by": placed.pin.by,
                "file": placed.file.display().to_string(),
                "line": placed.pin.line,
                "revision": placed.pin.revision,
            })
        })
        .collect();
    let (commit, places) = match outcome {
        Outcome::New { commit, places, .. } => (Some(commit.to_string()), places.as_slice()),
        _ => (None, &[][..]),
    };
    let places: Vec<_> = places
        .iter()
        .map(|(file, place)| json!({ "file": file.display().to_string(), "line": place.line, "regex": place.regex }))
        .collect();
    json!({
        "name": upstream.name.as_str(),
        "url": upstream.url,
        "outcome": outcome.as_str(),
        "pin": commit,
        "pins": pins,
        "also-pinned": places,
        "notes": notes(upstream, outcome),
    })
}
