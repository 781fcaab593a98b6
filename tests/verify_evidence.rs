//! What `verify` says of records of evidence: those of what is not there any more, and what nobody has measured.

use serde_json::Value;

use crate::planted::{Kind, Scene, Situation};
use crate::support::Project;

/// An overlay `fix` that upstream has made needless.
fn mended() -> Situation {
    let mut scene = Scene::new(&[("hero", "wrong"), ("other", "good")], &[]);
    let pin = scene.commit(&[("mends/hero", "good\n")]);
    scene.change("fix", Kind::Patch, "hero", "wrong", "good");
    scene.done(String::new(), &pin, &[])
}

/// The findings with codes that begin so.
fn found(project: &Project, begin: &str) -> Vec<Value> {
    let run = project.run(&["verify", "--json"]);
    assert!(run.code < 2, "{run:?}");
    let document = run.json();
    let all = document["findings"].as_array().unwrap().iter();
    all.filter(|finding| finding["code"].as_str().unwrap().starts_with(begin)).cloned().collect()
}

fn records(project: &Project) -> usize {
    std::fs::read_dir(project.path().join("docs/upstream/evidence")).unwrap().count()
}

#[test]
fn what_prove_has_left_stands() {
    let situation = mended();
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    assert_eq!(records(project), 4);
    assert_eq!(found(project, "evidence"), Vec::<Value>::new());
    // A reason is no input, and neither is an overlay that the test never sees.
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", manifest.replace("planted", "another reason"));
    assert_eq!(found(project, "evidence"), Vec::<Value>::new());
}

#[test]
fn what_was_measured_from_something_else_is_stale_and_says_from_what() {
    let situation = mended();
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    let manifest = project.read("manifests/up.toml");
    let (script, patch) = (project.read("tests/check/check.sh"), project.read("overlays/up/fix.patch"));
    let stale = |records: &str, says: &str| {
        let found = found(project, "evidence");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((&found[0]["code"], &found[0]["severity"]), (&"evidence-stale".into(), &"warning".into()));
        let text = found[0].to_string();
        assert!(text.contains(says) && text.contains(&format!("{records} of test `check`")), "{text}");
        project.run(&["verify", "--strict"]).expect(1);
    };

    project.write("tests/check/check.sh", format!("{script}# another line\n"));
    stale("4 records", "tests/check/check.sh");
    project.write("tests/check/check.sh", &script);

    // With the overlay: at the pin and at the witness.
    project.write("overlays/up/fix.patch", patch.replace("+good", "+nan"));
    stale("2 records", "tree: cases/hero");
    project.write("overlays/up/fix.patch", &patch);

    project.write("manifests/up.toml", manifest.replace("timeout = \"20s\"", "timeout = \"30s\""));
    stale("4 records", "the test's timeout");
    project.write("manifests/up.toml", manifest.replace("{build}/check.sh\"", "{build}/check.sh\", \"-e\""));
    stale("4 records", "the test's command");
    project.write("manifests/up.toml", &manifest);
    assert_eq!(found(project, "evidence"), Vec::<Value>::new());
}

#[test]
fn a_record_of_an_overlay_that_is_gone_is_stale_and_what_others_use_is_not() {
    let mut scene = Scene::new(&[("hero", "wrong"), ("other", "wrong")], &[]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("fix", Kind::Patch, "hero", "wrong", "good");
    scene.change("second", Kind::Patch, "other", "wrong", "good");
    let situation = scene.done(String::new(), &pin, &[]);
    let project = &situation.project;
    project.run(&["prove"]).expect(0);
    let before = records(project);
    project.run(&["drop", "second", "--force", "--reason", "not wanted", "--by", "Ada"]).expect(0);
    let manifest = project.read("manifests/up.toml");
    assert!(!manifest.contains("\"second\""), "{manifest}");
    let found = found(project, "evidence-stale");
    let text = found[0].to_string();
    assert!(text.contains("overlay `second`, which is gone"), "{text}");
    // The pin with `fix` alone is what a proof needs now.
    assert!(!text.contains(&format!("{before} records")), "{text}");
}

#[test]
fn after_a_move_of_the_pin_a_record_is_of_another_commit() {
    let mut situation = mended();
    let next = situation.upstream.commit("go on", &[("elsewhere", "more\n")]);
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    let manifest = project.read("manifests/up.toml");
    let pin = manifest.split("pin").nth(1).unwrap().split('"').nth(1).unwrap().to_owned();
    project.write("manifests/up.toml", manifest.replace(&format!("\"{pin}\""), &format!("\"{next}\"")));
    let found = found(project, "evidence");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["code"], &found[0]["severity"]), (&"evidence-elsewhere".into(), &"note".into()));
    // Those of the witness stand.
    assert!(found[0]["message"].as_str().unwrap().starts_with("2 records"), "{found:?}");
    assert!(found[0].to_string().contains(&pin[..10]), "{found:?}");
}

#[test]
fn profiles_and_devices_that_nobody_has_measured_on_are_listed_and_keep_an_overlay() {
    let mut situation = mended();
    let project = &mut situation.project;
    let manifest = project.read("manifests/up.toml");
    let devices = "patch = \"fix.patch\"\ndevices = [\"sm_80\"]";
    let profiles = "\n[profile.cpu]\n\n[profile.other]\ncmake = { LAST = \"1\" }\n";
    project.write("manifests/up.toml", manifest.replace("patch = \"fix.patch\"", devices) + profiles);
    // Nothing was measured at all: only what somebody has named is missing.
    let codes = |project: &Project| -> Vec<String> {
        let of =
            |begin: &str| found(project, begin).into_iter().map(|f| f["code"].as_str().unwrap().to_owned());
        of("profile-").chain(of("device-")).collect()
    };
    assert_eq!(codes(project), ["device-unseen"]);
    let run = project.run(&["--profile", "cpu", "prove", "--json"]).expect(3);
    let reasons = run.json()["overlays"][0]["reasons"].to_string();
    assert!(reasons.contains("profile `other`") && reasons.contains("device `sm_80`"), "{reasons}");
    let unseen = found(project, "profile-unseen");
    assert_eq!(unseen.len(), 1, "{unseen:?}");
    assert!(unseen[0].to_string().contains("profile `other`: nothing was measured of fix"), "{unseen:?}");
    let run = project.run(&["drop", "fix"]).expect(1);
    assert!(
        run.stdout.contains("profile `other`") && run.stdout.contains("device `sm_80`"),
        "{}",
        run.stdout
    );

    project.run(&["--profile", "other", "prove"]).expect(3);
    assert_eq!(codes(project), ["device-unseen"]);
    let run = project.run(&["drop", "fix"]).expect(1);
    assert!(
        !run.stdout.contains("profile `other`") && run.stdout.contains("device `sm_80`"),
        "{}",
        run.stdout
    );
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", manifest.replace("\ndevices = [\"sm_80\"]", ""));
    assert_eq!(codes(project), Vec::<String>::new());
    project.run(&["drop", "fix", "--by", "Ada"]).expect(0);
}
