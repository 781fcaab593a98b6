//! Commits of upstream's that change white space only.

use super::files;
use crate::support::{Project, Upstream};

const C: &str = "int one;\nint two(int a, int b);\nint three;\nint four;\nint five;\nint six;\nint seven;\n";

/// What `status` says of a whole file at this path, from the first to the last of these contents.
fn look(path: &str, versions: &[(&str, &str)], ours: &str) -> serde_json::Value {
    let mut upstream = Upstream::new();
    let commits: Vec<String> =
        versions.iter().map(|(subject, text)| upstream.commit(subject, &[(path, text)])).collect();
    let (base, pin) = (&commits[0], &commits[commits.len() - 1]);
    let project = Project::on(&upstream, pin, &files(base).replace("src/kernel.cu", path));
    project.write(&format!("overlays/up/{path}"), ours);
    let severities = project.run(&["verify", "--json"]).json()["findings"].clone();
    let mut report =
        project.run(&["status", "--json", "--no-cache"]).expect(0).json()["overlays"][0]["paths"][0].clone();
    report["errors"] = severities
        .as_array()
        .unwrap()
        .iter()
        .filter(|f| f["severity"] == "error" && f["code"] == "stale")
        .count()
        .into();
    report
}

/// The subjects of what it undoes, of what it has, and of the commits whose lines it brings back.
fn lists(report: &serde_json::Value) -> [Vec<String>; 3] {
    let subject = |commit: &serde_json::Value| commit["subject"].as_str().unwrap().to_owned();
    let of = |list: &str| report[list].as_array().unwrap().iter().map(subject).collect();
    let notes = report["notes"].as_array().unwrap().iter().filter(|note| note["code"] == "resurrects");
    [of("undoes"), of("included"), notes.map(|note| subject(&note["by"])).collect()]
}

fn row(lists: [&[&str]; 3]) -> [Vec<String>; 3] {
    lists.map(|list| list.iter().map(|subject| (*subject).to_owned()).collect())
}

const OURS: (&str, &str) = ("int seven;", "int seven;\nint ours;");

#[test]
fn white_space_between_tokens_is_no_work_that_could_be_undone() {
    let spaced = C.replace("int three;", "int  three;");
    let wrapped = C.replace("(int a, int b)", "(\n    int a,\n    int b\n)");
    for after in [&spaced, &wrapped] {
        for (from, to) in [(C, after.as_str()), (after.as_str(), C)] {
            let report = look("k.c", &[("base", from), ("layout", to)], &from.replace(OURS.0, OURS.1));
            assert_eq!(lists(&report), row([&[], &["layout"], &[]]), "{to}");
            assert_eq!((&report["state"], &report["errors"]), (&"stale-clean".into(), &0.into()), "{to}");
        }
    }
}

#[test]
fn what_was_changed_beside_white_space_is_undone_all_the_same() {
    let spaced = C.replace("(int a, int b)", "(int a,int b)");
    let fixed = spaced.replace("int three;", "int fixed;");
    let ours = C.replace(OURS.0, OURS.1);
    let report = look("k.c", &[("base", C), ("layout", &spaced), ("fix", &fixed)], &ours);
    assert_eq!(lists(&report), row([&["fix"], &["layout"], &["fix"]]));
    // The fix is in a line whose white space was changed before, or after.
    let fixed = spaced.replace("int a,int b", "int a,long b");
    let report = look("k.c", &[("base", C), ("layout", &spaced), ("fix", &fixed)], &ours);
    assert_eq!(lists(&report), row([&["fix"], &["layout"], &["fix"]]));
    let fixed = C.replace("int b", "long b");
    let spaced = fixed.replace("a, long", "a,long");
    let report = look("k.c", &[("base", C), ("fix", &fixed), ("layout", &spaced)], &ours);
    assert_eq!(lists(&report), row([&["fix"], &["layout"], &["fix"]]));
    let report =
        look("k.c", &[("base", C), ("fix", &fixed), ("layout", &spaced)], &fixed.replace(OURS.0, OURS.1));
    assert_eq!(lists(&report), row([&[], &["fix", "layout"], &[]]));
    // A line that was taken out, after its white space was changed.
    let spaced = C.replace("int three;", "int  three;");
    let without = spaced.replace("int  three;\n", "");
    let report = look("k.c", &[("base", C), ("layout", &spaced), ("removal", &without)], &ours);
    assert_eq!(lists(&report), row([&["removal"], &["layout"], &["removal"]]));
}

#[test]
fn white_space_that_means_something_is_work() {
    let string = C.replace("int three;", "char *three = \"a b\";");
    let directive = C.replace("int three;", "#define THREE(x) x");
    let macro_end = C.replace("int three;\nint four;", "#define THREE 3\nint four;");
    for (base, after) in [
        (&string, string.replace("a b", "ab")),
        (&directive, directive.replace("THREE(x)", "THREE (x)")),
        (&macro_end, macro_end.replace("3\nint four;", "3 int four;")),
    ] {
        let ours = base.replace(OURS.0, OURS.1);
        let report = look("k.c", &[("base", base), ("change", &after)], &ours);
        assert_eq!(lists(&report)[0], ["change"], "{after}");
    }
    let python = "if a:\n    one = 1\n    two = 2\nthree = 3\nfour = 4\nfive = 5\nsix = 6\n";
    let ours = python.replace("six = 6", "six = 6\nours = 7");
    let dedented = python.replace("    two", "two");
    assert_eq!(lists(&look("k.py", &[("base", python), ("change", &dedented)], &ours))[0], ["change"]);
    let spaced = python.replace("two = 2", "two  =  2");
    assert_eq!(
        lists(&look("k.py", &[("base", python), ("layout", &spaced)], &ours)),
        row([&[], &["layout"], &[]])
    );
    // Where nothing is known of tokens, bytes decide.
    let report = look(
        "k.txt",
        &[("base", C), ("change", &C.replace("int three", "int  three"))],
        &C.replace(OURS.0, OURS.1),
    );
    assert_eq!(lists(&report)[0], ["change"]);
}

#[test]
fn lines_that_stand_at_the_pin_but_for_white_space_are_not_brought_back() {
    let spaced = C.replace("int three;", "int  three;");
    let other = spaced.replace("int one;", "int first;");
    let mut upstream = Upstream::new();
    upstream.commit("base", &[("k.c", C)]);
    upstream.commit("layout", &[("k.c", &spaced)]);
    let pin = upstream.commit("first", &[("k.c", &other)]);
    let project = Project::on(&upstream, &pin, &files(&pin).replace("src/kernel.cu", "k.c"));
    project.write("overlays/up/k.c", other.replace("int  three;", "int three;").replace(OURS.0, OURS.1));
    let report = project.run(&["status", "--json"]).expect(0).json()["overlays"][0]["paths"][0].clone();
    assert_eq!(lists(&report), row([&[], &[], &[]]));
    // One that is not there is.
    project.write("overlays/up/k.c", other.replace("int first;", "int one;").replace(OURS.0, OURS.1));
    let report = project.run(&["status", "--json"]).expect(0).json()["overlays"][0]["paths"][0].clone();
    assert_eq!(lists(&report), row([&[], &[], &["first"]]));
}
