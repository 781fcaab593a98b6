//! `build`, `test`, `prove`: real builds, real processes, real evidence.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::planted::{Kind, Scene, Situation, Truth, case_file, test_table};
use crate::support::{Project, Run, Upstream, git};

/// What a run said that it does: lines that begin with `build` or `run`.
fn work(run: &Run) -> Vec<String> {
    let is_work = |line: &&str| line.starts_with("build ") || line.starts_with("run ");
    run.stderr.lines().filter(is_work).map(ToOwned::to_owned).collect()
}

/// A fault that is still there, and an overlay `fix` that mends it.
fn fault(does: &str) -> Situation {
    let mut scene = Scene::new(&[("hero", does), ("other", "good")], &[("unread", "1\n")]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("fix", Kind::Patch, "hero", does, "good");
    scene.done(does.to_owned(), &pin, &[("fix", Truth::Is("needed"))])
}

fn evidence(project: &Project) -> Vec<PathBuf> {
    let folder = project.path().join("docs/upstream/evidence");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .map(|dir| dir.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default();
    files.sort();
    files
}

#[test]
fn what_was_proven_is_not_run_again_until_something_it_depends_on_changes() {
    let situation = fault("wrong");
    let project = &situation.project;
    let first = project.run(&["prove"]).expect(0);
    assert!(!work(&first).is_empty());
    let files = evidence(project);
    assert_eq!(files.len(), 2, "{files:?}");

    // From the records, and given at once: the same words.
    std::fs::remove_dir_all(project.path().join(".overlaid/lab/up/answers")).unwrap();
    for _ in 0..2 {
        let again = project.run(&["prove"]).expect(0);
        assert_eq!(work(&again), Vec::<String>::new());
        assert_eq!(again.stdout, first.stdout);
        assert_eq!(evidence(project), files);
    }

    // A reason, a link: nothing to run.
    let manifest = project.read("manifests/up.toml").replace("\"planted\"", "\"planted by hand\"");
    project.write("manifests/up.toml", &manifest);
    assert_eq!(work(&project.run(&["prove"]).expect(0)), Vec::<String>::new());

    // The test itself: everything.
    let script = project.read("tests/check/check.sh");
    project.write("tests/check/check.sh", format!("{script}# another line\n"));
    assert!(!work(&project.run(&["prove"]).expect(0)).is_empty());
}

#[test]
fn an_overlay_that_the_test_never_sees_makes_nothing_run_again() {
    let mut scene = Scene::new(&[("hero", "wrong")], &[("unread", "1\n")]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("fix", Kind::Patch, "hero", "wrong", "good");
    scene.overlay("unseen", "files = [\"unread\"]");
    scene.file("overlays/up/unread", "2\n");
    let situation = scene.done(String::new(), &pin, &[]);
    let project = &situation.project;
    project.run(&["prove", "fix"]).expect(0);
    project.write("overlays/up/unread", "3\n");
    let again = project.run(&["prove", "fix"]).expect(0);
    assert_eq!(work(&again), Vec::<String>::new());
    project.write("overlays/up/fix.patch", project.read("overlays/up/fix.patch").replace("+good", "+nan"));
    let again = project.run(&["prove", "fix"]);
    assert_ne!(again.code, 0);
    assert!(!work(&again).is_empty());
}

#[test]
fn a_proven_overlay_gets_its_witness_and_the_manifest_keeps_its_comments() {
    let situation = fault("wrong");
    let project = &situation.project;
    let manifest =
        project.read("manifests/up.toml").replace("[[overlay]]", "# why we have this\n[[overlay]]");
    project.write("manifests/up.toml", &manifest);
    let run = project.run(&["prove"]).expect(0);
    assert!(run.stderr.contains("the pin is now the witness of fix"), "{}", run.stderr);
    let after = project.read("manifests/up.toml");
    let added: Vec<&str> = after.lines().filter(|line| !manifest.lines().any(|old| old == *line)).collect();
    assert_eq!(added.len(), 1, "{after}");
    assert!(added[0].starts_with("witness") && after.contains("# why we have this"), "{after}");
    let again = project.run(&["prove"]).expect(0);
    assert!(!again.stderr.contains("witness"), "{}", again.stderr);
    assert_eq!(project.read("manifests/up.toml"), after);
}

#[test]
fn a_dry_run_says_what_would_run_and_runs_nothing() {
    let situation = fault("wrong");
    let project = &situation.project;
    let run = project.run(&["prove", "--dry-run"]).expect(0);
    assert!(run.stdout.contains("pin without fix") && run.stdout.contains("check"), "{}", run.stdout);
    assert!(!project.path().join(".overlaid/lab").exists());
    assert!(evidence(project).is_empty());
    project.run(&["prove"]).expect(0);
    let run = project.run(&["prove", "--dry-run"]).expect(0);
    assert!(run.stdout.contains("needed") && !run.stdout.contains("would be built"), "{}", run.stdout);
}

#[test]
fn evidence_that_was_edited_says_nothing() {
    let situation = fault("wrong");
    let project = &situation.project;
    project.run(&["prove"]).expect(0);
    for file in evidence(project) {
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("0.5", "0.001")).unwrap();
    }
    let verified = project.run(&["verify"]).expect(1);
    assert!(verified.stdout.contains("error[evidence-edited]"), "{}", verified.stdout);
    let again = project.run(&["prove"]).expect(0);
    assert!(again.stderr.contains("is not used") && again.stderr.contains("edited"), "{}", again.stderr);
    assert!(!work(&again).is_empty());
}

#[test]
fn what_does_harm_stands_before_what_is_needed_for_people_and_the_manifest_s_order_is_for_programs() {
    let mut scene = Scene::new(&[("hero", "wrong"), ("other", "good")], &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("needed-one", Kind::Patch, "hero", "wrong", "good");
    scene.change("bad-one", Kind::Patch, "other", "good", "wrong");
    let situation = scene.done(String::new(), &pin, &[]);
    let project = &situation.project;
    let shown = project.run(&["prove"]).expect(1).stdout;
    let places = [
        "bad-one: harmful",
        "needed-one: needed",
        "overlay     verdict",
        "bad-one     harmful",
        "needed-one  needed",
    ];
    let places = places.map(|line| shown.find(line).unwrap_or_else(|| panic!("{line}: {shown}")));
    assert!(places.is_sorted(), "{shown}");
    let legend = shown.split("\n\n").last().unwrap();
    assert!(legend.starts_with("verdict  harmful  with it cases fail"), "{shown}");
    assert!(legend.contains("needed   without it") && !legend.contains("droppable"), "{shown}");
    let document = project.run(&["prove", "--json"]).json();
    assert_eq!(
        document["overlays"][0]["overlay"].as_str().or(document["overlays"][0]["name"].as_str()),
        Some("needed-one")
    );
}

#[test]
fn one_document_has_all_of_it() {
    let situation = fault("crash");
    let document = situation.project.run(&["prove", "--json"]).expect(0).json();
    assert_eq!(document["schema"], "overlaid.prove.v1");
    let overlay = &document["overlays"][0];
    assert_eq!((&overlay["name"], &overlay["verdict"]), (&"fix".into(), &"needed".into()));
    for key in ["attributed", "fixed", "broken", "unfixed", "silenced", "reasons", "cells"] {
        assert!(overlay[key].is_array(), "{key}: {overlay}");
    }
    assert_eq!(overlay["fixed"][0]["test"], "check");
    assert_eq!(overlay["fixed"][0]["case"], r#"{"n":"hero"}"#);
}

fn is_running(name: &Path) -> bool {
    let name = name.to_string_lossy().into_owned();
    std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).any(|entry| {
        let line = std::fs::read(entry.path().join("environ")).unwrap_or_default();
        let own = entry.file_name().to_string_lossy() == std::process::id().to_string();
        !own && String::from_utf8_lossy(&line).contains(&name)
    })
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_proof_ends_what_it_started_and_goes_on_later() {
    let mut scene = Scene::new(&[("hero", "wrong"), ("slow", "hang")], &[]);
    scene.tests = test_table("check", "60s");
    let pin = scene.commit(&[("mends/slow-0", "good\n")]);
    scene.change("fix", Kind::Patch, "hero", "wrong", "good");
    // Off at first; then the test hangs.
    scene.overlay("slow", "delete = [\"mends/slow-0\"]\nwhen = [\"slow\"]");
    let situation = scene.done(String::new(), &pin, &[]);
    let project = &situation.project;
    let mut child = project
        .command(&["--features", "slow", "prove", "fix"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let marker = project.path().join("state");
    let started = Instant::now();
    let results = project.path().join(format!(".overlaid/lab/up/{pin}/results/check"));
    while !results.exists() && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_millis(300));
    let pid = child.id().to_string();
    // A shell that starts jobs in the background has SIGINT ignored, and so have they.
    let ignored = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored.lines().find_map(|line| line.strip_prefix("SigIgn:")).map(str::trim);
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0);
    let signal = if ignored & 0b10 == 0 { "-INT" } else { "-TERM" };
    assert!(std::process::Command::new("kill").args([signal, &pid]).status().unwrap().success());
    let ended = Instant::now();
    let status = child.wait().unwrap();
    // Soon, and not when the test would have been stopped anyway.
    assert!(ended.elapsed() < Duration::from_secs(45));
    assert_eq!(status.code(), Some(4));
    assert!(!is_running(&marker));
    // Without the slow part it goes on as if nothing had been.
    project.run(&["prove", "fix"]).expect(0);
}

#[test]
fn a_test_that_writes_into_the_tree_is_noticed_and_spoils_nothing() {
    let situation = fault("wrong");
    let project = &situation.project;
    let script = project.read("tests/check/check.sh");
    project.write(
        "tests/check/check.sh",
        script.replace(
            "[ \"$mode\" = nothing ]",
            "echo mine > \"$OVERLAID_TREE/cases/new\"\n[ \"$mode\" = nothing ]",
        ),
    );
    let run = project.run(&["prove"]);
    assert!(run.stderr.contains("writes into the tree"), "{}", run.stderr);
    let tree = std::fs::read_dir(project.path().join(".overlaid/lab/up")).unwrap();
    let tree = tree.map(|entry| entry.unwrap().path().join("tree")).find(|tree| tree.is_dir()).unwrap();
    assert!(!tree.join("cases/new").exists());
}

#[test]
fn tools_and_devices_that_are_not_here_make_it_inconclusive() {
    let situation = fault("wrong");
    let mut project = situation.project;
    let profile = "\n[profile.gpu]\nrequires = \"cuda\"\n";
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", format!("{manifest}{profile}"));
    let run = project.run(&["prove"]).expect(4);
    assert!(run.stdout.contains("inconclusive") && run.stdout.contains("CUDA"), "{}", run.stdout);

    // No CMake, only what the test needs.
    project.write("manifests/up.toml", &manifest);
    let bin = project.path().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for tool in ["sh", "git"] {
        let mut found = std::env::split_paths(&path).map(|dir| dir.join(tool));
        std::os::unix::fs::symlink(found.find(|file| file.is_file()).unwrap(), bin.join(tool)).unwrap();
    }
    project.set("PATH", bin);
    let run = project.run(&["prove"]).expect(4);
    assert!(run.stdout.contains("cmake is not on PATH"), "{}", run.stdout);
}

#[test]
fn several_profiles_and_none_chosen_is_an_error_that_lists_them() {
    let situation = fault("wrong");
    let project = &situation.project;
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", format!("{manifest}\n[profile.one]\n[profile.two]\n"));
    for command in ["build", "test", "prove"] {
        let run = project.run(&[command]).expect(2);
        assert!(run.stderr.contains("--profile one, --profile two"), "{}", run.stderr);
    }
    project.run(&["--profile", "two", "prove"]).expect(0);
}

#[test]
fn a_test_on_several_commits_stands_side_by_side() {
    let mut upstream_cases = Vec::new();
    for n in 0..5 {
        upstream_cases.push((format!("c{n}"), if n == 3 { "wrong" } else { "good" }));
    }
    let cases: Vec<(&str, &str)> = upstream_cases.iter().map(|(name, does)| (name.as_str(), *does)).collect();
    let mut scene = Scene::new(&cases, &[]);
    let parent = git(scene.upstream().path(), &["rev-parse", "HEAD"]);
    let pin = scene.commit(&[("cases/c3", &case_file("c3", "good"))]);
    let situation = scene.done(String::new(), &pin, &[]);
    let run = situation.project.run(&["test", "check", "--at", &format!("{parent},pin")]).expect(1);
    let rows: Vec<Vec<&str>> = run.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["check"]);
    assert_eq!(rows[2][1..4], ["5", "4", "1"], "{}", run.stdout);
    assert_eq!(rows[3][..4], ["pin", "5", "5", "0"], "{}", run.stdout);
    assert!(run.stdout.contains(&format!("fail at {}: n c3", &parent[..10])), "{}", run.stdout);
    situation.project.run(&["test", "--at", "pin"]).expect(0);
    let unknown = situation.project.run(&["test", "nothing"]).expect(2);
    assert!(unknown.stderr.contains("the tests: check"), "{}", unknown.stderr);
}

/// A project whose test is made by rules: `value.sh` from `value` by a rule that names it, or does not.
fn generated(upstream: &Upstream, pin: &str, depends: &str) -> Project {
    let more = "\n[[overlay]]\nname = \"fix\"\nreason = \"ours\"\nfiles = [\"value\"]\ntests = [\"value\"]\n\
                base = \"PIN\"\n\n[[test]]\nname = \"value\"\nproject = \"tests/value\"\nformat = \"exit\"\nrepeats = 1\n\
                command = [\"sh\", \"{build}/run.sh\"]\ntarget = \"value\"\n";
    let project = Project::on(upstream, pin, &more.replace("PIN", pin));
    project.write("overlays/up/value", "exit 0\n");
    project.write("tests/value/run.sh", "dir=$(dirname \"$0\")\n. \"$dir/value.sh\"\n");
    project.write(
        "tests/value/CMakeLists.txt",
        format!(
            "cmake_minimum_required(VERSION 3.20)\nproject(value LANGUAGES NONE)\nconfigure_file(run.sh run.sh COPYONLY)\n\
             add_custom_command(OUTPUT value.sh DEPENDS {depends}\n\
             COMMAND ${{CMAKE_COMMAND}} -E copy \"${{OVERLAID_TREE}}/value\" value.sh)\n\
             add_custom_target(value DEPENDS value.sh)\n"
        ),
    );
    project
}

#[test]
fn what_a_test_loads_from_the_build_folder_is_a_part_of_it() {
    // The program is the same with and without the overlay; what it sources is not.
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("value", "exit 1\n"), ("other", "1\n")]);
    let project = generated(&upstream, &pin, "\"${OVERLAID_TREE}/value\"");
    let run = project.run(&["prove"]).expect(0);
    assert!(run.stdout.contains("needed"), "{}", run.stdout);
    assert_eq!(work(&project.run(&["prove"]).expect(0)), Vec::<String>::new());
}

#[cfg(target_os = "linux")]
#[test]
fn a_rule_that_does_not_say_what_it_reads_does_not_fool_us() {
    // ninja does not know that `value` is read: it would keep what was made from another variant's.
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("value", "exit 1\n"), ("other", "1\n")]);
    let project = generated(&upstream, &pin, "\"${OVERLAID_TREE}/other\"");
    let run = project.run(&["prove"]).expect(0);
    assert!(run.stdout.contains("needed"), "{}", run.stdout);
    assert!(
        run.stderr.contains("the build reads value, and neither CMake nor ninja knows"),
        "{}",
        run.stderr
    );
    assert_eq!(work(&project.run(&["prove"]).expect(0)), Vec::<String>::new());
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_of_ours_that_no_rule_names_counts_all_the_same() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("value", "exit 1\n"), ("other", "1\n")]);
    let project = generated(&upstream, &pin, "\"${OVERLAID_TREE}/value\"");
    let lists = project.read("tests/value/CMakeLists.txt").replace(
        "-E copy \"${OVERLAID_TREE}/value\" value.sh",
        "-E cat \"${CMAKE_CURRENT_SOURCE_DIR}/data\" \"${OVERLAID_TREE}/value\" > value.sh",
    );
    project.write("tests/value/CMakeLists.txt", lists);
    project.write("tests/value/data", "\n");
    project.run(&["prove"]).expect(0);
    // Now it fails whatever the tree has.
    project.write("tests/value/data", "exit 3\n");
    let run = project.run(&["prove"]);
    assert_ne!(run.code, 0, "{}", run.stdout);
    assert!(!work(&run).is_empty(), "{}", run.stderr);
}

#[test]
fn a_program_that_the_target_does_not_make_is_not_run() {
    let (upstream, pin) = library();
    let more = overlay("ours", &pin, "files = [\"c.cpp\"]\ntests = [\"stale\"]");
    let test = "\n[[test]]\nname = \"stale\"\ntarget = \"library\"\nformat = \"exit\"\ncommand = [\"{build}/tool\"]\n";
    let project = Project::on(&upstream, &pin, &format!("{more}{test}"));
    project.write("overlays/up/c.cpp", "int c() { return 30; }\n");
    project.run(&["test"]).expect(4);
    let build = project.path().join(format!(".overlaid/lab/up/{pin}/build/default/upstream"));
    std::fs::copy("/bin/true", build.join("tool")).unwrap();
    let run = project.run(&["test"]).expect(4);
    assert!(run.stdout.contains("does not make `tool`"), "{}", run.stdout);
}

/// A library of three sources and two headers, with CMake.
fn library() -> (Upstream, String) {
    let mut upstream = Upstream::new();
    let pin = upstream.commit(
        "library",
        &[
            (
                "CMakeLists.txt",
                "cmake_minimum_required(VERSION 3.20)\nproject(library LANGUAGES CXX)\n\
                 set(KIND plain CACHE STRING \"\")\nadd_library(library STATIC a.cpp b.cpp c.cpp)\n\
                 target_compile_definitions(library PRIVATE KIND_${KIND})\n",
            ),
            ("a.cpp", "#include \"all.h\"\nint a() { return ALL; }\n"),
            ("b.cpp", "#include \"all.h\"\n#include \"b.h\"\nint b() { return ALL + B; }\n"),
            ("c.cpp", "int c() { return 3; }\n"),
            ("all.h", "#define ALL 1\n"),
            ("b.h", "#define B 2\n"),
        ],
    );
    (upstream, pin)
}

fn overlay(name: &str, pin: &str, rest: &str) -> String {
    format!("\n[[overlay]]\nname = \"{name}\"\nreason = \"ours\"\nbase = \"{pin}\"\n{rest}\n")
}

/// The objects that were compiled since the log was so long, by the name of their source.
fn compiled(log: &Path, since: usize) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap();
    let outputs = text.lines().skip(since).filter_map(|line| line.split('\t').nth(3));
    let mut sources: Vec<String> = outputs
        .filter(|output| output.ends_with(".o"))
        .map(|output| Path::new(output).file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    sources.sort();
    sources.dedup();
    sources
}

#[test]
fn a_flip_compiles_exactly_what_depends_on_the_overlay() {
    let (upstream, pin) = library();
    let overlays = [
        overlay("header-of-two", &pin, "files = [\"all.h\"]"),
        overlay("header-of-one", &pin, "files = [\"b.h\"]"),
        overlay("source", &pin, "files = [\"c.cpp\"]"),
    ];
    let project = Project::on(
        &upstream,
        &pin,
        &format!("{}\n[profile.p]\ntargets = [\"library\"]\n", overlays.concat()),
    );
    project.write("overlays/up/all.h", "#define ALL 10\n");
    project.write("overlays/up/b.h", "#define B 20\n");
    project.write("overlays/up/c.cpp", "int c() { return 30; }\n");
    let log = project.path().join(format!(".overlaid/lab/up/{pin}/build/p/upstream/.ninja_log"));
    project.run(&["build"]).expect(0);
    for (without, expected) in [
        ("header-of-two", vec!["a.cpp", "b.cpp"]),
        ("header-of-one", vec!["b.cpp"]),
        ("source", vec!["c.cpp"]),
    ] {
        for args in [vec!["build", "--without", without], vec!["build"]] {
            let before = std::fs::read_to_string(&log).unwrap().lines().count();
            project.run(&args).expect(0);
            assert_eq!(compiled(&log, before), expected, "{args:?}");
            let again = project.run(&args).expect(0);
            assert!(again.stdout.contains("everything was built already"), "{}", again.stdout);
        }
    }
}

#[test]
fn after_a_second_apply_ninja_has_no_work() {
    let (upstream, pin) = library();
    let project = Project::on(&upstream, &pin, &overlay("source", &pin, "files = [\"c.cpp\"]"));
    project.write("overlays/up/c.cpp", "int c() { return 30; }\n");
    project.run(&["apply"]).expect(0);
    let build = project.path().join("build");
    let run = |program: &str, args: &[&str]| {
        let output = crate::support::command(program).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let (tree, build) = (project.tree().display().to_string(), build.display().to_string());
    run("cmake", &["-S", &tree, "-B", &build, "-G", "Ninja"]);
    assert!(!run("ninja", &["-C", &build]).contains("no work to do"));
    project.run(&["apply"]).expect(0);
    assert!(run("ninja", &["-C", &build]).contains("no work to do"));
}

#[test]
fn a_build_that_fails_says_why_and_one_that_works_says_where() {
    let (upstream, pin) = library();
    let overlays = overlay("broken", &pin, "files = [\"c.cpp\"]");
    let project =
        Project::on(&upstream, &pin, &format!("{overlays}\n[profile.p]\ntargets = [\"library\"]\n"));
    project.write("overlays/up/c.cpp", "int c() { return 30 }\n");
    let run = project.run(&["build"]).expect(1);
    assert!(
        run.stdout.contains("does not build (compile)") && run.stdout.contains("c.cpp:1"),
        "{}",
        run.stdout
    );
    let run = project.run(&["build", "--without", "broken"]).expect(0);
    assert!(run.stdout.contains("build: "), "{}", run.stdout);
    project.run(&["build", "--at", "pin"]).expect(0);
    project.run(&["build", "--at", "no-such-branch"]).expect(2);
    project.run(&["build", "--without", "nobody"]).expect(2);
}

#[test]
fn an_overlay_that_changes_a_default_of_cmake_changes_it_in_its_variant_only() {
    let (upstream, pin) = library();
    let overlays = overlay("fancy", &pin, "patch = \"fancy.patch\"");
    let project =
        Project::on(&upstream, &pin, &format!("{overlays}\n[profile.p]\ntargets = [\"library\"]\n"));
    project.write(
        "overlays/up/fancy.patch",
        "diff --git a/CMakeLists.txt b/CMakeLists.txt\n--- a/CMakeLists.txt\n+++ b/CMakeLists.txt\n@@ -2,3 +2,3 @@\n\
         \x20project(library LANGUAGES CXX)\n-set(KIND plain CACHE STRING \"\")\n+set(KIND fancy CACHE STRING \"\")\n\
         \x20add_library(library STATIC a.cpp b.cpp c.cpp)\n",
    );
    let cache = project.path().join(format!(".overlaid/lab/up/{pin}/build/p/upstream/CMakeCache.txt"));
    for (args, kind) in
        [(vec!["build"], "fancy"), (vec!["build", "--without", "fancy"], "plain"), (vec!["build"], "fancy")]
    {
        project.run(&args).expect(0);
        let cache = std::fs::read_to_string(&cache).unwrap();
        assert!(cache.contains(&format!("KIND:STRING={kind}")), "{args:?}");
    }
}

/// A project with one overlay, `fix`, and one test in sh: what `run.sh` ends with counts. `cmake` comes after
/// the head of its CMake project.
pub(crate) fn small(upstream: &Upstream, pin: &str, rest: &str, cmake: &str, script: &str) -> Project {
    let table = overlay("fix", pin, &format!("{rest}\ntests = [\"t\"]"));
    let test = "\n[[test]]\nname = \"t\"\nproject = \"tests/t\"\nformat = \"exit\"\nrepeats = 1\ntimeout = \"20s\"\n\
                sources = [\"tests/t/**\"]\ncommand = [\"sh\", \"{build}/run.sh\"]\n";
    let project = Project::on(upstream, pin, &format!("{table}{test}"));
    let head = "cmake_minimum_required(VERSION 3.20)\nproject(t LANGUAGES NONE)\nconfigure_file(run.sh run.sh COPYONLY)\n";
    project.write("tests/t/CMakeLists.txt", format!("{head}{cmake}"));
    project.write("tests/t/run.sh", script);
    project
}

/// What `prove` says about `fix`.
pub(crate) fn says(project: &Project) -> String {
    project.run(&["prove", "--json"]).json()["overlays"][0]["verdict"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn what_cmake_made_for_one_side_is_not_there_for_the_other() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("gen.cmake", "set(x 1)\n")]);
    let script = "dir=$(dirname \"$0\"); [ ! -e \"$dir/left\" ] || [ -e \"$dir/safe\" ]\n";
    let include = "file(REMOVE ${CMAKE_BINARY_DIR}/safe)\ninclude(${OVERLAID_TREE}/gen.cmake)\n";
    let project = small(&upstream, &pin, "files = [\"gen.cmake\"]", include, script);
    let gen_cmake = "file(TOUCH ${CMAKE_BINARY_DIR}/left)\nfile(TOUCH ${CMAKE_BINARY_DIR}/safe)\n";
    project.write("overlays/up/gen.cmake", gen_cmake);
    assert_eq!(says(&project), "unproven");
}

#[test]
fn a_header_that_is_there_on_one_side_only_is_seen() {
    let mut upstream = Upstream::new();
    let kernel = "#if __has_include(\"slow.h\")\n#include \"slow.h\"\n#else\n#define VALUE 0\n#endif\n\
                  int main() { return VALUE; }\n";
    let pin = upstream.commit("one", &[("kernel.cpp", kernel), ("slow.h", "#define VALUE 1\n")]);
    let cmake = "enable_language(CXX)\nadd_executable(k ${OVERLAID_TREE}/kernel.cpp)\n";
    let project = small(&upstream, &pin, "delete = [\"slow.h\"]", cmake, "exec \"$(dirname \"$0\")/k\"\n");
    assert_eq!(says(&project), "needed");
}

#[test]
fn a_build_that_failed_is_tried_again_when_the_machine_may_be_another() {
    let mut upstream = Upstream::new();
    let pin = upstream
        .commit("one", &[("deps.cmake", "find_file(D dep.h PATHS ${HERE} NO_DEFAULT_PATH REQUIRED)\n")]);
    let cmake =
        "get_filename_component(HERE ../../elsewhere ABSOLUTE)\ninclude(${OVERLAID_TREE}/deps.cmake)\n";
    let project = small(&upstream, &pin, "files = [\"deps.cmake\"]", cmake, "exit 0\n");
    project.write("overlays/up/deps.cmake", "# none\n");
    assert_eq!(says(&project), "needed");
    project.write("elsewhere/dep.h", "\n");
    assert_eq!(says(&project), "unproven");
}

#[test]
fn a_compiler_that_was_killed_is_no_error_of_the_sources() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("kernel", "bad\n")]);
    let cmake = "add_custom_command(OUTPUT k COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/nvcc ${OVERLAID_TREE}/kernel\n\
                 DEPENDS ${OVERLAID_TREE}/kernel)\nadd_custom_target(all-of-it ALL DEPENDS k)\n";
    let project = small(&upstream, &pin, "files = [\"kernel\"]", cmake, "exit 0\n");
    let nvcc =
        "grep -q good \"$1\" || { echo \"'cicc' died due to signal 9 (Kill signal)\"; exit 9; }\ntouch k\n";
    project.write("tests/t/nvcc", nvcc);
    project.write("overlays/up/kernel", "good\n");
    assert_eq!(says(&project), "inconclusive");
}

#[test]
fn what_a_build_leaves_in_the_tree_is_not_there_for_the_other_side() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("kernel", "bad\n")]);
    let cmake = "add_custom_command(OUTPUT k COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/gen ${OVERLAID_TREE}\n\
                 DEPENDS ${OVERLAID_TREE}/kernel)\nadd_custom_target(all-of-it ALL DEPENDS k)\n";
    let project =
        small(&upstream, &pin, "files = [\"kernel\"]", cmake, "grep -q good \"$(dirname \"$0\")/k\"\n");
    project.write("tests/t/gen", "[ -f \"$1/made\" ] || cp \"$1/kernel\" \"$1/made\"\ncp \"$1/made\" k\n");
    project.write("overlays/up/kernel", "good\n");
    assert_eq!(says(&project), "needed");
}

#[test]
fn what_a_test_keeps_for_later_is_not_there_for_the_other_side() {
    for place in ["$OVERLAID_BUILD", "$HOME", "$XDG_CACHE_HOME"] {
        let mut upstream = Upstream::new();
        let pin = upstream.commit("one", &[("kernel", "bad\n")]);
        let script = format!(
            "mkdir -p \"{place}\"\n[ -f \"{place}/kept\" ] || cat \"$OVERLAID_TREE/kernel\" > \"{place}/kept\"\n\
             : < \"$OVERLAID_TREE/kernel\"\ngrep -q good \"{place}/kept\"\n"
        );
        let project = small(&upstream, &pin, "files = [\"kernel\"]", "", &script);
        project.write("overlays/up/kernel", "good\n");
        assert_eq!(says(&project), "needed", "{place}");
    }
}

#[test]
fn a_tree_of_the_lab_that_was_edited_is_put_right() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("kernel", "bad\n"), ("other", "1\n")]);
    let script = "cat \"$OVERLAID_TREE/kernel\" \"$OVERLAID_TREE/other\" | grep -q good\n";
    let project = small(&upstream, &pin, "files = [\"kernel\"]", "", script);
    project.write("overlays/up/kernel", "good\n");
    assert_eq!(says(&project), "needed");
    project.write(&format!(".overlaid/lab/up/{pin}/tree/other"), "good\n");
    project.write("tests/t/run.sh", format!("{script}# again\n").replace("-q good\n#", "-q good #"));
    assert_eq!(says(&project), "needed");
}

#[test]
fn a_source_of_ours_that_is_put_back_with_an_old_time_is_compiled() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("kernel.cpp", "int kernel() { return 1; }\n")]);
    let cmake = "enable_language(CXX)\nadd_executable(k k.cpp ${OVERLAID_TREE}/kernel.cpp)\n";
    let script = "exec \"$(dirname \"$0\")/k\"\n";
    let project = small(&upstream, &pin, "files = [\"kernel.cpp\"]", cmake, script);
    project.write("overlays/up/kernel.cpp", "int kernel() { return 0; }\n");
    project.write("tests/t/k.cpp", "int kernel(); int main() { return kernel() * 0; }\n");
    assert_eq!(says(&project), "unproven");
    project.write("tests/t/k.cpp", "int kernel(); int main() { return kernel(); }\n");
    let file = std::fs::File::options().write(true).open(project.path().join("tests/t/k.cpp")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1_600_000_000)).unwrap();
    assert_eq!(says(&project), "needed");
}

#[test]
fn a_file_that_nobody_opens_is_no_difference() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("src/other", "1\n")]);
    let script = "ls \"$OVERLAID_TREE/src\" > names\ncat \"$OVERLAID_TREE/src/other\"\n";
    let project = small(&upstream, &pin, "files = [\"src/more\"]", "", script);
    project.write("overlays/up/src/more", "1\n");
    let run = project.run(&["prove"]).expect(4);
    assert!(run.stdout.contains("its files are not built here"), "{}", run.stdout);
    // Where that it is there makes a difference, it is one.
    project.write("tests/t/run.sh", "[ -e \"$OVERLAID_TREE/src/more\" ]\n");
    assert_eq!(says(&project), "needed");
}

#[test]
fn a_file_of_ours_that_a_test_reads_is_a_part_of_it_named_or_not() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("kernel", "bad\n")]);
    let script = "cat \"$OVERLAID_TREE/kernel\" > k\ngrep -qf GOLDEN k\n";
    let project = small(&upstream, &pin, "files = [\"kernel\"]", "", script);
    let golden = project.path().join("golden");
    project.write("tests/t/run.sh", script.replace("GOLDEN", &golden.display().to_string()));
    project.write("overlays/up/kernel", "good\n");
    project.write("golden", "d\n");
    assert_eq!(says(&project), "unproven");
    project.write("golden", "good\n");
    assert_eq!(says(&project), "needed");
}

#[test]
fn a_drop_that_other_profiles_and_devices_have_a_say_in_is_for_a_person() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("one", &[("kernel", "bad\n")]);
    let pin = upstream.commit("two", &[("kernel", "good\n")]);
    let script = "grep -q good \"$OVERLAID_TREE/kernel\"\n";
    let project = small(&upstream, &pin, "files = [\"kernel\"]", "", script);
    let manifest = project
        .read("manifests/up.toml")
        .replace(&format!("base = \"{pin}\""), &format!("base = \"{base}\""));
    project.write("overlays/up/kernel", "good, too\n");
    project.write("manifests/up.toml", format!("{manifest}\n[profile.one]\n"));
    project.run(&["--profile", "one", "prove"]).expect(1);
    project.write("manifests/up.toml", format!("{manifest}\n[profile.one]\n[profile.two]\n"));
    let run = project.run(&["--profile", "one", "prove"]).expect(3);
    assert!(run.stdout.contains("under profile `two`"), "{}", run.stdout);
}

#[test]
fn an_overlay_that_another_one_stands_on_is_run_though_it_is_redundant() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("k.cu", "int a;\n")]);
    let script = "grep -q b \"$OVERLAID_TREE/k.cu\"\n";
    let project = small(&upstream, &pin, "files = [\"k.cu\"]", "", script);
    let manifest = project.read("manifests/up.toml");
    let second = overlay("second", &pin, "patch = \"b.patch\"\nneeds = [\"fix\"]\ntests = [\"t\"]");
    project.write("overlays/up/k.cu", "// ours\nint a;\n");
    assert_eq!(says(&project), "redundant");
    project.write("manifests/up.toml", format!("{manifest}{second}"));
    let patch =
        "diff --git a/k.cu b/k.cu\n--- a/k.cu\n+++ b/k.cu\n@@ -1,2 +1,3 @@\n // ours\n int a;\n+int b;\n";
    project.write("overlays/up/b.patch", patch);
    assert_eq!(says(&project), "needed");
}

/// A project whose overlay brings a header: without it, the test does not compile. Its `inc` is searched, too.
fn header_of_ours() -> (Upstream, Project) {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("readme", "1\n")]);
    let cmake = "enable_language(CXX)\nadd_executable(k k.cpp)\ntarget_include_directories(k PRIVATE ${OVERLAID_TREE})\n";
    let script = "exec \"$(dirname \"$0\")/k\"\n";
    let mut project = small(&upstream, &pin, "files = [\"value.h\"]", cmake, script);
    project.write("overlays/up/value.h", "#define VALUE 0\n");
    project.write("tests/t/k.cpp", "#include \"value.h\"\nint main() { return VALUE; }\n");
    let searched = project.path().join(".elsewhere/inc");
    std::fs::create_dir_all(&searched).unwrap();
    project.set("CPLUS_INCLUDE_PATH", searched);
    // What was written a moment ago may be written again without a trace.
    std::thread::sleep(Duration::from_millis(50));
    (upstream, project)
}

#[test]
fn a_build_that_fails_by_the_compiler_is_evidence() {
    let (_upstream, project) = header_of_ours();
    let first = project.run(&["prove"]).expect(0);
    assert!(first.stdout.contains("needed") && first.stdout.contains("t: build"), "{}", first.stdout);
    // From the records, and given at once.
    for _ in 0..2 {
        std::fs::remove_dir_all(project.path().join(".overlaid/lab/up/answers")).unwrap();
        for _ in 0..2 {
            let again = project.run(&["prove"]).expect(0);
            assert_eq!(work(&again), Vec::<String>::new());
            assert_eq!(again.stdout, first.stdout);
        }
    }
}

#[test]
fn a_header_of_the_machine_that_comes_makes_a_failed_build_be_tried_again() {
    let (_upstream, project) = header_of_ours();
    assert_eq!(says(&project), "needed");
    // The compiler finds it there now: the overlay is not needed for the build any more.
    project.write(".elsewhere/inc/value.h", "#define VALUE 0\n");
    assert_eq!(says(&project), "unproven");
    std::fs::remove_file(project.path().join(".elsewhere/inc/value.h")).unwrap();
    assert_eq!(says(&project), "needed");
    // In a folder below, by another name: the test is what looks for it, and that is seen in the folder.
    project.write(".elsewhere/inc/deep/more.h", "\n");
    let run = project.run(&["prove"]).expect(0);
    assert!(!work(&run).is_empty(), "{}", run.stderr);
}

#[test]
fn a_header_of_the_machine_that_is_written_in_place_makes_a_failed_build_be_tried_again() {
    let (_upstream, project) = header_of_ours();
    project.write(".elsewhere/inc/kind.h", "#error \"this machine has no such thing\"\n");
    project.write("overlays/up/value.h", "#define VALUE 0\n#define kind_h\n");
    project.write(
        "tests/t/k.cpp",
        "#if __has_include(\"value.h\")\n#include \"value.h\"\n#else\n#include \"kind.h\"\n#endif\nint main() { return VALUE; }\n",
    );
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(says(&project), "needed");
    assert_eq!(work(&project.run(&["prove"]).expect(0)), Vec::<String>::new());
    // The same file, with the same folder around it.
    let file = project.path().join(".elsewhere/inc/kind.h");
    std::fs::OpenOptions::new().write(true).truncate(true).open(&file).unwrap();
    std::fs::write(&file, "#define VALUE 0\n").unwrap();
    assert_eq!(says(&project), "unproven");
}

/// A folder with a compiler and a linker that do what files beside it say, and then what they should.
fn tools_that_can_break(project: &mut Project) {
    let bin = project.path().join(".tools/bin");
    std::fs::create_dir_all(&bin).unwrap();
    for tool in ["c++", "ld"] {
        let script = format!(
            "#!/bin/sh\nif [ ! -e \"{0}/../broken-{tool}\" ] && [ ! -e \"{0}/../../.state/broken-{tool}\" ]; then :; else echo \"{tool}: error: cannot read spec file\" >&2; exit 1; fi\n\
             PATH=/usr/bin:/bin exec {tool} \"$@\"\n",
            bin.display()
        );
        std::fs::write(bin.join(tool), script).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(bin.join(tool), mode).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    project.set("PATH", format!("{}:{path}", bin.display()));
    project.set("COMPILER_PATH", bin);
    std::thread::sleep(Duration::from_millis(50));
}

#[test]
fn a_compiler_that_breaks_makes_nothing_needed() {
    // The overlay changes what is compiled, and nothing else: in truth nobody needs it.
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("kernel.cpp", "int kernel() { return 0; }\n"), ("other", "1\n")]);
    let cmake = "enable_language(CXX)\nadd_executable(k k.cpp ${OVERLAID_TREE}/kernel.cpp)\n";
    let mut project =
        small(&upstream, &pin, "files = [\"kernel.cpp\"]", cmake, "exec \"$(dirname \"$0\")/k\"\n");
    project.write("overlays/up/kernel.cpp", "int kernel() { return 2 - 2; }\n");
    project.write("tests/t/k.cpp", "int kernel(); int main() { return kernel(); }\n");
    tools_that_can_break(&mut project);
    assert_eq!(says(&project), "unproven");
    let lab = project.path().join(".overlaid/lab/up");
    // Beside the tool, where it is looked at; and where nobody looks.
    for (place, folder) in [(".tools", false), (".state", false), (".state", true)] {
        for tool in ["c++", "ld"] {
            // With the overlay it is on record. Without it must be built: the side that does not build now.
            std::fs::remove_dir_all(lab.join("answers")).unwrap();
            let table = lab.join("builds/t.default.json");
            let mut builds: serde_json::Value =
                serde_json::from_slice(&std::fs::read(&table).unwrap()).unwrap();
            let of_fix = |build: &serde_json::Value| build["variant"]["overlays"] != serde_json::json!([]);
            builds["builds"].as_array_mut().unwrap().retain(of_fix);
            std::fs::write(&table, builds.to_string()).unwrap();
            // Another source, so that something is compiled.
            let object = format!("{pin}/build/default/tests-t/CMakeFiles/k.dir");
            std::fs::remove_dir_all(lab.join(if folder { format!("{pin}/build") } else { object })).unwrap();
            project.write(&format!("{place}/broken-{tool}"), "");
            assert_eq!(says(&project), "inconclusive", "{place} {tool}");
            std::fs::remove_file(project.path().join(format!("{place}/broken-{tool}"))).unwrap();
            let run = project.run(&["prove"]);
            assert!(run.stdout.contains("unproven"), "{place} {tool}: {}{}", run.stdout, run.stderr);
        }
    }
}

#[test]
fn a_path_that_finds_the_same_is_the_same_evidence() {
    let situation = fault("wrong");
    let mut project = situation.project;
    let _upstream = situation.upstream;
    let path = std::env::var("PATH").unwrap();
    project.set("PATH", format!("{path}:{}/not/there", project.path().display()));
    project.run(&["prove"]).expect(0);
    project.set("PATH", path.clone());
    assert_eq!(work(&project.run(&["prove"]).expect(0)), Vec::<String>::new());
    // A folder in which a test could find another program.
    let tools = project.path().join(".more");
    std::fs::create_dir_all(&tools).unwrap();
    std::os::unix::fs::symlink("/bin/true", tools.join("nvidia-smi-of-ours")).unwrap();
    project.set("PATH", format!("{path}:{}", tools.display()));
    assert!(!work(&project.run(&["prove"]).expect(0)).is_empty());
}

fn set_mode(file: &Path, mode: u32) {
    std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn the_mode_of_a_script_counts_and_that_of_a_source_does_not() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("kernel", "bad\n")]);
    let cmake = "enable_language(CXX)\nadd_executable(k k.cpp)\n";
    let script = "[ -x HERE/helper.sh ] || exit 0\ngrep -q good \"$OVERLAID_TREE/kernel\"\n";
    let project = small(&upstream, &pin, "files = [\"kernel\"]", cmake, "");
    let here = project.path().join("tests/t");
    project.write("tests/t/run.sh", script.replace("HERE", &here.display().to_string()));
    project.write("tests/t/helper.sh", "exit 0\n");
    project.write("tests/t/k.cpp", "int main() { return 0; }\n");
    project.write("overlays/up/kernel", "good\n");
    set_mode(&here.join("helper.sh"), 0o755);
    assert_eq!(says(&project), "needed");
    set_mode(&here.join("k.cpp"), 0o755);
    assert_eq!(work(&project.run(&["prove"]).expect(0)), Vec::<String>::new());
    // The test looks at it without opening it.
    set_mode(&here.join("helper.sh"), 0o644);
    let run = project.run(&["prove"]);
    assert!(!work(&run).is_empty() && !run.stdout.contains("needed"), "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_failing_test_shows_how_it_ended_and_what_it_printed() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("kernel", "bad\n")]);
    let project = small(&upstream, &pin, "files = [\"kernel\"]", "", "echo the norm is off >&2\nexit 3\n");
    project.write("overlays/up/kernel", "good\n");
    let run = project.run(&["test"]).expect(1);
    assert!(run.stdout.contains("the process ended with status 3"), "{}", run.stdout);
    assert!(run.stdout.contains("the norm is off"), "{}", run.stdout);
    let shown = run.stdout.split_once("it printed (").unwrap().1.split_once(')').unwrap().0;
    assert!(shown.starts_with(".overlaid/lab/up/"), "{shown}");
    assert_eq!(project.read(shown), "the norm is off\n");
}

#[test]
fn a_test_that_skips_all_it_has_was_not_tested() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("kernel", "bad\n")]);
    let project = small(&upstream, &pin, "files = [\"kernel\"]", "", "exit 77\n");
    project.write("overlays/up/kernel", "good\n");
    let run = project.run(&["test"]).expect(4);
    assert!(run.stderr.contains("every case was skipped"), "{}", run.stderr);
    assert!(run.stdout.contains("other at pin: 1 skip"), "{}", run.stdout);
    project.write("tests/t/run.sh", "exit 0\n");
    project.run(&["test"]).expect(0);
}

#[test]
fn a_project_that_is_not_there_is_named_with_its_line() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("kernel", "bad\n")]);
    let project = small(&upstream, &pin, "files = [\"kernel\"]", "", "exit 0\n");
    project.write("overlays/up/kernel", "good\n");
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", manifest.replace("project = \"tests/t\"", "project = \"tests/u\""));
    for command in ["test", "prove"] {
        let run = project.run(&[command]).expect(2);
        let line = manifest.lines().position(|line| line.contains("project =")).unwrap() + 1;
        assert!(run.stderr.contains("no folder `tests/u`"), "{}", run.stderr);
        assert!(run.stderr.contains(&format!("manifests/up.toml:{line}:")), "{}", run.stderr);
        assert!(!run.stderr.contains("cmake is not"), "{}", run.stderr);
    }
    project.write("tests/u/run.sh", "");
    let run = project.run(&["prove"]).expect(2);
    assert!(run.stderr.contains("no file `tests/u/CMakeLists.txt`"), "{}", run.stderr);
}

#[test]
fn a_patch_that_upstream_has_by_now_gets_a_document_and_can_go() {
    let mut scene = Scene::new(&[("hero", "wrong"), ("other", "wrong")], &[]);
    let pin = scene.commit(&[("cases/hero", &case_file("hero", "good"))]);
    scene.change("taken", Kind::Patch, "hero", "wrong", "good");
    scene.change("ours", Kind::Files, "other", "wrong", "good");
    let situation = scene.done(String::new(), &pin, &[]);
    let project = &situation.project;
    let document = project.run(&["prove", "--json"]).expect(4).json();
    let of = |name: &str| {
        let all = document["overlays"].as_array().unwrap();
        all.iter().find(|overlay| overlay["name"] == name).unwrap().clone()
    };
    let taken = of("taken");
    assert_eq!(taken["verdict"], "redundant");
    assert_eq!(taken["advice"], "drop");
    // It would have to be on for the proof of any other.
    assert_eq!(of("ours")["verdict"], "inconclusive");
    assert!(of("ours")["reasons"].to_string().contains("taken"), "{}", of("ours"));
    let run = project.run(&["apply"]).expect(3);
    assert!(run.stderr.contains("upstream has all of `taken` by now"), "{}", run.stderr);
}

/// Runs `prove`, and kills it with SIGKILL once the file is there that the test makes where it waits.
fn kill_in_the_middle(project: &Project, cases: &Path) {
    let mut child =
        project.command(&["prove", "fix"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while !cases.exists() && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A test of six cases that notes each that it runs; the fifth waits for `gate`. `skips`: it leaves out what it is told.
fn gated(project: &Project, skips: bool) {
    let state = project.path().join(".state");
    std::fs::create_dir_all(&state).unwrap();
    let skip = "[ -z \"$OVERLAID_SKIP\" ] || ! grep -qxF \"{\\\"n\\\":$n}\" \"$OVERLAID_SKIP\" || continue\n";
    let script = format!(
        "for n in 1 2 3 4 5 6; do\n{}echo \"{{\\\"case\\\": {{\\\"n\\\": $n}}, \\\"status\\\": \\\"start\\\"}}\" >> \"$OVERLAID_RESULTS\"\n\
         echo \"$OVERLAID_VARIANT $OVERLAID_SEED $n\" >> {2}/ran\n\
         if [ $n = 5 ] && [ ! -e {2}/gate ]; then : > {2}/waits; sleep 50; echo late >> {2}/late; fi\n\
         value=0; [ $n != 2 ] || grep -q good \"$OVERLAID_TREE/kernel\" || value=9\n\
         echo \"{{\\\"case\\\": {{\\\"n\\\": $n}}, \\\"metric\\\": \\\"e\\\", \\\"value\\\": $value, \\\"max\\\": 1}}\" >> \"$OVERLAID_RESULTS\"\n\
         {1}done\n",
        if skips { skip } else { "" },
        "",
        state.display()
    );
    project.write("tests/t/run.sh", script);
    let manifest = project.read("manifests/up.toml").replace("format = \"exit\"\n", "format = \"jsonl\"\n");
    project.write("manifests/up.toml", manifest.replace("timeout = \"20s\"", "timeout = \"60s\""));
}

#[cfg(target_os = "linux")]
#[test]
fn a_proof_that_was_killed_goes_on_after_the_cases_that_are_finished() {
    for skips in [true, false] {
        let mut upstream = Upstream::new();
        let pin = upstream.commit("one", &[("kernel", "bad\n")]);
        let project = small(&upstream, &pin, "files = [\"kernel\"]", "", "");
        project.write("overlays/up/kernel", "good\n");
        gated(&project, skips);
        let state = project.path().join(".state");
        std::thread::sleep(Duration::from_millis(50));
        kill_in_the_middle(&project, &state.join("waits"));
        let before = project.read(".state/ran");
        assert_eq!(before.lines().count(), 5, "{before}");
        project.write(".state/gate", "");
        let run = project.run(&["prove", "fix", "--json"]).expect(0);
        assert_eq!(run.json()["overlays"][0]["verdict"], "needed", "{}", run.stdout);
        assert!(run.stderr.contains("going on after 4 cases"), "{}", run.stderr);
        // What was left behind is ended: it says nothing more.
        assert!(!is_running(&project.path().join(".overlaid/lab")));
        let first = before.lines().next().unwrap().rsplit_once(' ').unwrap().0.to_owned();
        let ran = project.read(".state/ran");
        let of_first = |n: u32| ran.lines().filter(|line| **line == format!("{first} {n}")).count();
        // Of several runs with the first seed, one had the finished cases from before.
        let others = of_first(6);
        assert_eq!(of_first(5), others + 1, "{ran}");
        assert_eq!(of_first(1), if skips { others } else { others + 1 }, "{ran}");
        assert_eq!(work(&project.run(&["prove", "fix"]).expect(0)), Vec::<String>::new());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_killed_run_had_finished_does_not_count_when_something_has_changed() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("kernel", "bad\n")]);
    let project = small(&upstream, &pin, "files = [\"kernel\"]", "", "");
    project.write("overlays/up/kernel", "good\n");
    gated(&project, true);
    std::thread::sleep(Duration::from_millis(50));
    let waits = project.path().join(".state/waits");
    for (edited, text) in [("somewhere/golden", "1\n"), ("overlays/up/kernel", "good, too\n")] {
        let _ = std::fs::remove_file(project.path().join(".state/gate"));
        let _ = std::fs::remove_file(&waits);
        let _ = std::fs::remove_dir_all(project.path().join("docs"));
        kill_in_the_middle(&project, &waits);
        project.write(edited, text);
        project.write(".state/gate", "");
        let run = project.run(&["prove", "fix"]).expect(0);
        assert!(!run.stderr.contains("going on after"), "{edited}: {}", run.stderr);
    }
}
