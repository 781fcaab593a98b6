//! Edits by seed: what `refresh` makes of them is what git would record.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use overlaid::id::{OverlayName, UpstreamPath};
use overlaid::io::own_edits;
use overlaid::io::own_files::{Disk, OwnFiles};
use overlaid::io::scratch::{Note, Scratch};
use overlaid::io::store::Store;
use overlaid::io::workspace::Workspace;
use overlaid::manifest::Kind;
use overlaid::overlay::fingerprint;
use overlaid::plan::Wanted;
use overlaid::refresh::{Others, PathSides, Question, Stand, plan};
use overlaid::upstream::Upstream as _;

use crate::support::random::Random;
use crate::support::{Project, Upstream, git_bytes, write};

const EDITS: usize = 500;

pub fn text(random: &mut Random, lines: usize) -> Vec<u8> {
    let line = |random: &mut Random| format!("line {}\n", random.below(12)).into_bytes();
    (0..lines).flat_map(|_| line(random)).collect()
}

/// Changes a file as people do: lines come, go and change. With 12 kinds, files and modes do too; with 15, what is no text.
pub fn edit(random: &mut Random, file: &Path, kinds: usize) {
    let is_link = file.symlink_metadata().is_ok_and(|data| data.is_symlink());
    let old = if is_link { Vec::new() } else { std::fs::read(file).unwrap_or_default() };
    let mut lines: Vec<Vec<u8>> = old.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    match random.below(kinds) {
        ..=8 => {
            for _ in 0..random.below(3) + 1 {
                let at = random.below(lines.len() + 1);
                match random.below(3) {
                    0 if at < lines.len() => drop(lines.remove(at)),
                    1 if at < lines.len() => lines[at] = text(random, 1),
                    _ => lines.insert(at, text(random, 1)),
                }
            }
        }
        9 => return drop(std::fs::remove_file(file)),
        10 if !is_link && file.exists() => {
            let mode = random.pick(&[0o644, 0o755]);
            return std::fs::set_permissions(file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        11 => lines.last_mut().into_iter().for_each(|line| line.truncate(line.len().saturating_sub(1))),
        12 => lines.iter_mut().for_each(|line| {
            if line.ends_with(b"\n") && !line.ends_with(b"\r\n") {
                line.truncate(line.len() - 1);
                line.extend(b"\r\n");
            }
        }),
        13 => lines = vec![(0..random.below(40)).map(|_| random.below(256) as u8).collect()],
        _ => {
            let _ = std::fs::remove_file(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            return std::os::unix::fs::symlink(random.pick(&["a.c", "b.c"]), file).unwrap();
        }
    }
    let _ = std::fs::remove_file(file);
    write(file, lines.concat());
}

#[test]
fn five_hundred_edits_are_what_git_would_record() {
    let mut random = Random::new(7);
    let mut upstream = Upstream::new();
    for name in ["src/a.c", "src/b.c", "src/c c.txt", "bin/tool"] {
        let lines = 30 + random.below(20);
        write(&upstream.path().join(name), text(&mut random, lines));
    }
    std::os::unix::fs::symlink("a.c", upstream.path().join("src/link")).unwrap();
    let pin = upstream.commit_all("start");
    let project = Project::on(
        &upstream,
        &pin,
        &format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{pin}\"\npatch = \"ours.patch\"\n"),
    );
    write(&upstream.path().join("src/a.c"), text(&mut random, 20));
    project
        .write("overlays/up/ours.patch", git_bytes(upstream.path(), &["diff", "--binary", "--full-index"]));
    let store = Store::at(upstream.path()).unwrap();
    let ours = OverlayName::parse("ours").unwrap();
    let scratch = Scratch::of(project.path(), &ours);
    let (mut taken, mut refused) = (0, 0);
    for number in 0..EDITS {
        let workspace = Workspace::load(project.path(), Path::new("manifests/up.toml")).unwrap();
        let stand =
            Stand::of(&workspace.manifest, &workspace.overlays, &workspace.overlays[0], &BTreeSet::new());
        let sides = stand.sides(&store).unwrap();
        let wanted = Wanted {
            upstream: workspace.manifest.upstream.name.value.clone(),
            commit: stand.pin,
            listing: store.listing(stand.pin).unwrap(),
            changes: sides.with.changes.clone(),
            owners: sides.with.by.clone(),
            fingerprint: fingerprint(stand.pin, &BTreeSet::new(), &sides.with.changes),
        };
        if scratch.note().is_none() {
            scratch.make(&wanted, &Note::new("up", sides.name(stand.pin)), &store, &mut |_| {}).unwrap();
        }
        for _ in 0..random.below(3) + 1 {
            let name =
                random.pick(&["src/a.c", "src/b.c", "src/c c.txt", "bin/tool", "src/link", "new/n", "new/ü"]);
            edit(&mut random, &scratch.dir().join(name), 15);
        }
        let edited = scratch.edited(&wanted).unwrap();
        let loaded = &workspace.overlays[0];
        let patch = loaded.patch.as_ref().unwrap();
        let paths: BTreeSet<UpstreamPath> = edited.keys().cloned().chain(patch.touched()).collect();
        let paths: Vec<PathSides> = paths
            .into_iter()
            .map(|path| {
                let below = sides.without(stand.pin, &path, &store).unwrap();
                let before = sides.with.changes.get(&path).unwrap_or(&below).clone();
                let after = edited.get(&path).unwrap_or(&before).clone();
                PathSides { path, below, before, after }
            })
            .collect();
        let Kind::Patch(file) = &loaded.overlay.kind else { panic!("a patch") };
        let own = workspace.manifest.overlay_folder().join(&file.value);
        let text = Disk::new(project.path()).read(&own).unwrap().unwrap();
        let question = Question {
            manifest: &workspace.manifest,
            overlay: loaded,
            paths: &paths,
            by: &sides.with.by,
            patch_text: Some(&text.bytes),
            others: &Others::Widen,
        };
        let lock = own_edits::Lock::take(project.path(), &mut || ()).unwrap();
        match plan(&question) {
            Ok(planned) => drop(own_edits::write(&lock, &planned.edits).unwrap()),
            // Everything was edited back: nothing is left of the overlay.
            Err(error) => {
                assert_eq!(error, overlaid::refresh::RefreshError::NothingLeft, "edit {number}");
                refused += 1;
                let file = scratch.dir().join("src/a.c");
                let _ = std::fs::remove_file(&file);
                write(&file, format!("edit {number}\n"));
                continue;
            }
        }
        taken += 1;
        // What git records of the edited folder, and what it makes of the patch, is the same tree.
        let index = |name: &str| project.path().join(name).display().to_string();
        let of_patch = with_index(upstream.path(), None, &index("index1"), &pin, &project.path().join(&own));
        let of_folder =
            with_index(upstream.path(), Some(&scratch.dir()), &index("index2"), &pin, Path::new(""));
        assert_eq!(of_patch, of_folder, "edit {number}");
    }
    assert!(taken > EDITS * 9 / 10, "{taken} taken, {refused} refused");
}

/// The tree that git writes: of the pin with a patch on it, or of a folder.
fn with_index(repository: &Path, folder: Option<&Path>, index: &str, pin: &str, patch: &Path) -> String {
    let git_dir = repository.join(".git").display().to_string();
    let run = |args: &[&str]| {
        let mut command = crate::support::command("git");
        command
            .current_dir(folder.unwrap_or(repository))
            .env("GIT_DIR", &git_dir)
            .env("GIT_INDEX_FILE", index);
        command.env("GIT_WORK_TREE", folder.unwrap_or(repository));
        let output = command.args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    run(&["read-tree", pin]);
    match folder {
        None => drop(run(&["apply", "--cached", "--whitespace=nowarn", patch.to_str().unwrap()])),
        Some(_) => drop(run(&["add", "-A", "--", ".", ":!.overlaid"])),
    }
    run(&["write-tree"])
}
