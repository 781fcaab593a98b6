//! `drop` of several overlays: all or none, and only where all of them together were proven.

use crate::drop::{commit, files};
use crate::planted::{Kind, Scene, Situation, Truth};

/// Two overlays whose faults upstream has mended in other ways: each can go, and both.
fn two_that_go() -> Situation {
    let mut scene = Scene::new(&[("hero", "wrong"), ("second", "nan"), ("third", "good")], &[]);
    let pin = scene.commit(&[("mends/hero", "good\n"), ("mends/second", "good\n")]);
    scene.change("one", Kind::Patch, "hero", "wrong", "good");
    scene.change("two", Kind::Files, "second", "nan", "good");
    let goes = Truth::Is("droppable");
    scene.done(String::new(), &pin, &[("one", goes.clone()), ("two", goes)])
}

/// Two overlays for one fault: each can go, and not both.
fn either_would_do() -> Situation {
    let mut scene = Scene::new(&[("hero", "wrong"), ("third", "good")], &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("one", Kind::Patch, "hero", "wrong", "good");
    scene.file("overlays/up/mends/hero-2", "good\n");
    scene.overlay("two", "files = [\"mends/hero-2\"]");
    let goes = Truth::Is("droppable");
    scene.done(String::new(), &pin, &[("one", goes.clone()), ("two", goes)])
}

#[test]
fn overlays_that_were_proven_together_go_at_once_each_with_its_record() {
    let situation = two_that_go();
    let project = &situation.project;
    let proven = project.run(&["prove"]).expect(1);
    // The command that the proof names is the one that works.
    let hint = proven.stdout.lines().find_map(|line| line.trim().strip_prefix("to drop them: ")).unwrap();
    assert_eq!(hint, "overlaid drop one two");
    let json = project.run(&["--json", "prove"]).expect(1).json();
    assert_eq!(json["together"]["drop"], "overlaid drop one two");
    project.run(&["report", "one"]).expect(0);
    project.run(&["apply"]).expect(0);
    commit(project);

    let before = files(project);
    let dry = project.run(&["drop", "two", "one", "--dry-run"]).expect(0);
    for said in
        ["one: droppable; would be removed", "two: droppable; would be removed", "overlays/up/one.patch"]
    {
        assert!(dry.stdout.contains(said), "{said}: {}", dry.stdout);
    }
    assert_eq!(files(project), before);

    let args: Vec<&str> = hint.split(' ').skip(1).collect();
    let run = project.run(&args).expect(0);
    assert!(run.stderr.contains("no overlay names test `check` any more"), "{}", run.stderr);
    let manifest = project.read("manifests/up.toml");
    assert!(!manifest.contains("[[overlay]]"), "{manifest}");
    for (name, other) in [("one", "two"), ("two", "one")] {
        let record = project.read(&format!("docs/upstream/retired/{name}.toml"));
        assert!(record.contains("by = \"Ada L\"") && record.contains("verdict = \"droppable\""), "{record}");
        let of_other: toml::Table = record.parse().unwrap();
        assert_eq!(of_other["together-with"].as_array().unwrap()[0].as_str(), Some(other));
        let report = project.read(&format!("docs/upstream/{name}.md"));
        assert!(report.contains(&format!("It went together with `{other}`.")), "{report}");
    }
    let tree = std::fs::read_to_string(project.tree().join("cases/second")).unwrap();
    assert!(tree.contains("nan"), "{tree}");
    project.run(&["apply", "--dry-run"]).expect(0);
    project.run(&["report", "--check"]).expect(0);
    project.run(&["verify"]).expect(0);
}

#[test]
fn one_drop_after_the_other_would_need_another_proof() {
    let mut scene = Scene::new(&[("hero", "wrong"), ("second", "nan"), ("third", "inf")], &[]);
    let mends = ["mends/hero", "mends/second", "mends/third"].map(|file| (file, "good\n"));
    let pin = scene.commit(&mends);
    scene.change("one", Kind::Patch, "hero", "wrong", "good");
    scene.change("two", Kind::Patch, "second", "nan", "good");
    scene.change("three", Kind::Patch, "third", "inf", "good");
    let situation = scene.done(String::new(), &pin, &[]);
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    project.run(&["drop", "one", "two", "three", "--by", "Ada", "--dry-run"]).expect(0);
    // Two of three are another question.
    let run = project.run(&["drop", "one", "three", "--by", "Ada"]).expect(1);
    assert!(
        run.stdout.contains("whether all of `one`, `three` can go at once is not known"),
        "{}",
        run.stdout
    );
    project.run(&["drop", "one", "--by", "Ada"]).expect(0);
    let run = project.run(&["drop", "two", "--by", "Ada"]).expect(1);
    assert!(run.stderr.contains("what would prove it: overlaid prove two"), "{}", run.stderr);
}

#[test]
fn overlays_that_cover_for_each_other_do_not_go_at_once() {
    let situation = either_would_do();
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    let before = files(project);
    let run = project.run(&["drop", "one", "two", "--by", "Ada"]).expect(1);
    assert!(
        run.stdout.contains("not all of `one`, `two` can go at once: 1 case would fail"),
        "{}",
        run.stdout
    );
    assert!(run.stderr.contains("drop one, and prove again: overlaid drop one"), "{}", run.stderr);
    let json = project.run(&["--json", "drop", "one", "two", "--by", "Ada"]).expect(1).json();
    assert_eq!((&json["dropped"], json["overlays"].as_array().unwrap().len()), (&false.into(), 2));
    assert!(json["together"][0].as_str().unwrap().contains("at once"), "{json}");
    assert_eq!(files(project), before);

    let force = ["drop", "one", "two", "--force", "--reason", "we stop here", "--by", "Ada"];
    project.run(&force).expect(0);
    for name in ["one", "two"] {
        let record = project.read(&format!("docs/upstream/retired/{name}.toml"));
        assert!(record.contains("forced = \"we stop here\""), "{record}");
    }
}

#[test]
fn a_proof_of_each_is_none_of_both_and_the_hint_is() {
    let situation = two_that_go();
    let project = &situation.project;
    project.run(&["prove", "one"]).expect(1);
    project.run(&["prove", "two"]).expect(1);
    let before = files(project);
    let run = project.run(&["drop", "one", "two", "--by", "Ada"]).expect(1);
    assert!(run.stderr.contains("what would prove it: overlaid prove one two"), "{}", run.stderr);
    assert!(run.stdout.contains("whether all of `one`, `two` can go at once is not known"), "{}", run.stdout);
    assert_eq!(files(project), before);
    project.run(&["prove", "one", "two"]).expect(1);
    project.run(&["drop", "one", "two", "--by", "Ada", "--dry-run"]).expect(0);
    // What was proven of both is stale as soon as the test is another one.
    project.write("tests/check/check.sh", project.read("tests/check/check.sh") + "# more\n");
    let run = project.run(&["drop", "one", "two", "--by", "Ada"]).expect(1);
    assert!(run.stderr.contains("what would prove it: overlaid prove one two"), "{}", run.stderr);
}

#[test]
fn one_that_is_not_proven_keeps_the_others() {
    let mut scene = Scene::new(&[("hero", "good"), ("faulty", "wrong")], &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("bad", Kind::Files, "hero", "good", "wrong");
    scene.change("good", Kind::Patch, "faulty", "wrong", "good");
    let situation = scene.done(String::new(), &pin, &[]);
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    let before = files(project);
    let run = project.run(&["drop", "bad", "good", "--by", "Ada"]).expect(1);
    assert!(run.stdout.contains("bad: harmful; not dropped, for all go or none"), "{}", run.stdout);
    assert!(run.stdout.contains("good: not dropped; the verdict is needed"), "{}", run.stdout);
    assert_eq!(files(project), before);
}

#[test]
fn two_that_do_harm_are_proven_together_too() {
    let mut scene = Scene::new(&[("hero", "good"), ("second", "good")], &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("bad", Kind::Files, "hero", "good", "wrong");
    scene.change("worse", Kind::Patch, "second", "good", "nan");
    let situation = scene.done(String::new(), &pin, &[]);
    let project = &situation.project;
    let run = project.run(&["prove"]).expect(1);
    assert!(run.stdout.contains("to drop them: overlaid drop bad worse"), "{}", run.stdout);
    project.run(&["drop", "bad", "worse", "--by", "Ada"]).expect(0);
}

#[test]
fn one_that_the_pin_has_goes_with_another_without_a_run() {
    let mut scene = Scene::new(&[("hero", "good"), ("second", "good")], &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("bad", Kind::Files, "hero", "good", "wrong");
    scene.change("idle", Kind::Files, "second", "good", "good");
    let situation = scene.done(String::new(), &pin, &[]);
    let project = &situation.project;
    project.run(&["prove", "bad"]).expect(1);
    let run = project.run(&["prove"]).expect(1);
    assert!(!run.stderr.contains("run  ") && !run.stderr.contains("build "), "{}", run.stderr);
    assert!(run.stdout.contains("to drop them: overlaid drop bad idle"), "{}", run.stdout);
    project.run(&["drop", "idle", "bad", "--by", "Ada"]).expect(0);
}

#[test]
fn what_needs_another_goes_with_it() {
    let situation = two_that_go();
    let project = &situation.project;
    let manifest = project.read("manifests/up.toml");
    project
        .write("manifests/up.toml", manifest.replace("name = \"two\"", "name = \"two\"\nneeds = [\"one\"]"));
    let force = ["--force", "--reason", "we stop here", "--by", "Ada"];
    let run = project.run(&[&["drop", "one"], &force[..]].concat()).expect(3);
    assert!(run.stderr.contains("is needed by: two"), "{}", run.stderr);
    assert!(run.stderr.contains("all at once: overlaid drop one two"), "{}", run.stderr);
    project.run(&[&["drop", "one", "two"], &force[..]].concat()).expect(0);
    assert!(!project.read("manifests/up.toml").contains("[[overlay]]"));
}

#[test]
fn a_report_says_with_which_others_it_can_go_and_speaks_for_it_on_another_machine() {
    let situation = two_that_go();
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    for name in ["one", "two"] {
        project.run(&["report", name]).expect(0);
    }
    let report = project.read("docs/upstream/one.md");
    assert!(report.contains(
        "- It can go at once with `two`: nothing fails when none of them is there. [measured on CPU"
    ));
    assert!(report.contains("`overlaid -m up drop one two` [recommended by the program]"), "{report}");
    project.run(&["report", "--check"]).expect(0);
    // Nothing of what was built is known there: the reports speak, while nothing has changed.
    std::fs::remove_dir_all(project.path().join(".overlaid")).unwrap();
    project.run(&["report", "--check"]).expect(0);
    project.run(&["drop", "one", "two", "--by", "Ada", "--dry-run"]).expect(0);
    let script = project.read("tests/check/check.sh");
    project.write("tests/check/check.sh", format!("{script}# another line\n"));
    project.run(&["drop", "one", "two", "--by", "Ada", "--dry-run"]).expect(1);
    project.write("tests/check/check.sh", script);

    // Without the other one, the offer is none.
    project.run(&["drop", "two", "--by", "Ada"]).expect(0);
    let run = project.run(&["report", "--check", "one"]).expect(1);
    assert!(run.stdout.contains("overlay `two`, which can go at once with it, is not applied any more"));
}

#[test]
fn the_page_says_which_can_go_at_once() {
    let mut situation = two_that_go();
    let project = &mut situation.project;
    project.run(&["prove"]).expect(1);
    let page = project.run(&["report", "--html", "-"]).expect(0).stdout;
    assert!(
        page.contains("can all go together") && page.contains("<code>overlaid -m up drop one two</code>")
    );
    assert!(page.contains("it can go together with <a href=\"#o-two\">two</a>"), "{page}");
    // Where nothing of it holds, the records still say it, and that nobody checked.
    project.set("CFLAGS", "-O1");
    let page = project.run(&["report", "--html", "-"]).expect(0).stdout;
    assert!(page.contains("From records of") && page.contains("can all go together"), "{page}");
    let situation = either_would_do();
    situation.project.run(&["prove"]).expect(1);
    let page = situation.project.run(&["report", "--html", "-"]).expect(0).stdout;
    assert!(page.contains("can go, but not all of them: 1 case would fail without all"), "{page}");
}
