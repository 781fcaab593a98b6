//! `prove`: everything that a result depends on, changed behind its back. Each test tells a way in which a run of
//! one side, or of yesterday, could be taken for another.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use crate::prove::{says, small};
use crate::support::{Project, Upstream, write};

/// An upstream with a kernel that is not right.
fn kernel() -> (Upstream, String) {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("kernel", "bad\n")]);
    (upstream, pin)
}

const SEES_THE_KERNEL: &str = "grep -q good \"$OVERLAID_TREE/kernel\"\n";

/// A project with an overlay that mends the kernel.
fn mended(upstream: &Upstream, pin: &str, cmake: &str, script: &str) -> Project {
    let project = small(upstream, pin, "files = [\"kernel\"]", cmake, script);
    project.write("overlays/up/kernel", "good\n");
    project
}

/// What `prove` says about `fix` with this variable in the environment.
fn says_with(project: &Project, name: &str, value: &str) -> String {
    let output = project.command(&["prove", "--json"]).env(name, value).output().unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    document["overlays"][0]["verdict"].as_str().unwrap().to_owned()
}

fn change_manifest(project: &Project, from: &str, to: &str) {
    let manifest = project.read("manifests/up.toml");
    assert!(manifest.contains(from), "{manifest}");
    project.write("manifests/up.toml", manifest.replace(from, to));
}

#[test]
fn a_link_that_leads_elsewhere_is_a_difference_though_the_file_it_leads_to_is_opened() {
    let mut upstream = Upstream::new();
    symlink("bad", upstream.path().join("kernel")).unwrap();
    let pin = upstream.commit("one", &[("good", "good\n"), ("bad", "bad\n")]);
    let project = small(&upstream, &pin, "files = [\"kernel\"]", "", SEES_THE_KERNEL);
    std::fs::create_dir_all(project.path().join("overlays/up")).unwrap();
    symlink("good", project.path().join("overlays/up/kernel")).unwrap();
    assert_eq!(says(&project), "needed");
}

#[test]
fn a_mode_is_a_difference() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("kernel", "#!/bin/sh\n")]);
    let project = small(&upstream, &pin, "files = [\"kernel\"]", "", "[ -x \"$OVERLAID_TREE/kernel\" ]\n");
    project.write("overlays/up/kernel", "#!/bin/sh\n");
    let file = project.path().join("overlays/up/kernel");
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(says(&project), "needed");
}

#[test]
fn a_variable_that_the_test_reads_is_a_part_of_the_run() {
    let (upstream, pin) = kernel();
    let script =
        "k=$(cat \"$OVERLAID_TREE/kernel\")\n[ \"$KERNEL_PATH_TO_TEST\" = safe ] || [ \"$k\" = good ]\n";
    let project = mended(&upstream, &pin, "", script);
    assert_eq!(says_with(&project, "KERNEL_PATH_TO_TEST", "safe"), "unproven");
    assert_eq!(says(&project), "needed");
}

#[test]
fn a_variable_that_cmake_reads_is_a_part_of_the_build() {
    let (upstream, pin) = kernel();
    let cmake = "file(WRITE ${CMAKE_BINARY_DIR}/arch \"$ENV{TORCH_CUDA_ARCH_LIST}\")\n";
    // What counts is what CMake saw, not what the test sees.
    let script = "k=$(cat \"$OVERLAID_TREE/kernel\")\n[ \"$(cat \"$(dirname \"$0\")/arch\")\" = 8.0 ] || [ \"$k\" = good ]\n";
    let project = mended(&upstream, &pin, cmake, script);
    assert_eq!(says_with(&project, "TORCH_CUDA_ARCH_LIST", "8.0"), "unproven");
    assert_eq!(says_with(&project, "TORCH_CUDA_ARCH_LIST", "9.0"), "needed");
}

#[test]
fn what_comes_after_output_that_is_cut_off_is_not_known() {
    let (upstream, pin) = kernel();
    let script = "v=1; grep -q good \"$OVERLAID_TREE/kernel\" && v=0\n\
         echo '{\"case\": {\"n\": 0}, \"metric\": \"e\", \"value\": 0, \"max\": 0.5}'\n\
         head -c 70000000 /dev/zero; echo\n\
         echo \"{\\\"case\\\": {\\\"n\\\": 1}, \\\"metric\\\": \\\"e\\\", \\\"value\\\": $v, \\\"max\\\": 0.5}\"\n";
    let project = mended(&upstream, &pin, "", script);
    change_manifest(&project, "format = \"exit\"", "format = \"jsonl\"");
    assert_eq!(says(&project), "inconclusive");
    project.write("tests/t/run.sh", script.replace("70000000", "70"));
    assert_eq!(says(&project), "needed");
}

#[test]
fn a_run_time_cache_does_not_outlive_the_content_it_was_made_from() {
    let (upstream, pin) = kernel();
    let script = "c=$KERNEL_CACHE/kernel\nmkdir -p \"$KERNEL_CACHE\"\n\
                  [ -f \"$c\" ] || cat \"$OVERLAID_TREE/kernel\" > \"$c\"\n: < \"$OVERLAID_TREE/kernel\"\ngrep -q good \"$c\"\n";
    let project = mended(&upstream, &pin, "", script);
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", format!("{manifest}\n[profile.p]\ncache-env = [\"KERNEL_CACHE\"]\n"));
    project.write("overlays/up/kernel", "worse\n");
    assert_eq!(says(&project), "unproven");
    project.write("overlays/up/kernel", "good\n");
    assert_eq!(says(&project), "needed");
}

/// A program from the kernel, and an overlay with which it ends well.
fn compiled(upstream: &Upstream, pin: &str) -> Project {
    let cmake = "enable_language(CXX)\nadd_executable(k ${OVERLAID_TREE}/kernel.cpp)\n";
    let script = "exec \"$(dirname \"$0\")/k\"\n";
    let project = small(upstream, pin, "files = [\"kernel.cpp\"]", cmake, script);
    project.write("overlays/up/kernel.cpp", "int main() { return 0; }\n");
    project
}

fn kernel_with_a_macro() -> (Upstream, String) {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("kernel.cpp", "int main() { return BUG; }\n")]);
    (upstream, pin)
}

#[test]
fn a_compiler_that_is_exchanged_in_place_is_another() {
    let (upstream, pin) = kernel_with_a_macro();
    let mut project = compiled(&upstream, &pin);
    let folder = tempfile::tempdir().unwrap();
    let compiler = folder.path().join("our-compiler");
    let install = |bug: u8| {
        write(&compiler, format!("#!/bin/sh\nexec c++ -DBUG={bug} \"$@\"\n"));
        std::fs::set_permissions(&compiler, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    project.set("CXX", &compiler);
    install(0);
    assert_eq!(says(&project), "unproven");
    install(1);
    assert_eq!(says(&project), "needed");
}

#[test]
fn a_file_of_cmake_that_lies_elsewhere_is_a_part_of_the_build() {
    let (upstream, pin) = kernel_with_a_macro();
    let project = compiled(&upstream, &pin);
    let folder = tempfile::tempdir().unwrap();
    let toolchain = folder.path().join("toolchain.cmake");
    let manifest = project.read("manifests/up.toml");
    let profile =
        format!("\n[profile.p]\ncmake = {{ CMAKE_TOOLCHAIN_FILE = \"{}\" }}\n", toolchain.display());
    project.write("manifests/up.toml", manifest + &profile);
    write(&toolchain, "set(CMAKE_CXX_FLAGS_INIT \"-DBUG=0\")\n");
    assert_eq!(says(&project), "unproven");
    write(&toolchain, "set(CMAKE_CXX_FLAGS_INIT \"-DBUG=1\")\n");
    assert_eq!(says(&project), "needed");
}

#[test]
fn a_source_that_is_a_link_is_what_it_leads_to() {
    let (upstream, pin) = kernel();
    let project = mended(&upstream, &pin, "", "");
    let here = project.path().join("tests/t");
    project.write("tests/t/run.sh", format!(". {}/check.sh\n", here.display()));
    project.write("tests/common/check.sh", "cat \"$OVERLAID_TREE/kernel\"\n");
    symlink("../common/check.sh", here.join("check.sh")).unwrap();
    assert_eq!(says(&project), "unproven");
    project.write("tests/common/check.sh", SEES_THE_KERNEL);
    assert_eq!(says(&project), "needed");
}

#[test]
fn a_test_that_is_edited_while_it_is_proven_with_is_not_on_record_as_what_it_was() {
    let (upstream, pin) = kernel();
    let project = mended(&upstream, &pin, "", "");
    let aside = tempfile::tempdir().unwrap();
    write(&aside.path().join("blind"), "cat \"$OVERLAID_TREE/kernel\"\n");
    let (check, aside) = (project.path().join("tests/t/check.sh"), aside.path().display());
    // The first run is right, and whoever edits does so when it has ended.
    let script = format!(
        ". {check}\nr=$?\n[ -e {aside}/edited ] || {{ touch {aside}/edited; cp {aside}/blind {check}; }}\nexit $r\n",
        check = check.display()
    );
    project.write("tests/t/run.sh", script);
    write(&check, SEES_THE_KERNEL);
    assert_ne!(says(&project), "needed");
    write(&check, SEES_THE_KERNEL);
    assert_eq!(says(&project), "needed");
}

#[test]
fn a_manifest_that_is_edited_meanwhile_keeps_the_edit_and_gets_the_witness() {
    let (upstream, pin) = kernel();
    let project = mended(&upstream, &pin, "", "");
    let manifest = project.path().join("manifests/up.toml");
    let edit = format!("grep -q 'my edit' {0} || echo '# my edit' >> {0}\n", manifest.display());
    project.write("tests/t/run.sh", edit + SEES_THE_KERNEL);
    assert_eq!(says(&project), "needed");
    let after = project.read("manifests/up.toml");
    assert!(after.contains("# my edit") && after.contains("witness = "), "{after}");
}

#[test]
fn two_runs_that_want_the_same_commits_in_another_order_both_end() {
    let (mut upstream, base) = kernel();
    let pin = upstream.commit("two", &[("kernel", "good\n")]);
    let project =
        small(&upstream, &pin, "files = [\"kernel\"]", "", &format!("sleep 0.3\n{SEES_THE_KERNEL}"));
    project.write("overlays/up/kernel", "good, too\n");
    change_manifest(&project, &format!("base = \"{pin}\""), &format!("base = \"{base}\""));
    let start =
        |args: &[&str]| project.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // One takes the pin first, the other the base.
    let mut runs = [start(&["prove"]), start(&["test", "--at", &format!("{base},pin")])];
    let started = Instant::now();
    let mut ended = [None, None];
    while ended.contains(&None) && started.elapsed() < Duration::from_secs(90) {
        for (run, ended) in runs.iter_mut().zip(&mut ended) {
            *ended = ended.or(run.try_wait().unwrap());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    for run in &mut runs {
        let _ = run.kill();
        run.wait().unwrap();
    }
    assert_eq!(ended.map(|status| status.and_then(|status| status.code())), [Some(1), Some(1)]);
}

/// Makes what was built an hour newer than it is, as it is after the clock was set back by an hour.
fn set_the_clock_back(build: &Path, output: &str) {
    let hour = Duration::from_secs(3600);
    let file = std::fs::File::options().append(true).open(build.join(output)).unwrap();
    file.set_modified(SystemTime::now() + hour).unwrap();
    let log = build.join(".ninja_log");
    let text = std::fs::read_to_string(&log).unwrap();
    let mut changed = 0;
    let lines = text.lines().map(|line| {
        let mut fields: Vec<String> = line.split('\t').map(ToOwned::to_owned).collect();
        if fields.len() > 4 && fields[3] == output {
            fields[2] = (fields[2].parse::<u128>().unwrap() + hour.as_nanos()).to_string();
            changed += 1;
        }
        fields.join("\t") + "\n"
    });
    let text: String = lines.collect();
    std::fs::write(&log, text).unwrap();
    assert!(changed > 0);
}

#[test]
fn a_clock_that_was_set_back_does_not_keep_what_the_other_side_built() {
    let (upstream, pin) = kernel();
    let cmake = "add_custom_command(OUTPUT k COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/make.sh ${OVERLAID_TREE}/kernel\n\
                 DEPENDS ${OVERLAID_TREE}/kernel)\nadd_custom_target(kk ALL DEPENDS k)\n";
    let project = mended(&upstream, &pin, cmake, "grep -q good \"$(dirname \"$0\")/k\"\n");
    project.write("tests/t/make.sh", "cp \"$1\" k\n");
    assert_eq!(says(&project), "needed");
    set_the_clock_back(&project.path().join(format!(".overlaid/lab/up/{pin}/build/default/tests-t")), "k");
    // Nothing on record is of use any more.
    project.write("tests/t/make.sh", "cp \"$1\" k\n# again\n");
    assert_eq!(says(&project), "needed");
}

/// A block of code of a document, by what stands behind its fence.
fn block<'d>(section: &'d str, language: &str) -> &'d str {
    let start = section.find(&format!("```{language}\n")).unwrap() + language.len() + 4;
    &section[start..start + section[start..].find("```").unwrap()]
}

#[test]
fn the_example_of_a_test_that_is_a_script_works() {
    let document = include_str!("../docs/manifest.md");
    let section = &document[document.find("### A test that is a script").unwrap()..];
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("src/kernel.cu", "int width = 1;\n")]);
    let table = format!(
        "\n[[overlay]]\nname = \"wider\"\nreason = \"ours\"\nbase = \"{pin}\"\nfiles = [\"src/kernel.cu\"]\ntests = [\"check\"]\n\n{}",
        block(section, "toml")
    );
    let project = Project::on(&upstream, &pin, &table);
    project.write("overlays/up/src/kernel.cu", "int width = 2;\n");
    project.write("tests/check/CMakeLists.txt", block(section, "cmake"));
    project.write("tests/check/check.sh", block(section, "sh"));
    assert_eq!(says(&project), "needed");
    let run = project.run(&["verify", "--json"]).expect(0);
    assert!(!run.stdout.contains("missing-test"), "{}", run.stdout);
}
