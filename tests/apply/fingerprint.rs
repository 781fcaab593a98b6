//! The fingerprint: the same wherever the same is built, another one whenever something else is.

use std::os::unix::fs::PermissionsExt;

use super::{project, upstream};
use crate::support::{Project, git};

fn fingerprint(project: &Project, more: &[&str]) -> String {
    let run = project.run(&[more, &["status", "--fingerprint"]].concat()).expect(0);
    run.stdout.trim().to_owned()
}

#[test]
fn it_is_the_same_in_every_place_and_order_and_with_other_words() {
    let (upstream, pin) = upstream();
    let first = project(&upstream, &pin);
    let there = fingerprint(&first, &[]);
    assert_eq!(there.len(), 64, "{there}");
    let second = project(&upstream, &pin);
    assert_eq!(fingerprint(&second, &[]), there);
    let url = upstream.path().display();
    second.write(
        "manifests/up.toml",
        format!(
            "# another order\nversion = 1\n[[overlay]]\ndelete = [\"src/old.cu\"]\nreason = \"why\"\nname = \"no-old\"\n\
             [[overlay]]\nfiles = [\"src/new.cu\", \"src/*.cu\"] # a comment\nname = \"kernel-fix\"\n\
             issue = \"https://example.org/1\"\n[upstream]\npin = \"{pin}\"\nurl = \"{url}\"\nname = \"up\"\n"
        ),
    );
    assert_eq!(fingerprint(&second, &[]), there);
    // It is what the tree says of itself, too.
    first.run(&["apply"]).expect(0);
    let attestation = std::fs::read(first.tree().join(".overlaid/attestation.json")).unwrap();
    let attestation: serde_json::Value = serde_json::from_slice(&attestation).unwrap();
    assert_eq!(attestation["fingerprint"], there.as_str());
}

#[test]
fn a_checkout_that_converts_line_endings_changes_nothing() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    project.write("overlays/up/src/new.cu", "int crlf;\r\nint lf;\n");
    project.write(".gitattributes", "overlays/** -text\n");
    let there = fingerprint(&project, &[]);
    git(project.path(), &["init", "-q"]);
    git(project.path(), &["add", "-A"]);
    git(project.path(), &["commit", "-q", "-m", "ours"]);
    for settings in [["core.autocrlf=true", "core.eol=crlf"], ["core.autocrlf=input", "core.eol=lf"]] {
        let clone = Project::new();
        let at = clone.path().join("clone");
        let from = project.path().to_str().unwrap();
        git(clone.path(), &["-c", settings[0], "-c", settings[1], "clone", "-q", from, at.to_str().unwrap()]);
        let run = clone.run(&["-C", at.to_str().unwrap(), "status", "--fingerprint"]).expect(0);
        assert_eq!(run.stdout.trim(), there, "{settings:?}");
    }
}

#[test]
fn everything_that_changes_the_tree_changes_it() {
    let (mut upstream, pin) = upstream();
    let next = upstream.commit("next", &[("unrelated", "x")]);
    let project = project(&upstream, &pin);
    let mut seen = std::collections::BTreeSet::from([fingerprint(&project, &[])]);
    let mut is_new = |what: &str, more: &[&str]| assert!(seen.insert(fingerprint(&project, more)), "{what}");
    is_new("a feature", &["--features", "cuda"]);
    let kernel = project.path().join("overlays/up/src/kernel.cu");
    std::fs::set_permissions(&kernel, std::fs::Permissions::from_mode(0o755)).unwrap();
    is_new("a mode", &[]);
    std::fs::set_permissions(&kernel, std::fs::Permissions::from_mode(0o644)).unwrap();
    project.write("overlays/up/src/kernel.cu", "int ours;\r\n");
    is_new("a line ending", &[]);
    std::fs::remove_file(&kernel).unwrap();
    std::os::unix::fs::symlink("new.cu", &kernel).unwrap();
    is_new("a link", &[]);
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", manifest.replace("delete = [\"src/old.cu\"]", "delete = [\"empty\"]"));
    is_new("what is deleted", &[]);
    project.write(
        "manifests/up.toml",
        manifest.replace(&format!("pin = \"{pin}\""), &format!("pin = \"{next}\"")),
    );
    is_new("the pin", &[]);
}
