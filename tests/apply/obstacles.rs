//! What a file system can put in the way: each time the tree stays as it was, and the message names the path.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output};

use super::{files, project, stamps, upstream};
use crate::support::crash::{can_trace, run_without_modes};
use crate::support::{Project, command, write};

fn expect_4(project: &Project, args: &[&str], names: &str) {
    let before = files(&project.tree());
    let run = project.run(args).expect(4);
    assert!(run.stderr.contains(names), "{names}: {}", run.stderr);
    assert_eq!(files(&project.tree()), before, "{names}");
    for leftover in ["journal", "journal.undo", "stage", "undo"] {
        assert!(!project.tree().join(".overlaid").join(leftover).exists(), "{names}: {leftover}");
    }
}

#[test]
fn pipes_sockets_folders_and_links_where_files_should_be() {
    type Obstacle = (&'static str, &'static str, fn(&Path));
    let obstacles: [Obstacle; 5] = [
        ("src/new.cu", "src/new.cu: a named pipe is in its place", |at| {
            assert!(Command::new("mkfifo").arg(at).status().unwrap().success());
        }),
        ("src/new.cu", "src/new.cu: a socket is in its place", |at| {
            drop(std::os::unix::net::UnixListener::bind(at).unwrap());
        }),
        ("src/new.cu", "src/new.cu: a folder with other files is in its place", |at| {
            write(&at.join("mine"), "mine")
        }),
        ("src", "src/kernel.cu: `src` is a symbolic link", |at| {
            std::fs::rename(at, at.with_file_name("elsewhere")).unwrap();
            std::os::unix::fs::symlink("elsewhere", at).unwrap();
        }),
        ("src", "src/kernel.cu: `src` is no folder", |at| {
            std::fs::remove_dir_all(at).unwrap();
            write(at, "a file");
        }),
    ];
    let (upstream, pin) = upstream();
    for (at, names, obstruct) in obstacles {
        let project = project(&upstream, &pin);
        project.run(&["restore"]).expect(0);
        obstruct(&project.tree().join(at));
        expect_4(&project, &["apply"], names);
    }
    // Beside what is written, they are nobody's business.
    let project = project(&upstream, &pin);
    project.run(&["restore"]).expect(0);
    assert!(Command::new("mkfifo").arg(project.tree().join("pipe")).status().unwrap().success());
    project.run(&["apply"]).expect(0);
}

#[test]
fn a_program_that_runs_is_replaced_and_goes_on() {
    let (mut upstream, _) = upstream();
    let sleep = std::fs::read("/bin/sleep").unwrap();
    std::fs::write(upstream.path().join("bin/sleep"), &sleep).unwrap();
    std::fs::set_permissions(upstream.path().join("bin/sleep"), std::fs::Permissions::from_mode(0o755))
        .unwrap();
    let pin = upstream.commit_all("a program");
    let project = Project::on(&upstream, &pin, "");
    project.run(&["apply"]).expect(0);
    let program = project.tree().join("bin/sleep");
    let mut running = command(&program).arg("100").spawn().unwrap();
    let more = "[[overlay]]\nname = \"faster\"\nfiles = [\"bin/sleep\"]\n";
    project.write("manifests/up.toml", crate::support::manifest(&upstream, &pin, more));
    project.write("overlays/up/bin/sleep", "#!/bin/sh\n");
    project.run(&["apply"]).expect(0);
    assert_eq!(std::fs::read(&program).unwrap(), b"#!/bin/sh\n");
    assert!(running.try_wait().unwrap().is_none());
    running.kill().unwrap();
    running.wait().unwrap();
    project.run(&["restore"]).expect(0);
    assert_eq!(std::fs::read(&program).unwrap(), sleep);
}

/// The program as somebody who is not root; `None` if that cannot be done here.
fn as_nobody(project: &Project, args: &[&str]) -> Option<Output> {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let mut command = if is_root {
        let mut command = command("setpriv");
        command
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(env!("CARGO_BIN_EXE_overlaid"));
        command
    } else {
        command(env!("CARGO_BIN_EXE_overlaid"))
    };
    command.current_dir(project.path()).env("HOME", project.path().join("home")).args(args);
    let output = command.output().ok()?;
    // Where the program lies may not be for everybody.
    (output.status.code() != Some(126) && output.status.code() != Some(127)).then_some(output)
}

fn give_to_nobody(dir: &Path) {
    let _ = Command::new("chown").args(["-R", "65534:65534"]).arg(dir).status();
}

#[test]
fn read_only_files_are_replaced_and_read_only_folders_are_named() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    std::fs::set_permissions(project.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(upstream.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    project.run(&["restore"]).expect(0);
    if is_root {
        give_to_nobody(project.path());
        give_to_nobody(upstream.path());
    }
    let set = |at: &str, mode: u32| {
        std::fs::set_permissions(project.tree().join(at), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let before = files(&project.tree());
    set("src", 0o555);
    let Some(output) = as_nobody(&project, &["apply"]) else {
        eprintln!("skipped: the program cannot be run as somebody else here");
        return;
    };
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("up/src/") && stderr.contains("Permission denied"), "{stderr}");
    assert_eq!(files(&project.tree()), before);
    set("src", 0o755);
    // A file that cannot be read cannot be told to be upstream's.
    std::fs::write(project.tree().join("src/kernel.cu"), "int k;\n").unwrap();
    set("src/kernel.cu", 0o000);
    let output = as_nobody(&project, &["apply"]).unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{stderr}");
    assert!(stderr.contains("src/kernel.cu"), "{stderr}");
    set("src/kernel.cu", 0o444);
    let output = as_nobody(&project, &["apply"]).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read(project.tree().join("src/kernel.cu")).unwrap(), b"int ours;\n");
}

#[test]
fn a_full_disk_leaves_the_tree_as_it_was() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    project.run(&["restore"]).expect(0);
    // A file system of a megabyte, in a mount namespace of its own.
    let script = "set -e; mount -t tmpfs -o size=1m none third; cp -a .overlaid/up third/up; rm -rf third/up/.overlaid
        list() { (cd third/up && find . -path ./.overlaid -prune -o -type f -print | sort | xargs -d '\\n' sha256sum); }
        list >before; code=0; \"$0\" apply --tree third/up 2>said || code=$?; list >after
        ls third/up/.overlaid >left || true
        rm overlays/up/src/new.cu; sed -i 's/, .src.new.cu.//' manifests/up.toml
        \"$0\" apply --tree third/up; cp third/up/src/kernel.cu written; exit $code";
    project.write("overlays/up/src/new.cu", vec![b'x'; 3 << 20]);
    std::fs::create_dir(project.path().join("third")).unwrap();
    let mut unshare = command("unshare");
    unshare.args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_overlaid")]);
    let output = unshare.current_dir(project.path()).env("HOME", project.path().join("home")).output();
    let Some(output) = output.ok().filter(|output| output.status.code() == Some(4)) else {
        let can_mount =
            command("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success());
        assert!(!can_mount, "the run did not end 4");
        eprintln!("skipped: no file system can be mounted here");
        return;
    };
    let said = project.read("said");
    assert!(said.contains("src/new.cu") && said.contains("No space left on device"), "{said} {output:?}");
    assert_eq!(project.read("before"), project.read("after"));
    for leftover in ["journal", "stage", "undo"] {
        assert!(!project.read("left").contains(leftover));
    }
    assert_eq!(project.read("written"), "int ours;\n");
}

#[test]
fn on_a_file_system_without_execute_bits_a_mode_is_no_difference_and_content_is_one() {
    if !can_trace() {
        return;
    }
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    project.run(&["apply"]).expect(0);
    let without_modes = |args: &[&str]| {
        let output = run_without_modes(project.path(), args);
        let said = [output.stdout.as_slice(), &output.stderr].map(String::from_utf8_lossy).concat();
        (output.status.code(), said)
    };
    // Everything is executable there: a file of the upstream's, one that an overlay replaces, one that it adds.
    for path in ["src/kernel.cu", "src/new.cu", "crlf.txt", ".overlaid/lock"] {
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(project.tree().join(path), executable).unwrap();
    }
    let before = stamps(&project.tree().join("src"));
    let (code, said) = without_modes(&["apply"]);
    assert!(code == Some(0) && !said.contains("chmod"), "{said}");
    let (_, said) = without_modes(&["verify"]);
    assert!(!said.contains("tree-mode"), "{said}");
    assert_eq!(stamps(&project.tree().join("src")), before);
    std::fs::write(project.tree().join("src/new.cu"), "by hand\n").unwrap();
    let (code, said) = without_modes(&["apply"]);
    assert!(code == Some(3) && said.contains("src/new.cu: local edit"), "{said}");
    // Where modes are kept, they count.
    std::fs::write(project.tree().join("src/new.cu"), "int new;\n").unwrap();
    let run = project.run(&["verify"]);
    assert_eq!((run.stdout + &run.stderr).matches("tree-mode").count(), 3);
    let run = project.run(&["apply"]).expect(0);
    assert_eq!(run.stdout.matches("chmod").count(), 2, "{}", run.stdout);
}

#[test]
fn paths_as_long_as_they_can_be_and_a_thousand_levels() {
    let (mut upstream, _) = upstream();
    // Made through git: the shell and the standard library stop at 4096 bytes from the root.
    let deep = vec!["d"; 1000].join("/") + "/x.cu";
    let long = [vec!["n".repeat(250); 14].join("/"), "y.cu".to_owned()].join("/");
    let id = upstream.git(&["hash-object", "-w", "empty"]);
    for path in [&deep, &long] {
        upstream.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{id},{path}")]);
    }
    upstream.run_dated(&["commit", "-q", "-m", "deep"]);
    let pin = upstream.git(&["rev-parse", "HEAD"]);
    let project =
        Project::on(&upstream, &pin, &format!("[[overlay]]\nname = \"gone\"\ndelete = [\"{deep}\"]\n"));
    project.run(&["restore"]).expect(0);
    project.run(&["apply"]).expect(0);
    project.run(&["verify"]);
    let before = stamps(&project.tree().join("src"));
    project.run(&["restore"]).expect(0);
    project.run(&["apply"]).expect(0);
    assert_eq!(stamps(&project.tree().join("src")), before);
    // A run that was killed leaves as many levels behind.
    let aside = project.path().join(".overlaid/.up.overlaid-new");
    std::fs::rename(project.tree(), &aside).unwrap();
    std::fs::remove_file(aside.join(".overlaid/state")).unwrap();
    let run = project.run(&["apply"]).expect(0);
    assert!(run.stderr.contains("left over is removed"), "{}", run.stderr);
    assert!(!aside.exists());
    project.run(&["apply"]).expect(0);
}

#[test]
fn content_that_changes_is_newer_than_what_a_build_wrote_a_moment_before() {
    let (upstream, pin) = upstream();
    let project = project(&upstream, &pin);
    project.run(&["apply"]).expect(0);
    let time = |file: &Path| {
        let meta = file.metadata().unwrap();
        (meta.mtime(), meta.mtime_nsec())
    };
    let (source, output) = (project.tree().join("src/kernel.cu"), project.path().join("kernel.o"));
    let mut last = time(&source);
    for round in 0..12 {
        project.write("overlays/up/src/kernel.cu", format!("int round{round};\n"));
        std::fs::write(&output, "object").unwrap();
        project.run(&["apply"]).expect(0);
        assert!(time(&source) > time(&output) && time(&source) > last, "round {round}");
        last = time(&source);
        project.run(&["apply"]).expect(0);
        assert_eq!(time(&source), last);
    }
}
