//! That nothing changed is told without reading anything, and only when it is so.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{files, overlays, project, stamps, upstream};
use crate::support::{Project, Upstream, manifest, write};

/// What a run that looks at nothing more than `lstat` says: even the upstream may be gone.
fn is_told_at_once(project: &Project, upstream: &Upstream) -> bool {
    let (git, away) = (upstream.path().join(".git"), upstream.path().join("away"));
    std::fs::rename(&git, &away).unwrap();
    let run = project.run(&["apply"]);
    std::fs::rename(&away, &git).unwrap();
    assert!(run.code != 0 || run.stdout.contains("nothing to do"), "{run:?}");
    run.code == 0
}

/// Runs until a note is there: what was changed a moment ago is too young for one.
fn settle(project: &Project, upstream: &Upstream) {
    for _ in 0..50 {
        std::thread::sleep(std::time::Duration::from_millis(25));
        project.run(&["apply"]).expect(0);
        if is_told_at_once(project, upstream) {
            return;
        }
    }
    panic!("no note is ever written");
}

/// Other bytes of the same length with the same time of change.
fn edit_unseen(file: &Path, text: &str) {
    let meta = std::fs::metadata(file).unwrap();
    assert_eq!(meta.len(), text.len() as u64);
    std::fs::write(file, text).unwrap();
    std::fs::File::options().write(true).open(file).unwrap().set_modified(meta.modified().unwrap()).unwrap();
}

#[test]
fn every_change_of_what_a_run_reads_is_seen() {
    type Change = (&'static str, fn(&Project, &Upstream, &str));
    let changes: [Change; 9] = [
        ("an overlay file", |project, _, _| {
            edit_unseen(&project.path().join("overlays/up/src/kernel.cu"), "int Ours;\n")
        }),
        ("a file's mode", |project, _, _| {
            let file = project.path().join("overlays/up/src/kernel.cu");
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }),
        ("a file that comes", |project, _, _| project.write("overlays/up/src/deep/x.cu", "int x;\n")),
        ("a file that goes", |project, _, _| {
            std::fs::remove_file(project.path().join("overlays/up/src/deep/y.cu")).unwrap();
        }),
        ("the manifest", |project, upstream, pin| {
            project.write("manifests/up.toml", manifest(upstream, pin, ""))
        }),
        ("an upstream file that goes", |project, _, _| {
            std::fs::remove_file(project.tree().join("crlf.txt")).unwrap();
        }),
        ("an overlaid file that goes", |project, _, _| {
            std::fs::remove_file(project.tree().join("src/kernel.cu")).unwrap();
        }),
        ("an overlaid file's mode", |project, _, _| {
            let file = project.tree().join("src/kernel.cu");
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }),
        ("the state", |project, _, _| write(&project.tree().join(".overlaid/state"), "damaged")),
    ];
    let (upstream, pin) = upstream();
    for (what, change) in changes {
        let more = overlays(&pin).replace("\"src/new.cu\"]", "\"src/new.cu\", \"src/deep/*.cu\"]");
        let project = Project::on(&upstream, &pin, &more);
        for (path, text) in [
            ("kernel.cu", "int ours;\n"),
            ("new.cu", "int new;\n"),
            ("deep/y.cu", "y\n"),
            ("deep/z.cu", "z\n"),
        ] {
            project.write(&format!("overlays/up/src/{path}"), text);
        }
        settle(&project, &upstream);
        change(&project, &upstream, &pin);
        assert!(!is_told_at_once(&project, &upstream), "{what}");
        let run = project.run(&["apply"]).expect(0);
        assert!(!run.stdout.contains("nothing to do") || what == "the state", "{what}: {}", run.stdout);
        if what != "the manifest" {
            project.run(&["verify"]).expect(0);
        }
        settle(&project, &upstream);
    }
}

#[test]
fn an_edit_that_keeps_size_and_time_stops_it() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    settle(&project, &upstream);
    edit_unseen(&project.tree().join("src/kernel.cu"), "int mine;\n");
    project.run(&["apply"]).expect(3);
}

#[test]
fn a_second_manifest_other_features_and_another_place_are_no_repetition() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    settle(&project, &upstream);
    project.run(&["--features", "cuda", "apply"]).expect(0);
    project.write("manifests/other.toml", "version = 1\n");
    project.run(&["apply"]).expect(2);
    std::fs::remove_file(project.path().join("manifests/other.toml")).unwrap();
    settle(&project, &upstream);
    // The same repository elsewhere: other inodes, another state.
    let moved = tempfile::tempdir().unwrap();
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .arg(project.path())
        .arg(moved.path().join("copy"))
        .status();
    assert!(copied.unwrap().success());
    write(&moved.path().join("copy/.overlaid/up/src/kernel.cu"), "int mine;\n");
    project.run(&["-C", moved.path().join("copy").to_str().unwrap(), "apply"]).expect(3);
}

#[test]
fn nothing_is_written_and_it_answers_as_ever() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    let slow = {
        project.run(&["apply"]).expect(0);
        project.run(&["--json", "apply"]).expect(0).json()
    };
    settle(&project, &upstream);
    let before = (stamps(&project.tree()), files(&project.tree()));
    assert_eq!(project.run(&["--json", "apply"]).expect(0).json(), slow);
    project.run(&["apply", "--dry-run"]).expect(0);
    assert_eq!((stamps(&project.tree()), files(&project.tree())), before);
}

#[test]
fn a_note_that_is_damaged_is_no_note() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    settle(&project, &upstream);
    let notes = project.path().join(".overlaid/.notes");
    let note = std::fs::read_dir(&notes).unwrap().map(|note| note.unwrap().path());
    let note = note.into_iter().find(|note| !note.ends_with(".gitignore")).unwrap();
    let bytes = std::fs::read(&note).unwrap();
    for at in (0..bytes.len()).step_by(37) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 4;
        std::fs::write(&note, damaged).unwrap();
        assert!(!is_told_at_once(&project, &upstream), "{at}");
    }
    std::fs::write(&note, bytes).unwrap();
    assert!(is_told_at_once(&project, &upstream));
}
