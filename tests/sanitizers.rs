//! Sanitizers: faults that no figure shows, planted into a library in C++, built by real compilers.

use std::path::Path;

use crate::support::{Project, Run, Upstream};

/// A library of which the results are right whatever is done to it here.
const HEADER: &str = "int sum(const int* x, int n);\nunsigned mix(int a);\n";
const SUM: &str = "#include \"lib.h\"\nint sum(const int* x, int n) {\n  int s = 0;\n  for (int i = 0; i < n; ++i)\n    \
                   s += x[i] * (i < n);\n  return s;\n}\n";
const MIX: &str = "#include \"lib.h\"\nunsigned mix(int a) {\n  return (unsigned)a * 31u;\n}\n";

/// One element too many is read, and counted as nothing.
fn overruns() -> String {
    SUM.replace("i < n; ++i", "i <= n; ++i")
}

/// It overflows, and what comes out is the same.
fn overflows() -> String {
    MIX.replace("(unsigned)a * 31u", "(unsigned)(a * 31)")
}

const PROGRAM: &str = r#"#include <cstdio>
#include "lib.h"
int main() {
  int* x = new int[5];
  for (int i = 0; i < 5; ++i) x[i] = i + 1;
  std::printf("{\"case\": {\"n\": 5}, \"status\": \"start\"}\n");
  std::fflush(stdout);
  std::printf("{\"case\": {\"n\": 5}, \"value\": %d, \"max\": 15, \"min\": 15}\n", sum(x, 5));
  std::printf("{\"case\": {\"f\": 1}, \"value\": %u, \"max\": 3100000000, \"min\": 3100000000}\n", mix(100000000));
  delete[] x;
  return 0;
}
"#;

const LISTS: &str = "cmake_minimum_required(VERSION 3.20)\nproject(check LANGUAGES CXX)\n\
                     add_executable(check check.cpp ${OVERLAID_TREE}/src/sum.cpp ${OVERLAID_TREE}/src/mix.cpp)\n\
                     target_include_directories(check PRIVATE ${OVERLAID_TREE}/src)\n";

/// Upstream's files, the overlay's file, and what watches.
fn situation(files: &[(&str, &str)], overlaid: (&str, &str), sanitizers: &str) -> (Upstream, Project) {
    let mut upstream = Upstream::new();
    upstream.commit("base", &[("src/lib.h", HEADER), ("src/sum.cpp", SUM), ("src/mix.cpp", MIX)]);
    let base = upstream.commit("as it is", files);
    let (path, text) = overlaid;
    let tables = format!(
        "\n[[overlay]]\nname = \"ours\"\nreason = \"planted\"\nbase = \"{base}\"\ntests = [\"check\"]\n\
         files = [\"{path}\"]\n\n[[test]]\nname = \"check\"\nproject = \"tests/check\"\ntarget = \"check\"\n\
         command = [\"{{build}}/check\"]\nrepeats = 1\nsanitizers = [{sanitizers}]\n"
    );
    let project = Project::on(&upstream, &base, &tables);
    project.write(&format!("overlays/up/{path}"), text);
    project.write("tests/check/CMakeLists.txt", LISTS);
    project.write("tests/check/check.cpp", PROGRAM);
    (upstream, project)
}

fn overlay(run: &Run) -> serde_json::Value {
    run.json()["overlays"][0].clone()
}

fn findings(overlay: &serde_json::Value) -> Vec<String> {
    let reasons = overlay["reasons"].as_array().unwrap().iter();
    let findings = reasons.filter(|reason| reason["code"] == "finding");
    findings.map(|reason| reason["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_overrun_that_no_figure_shows_makes_an_overlay_needed() {
    let (_upstream, project) =
        situation(&[("src/sum.cpp", &overruns())], ("src/sum.cpp", SUM), "\"address\"");
    let run = project.run(&["prove", "--json"]).expect(0);
    let overlay = overlay(&run);
    assert_eq!(overlay["verdict"], "needed");
    assert_eq!(overlay["fixed"].as_array().unwrap().len(), 1, "{overlay}");
    assert_eq!(overlay["fixed"][0]["case"], "sanitizer:address");
    let findings = findings(&overlay);
    assert_eq!(findings.len(), 1, "{findings:?}");
    let finding = &findings[0];
    for part in
        ["without the overlay", "heap-buffer-overflow, read of 4 bytes in sum", "src/sum.cpp:5", "address 0x"]
    {
        assert!(finding.contains(part), "{part}: {finding}");
    }
    // Where somebody builds is nobody's business.
    assert!(!finding.contains(".overlaid"), "{finding}");

    // From the records: nothing is built, nothing is run.
    std::fs::remove_dir_all(project.path().join(".overlaid/lab/up/answers")).unwrap();
    let again = project.run(&["prove", "--json"]).expect(0);
    assert!(!again.stderr.contains("run  ") && !again.stderr.contains("build"), "{}", again.stderr);
    assert_eq!(again.stdout, run.stdout);
}

#[test]
fn an_overrun_that_an_overlay_brings_makes_it_harmful() {
    let (_upstream, project) =
        situation(&[("elsewhere", "1\n")], ("src/sum.cpp", &overruns()), "\"address\", \"undefined\"");
    let run = project.run(&["prove", "--json"]).expect(1);
    let overlay = overlay(&run);
    assert_eq!(
        (&overlay["verdict"], &overlay["broken"][0]["case"]),
        (&"harmful".into(), &"sanitizer:address".into())
    );
    assert_eq!(overlay["broken"].as_array().unwrap().len(), 1, "{overlay}");
    // The ordinary cells are those of an ordinary build.
    let text = project.run(&["prove"]).expect(1).stdout;
    assert!(text.contains("breaks: check: sanitizer:address"), "{text}");
    assert!(text.contains("finding: check sanitizer:address at the pin with the overlay"), "{text}");
}

#[test]
fn a_signed_overflow_is_found_with_its_line() {
    let (_upstream, project) =
        situation(&[("src/mix.cpp", &overflows())], ("src/mix.cpp", MIX), "\"undefined\"");
    let run = project.run(&["prove", "--json"]).expect(0);
    let overlay = overlay(&run);
    assert_eq!(
        (&overlay["verdict"], &overlay["fixed"][0]["case"]),
        (&"needed".into(), &"sanitizer:undefined".into())
    );
    let findings = findings(&overlay);
    assert!(
        findings[0].contains("signed integer overflow") && findings[0].contains("src/mix.cpp:3"),
        "{findings:?}"
    );

    let run = project.run(&["test", "--json"]).expect(0).json();
    let told = &run["tests"][0]["variants"][0]["sanitizers"][0];
    assert_eq!((&told["tool"], &told["outcome"]), (&"undefined".into(), &"pass".into()));
    let pin = project.run(&["test", "--at", "pin"]).expect(1);
    assert!(
        pin.stdout.contains("sanitizer:undefined at pin: fail: signed integer overflow"),
        "{}",
        pin.stdout
    );
}

#[test]
fn a_build_that_takes_no_notice_is_not_clean() {
    let (_upstream, project) =
        situation(&[("src/sum.cpp", &overruns())], ("src/sum.cpp", SUM), "\"address\"");
    project.write(
        "tests/check/CMakeLists.txt",
        format!(
            "{LISTS}set_property(TARGET check PROPERTY RULE_LAUNCH_COMPILE \"\")\n\
        set(CMAKE_CXX_FLAGS \"\")\n"
        ),
    );
    let run = project.run(&["prove", "--json"]).expect(4);
    let overlay = overlay(&run);
    assert_eq!(overlay["verdict"], "inconclusive");
    let reasons = overlay["reasons"].to_string();
    assert!(reasons.contains("takes no notice of -fsanitize=address"), "{reasons}");
}

/// A compute-sanitizer that finds something where the source reads too far.
const DEVICE_TOOL: &str = r#"#!/bin/sh
while [ "$1" != --save ]; do shift; done
report=$2
shift 6
"$@"
status=$?
echo '========= COMPUTE-SANITIZER'
[ -z "$BROKEN" ] || { echo '========= Error: No attachable process found.'; echo '<ComputeSanitizerOutput/>' > "$report"; exit 1; }
{
  echo '<ComputeSanitizerOutput>'
  if grep -q 'i <= n' "$OVERLAID_TREE/src/sum.cpp"; then
    echo "<record><kind>Precise</kind><level>Error</level><what><text>Invalid __shared__ write of size 4 bytes</text>"
    echo "<address>0x80</address></what><where><func>sum</func><path>$OVERLAID_TREE/src/sum.cpp</path><line>5</line></where></record>"
    echo '<record><kind>Api</kind><level>Error</level><what><text>unspecified launch failure</text></what></record>'
  fi
  echo '</ComputeSanitizerOutput>'
} > "$report"
exit $status
"#;

fn with_device_tool(project: &mut Project) {
    use std::os::unix::fs::PermissionsExt;
    project.write("tools/compute-sanitizer", DEVICE_TOOL);
    let tool = project.path().join("tools/compute-sanitizer");
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let own = std::iter::once(project.path().join("tools")).chain(std::env::split_paths(&path));
    let joined = std::env::join_paths(own).unwrap();
    project.set("PATH", Path::new(&joined).to_owned());
}

#[test]
fn what_watches_kernels_is_called_and_its_records_are_read() {
    let (_upstream, mut project) =
        situation(&[("src/sum.cpp", &overruns())], ("src/sum.cpp", SUM), "\"memcheck\"");
    with_device_tool(&mut project);
    let run = project.run(&["prove", "--json"]).expect(0);
    let overlay = overlay(&run);
    assert_eq!(
        (&overlay["verdict"], &overlay["fixed"][0]["case"]),
        (&"needed".into(), &"sanitizer:memcheck".into())
    );
    assert_eq!(
        findings(&overlay),
        [
            "check sanitizer:memcheck at the pin without the overlay: Invalid __shared__ write of size 4 bytes in sum at \
          src/sum.cpp:5, address 0x80"
        ]
    );
}

#[test]
fn a_tool_that_is_not_here_leaves_the_verdict_open_and_is_tried_again() {
    let (_upstream, mut project) =
        situation(&[("src/sum.cpp", &overruns())], ("src/sum.cpp", SUM), "\"memcheck\"");
    let run = project.run(&["prove", "--json"]).expect(4);
    let reasons = overlay(&run)["reasons"].to_string();
    assert!(reasons.contains("compute-sanitizer is not on PATH"), "{reasons}");
    // It comes, and cannot do its work.
    with_device_tool(&mut project);
    project.set("BROKEN", Path::new("1").to_owned());
    let run = project.run(&["prove", "--json"]).expect(4);
    let reasons = overlay(&run)["reasons"].to_string();
    assert!(reasons.contains("No attachable process found"), "{reasons}");
    project.set("BROKEN", Path::new("").to_owned());
    project.run(&["prove"]).expect(0);
}
