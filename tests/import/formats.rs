//! Lists of patches in the formats of other tools: each gives the tree that git makes of the same patches.

use super::{Upstream, assert_tree, needs, series};
use crate::support::{Project, git, git_bytes};

/// An upstream, a clone, and the three patches as `git format-patch` writes them.
fn patches() -> (Upstream, tempfile::TempDir, Vec<(String, Vec<u8>)>) {
    let (upstream, pin, clone) = series();
    let out = tempfile::tempdir().expect("a folder");
    git(clone.path(), &["format-patch", "-q", "-o", out.path().to_str().unwrap(), &format!("{pin}..ours")]);
    let mut names: Vec<_> =
        std::fs::read_dir(out.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    let read = |path: &std::path::PathBuf| {
        (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(path).unwrap())
    };
    let patches = names.iter().map(read).collect();
    (upstream, clone, patches)
}

/// The project with the manifest of the upstream, with the patches in a folder.
fn prepared(folder: &str) -> (Upstream, Project, tempfile::TempDir, Vec<String>) {
    let (upstream, clone, patches) = patches();
    let pin = upstream.git(&["rev-parse", "main"]);
    let project = Project::on(&upstream, &pin, "");
    for (name, bytes) in &patches {
        project.write(&format!("{folder}/{name}"), bytes);
    }
    (upstream, project, clone, patches.into_iter().map(|(name, _)| name).collect())
}

fn assert_imported(project: &Project, clone: &std::path::Path, args: &[&str]) {
    let run = project.run(&[&["import"], args].concat()).expect(0);
    assert_eq!(needs(project).len(), 3, "{}", run.stdout);
    assert_eq!(needs(project)[2].1, [needs(project)[0].0.clone()]);
    assert_tree(project, clone);
    project.run(&["verify"]).expect(0);
}

#[test]
fn a_folder_of_mails() {
    let (_upstream, project, clone, names) = prepared("mails");
    assert_imported(&project, clone.path(), &["mails"]);
    // Without the number, and byte for byte.
    assert_eq!(needs(&project)[1].0, "b-shout");
    let kept = std::fs::read(project.path().join("overlays/up").join(&names[1])).unwrap();
    assert_eq!(kept, std::fs::read(project.path().join("mails").join(&names[1])).unwrap());
}

#[test]
fn a_mailbox_with_a_cover_letter() {
    let (upstream, project, clone, _) = prepared("mails");
    let pin = upstream.git(&["rev-parse", "main"]);
    let range = format!("{pin}..ours");
    let mbox = git_bytes(clone.path(), &["format-patch", "--cover-letter", "--stdout", &range]);
    project.write("series.mbox", mbox);
    assert_imported(&project, clone.path(), &["series.mbox"]);
}

#[test]
fn a_quilt_series_with_headers_and_levels() {
    let (_upstream, project, clone, names) = prepared("debian/patches");
    let header = "Description: one is 1\nAuthor: Bob <bob@example.org>\nForwarded: https://example.org/pull/4\n\
                  Bug-Debian: https://bugs.example.org/1\n---\n";
    let first = project.read(&format!("debian/patches/{}", names[0]));
    let diff = &first[first.find("diff --git").unwrap()..];
    project.write(&format!("debian/patches/{}", names[0]), format!("{header}{diff}"));
    // Without prefixes, as `-p0` wants it.
    let plain = "--- src/b.c\n+++ src/b.c\n@@ -1 +1 @@\n-b\n+B\n";
    project.write(&format!("debian/patches/{}", names[1]), plain);
    let series = format!("# ours\n{}\n{} -p0\n\n{}\n", names[0], names[1], names[2]);
    project.write("debian/patches/series", series);
    assert_imported(&project, clone.path(), &["."]);
    let text = project.read("manifests/up.toml");
    assert!(text.contains("pull-request = \"https://example.org/pull/4\""), "{text}");
    assert!(
        text.contains("upstream-status = \"submitted\"") && text.contains("Bob <bob@example.org>"),
        "{text}"
    );
}

#[test]
fn a_patch_of_a_series_that_is_missing_stops_it_all() {
    let (_upstream, project, _clone, names) = prepared("patches");
    project.write("patches/series", format!("{}\nnowhere.patch\nother.patch -R\n", names[0]));
    let run = project.run(&["import", "patches"]).expect(2);
    assert!(run.stderr.contains("series:3") && run.stderr.contains("reverse"), "{}", run.stderr);
    project.write("patches/series", format!("{}\nnowhere.patch\n", names[0]));
    let run = project.run(&["import", "patches"]).expect(2);
    assert!(run.stderr.contains("series:2") && run.stderr.contains("nowhere.patch"), "{}", run.stderr);
    assert!(!project.path().join("overlays").exists());
}

#[test]
fn patches_of_west() {
    let (_upstream, project, clone, names) = prepared("zephyr/patches/up");
    let entries: String = names
        .iter()
        .map(|name| {
            format!("  - path: up/{name}\n    module: up\n    author: Eve\n    email: eve@example.org\n    upstreamable: true\n")
        })
        .collect();
    project.write("zephyr/patches.yml", format!("patches:\n{entries}"));
    assert_imported(&project, clone.path(), &["zephyr/patches.yml"]);
    assert!(project.read("manifests/up.toml").contains("Eve <eve@example.org>"));
}

#[test]
fn patches_of_electron() {
    let (_upstream, project, clone, names) = prepared("patches/up");
    project.write("patches/up/.patches", names.join("\n"));
    assert_imported(&project, clone.path(), &["patches/up"]);
}

#[test]
fn patches_of_bazel() {
    let (_upstream, project, clone, names) = prepared("third_party");
    let list: String = names.iter().map(|name| format!("        \"//third_party:{name}\",\n")).collect();
    project.write(
        "MODULE.bazel",
        format!("git_override(\n    module_name = \"up\",\n    patch_strip = 1,\n    patches = [\n{list}    ],\n)\n"),
    );
    assert_imported(&project, clone.path(), &["MODULE.bazel"]);
}

#[test]
fn patches_of_cpm() {
    let (_upstream, project, clone, names) = prepared("cmake/patches");
    let list: String = names.iter().map(|name| format!("    patches/{name}\n")).collect();
    project.write("cmake/up.cmake", format!("CPMAddPackage(\n  NAME up\n  GIT_TAG x\n  PATCHES\n{list})\n"));
    assert_imported(&project, clone.path(), &["cmake/up.cmake"]);
}

#[test]
fn an_encoded_mail_is_refused() {
    let (_upstream, project, _clone, _) = prepared("mails");
    project.write("one.patch", "Subject: x\nContent-Transfer-Encoding: base64\n\nLS0tIGEveAo=\n");
    let run = project.run(&["import", "one.patch"]).expect(2);
    assert!(run.stderr.contains("base64"), "{}", run.stderr);
}

#[test]
fn a_place_that_could_be_two_things_has_to_be_named() {
    let (_upstream, project, _clone, _) = prepared("mails");
    project.write("mails/other.c", "what is this\n");
    let run = project.run(&["import", "mails"]).expect(2);
    assert!(run.stderr.contains("import mail"), "{}", run.stderr);
    project.run(&["import", "mail", "mails"]).expect(0);
    project.run(&["import", "nowhere"]).expect(2);
    project.run(&["import", "mercurial", "mails"]).expect(2);
}
