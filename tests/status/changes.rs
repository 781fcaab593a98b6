//! A patch, a commit and a path that goes away are measured as a file with the same content is.

use crate::support::{Project, Upstream, git_bytes};

const TEXT: &str = "int a;\nint b;\nint c;\nint d;\nint e;\n";

/// The state of an overlay that is written so, and why.
fn look(upstream: &Upstream, pin: &str, base: &str, content: &str, patch: &[u8]) -> (String, String) {
    let more = format!("branch = \"main\"\n[[overlay]]\nname = \"ours\"\nbase = \"{base}\"\n{content}\n");
    let project = Project::on(upstream, pin, &more);
    project.write("overlays/up/ours.patch", patch);
    let document = project.run(&["status", "--json", "--no-cache"]).expect(0).json();
    let overlay = &document["overlays"][0];
    let state = overlay["state"].as_str().unwrap().to_owned();
    (state, overlay["paths"][0]["why"].as_str().unwrap_or_default().to_owned())
}

fn state(upstream: &Upstream, pin: &str, base: &str, content: &str, patch: &[u8]) -> String {
    look(upstream, pin, base, content, patch).0
}

fn diff(upstream: &Upstream, args: &[&str]) -> Vec<u8> {
    git_bytes(upstream.path(), &[&["diff", "--binary", "--full-index"], args].concat())
}

const PATCH: &str = "patch = \"ours.patch\"";

#[test]
fn a_new_file_of_a_patch_that_upstream_took_is_redundant() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("z", "z\n")]);
    let took = upstream.commit("take it", &[("new.c", TEXT)]);
    let patch = diff(&upstream, &[&base, &took]);
    let noted = upstream.commit("a comment", &[("new.c", &format!("// theirs\n{TEXT}"))]);
    let other = upstream.commit("more", &[("new.c", &format!("{TEXT}int more;\n"))]);
    for (pin, expected) in [(&base, "new"), (&took, "redundant"), (&noted, "redundant"), (&other, "collides")]
    {
        assert_eq!(state(&upstream, pin, &base, PATCH, &patch), expected);
    }
    let (_, why) = look(&upstream, &took, &base, PATCH, &patch);
    assert_eq!(why, "upstream has what it makes of the base, so it applies no more");
}

#[test]
fn a_patch_that_deletes_what_upstream_deleted_is_redundant() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", TEXT), ("z", "z\n")]);
    let removed = upstream.remove("remove", &["k.c"]);
    let patch = diff(&upstream, &[&base, &removed]);
    assert_eq!(state(&upstream, &removed, &base, PATCH, &patch), "redundant");
    // One that changes what upstream deleted has lost its file.
    let change = String::from("--- a/k.c\n+++ b/k.c\n@@ -1,2 +1,2 @@\n-int a;\n+int A;\n int b;\n");
    assert_eq!(state(&upstream, &removed, &base, PATCH, change.as_bytes()), "gone");
}

#[test]
fn a_patch_that_moves_a_file_is_redundant_only_where_upstream_has_it_at_the_same_place() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", TEXT), ("z", "z\n")]);
    upstream.git(&["mv", "k.c", "ours.c"]);
    let ours = upstream.commit("ours", &[("ours.c", &TEXT.replace("int a", "int A"))]);
    let patch = diff(&upstream, &["-M", &base, &ours]);
    assert!(String::from_utf8_lossy(&patch).contains("rename to ours.c"));
    assert_eq!(state(&upstream, &ours, &base, PATCH, &patch), "redundant");
    upstream.git(&["reset", "-q", "--hard", &base]);
    upstream.git(&["mv", "k.c", "theirs.c"]);
    let theirs = upstream.commit_all("theirs");
    assert_eq!(state(&upstream, &theirs, &base, PATCH, &patch), "renamed");
}

#[test]
fn what_upstream_does_after_the_pin_is_a_backport_however_it_is_written() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", TEXT), ("old.c", TEXT)]);
    let fix = upstream.commit("fix", &[("k.c", &TEXT.replace("int c", "long c"))]);
    let patch = diff(&upstream, &[&base, &fix]);
    let noted = diff(&upstream, &[&base, &fix]);
    let noted = String::from_utf8(noted).unwrap().replace("+long c;", "+long c; // ours");
    let removed = upstream.remove("remove", &["old.c"]);
    let pick = format!("from = {{ commits = [\"{fix}\"] }}");
    let held = format!("from = {{ commit = \"{removed}\", paths = [\"old.c\"] }}");
    for (content, patch) in [
        (PATCH, &patch[..]),
        (PATCH, noted.as_bytes()),
        (&pick, b""),
        ("delete = [\"old.c\"]", b""),
        (&held, b""),
    ] {
        assert_eq!(state(&upstream, &base, &base, content, patch), "backport", "{content}");
    }
    let (_, why) = look(&upstream, &base, &base, "delete = [\"old.c\"]", b"");
    assert_eq!(why, "upstream has no such path after the pin");
    // Something that upstream never had is none.
    let other = String::from_utf8(patch).unwrap().replace("long c", "char c");
    assert_eq!(state(&upstream, &base, &base, PATCH, other.as_bytes()), "fresh");
    assert_eq!(state(&upstream, &base, &base, "delete = [\"k.c\"]", b""), "fresh");
}

#[test]
fn a_path_that_only_a_release_has_is_none_of_the_branch_s() {
    let mut upstream = Upstream::new();
    upstream.commit("start", &[("z", "z\n")]);
    upstream.git(&["checkout", "-q", "-b", "release"]);
    let pin = upstream.commit("for the release", &[("k.c", TEXT)]);
    upstream.git(&["checkout", "-q", "main"]);
    let delete = "delete = [\"k.c\"]";
    // The branch stands where the release began: it has nothing newer.
    assert_eq!(state(&upstream, &pin, &pin, delete, b""), "fresh");
    upstream.commit("go on", &[("z", "more\n")]);
    assert_eq!(state(&upstream, &pin, &pin, delete, b""), "backport");
}

#[test]
fn a_short_clone_is_enough_for_what_lies_after_the_pin() {
    let mut upstream = Upstream::new();
    upstream.commit("long ago", &[("k.c", "int old;\n")]);
    upstream.commit("start", &[("k.c", TEXT)]);
    let pin = upstream.commit("the pin", &[("z", "z\n")]);
    let fix = upstream.commit("fix", &[("k.c", &TEXT.replace("int c", "long c"))]);
    let patch = diff(&upstream, &[&pin, &fix]);
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}", upstream.path().display());
    crate::support::git(folder.path(), &["clone", "-q", "--depth=2", &url, "clone"]);
    let more = format!(
        "branch = \"main\"\n[[overlay]]\nname = \"a\"\nbase = \"{pin}\"\npatch = \"a.patch\"\n\
         [[overlay]]\nname = \"b\"\nbase = \"{pin}\"\npatch = \"b.patch\"\n\
         [[overlay]]\nname = \"c\"\nbase = \"{pin}\"\nfiles = [\"k.c\"]\n"
    );
    let mut project = Project::on(&upstream, &pin, &more);
    project.write("overlays/up/a.patch", &patch);
    project.write("overlays/up/b.patch", String::from_utf8(patch).unwrap().replace("long c", "char c"));
    project.write("overlays/up/k.c", TEXT.replace("int c", "char c"));
    project.set("OVERLAID_UPSTREAM_UP", folder.path().join("clone"));
    let document = project.run(&["status", "--json", "--no-cache", "--offline"]).expect(0).json();
    let states: Vec<&str> = document["overlays"]
        .as_array()
        .unwrap()
        .iter()
        .map(|overlay| overlay["state"].as_str().unwrap())
        .collect();
    // Whether the file is an older one nobody can tell there.
    assert_eq!(states, ["backport", "fresh", "unknown"]);
}
