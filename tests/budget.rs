//! `prove --dry-run` and `prove --budget`: how long a proof takes, and one that stops in time.

use crate::prove::small;
use crate::support::{Project, Run, Upstream};

/// A program that ends with what `slow.h` says, after a wait; the overlay `fix` takes the header away.
fn slow(wait: &str) -> (Upstream, Project) {
    let mut upstream = Upstream::new();
    let kernel = "#if __has_include(\"slow.h\")\n#include \"slow.h\"\n#else\n#define VALUE 0\n#endif\n\
                  int main() { return VALUE; }\n";
    let pin = upstream.commit("one", &[("kernel.cpp", kernel), ("slow.h", "#define VALUE 1\n")]);
    let cmake = "enable_language(CXX)\nadd_executable(k ${OVERLAID_TREE}/kernel.cpp)\n";
    let script = format!("sleep {wait}\nexec \"$(dirname \"$0\")/k\"\n");
    let project = small(&upstream, &pin, "delete = [\"slow.h\"]", cmake, &script);
    (upstream, project)
}

/// Puts another line into the test, so that nothing on record holds.
fn edit(project: &Project) {
    let script = project.read("tests/t/run.sh");
    project.write("tests/t/run.sh", format!("# edited\n{script}"));
}

fn codes(run: &Run) -> Vec<String> {
    let document = run.json();
    let reasons = document["overlays"][0]["reasons"].as_array().unwrap().iter();
    reasons.map(|reason| reason["code"].as_str().unwrap().to_owned()).collect()
}

fn has_run(run: &Run) -> bool {
    run.stderr.lines().any(|line| line.starts_with("build ") || line.starts_with("run "))
}

#[test]
fn a_dry_run_tells_the_time_by_what_earlier_builds_and_runs_took() {
    let (_upstream, project) = slow("0.2");
    let before = project.run(&["prove", "--dry-run"]).expect(0);
    assert!(before.stdout.contains("how long that takes is not known"), "{}", before.stdout);
    project.run(&["prove"]).expect(0);
    edit(&project);
    let run = project.run(&["prove", "--dry-run"]).expect(0);
    assert!(run.stdout.contains("by what earlier builds and runs took"), "{}", run.stdout);
    let left = project.run(&["prove", "--dry-run", "--json"]).expect(0).json()["left"].clone();
    let left = left.as_array().unwrap();
    assert!(!left.is_empty());
    for planned in left {
        let runs = planned["runs"].as_u64().unwrap();
        // Each run waits that long, and a compiler takes its time, too.
        assert!(planned["millis"].as_u64().unwrap() > 200 * runs, "{planned}");
    }
}

#[test]
fn a_dry_run_says_what_is_on_record_and_still_valid() {
    let (_upstream, project) = slow("0");
    project.run(&["prove"]).expect(0);
    // Only the side with the overlay is another one now.
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", manifest.replace("delete = [\"slow.h\"]", "files = [\"slow.h\"]"));
    project.write("overlays/up/slow.h", "#define VALUE 0\n");
    let run = project.run(&["prove", "--dry-run"]).expect(0);
    assert!(run.stdout.contains("on record, and still valid:"), "{}", run.stdout);
    let document = project.run(&["prove", "--dry-run", "--json"]).expect(0).json();
    assert_eq!(document["on_record"].as_array().unwrap().len(), 1, "{document:#}");
    assert_eq!(document["on_record"][0]["variant"], "pin without fix");
    assert_eq!(document["left"].as_array().unwrap().len(), 1, "{document:#}");
    assert_eq!(document["left"][0]["variant"], "pin");
}

#[test]
fn with_no_time_at_all_nothing_is_started_and_all_is_left() {
    let (_upstream, project) = slow("0");
    let run = project.run(&["prove", "--budget", "1ms"]).expect(4);
    assert!(!has_run(&run), "{}", run.stderr);
    assert!(run.stdout.contains("left to build and run"), "{}", run.stdout);
    let run = project.run(&["prove", "--budget", "1ms", "--json"]).expect(4);
    assert_eq!(run.json()["overlays"][0]["verdict"], "inconclusive");
    assert_eq!(run.json()["budget_used_up"], true);
    assert!(codes(&run).contains(&"budget".to_owned()), "{:?}", codes(&run));
    project.run(&["prove", "--budget", "1h"]).expect(0);
    // All of it is on record by now, and that takes no time.
    project.run(&["prove", "--budget", "1ms"]).expect(0);
}

#[test]
fn what_is_known_to_take_too_long_is_not_started() {
    let (_upstream, project) = slow("2");
    project.run(&["prove"]).expect(0);
    edit(&project);
    let run = project.run(&["prove", "--budget", "1500ms"]).expect(4);
    assert!(!has_run(&run), "{}", run.stderr);
    assert!(run.stdout.contains("within the budget of 1.5 s"), "{}", run.stdout);
    project.run(&["prove", "--budget", "1h"]).expect(0);
}

#[test]
fn a_build_that_failed_counts_only_if_there_is_time_to_see_it_again() {
    let mut upstream = Upstream::new();
    let pin = upstream.commit("one", &[("kernel.cpp", "int main() { return 0; }\n")]);
    let cmake = "enable_language(CXX)\nadd_executable(k ${OVERLAID_TREE}/kernel.cpp)\n";
    let script = "sleep 4\nexec \"$(dirname \"$0\")/k\"\n";
    let project = small(&upstream, &pin, "files = [\"kernel.cpp\"]", cmake, script);
    project.write("overlays/up/kernel.cpp", "int main() { return missing; }\n");
    let run = project.run(&["prove", "--budget", "10s", "--json"]).expect(4);
    assert_eq!(run.json()["overlays"][0]["verdict"], "inconclusive");
    let reasons = run.json()["overlays"][0]["reasons"].to_string();
    assert!(reasons.contains("the budget was used up before it was built again"), "{reasons}");
    let run = project.run(&["prove", "--budget", "1h", "--json"]).expect(1);
    assert_eq!(run.json()["overlays"][0]["verdict"], "harmful");
}

#[test]
fn a_budget_is_a_length_of_time() {
    let (_upstream, project) = slow("0");
    let run = project.run(&["prove", "--budget", "10"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("seconds, minutes or hours?"), "{}", run.stderr);
}
