//! `init`: from the pins that a repository has to manifests.

use crate::support::{Project, Upstream, git};

fn upstream() -> (Upstream, String) {
    let mut upstream = Upstream::new();
    upstream.commit("add", &[("a.c", "a\n")]);
    let pin = upstream.commit("more", &[("a.c", "b\n")]);
    upstream.git(&["tag", "-a", "-m", "one", "v1.0"]);
    (upstream, pin)
}

fn manifest(project: &Project) -> (String, String) {
    let mut files: Vec<_> = std::fs::read_dir(project.path().join("manifests"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let file = files.remove(0);
    (file.file_stem().unwrap().to_str().unwrap().to_owned(), std::fs::read_to_string(file).unwrap())
}

/// One file that pins the upstream; the manifest has its commit, works, and watches the file.
fn assert_found(file: &str, text: impl Fn(&str, &str) -> String) {
    let (upstream, pin) = upstream();
    let project = Project::new();
    project.write(file, text(&upstream.path().display().to_string(), &pin));
    let run = project.run(&["init"]).expect(0);
    assert!(run.stdout.contains(file), "{}", run.stdout);
    let (_, text) = manifest(&project);
    assert!(text.contains(&format!("pin  = \"{pin}\"")) && text.contains("also-pinned"), "{text}");
    project.run(&["status"]).expect(0);
    project.run(&["apply"]).expect(0);
    project.run(&["verify"]).expect(0);
    // The place is really watched.
    let other = project.read(file).replace(&pin, &"1".repeat(40));
    project.write(file, other);
    assert!(project.run(&["verify"]).expect(1).stdout.contains("also-pinned-differs"));
}

#[test]
fn pins_of_every_format_become_a_manifest_that_works() {
    assert_found("CMakeLists.txt", |url, pin| {
        format!("FetchContent_Declare(up GIT_REPOSITORY \"{url}\" GIT_TAG {pin})\n")
    });
    assert_found("cmake/deps.cmake", |url, pin| {
        format!("CPMAddPackage(NAME up GIT_REPOSITORY {url} GIT_TAG {pin})\n")
    });
    assert_found("Cargo.toml", |url, pin| {
        format!("[dependencies]\nup = {{ git = \"{url}\", rev = \"{pin}\" }}\n")
    });
    assert_found("MODULE.bazel", |url, pin| {
        format!(
            "git_override(\n    module_name = \"up\",\n    remote = \"{url}\",\n    commit = \"{pin}\",\n)\n"
        )
    });
    assert_found("west.yml", |url, pin| {
        format!("manifest:\n  projects:\n    - name: up\n      url: {url}\n      revision: {pin}\n")
    });
    assert_found("ports/up/portfile.cmake", |url, pin| {
        format!("vcpkg_from_git(\n  OUT_SOURCE_PATH SOURCE_PATH\n  URL {url}\n  REF {pin}\n)\n")
    });
}

/// A repository of ours with the upstream as a submodule that is staged.
fn with_submodule(upstream: &Upstream, folder: &str) -> Project {
    let project = Project::new();
    git(project.path(), &["init", "-q"]);
    let url = upstream.path().to_str().unwrap().to_owned();
    git(project.path(), &["-c", "protocol.file.allow=always", "submodule", "add", "-q", &url, folder]);
    project
}

fn commit(project: &Project) {
    let who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    git(project.path(), &[&who[..], &["commit", "-qm", "submodule"]].concat());
}

#[test]
fn a_submodule_is_a_pin_and_the_tree() {
    let (upstream, pin) = upstream();
    let project = with_submodule(&upstream, "third_party/up");
    commit(&project);
    let run = project.run(&["init"]).expect(0);
    assert!(run.stdout.contains("submodule"), "{}", run.stdout);
    let text = manifest(&project).1;
    assert!(text.contains(&pin) && text.contains("\ntree = \"third_party/up\"\n"), "{text}");
    // What is named next works as it stands.
    let (_, next) = run.stderr.trim_end().rsplit_once("or overlaid ").unwrap();
    assert_eq!(next, "apply --tree third_party/up");
    project.run(&next.split(' ').collect::<Vec<_>>()).expect(0);
    project.run(&["verify"]).expect(0);
}

#[test]
fn a_submodule_that_is_only_staged_is_a_pin_too() {
    let (upstream, pin) = upstream();
    let project = with_submodule(&upstream, "third_party/up");
    project.run(&["init"]).expect(0);
    assert!(manifest(&project).1.contains(&pin));
    // One that is only written down is none: there is no commit.
    let bare = Project::new();
    bare.write(".gitmodules", project.read(".gitmodules"));
    let run = bare.run(&["init"]).expect(2);
    assert!(run.stderr.contains("stage the submodules that .gitmodules names"), "{}", run.stderr);
    git(bare.path(), &["init", "-q"]);
    bare.run(&["init"]).expect(2);
    // One that was added after the last commit is one, too.
    let (other, second) = self::upstream();
    let project = with_submodule(&upstream, "third_party/up");
    commit(&project);
    let url = other.path().to_str().unwrap().to_owned();
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", &url, "other"];
    git(project.path(), &add);
    let json = project.run(&["init", "--json"]).expect(0).json();
    let pins: Vec<_> = json["upstreams"].as_array().unwrap().iter().map(|found| &found["pin"]).collect();
    assert!(pins.contains(&&pin.into()) && pins.contains(&&second.into()), "{json}");
}

#[test]
fn a_submodule_where_no_tree_can_be_is_a_pin_all_the_same() {
    let (upstream, pin) = upstream();
    let project = with_submodule(&upstream, "docs/upstream/up");
    project.run(&["init"]).expect(0);
    let text = manifest(&project).1;
    assert!(text.contains(&pin) && !text.contains("tree ="), "{text}");
}

#[test]
fn what_a_revision_is_is_said() {
    let (upstream, pin) = upstream();
    let first = upstream.git(&["rev-parse", "main~1"]);
    let local = upstream.path().display().to_string();
    for (revision, called, commit) in [
        (&pin[..10], "an abbreviated id", &pin),
        ("main~1", "counted from another commit", &first),
        ("v1.0^1", "counted from another commit", &first),
        ("main^0~", "counted from another commit", &first),
        ("v1.0", "a tag", &pin),
        ("main", "a branch that moves", &pin),
    ] {
        let project = Project::new();
        let run = project.run(&["init", "--url", &local, "--name", "up", "--pin", revision]).expect(0);
        let said = format!("up: {revision}, {called}, is commit {commit}");
        assert!(run.stdout.contains(&said), "{said}\n{}", run.stdout);
        assert!(manifest(&project).1.contains(commit.as_str()));
    }
    let project = Project::new();
    for revision in ["main~2", "main^2", "main~x", "main~1\u{e9}", "~1", "main@"] {
        let run = project.run(&["init", "--url", &local, "--name", "up", "--pin", revision]).expect(4);
        assert!(run.stdout.contains("the full id of a commit"), "{revision}: {}", run.stdout);
    }
    // Of a repository that is elsewhere, only names are known.
    let url = format!("file://{local}");
    for revision in ["main~1", &pin[..10]] {
        let run = project.run(&["init", "--url", &url, "--name", "up", "--pin", revision]).expect(4);
        assert!(run.stdout.contains("in a clone: OVERLAID_UPSTREAM_UP=DIR"), "{}", run.stdout);
    }
}

#[test]
fn a_tag_is_looked_up_and_a_branch_is_said_to_move() {
    let (upstream, pin) = upstream();
    let local = upstream.path().display().to_string();
    for (url, revision, says) in [
        (local.clone(), "v1.0", "is commit"),
        (format!("file://{local}"), "v1.0", "is commit"),
        (format!("file://{local}"), "main", "moves"),
    ] {
        let project = Project::new();
        project
            .write("x.cmake", format!("FetchContent_Declare(up GIT_REPOSITORY {url} GIT_TAG {revision})\n"));
        let run = project.run(&["init"]).expect(0);
        assert!(run.stdout.contains(says), "{}", run.stdout);
        assert!(manifest(&project).1.contains(&pin));
    }
}

#[test]
fn offline_a_tag_of_a_url_is_named_and_nothing_is_written() {
    let (upstream, _) = upstream();
    let project = Project::new();
    let url = format!("file://{}", upstream.path().display());
    project.write("x.cmake", format!("FetchContent_Declare(up GIT_REPOSITORY {url} GIT_TAG v1.0)\n"));
    let run = project.run(&["init", "--offline"]).expect(4);
    assert!(run.stdout.contains("without --offline"), "{}", run.stdout);
    assert!(!project.path().join("manifests").exists());
}

#[test]
fn pins_that_contradict_each_other_are_for_a_person() {
    let (upstream, pin) = upstream();
    let first = upstream.git(&["rev-parse", "main~1"]);
    let project = Project::new();
    let url = upstream.path().display();
    project.write("a.cmake", format!("FetchContent_Declare(up GIT_REPOSITORY {url} GIT_TAG {pin})\n"));
    project.write("b.cmake", format!("FetchContent_Declare(up GIT_REPOSITORY {url} GIT_TAG {first})\n"));
    let run = project.run(&["init"]).expect(3);
    assert!(run.stdout.contains("a.cmake:1") && run.stdout.contains("b.cmake:1"), "{}", run.stdout);
    assert!(!project.path().join("manifests").exists());
}

#[test]
fn a_manifest_that_is_there_is_left_alone() {
    let (upstream, pin) = upstream();
    let project = Project::on(&upstream, &pin, "# ours\n");
    let before = project.read("manifests/up.toml");
    let url = upstream.path().display();
    project.write("a.cmake", format!("FetchContent_Declare(up GIT_REPOSITORY {url} GIT_TAG {pin})\n"));
    let run = project.run(&["init"]).expect(0);
    assert!(run.stdout.contains("left alone"), "{}", run.stdout);
    assert_eq!(project.read("manifests/up.toml"), before);
    assert_eq!(manifest(&project).0, "up");
}

#[test]
fn without_a_pin_one_can_be_named() {
    let (upstream, pin) = upstream();
    let project = Project::new();
    let run = project.run(&["init"]).expect(2);
    assert!(run.stderr.contains("--url URL --pin"), "{}", run.stderr);
    let url = upstream.path().to_str().unwrap().to_owned();
    let args = ["init", "--url", &url, "--pin", "v1.0", "--name", "mine"];
    project.run(&[&args[..], &["--dry-run"]].concat()).expect(0);
    assert!(!project.path().join("manifests").exists());
    project.run(&args).expect(0);
    let (name, text) = manifest(&project);
    assert_eq!(name, "mine");
    assert!(text.contains(&pin), "{text}");
    project.run(&["verify"]).expect(0);
}

#[test]
fn several_upstreams_get_a_manifest_each() {
    let (one, first) = upstream();
    let (two, second) = upstream();
    let project = Project::new();
    let text = format!(
        "FetchContent_Declare(a GIT_REPOSITORY {} GIT_TAG {first})\nFetchContent_Declare(b GIT_REPOSITORY {} GIT_TAG {second})\n",
        one.path().display(),
        two.path().display()
    );
    project.write("CMakeLists.txt", text);
    let json = project.run(&["init", "--json"]).expect(0).json();
    assert_eq!(json["upstreams"].as_array().unwrap().len(), 2);
    assert_eq!(std::fs::read_dir(project.path().join("manifests")).unwrap().count(), 2);
}
