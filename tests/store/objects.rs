//! Entries, blobs, listings, commits and names, as git reports them.

use std::fmt::Write;
use std::path::Path;

use overlaid::id::{BlobId, CommitId, PathError};
use overlaid::io::store::{ResolveError, Store};
use overlaid::tree::{Entry, Mode};
use overlaid::upstream::{Upstream, UpstreamError};

use super::git::{Scratch, commit, git, git_input, linear, path};
use super::history::{Graph, generate};

fn ls_tree(dir: &Path, at: CommitId) -> String {
    git(dir, &["-c", "core.quotePath=false", "ls-tree", "-r", &at.to_string()])
}

fn as_ls_tree(store: &Store, at: CommitId) -> String {
    let mut text = String::new();
    for (path, entry) in store.listing(at).unwrap() {
        let kind = if entry.mode == Mode::Submodule { "commit" } else { "blob" };
        writeln!(text, "{} {kind} {}\t{path}", entry.mode.as_octal(), entry.id).unwrap();
    }
    text.trim_end().to_owned()
}

/// As a loose object and in a pack.
#[test]
fn a_file_of_20_megabytes_is_read() {
    let scratch = Scratch::new();
    let dir = scratch.path();
    git(dir, &["init", "--quiet"]);
    let large: Vec<u8> = (0..20_000_000_u32).map(|number| (number >> 16) as u8).collect();
    std::fs::write(dir.join("large"), &large).unwrap();
    let id = BlobId::parse(&git(dir, &["hash-object", "-w", "large"])).unwrap();
    assert!(Store::at(dir).unwrap().blob(id).unwrap()[..] == large[..]);
    git_input(dir, &["pack-objects", "-q", ".git/objects/pack/pack"], format!("{id}\n").as_bytes());
    git(dir, &["prune-packed"]);
    assert!(Store::at(dir).unwrap().blob(id).unwrap()[..] == large[..]);
}

#[test]
fn listings_entries_and_blobs_are_those_of_git() {
    let scratch = Scratch::new();
    let dir = scratch.path();
    let all = generate(dir, 0..30, Graph::Some);
    let store = Store::at(dir).unwrap();
    for generated in all {
        for &id in generated.commits.iter().rev().take(2) {
            assert_eq!(as_ls_tree(&store, id), ls_tree(dir, id));
            for (path, entry) in store.listing(id).unwrap() {
                assert_eq!(store.entry(id, &path).unwrap(), Some(entry));
                if entry.mode != Mode::Submodule {
                    assert_eq!(BlobId::of(&store.blob(entry.id).unwrap()), entry.id);
                }
            }
            assert_eq!(store.entry(id, &path("nothing")).unwrap(), None);
            assert_eq!(store.entry(id, &path("a/b/c/d/e")).unwrap(), None);
        }
    }
}

#[test]
fn a_folder_is_no_entry() {
    let scratch = Scratch::new();
    let upstream = scratch.join("upstream");
    linear(&upstream, &["1"]);
    std::fs::create_dir(upstream.join("d")).unwrap();
    std::fs::write(upstream.join("d/e"), "x").unwrap();
    git(&upstream, &["add", "-A"]);
    git(&upstream, &["commit", "--quiet", "-m", "folder", "-m", "more"]);
    let id = commit(&git(&upstream, &["rev-parse", "HEAD"]));
    let store = Store::at(&upstream).unwrap();
    assert_eq!(store.entry(id, &path("d")).unwrap(), None);
    assert_eq!(store.entry(id, &path("f/x")).unwrap(), None);
    let entry = store.entry(id, &path("d/e")).unwrap().unwrap();
    assert_eq!(entry, Entry { mode: Mode::File, id: BlobId::of(b"x") });
    assert_eq!(&*store.blob(entry.id).unwrap(), b"x");
    let header = store.commit(id).unwrap();
    assert_eq!(header.subject, "folder");
    assert_eq!((header.authored, header.committed), (1_700_000_000, 1_700_000_000));
    assert_eq!(header.parents.len(), 1);
}

#[test]
fn what_is_not_here_and_what_is_something_else_are_told_apart() {
    let scratch = Scratch::new();
    let upstream = scratch.join("upstream");
    let id = linear(&upstream, &["1"])[0];
    let store = Store::at(&upstream).unwrap();
    let absent = commit(&"12".repeat(20));
    assert!(matches!(
        store.listing(absent),
        Err(UpstreamError::Missing { what: "commit", shallow: false, .. })
    ));
    let absent = BlobId::of(b"absent");
    assert!(matches!(store.blob(absent), Err(UpstreamError::Missing { what: "blob", .. })));
    let blob = store.entry(id, &path("f")).unwrap().unwrap().id;
    let as_commit = CommitId::from_bytes(*blob.as_bytes());
    assert!(matches!(store.commit(as_commit), Err(UpstreamError::Unreadable { .. })));
    assert!(matches!(store.has_commit(as_commit), Err(UpstreamError::Unreadable { .. })));
    assert!(matches!(store.blob(BlobId::from_bytes(*id.as_bytes())), Err(UpstreamError::Unreadable { .. })));
}

#[test]
fn a_partial_clone_says_which_blob_is_not_here() {
    let scratch = Scratch::new();
    let upstream = scratch.join("upstream");
    let commits = linear(&upstream, &["1", "2"]);
    git(&upstream, &["config", "uploadpack.allowFilter", "true"]);
    let clone = scratch.join("clone.git");
    let url = format!("file://{}", upstream.display());
    git(&upstream, &["clone", "--quiet", "--bare", "--filter=blob:none", &url, clone.to_str().unwrap()]);
    let store = Store::at(&clone).unwrap();
    let entry = store.entry(commits[0], &path("f")).unwrap().unwrap();
    let error = store.blob(entry.id).unwrap_err();
    assert_eq!(error, UpstreamError::Missing { what: "blob", id: entry.id.to_string(), shallow: false });
    assert_eq!(store.history(commits[1], Some(commits[0]), &[path("f")]).unwrap().len(), 1);
}

#[test]
fn every_form_of_a_repository_can_be_read() {
    let scratch = Scratch::new();
    let upstream = scratch.join("upstream");
    let id = linear(&upstream, &["1", "2"])[1];
    let text = |name: &str| scratch.join(name).to_str().unwrap().to_owned();
    git(&upstream, &["clone", "--quiet", "--bare", ".", &text("bare.git")]);
    git(&upstream, &["clone", "--quiet", "--shared", ".", &text("shared")]);
    git(&upstream, &["worktree", "add", "--quiet", "--detach", &text("linked")]);
    git(&upstream, &["clone", "--quiet", "--separate-git-dir", &text("elsewhere"), ".", &text("file")]);
    for form in ["upstream", "upstream/.git", "bare.git", "shared", "linked", "file", "elsewhere"] {
        let store = Store::at(&scratch.join(form)).unwrap_or_else(|why| panic!("{form}: {why}"));
        assert_eq!(store.listing(id).unwrap().len(), 1, "{form}");
        assert!(!store.is_shallow(), "{form}");
    }
    std::fs::create_dir(upstream.join("folder")).unwrap();
    for none in ["upstream/folder", "upstream/f", "nothing"] {
        assert!(Store::at(&scratch.join(none)).is_err(), "{none} is no repository, whatever is around it");
    }
}

#[test]
fn replace_refs_and_grafts_change_nothing() {
    let scratch = Scratch::new();
    let upstream = scratch.join("upstream");
    let commits = linear(&upstream, &["1", "2", "3"]);
    let text: Vec<String> = commits.iter().map(ToString::to_string).collect();
    git(&upstream, &["replace", &text[2], &text[0]]);
    std::fs::write(upstream.join(".git/info/grafts"), format!("{}\n", text[1])).unwrap();
    let store = Store::at(&upstream).unwrap();
    let entry = store.entry(commits[2], &path("f")).unwrap().unwrap();
    assert_eq!(&*store.blob(entry.id).unwrap(), b"3\n");
    assert_eq!(store.is_ancestor(commits[0], commits[2]), Ok(true));
}

#[test]
fn a_repository_of_another_hash_is_refused_with_a_reason() {
    let scratch = Scratch::new();
    git(scratch.path(), &["init", "--quiet", "--bare", "--object-format=sha256", "sha256.git"]);
    let why = Store::at(&scratch.join("sha256.git")).err().unwrap();
    assert!(why.contains("sha256"), "{why}");
}

/// A commit whose top folder has these lines, written as they are.
fn commit_of_tree(dir: &Path, lines: &[(&str, &str, &str)]) -> CommitId {
    let mut data = Vec::new();
    for (mode, name, id) in lines {
        data.extend(format!("{mode} {name}\0").bytes());
        data.extend(BlobId::parse(id).unwrap().as_bytes());
    }
    let tree = git_input(dir, &["hash-object", "-t", "tree", "-w", "--stdin", "--literally"], &data);
    commit(&git(dir, &["commit-tree", &tree, "-m", "made"]))
}

#[test]
fn paths_that_cannot_be_written_safely_are_refused() {
    let scratch = Scratch::new();
    let dir = scratch.path();
    git(dir, &["init", "--quiet", "--bare"]);
    let blob = git_input(dir, &["hash-object", "-w", "--stdin"], b"x");
    let unsafe_at = |name: &str| {
        let id = commit_of_tree(dir, &[("100644", "ok", &blob), ("100644", name, &blob)]);
        Store::at(dir).unwrap().listing(id).unwrap_err()
    };
    for (name, why) in [
        ("..", PathError::Dots),
        (".git", PathError::DotGit),
        (".GIT", PathError::DotGit),
        ("git~1", PathError::DotGit),
        (".overlaid", PathError::Reserved),
        (".Overlaid", PathError::Reserved),
        ("", PathError::Empty),
    ] {
        assert_eq!(unsafe_at(name), UpstreamError::UnsafePath { path: name.into(), why });
    }
    for name in ["../x", "a/b", "/etc/passwd", "ok"] {
        assert!(
            matches!(unsafe_at(name), UpstreamError::Unreadable { .. } | UpstreamError::UnsafePath { .. }),
            "{name}"
        );
    }
    let folder =
        git(dir, &["rev-parse", &format!("{}^{{tree}}", commit_of_tree(dir, &[("100644", "x", &blob)]))]);
    let both = commit_of_tree(dir, &[("120000", "d", &blob), ("40000", "d", &folder)]);
    let error = Store::at(dir).unwrap().listing(both).unwrap_err();
    assert!(matches!(error, UpstreamError::Unreadable { .. }), "a link and a folder of one name: {error:?}");
    let nested = commit_of_tree(dir, &[("40000", ".overlaid", &folder)]);
    assert!(matches!(Store::at(dir).unwrap().listing(nested), Err(UpstreamError::UnsafePath { .. })));
}

#[test]
fn names_are_resolved_as_a_person_means_them() {
    let scratch = Scratch::new();
    let upstream = scratch.join("upstream");
    let commits = linear(&upstream, &["1", "2", "3"]);
    git(&upstream, &["tag", "light", &commits[0].to_string()]);
    git(&upstream, &["tag", "-a", "-m", "t", "annotated", &commits[1].to_string()]);
    git(&upstream, &["tag", "-a", "-m", "t", "nested", "annotated"]);
    git(&upstream, &["tag", "blob", "HEAD:f"]);
    let text = |index: usize| commits[index].to_string();
    for (rev, expected) in [
        ("main", Some(commits[2])),
        ("HEAD", Some(commits[2])),
        ("refs/heads/main", Some(commits[2])),
        ("light", Some(commits[0])),
        ("annotated", Some(commits[1])),
        ("nested", Some(commits[1])),
        (&text(1), Some(commits[1])),
        (&text(1)[..9], Some(commits[1])),
        (&text(1)[..7].to_uppercase(), Some(commits[1])),
        (&text(1)[..3], None),
        ("nothing", None),
        ("", None),
        ("-x", None),
        ("a..b", None),
        ("../../HEAD", None),
        (&"0".repeat(40), None),
    ] {
        assert_eq!(Store::at(&upstream).unwrap().resolve(rev), Ok(expected), "{rev}");
    }
    let store = Store::at(&upstream).unwrap();
    assert!(matches!(store.resolve("blob"), Err(ResolveError::NotACommit { .. })));
    assert_eq!(store.default_branch().as_deref(), Some("main"));
}

#[test]
fn in_a_clone_a_branch_is_what_the_upstream_has() {
    let scratch = Scratch::new();
    let upstream = scratch.join("upstream");
    let theirs = linear(&upstream, &["1", "2"])[1];
    let clone = scratch.join("clone");
    git(&upstream, &["clone", "--quiet", ".", clone.to_str().unwrap()]);
    git(&clone, &["checkout", "--quiet", "-b", "work"]);
    git(&clone, &["commit", "--quiet", "--allow-empty", "-m", "mine"]);
    let mine = commit(&git(&clone, &["rev-parse", "HEAD"]));
    git(&clone, &["branch", "--quiet", "-f", "main", "HEAD"]);
    let store = Store::at(&clone).unwrap();
    assert_eq!(store.resolve("main"), Ok(Some(theirs)));
    assert_eq!(store.resolve("origin/main"), Ok(Some(theirs)));
    assert_eq!(store.resolve("work"), Ok(Some(mine)));
    assert_eq!(store.default_branch().as_deref(), Some("main"));
}

#[test]
fn an_ambiguous_beginning_of_an_id_names_the_commits() {
    let scratch = Scratch::new();
    let dir = scratch.path();
    git(dir, &["init", "--quiet", "--bare"]);
    let mut stream = String::new();
    for number in 0..1500 {
        write!(
            stream,
            "commit refs/heads/c\nmark :{}\ncommitter C <c> {number} +0000\ndata 1\nx",
            number + 1
        )
        .unwrap();
        stream.push('\n');
    }
    git_input(dir, &["fast-import", "--quiet"], stream.as_bytes());
    let mut all: Vec<_> = git(dir, &["rev-list", "c"]).lines().map(str::to_owned).collect();
    all.sort();
    let pair =
        all.windows(2).find(|pair| pair[0][..4] == pair[1][..4]).expect("two of 1500 share four digits");
    let store = Store::at(dir).unwrap();
    match store.resolve(&pair[0][..4]) {
        Err(ResolveError::Ambiguous { commits, .. }) => assert!(commits.contains(&commit(&pair[0]))),
        other => panic!("{other:?}"),
    }
    assert_eq!(store.resolve(&pair[0][..12]), Ok(Some(commit(&pair[0]))));
}

#[test]
fn several_threads_ask_at_once() {
    let scratch = Scratch::new();
    let dir = scratch.path();
    let generated = generate(dir, 7..8, Graph::Nothing).remove(0);
    let store = Store::at(dir).unwrap();
    let expected: Vec<_> = generated.commits.iter().map(|&id| ls_tree(dir, id)).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for (id, expected) in generated.commits.iter().zip(&expected) {
                    assert_eq!(as_ls_tree(&store, *id), *expected);
                }
            });
        }
    });
}
