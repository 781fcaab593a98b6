//! `status`: what there is to know beside the state, on real histories.

use serde_json::Value;

use crate::support::{Project, Upstream};

const V1: &str =
    "int width = 1;\nint height = 1;\n\nint area() {\n  return width * height;\n}\n\nint depth = 1;\n";

fn overlay(base: &str, kind: &str) -> String {
    format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{base}\"\n{kind}\n")
}

fn files(base: &str) -> String {
    overlay(base, "files = [\"k.cu\"]")
}

/// The report of the only overlay, with this content for `k.cu`.
fn report(upstream: &Upstream, pin: &str, tables: &str, content: &str) -> Value {
    let project = Project::on(upstream, pin, tables);
    project.write("overlays/up/k.cu", content);
    project.run(&["status", "--json"]).expect(0).json()["overlays"][0].clone()
}

fn notes<'v>(overlay: &'v Value, code: &str) -> Vec<&'v Value> {
    let notes = overlay["paths"][0]["notes"].as_array().unwrap();
    notes.iter().filter(|note| note["code"] == code).collect()
}

fn ids(commits: &Value) -> Vec<&str> {
    commits.as_array().unwrap().iter().map(|commit| commit["id"].as_str().unwrap()).collect()
}

#[test]
fn a_line_that_upstream_removed_before_the_pin_comes_back_with_the_commit_that_removed_it() {
    let mut upstream = Upstream::new();
    let with = V1.replace("int depth", "params.faulty = true;\nint depth");
    upstream.commit("add", &[("k.cu", &with)]);
    let removed = upstream.commit("remove the fault (#12)", &[("k.cu", V1)]);
    let pin = upstream.commit("more", &[("k.cu", &V1.replace("width = 1", "width = 2"))]);
    let ours = V1
        .replace("width = 1", "width = 2")
        .replace("int depth", "  params.faulty = true; // ours\nint more;\nint depth");
    // With a comment behind it, it is another line.
    assert_eq!(notes(&report(&upstream, &pin, &files(&pin), &ours), "resurrects").len(), 0);
    let ours = ours.replace(" // ours", "");
    let report = report(&upstream, &pin, &files(&pin), &ours);
    assert_eq!(report["state"], "fresh");
    let found = notes(&report, "resurrects");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["by"]["id"], removed);
    assert_eq!(found[0]["by"]["pull-request"], 12);
    assert_eq!(found[0]["lines"], serde_json::json!([{ "line": 8, "text": "params.faulty = true;" }]));
}

#[test]
fn lines_that_say_little_or_stand_elsewhere_do_not_come_back() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("add", &[("k.cu", &format!("{V1}\n}} else {{\nbreak;\nint x;\nint a;\n"))]);
    let pin = upstream.commit("remove", &[("k.cu", &format!("int x;\n{V1}"))]);
    let ours = format!("int x;\n{V1}\n}} else {{\nbreak;\nint x;\n");
    assert_eq!(notes(&report(&upstream, &pin, &files(&pin), &ours), "resurrects"), Vec::<&Value>::new());
    let _ = base;
}

#[test]
fn a_fix_that_upstream_took_in_and_out_again_is_not_absorbed_and_says_so() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("add", &[("k.cu", V1)]);
    let fixed = V1.replace("width * height", "width * height * depth");
    let taken_in = upstream.commit("fix (#3)", &[("k.cu", &fixed)]);
    let other = fixed.replace("int width = 1", "int width = 4");
    let absorbed_pin = upstream.commit("other", &[("k.cu", &other)]);
    let taken_out =
        upstream.commit("Revert \"fix\"", &[("k.cu", &V1.replace("int width = 1", "int width = 4"))]);
    let before = report(&upstream, &absorbed_pin, &files(&base), &fixed);
    assert_eq!(before["state"], "absorbed");
    assert_eq!(before["paths"][0]["by"]["id"], taken_in);
    let after = report(&upstream, &taken_out, &files(&base), &fixed);
    assert_eq!(after["state"], "stale-clean");
    let found = notes(&after, "reverted");
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0]["in"]["id"], &found[0]["out"]["id"]), (&taken_in.into(), &taken_out.into()));
}

#[test]
fn a_fix_is_absorbed_though_a_comment_of_ours_stands_beside_it() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("add", &[("k.cu", V1)]);
    let fixed = V1.replace("width * height", "width * height * depth");
    let pin = upstream.commit("fix", &[("k.cu", &fixed.replace("width = 1", "width = 2"))]);
    let ours = fixed.replace("  return", "  // mends the depth\n  return");
    assert_eq!(report(&upstream, &pin, &files(&base), &ours)["state"], "absorbed");
    // Upstream's own version of that line is another one.
    let pin = upstream.commit("fix", &[("k.cu", &V1.replace("width * height", "width * depth * height"))]);
    assert_eq!(report(&upstream, &pin, &files(&base), &ours)["state"], "stale-conflict");
}

#[test]
fn half_of_a_change_is_told_with_the_lines_of_both_halves() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("add", &[("k.cu", V1)]);
    let pin = upstream.commit("half", &[("k.cu", &V1.replace("width = 1", "width = 2"))]);
    let ours = V1.replace("width = 1", "width = 2").replace("depth = 1", "depth = 2");
    let report = report(&upstream, &pin, &files(&base), &ours);
    let found = notes(&report, "half-absorbed");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["has"], serde_json::json!([{ "first": 1, "last": 1 }]));
    assert_eq!(found[0]["lacks"], serde_json::json!([{ "first": 8, "last": 8 }]));
}

#[test]
fn a_merge_is_no_work_of_its_own() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("add", &[("k.cu", V1)]);
    upstream.git(&["switch", "-q", "-c", "side"]);
    let side = upstream.commit("side", &[("k.cu", &V1.replace("depth = 1", "depth = 2"))]);
    upstream.git(&["switch", "-q", "main"]);
    let main = upstream.commit("main", &[("k.cu", &V1.replace("width = 1", "width = 2"))]);
    upstream.run_dated(&["merge", "-q", "--no-edit", "side"]);
    let pin = upstream.git(&["rev-parse", "HEAD"]);
    let ours = V1.replace("depth = 1", "depth = 2").replace("area()", "area(int)");
    let report = report(&upstream, &pin, &files(&base), &ours);
    assert_eq!(ids(&report["paths"][0]["undoes"]), [main.as_str()]);
    assert_eq!(ids(&report["paths"][0]["included"]), [side.as_str()]);
}

#[test]
fn work_on_an_included_file_and_on_one_that_includes_it_is_a_hint() {
    let mut upstream = Upstream::new();
    let kernel = format!("#include \"sizes.h\"\n{V1}");
    let base = upstream.commit(
        "add",
        &[
            ("k.cu", &kernel),
            ("sizes.h", "int size;\n"),
            ("user.cu", "#include \"k.cu\"\n"),
            ("other.h", "\n"),
        ],
    );
    let included = upstream.commit("sizes: another parameter", &[("sizes.h", "int size, more;\n")]);
    let including = upstream.commit("user: call it twice", &[("user.cu", "#include \"k.cu\"\nint x;\n")]);
    let pin = upstream.commit("other", &[("other.h", "int y;\n")]);
    let report = report(&upstream, &pin, &files(&base), &format!("{kernel}int ours;\n"));
    assert_eq!(report["state"], "fresh");
    let found = notes(&report, "neighbours");
    assert_eq!(found.len(), 2);
    assert_eq!((&found[0]["path"], &found[0]["side"]), (&"sizes.h".into(), &"included".into()));
    assert_eq!(ids(&found[0]["commits"]), [included.as_str()]);
    assert_eq!((&found[1]["path"], &found[1]["side"]), (&"user.cu".into(), &"including".into()));
    assert_eq!(ids(&found[1]["commits"]), [including.as_str()]);
}

#[test]
fn a_file_that_was_split_names_its_parts() {
    let mut upstream = Upstream::new();
    let part = |name: &str| (0..40).map(|n| format!("int {name}_{n} = {n};\n")).collect::<String>();
    let (one, two, three) = (part("one"), part("two"), part("three"));
    let base = upstream.commit("add", &[("k.cu", &format!("{one}{two}{three}"))]);
    std::fs::remove_file(upstream.path().join("k.cu")).unwrap();
    let pin = upstream.commit("split", &[("a.cu", &format!("{one}{two}")), ("b.cu", &three)]);
    let report = report(&upstream, &pin, &files(&base), "int ours;\n");
    assert_eq!((&report["state"], &report["paths"][0]["to"]), (&"renamed".into(), &"a.cu".into()));
    let parts = notes(&report, "split")[0]["parts"].as_array().unwrap();
    let paths: Vec<&str> = parts.iter().map(|part| part["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["a.cu", "b.cu"]);
}

#[test]
fn drop_when_is_looked_up_and_a_commit_that_is_elsewhere_is_pointed_out() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("add", &[("k.cu", V1), ("README", "1\n")]);
    let readme = upstream.commit("readme", &[("README", "2\n")]);
    let fix = upstream.commit("fix", &[("k.cu", &V1.replace("width = 1", "width = 2"))]);
    let ours = V1.replace("depth = 1", "depth = 2");
    let when = |commit: &str| {
        overlay(&base, &format!("files = [\"k.cu\"]\ndrop-when = {{ pin-contains = \"{commit}\" }}"))
    };
    let waiting = report(&upstream, &readme, &when(&fix), &ours);
    assert_eq!(waiting["drop-when"]["met"], false);
    assert_eq!(waiting["notes"], serde_json::json!([]));
    let met = report(&upstream, &fix, &when(&fix), &ours);
    assert_eq!(
        (&met["drop-when"]["met"], &met["drop-when"]["pin-contains"]),
        (&true.into(), &fix.clone().into())
    );
    let elsewhere = report(&upstream, &fix, &when(&readme), &ours);
    assert_eq!(elsewhere["notes"][0]["code"], "drop-when-elsewhere");
    let attested = overlay(&base, "files = [\"k.cu\"]\ndrop-when = { attested = \"a model\" }");
    assert_eq!(report(&upstream, &fix, &attested, &ours)["drop-when"]["met"], Value::Null);
}

#[test]
fn a_picked_commit_that_changes_nothing_at_the_pin_is_pointed_out() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("add", &[("k.cu", V1)]);
    upstream.git(&["switch", "-q", "-c", "side"]);
    let fix = upstream.commit("fix", &[("k.cu", &V1.replace("width = 1", "width = 2"))]);
    let more = upstream
        .commit("more", &[("k.cu", &V1.replace("width = 1", "width = 2").replace("depth = 1", "depth = 2"))]);
    upstream.git(&["switch", "-q", "main"]);
    let pin = upstream.commit("the same fix", &[("k.cu", &V1.replace("width = 1", "width = 2"))]);
    let tables = overlay(&base, &format!("from = {{ commits = [\"{fix}\", \"{more}\"] }}"));
    let project = Project::on(&upstream, &pin, &tables);
    let document = project.run(&["status", "--json"]).expect(0).json();
    let notes = document["overlays"][0]["notes"].as_array().unwrap();
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0]["code"], "no-effect");
    assert!(notes[0]["text"].as_str().unwrap().contains(&fix[..10]));
}

#[test]
fn a_person_reads_the_notes() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("add", &[("k.cu", V1)]);
    let fixed = V1.replace("width * height", "width * height * depth");
    let taken_in = upstream.commit("fix (#3)", &[("k.cu", &fixed)]);
    let taken_out = upstream.commit("Revert \"fix\"", &[("k.cu", V1)]);
    let project = Project::on(&upstream, &taken_out, &files(&base));
    project.write("overlays/up/k.cu", &fixed);
    let shown = project.run(&["status"]).expect(0).stdout;
    let shown =
        shown.replace(&taken_out, "PIN").replace(&taken_in[..10], "IN").replace(&taken_out[..10], "OUT");
    insta::assert_snapshot!(shown, @r#"
    up at PIN
    overlay  to do  state  changes     undoes
    ours     keep   fresh  code +1 -1  1

    to do  keep   nothing to do
    state  fresh  upstream did not move
    more about a word: overlaid status --explain WORD

    ours
      k.cu (+1 -1 against the pin)
        fresh: upstream changed the path and took that back
        undoes OUT 2023-11-15 Revert "fix"
        has IN 2023-11-15 fix (#3)
        note: upstream took it in (IN fix (#3)) and out again (OUT Revert "fix")
    1 overlay: 1 fresh
    "#);
}

#[test]
fn what_was_found_out_is_kept_and_a_damaged_file_is_none() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("add", &[("k.cu", V1)]);
    let pin = upstream.commit("fix", &[("k.cu", &V1.replace("width = 1", "width = 2"))]);
    let project = Project::on(&upstream, &pin, &files(&base));
    project.write("overlays/up/k.cu", V1);
    let first = project.run(&["status", "--json"]).expect(0).json();
    let folder = project.path().join("cache/overlaid/reports");
    let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let kept = std::fs::read(&file).unwrap();
    assert_eq!(project.run(&["status", "--json"]).expect(0).json(), first);
    assert_eq!(std::fs::read(&file).unwrap(), kept, "nothing new was found out");
    // A report that says something else, without the hash that goes with it.
    let forged = String::from_utf8(kept.clone()).unwrap().replace("\"rollback\"", "\"fresh\"");
    for damaged in
        [&b""[..], b"\n", b"overlaid.reports.v1 0\n{}\n", &kept[..kept.len() / 2], forged.as_bytes()]
    {
        std::fs::write(&file, damaged).unwrap();
        assert_eq!(project.run(&["status", "--json"]).expect(0).json(), first);
    }
    // A link is not followed, and neither is one that is written.
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
    assert_eq!(project.run(&["status", "--json"]).expect(0).json(), first);
    assert!(std::fs::symlink_metadata(&file).unwrap().is_file());
    // Another content is looked at anew.
    project.write("overlays/up/k.cu", V1.replace("depth = 1", "depth = 2"));
    let document = project.run(&["status", "--json"]).expect(0).json();
    assert_eq!(document["overlays"][0]["state"], "stale-clean");
}

#[test]
fn in_a_shallow_clone_what_is_there_is_told_and_the_rest_is_unknown() {
    let mut upstream = Upstream::new();
    let old = upstream.commit("add", &[("k.cu", V1)]);
    let base = upstream.commit("two", &[("k.cu", &V1.replace("width = 1", "width = 2"))]);
    let pin = upstream.commit("three", &[("k.cu", &V1.replace("width = 1", "width = 3"))]);
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}", upstream.path().display());
    crate::support::git(folder.path(), &["clone", "-q", "--depth=2", &url, "clone"]);
    for (content, state) in [
        (V1.replace("width = 1", "width = 2"), "rollback"),
        (V1.replace("width = 1", "width = 3"), "redundant"),
        // It may be an older content of upstream's: that one is not here.
        (V1.replace("depth = 1", "depth = 9"), "unknown"),
        (V1.to_owned(), "unknown"),
    ] {
        let mut project = Project::on(&upstream, &pin, &files(&base));
        project.set("OVERLAID_UPSTREAM_UP", folder.path().join("clone"));
        project.write("overlays/up/k.cu", content);
        let run = project.run(&["status", "--json", "--offline"]).expect(0);
        let overlay = &run.json()["overlays"][0];
        assert_eq!(overlay["state"], state, "{overlay:#}");
        if state == "unknown" {
            let why = overlay["paths"][0]["why"].as_str().unwrap();
            assert!(why.contains(&old) && why.contains("git fetch --unshallow"), "{why}");
        }
    }
}
