//! `[upstream]`, and `[locations]` beside it.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::keys::{Default, Keys, NONE, REQUIRED, Shape, key, one};
use super::problems::Problems;
use super::table::Table;
use super::value::{BRANCH, CAPTURE, COMMIT, NAME, PATH, UPSTREAM_PATH, URL};
use super::{AlsoPinned, Located, Locations, Remote, Submodule, UpstreamTable};
use crate::diagnostic::{Diagnostic, quoted};
use crate::sorted::SortedMap;

/// The folder below `.overlaid` in which variants are built.
const RESERVED: &str = "lab";

/// What `[upstream]` can have.
pub(super) const KEYS: Keys = Keys {
    header: "[upstream]",
    keys: Some(&[
        key("name", one(&NAME), REQUIRED, "Names the upstream, and the folder of its overlay files."),
        key(
            "url",
            one(&URL),
            REQUIRED,
            "Where the repository is: a URL (`https`, `http`, `ssh`, `git`, `file`), `host:path`, or a path to a clone or a bundle. A relative path starts at the root of our repository. A URL for which git would run another program, such as `ext::...`, is refused.",
        ),
        key("pin", one(&COMMIT), REQUIRED, "The commit that we build on."),
        key("branch", one(&BRANCH), NONE, "The branch that the pin is on."),
        key(
            "tree",
            one(&PATH),
            Default::Value(".overlaid/<name>"),
            "Where the tree with the overlays is made. It must not be in one folder with overlay files, reports or templates.",
        ),
        key("also-pinned", Shape::Tables, NONE, "Other places that repeat the pin."),
        key("remote", Shape::Tables, NONE, "Other repositories that have commits."),
        key("submodule", Shape::Tables, NONE, "Submodules that overlays reach into."),
    ]),
};

/// What `[[upstream.also-pinned]]` can have.
pub(super) const ALSO_PINNED: Keys = Keys {
    header: "[[upstream.also-pinned]]",
    keys: Some(&[
        key("file", one(&PATH), REQUIRED, "The file."),
        key(
            "regex",
            one(&CAPTURE),
            REQUIRED,
            "Has exactly one group, which captures the commit. Write other groups as `(?:...)`.",
        ),
    ]),
};

/// What `[[upstream.remote]]` can have.
pub(super) const REMOTE: Keys = Keys {
    header: "[[upstream.remote]]",
    keys: Some(&[
        key("name", one(&NAME), REQUIRED, "How `from` names it."),
        key("url", one(&URL), REQUIRED, "As in `[upstream]`."),
    ]),
};

/// What `[[upstream.submodule]]` can have.
pub(super) const SUBMODULE: Keys = Keys {
    header: "[[upstream.submodule]]",
    keys: Some(&[
        key("path", one(&UPSTREAM_PATH), REQUIRED, "Where the upstream has it."),
        key("url", one(&URL), REQUIRED, "As in `[upstream]`."),
    ]),
};

/// What `[locations]` can have.
pub(super) const LOCATIONS: Keys = Keys {
    header: "[locations]",
    keys: Some(&[
        key(
            "overlays",
            one(&PATH),
            Default::Value("overlays/<name>"),
            "Overlay files. Whole files lie there under the path that they have in the upstream.",
        ),
        key(
            "docs",
            one(&PATH),
            Default::Value("docs/upstream"),
            "Reports, evidence, notes on what was dropped.",
        ),
        key("templates", one(&PATH), Default::Value("templates"), "Our own templates."),
    ]),
};

/// Reads `[upstream]`. The remotes are returned even if the rest of the table is wrong.
pub(super) fn read(mut table: Table<'_>, problems: &mut Problems) -> (Option<UpstreamTable>, Vec<Remote>) {
    let name = table.need("name", &NAME, problems);
    if let Some(name) = name.as_ref().filter(|name| name.as_str() == RESERVED) {
        let place = problems.place(name.span.clone(), "reserved");
        problems.report(
            Diagnostic::error("bad-name", format!("an upstream cannot be called `{RESERVED}`"))
                .at(place)
                .note("variants are built in the folder of that name")
                .hint("give it another name"),
        );
    }
    let url = table.need("url", &URL, problems);
    let pin = table.need("pin", &COMMIT, problems);
    let branch = table.one("branch", &BRANCH, problems);
    let tree = table.one("tree", &PATH, problems);
    let also_pinned: Vec<AlsoPinned> = {
        let tables = table.tables("upstream.also-pinned", &ALSO_PINNED, problems);
        tables.into_iter().filter_map(|table| also_pinned_place(table, problems)).collect()
    };
    let remotes: Vec<Remote> = {
        let tables = table.tables("upstream.remote", &REMOTE, problems);
        tables.into_iter().filter_map(|table| remote(table, problems)).collect()
    };
    let submodules: Vec<Submodule> = {
        let tables = table.tables("upstream.submodule", &SUBMODULE, problems);
        tables.into_iter().filter_map(|table| submodule(table, problems)).collect()
    };
    table.finish(problems);

    unique("remote", remotes.iter().map(|remote| (remote.name.to_string(), &remote.name.span)), problems);
    unique(
        "submodule",
        submodules.iter().map(|submodule| (submodule.path.as_bytes().to_string(), &submodule.path.span)),
        problems,
    );
    let table = match (name, url, pin) {
        (Some(name), Some(url), Some(pin)) => Some(UpstreamTable {
            name,
            url,
            pin,
            branch,
            tree,
            also_pinned,
            remotes: remotes.clone(),
            submodules,
        }),
        _ => None,
    };
    (table, remotes)
}

fn also_pinned_place(mut table: Table<'_>, problems: &mut Problems) -> Option<AlsoPinned> {
    let file = table.need("file", &PATH, problems);
    let regex = table.need("regex", &CAPTURE, problems);
    table.finish(problems);
    Some(AlsoPinned { file: file?, regex: regex? })
}

fn remote(mut table: Table<'_>, problems: &mut Problems) -> Option<Remote> {
    let name = table.need("name", &NAME, problems);
    let url = table.need("url", &URL, problems);
    table.finish(problems);
    Some(Remote { name: name?, url: url? })
}

fn submodule(mut table: Table<'_>, problems: &mut Problems) -> Option<Submodule> {
    let path = table.need("path", &UPSTREAM_PATH, problems);
    let url = table.need("url", &URL, problems);
    table.finish(problems);
    Some(Submodule { path: path?, url: url? })
}

/// Reads `[locations]`.
pub(super) fn read_locations(mut table: Table<'_>, problems: &mut Problems) -> Locations {
    let locations = Locations {
        overlays: table.one("overlays", &PATH, problems),
        docs: table.one("docs", &PATH, problems),
        templates: table.one("templates", &PATH, problems),
    };
    table.finish(problems);
    locations
}

/// No two things of one sort have the same name.
pub(super) fn unique<'a>(
    sort: &str,
    names: impl IntoIterator<Item = (String, &'a Range<usize>)>,
    problems: &mut Problems,
) {
    let mut seen: SortedMap<String, &Range<usize>> = SortedMap::new();
    for (name, span) in names {
        match seen.get(&name) {
            Some(first) => {
                let again = problems.place(span.clone(), "the name is taken");
                let first = problems.place((*first).clone(), "first here");
                let message = format!("two {sort}s are called {}", quoted(&name));
                problems.report(
                    Diagnostic::error("duplicate", message)
                        .at(again)
                        .and(first)
                        .hint("give one of them another name"),
                );
            }
            None => {
                seen.insert(name, span);
            }
        }
    }
}

/// The tree is not where our own files are: making the tree would mix them up.
pub(super) fn check_tree(upstream: &UpstreamTable, locations: &Locations, problems: &mut Problems) {
    let Some(Located { value: tree, span }) = &upstream.tree else { return };
    let folder = |set: &Option<Located<PathBuf>>, default: PathBuf| {
        set.as_ref().map_or(default, |located| located.value.clone())
    };
    let ours = [
        (
            "the overlay files",
            folder(&locations.overlays, Path::new("overlays").join(upstream.name.as_str())),
        ),
        ("the reports", folder(&locations.docs, PathBuf::from("docs/upstream"))),
        ("the templates", folder(&locations.templates, PathBuf::from("templates"))),
    ];
    for (what, folder) in ours {
        if tree.starts_with(&folder) || folder.starts_with(tree) {
            let folder = quoted(&folder.to_string_lossy());
            let place = problems.place(span.clone(), format!("{what} are in {folder}"));
            problems.report(
                Diagnostic::error("bad-path", format!("the tree and {what} are in one folder"))
                    .at(place)
                    .note("the tree is made and changed by this program; nothing else should be in it")
                    .hint(format!("leave `tree` away; then it is `.overlaid/{}`", upstream.name.as_str())),
            );
        }
    }
}
