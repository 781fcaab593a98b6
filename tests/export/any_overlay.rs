//! Overlays of every kind by seed, out and in again: whole files, deletions and patches with renames, modes, links and
//! content that is no text. The import of an export has the same overlays, makes the same tree, and leaves with the same bytes.

use std::collections::BTreeSet;
use std::path::Path;

use super::{contents, read_all};
use crate::edit::random::{edit, text};
use crate::support::random::Random;
use crate::support::{Project, Upstream, git, git_bytes, write};

const ROUNDS: usize = 12;
const FILES: [&str; 8] =
    ["src/a.c", "src/b.c", "src/c c.txt", "bin/tool", "src/d.c", "src/é.c", "win.txt", "deep/er/f.txt"];

/// An upstream and overlays on it: of whole files first, then deletions, then patches that stand on each other.
fn made(random: &mut Random, kinds: usize) -> (Upstream, String, Project) {
    let mut upstream = Upstream::new();
    let dir = upstream.path().to_owned();
    for name in FILES {
        let lines = 20 + random.below(20);
        write(&dir.join(name), text(random, lines));
    }
    let pin = upstream.commit_all("pin");
    let mut tables = Vec::new();
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    let mut whole: BTreeSet<&str> = BTreeSet::new();
    for number in 0..random.below(3) {
        let name = random.pick(&["src/a.c", "src/b.c", "new/w", "bin/tool"]);
        if !whole.insert(name) {
            continue;
        }
        let from = if random.one_in(2) { dir.join(name) } else { dir.join("src/d.c") };
        let mut content = std::fs::read(from).unwrap_or_default();
        content.extend(text(random, 2));
        if kinds > 12 && random.one_in(4) {
            content = vec![0, 159, 146, number as u8];
        }
        write(&dir.join(name), &content);
        tables.push((format!("whole-{number}"), format!("files = [\"{name}\"]")));
        files.push((name.to_owned(), content));
    }
    if random.one_in(2) {
        std::fs::remove_file(dir.join("deep/er/f.txt")).unwrap();
        tables.push(("goes".to_owned(), "delete = [\"deep/er/f.txt\"]".to_owned()));
    }
    upstream.commit_all("whole");
    for number in 0..random.below(3) + 1 {
        let mut patch = Vec::new();
        while patch.is_empty() {
            for _ in 0..random.below(4) + 1 {
                let name =
                    random.pick(&["src/a.c", "src/c c.txt", "bin/tool", "src/é.c", "win.txt", "new/n"]);
                edit(random, &dir.join(name), kinds);
            }
            if random.one_in(2) {
                let to = format!("moved/d {number}.c");
                let from =
                    if number == 0 { "src/d.c".to_owned() } else { format!("moved/d {}.c", number - 1) };
                if dir.join(&from).is_file() {
                    std::fs::create_dir_all(dir.join("moved")).unwrap();
                    std::fs::rename(dir.join(&from), dir.join(&to)).unwrap();
                }
            }
            upstream.git(&["add", "-A"]);
            patch = git_bytes(&dir, &["diff", "--cached", "--binary", "--full-index", "-M", "HEAD"]);
        }
        upstream.run_dated(&["commit", "-qm", "next"]);
        tables.push((format!("patch-{number}"), format!("patch = \"patch-{number}.patch\"")));
        files.push((format!("patch-{number}.patch"), patch));
    }
    let table = |(number, (name, content)): (usize, &(String, String))| {
        let reason = ["it is so", "one\\ntwo\\n\\nthree", "First, a sentence. Then more."][number % 3];
        format!(
            "\n[[overlay]]\nname = \"{name}\"\nreason = \"{reason}\"\nbase = \"{pin}\"\n{content}\n\
             issue = \"https://example.org/{number}\"\nupstream-status = \"pending\"\n"
        )
    };
    let project = Project::on(&upstream, &pin, &tables.iter().enumerate().map(table).collect::<String>());
    for (file, content) in files {
        project.write(&format!("overlays/up/{file}"), content);
    }
    (upstream, pin, project)
}

/// What is said of each overlay, without what says where its content is, and without `needs`: those are found anew.
fn said(project: &Project) -> Vec<toml::Table> {
    let manifest: toml::Table = project.read("manifests/up.toml").parse().unwrap();
    let overlays = manifest["overlay"].as_array().unwrap().iter();
    let mut overlays: Vec<toml::Table> = overlays.map(|one| one.as_table().unwrap().clone()).collect();
    for overlay in &mut overlays {
        for key in ["patch", "files", "delete", "needs"] {
            overlay.remove(key);
        }
    }
    overlays
}

/// Whether the tree has something at an overlay's path that lines of text cannot hold.
fn has_more_than_text(project: &Project) -> bool {
    let entries = walkdir::WalkDir::new(project.path().join("overlays")).into_iter().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().is_file());
    files.into_iter().any(|entry| {
        let text = std::fs::read(entry.path()).unwrap();
        let has = |part: &[u8]| text.windows(part.len()).any(|window| window == part);
        has(b"\0") || has(b"GIT binary patch") || has(b" 120000\n")
    })
}

fn import(project: &Project, upstream: &Upstream, pin: &str, format: &str) -> Project {
    let imported = Project::on(upstream, pin, "");
    let out = project.path().join("out");
    let range = format!("{pin}..overlaid");
    let args = match format {
        "git" => vec!["import", out.to_str().unwrap(), "--range", &range],
        _ => vec!["import", format, out.to_str().unwrap()],
    };
    imported.run(&args).expect(0);
    imported
}

/// The files of an export, or the commits of a branch with their trees and messages.
fn exported(project: &Project, format: &str) -> Vec<(String, Vec<u8>)> {
    let out = project.path().join("out");
    match format {
        "git" => {
            let log = ["log", "--reverse", "--format=%T %at %an <%ae>%n%B%x00", "overlaid"];
            let commits = git(&out, &log);
            commits.split('\0').map(|commit| (String::new(), commit.trim().into())).collect()
        }
        _ => read_all(&out).into_iter().collect(),
    }
}

/// Without what an import finds by trying where the manifest does not say it.
fn without_needs(mut exported: Vec<(String, Vec<u8>)>) -> Vec<(String, Vec<u8>)> {
    for (_, bytes) in &mut exported {
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.starts_with(b"Needs: ") && !line.starts_with(b"X-Needs: "));
        *bytes = lines.flatten().copied().collect::<Vec<u8>>().trim_ascii_end().to_vec();
    }
    exported
}

fn assert_equal(ours: &[(String, Vec<u8>)], theirs: &[(String, Vec<u8>)], context: &str) {
    assert_eq!(ours.len(), theirs.len(), "{context}");
    for (ours, theirs) in ours.iter().zip(theirs) {
        let shown = |(name, bytes): &(String, Vec<u8>)| format!("{name}\n{}", String::from_utf8_lossy(bytes));
        assert!(ours == theirs, "{context}: other bytes\n{}\n{}", shown(ours), shown(theirs));
    }
}

fn assert_identity(upstream: &Upstream, pin: &str, project: &Project, format: &str, context: &str) {
    let imported = import(project, upstream, pin, format);
    assert_eq!(said(&imported), said(project), "{context}");
    imported.run(&["apply"]).expect(0);
    project.run(&["apply"]).expect(0);
    assert_eq!(contents(&imported.tree()), contents(&project.tree()), "{context}");
    let export = ["export", "--format", format, "--to", "out"];
    imported.run(&export).expect(0);
    let (ours, theirs) = (exported(&imported, format), exported(project, format));
    assert_equal(&without_needs(ours.clone()), &without_needs(theirs), context);
    // What an import found comes back with the next one.
    let again = import(&imported, upstream, pin, format);
    again.run(&export).expect(0);
    assert_equal(&exported(&again, format), &ours, context);
    if format == "git" {
        let tip = |project: &Project| git(&project.path().join("out"), &["rev-parse", "overlaid"]);
        assert_eq!(tip(&again), tip(&imported), "{context}");
    }
}

#[test]
fn overlays_of_any_kind_come_back_from_git_and_from_mails() {
    let mut random = Random::new(41);
    for round in 0..ROUNDS {
        let (upstream, pin, project) = made(&mut random, 15);
        for format in ["git", "mail"] {
            project.run(&["export", "--format", format, "--to", "out"]).expect(0);
            assert_identity(&upstream, &pin, &project, format, &format!("round {round}, {format}"));
            std::fs::remove_dir_all(project.path().join("out")).unwrap();
        }
    }
}

#[test]
fn overlays_of_any_text_come_back_from_quilt_and_others_are_named_before_anything_is_written() {
    let mut random = Random::new(43);
    let (mut held, mut refused) = (0, 0);
    for round in 0..2 * ROUNDS {
        let (upstream, pin, project) = made(&mut random, if round % 2 == 0 { 12 } else { 15 });
        let run = project.run(&["export", "--format", "quilt", "--to", "out"]);
        if run.code == 0 {
            held += 1;
            assert_identity(&upstream, &pin, &project, "quilt", &format!("round {round}"));
            continue;
        }
        refused += 1;
        assert_eq!(run.code, 3, "round {round}: {}", run.stderr);
        assert!(has_more_than_text(&project), "round {round}: {}", run.stderr);
        assert!(
            run.stderr.contains("which is not text") && run.stderr.contains("git and mail"),
            "{}",
            run.stderr
        );
        assert!(!Path::new(&project.path().join("out")).exists());
    }
    assert!(held >= ROUNDS && refused > 2, "{held} held, {refused} refused");
}
