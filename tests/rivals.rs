//! Rivals: overlays of which one is applied, each proven in its place and shown side by side.

use crate::planted::{Scene, Situation};
use crate::support::Run;

/// What a run said that it does: lines that begin with `build` or `run`.
fn work(run: &Run) -> Vec<&str> {
    run.stderr.lines().filter(|line| line.starts_with("build ") || line.starts_with("run ")).collect()
}

/// A patch that makes cases, which are refused at the pin, do something else.
fn patch(changes: &[(&str, &str)]) -> String {
    let one = |(case, to): &(&str, &str)| {
        let path = format!("cases/{case}");
        format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,3 +1,3 @@\n # case {case}\n-refused\n+{to}\n # end\n"
        )
    };
    changes.iter().map(one).collect()
}

/// Three cases that are refused, and rivals that change them. The first one is applied.
fn rivals(members: &[(&str, &[(&str, &str)])]) -> Situation {
    let mut scene = Scene::new(&[("a", "refused"), ("b", "refused"), ("c", "refused"), ("d", "good")], &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    for (at, (name, changes)) in members.iter().enumerate() {
        scene.file(&format!("overlays/up/{name}.patch"), &patch(changes));
        scene.overlay(name, &format!("patch = \"{name}.patch\"\nrivals = \"group\"\nactive = {}", at == 0));
    }
    scene.done(String::new(), &pin, &[])
}

const ALL: [(&str, &str); 3] = [("a", "good"), ("b", "good"), ("c", "good")];

#[test]
fn the_better_of_two_is_applied_and_the_other_one_stands_back() {
    let situation = rivals(&[("fix", &ALL), ("half", &[("a", "good"), ("b", "wrong")])]);
    let project = &situation.project;
    let run = project.run(&["prove"]).expect(0);
    assert!(run.stdout.contains("half     needed   stands back for a rival"), "{}", run.stdout);
    let (_, table) = run.stdout.split_once("\nrivals ").unwrap();
    insta::assert_snapshot!(table, @r"
    group: fix is the better, and is applied
      `fix` passes 2 cases in which `half` fails, and is nowhere worse
           with                   pass  fail loudly  fail silently  other
        0  none of them           1     3
        1  fix           applied  4
        2  half                   2     1            1
        cases  0      1     2
        n c    error  pass  error
        n a    error  pass  pass
        n b    error  pass  wrong 0.50
    ");

    let document = project.run(&["prove", "--json"]).expect(0).json();
    let group = &document["rivals"][0];
    assert_eq!((&group["group"], &group["active"]), (&"group".into(), &"fix".into()));
    assert_eq!((&group["answer"], &group["overlays"]), (&"best".into(), &serde_json::json!(["fix"])));
    assert_eq!(group["members"][1]["name"], "half");
    assert_eq!(group["members"][1]["fails_silently"], 1);
    let cell = group["cells"].as_array().unwrap().iter().find(|cell| cell["case"] == r#"{"n":"b"}"#).unwrap();
    assert_eq!(
        (&cell["none"]["manner"], &cell["with"]["half"]["manner"]),
        (&"loud".into(), &"silent".into())
    );
    assert_eq!(cell["with"]["fix"]["outcome"], "pass");
}

#[test]
fn a_rival_that_is_better_than_the_one_that_is_applied_is_for_a_person() {
    let situation = rivals(&[("half", &[("a", "good")]), ("fix", &ALL)]);
    let run = situation.project.run(&["prove"]).expect(3);
    let says = "rivals group: fix is the better, and half is applied; a person decides\n";
    assert!(run.stdout.contains(says), "{}", run.stdout);
}

#[test]
fn rivals_that_are_better_here_and_there_are_for_a_person() {
    let situation = rivals(&[("left", &[("a", "good")]), ("right", &[("b", "good"), ("c", "good")])]);
    let run = situation.project.run(&["prove"]).expect(3);
    let says = "`left` passes 1 case in which `right` fails; `right` passes 2 cases in which `left` fails";
    assert!(run.stdout.contains(says), "{}", run.stdout);
}

#[test]
fn what_was_proven_of_a_rival_is_not_run_again() {
    let situation = rivals(&[("fix", &ALL), ("half", &[("a", "good")]), ("other", &[("b", "good")])]);
    let project = &situation.project;
    let first = project.run(&["prove"]).expect(0);
    // None of them, and each of the three.
    assert_eq!(work(&first).iter().filter(|line| line.starts_with("run ")).count(), 4);
    std::fs::remove_dir_all(project.path().join(".overlaid/lab/up/answers")).unwrap();
    let again = project.run(&["prove"]).expect(0);
    assert_eq!(work(&again), Vec::<&str>::new());
    assert_eq!(again.stdout, first.stdout);

    // Another rival is another variant, and nothing else.
    project.write("overlays/up/half.patch", patch(&[("a", "wrong")]));
    let edited = project.run(&["prove"]).expect(0);
    let runs: Vec<&str> = work(&edited).into_iter().filter(|line| line.starts_with("run ")).collect();
    assert!(runs.len() == 1 && runs[0].contains("with half"), "{runs:?}");
}

#[test]
fn a_rival_that_is_asked_for_alone_gets_its_verdict_and_no_table() {
    let situation = rivals(&[("fix", &ALL), ("idle", &[("a", "refused ")])]);
    let project = &situation.project;
    let run = project.run(&["prove", "idle"]).expect(3);
    assert!(!run.stdout.contains("rivals group"), "{}", run.stdout);
    assert!(run.stdout.contains("idle     unproven  a person decides"), "{}", run.stdout);
    // It stands back: what it does is no question for the product.
    project.run(&["prove"]).expect(0);
}

#[test]
fn a_rival_that_does_not_fit_is_no_question_where_nothing_can_be_better() {
    let situation = rivals(&[("fix", &ALL), ("stale", &[("a", "good")])]);
    let project = &situation.project;
    project.write("overlays/up/stale.patch", patch(&[("a", "good")]).replace("-refused", "-elsewhere"));
    let run = project.run(&["prove"]).expect(0);
    let says = "rivals group: no other one is better than fix, which is applied; whether one is as good is not known";
    assert!(run.stdout.contains(says), "{}", run.stdout);

    // Where the active one leaves something to be mended, the other one may mend it.
    project.write("overlays/up/fix.patch", patch(&[("a", "good")]));
    let run = project.run(&["prove"]).expect(4);
    assert!(run.stdout.contains("rivals group: which is the better is not known"), "{}", run.stdout);
}

#[test]
fn what_was_measured_elsewhere_stands_beside_what_was_measured_here() {
    let mut scene = Scene::new(&[("a", "refused"), ("b", "refused"), ("c", "refused")], &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    for (name, changes, active) in [("fix", &ALL[..], true), ("half", &ALL[..1], false)] {
        scene.file(&format!("overlays/up/{name}.patch"), &patch(changes));
        scene.overlay(name, &format!("patch = \"{name}.patch\"\nrivals = \"group\"\nactive = {active}"));
    }
    let named = "sources = [\"tests/check/**\"]\nrepeats = 2";
    scene.tests = scene.tests.replace("repeats = 2", named) + "\n[profile.one]\n\n[profile.two]\n";
    let situation = scene.done(String::new(), &pin, &[]);
    let project = &situation.project;
    let alone = project.run(&["--profile", "one", "prove"]).expect(0);
    assert!(!alone.stdout.contains("elsewhere ("), "{}", alone.stdout);
    project.run(&["--profile", "two", "prove", "half"]).expect(0);
    let both = project.run(&["--profile", "one", "prove"]).expect(0);
    // `half` and none of them were run there, `fix` was not.
    let says = ", profile two): which is the better is not known\n  not the same answer as here";
    assert!(both.stdout.contains(says), "{}", both.stdout);

    project.run(&["--profile", "two", "prove"]).expect(0);
    let document = project.run(&["--profile", "one", "prove", "--json"]).expect(0).json();
    let there = &document["rivals"][0]["elsewhere"][0];
    assert_eq!((&there["profile"], &there["answer"]), (&"two".into(), &"best".into()));
    assert_eq!(there["members"][1]["fails_loudly"], 2);

    // Of other sources, or of another test, it says nothing.
    let script = project.read("tests/check/check.sh");
    project.write("tests/check/check.sh", format!("{script}# another line\n"));
    let edited = project.run(&["--profile", "one", "prove"]).expect(0);
    assert!(!edited.stdout.contains("elsewhere ("), "{}", edited.stdout);
}
