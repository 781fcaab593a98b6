//! What people report: `prove --attest`.

use crate::planted::{Kind, Scene, Situation};

/// A fault that is still there at the pin (`mended`: that upstream has mended), and an overlay that waits for a model.
fn waiting(mended: bool) -> Situation {
    let mut scene = Scene::new(&[("hero", "wrong"), ("other", "good")], &[]);
    let more = if mended { ("mends/hero", "good\n") } else { ("elsewhere", "more\n") };
    let pin = scene.commit(&[more]);
    scene.change("fix", Kind::Patch, "hero", "wrong", "good");
    let situation = scene.done(String::new(), &pin, &[]);
    let manifest = situation.project.read("manifests/up.toml");
    let waits = "patch = \"fix.patch\"\ndrop-when = { attested = \"a model\" }";
    situation.project.write("manifests/up.toml", manifest.replace("patch = \"fix.patch\"", waits));
    situation
}

fn attest(situation: &Situation, result: &str, code: i32) -> crate::support::Run {
    let args = ["prove", "--attest", "a model", "--by", "Ada", "--result", result, "--note", "on two cards"];
    situation.project.run(&args).expect(code)
}

#[test]
fn what_somebody_reports_is_shown_as_theirs() {
    let situation = waiting(true);
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    let status = project.run(&["status"]);
    assert!(status.stdout.contains("it stays until somebody attests a model"), "{}", status.stdout);
    let run = attest(&situation, "pass", 0);
    assert!(run.stdout.contains("Ada reports that a model passes without it"), "{}", run.stdout);
    assert!(!run.stderr.contains("run  "), "{}", run.stderr);
    let said = "Ada reports that a model passes without it";
    let prove = project.run(&["prove"]).expect(1);
    assert!(prove.stdout.contains(said) && prove.stdout.contains("on two cards"), "{}", prove.stdout);
    let status = project.run(&["status"]);
    assert!(status.stdout.contains(&format!("it can go: {said}")), "{}", status.stdout);
    let status = project.run(&["status", "--json"]).json();
    let when = &status["overlays"][0]["drop-when"];
    assert_eq!((&when["met"], &when["by"]), (&true.into(), &"Ada".into()));
}

#[test]
fn where_it_contradicts_what_was_measured_a_person_decides() {
    for (mended, result, measured) in [(false, "pass", 0), (true, "fail", 1)] {
        let situation = waiting(mended);
        let project = &situation.project;
        project.run(&["prove"]).expect(measured);
        let run = attest(&situation, result, 3);
        assert!(run.stdout.contains("A person decides"), "{}", run.stdout);
        let prove = project.run(&["prove", "--json"]).expect(3).json();
        let reasons = prove["overlays"][0]["reasons"].to_string();
        assert!(reasons.contains("attested-otherwise") && reasons.contains("Ada"), "{reasons}");
        // The measured verdict stays what it is.
        let verdict = if mended { "droppable" } else { "needed" };
        assert_eq!(prove["overlays"][0]["verdict"], verdict);
    }
}

#[test]
fn a_report_of_another_pin_says_nothing_and_a_later_one_counts() {
    let mut situation = waiting(true);
    attest(&situation, "fail", 0);
    let status = situation.project.run(&["status"]);
    assert!(status.stdout.contains("it stays: Ada reports that a model fails"), "{}", status.stdout);
    let old = situation.upstream.git(&["rev-parse", "HEAD"]);
    let new = situation.upstream.commit("on", &[("elsewhere", "2\n")]);
    let manifest = situation.project.read("manifests/up.toml").replace(&old, &new);
    situation.project.write("manifests/up.toml", manifest);
    let status = situation.project.run(&["status"]);
    assert!(status.stdout.contains("it stays until somebody attests a model"), "{}", status.stdout);
}

#[test]
fn nobody_waits_for_an_unknown_thing() {
    let situation = waiting(true);
    let args = ["prove", "--attest", "another model", "--by", "Ada", "--result", "pass"];
    let run = situation.project.run(&args).expect(2);
    assert!(run.stderr.contains("no overlay has drop-when"), "{}", run.stderr);
    // Named, it is noted.
    let args = ["prove", "fix", "--attest", "another model", "--by", "Ada", "--result", "pass"];
    situation.project.run(&args).expect(0);
}

#[test]
fn a_report_and_the_page_show_it_as_theirs_and_a_later_one_makes_the_report_outdated() {
    let situation = waiting(true);
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    attest(&situation, "pass", 0);
    project.run(&["report", "fix"]).expect(0);
    let report = project.read("docs/upstream/fix.md");
    let line = report
        .lines()
        .find(|line| line.contains("Ada reports that a model passes without it"))
        .expect(&report);
    assert!(line.ends_with("[reported by Ada]") && line.contains("on two cards"), "{line}");
    project.run(&["report", "--check"]).expect(0);
    project.run(&["report", "--html"]).expect(0);
    let page = project.read(".overlaid/report.html");
    assert!(page.contains("Reported by people, not measured") && page.contains("a model passes without it"));

    // Another name takes it along.
    project.run(&["rename", "fix", "mend"]).expect(0);
    let status = project.run(&["status"]).expect(0);
    assert!(
        status.stdout.contains("it can go: Ada reports that a model passes without it"),
        "{}",
        status.stdout
    );
    project.run(&["rename", "mend", "fix"]).expect(0);

    // Somebody else says otherwise: the report does not say that yet.
    let note = "two [x](y) <b>cards</b>";
    let args =
        ["prove", "--attest", "a model", "--by", "Eve <b>[run]</b>", "--result", "fail", "--note", note];
    std::thread::sleep(std::time::Duration::from_millis(1100));
    project.run(&args).expect(3);
    let check = project.run(&["report", "--check"]).expect(1);
    assert!(check.stdout.contains("outdated"), "{}", check.stdout);
    project.run(&["report", "fix"]).expect(0);
    let report = project.read("docs/upstream/fix.md");
    assert!(report.contains("A person decides") || report.contains("a person decides"), "{report}");
    assert!(!report.contains("<b>") && report.contains("\\[x\\]"), "{report}");
    project.run(&["report", "--check"]).expect(0);
    project.run(&["report", "--html"]).expect(0);
    let page = project.read(".overlaid/report.html");
    assert!(page.contains("&lt;b&gt;cards&lt;/b&gt;") && page.contains("</span> decide</span>"), "{page}");
}

#[test]
fn an_overlay_that_somebody_reports_to_be_needed_is_dropped_only_with_a_reason() {
    let situation = waiting(true);
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    attest(&situation, "fail", 3);
    let status = project.run(&["status"]).expect(0);
    assert!(status.stdout.lines().nth(2).unwrap().starts_with("fix      decide"), "{}", status.stdout);
    let run = project.run(&["drop", "fix", "--by", "Ada"]).expect(3);
    assert!(
        run.stderr.contains("a model fails without it") && run.stderr.contains("--force --reason"),
        "{}",
        run.stderr
    );
    assert!(project.read("manifests/up.toml").contains("name = \"fix\""));
    project.run(&["drop", "fix", "--by", "Ada", "--force", "--reason", "the model is gone"]).expect(0);
    assert!(project.read("docs/upstream/retired/fix.toml").contains("the model is gone"));
}
