//! A folder that is a submodule at one commit and one of upstream's own tree at another.

use serde_json::Value;

use super::{HEADER, Nest, commit, declared, nest, put};
use crate::support::{Project, write};

const PATH: &str = "lib/inner/include/inner.h";

/// What the submodule's second commit has.
fn four() -> String {
    HEADER.replace("four", "four = 4")
}

/// Takes the header into the outer tree, in place of the submodule.
fn inline(nest: &mut Nest, subject: &str, text: &str) -> String {
    nest.outer.git(&["rm", "-q", "--cached", "lib/inner"]);
    own(nest, subject, text)
}

/// Changes the header in the outer tree.
fn own(nest: &mut Nest, subject: &str, text: &str) -> String {
    write(&nest.outer.path().join(PATH), text);
    nest.outer.git(&["add", PATH]);
    commit(&mut nest.outer, subject)
}

/// Makes the folder a submodule again, at a commit of its own that changes one line more.
fn back_to_a_submodule(nest: &mut Nest, subject: &str) -> String {
    let third =
        nest.inner.commit("inner: three is 3", &[("include/inner.h", &four().replace("three", "three = 3"))]);
    nest.outer.git(&["rm", "-rq", "--cached", "lib/inner"]);
    std::fs::remove_dir_all(nest.outer.path().join("lib/inner")).unwrap();
    put(&nest.outer, "lib/inner", "../inner.git", &third);
    commit(&mut nest.outer, subject)
}

/// What `status` says of a whole file in place of the header.
fn look(nest: &Nest, base: &str, pin: &str, ours: &str) -> Value {
    let overlay = format!("\n[[overlay]]\nname = \"ours\"\nbase = \"{base}\"\nfiles = [\"{PATH}\"]\n");
    let more = format!("branch = \"main\"\n{}", declared(&nest.inner, &overlay));
    let project = Project::on(&nest.outer, pin, &more);
    project.write(&format!("overlays/up/{PATH}"), ours);
    project.run(&["status", "--json", "--no-cache"]).expect(0).json()["overlays"][0]["paths"][0].clone()
}

fn subjects(report: &Value, list: &str) -> Vec<String> {
    let commits = report[list].as_array().unwrap().iter();
    commits.map(|commit| commit["subject"].as_str().unwrap().to_owned()).collect()
}

fn brought_back(report: &Value) -> Vec<String> {
    let notes = report["notes"].as_array().unwrap().iter().filter(|note| note["code"] == "resurrects");
    notes.map(|note| note["by"]["subject"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn upstreams_work_is_followed_from_the_submodule_into_its_own_tree() {
    let mut nest = nest();
    inline(&mut nest, "outer: inlined", &four());
    let base = nest.pins[0].clone();
    let pin = own(&mut nest, "outer: three is 3", &four().replace("three", "three = 3"));
    let report = look(&nest, &base, &pin, &HEADER.replace("one", "one = 1"));
    assert_eq!(report["state"], "stale-clean");
    assert_eq!(subjects(&report, "undoes"), ["inner: four is 4", "outer: three is 3"]);
    assert_eq!(report["moved-by"].as_array().unwrap().len(), 2);
    let mut by = brought_back(&report);
    by.sort();
    assert_eq!(by, ["inner: four is 4", "outer: three is 3"]);
    let report = look(&nest, &base, &pin, &four().replace("one", "one = 1"));
    assert_eq!(subjects(&report, "undoes"), ["outer: three is 3"]);
    assert_eq!(subjects(&report, "included"), ["inner: four is 4"]);
    let report = look(&nest, &base, &pin, HEADER);
    assert_eq!(report["state"], "rollback");
    assert_eq!(subjects(&report, "undoes"), ["inner: four is 4", "outer: three is 3"]);
}

#[test]
fn a_change_that_comes_with_the_move_into_the_own_tree_is_that_commits() {
    let mut nest = nest();
    let pin = inline(&mut nest, "outer: inlined, two is 2", &four().replace("two", "two = 2"));
    let report = look(&nest, &nest.pins[0], &pin, &HEADER.replace("one", "one = 1"));
    assert_eq!(subjects(&report, "undoes"), ["inner: four is 4", "outer: inlined, two is 2"]);
    // From within the own tree on, the submodule's work is no more of a question.
    let later =
        own(&mut nest, "outer: three is 3", &four().replace("two", "two = 2").replace("three", "three = 3"));
    let report = look(&nest, &pin, &later, &four().replace("two", "two = 2").replace("one", "one = 1"));
    assert_eq!(subjects(&report, "undoes"), ["outer: three is 3"]);
    assert_eq!(report["moved-by"].as_array().unwrap().len(), 1);
}

#[test]
fn upstreams_work_is_followed_from_its_own_tree_into_a_submodule() {
    let mut nest = nest();
    let base = inline(&mut nest, "outer: inlined", &four());
    let pin = back_to_a_submodule(&mut nest, "outer: a submodule again");
    let ours = four().replace("one", "one = 1");
    let report = look(&nest, &base, &pin, &ours);
    assert_eq!(report["state"], "stale-clean");
    assert_eq!(subjects(&report, "undoes"), ["inner: three is 3"]);
    assert!(subjects(&report, "included").is_empty(), "{report}");
}

#[test]
fn what_upstream_had_in_a_submodule_after_the_pin_is_a_backport_though_it_is_gone_by_now() {
    let mut nest = nest();
    nest.outer.git(&["rm", "-q", "--cached", "lib/inner"]);
    let gone = commit(&mut nest.outer, "outer: no inner any more");
    let pin = nest.pins[0].clone();
    let report = look(&nest, &pin, &pin, &four());
    assert_eq!(report["state"], "backport");
    assert_eq!(report["by"]["subject"], "inner: four is 4");
    // And the commit that took the submodule out is the one that removed the path.
    let report = look(&nest, &pin, &gone, &HEADER.replace("one", "one = 1"));
    assert_eq!(report["state"], "gone");
    assert_eq!(report["by"]["subject"], "outer: no inner any more");
}
