//! Submodules: read from their own repositories, at the commit that the pin's tree names.

mod own_tree;

use std::path::Path;

use crate::support::{Project, Upstream, git, manifest};

const HEADER: &str = "int one;\nint two;\nint three;\nint four;\n";

/// Makes `inner` at a commit a submodule of `outer`, as `git submodule add` does. Nothing is committed.
fn put(outer: &Upstream, path: &str, url: &str, commit: &str) {
    let modules = outer.path().join(".gitmodules");
    let known = std::fs::read_to_string(&modules).unwrap_or_default();
    let section = format!("[submodule \"{path}\"]\n\tpath = {path}\n\turl = {url}\n");
    if !known.contains(&section) {
        std::fs::write(&modules, known + &section).unwrap();
    }
    std::fs::create_dir_all(outer.path().join(path)).unwrap();
    git(outer.path(), &["add", ".gitmodules"]);
    git(outer.path(), &["update-index", "--add", "--cacheinfo", &format!("160000,{commit},{path}")]);
}

/// Commits what was put into the index, and nothing of the work tree.
fn commit(upstream: &mut Upstream, subject: &str) -> String {
    upstream.run_dated(&["commit", "-q", "-m", subject]);
    upstream.git(&["rev-parse", "HEAD"])
}

struct Nest {
    outer: Upstream,
    inner: Upstream,
    /// The commits of `outer`; the second moves the submodule and nothing else.
    pins: [String; 2],
    /// The commits of `inner` that they name.
    named: [String; 2],
}

/// `outer` has `inner` at `lib/inner`, first at one commit and then at a later one.
fn nest() -> Nest {
    let mut inner = Upstream::new();
    let first = inner
        .commit("inner: start", &[("include/inner.h", HEADER), ("README", "inner\n"), ("old.h", "old\n")]);
    let second =
        inner.commit("inner: four is 4", &[("include/inner.h", &HEADER.replace("four", "four = 4"))]);
    let mut outer = Upstream::new();
    outer.commit("outer: start", &[("src/main.cu", "#include <inner.h>\n")]);
    let pins = [&first, &second].map(|named| {
        put(&outer, "lib/inner", "../inner.git", named);
        commit(&mut outer, "outer: move inner")
    });
    Nest { outer, inner, pins, named: [first, second] }
}

fn declared(inner: &Upstream, overlays: &str) -> String {
    format!(
        "\n[[upstream.submodule]]\npath = \"lib/inner\"\nurl = \"{}\"\n{overlays}",
        inner.path().display()
    )
}

const PATCH: &str = "--- a/lib/inner/include/inner.h\n+++ b/lib/inner/include/inner.h\n@@ -1,3 +1,3 @@\n int one;\n-int two;\n+int two = 2;\n int three;\n";

/// Overlays in the submodule and outside.
fn overlays(base: &str) -> String {
    format!(
        "\n[[overlay]]\nname = \"two\"\nbase = \"{base}\"\npatch = \"two.patch\"\n\
         [[overlay]]\nname = \"own\"\nbase = \"{base}\"\nfiles = [\"lib/inner/README\", \"lib/inner/new.h\", \"src/main.cu\"]\n\
         [[overlay]]\nname = \"no-old\"\nbase = \"{base}\"\ndelete = [\"lib/inner/old.h\"]\n"
    )
}

fn project(nest: &Nest, pin: &str, base: &str) -> Project {
    let project = Project::on(&nest.outer, pin, &declared(&nest.inner, &overlays(base)));
    project.write("overlays/up/two.patch", PATCH);
    project.write("overlays/up/lib/inner/README", "ours\n");
    project.write("overlays/up/lib/inner/new.h", "new\n");
    project.write("overlays/up/src/main.cu", "#include <inner.h>\nint main() {}\n");
    project
}

fn read(project: &Project, path: &str) -> String {
    std::fs::read_to_string(project.tree().join(path)).unwrap_or_else(|error| format!("{path}: {error}"))
}

#[test]
fn its_files_are_in_the_tree_and_overlays_reach_into_it() {
    let nest = nest();
    let project = project(&nest, &nest.pins[0], &nest.pins[0]);
    project.run(&["apply"]).expect(0);
    assert_eq!(read(&project, "lib/inner/include/inner.h"), HEADER.replace("two", "two = 2"));
    assert_eq!(read(&project, "lib/inner/README"), "ours\n");
    assert_eq!(read(&project, "lib/inner/new.h"), "new\n");
    assert!(!project.tree().join("lib/inner/old.h").exists());
    let run = project.run(&["apply"]).expect(0);
    assert!(run.stdout.contains("nothing to do"), "{}", run.stdout);
    project.run(&["verify"]).expect(0);

    // Each of its files is hashed.
    std::fs::write(project.tree().join("lib/inner/include/inner.h"), "edited\n").unwrap();
    let run = project.run(&["verify"]).expect(1);
    assert!(
        run.stdout.contains("lib/inner/include/inner.h in the tree is not what overlay `two` makes of it"),
        "{}",
        run.stdout
    );

    project.run(&["restore", "--force"]).expect(0);
    for path in ["include/inner.h", "README", "old.h"] {
        let upstream = nest.inner.show(&nest.named[0], path);
        assert_eq!(read(&project, &format!("lib/inner/{path}")).as_bytes(), upstream, "{path}");
    }
    assert!(!project.tree().join("lib/inner/new.h").exists());
}

#[test]
fn status_and_diff_measure_against_the_submodules_history() {
    let nest = nest();
    let project = project(&nest, &nest.pins[1], &nest.pins[0]);
    let document = project.run(&["--json", "status"]).expect(0).json();
    let states: Vec<String> = document["overlays"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|overlay| overlay["paths"].as_array().unwrap())
        .map(|path| format!("{} {}", path["path"].as_str().unwrap(), path["state"].as_str().unwrap()))
        .collect();
    // The pin moved the submodule, which changed another line of the header.
    assert!(states.contains(&"lib/inner/include/inner.h stale-clean".to_owned()), "{states:?}");
    assert!(states.contains(&"lib/inner/README fresh".to_owned()), "{states:?}");
    assert!(states.contains(&"lib/inner/new.h new".to_owned()), "{states:?}");
    let run = project.run(&["diff", "two"]).expect(1);
    assert!(run.stdout.contains("int two = 2;"), "{}", run.stdout);
}

#[test]
fn a_whole_file_names_the_submodules_commits_that_it_undoes() {
    let nest = nest();
    let overlay = format!(
        "\n[[overlay]]\nname = \"ours\"\nbase = \"{}\"\nfiles = [\"lib/inner/include/inner.h\"]\n",
        nest.pins[0]
    );
    let project = Project::on(&nest.outer, &nest.pins[1], &declared(&nest.inner, &overlay));
    project.write("overlays/up/lib/inner/include/inner.h", HEADER.replace("one", "one = 1"));
    let document = project.run(&["--json", "status"]).expect(0).json();
    let path = &document["overlays"][0]["paths"][0];
    assert_eq!(path["state"], "stale-clean");
    assert!(path["undoes"].to_string().contains(&nest.named[1]), "{path}");
}

#[test]
fn the_pin_moves_the_submodule() {
    let nest = nest();
    let project = project(&nest, &nest.pins[0], &nest.pins[0]);
    project.run(&["apply"]).expect(0);
    project.write(
        "manifests/up.toml",
        manifest(&nest.outer, &nest.pins[1], &declared(&nest.inner, &overlays(&nest.pins[0]))),
    );
    project.run(&["apply"]).expect(0);
    let moved = HEADER.replace("two", "two = 2").replace("four", "four = 4");
    assert_eq!(read(&project, "lib/inner/include/inner.h"), moved);
    assert_eq!(read(&project, "lib/inner/README"), "ours\n");
}

#[test]
fn declaring_one_later_fills_its_folder_and_undeclaring_empties_it() {
    let nest = nest();
    let plain = |more: &str| manifest(&nest.outer, &nest.pins[0], more);
    let project = Project::new();
    project.write("manifests/up.toml", plain(""));
    let run = project.run(&["apply"]).expect(0);
    assert!(
        run.stderr.contains("submodule lib/inner: not in the manifest, so it stays empty"),
        "{}",
        run.stderr
    );
    assert_eq!(std::fs::read_dir(project.tree().join("lib/inner")).unwrap().count(), 0);

    project.write("manifests/up.toml", plain(&declared(&nest.inner, "")));
    project.run(&["apply"]).expect(0);
    assert_eq!(read(&project, "lib/inner/README"), "inner\n");
    project.run(&["verify", "--strict"]).expect(0);

    project.write("manifests/up.toml", plain(""));
    project.run(&["apply"]).expect(0);
    assert!(project.tree().join("lib/inner").is_dir());
    assert_eq!(std::fs::read_dir(project.tree().join("lib/inner")).unwrap().count(), 0);
    project.run(&["verify"]).expect(0);
}

#[test]
fn an_undeclared_one_is_a_finding_with_the_lines_to_add() {
    let nest = nest();
    let project = Project::on(&nest.outer, &nest.pins[0], "");
    let document = project.run(&["--json", "verify"]).expect(0).json();
    let findings = document["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["code"] == "submodule-undeclared").unwrap();
    assert_eq!(finding["severity"], "warning");
    assert_eq!(finding["path"], "lib/inner");
    assert!(finding["notes"][0].as_str().unwrap().contains(&nest.named[0]), "{finding}");
    // The url is relative to the upstream's.
    let url = nest.outer.path().with_file_name("inner.git");
    let lines = format!("[[upstream.submodule]]\npath = \"lib/inner\"\nurl  = \"{}\"", url.display());
    assert!(finding["hint"].as_str().unwrap().contains(&lines), "{finding}");
    // What the hint says is what a manifest takes.
    std::fs::rename(nest.inner.path(), &url).unwrap();
    project.write("manifests/up.toml", manifest(&nest.outer, &nest.pins[0], &format!("\n{lines}\n")));
    project.run(&["apply"]).expect(0);
    assert_eq!(read(&project, "lib/inner/README"), "inner\n");
    std::fs::rename(&url, nest.inner.path()).unwrap();
}

#[test]
fn one_that_the_pin_does_not_have_is_a_finding() {
    let nest = nest();
    let more = declared(&nest.inner, "").replace("lib/inner", "lib/other");
    let project = Project::on(&nest.outer, &nest.pins[0], &more);
    let run = project.run(&["verify"]).expect(1);
    assert!(
        run.stdout.contains("error[submodule-absent]: the pin has no submodule at lib/other"),
        "{}",
        run.stdout
    );
    project.run(&["apply"]).expect(0);
}

#[test]
fn an_overlay_in_an_undeclared_one_is_refused_with_what_to_do() {
    let nest = nest();
    let project = Project::on(&nest.outer, &nest.pins[0], &overlays(&nest.pins[0]));
    project.write("overlays/up/two.patch", PATCH);
    for path in ["lib/inner/README", "lib/inner/new.h", "src/main.cu"] {
        project.write(&format!("overlays/up/{path}"), "ours\n");
    }
    let run = project.run(&["apply"]).expect(3);
    let said = "lies in the submodule lib/inner, which the manifest does not declare";
    assert!(
        run.stderr.contains(said) && run.stderr.contains("hint: declare the submodule"),
        "{}",
        run.stderr
    );
    let run = project.run(&["verify"]).expect(1);
    assert!(run.stdout.contains("warning[submodule-undeclared]"), "{}", run.stdout);
}

#[test]
fn a_commit_that_is_not_there_is_fetched_alone_and_offline_says_where_to_get_it() {
    let nest = nest();
    let clone = tempfile::tempdir().unwrap();
    let inner = clone.path().join("inner");
    // A clone that has the first commit only.
    git(clone.path(), &["init", "-q", "-b", "main", "inner"]);
    git(&inner, &["fetch", "-q", nest.inner.path().to_str().unwrap(), &nest.named[0]]);
    git(&inner, &["update-ref", "refs/heads/main", &nest.named[0]]);
    let mut project = project(&nest, &nest.pins[1], &nest.pins[1]);
    project.set("OVERLAID_UPSTREAM_UP_LIB_INNER", &inner);
    let run = project.run(&["--offline", "apply"]).expect(4);
    assert!(
        run.stderr.contains("error[missing-submodule]: the submodule lib/inner at commit"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains(&nest.named[1]), "{}", run.stderr);
    assert!(run.stderr.contains("OVERLAID_UPSTREAM_UP_LIB_INNER=DIR"), "{}", run.stderr);
    // The URL in the manifest has it; the clone is not written to.
    project.run(&["apply"]).expect(0);
    assert_eq!(
        git(&inner, &["cat-file", "--batch-check", "--batch-all-objects"]).matches("commit").count(),
        1
    );
    project.run(&["--offline", "verify"]).expect(0);
}

#[test]
fn by_url_it_has_a_cache_of_its_own() {
    let nest = nest();
    let url = format!("file://{}", nest.inner.path().display());
    let more = format!("\n[[upstream.submodule]]\npath = \"lib/inner\"\nurl = \"{url}\"\n");
    let project = Project::on(&nest.outer, &nest.pins[1], &more);
    project.run(&["apply"]).expect(0);
    assert_eq!(read(&project, "lib/inner/include/inner.h"), HEADER.replace("four", "four = 4"));
    let caches = std::fs::read_dir(project.path().join("cache/overlaid/upstreams")).unwrap();
    let names: Vec<String> = caches.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(
        names.iter().any(|name| name.starts_with("up-lib-inner-") && name.ends_with(".git")),
        "{names:?}"
    );
    std::fs::rename(nest.inner.path(), nest.inner.path().with_extension("gone")).unwrap();
    project.run(&["--offline", "verify"]).expect(0);
    std::fs::rename(nest.inner.path().with_extension("gone"), nest.inner.path()).unwrap();
}

#[test]
fn a_helper_is_never_run() {
    let nest = nest();
    for url in ["ext::sh -c touch% ran", "--upload-pack=touch ran", "https+x://example.org/a"] {
        let more = format!("\n[[upstream.submodule]]\npath = \"lib/inner\"\nurl = \"{url}\"\n");
        let project = Project::on(&nest.outer, &nest.pins[0], &more);
        let run = project.run(&["apply"]);
        assert!(run.code == 2 || run.code == 4, "{run:?}");
        assert!(!project.path().join("ran").exists() && !nest.outer.path().join("ran").exists());
    }
    // What .gitmodules says is never fetched, and its `update` is never run.
    let mut outer = Upstream::new();
    outer.commit("start", &[("a", "a\n")]);
    let text = "[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c touch% ran\n\tupdate = !touch ran\n";
    std::fs::write(outer.path().join(".gitmodules"), text).unwrap();
    git(outer.path(), &["add", ".gitmodules"]);
    git(outer.path(), &["update-index", "--add", "--cacheinfo", &format!("160000,{},x", nest.named[0])]);
    let pin = commit(&mut outer, "x");
    let project = Project::on(&outer, &pin, "");
    project.run(&["apply"]).expect(0);
    project.run(&["verify"]).expect(0);
    assert!(!project.path().join("ran").exists() && !project.tree().join("ran").exists());
}

#[test]
fn one_in_another_is_read_if_both_are_declared() {
    let nest = nest();
    let mut top = Upstream::new();
    top.commit("top", &[("top.cu", "top\n")]);
    put(&top, "deps/outer", "../outer.git", &nest.pins[0]);
    let pin = commit(&mut top, "outer");
    let module = |path: &str, of: &Upstream| {
        format!("\n[[upstream.submodule]]\npath = \"{path}\"\nurl = \"{}\"\n", of.path().display())
    };
    let outer = module("deps/outer", &nest.outer);
    let project = Project::on(&top, &pin, &outer);
    let document = project.run(&["--json", "verify"]).expect(0).json();
    let undeclared: Vec<&str> = document["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["code"] == "submodule-undeclared")
        .map(|finding| finding["path"].as_str().unwrap())
        .collect();
    assert_eq!(undeclared, ["deps/outer/lib/inner"]);

    let inner = module("deps/outer/lib/inner", &nest.inner);
    let overlay = format!(
        "\n[[overlay]]\nname = \"deep\"\nbase = \"{pin}\"\nfiles = [\"deps/outer/lib/inner/README\"]\n"
    );
    project.write("manifests/up.toml", manifest(&top, &pin, &format!("{inner}{outer}{overlay}")));
    project.write("overlays/up/deps/outer/lib/inner/README", "deep\n");
    project.run(&["apply"]).expect(0);
    assert_eq!(read(&project, "deps/outer/lib/inner/include/inner.h"), HEADER);
    assert_eq!(read(&project, "deps/outer/lib/inner/README"), "deep\n");
    assert_eq!(read(&project, "deps/outer/src/main.cu"), "#include <inner.h>\n");
    project.run(&["verify", "--strict"]).expect(0);
}

#[test]
fn the_tree_is_what_git_checks_out_recursively() {
    let nest = nest();
    let project = Project::on(&nest.outer, &nest.pins[1], &declared(&nest.inner, ""));
    project.run(&["apply"]).expect(0);
    let checkout = project.path().join("checkout");
    let url = nest.inner.path().display().to_string();
    let protocol = ["-c", "protocol.file.allow=always"];
    git(project.path(), &["clone", "-q", nest.outer.path().to_str().unwrap(), "checkout"]);
    git(&checkout, &["checkout", "-q", &nest.pins[1]]);
    git(&checkout, &["config", "submodule.lib/inner.url", &url]);
    git(&checkout, &[&protocol[..], &["submodule", "-q", "update"][..]].concat());
    let run = crate::support::command("diff")
        .args(["-r", "-x", ".git", "-x", ".overlaid"])
        .args([&checkout, &project.tree()])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
}

#[test]
fn a_lock_reaches_into_it() {
    let nest = nest();
    let project = project(&nest, &nest.pins[0], &nest.pins[0]);
    project.run(&["lock"]).expect(0);
    let lock = project.read("manifests/up.lock");
    assert!(lock.contains(&format!("submodule {} lib/inner\n", nest.named[0])), "{lock}");
    project.run(&["verify", "--locked"]).expect(0);
    // A tree as somebody else makes it, and nothing of git.
    let dir = project.path().join("theirs");
    let all: [(&Upstream, &str, &Path); 2] =
        [(&nest.outer, &nest.pins[0], &dir), (&nest.inner, &nest.named[0], &dir.join("lib/inner"))];
    for (upstream, commit, to) in all {
        std::fs::create_dir_all(to).unwrap();
        let index = project.path().join("index");
        let _ = std::fs::remove_file(&index);
        let tree = ["--work-tree", to.to_str().unwrap()];
        let output = crate::support::command("git")
            .current_dir(upstream.path())
            .env("GIT_INDEX_FILE", &index)
            .args(tree)
            .args(["checkout", "-q", "-f", commit, "--", "."])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    let empty = project.path().join("none");
    std::fs::create_dir(&empty).unwrap();
    for upstream in [&nest.outer, &nest.inner] {
        std::fs::rename(upstream.path(), upstream.path().with_extension("gone")).unwrap();
    }
    let output =
        project.command(&["--offline", "apply", "--tree", "theirs"]).env("PATH", &empty).output().unwrap();
    for upstream in [&nest.outer, &nest.inner] {
        std::fs::rename(upstream.path().with_extension("gone"), upstream.path()).unwrap();
    }
    assert!(output.status.success(), "{output:?}");
    let header = std::fs::read_to_string(dir.join("lib/inner/include/inner.h")).unwrap();
    assert_eq!(header, HEADER.replace("two", "two = 2"));
    assert!(!dir.join("lib/inner/old.h").exists());

    // The pin moves the submodule, and with it the lock.
    let moved = declared(&nest.inner, &overlays(&nest.pins[0]));
    project.write("manifests/up.toml", manifest(&nest.outer, &nest.pins[1], &moved));
    let run = project.run(&["verify", "--locked"]).expect(1);
    assert!(run.stdout.contains("error[lock-stale]"), "{}", run.stdout);
    project.run(&["lock"]).expect(0);
    assert!(project.read("manifests/up.lock").contains(&format!("submodule {} lib/inner\n", nest.named[1])));
}

#[test]
fn a_backport_may_move_it() {
    let nest = nest();
    let overlay = format!(
        "\n[[overlay]]\nname = \"ahead\"\nbase = \"{}\"\nfrom = {{ commits = [\"{}\"] }}\n",
        nest.pins[0], nest.pins[1]
    );
    let project = Project::on(&nest.outer, &nest.pins[0], &declared(&nest.inner, &overlay));
    project.run(&["apply"]).expect(0);
    assert_eq!(read(&project, "lib/inner/include/inner.h"), HEADER.replace("four", "four = 4"));
}

#[test]
fn a_relative_url_means_what_git_takes_it_for() {
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q"]);
    git(dir.path(), &["update-index", "--add", "--cacheinfo", &format!("160000,{},x", "1".repeat(40))]);
    for (upstream, url) in [
        ("https://example.org/org/up.git", "../b.git"),
        ("https://example.org/org/up.git/", "../../other/b"),
        ("https://example.org/org/up", "./b"),
        ("git@example.org:org/up.git", "../b.git"),
        ("git@example.org:org/up.git", "../../b.git"),
        ("/srv/deep/up", "../b"),
        ("ssh://git@example.org:22/a/b", "../../c"),
        ("https://example.org/org/up", "git://other/x"),
    ] {
        let text = format!("[submodule \"x\"]\n\tpath = x\n\turl = {url}\n");
        std::fs::write(dir.path().join(".gitmodules"), &text).unwrap();
        git(dir.path(), &["config", "remote.origin.url", upstream]);
        let _ = crate::support::command("git")
            .current_dir(dir.path())
            .args(["config", "--unset", "submodule.x.url"])
            .output();
        git(dir.path(), &["submodule", "-q", "init"]);
        let expected = git(dir.path(), &["config", "submodule.x.url"]);
        let found = overlaid::gitmodules::urls(&text, upstream);
        assert_eq!(found["x"], expected, "{url} at {upstream}");
    }
}

#[test]
fn a_base_whose_submodule_commit_is_missing_stops_no_apply_and_says_so() {
    let nest = nest();
    let clone = tempfile::tempdir().unwrap();
    let inner = clone.path().join("inner");
    let url = format!("file://{}", nest.inner.path().display());
    git(clone.path(), &["clone", "-q", "--depth", "1", &url, "inner"]);
    let mut project = project(&nest, &nest.pins[1], &nest.pins[0]);
    project.set("OVERLAID_UPSTREAM_UP_LIB_INNER", &inner);
    project.run(&["--offline", "apply"]).expect(0);
    let document = project.run(&["--offline", "--json", "status"]).expect(0).json();
    assert_eq!(document["overlays"][0]["state"], "unknown", "{document}");
    let reasons = document.to_string();
    let said = format!("commit {} of the submodule lib/inner", nest.named[0]);
    assert!(reasons.contains(&said), "{reasons}");
}
