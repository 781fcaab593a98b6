//! `verify --build`, against real builds of the CMake, ninja and make on PATH.

use std::path::{Path, PathBuf};

use crate::support::{Project, Run, Upstream, command, write};

const LISTS: &str = "cmake_minimum_required(VERSION 3.20)\nproject(up LANGUAGES C)\ninclude(options.cmake)\n\
    add_library(up STATIC src/a.c \"src/b c.c\" src/new.c)\ntarget_include_directories(up PUBLIC include)\n\
    add_library(extra STATIC EXCLUDE_FROM_ALL src/extra.c)\n\
    add_custom_command(OUTPUT table.txt COMMAND cmake -E copy ${CMAKE_CURRENT_SOURCE_DIR}/data/table.h table.txt\n\
    DEPENDS data/table.h)\nadd_custom_target(table ALL DEPENDS table.txt)\n";

struct Site {
    _upstream: Upstream,
    project: Project,
}

/// Overlays on a source, a header, a name with a space, a new file and a file of CMake's.
const USED: &str = "[\"src/a.c\", \"src/b c.c\", \"include/value.h\", \"src/new.c\", \"options.cmake\"]";

fn site(files: &str, more: &str) -> Site {
    let mut upstream = Upstream::new();
    let pin = upstream.commit(
        "start",
        &[
            ("CMakeLists.txt", LISTS),
            ("options.cmake", "set(FAST 0)\n"),
            ("unused.cmake", ""),
            ("include/value.h", "#define VALUE 1\n"),
            ("include/idle.h", ""),
            ("src/a.c", "#include \"value.h\"\nint a(void) { return VALUE; }\n"),
            ("src/b c.c", "int b(void) { return 10; }\n"),
            ("src/extra.c", "int extra(void) { return 3; }\n"),
            ("src/unused.c", "int unused(void) { return 3; }\n"),
            ("data/table.h", "1\n"),
            ("README.md", "up\n"),
        ],
    );
    let more = more.replace("PIN", &pin);
    let overlay = format!("[[overlay]]\nname = \"ours\"\nbase = \"{pin}\"\nfiles = {files}\n{more}");
    let project = Project::on(&upstream, &pin, &overlay);
    for (path, text) in [
        ("src/a.c", "#include \"value.h\"\nint a(void) { return VALUE + 0; }\n"),
        ("src/b c.c", "int b(void) { return 20; }\n"),
        ("include/value.h", "#define VALUE 2\n"),
        ("include/idle.h", "// ours\nint idle;\n"),
        ("src/new.c", "int n(void) { return 1; }\n"),
        ("src/extra.c", "int extra(void) { return 4; }\n"),
        ("src/unused.c", "int unused(void) { return 4; }\n"),
        ("options.cmake", "set(FAST 1)\n"),
        ("unused.cmake", "set(IDLE 1)\n"),
        ("data/table.h", "2\n"),
        ("README.md", "ours\n"),
    ] {
        if files.contains(&format!("\"{path}\"")) {
            project.write(&format!("overlays/up/{path}"), text);
        }
    }
    Site { _upstream: upstream, project }
}

impl Site {
    fn build_in(&self, source: &Path, build: &Path, generator: &str) {
        let paths = [source.to_str().unwrap(), build.to_str().unwrap()];
        if !build.join("CMakeCache.txt").exists() {
            run("cmake", &["-S", paths[0], "-B", paths[1], "-G", generator]);
        }
        run("cmake", &["--build", paths[1]]);
    }

    fn build(&self, generator: &str) -> PathBuf {
        let build = self.project.path().join("build");
        self.build_in(&self.project.tree(), &build, generator);
        build
    }

    fn verify(&self, build: &Path) -> Run {
        self.project.run(&["--json", "verify", "--build", build.to_str().unwrap()])
    }

    /// The findings about the build: code, severity, path.
    fn findings(&self, build: &Path) -> Vec<String> {
        let document = self.verify(build).json();
        let of_build = ["not-compiled", "build-behind", "compiled-unknown", "compiled-declared"];
        let findings = document["findings"].as_array().unwrap().iter();
        let mut findings: Vec<String> = findings
            .filter(|finding| of_build.contains(&finding["code"].as_str().unwrap()))
            .map(|finding| {
                let word = |key: &str| finding[key].as_str().unwrap_or("-").to_owned();
                format!("{} {} {}", word("severity"), word("code"), word("path"))
            })
            .collect();
        findings.sort();
        findings
    }
}

#[track_caller]
fn run(program: &str, args: &[&str]) {
    let output = command(program).args(args).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

const NONE: [&str; 0] = [];

#[test]
fn what_was_compiled_has_no_finding() {
    for generator in ["Ninja", "Unix Makefiles"] {
        let site = site(USED, "");
        site.project.run(&["apply"]).expect(0);
        let build = site.build(generator);
        assert_eq!(site.findings(&build), NONE, "{generator}");
        let run = site.project.run(&["verify", "--build", "build"]).expect(0);
        assert!(
            run.stderr.contains("of 5 overlaid paths of `up`, compilers read 4 and CMake 1"),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn what_no_step_reads_is_named() {
    let idle =
        "[\"src/a.c\", \"src/unused.c\", \"src/new.c\", \"include/idle.h\", \"unused.cmake\", \"README.md\"]";
    for generator in ["Ninja", "Unix Makefiles"] {
        let site = site(idle, "");
        site.project.run(&["apply"]).expect(0);
        let build = site.build(generator);
        let expected = [
            "error not-compiled include/idle.h",
            "error not-compiled src/unused.c",
            "error not-compiled unused.cmake",
            "warning not-compiled README.md",
        ];
        assert_eq!(site.findings(&build), expected, "{generator}");
        site.verify(&build).expect(1);
    }
}

#[test]
fn a_target_that_was_not_built_is_no_proof() {
    let site = site("[\"src/extra.c\", \"src/new.c\"]", "");
    site.project.run(&["apply"]).expect(0);
    let build = site.build("Ninja");
    assert_eq!(site.findings(&build), ["error not-compiled src/extra.c"]);
    let run = site.project.run(&["verify", "--build", "build"]).expect(1);
    assert!(run.stdout.contains("src/extra.c.o` is not there"), "{}", run.stdout);
    run_target(&build, "extra");
    assert_eq!(site.findings(&build), NONE);
}

fn run_target(build: &Path, target: &str) {
    run("cmake", &["--build", build.to_str().unwrap(), "--target", target]);
}

#[test]
fn an_overlay_that_is_newer_than_the_build_says_that_it_is_behind() {
    for generator in ["Ninja", "Unix Makefiles"] {
        let site = site(USED, "");
        site.project.run(&["apply"]).expect(0);
        let build = site.build(generator);
        site.project.write("overlays/up/include/value.h", "#define VALUE 5\n");
        site.project.write("overlays/up/options.cmake", "set(FAST 2)\n");
        site.project.run(&["apply"]).expect(0);
        let behind = ["error build-behind include/value.h", "error build-behind options.cmake"];
        assert_eq!(site.findings(&build), behind, "{generator}");
        site.build(generator);
        assert_eq!(site.findings(&build), NONE, "{generator}");
    }
}

#[test]
fn a_path_that_overlays_delete_must_not_be_in_what_was_built() {
    let delete = "[[overlay]]\nname = \"less\"\nbase = \"PIN\"\ndelete = [\"src/b c.c\"]\n\
                  [[overlay]]\nname = \"lists\"\nbase = \"PIN\"\nfiles = [\"CMakeLists.txt\"]\n";
    let site = site("[\"src/new.c\", \"src/a.c\"]", "");
    site.project.run(&["apply"]).expect(0);
    let build = site.build("Ninja");
    let manifest = site.project.read("manifests/up.toml");
    let pin = manifest.split("pin = \"").nth(1).unwrap()[..40].to_owned();
    site.project.write("manifests/up.toml", manifest + &delete.replace("PIN", &pin));
    site.project.write("overlays/up/CMakeLists.txt", LISTS.replace("\"src/b c.c\" ", ""));
    site.project.run(&["apply"]).expect(0);
    let behind = ["error build-behind CMakeLists.txt", "error build-behind src/b c.c"];
    assert_eq!(site.findings(&build), behind);
    // The object of the old source stays in the folder; the build does not have it any more.
    site.build("Ninja");
    assert_eq!(site.findings(&build), NONE);
}

#[test]
fn a_build_inside_the_tree_and_one_through_links_are_told_as_well() {
    let site = site(USED, "");
    site.project.run(&["apply"]).expect(0);
    let inside = site.project.tree().join("build");
    let outside = site.project.path().join("link");
    std::os::unix::fs::symlink(site.project.tree(), &outside).unwrap();
    site.build_in(&outside, &site.project.path().join("through"), "Ninja");
    assert_eq!(site.findings(&site.project.path().join("through")), NONE);
    site.build_in(&outside, &outside.join("build"), "Ninja");
    assert_eq!(site.findings(&inside), NONE);
    assert_eq!(site.findings(&outside.join("build")), NONE);
}

#[test]
fn a_copy_that_is_compiled_in_its_place_is_no_proof() {
    let site = site(USED, "");
    site.project.run(&["apply"]).expect(0);
    let copy = site.project.path().join("copy");
    run("cp", &["-R", site.project.tree().to_str().unwrap(), copy.to_str().unwrap()]);
    let build = site.project.path().join("build");
    site.build_in(&copy, &build, "Ninja");
    assert_eq!(site.findings(&build).len(), 5);
}

#[test]
fn a_step_that_records_nothing_is_taken_at_its_word_and_that_is_said() {
    let site = site("[\"data/table.h\", \"src/new.c\"]", "");
    site.project.run(&["apply"]).expect(0);
    let build = site.build("Ninja");
    assert_eq!(site.findings(&build), ["note compiled-declared data/table.h"]);
    site.project.write("overlays/up/data/table.h", "3\n");
    site.project.run(&["apply"]).expect(0);
    assert_eq!(site.findings(&build), ["error build-behind data/table.h"]);
}

#[test]
fn what_records_nothing_is_unknown_and_no_pass() {
    let site = site(USED, "");
    site.project.run(&["apply"]).expect(0);
    let empty = site.project.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert_eq!(site.findings(&empty), ["error compiled-unknown -"]);
    site.verify(&site.project.path().join("nowhere")).expect(2);
    let build = site.build("Ninja");
    std::fs::remove_file(build.join(".ninja_deps")).unwrap();
    let unknown = ["include/value.h", "src/a.c", "src/b c.c", "src/new.c"];
    let findings = site.findings(&build);
    assert!(findings.iter().all(|finding| finding.starts_with("error ")), "{findings:?}");
    assert_eq!(findings.len(), unknown.len(), "{findings:?}");
    write(&build.join(".ninja_deps"), "nonsense");
    assert_eq!(site.findings(&build), ["error compiled-unknown -"]);
}

/// A build that somebody wrote by hand: a compiler is called, and a database of the calls is kept.
fn build_by_hand(site: &Site, sources: &[&str], more: &str) -> PathBuf {
    let (tree, build) = (site.project.tree(), site.project.path().join("build"));
    let mut entries = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        let source = tree.join(source);
        let line = format!(
            "cc -I'{}' {more} -o {number}.o -c '{}'",
            tree.join("include").display(),
            source.display()
        );
        std::fs::create_dir_all(&build).unwrap();
        let output = command("sh").args(["-c", &line]).current_dir(&build).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        entries.push(serde_json::json!({ "directory": build, "file": source, "command": line }));
    }
    write(&build.join("compile_commands.json"), serde_json::to_string(&entries).unwrap());
    build
}

#[test]
fn another_build_is_told_by_the_calls_of_its_compilers() {
    let site = site("[\"src/a.c\", \"src/b c.c\", \"include/value.h\", \"src/new.c\"]", "");
    site.project.run(&["apply"]).expect(0);
    // Compilers say what they read: as good as ninja's log.
    let sources = ["src/a.c", "src/b c.c", "src/new.c"];
    let build = build_by_hand(&site, &sources, "-MMD");
    assert_eq!(site.findings(&build), NONE);
    // They do not: sources are known from the calls, headers are not.
    std::fs::remove_dir_all(&build).unwrap();
    let build = build_by_hand(&site, &sources[..2], "");
    let expected = [
        "error compiled-unknown include/value.h",
        "error compiled-unknown src/new.c",
        "note compiled-declared src/a.c",
        "note compiled-declared src/b c.c",
    ];
    assert_eq!(site.findings(&build), expected);
    site.project.write("overlays/up/src/a.c", "int a(void) { return 7; }\n");
    site.project.run(&["apply"]).expect(0);
    assert_eq!(site.findings(&build)[0], "error build-behind src/a.c");
    std::fs::remove_file(build.join("1.o")).unwrap();
    assert!(site.findings(&build).contains(&"error not-compiled src/b c.c".to_owned()));
    write(&build.join("compile_commands.json"), "nonsense");
    assert_eq!(site.findings(&build), ["error compiled-unknown -"]);
}

#[test]
fn where_ninjas_log_is_gone_the_calls_of_the_compilers_tell_of_sources() {
    let site = site(USED, "");
    site.project.run(&["apply"]).expect(0);
    let build = site.project.path().join("build");
    let paths = [site.project.tree(), build.clone()].map(|path| path.to_str().unwrap().to_owned());
    run("cmake", &["-S", &paths[0], "-B", &paths[1], "-G", "Ninja", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]);
    run("cmake", &["--build", &paths[1]]);
    assert_eq!(site.findings(&build), NONE);
    std::fs::remove_file(build.join(".ninja_deps")).unwrap();
    let expected = [
        "error compiled-unknown include/value.h",
        "note compiled-declared src/a.c",
        "note compiled-declared src/b c.c",
        "note compiled-declared src/new.c",
    ];
    assert_eq!(site.findings(&build), expected);
}

#[test]
fn the_profile_decides_which_overlays_must_be_there() {
    let gpu = "[[overlay]]\nname = \"gpu\"\nbase = \"PIN\"\nfiles = [\"src/unused.c\"]\nwhen = [\"gpu\"]\n\
               [profile.cpu]\n[profile.gpu]\nfeatures = [\"gpu\"]\n";
    let site = site("[\"src/a.c\", \"src/new.c\"]", gpu);
    site.project.write("overlays/up/src/unused.c", "int unused(void) { return 4; }\n");
    site.project.run(&["--profile", "gpu", "apply"]).expect(0);
    let build = site.build("Ninja");
    let build = build.to_str().unwrap();
    let codes = |profile: &str| {
        let run = site.project.run(&["--json", "--profile", profile, "verify", "--build", build]);
        run.stdout.matches("\"not-compiled\"").count()
    };
    assert_eq!(codes("gpu"), 1);
    assert_eq!(codes("cpu"), 0);
    let run = site.project.run(&["verify", "--build", build]).expect(2);
    assert!(run.stderr.contains("choose one"), "{}", run.stderr);
}

#[test]
fn what_the_cmake_module_watches_does_not_count_as_read() {
    let site = site("[\"src/a.c\", \"src/new.c\", \"unused.cmake\", \"include/idle.h\"]", "");
    let module = site.project.run(&["cmake"]).expect(0).stdout;
    site.project.write("cmake/Overlaid.cmake", module);
    site.project.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.20)\nproject(ours LANGUAGES C)\ninclude(cmake/Overlaid.cmake)\n\
         overlaid_fetch(NAME up MANIFEST manifests/up.toml)\n",
    );
    let build = site.project.path().join("build");
    let paths = [site.project.path().to_str().unwrap(), build.to_str().unwrap()];
    let program = format!("-DOVERLAID_EXECUTABLE={}", env!("CARGO_BIN_EXE_overlaid"));
    run("cmake", &["-S", paths[0], "-B", paths[1], "-G", "Ninja", &program]);
    run("cmake", &["--build", paths[1], "--target", "up"]);
    // Who forgets to name the tree is told which one the build has.
    let document = site.project.run(&["--json", "verify", "--build", "build"]).expect(1).json();
    let unknown = document["findings"].as_array().unwrap().iter();
    let hint = unknown
        .filter(|finding| finding["code"] == "compiled-unknown")
        .map(|finding| finding["hint"].as_str().unwrap())
        .next()
        .unwrap();
    assert!(
        hint.ends_with("build/_deps/up-src --build build") && hint.contains(": overlaid verify --tree "),
        "{hint}"
    );
    let run = site.project.run(&["--json", "verify", "--tree", "build/_deps/up-src", "--build", "build"]);
    let document = run.expect(1).json();
    let findings = document["findings"].as_array().unwrap().iter();
    let mut paths: Vec<&str> = findings
        .filter(|finding| finding["code"] == "not-compiled")
        .map(|finding| finding["path"].as_str().unwrap())
        .collect();
    paths.sort_unstable();
    assert_eq!(paths, ["include/idle.h", "unused.cmake"]);
}

#[test]
fn the_tree_that_a_build_really_read_is_named() {
    let site = site(USED, "");
    site.project.run(&["apply"]).expect(0);
    let top = site.project.path();
    let other = top.join("b/_deps/up-src");
    std::fs::create_dir_all(other.parent().unwrap()).unwrap();
    run("cp", &["-a", site.project.tree().to_str().unwrap(), other.to_str().unwrap()]);
    let build = top.join("b");
    site.build_in(&other, &build, "Ninja");
    for says in ["the build has another tree of ours", "the build read a file of that path in another folder"]
    {
        let run = site.project.run(&["verify", "--build", "b"]).expect(1);
        let hint = "overlaid verify --tree b/_deps/up-src --build b";
        assert!(run.stdout.contains("error[not-compiled]"), "{}", run.stdout);
        assert!(run.stdout.contains(says) && run.stdout.contains(hint), "{}", run.stdout);
        // What is named tells the build from the tree.
        let words: Vec<&str> = hint.split(' ').skip(1).collect();
        let run = site.project.run(&words);
        assert!(!run.stdout.contains("not-compiled"), "{}", run.stdout);
        // A folder that does not say what it is.
        let _ = std::fs::remove_dir_all(other.join(".overlaid"));
    }
}
