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
