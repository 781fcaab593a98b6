//! `test --case`: a cell that is run again, alone, by the command that was printed.

use crate::planted::{Kind, Scene, Situation};

fn situation() -> Situation {
    let mut scene = Scene::new(&[("hero", "wrong"), ("it's", "good"), ("dies", "crash")], &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("fix", Kind::Patch, "hero", "wrong", "good");
    scene.done(String::new(), &pin, &[])
}

/// The command that a line of the output shows.
fn shown(stdout: &str) -> String {
    let line = stdout.lines().find_map(|line| line.trim().strip_prefix("one alone: ")).expect(stdout);
    line.to_owned()
}

#[test]
fn the_command_of_a_proof_runs_the_failing_case_alone() {
    let situation = situation();
    let project = &situation.project;
    let prove = project.run(&["prove"]);
    let command = shown(&prove.stdout);
    assert_eq!(command, r#"overlaid test check --without fix --case '{"n":"hero"}'"#);
    let records = || std::fs::read_dir(project.path().join("docs/upstream/evidence")).unwrap().count();
    let before = records();
    let run = project.shell(&command).expect(1);
    assert!(run.stdout.contains("fail at pin without fix: n hero"), "{}", run.stdout);
    assert!(!run.stdout.contains("dies"), "{}", run.stdout);
    assert_eq!(records(), before);
    let with = project.run(&["test", "check", "--case", r#"{"n": "hero"}"#, "--json"]).expect(0).json();
    let cells = with["tests"][0]["variants"][0]["cells"].as_array().unwrap().clone();
    assert_eq!(cells.len(), 1);
    assert_eq!((&cells[0]["case"]["n"], &cells[0]["outcome"]), (&"hero".into(), &"pass".into()));
}

#[test]
fn the_command_of_a_test_runs_its_failing_case_alone() {
    let situation = situation();
    let project = &situation.project;
    let at = situation.upstream.git(&["rev-parse", "HEAD~1"]);
    let run = project.run(&["test", "--at", &at]).expect(1);
    let command = shown(&run.stdout);
    assert_eq!(command, format!(r#"overlaid test check --at {at} --case '{{"n":"dies"}}'"#));
    let run = project.shell(&command).expect(1);
    assert!(run.stdout.contains("n dies") && !run.stdout.contains("hero"), "{}", run.stdout);
}

#[test]
fn a_case_that_is_none_is_refused_and_one_that_the_test_does_not_have_is_not_known() {
    let situation = situation();
    let project = &situation.project;
    let run = project.run(&["test", "check", "--case", "hero"]).expect(2);
    assert!(run.stderr.contains("is not the JSON object of a case"), "{}", run.stderr);
    let run = project.run(&["test", "check", "--case", r#"{"n":"nobody"}"#]).expect(4);
    assert!(run.stdout.contains("reported nothing"), "{}", run.stdout);
    assert!(run.stderr.contains("`check` reports no such case"), "{}", run.stderr);
}
