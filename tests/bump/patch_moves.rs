//! A patch that moves a file: what becomes of it is what becomes of it in git's merge.

use serde_json::Value;

use super::random::cases;
use super::{NUMBERS, outcome};
use crate::support::random::Random;
use crate::support::{Project, Upstream, command, git_bytes, write};

/// An upstream with `f.c`, and a commit of ours that moves it to `h.c` and changes a line.
struct Case {
    upstream: Upstream,
    base: String,
    ours: String,
    patch: Vec<u8>,
}

impl Case {
    fn new() -> Self {
        let mut upstream = Upstream::new();
        let base = upstream.commit("start", &[("f.c", NUMBERS), ("z", "z\n")]);
        upstream.git(&["checkout", "-q", "-b", "ours"]);
        upstream.git(&["mv", "f.c", "h.c"]);
        let ours = upstream.commit("ours", &[("h.c", &NUMBERS.replace("two", "TWO"))]);
        let patch = git_bytes(upstream.path(), &["diff", "-M", "--full-index", &base, &ours]);
        assert!(String::from_utf8_lossy(&patch).contains("rename to h.c"));
        upstream.git(&["checkout", "-q", "main"]);
        Self { upstream, base, ours, patch }
    }

    fn project(&self) -> Project {
        let base = &self.base;
        let more = format!("[[overlay]]\nname = \"x\"\nbase = \"{base}\"\npatch = \"x.patch\"\n");
        let project = Project::on(&self.upstream, base, &more);
        project.write("overlays/up/x.patch", &self.patch);
        project
    }

    /// The files of git's merge with what we have, with their contents; `None`: it conflicts.
    fn merged(&self, to: &str) -> Option<Vec<(String, Vec<u8>)>> {
        self.upstream.git(&["checkout", "-q", "--detach", "-f", to]);
        let mut git = command("git");
        git.current_dir(self.upstream.path()).args(["-c", "merge.directoryRenames=false"]);
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "Ada").env(format!("GIT_{who}_EMAIL"), "a@b");
        }
        let fits = git.args(["merge", "-q", "-m", "m", &self.ours]).output().unwrap().status.success();
        let files = fits.then(|| files_at(&self.upstream, "HEAD"));
        self.upstream.git(&["reset", "-q", "--hard", to]);
        self.upstream.git(&["checkout", "-q", "-f", "main"]);
        files
    }
}

fn files_at(upstream: &Upstream, commit: &str) -> Vec<(String, Vec<u8>)> {
    let names = upstream.git(&["ls-tree", "-r", "--name-only", commit]);
    names.lines().map(|name| (name.to_owned(), upstream.show(commit, name))).collect()
}

/// The files of the tree that `apply` makes.
fn applied(project: &Project) -> Vec<(String, Vec<u8>)> {
    project.run(&["apply"]).expect(0);
    let entries = std::fs::read_dir(project.tree()).unwrap().map(|entry| entry.unwrap());
    let mut files: Vec<(String, Vec<u8>)> = entries
        .filter(|entry| entry.file_type().unwrap().is_file())
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

fn paths(document: &Value) -> Vec<(&str, &str)> {
    let paths = outcome(document, "x")["paths"].as_array().unwrap().iter();
    paths.map(|path| (path["path"].as_str().unwrap(), path["outcome"].as_str().unwrap())).collect()
}

#[test]
fn what_upstream_changes_in_a_file_that_a_patch_moves_goes_along() {
    let mut case = Case::new();
    let to = case.upstream.commit("nine", &[("f.c", &NUMBERS.replace("nine", "NINE"))]);
    let project = case.project();
    let document = project.run(&["--json", "bump", "--to", &to]).expect(0).json();
    assert_eq!(outcome(&document, "x")["outcome"], "merges");
    assert_eq!(paths(&document), [("f.c", "merges"), ("h.c", "merges")]);
    let patch = project.read("overlays/up/x.patch");
    assert!(patch.contains("rename from f.c\nrename to h.c\n"), "{patch}");
    assert_eq!(Some(applied(&project)), case.merged(&to));
    // Nothing moved: nothing is written but the base.
    let next = case.upstream.commit("elsewhere", &[("z", "more\n")]);
    let document = project.run(&["--json", "bump", "--to", &next]).expect(0).json();
    assert_eq!(outcome(&document, "x")["outcome"], "untouched");
    assert_eq!(project.read("overlays/up/x.patch"), patch);
}

#[test]
fn lines_that_both_changed_are_marked_at_the_new_path() {
    let mut case = Case::new();
    let to = case.upstream.commit("two", &[("f.c", &NUMBERS.replace("two", "zwei"))]);
    let project = case.project();
    let document = project.run(&["--json", "bump", "--to", &to]).expect(3).json();
    assert_eq!(paths(&document), [("f.c", "merges"), ("h.c", "conflicts")]);
    assert_eq!(case.merged(&to), None);
    let marked = project.read(".overlaid/bump/up/x/h.c");
    assert!(marked.contains("<<<<<<< x\nTWO\n=======\nzwei\n>>>>>>> upstream"), "{marked}");
    assert!(!project.path().join(".overlaid/bump/up/x/f.c").exists());
    let resolved = NUMBERS.replace("two", "ZWEI");
    project.write(".overlaid/bump/up/x/h.c", &resolved);
    project.run(&["bump", "--continue"]).expect(0);
    let expected = [("h.c", resolved.as_bytes()), ("z", b"z\n")];
    assert_eq!(applied(&project), expected.map(|(name, text)| (name.to_owned(), text.to_vec())));
}

#[test]
fn a_file_that_upstream_moves_elsewhere_waits_for_a_person() {
    let mut case = Case::new();
    case.upstream.git(&["mv", "f.c", "k.c"]);
    let to = case.upstream.commit("theirs", &[("k.c", &NUMBERS.replace("nine", "NINE"))]);
    let project = case.project();
    let manifest = project.read("manifests/up.toml");
    for args in [&["--json", "bump", "--to", &to, "--dry-run"][..], &["--json", "bump", "--to", &to]] {
        let document = project.run(args).expect(3).json();
        assert_eq!(outcome(&document, "x")["outcome"], "renamed", "{document:#}");
        assert_eq!(paths(&document), [("f.c", "renamed"), ("h.c", "conflicts")]);
        assert_eq!(outcome(&document, "x")["paths"][0]["to"], "k.c");
    }
    assert_eq!(case.merged(&to), None);
    assert_eq!(project.read("manifests/up.toml"), manifest);
    assert_eq!(project.read(".overlaid/bump/up/x/h.c.ours"), NUMBERS.replace("two", "TWO"));
    assert_eq!(project.read(".overlaid/bump/up/x/h.c.theirs"), NUMBERS.replace("nine", "NINE"));
    // Our name it is, with upstream's change.
    let both = NUMBERS.replace("two", "TWO").replace("nine", "NINE");
    project.write(".overlaid/bump/up/x/h.c", &both);
    project.run(&["bump", "--continue"]).expect(0);
    let patch = project.read("overlays/up/x.patch");
    assert!(patch.contains("rename from k.c\nrename to h.c\n"), "{patch}");
    let expected = [("h.c", both.as_bytes()), ("z", b"z\n")];
    assert_eq!(applied(&project), expected.map(|(name, text)| (name.to_owned(), text.to_vec())));
    let document = project.run(&["--json", "status"]).expect(0).json();
    assert_eq!(outcome(&document, "x")["state"], "new", "{document:#}");
}

#[test]
fn a_file_that_upstream_moves_to_the_same_place_is_merged_there() {
    let mut case = Case::new();
    case.upstream.git(&["mv", "f.c", "h.c"]);
    let to = case.upstream.commit("theirs", &[("h.c", &NUMBERS.replace("nine", "NINE"))]);
    let project = case.project();
    let document = project.run(&["--json", "bump", "--to", &to]).expect(0).json();
    assert_eq!(paths(&document), [("f.c", "redundant"), ("h.c", "merges")]);
    let patch = project.read("overlays/up/x.patch");
    assert!(!patch.contains("rename") && !patch.contains("f.c"), "{patch}");
    assert_eq!(Some(applied(&project)), case.merged(&to));
    // With all that we have, nothing is left.
    let project = case.project();
    let all = NUMBERS.replace("two", "TWO").replace("nine", "NINE");
    let to = case.upstream.commit("two", &[("h.c", &all)]);
    let document = project.run(&["--json", "bump", "--to", &to, "--dry-run"]).expect(3).json();
    assert_eq!(paths(&document), [("f.c", "redundant"), ("h.c", "absorbed")]);
    project.run(&["bump", "--to", &to, "--drop-absorbed"]).expect(0);
    assert_eq!(Some(applied(&project)), case.merged(&to));
}

#[test]
fn a_file_that_upstream_removes_and_one_that_it_adds_in_its_place_wait_for_a_person() {
    let mut case = Case::new();
    let removed = case.upstream.remove("remove", &["f.c"]);
    let project = case.project();
    let document = project.run(&["--json", "bump", "--to", &removed]).expect(3).json();
    assert_eq!(paths(&document), [("f.c", "gone"), ("h.c", "conflicts")]);
    assert_eq!(case.merged(&removed), None);
    project.write(".overlaid/bump/up/x/h.c", "kept\n");
    project.run(&["bump", "--continue"]).expect(0);
    assert_eq!(applied(&project)[0], ("h.c".to_owned(), b"kept\n".to_vec()));
    case.upstream.git(&["reset", "-q", "--hard", &case.base]);
    let added = case.upstream.commit("add", &[("h.c", "something else\n")]);
    let document = case.project().run(&["--json", "bump", "--to", &added, "--dry-run"]).expect(3).json();
    assert_eq!(paths(&document), [("f.c", "untouched"), ("h.c", "collides")]);
    assert_eq!(case.merged(&added), None);
}

#[test]
fn a_patch_on_a_file_that_another_one_moves_goes_along() {
    let mut case = Case::new();
    let to = case.upstream.commit("nine", &[("f.c", &NUMBERS.replace("nine", "NINE"))]);
    let project = case.project();
    let base = &case.base;
    let more =
        format!("[[overlay]]\nname = \"y\"\nbase = \"{base}\"\npatch = \"y.patch\"\nneeds = [\"x\"]\n");
    project.write("manifests/up.toml", project.read("manifests/up.toml") + &more);
    let patch = "--- a/h.c\n+++ b/h.c\n@@ -4,3 +4,3 @@\n four\n-five\n+FIVE\n six\n";
    project.write("overlays/up/y.patch", patch);
    let document = project.run(&["--json", "bump", "--to", &to]).expect(0).json();
    assert_eq!(outcome(&document, "y")["outcome"], "merges", "{document:#}");
    let expected = NUMBERS.replace("two", "TWO").replace("nine", "NINE").replace("five", "FIVE");
    assert_eq!(applied(&project)[0], ("h.c".to_owned(), expected.into_bytes()));
    // Where the file does not come along, neither does what stands on it.
    let clash = case.upstream.commit("two", &[("f.c", &NUMBERS.replace("two", "zwei"))]);
    let document = project.run(&["--json", "bump", "--to", &clash, "--dry-run"]).expect(3).json();
    assert_eq!(outcome(&document, "x")["outcome"], "conflicts");
    assert_eq!(outcome(&document, "y")["outcome"], "blocked");
}

/// A commit of upstream's that edits, moves, removes or adds.
fn step(random: &mut Random, upstream: &mut Upstream) -> String {
    let root = upstream.path().to_owned();
    let here: Vec<&str> = ["f.c", "h.c", "k.c"].into_iter().filter(|path| root.join(path).exists()).collect();
    let path = if here.is_empty() { "z" } else { random.pick(&here) };
    match random.below(10) {
        0 | 1 if path == "f.c" => {
            let to = random.pick(&["h.c", "h.c", "k.c"]);
            if !root.join(to).exists() {
                upstream.git(&["mv", path, to]);
            }
        }
        2 if path != "z" && random.one_in(2) => std::fs::remove_file(root.join(path)).unwrap(),
        3 if !root.join("h.c").exists() && random.one_in(2) => write(&root.join("h.c"), "one\nof\ntheirs\n"),
        _ => {
            let text = std::fs::read_to_string(root.join(path)).unwrap();
            let words = ["two", "five", "six", "seven", "eight", "nine", "ten"];
            let word = random.pick(&words);
            write(&root.join(path), text.replacen(word, &format!("{word}{}", random.below(3)), 1));
        }
    }
    upstream.commit_all("theirs")
}

fn upstream_moved(case: &Case, to: &str) -> bool {
    let args = ["diff", "-M", "--diff-filter=R", "--name-only", &case.base, to];
    !case.upstream.git(&args).is_empty()
}

#[test]
fn a_patch_that_moves_a_file_fits_where_git_merges_it_and_gives_the_same() {
    let (mut fits, mut waits) = (0, 0);
    for seed in 0..cases(24) {
        let mut random = Random::new(seed + 400);
        let mut case = Case::new();
        let mut to = String::new();
        for _ in 0..1 + random.below(2) {
            to = step(&mut random, &mut case.upstream);
        }
        let merged = case.merged(&to);
        let project = case.project();
        let run = project.run(&["--json", "bump", "--to", &to, "--drop-absorbed"]);
        assert!(matches!(run.code, 0 | 3), "seed {seed}: {run:?}");
        assert_eq!(run.code == 0, merged.is_some(), "seed {seed}: {:#}", run.json());
        match merged {
            Some(merged) => {
                assert_eq!(applied(&project), merged, "seed {seed}");
                fits += 1;
            }
            None => waits += 1,
        }
        // A scan follows no path; of all else it says the same.
        let scan = case.project().run(&["--json", "bump", "--to", &to, "--scan"]).json();
        let last = scan["overlays"][0]["last"].as_str().unwrap();
        let document = run.json();
        let word = outcome(&document, "x")["outcome"].as_str().unwrap();
        let is_moved = upstream_moved(&case, &to) || [last, word].contains(&"gone");
        assert!(is_moved || last == word, "seed {seed}: {last}, {word}");
    }
    assert!(fits > 4 && waits > 4, "{fits} fit, {waits} wait");
}
