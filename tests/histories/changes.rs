//! The states of changes: one edit as a patch, as a commit to be picked, and the removal of a path, on the same histories.
//!
//! What a patch makes of the pin is what `git apply` makes of it, and what a commit makes of it is what `git merge-file` does.

use std::collections::{BTreeMap, BTreeSet};

use super::{History, Mode, PATHS, Version, history, is_absorbed, list, merged, ours, same};
use crate::support::random::Random;
use crate::support::{Project, command, git_bytes};

/// What an overlay makes of base and pin; the latter is none if it does not fit there.
struct Made {
    on_base: Version,
    on_pin: Option<Version>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Patch,
    Pick,
    Delete,
}

/// Where an overlay is, and what it is measured against.
struct Place {
    base: usize,
    pin: usize,
    branch: Option<usize>,
    path: &'static str,
}

/// Runs git with an index of its own.
fn with_index(history: &History, args: &[&str]) -> Option<String> {
    let mut git = command("git");
    git.current_dir(history.upstream.path()).args(args).env("GIT_INDEX_FILE", "index-of-changes");
    for who in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{who}_NAME"), "Ada").env(format!("GIT_{who}_EMAIL"), "a@b");
        git.env(format!("GIT_{who}_DATE"), "1700000000 +0000");
    }
    let output = git.output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim_end().to_owned())
}

/// A commit on the base with this content.
fn commit(history: &History, base: usize, path: &str, version: &Version) -> String {
    let base = &history.ids[base];
    let run = |args: &[&str]| with_index(history, args).unwrap();
    run(&["read-tree", base]);
    match version {
        None => run(&["rm", "-q", "--cached", path]),
        Some((mode, text)) => {
            let file = history.upstream.path().join("content");
            std::fs::write(&file, text).unwrap();
            let id = run(&["hash-object", "-w", "--no-filters", "content"]);
            let mode = if *mode == Mode::Executable { "100755" } else { "100644" };
            run(&["update-index", "--add", "--cacheinfo", &format!("{mode},{id},{path}")])
        }
    };
    let tree = run(&["write-tree"]);
    let commit = run(&["commit-tree", &tree, "-p", base, "-m", "ours"]);
    run(&["update-ref", &format!("refs/ours/{commit}"), &commit]);
    commit
}

/// What `git apply` makes of the pin.
fn applied(history: &History, pin: usize, path: &str, patch: &std::path::Path) -> Option<Version> {
    with_index(history, &["read-tree", &history.ids[pin]]).unwrap();
    with_index(history, &["apply", "--cached", patch.to_str().unwrap()])?;
    let entry = with_index(history, &["ls-files", "-s", path]).unwrap();
    let mut words = entry.split_whitespace();
    let (Some(mode), Some(id)) = (words.next(), words.next()) else { return Some(None) };
    let mode = match mode {
        "100755" => Mode::Executable,
        "120000" => Mode::Link,
        _ => Mode::File,
    };
    let text = git_bytes(history.upstream.path(), &["cat-file", "blob", id]);
    Some(Some((mode, String::from_utf8(text).unwrap())))
}

/// Whether upstream has this after the pin: brought by a commit, or on a line of its own.
fn is_newer(history: &History, place: &Place, ours: &Version) -> bool {
    let Place { base, pin, branch, path } = *place;
    let is_ahead = base != pin && history.ancestors(base).contains(&pin);
    let at_pin = history.commits[pin].at(path);
    let of_pin = history.ancestors(pin);
    let heads: Vec<usize> = branch.into_iter().chain(is_ahead.then_some(base)).collect();
    let newer: BTreeSet<usize> = heads.iter().flat_map(|head| history.newer(*head, pin, path)).collect();
    match ours {
        Some(_) => newer.iter().any(|commit| {
            let version = history.commits[*commit].at(path);
            version != at_pin && same(path, ours, &version)
        }),
        None => {
            let removes = |commit: &usize| {
                let parents = &history.commits[*commit].parents;
                history.commits[*commit].at(path).is_none()
                    && parents.iter().all(|parent| history.commits[*parent].at(path).is_some())
            };
            newer.iter().any(removes)
                || branch.is_some_and(|tip| !of_pin.contains(&tip) && history.commits[tip].at(path).is_none())
        }
    }
}

/// The states that the table allows.
fn expected(history: &History, place: &Place, kind: Kind, made: &Made) -> Vec<&'static str> {
    let Place { base, pin, path, .. } = *place;
    let (at_base, at_pin) = (history.commits[base].at(path), history.commits[pin].at(path));
    let known = made.on_pin.as_ref().unwrap_or(&made.on_base);
    if same(path, known, &at_pin) {
        return vec!["redundant"];
    }
    if at_base.is_some() && at_pin.is_none() {
        return vec!["gone", "renamed"];
    }
    if at_base.is_none() {
        return vec![if at_pin.is_some() { "collides" } else { "new" }];
    }
    if made.on_pin.as_ref().is_some_and(|made| is_newer(history, place, made)) {
        return vec!["backport"];
    }
    if at_base != at_pin && is_absorbed(path, &at_base, &made.on_base, &at_pin) {
        return vec!["absorbed"];
    }
    // Whoever takes a path away takes away what upstream made of it.
    let fits = match kind {
        Kind::Delete => at_base == at_pin,
        _ => made.on_pin.is_some(),
    };
    vec![match (fits, at_base == at_pin) {
        (false, _) => "stale-conflict",
        (true, true) => "fresh",
        (true, false) => "stale-clean",
    }]
}

/// One pin with a change on each path, as an overlay of this kind.
fn judge(
    random: &mut Random,
    history: &History,
    kind: Kind,
    about: &str,
    seen: &mut BTreeMap<String, usize>,
) {
    let count = history.commits.len();
    let pin = count / 3 + random.below(count - count / 3);
    let branch = (!random.one_in(4)).then(|| count / 2 + random.below(count - count / 2));
    let mut more = branch.map_or_else(String::new, |branch| format!("branch = \"c{branch}\"\n"));
    let project = Project::new();
    let mut cases = Vec::new();
    for (number, path) in PATHS.into_iter().enumerate() {
        let base = match random.below(4) {
            0 => random.below(count),
            1 => pin,
            _ => random.below(pin + 1),
        };
        let place = Place { base, pin, branch, path };
        let is_folder = |commit: usize| history.commits[commit].folders.contains(path);
        let at_base = history.commits[base].at(path);
        let on_base = match kind {
            Kind::Delete => None,
            _ if random.one_in(6) => None,
            // What stands on the branch.
            _ if random.one_in(4) => history.commits[branch.unwrap_or(pin)].at(path),
            _ => Some(ours(random, history, base, pin, path)),
        };
        let is_link = [&at_base, &on_base].iter().any(|version| matches!(version, Some((Mode::Link, _))));
        if is_folder(base) || is_folder(pin) || on_base == at_base || is_link {
            continue;
        }
        let commit = commit(history, base, path, &on_base);
        let name = format!("o{number}");
        let file = format!("overlays/up/{name}.patch");
        let patch = git_bytes(
            history.upstream.path(),
            &["diff", "--binary", "--full-index", &history.ids[base], &commit],
        );
        project.write(&file, patch);
        let at_pin = history.commits[pin].at(path);
        let (content, on_pin) = match kind {
            Kind::Patch => {
                let made = applied(history, pin, path, &project.path().join(&file));
                (format!("patch = \"{name}.patch\""), made)
            }
            Kind::Pick => {
                (format!("from = {{ commits = [\"{commit}\"] }}"), merged(&at_base, &on_base, &at_pin))
            }
            Kind::Delete => (format!("delete = [\"{path}\"]"), Some(None)),
        };
        let id = &history.ids[base];
        more.push_str(&format!("[[overlay]]\nname = \"{name}\"\nbase = \"{id}\"\n{content}\n"));
        cases.push((place, Made { on_base, on_pin }));
    }
    let manifest = crate::support::manifest(&history.upstream, &history.ids[pin], &more);
    project.write("manifests/up.toml", manifest);
    let document = project.run(&["status", "--json", "--no-cache"]).expect(0).json();
    for (overlay, (place, made)) in list(&document, "overlays").into_iter().zip(&cases) {
        let report = &overlay["paths"][0];
        let state = report["state"].as_str().unwrap();
        let expected = expected(history, place, kind, made);
        let Place { base, pin, branch, path } = *place;
        assert!(
            expected.contains(&state),
            "{state}, not {expected:?}: {about}, {path}, base {base}, pin {pin}, branch {branch:?}\nB {:?}\nP {:?}\n\
             on base {:?}\non pin {:?}\n{report:#}",
            history.commits[base].at(path),
            history.commits[pin].at(path),
            made.on_base,
            made.on_pin
        );
        *seen.entry(format!("{kind:?} {state}")).or_default() += 1;
    }
}

#[test]
fn no_state_of_a_change_is_wrong_on_any_small_history() {
    let rounds: u64 = std::env::var("HISTORIES").map_or(16, |rounds| rounds.parse().unwrap());
    let mut seen = BTreeMap::new();
    for seed in 0..rounds {
        let mut random = Random::new(seed + 7000);
        let history = history(&mut random, 14);
        for kind in [Kind::Patch, Kind::Patch, Kind::Pick, Kind::Pick, Kind::Delete] {
            judge(&mut random, &history, kind, &format!("{kind:?} of seed {seed}"), &mut seen);
        }
    }
    for state in ["redundant", "backport", "stale-clean", "stale-conflict", "fresh"] {
        for kind in ["Patch", "Pick"] {
            assert!(seen.contains_key(&format!("{kind} {state}")), "{kind} {state} was never seen: {seen:?}");
        }
    }
    for state in ["collides", "new"] {
        let is_seen = ["Patch", "Pick"].iter().any(|kind| seen.contains_key(&format!("{kind} {state}")));
        assert!(is_seen, "{state} was never seen: {seen:?}");
    }
    for state in ["Patch absorbed", "Delete backport", "Delete redundant", "Delete fresh"] {
        assert!(seen.contains_key(state), "{state} was never seen: {seen:?}");
    }
}
