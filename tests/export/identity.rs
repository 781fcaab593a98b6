//! The import of an export: the same overlays, of which the same is said, and the same bytes when they leave again.

use std::os::unix::fs::PermissionsExt;

use super::{FILE, contents, read_all};
use crate::support::{Project, Upstream, git, git_bytes, write};

/// The keys of an overlay that an export carries, but its name, base and file.
const SAID: [&str; 6] = [
    "reason = \"\"\"\nkernel: two lines of a are loud\n--- that is: two\n\nand no more\"\"\"\n\
     author = \"Jörg B. <j@example.org>\"\nissue = \"https://example.org/issues/1\"\n\
     pull-request = \"https://example.org/pull/2\"\nforwarded = \"https://example.org/pull/2\"\n\
     upstream-status = \"submitted\"\n",
    "reason = \"builds on loud\"\nneeds = [\"loud\"]\nauthor = \"Ada\"\npull-request = \"https://example.org/pull/3\"\n",
    "reason = \"A new file comes. It is needed where the build has no network, and it is read by nobody else but the build.\"\n\
     forwarded = \"not-needed\"\nupstream-status = \"inappropriate\"\n",
    "upstream-status = \"unknown\"\n",
    "reason = \"a program is a program\"\nneeds = [\"comes\"]\nforwarded = \"sent to ada@example.org\"\n",
    "reason = \"renamed, and loud again\"\nneeds = [\"louder\", \"goes\"]\n",
];
const NAMES: [&str; 6] = ["loud", "louder", "comes", "goes", "mode", "moved"];

/// Patches of git's that stand on each other.
fn made(binary: bool) -> (Upstream, String, Project) {
    let mut upstream = Upstream::new();
    let files = [("src/a.c", FILE), ("gone/g.txt", "gone\n"), ("run.sh", "echo 1\n")];
    let pin = upstream.commit("pin", &files);
    let dir = upstream.path().to_owned();
    let (mut manifest, mut patches) = (String::new(), Vec::new());
    for (number, name) in NAMES.iter().enumerate() {
        let a = dir.join("src/a.c");
        match *name {
            "loud" => write(&a, FILE.replace("one", "ONE").replace("nine", "NINE")),
            "louder" => write(&a, FILE.replace("one", "ONE!").replace("nine", "NINE")),
            "comes" if binary => write(&dir.join("new/n"), [0, 159, 146, 150, 0]),
            "comes" => write(&dir.join("new/n"), "new, naïve\n"),
            "goes" => std::fs::remove_file(dir.join("gone/g.txt")).unwrap(),
            "mode" => {
                std::fs::set_permissions(dir.join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
            }
            _ => {
                std::fs::rename(&a, dir.join("src/b.c")).unwrap();
                write(&dir.join("src/b.c"), FILE.replace("one", "ONE!").replace("nine", "NINE!"));
            }
        }
        upstream.git(&["add", "-A"]);
        patches.push(git_bytes(&dir, &["diff", "--cached", "--binary", "--full-index", "-M", "HEAD"]));
        upstream.run_dated(&["commit", "-qm", "next"]);
        let said = SAID[number];
        manifest.push_str(&format!(
            "\n[[overlay]]\nname = \"{name}\"\nbase = \"{pin}\"\npatch = \"{name}.patch\"\n{said}"
        ));
    }
    let project = Project::on(&upstream, &pin, &manifest);
    for (name, patch) in NAMES.iter().zip(patches) {
        project.write(&format!("overlays/up/{name}.patch"), patch);
    }
    (upstream, pin, project)
}

/// The overlays of a manifest, without the names of their files.
fn overlays(project: &Project) -> Vec<toml::Table> {
    let manifest: toml::Table = project.read("manifests/up.toml").parse().unwrap();
    let overlays = manifest["overlay"].as_array().unwrap().iter();
    let mut overlays: Vec<toml::Table> = overlays.map(|one| one.as_table().unwrap().clone()).collect();
    overlays.iter_mut().for_each(|one| assert!(one.remove("patch").is_some()));
    overlays
}

fn assert_same(imported: &Project, project: &Project) {
    let (ours, theirs) = (overlays(imported), overlays(project));
    assert_eq!(ours, theirs);
    for project in [imported, project] {
        project.run(&["apply"]).expect(0);
    }
    assert_eq!(contents(&imported.tree()), contents(&project.tree()));
    imported.run(&["verify"]).expect(0);
}

#[test]
fn the_import_of_exported_files_is_the_identity() {
    for (format, binary) in [("quilt", false), ("mail", true)] {
        let (upstream, pin, project) = made(binary);
        let export = ["export", "--format", format, "--to", "out"];
        project.run(&export).expect(0);
        let imported = Project::on(&upstream, &pin, "");
        let out = project.path().join("out");
        imported.run(&["import", format, out.to_str().unwrap()]).expect(0);
        assert_same(&imported, &project);
        // The files are taken as they are, and made again as they were.
        let files = read_all(&out);
        for (name, bytes) in files.iter().filter(|(name, _)| *name != "series") {
            assert_eq!(imported.read(&format!("overlays/up/{name}")).as_bytes(), bytes, "{name}");
        }
        imported.run(&export).expect(0);
        assert!(read_all(&imported.path().join("out")) == files, "{format}: other bytes");
    }
}

#[test]
fn the_import_of_an_exported_branch_is_the_identity() {
    let (upstream, pin, project) = made(true);
    let export = ["export", "--format", "git", "--to", "out"];
    project.run(&export).expect(0);
    let out = project.path().join("out");
    let imported = Project::on(&upstream, &pin, "");
    let range = format!("{pin}..overlaid");
    imported.run(&["import", out.to_str().unwrap(), "--range", &range]).expect(0);
    assert_same(&imported, &project);
    imported.run(&export).expect(0);
    let tip = |project: &Project| git(&project.path().join("out"), &["rev-parse", "overlaid"]);
    assert_eq!(tip(&imported), tip(&project));
}

#[test]
fn a_part_of_an_export_needs_only_what_came_along() {
    let (upstream, pin, project) = made(false);
    project.run(&["export", "--format", "mail", "--to", "out"]).expect(0);
    let mail = project.path().join("out/0005-mode.patch");
    let imported = Project::on(&upstream, &pin, "");
    imported.run(&["import", mail.to_str().unwrap()]).expect(0);
    let overlays = overlays(&imported);
    assert_eq!(overlays[0]["name"].as_str(), Some("mode"));
    assert!(!overlays[0].contains_key("needs"), "{overlays:?}");
    // Nothing is said of it, so nothing is written.
    assert!(!overlays[0].contains_key("upstream-status"), "{overlays:?}");
}
