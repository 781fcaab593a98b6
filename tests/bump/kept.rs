//! What a person made of a conflict is in the overlay, or it is kept.

use super::{NUMBERS, conflict, files};
use crate::support::{Project, Upstream};

const RESOLVED: &str = "resolved by hand\n";

#[test]
fn a_cherry_pick_that_conflicts_has_no_file_to_edit_and_stops_the_move() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS)]);
    upstream.git(&["checkout", "-q", "-b", "side"]);
    let pick = upstream.commit("pick", &[("k.c", &NUMBERS.replace("five", "FIVE"))]);
    upstream.git(&["checkout", "-q", "main"]);
    let to = upstream.commit("theirs", &[("k.c", &NUMBERS.replace("five", "cinq"))]);
    let more = format!("[[overlay]]\nname = \"x\"\nbase = \"{base}\"\nfrom = {{ commits = [\"{pick}\"] }}\n");
    let project = Project::on(&upstream, &base, &more);
    let manifest = project.read("manifests/up.toml");
    let run = project.run(&["bump", "--to", &to]).expect(3);
    let advice = "name other commits in the manifest, or make a patch of it";
    assert!(run.stderr.contains(advice) && !run.stderr.contains("edit "), "{}", run.stderr);
    assert!(!project.path().join(".overlaid/bump/up/x").exists());
    // What stands there all the same, by whoever's hand, is no answer, and is not lost.
    project.write(".overlaid/bump/up/x/k.c", RESOLVED);
    project.run(&["bump", "--continue"]).expect(3);
    assert_eq!(project.read("manifests/up.toml"), manifest);
    project.run(&["apply"]).expect(0);
    let run = project.run(&["bump", "--abort"]).expect(0);
    assert!(run.stderr.contains("is in `.overlaid/before/1`"), "{}", run.stderr);
    assert_eq!(project.read(".overlaid/before/1/x/k.c"), RESOLVED);
}

#[test]
fn what_was_made_of_a_conflict_of_a_renamed_overlay_is_kept() {
    let (_upstream, project, _, _) = conflict();
    project.run(&["bump", "--to", "main"]).expect(3);
    project.write(".overlaid/bump/up/clash/k.c", RESOLVED);
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", manifest.replace("\"clash\"", "\"other\""));
    project.run(&["bump", "--continue"]).expect(3);
    project.write(".overlaid/bump/up/other/k.c", "again\n");
    let run = project.run(&["bump", "--continue"]).expect(0);
    assert!(run.stderr.contains("was not used is in .overlaid/before/2"), "{}", run.stderr);
    assert_eq!(project.read(".overlaid/before/2/clash/k.c"), RESOLVED);
    // What was used is in the overlay, and nowhere else.
    assert_eq!(project.read("overlays/up/k.c"), "again\n");
    assert!(!project.path().join(".overlaid/before/2/other").exists());
    assert!(!project.path().join(".overlaid/bump/up").exists());
}

#[test]
fn what_was_made_of_a_conflict_of_a_removed_overlay_is_kept() {
    let (_upstream, project, _, _) = conflict();
    project.run(&["bump", "--to", "main"]).expect(3);
    project.write(".overlaid/bump/up/clash/k.c", RESOLVED);
    let manifest = project.read("manifests/up.toml");
    let (start, rest) = manifest.split_once("\n[[overlay]]\nname = \"clash\"").unwrap();
    project.write("manifests/up.toml", format!("{start}{}", &rest[rest.find("\n[[overlay]]").unwrap()..]));
    let run = project.run(&["bump", "--continue"]).expect(0);
    assert!(run.stderr.contains("clash/k.c: the manifest has no overlay `clash` any more"), "{}", run.stderr);
    assert_eq!(project.read(".overlaid/before/2/clash/k.c"), RESOLVED);
}

/// A patch of one line that upstream took over, and changed once more.
fn taken_over() -> (Upstream, Project) {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS)]);
    upstream.git(&["checkout", "-q", "-b", "side"]);
    upstream.commit("ours", &[("k.c", &NUMBERS.replace("five", "FIVE"))]);
    let patch = crate::support::git_bytes(upstream.path(), &["diff", "--full-index", &base, "HEAD"]);
    upstream.git(&["checkout", "-q", "main"]);
    upstream.commit("theirs", &[("k.c", &NUMBERS.replace("five", "cinq"))]);
    let more = format!("[[overlay]]\nname = \"five\"\nbase = \"{base}\"\npatch = \"five.patch\"\n");
    let project = Project::on(&upstream, &base, &more);
    project.write("overlays/up/five.patch", patch);
    (upstream, project)
}

#[test]
fn that_upstream_s_side_was_taken_loses_nothing_and_says_so_of_nothing() {
    let (_upstream, project) = taken_over();
    project.run(&["bump", "--to", "main"]).expect(3);
    project.write(".overlaid/bump/up/five/k.c", NUMBERS.replace("five", "cinq"));
    let run = project.run(&["bump", "--continue", "--drop-absorbed"]).expect(0);
    assert!(run.stderr.contains("removed overlays/up/five.patch"), "{}", run.stderr);
    assert!(run.stderr.contains("wrote manifests/up.toml"), "{}", run.stderr);
    assert!(!run.stderr.contains("was not used"), "{}", run.stderr);
    assert!(!project.path().join("overlays/up/five.patch").exists());
    assert!(!project.path().join(".overlaid/before/2").exists());
}

#[test]
fn an_answer_to_an_earlier_question_is_kept_when_the_later_one_is_answered() {
    let (_upstream, project, _, _) = conflict();
    project.run(&["bump", "--to", "main"]).expect(3);
    project.write(".overlaid/bump/up/clash/k.c", RESOLVED);
    project.write("overlays/up/k.c", NUMBERS.replace("five", "cinq"));
    project.run(&["bump", "--continue"]).expect(3);
    project.write(".overlaid/bump/up/clash/k.c", "again\n");
    let run = project.run(&["bump", "--continue"]).expect(0);
    assert_eq!(project.read(".overlaid/before/2/clash/k.c.before-1"), RESOLVED, "{}", run.stderr);
}

#[test]
fn that_a_path_shall_go_is_no_answer_to_another_question() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS), ("m.c", "m\n")]);
    let to = upstream.remove("clean up", &["k.c"]);
    let project = Project::on(&upstream, &base, &files("x", &base, &["k.c", "m.c"]));
    project.write("overlays/up/k.c", "int mine;\n");
    project.write("overlays/up/m.c", "M\n");
    let run = project.run(&["bump", "--to", &to]).expect(3);
    assert!(run.stderr.contains("an empty file at .overlaid/bump/up/x/k.c.deleted"), "{}", run.stderr);
    project.write(".overlaid/bump/up/x/k.c.deleted", "");
    project.write("overlays/up/k.c", "int more;\n");
    // Asked anew, and again, since there is no answer to this question.
    project.run(&["bump", "--continue"]).expect(3);
    project.run(&["bump", "--continue"]).expect(3);
    assert_eq!(project.read("overlays/up/k.c"), "int more;\n");
    project.write(".overlaid/bump/up/x/k.c.deleted", "");
    project.run(&["bump", "--continue"]).expect(0);
    assert!(project.read("manifests/up.toml").contains("files = [\"m.c\"]"));
}

#[test]
fn an_overlay_of_one_path_cannot_lose_it_and_is_to_be_removed() {
    let mut upstream = Upstream::new();
    let base = upstream.commit("start", &[("k.c", NUMBERS), ("m.c", "m\n")]);
    let to = upstream.remove("clean up", &["k.c"]);
    let project = Project::on(&upstream, &base, &files("x", &base, &["k.c"]));
    project.write("overlays/up/k.c", "int mine;\n");
    let run = project.run(&["bump", "--to", &to]).expect(3);
    let advice = "remove overlay `x` from the manifest";
    assert!(run.stderr.contains(advice) && !run.stderr.contains(".deleted"), "{}", run.stderr);
    project.write(".overlaid/bump/up/x/k.c.deleted", "");
    let run = project.run(&["bump", "--continue"]).expect(3);
    assert!(run.stderr.contains("nothing would be left of it"), "{}", run.stderr);
    assert!(run.stderr.contains(advice), "{}", run.stderr);
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", manifest.split_once("\n[[overlay]]").unwrap().0);
    project.run(&["bump", "--continue"]).expect(0);
    project.run(&["apply"]).expect(0);
}

#[test]
fn a_link_that_leads_out_of_the_tree_is_no_answer() {
    let (_upstream, project, _, _) = conflict();
    project.run(&["bump", "--to", "main"]).expect(3);
    let answer = project.path().join(".overlaid/bump/up/clash/k.c");
    let link = |target: &str| {
        std::fs::remove_file(&answer).unwrap();
        std::os::unix::fs::symlink(target, &answer).unwrap();
    };
    for target in ["/etc/hostname", "../m.c"] {
        link(target);
        let run = project.run(&["bump", "--continue"]).expect(3);
        assert!(run.stderr.contains("the link leads out of the tree"), "{}", run.stderr);
        assert!(!project.path().join("overlays/up/k.c").is_symlink());
    }
    link("m.c");
    project.run(&["bump", "--continue"]).expect(0);
    project.run(&["apply"]).expect(0);
    assert_eq!(std::fs::read_link(project.tree().join("k.c")).unwrap().to_str(), Some("m.c"));
}

#[test]
fn a_bump_whose_note_is_damaged_can_be_given_up_and_nothing_is_lost() {
    let (_upstream, project, base, _) = conflict();
    for text in ["", "{\"from\":"] {
        project.run(&["bump", "--to", "main"]).expect(3);
        project.write(".overlaid/bump/up/clash/k.c", RESOLVED);
        project.write(".overlaid/bump/up/bump.json", text);
        for args in [&["bump", "--continue"][..], &["bump", "--to", "main"]] {
            let run = project.run(args).expect(4);
            assert!(run.stderr.contains("`.overlaid/bump/up/bump.json` is damaged"), "{}", run.stderr);
            assert!(run.stderr.contains("give it up: overlaid bump --abort"), "{}", run.stderr);
        }
        let run = project.run(&["bump", "--abort"]).expect(0);
        assert!(run.stderr.contains(&format!("the pin stays at {base}")), "{}", run.stderr);
        let (_, kept) = run.stderr.split_once("is in `").unwrap();
        let kept = kept.split_once('`').unwrap().0;
        assert_eq!(project.read(&format!("{kept}/clash/k.c")), RESOLVED);
        assert!(!project.path().join(".overlaid/bump/up").exists());
    }
}
