//! States on small histories by seed, with all that histories have: merges that keep one side, both or neither, criss-cross
//! merges, reverts of reverts, renames with edits, removed and added again, modes, links, folders in place of files, other
//! line ends, clocks that go wrong.
//!
//! The expected state follows the table of docs/states.md from the contents themselves: they are known from how the history
//! was made, and every commit is looked at. Merges are judged by `git merge-file`.

mod changes;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::support::random::Random;
use crate::support::{Project, Upstream, command, write};

const PATHS: [&str; 8] = ["a.txt", "b.c", "d/c.txt", "d/e/f.c", "g.txt", "h.c", "d/i.c", "d/e/j.txt"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mode {
    File,
    Executable,
    Link,
}

/// What stands at a path.
type Version = Option<(Mode, String)>;

#[derive(Debug, Clone, Default)]
struct Commit {
    parents: Vec<usize>,
    files: BTreeMap<&'static str, (Mode, String)>,
    /// Paths that are folders here.
    folders: BTreeSet<&'static str>,
}

impl Commit {
    fn at(&self, path: &str) -> Version {
        self.files.get(path).cloned()
    }

    fn set(&mut self, path: &'static str, version: Version) {
        self.folders.remove(path);
        match version {
            Some(version) => _ = self.files.insert(path, version),
            None => _ = self.files.remove(path),
        }
    }
}

struct History {
    upstream: Upstream,
    commits: Vec<Commit>,
    ids: Vec<String>,
}

fn line(random: &mut Random) -> String {
    format!("int a{};\n", random.below(12))
}

/// Another text that is not far away.
fn edited(random: &mut Random, text: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let at = random.below(lines.len().max(1)).min(lines.len());
    match random.below(6) {
        0 => lines.insert(at, line(random)),
        1 if lines.len() > 3 => drop(lines.remove(at)),
        2 => lines.insert(at, format!("// note {}\n", random.below(4))),
        3 if text.contains('\r') => return text.replace('\r', ""),
        3 => return text.replace('\n', "\r\n"),
        _ if at < lines.len() => lines[at] = line(random),
        _ => lines.push(line(random)),
    }
    lines.concat()
}

fn edited_version(random: &mut Random, (mode, text): (Mode, String)) -> (Mode, String) {
    match (random.below(12), mode) {
        (0, Mode::File) => (Mode::Executable, text),
        (0 | 1, Mode::Executable) => (Mode::File, text),
        (1, Mode::File) => (Mode::Link, "int a1;".to_owned()),
        (_, Mode::Link) if random.one_in(2) => {
            (Mode::File, edited(random, "int a1;\nint a2;\nint a3;\nint a4;\n"))
        }
        (_, Mode::Link) => (Mode::Link, format!("int a{}; // to", random.below(3))),
        _ => (mode, edited(random, &text)),
    }
}

/// Makes a history of so many commits.
fn history(random: &mut Random, count: usize) -> History {
    let mut commits: Vec<Commit> = Vec::new();
    for number in 0..count {
        let mut commit = Commit::default();
        if number == 0 {
            for path in PATHS {
                let text: String = (0..14).map(|_| line(random)).collect();
                commit.files.insert(path, (Mode::File, text));
            }
            commits.push(commit);
            continue;
        }
        // Near the newest, so that lines of work cross.
        let near = |random: &mut Random| number - 1 - random.below(number.min(4));
        commit.parents = vec![near(random)];
        let other = near(random);
        if random.one_in(3) && !commit.parents.contains(&other) {
            commit.parents.push(other);
        }
        let first = commits[commit.parents[0]].clone();
        (commit.files, commit.folders) = (first.files, first.folders);
        for path in PATHS {
            let now = commit.at(path);
            if let Some(&second) = commit.parents.get(1)
                && random.one_in(2)
            {
                commit.set(path, commits[second].at(path));
            }
            if !random.percent(30) {
                continue;
            }
            let old = commits[random.below(number)].at(path);
            match (random.below(24), now) {
                (0, _) => commit.set(path, None),
                // A revert, or one of a revert.
                (1..=3, _) => commit.set(path, old),
                (4, Some(version)) => {
                    let to = random.pick(&PATHS);
                    commit.set(path, None);
                    commit.set(to, Some(edited_version(random, version)));
                }
                (5, _) => {
                    commit.set(path, None);
                    commit.folders.insert(path);
                }
                (_, Some(version)) => commit.set(path, Some(edited_version(random, version))),
                (_, None) => commit.set(path, old),
            }
        }
        commits.push(commit);
    }
    let (upstream, ids) = import(random, &commits);
    History { upstream, commits, ids }
}

fn import(random: &mut Random, commits: &[Commit]) -> (Upstream, Vec<String>) {
    let upstream = Upstream::new();
    let mut stream = Vec::new();
    for (number, commit) in commits.iter().enumerate() {
        let date = 1_700_000_000 + number * 60 - if random.one_in(4) { random.below(9000) } else { 0 };
        let message = format!("commit {number}");
        let head = format!(
            "commit refs/heads/c{number}\nmark :{}\nauthor A <a@b> {date} +0000\ncommitter A <a@b> {date} +0000\ndata {}\n{message}\n",
            number + 1,
            message.len()
        );
        stream.extend(head.as_bytes());
        for (place, parent) in commit.parents.iter().enumerate() {
            let word = if place == 0 { "from" } else { "merge" };
            stream.extend(format!("{word} :{}\n", parent + 1).as_bytes());
        }
        stream.extend(b"deleteall\n");
        let inner: Vec<String> = commit.folders.iter().map(|path| format!("{path}/inner")).collect();
        let inner = inner.iter().map(|path| (path.as_str(), "100644", "inside\n"));
        let files = commit.files.iter().map(|(path, (mode, text))| {
            let mode = match mode {
                Mode::File => "100644",
                Mode::Executable => "100755",
                Mode::Link => "120000",
            };
            (*path, mode, text.as_str())
        });
        for (path, mode, text) in files.chain(inner) {
            stream.extend(format!("M {mode} inline {path}\ndata {}\n{text}\n", text.len()).as_bytes());
        }
    }
    let mut git = command("git");
    git.current_dir(upstream.path()).args(["fast-import", "--quiet", "--export-marks=marks"]);
    let mut git = git.stdin(Stdio::piped()).spawn().unwrap();
    git.stdin.take().unwrap().write_all(&stream).unwrap();
    assert!(git.wait().unwrap().success());
    let marks = std::fs::read_to_string(upstream.path().join("marks")).unwrap();
    let ids: BTreeMap<usize, String> = marks
        .lines()
        .map(|line| line[1..].split_once(' ').unwrap())
        .map(|(mark, id)| (mark.parse().unwrap(), id.to_owned()))
        .collect();
    (upstream, ids.into_values().collect())
}

impl History {
    fn ancestors(&self, of: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open = vec![of];
        while let Some(next) = open.pop() {
            if found.insert(next) {
                open.extend(&self.commits[next].parents);
            }
        }
        found
    }

    /// The commits that have something newer than the pin, by what one of them reaches: those that brought a content, and
    /// the line of first parents, with all that stands there.
    fn newer(&self, head: usize, pin: usize, path: &str) -> BTreeSet<usize> {
        let old = self.ancestors(pin);
        let mut newer = BTreeSet::new();
        let mut next = Some(head);
        while let Some(commit) = next.filter(|commit| !old.contains(commit)) {
            newer.insert(commit);
            next = self.commits[commit].parents.first().copied();
        }
        let brings = |commit: &usize| {
            let now = self.commits[*commit].at(path);
            self.commits[*commit].parents.iter().all(|parent| self.commits[*parent].at(path) != now)
        };
        let beside = self.ancestors(head).into_iter().filter(|commit| !old.contains(commit));
        newer.extend(beside.filter(brings));
        newer
    }

    /// The commits of base..pin that differ from all their parents on a path.
    fn moved_by(&self, base: usize, pin: usize, path: &str) -> BTreeSet<&str> {
        let before = self.ancestors(base);
        let touches = |commit: &usize| {
            let (commit, now) = (&self.commits[*commit], self.commits[*commit].at(path));
            commit.parents.iter().all(|parent| self.commits[*parent].at(path) != now)
                && (now.is_some() || !commit.parents.is_empty())
        };
        let between = self.ancestors(pin).into_iter().filter(|commit| !before.contains(commit));
        between.filter(touches).map(|commit| self.ids[commit].as_str()).collect()
    }
}

fn tokens(text: &str) -> String {
    let code: String = text
        .replace('\r', "")
        .lines()
        .filter(|line| !line.starts_with("//"))
        .map(|l| l.to_owned() + "\n")
        .collect();
    code.replace(' ', "\n").replace(';', "\n;")
}

/// Whether two versions do the same.
fn same(path: &str, a: &Version, b: &Version) -> bool {
    match (a, b) {
        (Some((a_mode, a)), Some((b_mode, b))) => {
            let by_tokens = path.ends_with(".c") && *a_mode != Mode::Link;
            a_mode == b_mode && (a == b || by_tokens && tokens(a) == tokens(b))
        }
        (a, b) => a == b,
    }
}

/// The merge, or none if it does not fit.
fn merged(base: &Version, ours: &Version, theirs: &Version) -> Option<Version> {
    if ours == theirs || base == theirs {
        return Some(ours.clone());
    }
    if base == ours {
        return Some(theirs.clone());
    }
    let (Some(base), Some(ours), Some(theirs)) = (base, ours, theirs) else { return None };
    if [base, ours, theirs].iter().any(|side| side.0 == Mode::Link) {
        return None;
    }
    let mode = if ours.0 == base.0 { theirs.0 } else { ours.0 };
    Some(Some((mode, merge_file(&base.1, &ours.1, &theirs.1)?)))
}

fn merge_file(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [("base", base), ("ours", ours), ("theirs", theirs)] {
        write(&folder.path().join(name), text);
    }
    let mut git = command("git");
    git.current_dir(folder.path()).args(["merge-file", "-p", "-q", "ours", "base", "theirs"]);
    let output = git.output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

fn is_absorbed(path: &str, base: &Version, ours: &Version, pin: &Version) -> bool {
    if same(path, ours, base) || same(path, base, pin) {
        return false;
    }
    match merged(base, ours, pin) {
        Some(result) => same(path, &result, pin),
        None => {
            let (Some(base), Some(ours), Some(pin)) = (base, ours, pin) else { return false };
            let is_code = path.ends_with(".c") && [base, ours, pin].iter().all(|side| side.0 != Mode::Link);
            is_code && {
                let mode = if ours.0 == base.0 { pin.0 } else { ours.0 };
                let result = merge_file(&tokens(&base.1), &tokens(&ours.1), &tokens(&pin.1));
                mode == pin.0 && result.is_some_and(|result| result == tokens(&pin.1))
            }
        }
    }
}

/// The states that the table allows.
fn expected(
    history: &History,
    base: usize,
    pin: usize,
    branch: Option<usize>,
    path: &str,
    ours: &Version,
) -> Vec<&'static str> {
    let (at_base, at_pin) = (history.commits[base].at(path), history.commits[pin].at(path));
    if at_base.is_some() && at_pin.is_none() {
        return vec!["gone", "renamed"];
    }
    if same(path, ours, &at_pin) {
        return vec!["redundant"];
    }
    if at_base.is_none() {
        return vec![if at_pin.is_some() { "collides" } else { "new" }];
    }
    let (to_base, to_pin) = (history.ancestors(base), history.ancestors(pin));
    let is_ahead = base != pin && to_base.contains(&pin);
    if at_base != at_pin && !is_ahead && same(path, ours, &at_base) {
        return vec!["rollback"];
    }
    let others = |commits: &BTreeSet<usize>| -> bool {
        commits.iter().map(|commit| history.commits[*commit].at(path)).any(|version| {
            version != at_base && version != at_pin && version.is_some() && same(path, ours, &version)
        })
    };
    let older = others(if is_ahead { &to_pin } else { &to_base });
    let heads = branch.into_iter().chain(is_ahead.then_some(base));
    let after: BTreeSet<usize> = heads.flat_map(|head| history.newer(head, pin, path)).collect();
    let newer = others(&after) || is_ahead && same(path, ours, &at_base);
    match (older, newer) {
        (true, true) => return vec!["rollback", "backport"],
        (true, false) => return vec!["rollback"],
        (false, true) => return vec!["backport"],
        (false, false) => {}
    }
    if at_base != at_pin && is_absorbed(path, &at_base, ours, &at_pin) {
        return vec!["absorbed"];
    }
    if at_base == at_pin {
        return vec!["fresh"];
    }
    vec![if merged(&at_base, ours, &at_pin).is_some() { "stale-clean" } else { "stale-conflict" }]
}

/// A content for an overlay: one of upstream's, one near to that, or a change that upstream has, too.
fn ours(random: &mut Random, history: &History, base: usize, pin: usize, path: &str) -> (Mode, String) {
    let any = random.below(history.commits.len());
    let some = history.commits[if random.one_in(2) { any } else { base.max(pin) }].at(path);
    let text = "int a1;\nint a2;\n".to_owned();
    let (at_base, at_pin) = (history.commits[base].at(path), history.commits[pin].at(path));
    let chosen = match random.below(8) {
        0 | 1 => some,
        2 => at_pin.map(|version| edited_version(random, version)),
        3 => some.map(|version| edited_version(random, version)),
        // A part of upstream's work.
        4 | 5 => {
            let before = history.ancestors(base);
            let between: Vec<usize> = history.ancestors(pin).difference(&before).copied().collect();
            if between.is_empty() { some } else { history.commits[random.pick(&between)].at(path) }
        }
        _ => at_base.map(|version| edited_version(random, version)),
    };
    chosen.filter(|(mode, _)| *mode != Mode::Link).unwrap_or((Mode::File, text))
}

fn list<'v>(value: &'v Value, key: &str) -> Vec<&'v Value> {
    value[key].as_array().map(|list| list.iter().collect()).unwrap_or_default()
}

/// One pin with an overlay on each path: how many states there were of each kind.
fn judge(random: &mut Random, history: &History, seed: u64, seen: &mut BTreeMap<String, usize>) {
    let count = history.commits.len();
    let pin = count / 3 + random.below(count - count / 3);
    let branch =
        Some(count / 2 + (pin + seed as usize) % (count - count / 2)).filter(|branch| branch % 3 != 0);
    let mut more = branch.map_or_else(String::new, |branch| format!("branch = \"c{branch}\"\n"));
    let mut cases = Vec::new();
    for (number, path) in PATHS.into_iter().enumerate() {
        // A base that is long ago, that is newer, or on another line.
        let end = if random.one_in(2) { count } else { pin + 1 };
        let base = random.below(end);
        let content = ours(random, history, base, pin, path);
        let id = &history.ids[base];
        more.push_str(&format!("[[overlay]]\nname = \"o{number}\"\nbase = \"{id}\"\nfiles = [\"{path}\"]\n"));
        cases.push((path, base, content));
    }
    let project = Project::on(&history.upstream, &history.ids[pin], &more);
    for (path, _, (mode, text)) in &cases {
        let file = format!("overlays/up/{path}");
        project.write(&file, text);
        if *mode == Mode::Executable {
            use std::os::unix::fs::PermissionsExt;
            let permissions = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(project.path().join(file), permissions).unwrap();
        }
    }
    let document = project.run(&["status", "--json", "--no-cache"]).expect(0).json();
    for (overlay, (path, base, content)) in list(&document, "overlays").into_iter().zip(&cases) {
        let report = &overlay["paths"][0];
        let state = report["state"].as_str().unwrap();
        let expected = expected(history, *base, pin, branch, path, &Some(content.clone()));
        let about = || {
            format!(
                "seed {seed}, {path}, base {base}, pin {pin}, branch {branch:?}\nB {:?}\nP {:?}\nO {content:?}\n{report:#}",
                history.commits[*base].at(path),
                history.commits[pin].at(path)
            )
        };
        assert!(expected.contains(&state), "{state}, not {expected:?}: {}", about());
        let moved_by: BTreeSet<&str> =
            list(report, "moved-by").into_iter().map(|id| id.as_str().unwrap()).collect();
        assert_eq!(moved_by, history.moved_by(*base, pin, path), "{}", about());
        let work = ["undoes", "included"].map(|key| list(report, key));
        for commit in work.into_iter().flatten().filter(|_| state != "rollback") {
            assert!(moved_by.contains(commit["id"].as_str().unwrap()), "{}", about());
        }
        // What another overlay is derived from makes no difference.
        if random.one_in(8) {
            let alone = project.run(&["status", "--json", "--no-cache", overlay["name"].as_str().unwrap()]);
            assert_eq!(alone.expect(0).json()["overlays"][0]["state"], state, "{}", about());
        }
        *seen.entry(state.to_owned()).or_default() += 1;
    }
}

#[test]
fn no_state_is_wrong_on_any_small_history() {
    let rounds: u64 = std::env::var("HISTORIES").map_or(12, |rounds| rounds.parse().unwrap());
    let mut seen = BTreeMap::new();
    for seed in 0..rounds {
        let mut random = Random::new(seed);
        let history = history(&mut random, 14);
        for _ in 0..3 {
            judge(&mut random, &history, seed, &mut seen);
        }
    }
    for state in [
        "redundant",
        "collides",
        "new",
        "rollback",
        "backport",
        "absorbed",
        "stale-clean",
        "stale-conflict",
        "fresh",
    ] {
        assert!(seen.contains_key(state), "{state} was never seen: {seen:?}");
    }
    assert!(seen.contains_key("gone") || seen.contains_key("renamed"), "{seen:?}");
}
