//! What stands on the manifest's branch, whoever brought it there.

use super::{V1, files};
use crate::support::{Project, Upstream};

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

#[test]
fn what_a_release_took_out_and_main_still_has_is_a_backport() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("kernel: add", &kernel(V1));
    upstream.commit(WIDER, &kernel(&wider()));
    upstream.git(&["checkout", "-q", "-b", "release"]);
    let pin = upstream.commit("take it out of the release", &kernel(V1));
    upstream.git(&["checkout", "-q", "main"]);
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
    let mut upstream = Upstream::new();
    let base = upstream.commit("kernel: add", &kernel(V1));
    upstream.commit(WIDER, &kernel(&wider()));
    upstream.git(&["checkout", "-q", "-b", "release"]);
    let pin = upstream.commit("take it out of the release", &kernel(V1));
    upstream.git(&["checkout", "-q", "main"]);
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
