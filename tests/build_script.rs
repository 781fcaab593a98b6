//! `examples/cargo-rowops`, built by cargo: what makes its build script run again, and how errors look.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::support::{Project, Run, command, write};

/// The examples share a target folder, and so the place of the program: one of them at a time.
static ONE: Mutex<()> = Mutex::new(());

/// A copy of the example with its tree filled. What cargo builds is kept from run to run.
struct Example {
    dir: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

impl Example {
    fn new(name: &str) -> Self {
        let alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let top = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo-rowops");
        let dir = top.join(name);
        let _ = std::fs::remove_dir_all(&dir);
        let example = here.join("examples/cargo-rowops");
        let walk = walkdir::WalkDir::new(&example).into_iter();
        let walk = walk.filter_entry(|entry| {
            !matches!(entry.file_name().to_str(), Some("target" | "rowops"))
                || entry.path().parent() != Some(&example)
        });
        for entry in walk.map(Result::unwrap).filter(|entry| entry.file_type().is_file()) {
            let to = dir.join(entry.path().strip_prefix(&example).unwrap());
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(entry.path(), &to).unwrap();
        }
        let toml = std::fs::read_to_string(dir.join("Cargo.toml")).unwrap();
        write(
            &dir.join("Cargo.toml"),
            toml.replace("\"../..\"", &format!("{:?}", here.display().to_string())),
        );
        let populate = std::fs::read_to_string(dir.join("populate")).unwrap();
        let make = here.join("examples/rowops/make-repository");
        write(
            &dir.join("populate"),
            populate.replace("../rowops/make-repository", &make.display().to_string()),
        );
        let filled =
            command("sh").arg(dir.join("populate")).arg(top.join(format!("{name}.git"))).output().unwrap();
        assert!(filled.status.success(), "{filled:?}");
        let example = Self { dir, _alone: alone };
        example.replace("manifests/rowops.toml", "../../target/rowops.git", &format!("../{name}.git"));
        example.overlaid(&["lock"]).expect(0);
        example
    }

    fn replace(&self, file: &str, from: &str, to: &str) {
        let path = self.dir.join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        write(&path, text.replace(from, to));
    }

    fn overlaid(&self, args: &[&str]) -> Run {
        let project = Project::new();
        let dir = self.dir.display().to_string();
        let all: Vec<&str> = ["-C", &dir].into_iter().chain(args.iter().copied()).collect();
        project.run(&all)
    }

    fn cargo(&self, args: &[&str]) -> Run {
        let mut cargo = command(env!("CARGO"));
        for name in ["HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
            if let Some(value) = std::env::var_os(name) {
                cargo.env(name, value);
            }
        }
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo-rowops/target");
        cargo.current_dir(&self.dir).env("CARGO_TARGET_DIR", target).env("CARGO_TERM_COLOR", "never");
        let output = cargo.args(args).args(["--offline", "--verbose"]).output().expect("cargo starts");
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Builds and runs; gives the first line that the program prints, and whether anything was built for it.
    #[track_caller]
    fn says(&self, features: &str) -> (String, bool) {
        let run = self.cargo(&["run", "--features", features]).expect(0);
        let is_fresh = run.stderr.contains("Fresh rowops-app");
        (run.stdout.lines().next().unwrap_or_default().to_owned(), !is_fresh)
    }

    /// What cargo says of a build that fails.
    #[track_caller]
    fn fails(&self) -> String {
        let run = self.cargo(&["build"]).expect(101);
        assert!(!run.stderr.contains('\u{1b}') && !run.stderr.contains("panicked"), "{}", run.stderr);
        let errors = run.stderr.lines().filter(|line| line.starts_with("error: rowops-app@0.1.0: "));
        let errors: Vec<&str> = errors.map(|line| &line["error: rowops-app@0.1.0: ".len()..]).collect();
        errors.join("\n")
    }
}

fn built(text: &str) -> (String, bool) {
    (text.to_owned(), true)
}

fn fresh(text: &str) -> (String, bool) {
    (text.to_owned(), false)
}

#[test]
fn an_edit_of_an_overlay_builds_again_and_nothing_else_does() {
    let example = Example::new("edits");
    assert_eq!(example.says(""), built("argmax 5, logsumexp 4.20"));
    assert_eq!(example.says(""), fresh("argmax 5, logsumexp 4.20"));
    example.replace("overlays/rowops/include/rowops/app_scale.h", "1.0f", "2.0f");
    assert_eq!(example.says(""), built("argmax 5, logsumexp 8.40"));
    assert_eq!(example.says(""), fresh("argmax 5, logsumexp 8.40"));
    // A file that no overlay names is not watched, and neither is one of upstream's.
    write(&example.dir.join("overlays/rowops/README.md"), "notes\n");
    write(&example.dir.join("rowops/README.md"), "notes\n");
    assert_eq!(example.says(""), fresh("argmax 5, logsumexp 8.40"));
    // Without the overlay, upstream's bytes are back.
    example.replace(
        "manifests/rowops.toml",
        "name   = \"argmax-first-index\"",
        "name   = \"argmax-first-index\"\nwhen = [\"off\"]",
    );
    let (said, is_built) = example.says("");
    assert!(is_built && said.starts_with("argmax "), "{said}");
    let upstreams = std::fs::read_to_string(example.dir.join("rowops/src/argmax.cu")).unwrap();
    assert!(upstreams.contains("int at = 0;"));
}

#[test]
fn a_feature_of_cargo_turns_an_overlay_on() {
    let example = Example::new("features");
    assert_eq!(example.says("").0, "argmax 5, logsumexp 4.20");
    assert_eq!(example.says("exact"), built("argmax 5, logsumexp 4.15"));
    assert_eq!(example.says("exact"), fresh("argmax 5, logsumexp 4.15"));
    assert!(!example.dir.join("rowops/cmake/options/logsumexp.cmake").exists());
}

#[test]
fn a_new_file_that_a_glob_matches_builds_again() {
    let example = Example::new("globs");
    assert!(example.says("").1);
    write(&example.dir.join("overlays/rowops/include/rowops/app_more.h"), "#pragma once\n");
    let run = example.cargo(&["build"]).expect(0);
    assert!(example.dir.join("rowops/include/rowops/app_more.h").is_file(), "{}", run.stderr);
    assert!(run.stderr.contains("write it anew: overlaid lock"), "{}", run.stderr);
    assert!(!example.says("").1);
}

#[test]
fn what_is_wrong_reads_well_behind_the_words_of_cargo() {
    let example = Example::new("errors");
    example.replace("manifests/rowops.toml", "reason = \"Headers", "raeson = \"Headers");
    let said = example.fails();
    assert!(said.starts_with("manifests/rowops.toml:18:1: "), "{said}");
    assert!(said.contains("raeson") && said.contains("hint: "), "{said}");
    example.replace("manifests/rowops.toml", "raeson", "reason");

    example.replace("manifests/rowops.toml", "app_*.h", "app_*.hpp");
    let said = example.fails();
    assert!(said.starts_with("manifests/rowops.toml:20:"), "{said}");
    example.replace("manifests/rowops.toml", "app_*.hpp", "app_*.h");

    // What a run wrote is watched from the next run on.
    assert!(example.says("").1);
    example.replace("overlays/rowops/include/rowops/app_scale.h", "1.0f", "2.0f");
    assert!(example.says("").1);
    write(&example.dir.join("rowops/src/argmax.cu"), "// mine\n");
    let said = example.fails();
    assert!(said.contains("rowops/src/argmax.cu: local edit"), "{said}");
    assert!(said.contains("/rowops --force`"), "{said}");
    assert_eq!(std::fs::read_to_string(example.dir.join("rowops/src/argmax.cu")).unwrap(), "// mine\n");

    std::fs::remove_dir_all(example.dir.join("rowops")).unwrap();
    let said = example.fails();
    assert!(said.contains("there is no tree at"), "{said}");
    assert!(said.contains("/rowops` with the pin's sources first"), "{said}");
    assert!(!said.contains("overlaid apply`: "), "a path that reads as an argument: {said}");
    std::fs::remove_file(example.dir.join("manifests/rowops.lock")).unwrap();
    let said = example.fails();
    assert!(said.contains("there is no lock file `manifests/rowops.lock`"), "{said}");
    std::fs::remove_file(example.dir.join("manifests/rowops.toml")).unwrap();
    let said = example.fails();
    let path = format!("there is no manifest `{}`", example.dir.join("manifests/rowops.toml").display());
    assert!(said.starts_with(&path), "{said}");
    let start =
        format!("`Script::new` starts at the package, `{}`; with .root(...), at that", example.dir.display());
    assert!(said.contains(&start), "{said}");
}

/// The names in a folder, ours too.
fn names(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn a_submodule_that_is_not_checked_out_stays_empty() {
    let example = Example::new("unfilled");
    let tree = example.dir.join("rowops");
    std::fs::remove_dir_all(&tree).unwrap();
    std::fs::create_dir(&tree).unwrap();
    let said = example.fails();
    assert!(said.contains("/rowops`: the folder is empty"), "{said}");
    assert!(said.contains("/rowops` with the pin's sources first"), "{said}");
    assert_eq!(names(&tree), [""; 0]);
    write(&example.dir.join(".gitmodules"), "[submodule \"x\"]\n\tpath = rowops\n\turl = x\n");
    let said = example.fails();
    assert!(said.contains("/rowops`: the submodule is not checked out"), "{said}");
    assert!(said.contains("hint: check it out: git submodule update --init rowops"), "{said}");
    assert_eq!(names(&tree), [""; 0]);
}

#[test]
fn another_commit_and_features_that_nothing_names_are_warnings() {
    let example = Example::new("warnings");
    example.replace("build.rs", ".apply()", ".feature(\"exatc\").apply()");
    let run = example.cargo(&["build"]).expect(0);
    let said = "warning: rowops-app@0.1.0: .feature: no overlay, profile or exclusive group names `exatc`; the \
                manifest has: exact";
    assert!(run.stderr.contains(said), "{}", run.stderr);
    assert!(!run.stderr.contains("is at commit"), "{}", run.stderr);
    example.replace("build.rs", ".feature(\"exatc\")", "");

    // The tree is at another commit, where the overlaid files are as they were.
    let head = example.dir.join("rowops/.git/HEAD");
    let other = "1".repeat(40);
    write(&head, format!("{other}\n"));
    let run = example.cargo(&["build"]).expect(0);
    assert!(run.stderr.contains(&format!("/rowops` is at commit {other}, the pin is ")), "{}", run.stderr);
    assert!(run.stderr.contains(&format!("overlaid bump --to {other})")), "{}", run.stderr);
    assert!(!run.stderr.contains("no overlay, profile"), "{}", run.stderr);
    // It is watched.
    let manifest = std::fs::read_to_string(example.dir.join("manifests/rowops.toml")).unwrap();
    let pin = manifest.lines().find_map(|line| line.strip_prefix("pin ")).unwrap();
    let pin = pin.trim_matches(|c: char| !c.is_ascii_hexdigit());
    write(&head, format!("{pin}\n"));
    let run = example.cargo(&["build"]).expect(0);
    assert!(!run.stderr.contains("is at commit"), "{}", run.stderr);
    // An edit there is named with the commit, not taken for an edit.
    write(&head, format!("{other}\n"));
    write(&example.dir.join("rowops/src/argmax.cu"), "// theirs\n");
    let said = example.fails();
    assert!(said.contains("rowops/src/argmax.cu: local edit"), "{said}");
    assert!(said.contains("git -C ") && !said.contains("make an overlay of the edit"), "{said}");
}

#[test]
fn each_file_is_watched_once() {
    let example = Example::new("watched");
    assert!(example.says("").1);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo-rowops/target/debug/build");
    let outputs = std::fs::read_dir(target).unwrap().map(|entry| entry.unwrap().path().join("output"));
    let mine = format!("cargo::rerun-if-changed={}/manifests/", example.dir.display());
    let outputs: Vec<String> = outputs.filter_map(|file| std::fs::read_to_string(file).ok()).collect();
    let output = outputs.iter().find(|text| text.contains(&mine)).unwrap();
    let mut watched: Vec<&str> = output.lines().filter(|line| line.starts_with("cargo::rerun-if")).collect();
    let all = watched.len();
    watched.sort_unstable();
    watched.dedup();
    assert_eq!(watched.len(), all, "{output}");
}

#[test]
fn a_member_of_a_workspace_finds_the_manifest_of_the_repository_above() {
    let example = Example::new("member");
    let moved = example.dir.join("crates/app");
    std::fs::create_dir_all(&moved).unwrap();
    for name in ["build.rs", "src", "Cargo.toml", "Cargo.lock"] {
        std::fs::rename(example.dir.join(name), moved.join(name)).unwrap();
    }
    example.replace("crates/app/build.rs", "\"manifests/", "\"../../manifests/");
    let member = Example { dir: moved.clone(), ..example };
    assert_eq!(member.says("").0, "argmax 5, logsumexp 4.20");
    // A root that is named is what the manifest's path is relative to, and is named where nothing is found.
    member.replace(
        "build.rs",
        "(\"../../manifests/rowops.toml\")",
        "(\"manifests/rowops.toml\").root(\"../..\")",
    );
    assert!(member.says("").1);
    let overlays = moved.join("../../overlays/rowops");
    std::fs::rename(overlays.join("include"), overlays.join("other")).unwrap();
    let said = member.fails();
    let folder = format!("matches nothing under `{}`", overlays.display());
    assert!(said.contains(&folder), "{said}");
    member.replace("build.rs", ".root(\"../..\")", ".root(\"..\")");
    let said = member.fails();
    let root = format!("starts at .root(...): `{}`", moved.join("..").display());
    assert!(said.contains("there is no manifest `") && said.contains(&root), "{said}");
}
