//! Several runs that write files of one repository at the same time.

use std::process::Stdio;
use std::time::Duration;

use overlaid::io::own_edits::Lock;

use crate::support::{Project, Upstream};

fn overlay(name: &str, base: &str, path: &str) -> String {
    format!("\n[[overlay]]\nname = \"{name}\"\nreason = \"r\"\nbase = \"{base}\"\nfiles = [\"{path}\"]\n")
}

#[test]
fn two_bumps_at_once_leave_what_one_of_them_leaves() {
    let mut upstream = Upstream::new();
    let code = |number: usize| format!("int f{number};\nint a;\nint b;\nint c;\nint d;\n");
    let all: Vec<(String, String)> = (0..40).map(|number| (format!("f{number}.c"), code(number))).collect();
    let commit = |upstream: &mut Upstream, subject: &str, end: &str| {
        let texts: Vec<String> = all.iter().map(|(_, text)| format!("{text}{end}")).collect();
        let files: Vec<(&str, &str)> =
            all.iter().zip(&texts).map(|((path, _), text)| (path.as_str(), text.as_str())).collect();
        upstream.commit(subject, &files)
    };
    let base = commit(&mut upstream, "start", "");
    let to = commit(&mut upstream, "more", "int theirs;\n");
    let overlays: String = (0..40).map(|n| overlay(&format!("o{n}"), &base, &format!("f{n}.c"))).collect();
    for _ in 0..2 {
        let project = Project::on(&upstream, &base, &overlays);
        for (path, text) in &all {
            project.write(&format!("overlays/up/{path}"), text.replace("int a", "int ours"));
        }
        let start = || {
            let mut command = project.command(&["bump", "--to", &to]);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        for run in [start(), start()] {
            let output = run.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        for (path, text) in &all {
            let expected = format!("{}int theirs;\n", text.replace("int a", "int ours"));
            assert_eq!(project.read(&format!("overlays/up/{path}")), expected);
        }
        assert_eq!(project.read("manifests/up.toml").matches(&to).count(), 41);
    }
}

#[test]
fn what_ends_well_is_written_whoever_else_writes() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("f.c", "int a;\nint b;\nint c;\nint d;\n"), ("g.c", "int g;\n")]);
    let pin = upstream.commit("more", &[("f.c", "int A;\nint b;\nint c;\nint d;\n")]);
    for _ in 0..4 {
        let overlays = overlay("x", &base, "f.c") + &overlay("y", &base, "g.c");
        let project = Project::on(&upstream, &pin, &overlays);
        project.write("overlays/up/f.c", "int a;\nint b;\nint c;\nint ours;\n");
        project.write("overlays/up/g.c", "int ours;\n");
        let start = |args: &[&str]| {
            project.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let mut accepts = start(&["accept", "x", "--reason", "meant"]);
        let mut renames = start(&["rename", "y", "yy"]);
        assert!(accepts.wait().unwrap().success() && renames.wait().unwrap().success());
        let manifest = project.read("manifests/up.toml");
        assert!(manifest.contains("accepted = ") && manifest.contains("name = \"yy\""), "{manifest}");
    }
}

#[test]
fn whoever_writes_waits_for_the_one_who_does_and_says_so() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("f.c", "int a;\nint b;\nint c;\nint d;\n")]);
    let project = Project::on(&upstream, &base, &overlay("x", &base, "f.c"));
    project.write("overlays/up/f.c", "int ours;\nint b;\nint c;\nint d;\n");
    project.write("more/g.c", "int g;\n");
    let lock = Lock::take(project.path(), &mut || panic!("nobody writes")).unwrap();
    let writers: [&[&str]; 12] = [
        &["bump", "--to", "main"],
        &["bump", "--continue"],
        &["bump", "--abort"],
        &["accept", "x", "--remove"],
        &["rename", "x", "z"],
        &["refresh", "x"],
        &["refresh", "--undo"],
        &["import", "more"],
        &["drop", "x", "--force", "--reason", "r"],
        &["split", "x", "--hunks", "1", "--new", "y", "--reason", "r"],
        &["base", "--write"],
        &["lock"],
    ];
    let start = |args: &&[&str]| {
        let mut command = project.command(args);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut runs: Vec<_> = writers.iter().map(start).collect();
    runs.push(start(&(&["init", "--url", "https://example.org/y.git", "--pin", &base, "--offline"][..])));
    // Who only looks waits for nobody.
    project.run(&["status"]).expect(0);
    project.run(&["bump", "--to", "main", "--dry-run"]).expect(0);
    std::thread::sleep(Duration::from_secs(3));
    for run in &mut runs {
        assert_eq!(run.try_wait().unwrap(), None);
    }
    assert!(!project.path().join(".overlaid/edits/journal").exists());
    drop(lock);
    for run in runs {
        let output = run.wait_with_output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains("waiting: another overlaid writes files of this repository"), "{stderr}");
    }
}
