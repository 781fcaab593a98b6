//! The id of an annotated tag, which is what `git ls-remote` prints beside the tag's name.

use super::{NUMBERS, files};
use crate::support::{Project, Upstream};

fn tagged() -> (Upstream, String, String, String) {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS)]);
    let to = upstream.commit("ten", &[("k.c", &NUMBERS.replace("ten", "TEN"))]);
    upstream.run_dated(&["tag", "-a", "-m", "release", "v1", &to]);
    let tag = upstream.git(&["rev-parse", "v1"]).trim().to_owned();
    assert_ne!(tag, to);
    (upstream, base, to, tag)
}

#[test]
fn a_bump_to_the_id_of_a_tag_goes_to_the_commit_that_it_names() {
    let (upstream, base, to, tag) = tagged();
    let project = Project::on(&upstream, &base, &files("x", &base, &["k.c"]));
    project.write("overlays/up/k.c", NUMBERS.replace("one", "ONE"));
    for args in [&["bump", "--dry-run", "--to", &tag][..], &["bump", "--to", &tag]] {
        project.run(args).expect(0);
    }
    let manifest = project.read("manifests/up.toml");
    assert!(manifest.contains(&format!("pin = \"{to}\"")) && !manifest.contains(&tag), "{manifest}");
}

#[test]
fn a_bump_to_the_id_of_a_tag_of_a_url_goes_to_the_commit_that_it_names() {
    let (upstream, base, to, tag) = tagged();
    let project = Project::on(&upstream, &base, "");
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", manifest.replace("url = \"", "url = \"file://"));
    project.run(&["status"]).expect(0);
    project.run(&["bump", "--to", &tag]).expect(0);
    assert!(project.read("manifests/up.toml").contains(&format!("pin = \"{to}\"")));
}

#[test]
fn the_id_of_a_tag_in_a_manifest_is_named_with_its_line_and_its_commit() {
    let (upstream, base, to, tag) = tagged();
    for (pin, base, line) in [(&base, &tag, "up.toml:10:8"), (&tag, &base, "up.toml:6:7")] {
        for url in ["url = \"", "url = \"file://"] {
            let project = Project::on(&upstream, pin, &files("x", base, &["k.c"]));
            project.write("overlays/up/k.c", NUMBERS.replace("one", "ONE"));
            let manifest = project.read("manifests/up.toml");
            project.write("manifests/up.toml", manifest.replace("url = \"", url));
            let run = project.run(&["status"]).expect(2);
            for expected in [line, "is a tag and not a commit", &format!("the tag names: {to}")] {
                assert!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
            }
        }
    }
}
