//! Trees that are checked out at another commit than the pin: a warning, and the advice when something is in the way.

use super::{files, overlays};
use crate::support::{Project, Upstream, git};

/// An upstream with a commit that overlays do not concern and one that they do, and a clone of it in a project.
struct Cloned {
    commits: [String; 3],
    project: Project,
    _upstream: Upstream,
}

fn cloned() -> Cloned {
    let mut upstream = Upstream::new();
    let commits = [
        upstream.commit("start", &[("src/kernel.cu", "int k;\n"), ("src/old.cu", "old\n"), ("a", "1\n")]),
        upstream.commit("elsewhere", &[("a", "2\n")]),
        upstream.commit("there", &[("src/kernel.cu", "long k;\n")]),
    ];
    let project = Project::on(&upstream, &commits[0], &overlays(&commits[0]));
    project.write("overlays/up/src/kernel.cu", "int ours;\n");
    project.write("overlays/up/src/new.cu", "int new;\n");
    git(project.path(), &["clone", "-q", upstream.path().to_str().unwrap(), "t"]);
    Cloned { commits, project, _upstream: upstream }
}

const APPLY: [&str; 3] = ["apply", "--tree", "t"];

#[test]
fn another_commit_with_the_same_overlaid_files_is_a_warning_each_time() {
    let Cloned { commits: [pin, other, _], project, _upstream } = cloned();
    let dir = project.path().join("t");
    git(&dir, &["checkout", "-q", &pin]);
    for _ in 0..3 {
        let run = project.run(&APPLY).expect(0);
        assert!(!run.stderr.contains("warning: "), "{}", run.stderr);
        // So that a run that finds nothing to do may be sure of it.
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let run = project.run(&["restore", "--tree", "t"]).expect(0);
    assert!(!run.stderr.contains("warning: "), "{}", run.stderr);
    project.run(&APPLY).expect(0);
    // Git keeps the overlaid files, which are the same at both commits.
    git(&dir, &["checkout", "-q", &other]);
    let advice = format!(
        "warning: `t` is at commit {other}, the pin is {pin}: git -C t checkout {pin} (or move the pin: \
         overlaid bump --to {other})"
    );
    for _ in 0..3 {
        let run = project.run(&APPLY).expect(0);
        assert!(run.stderr.contains(&advice), "{}", run.stderr);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(files(&dir)["src/kernel.cu"].1, b"int ours;\n");
    git(&dir, &["checkout", "-q", &pin]);
    let run = project.run(&APPLY).expect(0);
    assert!(!run.stderr.contains("warning: "), "{}", run.stderr);
}

#[test]
fn another_commit_with_other_overlaid_files_is_no_edit() {
    let Cloned { commits: [pin, _, other], project, _upstream } = cloned();
    let dir = project.path().join("t");
    for with_lock in [false, true] {
        if with_lock {
            project.run(&["lock"]).expect(0);
        }
        let run = project.run(&["-m", "up", "apply", "--tree", "t"]).expect(3);
        let advice = format!(
            "hint: `t` is at commit {other}, the pin is {pin}: git -C t checkout {pin} (or move the pin: \
             overlaid -m up bump --to {other})"
        );
        assert!(run.stderr.contains(&advice), "{}", run.stderr);
        assert!(!run.stderr.contains("make an overlay of the edit"), "{}", run.stderr);
        assert!(!run.stderr.contains("warning: "), "{}", run.stderr);
    }
    project.shell(&format!("git -C t checkout -q {pin}")).expect(0);
    project.run(&APPLY).expect(0);
    assert_eq!(files(&dir)["src/kernel.cu"].1, b"int ours;\n");
}
