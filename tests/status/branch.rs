//! What stands on the manifest's branch, whoever brought it there.

use super::{V1, files};
use crate::support::{Project, Upstream, command};

const WIDER: &str = "kernel: wider";

fn wider() -> String {
    V1.replace("width = 1", "width = 2")
}

fn kernel(content: &str) -> [(&str, &str); 1] {
    [("src/kernel.cu", content)]
}

/// What `status` says of a file where the manifest names the branch `main`.
fn on_main(upstream: &Upstream, base: &str, pin: &str, content: &str) -> serde_json::Value {
    let project = Project::on(upstream, pin, &format!("branch = \"main\"\n{}", files(base)));
    project.write("overlays/up/src/kernel.cu", content);
    project.run(&["status", "--json", "--no-cache"]).expect(0).json()["overlays"][0]["paths"][0].clone()
}

/// The upstream, the base and the pin: `main` has what the release that is pinned took out.
fn taken_out_of_the_release() -> (Upstream, String, String) {
    let mut upstream = Upstream::new();
    let base = upstream.commit("kernel: add", &kernel(V1));
    upstream.commit(WIDER, &kernel(&wider()));
    upstream.git(&["checkout", "-q", "-b", "release"]);
    let pin = upstream.commit("take it out of the release", &kernel(V1));
    upstream.git(&["checkout", "-q", "main"]);
    (upstream, base, pin)
}

#[test]
fn what_a_release_took_out_and_main_still_has_is_a_backport() {
    let (mut upstream, base, pin) = taken_out_of_the_release();
    let without_more = on_main(&upstream, &base, &pin, &wider());
    assert_eq!(without_more["state"], "fresh", "main has nothing that the pin has not had");
    upstream.commit("main goes on", &[("README", "read me\n")]);
    let report = on_main(&upstream, &base, &pin, &wider());
    assert_eq!(report["state"], "backport");
    assert_eq!(report["by"]["subject"], WIDER);
    let commented = format!("// ours\n{}", wider());
    assert_eq!(on_main(&upstream, &base, &pin, &commented)["state"], "backport");
    assert_eq!(on_main(&upstream, &base, &pin, &wider().replace("depth = 1", "depth = 9"))["state"], "fresh");
}

#[test]
fn what_main_still_had_for_a_while_is_a_backport_too() {
    let (mut upstream, base, pin) = taken_out_of_the_release();
    upstream.commit("main goes on", &[("README", "read me\n")]);
    upstream.commit("kernel: deeper", &kernel(&wider().replace("depth = 1", "depth = 2")));
    assert_eq!(on_main(&upstream, &base, &pin, &wider())["state"], "backport");
}

#[test]
fn what_a_merge_brings_to_main_from_before_the_pin_is_a_backport() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("kernel: add", &kernel(V1));
    upstream.git(&["checkout", "-q", "-b", "release"]);
    upstream.commit(WIDER, &kernel(&wider()));
    upstream.git(&["checkout", "-q", "main"]);
    upstream.commit("main goes on", &[("README", "read me\n")]);
    upstream.run_dated(&["merge", "-q", "--no-ff", "-m", "merge the release", "release"]);
    upstream.git(&["checkout", "-q", "release"]);
    let pin = upstream.commit("take it out of the release", &kernel(V1));
    let report = on_main(&upstream, &base, &pin, &wider());
    assert_eq!((&report["state"], &report["by"]["subject"]), (&"backport".into(), &WIDER.into()));
}

#[test]
fn what_a_merge_brings_over_a_topic_of_before_the_pin_is_a_backport() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("kernel: add", &kernel(V1));
    upstream.git(&["checkout", "-q", "-b", "release"]);
    upstream.commit(WIDER, &kernel(&wider()));
    upstream.git(&["checkout", "-q", "-b", "topic"]);
    upstream.commit("topic: notes", &[("NOTES", "notes\n")]);
    upstream.git(&["checkout", "-q", "main"]);
    upstream.commit("main goes on", &[("README", "read me\n")]);
    upstream.run_dated(&["merge", "-q", "--no-ff", "-m", "merge the topic", "topic"]);
    upstream.git(&["checkout", "-q", "release"]);
    let pin = upstream.commit("take it out of the release", &kernel(V1));
    assert_eq!(on_main(&upstream, &base, &pin, &wider())["state"], "backport");
}

#[test]
fn a_topic_that_stood_still_has_nothing_newer() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("kernel: add", &kernel(V1));
    upstream.commit(WIDER, &kernel(&wider()));
    upstream.git(&["checkout", "-q", "-b", "topic"]);
    upstream.commit("topic: notes", &[("NOTES", "notes\n")]);
    upstream.git(&["checkout", "-q", "main"]);
    let pin = upstream.commit("kernel: deeper", &kernel(&wider().replace("depth = 1", "depth = 2")));
    upstream.run_dated(&["merge", "-q", "--no-ff", "-m", "merge the topic", "topic"]);
    let report = on_main(&upstream, &base, &pin, &wider());
    assert_eq!(report["state"], "absorbed", "main left that content before the pin");
    assert_eq!(report["undoes"][0]["subject"], "kernel: deeper");
}

/// A clone whose names are in a reftable; none where git is older than that.
fn with_a_reftable(upstream: &Upstream) -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}", upstream.path().display());
    let mut git = command("git");
    git.current_dir(folder.path()).args(["clone", "-q", "--ref-format=reftable", &url, "clone"]);
    if git.output().unwrap().status.success() {
        return Some(folder);
    }
    assert!(
        std::env::var("OVERLAID_TEST_ORACLES").is_err(),
        "this git knows no reftable, and OVERLAID_TEST_ORACLES asks for all"
    );
    eprintln!("skipped: this git knows no reftable");
    None
}

#[test]
fn the_branches_of_a_reftable_are_read_by_git() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("kernel: add", &kernel(V1));
    let newer = upstream.commit(WIDER, &kernel(&wider()));
    upstream.git(&["tag", "-a", "v1", "-m", "v1"]);
    let Some(folder) = with_a_reftable(&upstream) else { return };
    let clone = folder.path().join("clone");
    let mut project = Project::on(&upstream, &base, &format!("branch = \"main\"\n{}", files(&base)));
    project.set("OVERLAID_UPSTREAM_UP", &clone);
    project.write("overlays/up/src/kernel.cu", wider());
    let state = |project: &Project| {
        let document = project.run(&["status", "--json", "--no-cache"]).expect(0).json();
        let path = &document["overlays"][0]["paths"][0];
        (path["state"].as_str().unwrap().to_owned(), path["why"].as_str().unwrap().to_owned())
    };
    assert_eq!(state(&project).0, "backport");
    for name in ["main", "v1", "HEAD", "origin/main", "refs/heads/main"] {
        let document = project.run(&["--json", "bump", "--to", name, "--dry-run"]).expect(0).json();
        assert_eq!(document["to"], newer.as_str(), "{name}");
    }
    let run = project.run(&["bump", "--to", "nothing", "--dry-run"]).expect(2);
    assert!(run.stderr.contains("branches: main"), "{}", run.stderr);
    // Only git reads them: without it, what depends on them is not known, and that is said.
    project.set("PATH", folder.path());
    let (state, why) = state(&project);
    assert_eq!(state, "unknown");
    assert!(why.contains("a reftable, which only git reads"), "{why}");
    assert!(why.contains("`git refs migrate --ref-format=files`"), "{why}");
    let run = project.run(&["bump", "--to", "main", "--dry-run"]).expect(2);
    assert!(run.stderr.contains("`git refs migrate --ref-format=files`"), "{}", run.stderr);
    // What the history up to the pin says is known all the same.
    project.write("overlays/up/src/kernel.cu", format!("// ours\n{V1}"));
    let document = project.run(&["status", "--json", "--no-cache"]).expect(0).json();
    assert_eq!(document["overlays"][0]["state"], "redundant");
}

/// A clone without other branches, whose `main` goes on after the pin, and a project whose file is what `main` has.
fn ahead_of_the_pin() -> (Upstream, Project) {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("kernel: add", &kernel(V1));
    upstream.commit(WIDER, &kernel(&wider()));
    upstream.git(&["checkout", "-q", "--detach"]);
    let project = Project::on(&upstream, &pin, &format!("branch = \"main\"\n{}", files(&pin)));
    project.write("overlays/up/src/kernel.cu", wider());
    (upstream, project)
}

/// The state of the file and why, and what the document says of the branch.
fn said(project: &Project) -> [String; 3] {
    let document = project.run(&["status", "--json"]).expect(0).json();
    let path = &document["overlays"][0]["paths"][0];
    let of_branch = &document["upstreams"][0]["branch-unknown"];
    [&path["state"], &path["why"], of_branch].map(|value| value.as_str().unwrap_or_default().to_owned())
}

/// The findings of `verify` about the branch: severity and code, and the exit code of the run.
fn found(project: &Project) -> Vec<String> {
    let document = project.run(&["verify", "--json"]).json();
    let findings = document["findings"].as_array().unwrap().iter();
    let words =
        findings.map(|f| format!("{} {}", f["severity"].as_str().unwrap(), f["code"].as_str().unwrap()));
    words.filter(|words| words.contains("branch-")).collect()
}

#[test]
fn a_branch_whose_name_is_damaged_is_said_to_be_unreadable() {
    let (upstream, project) = ahead_of_the_pin();
    assert_eq!(said(&project)[0], "backport");
    let name = upstream.path().join(".git/refs/heads/main");
    let lost = "0123456789012345678901234567890123456789\n";
    for damaged in ["garbage\n", "", lost] {
        std::fs::write(&name, damaged).unwrap();
        let verified = ["cat-file", "-e", "main^{commit}"];
        assert!(
            !command("git").current_dir(upstream.path()).args(verified).output().unwrap().status.success()
        );
        let [state, why, of_branch] = said(&project);
        assert_eq!(state, "unknown", "{damaged:?}");
        assert!(why.contains("whether it is what upstream has on its branch cannot be told"), "{why}");
        assert!(of_branch.starts_with("the branch `main` cannot be read: "), "{of_branch}");
        let status = project.run(&["status"]).expect(0).stdout;
        assert!(status.lines().next().unwrap().ends_with("(main, which cannot be read)"), "{status}");
        assert_eq!(found(&project), ["error branch-unreadable"], "{damaged:?}");
        let hint = project.run(&["verify"]).expect(1).stdout;
        assert!(hint.contains("hint: `git fsck` in the clone names what is broken"), "{hint}");
    }
}

#[test]
fn a_clone_without_branches_has_a_word_beside_each_state_that_the_branch_could_change() {
    let (upstream, project) = ahead_of_the_pin();
    std::fs::remove_file(upstream.path().join(".git/refs/heads/main")).unwrap();
    assert_eq!(upstream.git(&["for-each-ref"]), "");
    let [state, why, of_branch] = said(&project);
    assert_eq!(state, "fresh");
    let sentence = "the clone has no branches, so not `main` either";
    assert!(
        why.ends_with(&format!("whether upstream has it on its branch is not known: {sentence}")),
        "{why}"
    );
    assert_eq!(of_branch, sentence);
    let status = project.run(&["status"]).expect(0).stdout;
    assert!(status.lines().next().unwrap().contains("(main, which upstream does not have here"), "{status}");
    assert_eq!(found(&project), ["warning branch-missing"]);
    // The kept report has no such word, so that it is right when the branch is there again.
    upstream.git(&["branch", "-f", "other"]);
    assert!(said(&project)[1].ends_with("not known: upstream has no branch `main`"));
    assert_eq!(found(&project), ["error branch-missing"]);
    upstream.git(&["branch", "main", "other"]);
    assert_eq!(said(&project), ["backport", "it is what upstream has after the pin", ""]);
    assert!(found(&project).is_empty());
}

#[test]
fn what_upstream_had_before_needs_no_branch() {
    let (upstream, project) = ahead_of_the_pin();
    std::fs::write(upstream.path().join(".git/refs/heads/main"), "garbage\n").unwrap();
    project.write("overlays/up/src/kernel.cu", format!("// ours\n{V1}"));
    assert_eq!(said(&project)[0], "redundant");
}
