//! `accept`: a state that is meant, and when that lapses.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Project, Upstream};

const ONE: &str = "int a;\nint b;\nint c;\nint d;\nint e;\n";

/// An overlay that takes upstream back.
fn rollback() -> (Upstream, Project, String) {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", ONE)]);
    let pin = upstream.commit("mend", &[("k.c", &ONE.replace("int e", "long e"))]);
    let more =
        format!("\n[[overlay]]\nname = \"back\"   # on purpose\nbase = \"{base}\"\nfiles = [\"k.c\"]\n");
    let project = Project::on(&upstream, &pin, &more);
    project.write("overlays/up/k.c", ONE);
    (upstream, project, pin)
}

fn findings(project: &Project) -> Vec<String> {
    let document = project.run(&["--json", "verify"]).json();
    let findings = document["findings"].as_array().unwrap().iter();
    let words =
        findings.map(|f| format!("{} {}", f["severity"].as_str().unwrap(), f["code"].as_str().unwrap()));
    words.filter(|word| !word.contains("tree-absent") && !word.contains("unchecked")).collect()
}

#[test]
fn an_accepted_state_is_a_note_until_something_changes() {
    let (mut upstream, project, pin) = rollback();
    let manifest = project.read("manifests/up.toml");
    assert_eq!(findings(&project), ["error rollback"]);
    project.run(&["accept", "back", "--reason", "the device \"needs\" it"]).expect(0);
    let accepted = project.read("manifests/up.toml");
    assert!(accepted.starts_with(&manifest), "comments and order stay: {accepted}");
    assert_eq!(findings(&project), ["note rollback"]);
    let run = project.run(&["verify"]).expect(0);
    assert!(run.stdout.contains("accepted: the device \"needs\" it"), "{}", run.stdout);
    let run = project.run(&["status"]).expect(0);
    assert!(run.stdout.contains("accepted: the device \"needs\" it"), "{}", run.stdout);
    let document = project.run(&["--json", "status"]).expect(0).json();
    assert_eq!(document["overlays"][0]["state"], "rollback");
    assert_eq!(document["overlays"][0]["accepted"]["holds"], true);
    // Another content of ours.
    project.write("overlays/up/k.c", format!("{ONE}// more\n"));
    assert_eq!(findings(&project), ["error rollback", "warning accepted-lapsed"]);
    project.write("overlays/up/k.c", ONE);
    assert_eq!(findings(&project), ["note rollback"]);
    // Another mode.
    let file = project.path().join("overlays/up/k.c");
    let set_mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    set_mode(0o755);
    assert!(findings(&project).contains(&"warning accepted-lapsed".to_owned()));
    let document = project.run(&["--json", "status"]).expect(0).json();
    assert_eq!(document["overlays"][0]["accepted"]["holds"], false);
    set_mode(0o644);
    assert_eq!(findings(&project), ["note rollback"]);
    // Another pin, with the same contents.
    let next = upstream.commit("elsewhere", &[("other.c", "x\n")]);
    project.write("manifests/up.toml", accepted.replacen(&pin, &next, 1));
    assert_eq!(findings(&project), ["error rollback", "warning accepted-lapsed"]);
    let run = project.run(&["status"]).expect(0);
    assert!(run.stdout.contains("accepted no more: it was accepted at the pin"), "{}", run.stdout);
    project.write("manifests/up.toml", &accepted);
    project.run(&["accept", "back", "--remove"]).expect(0);
    assert_eq!(project.read("manifests/up.toml"), manifest);
}

#[test]
fn what_is_well_or_does_not_fit_cannot_be_accepted() {
    let (upstream, project, pin) = rollback();
    project.write(
        "manifests/up.toml",
        crate::support::manifest(
            &upstream,
            &pin,
            &format!(
                "[[overlay]]\nname = \"fresh\"\nbase = \"{pin}\"\nfiles = [\"k.c\"]\n\
                 [[overlay]]\nname = \"misfit\"\nbase = \"{pin}\"\npatch = \"p.patch\"\n"
            ),
        ),
    );
    project.write("overlays/up/k.c", ONE.replace("int a", "char a").replace("int e", "long e"));
    project.write("overlays/up/p.patch", "--- a/k.c\n+++ b/k.c\n@@ -1,2 +1,2 @@\n-no\n+yes\n such\n");
    let run = project.run(&["accept", "fresh", "--reason", "x"]).expect(2);
    assert!(run.stderr.contains("there is nothing to accept"), "{}", run.stderr);
    let run = project.run(&["accept", "misfit", "--reason", "x"]).expect(2);
    assert!(run.stderr.contains("does not apply at the pin"), "{}", run.stderr);
    project.run(&["accept", "nobody", "--reason", "x"]).expect(2);
    project.run(&["accept", "fresh"]).expect(2);
    project.run(&["accept", "fresh", "--reason", " "]).expect(2);
}
