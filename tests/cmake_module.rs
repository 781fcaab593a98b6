//! `cmake/Overlaid.cmake`, with real configures and builds of the CMake, ninja and make on PATH.

use std::path::{Path, PathBuf};

use crate::support::{Project, Run, Upstream, command, write};

const LISTS: &str = "cmake_minimum_required(VERSION 3.20)\nproject(up LANGUAGES C)\n\
    add_library(up STATIC src/a.c src/b.c)\ntarget_include_directories(up PUBLIC include)\n\
    set(UP_SEEN 1 PARENT_SCOPE)\n";

/// A library of two sources, one of which includes a header.
fn upstream() -> (Upstream, String) {
    let mut upstream = Upstream::new();
    let pin = upstream.commit(
        "start",
        &[
            ("CMakeLists.txt", LISTS),
            ("include/value.h", "#define VALUE 1\n"),
            ("src/a.c", "#include \"value.h\"\nint a(void) { return VALUE; }\n"),
            ("src/b.c", "int b(void) { return 10; }\n"),
        ],
    );
    (upstream, pin)
}

const APP: &str = "add_executable(app app.c)\ntarget_link_libraries(app PRIVATE up)\n\
    if(NOT UP_SEEN)\n  message(FATAL_ERROR \"the parent scope of the upstream is not ours\")\nendif()\n";
const MAIN: &str = "int a(void);\nint b(void);\n#include <stdio.h>\nint main(void) { printf(\"%d\\n\", a() + b()); return 0; }\n";

/// A project of ours that builds the upstream with an overlay on `include/value.h`.
struct Site {
    project: Project,
    generator: &'static str,
}

fn fetch(arguments: &str) -> String {
    format!(
        "cmake_minimum_required(VERSION 3.20)\nproject(ours LANGUAGES C)\ninclude(cmake/Overlaid.cmake)\n\
         overlaid_fetch(NAME Up MANIFEST manifests/up.toml {arguments})\n\
         message(STATUS \"fingerprint <${{up_OVERLAID_FINGERPRINT}}> tree <${{up_SOURCE_DIR}}>\")\n{APP}"
    )
}

fn overlays(pin: &str) -> String {
    format!(
        "[[overlay]]\nname = \"value\"\nbase = \"{pin}\"\nfiles = [\"include/*.h\"]\n\
         [[overlay]]\nname = \"fast\"\nbase = \"{pin}\"\nfiles = [\"src/b.c\"]\nwhen = [\"fast\"]\n"
    )
}

impl Site {
    fn new(upstream: &Upstream, pin: &str) -> Self {
        Self::with(upstream, pin, &overlays(pin), "")
    }

    fn with(upstream: &Upstream, pin: &str, overlays: &str, arguments: &str) -> Self {
        let project = Project::on(upstream, pin, overlays);
        project.write("overlays/up/include/value.h", "#define VALUE 2\n");
        project.write("overlays/up/src/b.c", "int b(void) { return 20; }\n");
        project.write("cmake/Overlaid.cmake", project.run(&["cmake"]).expect(0).stdout);
        project.write("CMakeLists.txt", fetch(arguments));
        project.write("app.c", MAIN);
        Self { project, generator: "Ninja" }
    }

    fn build_dir(&self) -> PathBuf {
        self.project.path().join("build")
    }

    fn tree(&self) -> PathBuf {
        self.build_dir().join("_deps/up-src")
    }

    fn cmake(&self, args: &[&str]) -> Run {
        let mut cmake = command("cmake");
        cmake
            .current_dir(self.project.path())
            .env("HOME", self.project.path().join("home"))
            .env("XDG_CACHE_HOME", self.project.path().join("cache"))
            .args(args);
        let output = cmake.output().expect("cmake starts");
        Run {
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn configure_in(&self, build: &str, args: &[&str]) -> Run {
        let program = format!("-DOVERLAID_EXECUTABLE={}", env!("CARGO_BIN_EXE_overlaid"));
        let mut all = vec!["-S", ".", "-B", build, "-G", self.generator, &program];
        all.extend(args);
        self.cmake(&all)
    }

    fn configure(&self, args: &[&str]) -> Run {
        self.configure_in("build", args)
    }

    /// Builds; gives the sources that were compiled, by name.
    fn build(&self) -> Vec<String> {
        let run = self.cmake(&["--build", "build"]).expect(0);
        let compiled = run.stdout.lines().filter(|line| line.contains("Building C object"));
        let name = |line: &str| line.rsplit('/').next().unwrap_or(line).trim_end_matches(".o").to_owned();
        let mut compiled: Vec<String> = compiled.map(name).collect();
        compiled.sort();
        compiled
    }

    /// What the program that was built prints.
    fn says(&self) -> String {
        let output = command(self.build_dir().join("app")).output().expect("the program was built");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

/// What the configure prints of the fingerprint.
#[track_caller]
fn fingerprint(run: &Run) -> &str {
    let rest = run.stdout.split_once("fingerprint <").and_then(|(_, rest)| rest.split_once('>'));
    rest.map(|(hash, _)| hash).unwrap_or_else(|| panic!("{run:?}"))
}

/// The first configure and build of a project.
#[track_caller]
fn built(site: &Site) {
    site.configure(&[]).expect(0);
    assert_eq!(site.build(), ["a.c", "app.c", "b.c"]);
}

#[test]
fn the_first_configure_makes_the_tree_and_a_second_one_recompiles_nothing() {
    let (upstream, pin) = upstream();
    let site = Site::new(&upstream, &pin);
    built(&site);
    assert_eq!(site.says(), "12");
    let run = site.configure(&[]).expect(0);
    assert_eq!(fingerprint(&run).len(), 64, "{}", run.stdout);
    assert_eq!(site.build(), [""; 0]);
    let quiet = site.cmake(&["--build", "build"]).expect(0);
    assert!(quiet.stdout.contains("no work to do"), "{}", quiet.stdout);
    let cache = std::fs::read_to_string(site.build_dir().join("CMakeCache.txt")).unwrap();
    assert!(cache.contains("\nFETCHCONTENT_SOURCE_DIR_UP:PATH=\n"), "the user's variable is not ours to set");
}

#[test]
fn an_edited_overlay_recompiles_what_depends_on_it() {
    let (upstream, pin) = upstream();
    let site = Site::new(&upstream, &pin);
    built(&site);
    site.project.write("overlays/up/include/value.h", "#define VALUE 3\n");
    assert_eq!(site.build(), ["a.c"]);
    assert_eq!(site.says(), "13");
    // An overlay that is off is watched and changes nothing.
    site.project.write("overlays/up/src/b.c", "int b(void) { return 30; }\n");
    assert_eq!(site.build(), [""; 0]);
    assert_eq!(site.says(), "13");
}

#[test]
fn a_new_file_that_a_glob_matches_is_seen() {
    let (mut upstream, _) = upstream();
    let pin = upstream.commit(
        "more",
        &[
            ("include/more.h", "#define MORE 0\n"),
            ("src/b.c", "#include \"more.h\"\nint b(void) { return 10 + MORE; }\n"),
        ],
    );
    let site = Site::new(&upstream, &pin);
    built(&site);
    site.project.write("overlays/up/include/more.h", "#define MORE 100\n");
    assert_eq!(site.build(), ["b.c"]);
    assert_eq!(site.says(), "112");
}

#[test]
fn a_removed_overlay_goes_and_its_dependants_are_recompiled() {
    let (upstream, pin) = upstream();
    let site = Site::new(&upstream, &pin);
    built(&site);
    let manifest = crate::support::manifest(&upstream, &pin, "");
    site.project.write("manifests/up.toml", manifest);
    assert_eq!(site.build(), ["a.c"]);
    assert_eq!(site.says(), "11");
    assert_eq!(std::fs::read_to_string(site.tree().join("include/value.h")).unwrap(), "#define VALUE 1\n");
}

#[test]
fn a_pin_that_moves_recompiles_what_upstream_changed() {
    let (mut upstream, pin) = upstream();
    let site = Site::new(&upstream, &pin);
    built(&site);
    let next = upstream.commit("next", &[("src/b.c", "int b(void) { return 50; }\n")]);
    site.project.write("manifests/up.toml", crate::support::manifest(&upstream, &next, &overlays(&pin)));
    assert_eq!(site.build(), ["b.c"]);
    assert_eq!(site.says(), "52");
}

#[test]
fn features_turn_overlays_on() {
    let (upstream, pin) = upstream();
    let site = Site::with(&upstream, &pin, &overlays(&pin), "FEATURES fast");
    built(&site);
    assert_eq!(site.says(), "22");
    site.project.write("CMakeLists.txt", fetch(""));
    assert_eq!(site.build(), ["b.c"]);
    assert_eq!(site.says(), "12");
}

#[test]
fn another_generator_finds_the_same_tree() {
    let (upstream, pin) = upstream();
    let mut site = Site::new(&upstream, &pin);
    built(&site);
    let before = site.tree().join("src/a.c").metadata().unwrap().modified().unwrap();
    std::fs::remove_file(site.build_dir().join("CMakeCache.txt")).unwrap();
    std::fs::remove_dir_all(site.build_dir().join("CMakeFiles")).unwrap();
    site.generator = "Unix Makefiles";
    site.configure(&[]).expect(0);
    assert_eq!(site.tree().join("src/a.c").metadata().unwrap().modified().unwrap(), before);
    site.build();
    assert_eq!(site.says(), "12");
    site.project.write("overlays/up/include/value.h", "#define VALUE 3\n");
    assert_eq!(site.build(), ["a.c"]);
    assert_eq!(site.says(), "13");
    assert_eq!(site.build(), [""; 0]);
}

#[test]
fn two_projects_share_a_tree() {
    let (upstream, pin) = upstream();
    let site = Site::with(&upstream, &pin, &overlays(&pin), "TREE ${CMAKE_CURRENT_SOURCE_DIR}/shared");
    built(&site);
    site.configure_in("other", &[]).expect(0);
    site.cmake(&["--build", "other"]).expect(0);
    assert_eq!(site.build(), [""; 0], "the other project touches nothing");
    // One of them sees the edit first; the other one compiles it, too.
    site.project.write("overlays/up/include/value.h", "#define VALUE 3\n");
    assert_eq!(site.build(), ["a.c"]);
    let run = site.cmake(&["--build", "other"]).expect(0);
    assert!(run.stdout.contains("a.c.o"), "{}", run.stdout);
}

#[test]
fn a_shared_tree_that_another_project_changed_is_changed_back_before_a_build() {
    let (upstream, pin) = upstream();
    let site = Site::with(
        &upstream,
        &pin,
        &overlays(&pin),
        "TREE ${CMAKE_CURRENT_SOURCE_DIR}/shared FEATURES ${ON}",
    );
    site.configure(&[]).expect(0);
    site.build();
    assert_eq!(site.says(), "12");
    site.configure_in("other", &["-DON=fast"]).expect(0);
    assert!(std::fs::read_to_string(site.project.path().join("shared/src/b.c")).unwrap().contains("20"));
    site.build();
    assert_eq!(site.says(), "12");
}

#[test]
fn configures_at_the_same_time_wait_for_each_other() {
    let (upstream, pin) = upstream();
    let site = Site::with(&upstream, &pin, &overlays(&pin), "TREE ${CMAKE_CURRENT_SOURCE_DIR}/shared");
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|number| {
                scope.spawn({
                    let site = &site;
                    move || site.configure_in(&format!("build{number}"), &[])
                })
            })
            .collect();
        for run in runs {
            run.join().unwrap().expect(0);
        }
    });
    let header = site.project.path().join("shared/include/value.h");
    assert_eq!(std::fs::read_to_string(header).unwrap(), "#define VALUE 2\n");
}

#[test]
fn a_folder_that_was_chosen_by_hand_is_used_as_it_is() {
    let (upstream, pin) = upstream();
    let site = Site::new(&upstream, &pin);
    let own = format!("-DFETCHCONTENT_SOURCE_DIR_UP={}", upstream.path().display());
    let run = site.configure(&[&own]).expect(0);
    assert!(run.stdout.contains("as it is, without overlays"), "{}", run.stdout);
    site.build();
    assert_eq!(site.says(), "11");
    assert!(!site.tree().exists());
    // Taken away again, the overlays are back.
    site.configure(&["-DFETCHCONTENT_SOURCE_DIR_UP="]).expect(0);
    site.build();
    assert_eq!(site.says(), "12");
}

#[test]
fn fully_disconnected_the_tree_stays_as_it_is() {
    let (upstream, pin) = upstream();
    let site = Site::new(&upstream, &pin);
    let disconnected = "-DFETCHCONTENT_FULLY_DISCONNECTED=ON";
    let run = site.configure(&[disconnected]).expect(1);
    assert!(run.stderr.contains("Configure once without it"), "{}", run.stderr);
    site.configure(&["-DFETCHCONTENT_FULLY_DISCONNECTED=OFF"]).expect(0);
    let run = site.configure(&[disconnected]).expect(0);
    assert_eq!(run.stderr, "");
    let attested = fingerprint(&run).to_owned();
    assert_eq!(attested.len(), 64);
    site.project.write("overlays/up/include/value.h", "#define VALUE 3\n");
    let run = site.configure(&[disconnected]).expect(0);
    assert!(run.stderr.contains("the tree is not what the manifest says"), "{}", run.stderr);
    assert_eq!(fingerprint(&run), attested, "it is that of the tree");
    // An edit makes it a tree that nobody knows, and so does a run that was interrupted.
    write(&site.tree().join("include/value.h"), "#define VALUE 9\n");
    let run = site.configure(&[disconnected]).expect(0);
    assert_eq!(fingerprint(&run), "");
    assert!(
        run.stderr.contains("the tree is not what the manifest says") && run.stderr.contains("local edit")
    );
    assert!(!run.stderr.contains("cannot tell"), "{}", run.stderr);
    write(&site.tree().join("include/value.h"), "#define VALUE 2\n");
    assert_eq!(fingerprint(&site.configure(&[disconnected]).expect(0)), attested);
    let attestation = site.tree().join(".overlaid/attestation.json");
    let text = std::fs::read(&attestation).unwrap();
    std::fs::remove_file(&attestation).unwrap();
    assert_eq!(fingerprint(&site.configure(&[disconnected]).expect(0)), "");
    std::fs::write(&attestation, text).unwrap();
    // Where nothing of the upstream can be read, the tree still says what it is.
    std::fs::rename(upstream.path(), upstream.path().with_extension("gone")).unwrap();
    let run = site.configure(&[disconnected]).expect(0);
    std::fs::rename(upstream.path().with_extension("gone"), upstream.path()).unwrap();
    assert!(run.stderr.contains("cannot tell whether"), "{}", run.stderr);
    assert_eq!(fingerprint(&run), attested);
    assert_eq!(std::fs::read_to_string(site.tree().join("include/value.h")).unwrap(), "#define VALUE 2\n");
}

#[test]
fn updates_disconnected_nothing_is_fetched_and_overlays_are_applied() {
    let (mut upstream, pin) = upstream();
    let next = upstream.commit("next", &[("src/b.c", "int b(void) { return 50; }\n")]);
    upstream.git(&["reset", "-q", "--hard", &pin]);
    let site = Site::new(&upstream, &pin);
    // A folder is read where it is; this has to be fetched.
    let remote = |pin: &str, of: &str| {
        let path = upstream.path().display().to_string();
        crate::support::manifest(&upstream, pin, &overlays(of)).replace(&path, &format!("file://{path}"))
    };
    site.project.write("manifests/up.toml", remote(&pin, &pin));
    site.configure(&["-DFETCHCONTENT_UPDATES_DISCONNECTED=ON"]).expect(1);
    site.configure(&["-DFETCHCONTENT_UPDATES_DISCONNECTED=OFF"]).expect(0);
    site.configure(&["-DFETCHCONTENT_UPDATES_DISCONNECTED=ON"]).expect(0);
    site.build();
    site.project.write("overlays/up/include/value.h", "#define VALUE 3\n");
    assert_eq!(site.build(), ["a.c"]);
    site.project.write("manifests/up.toml", remote(&next, &pin));
    let run = site.configure(&[]).expect(1);
    assert!(run.stderr.contains(&next), "{}", run.stderr);
}

#[test]
fn what_is_wrong_stops_the_configure_and_is_shown_as_it_was_said() {
    let (upstream, pin) = upstream();
    let site = Site::new(&upstream, &pin);
    let broken = overlays(&pin).replace("include/*.h", "include/*.hpp");
    site.project.write("manifests/up.toml", crate::support::manifest(&upstream, &pin, &broken));
    let run = site.configure(&[]).expect(1);
    assert!(run.stderr.contains("the tree cannot be made; overlaid says"), "{}", run.stderr);
    assert!(run.stderr.contains("\n    error[glob-matches-nothing]"), "{}", run.stderr);
    assert!(run.stderr.contains("a file that it matches into `overlays/up/include`"), "{}", run.stderr);
    assert!(!run.stderr.contains('\u{1b}'), "{}", run.stderr);
    assert!(!site.build_dir().join("build.ninja").exists());
}

#[test]
fn an_edit_in_the_tree_stops_the_build() {
    let (upstream, pin) = upstream();
    let site = Site::new(&upstream, &pin);
    built(&site);
    write(&site.tree().join("include/value.h"), "#define VALUE 9\n");
    let run = site.cmake(&["--build", "build"]);
    assert_ne!(run.code, 0);
    let said = run.stdout + &run.stderr;
    assert!(said.contains("include/value.h: local edit"), "{said}");
    // CMake breaks no line that is indented.
    let command = said.split_once("(a copy is kept): ").unwrap().1.lines().next().unwrap();
    site.project.shell(command).expect(0);
    assert_eq!(std::fs::read_to_string(site.tree().join("include/value.h")).unwrap(), "#define VALUE 2\n");
    site.cmake(&["--build", "build"]).expect(0);
}

#[test]
fn what_somebody_else_filled_in_is_not_taken_for_the_pin() {
    let (upstream, pin) = upstream();
    let site = Site::new(&upstream, &pin);
    write(&site.tree().join("CMakeLists.txt"), LISTS);
    let run = site.configure(&[]).expect(1);
    assert!(run.stderr.contains("something else has filled"), "{}", run.stderr);
    let lists = fetch("").replace(
        "overlaid_fetch(",
        "include(FetchContent)\nFetchContent_Declare(up SOURCE_DIR ${UP})\nFetchContent_MakeAvailable(up)\noverlaid_fetch(",
    );
    site.project.write("CMakeLists.txt", lists);
    let run = site.configure(&[&format!("-DUP={}", upstream.path().display())]).expect(1);
    assert!(run.stderr.contains("filled in before, without overlays"), "{}", run.stderr);
}

#[test]
fn an_empty_folder_is_no_tree_and_stays_empty() {
    let (upstream, pin) = upstream();
    let site = Site::with(&upstream, &pin, &overlays(&pin), "TREE ${CMAKE_CURRENT_SOURCE_DIR}/shared");
    let shared = site.project.path().join("shared");
    std::fs::create_dir(&shared).unwrap();
    for with_lock in [false, true] {
        if with_lock {
            site.project.run(&["lock"]).expect(0);
        }
        let run = site.configure(&[]).expect(1);
        assert!(run.stderr.contains("there is no tree at `"), "{}", run.stderr);
        assert!(run.stderr.contains("shared`: the folder is empty"), "{}", run.stderr);
        assert_eq!(std::fs::read_dir(&shared).unwrap().count(), 0, "with a lock: {with_lock}");
    }
    std::fs::remove_dir(&shared).unwrap();
    built(&site);
}

#[test]
fn the_same_call_twice_is_one_and_another_one_is_an_error() {
    let (upstream, pin) = upstream();
    let site = Site::new(&upstream, &pin);
    let again = |arguments: &str| {
        format!("{}\noverlaid_fetch(NAME up MANIFEST manifests/up.toml {arguments})\n", fetch(""))
    };
    site.project.write("CMakeLists.txt", again(""));
    site.configure(&[]).expect(0);
    site.project.write("CMakeLists.txt", again("FEATURES fast"));
    let run = site.configure(&[]).expect(1);
    assert!(run.stderr.contains("with other arguments"), "{}", run.stderr);
}

#[test]
fn arguments_that_are_wrong_are_named() {
    let (upstream, pin) = upstream();
    let site = Site::with(&upstream, &pin, &overlays(&pin), "FEATURE fast");
    let run = site.configure(&[]).expect(1);
    assert!(run.stderr.contains("unknown arguments: FEATURE"), "{}", run.stderr);
    site.project.write("CMakeLists.txt", fetch("").replace(" MANIFEST manifests/up.toml", ""));
    let run = site.configure(&[]).expect(1);
    assert!(run.stderr.contains("MANIFEST is missing"), "{}", run.stderr);
    site.project.write("CMakeLists.txt", fetch("OVERLAID_EXECUTABLE /no/such/overlaid"));
    let run = site.configure(&[]).expect(1);
    assert!(run.stderr.contains("the program overlaid is not there"), "{}", run.stderr);
}

#[test]
fn an_installed_module_is_found() {
    let (upstream, pin) = upstream();
    let site = Site::with(&upstream, &pin, &overlays(&pin), "DOWNLOAD_ONLY");
    site.project.run(&["cmake", "--install", "prefix"]).expect(0);
    let found = |version: &str| {
        let lists = fetch("DOWNLOAD_ONLY").replace(APP, "");
        lists.replace("include(cmake/Overlaid.cmake)", &format!("find_package(Overlaid {version} REQUIRED)"))
    };
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", site.project.path().join("prefix").display());
    let version = env!("CARGO_PKG_VERSION");
    site.project.write("CMakeLists.txt", found(version));
    site.configure(&[&prefix]).expect(0);
    assert!(site.tree().join("include/value.h").is_file());
    site.project.write("CMakeLists.txt", found("99.0"));
    site.configure(&[&prefix]).expect(1);
}

#[test]
fn a_clone_that_a_variable_names_is_used() {
    let (upstream, pin) = upstream();
    let site = Site::new(&upstream, &pin);
    let manifest = crate::support::manifest(&upstream, &pin, &overlays(&pin));
    let nowhere = manifest.replace(&upstream.path().display().to_string(), "/no/such/repository");
    site.project.write("manifests/up.toml", nowhere);
    site.configure(&[]).expect(1);
    site.configure(&[&format!("-DOVERLAID_UPSTREAM_UP={}", upstream.path().display())]).expect(0);
    // It is in the cache: a build that configures again finds it, too.
    site.project.write("overlays/up/include/value.h", "#define VALUE 3\n");
    site.build();
    assert_eq!(site.says(), "13");
    assert!(Path::new(&site.tree()).is_dir());
}

#[test]
fn with_a_lock_the_first_configure_makes_the_tree_all_the_same() {
    let (upstream, pin) = upstream();
    let site = Site::new(&upstream, &pin);
    site.project.run(&["lock"]).expect(0);
    built(&site);
    assert_eq!(site.says(), "12");
}

#[test]
fn warnings_of_the_program_are_warnings_and_notes_are_quiet() {
    let (upstream, pin) = upstream();
    let site = Site::with(&upstream, &pin, &overlays(&pin), "FEATURES fast fsat");
    for _ in 0..2 {
        let run = site.configure(&[]).expect(0);
        assert!(run.stderr.contains("CMake Warning"), "{}", run.stderr);
        assert!(run.stderr.contains("names `fsat`"), "{}", run.stderr);
    }
    site.project.write("CMakeLists.txt", fetch("FEATURES fast"));
    assert_eq!(site.configure(&[]).expect(0).stderr, "");
}
