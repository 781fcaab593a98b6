//! `report`: what may be said, quotes, and what `--check` finds when somebody edits by hand.

use std::path::PathBuf;

use crate::planted::{Kind, Scene, Situation, Truth};
use crate::support::{Project, Upstream, git, write};

const REPORT: &str = "docs/upstream/fix.md";

/// An overlay that mends a fault of the pin, proven and reported.
fn needed() -> Situation {
    let situation = planted("wrong", "good");
    situation.project.run(&["prove"]).expect(0);
    situation.project.run(&["report", "fix"]).expect(0);
    situation
}

/// An overlay that makes a case of the pin do something else.
fn planted(from: &str, to: &str) -> Situation {
    let mut scene = Scene::new(&[("hero", from), ("other", "good")], &[("unread", "1\n")]);
    let pin = scene.commit(&[("elsewhere", "more\n")]);
    scene.change("fix", Kind::Patch, "hero", from, to);
    scene.done(String::new(), &pin, &[("fix", Truth::CannotBeTold)])
}

fn evidence(project: &Project) -> Vec<PathBuf> {
    let folder = project.path().join("docs/upstream/evidence");
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The codes that `--check` finds.
fn found(project: &Project) -> Vec<String> {
    let run = project.run(&["report", "--check", "--json"]);
    let document = run.json();
    let findings = document["reports"][0]["findings"].as_array().unwrap().clone();
    assert_eq!(run.code, i32::from(!findings.is_empty()), "{run:?}");
    findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

/// Replaces a text of the report, which must be there.
fn edit(project: &Project, from: &str, to: &str) {
    let text = project.read(REPORT);
    assert!(text.contains(from), "{from:?} is not in\n{text}");
    project.write(REPORT, text.replacen(from, to, 1));
}

#[test]
fn a_needed_overlay_gets_a_draft_that_holds() {
    let situation = needed();
    let project = &situation.project;
    let text = project.read(REPORT);
    for part in [
        "Status: a draft",
        "## Summary",
        "## Environment",
        "## Evidence",
        "## Root cause",
        "## Minimal fix",
        "## Repro",
        "## Affected surface",
        "## Unexplained",
        "-wrong\n+good",
        "prove fix",
        "[measured on CPU",
        "TODO",
    ] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    assert_eq!(found(project), Vec::<String>::new());
    // The same again, byte for byte, without running anything.
    let again = project.run(&["report", "fix"]).expect(0);
    assert!(!again.stderr.contains("run "), "{}", again.stderr);
    assert_eq!(project.read(REPORT), text);
}

#[test]
fn what_nobody_has_written_is_labelled_as_to_be_written() {
    let situation = needed();
    let project = &situation.project;
    let line = || {
        let text = project.read(REPORT);
        text.lines().find(|line| line.starts_with("The cause, as a person sees it:")).unwrap().to_owned()
    };
    assert!(line().ends_with("[to be written by a person]"));
    assert!(!project.read(REPORT).contains("[inferred by a person]"));
    edit(project, "<!-- person: root-cause -->\nTODO", "<!-- person: root-cause -->\nSo it is.\nTODO");
    let run = project.run(&["report", "--check"]).expect(1);
    let at = project.read(REPORT).lines().position(|l| l == line()).unwrap() + 1;
    assert!(
        run.stdout.contains(&format!("{REPORT}:{at}: wrong-label: section `root-cause` is written")),
        "{run:?}"
    );
    // The label can be put right by hand, or by the next run.
    edit(project, &line(), "The cause, as a person sees it: [inferred by a person]");
    assert_eq!(found(project), Vec::<String>::new());
    project.run(&["report", "fix"]).expect(0);
    assert!(line().ends_with("[inferred by a person]"));
    assert_eq!(found(project), Vec::<String>::new());
    edit(project, "So it is.\nTODO", "TODO");
    assert_eq!(found(project), ["wrong-label"]);
    project.run(&["report", "fix"]).expect(0);
    assert!(line().ends_with("[to be written by a person]"));
}

#[test]
fn what_was_seen_and_what_to_do_stand_under_labels_of_their_own() {
    let situation = planted("good", "wrong");
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    project.run(&["report", "fix"]).expect(0);
    let text = project.read(REPORT);
    let line = |start: &str| {
        let found = text.lines().find(|line| line.starts_with(start));
        found.unwrap_or_else(|| panic!("{start}: {text}"))
    };
    assert!(
        line("Status: ")
            .ends_with("Remove overlay `fix`: `overlaid -m up drop fix` [recommended by the program]")
    );
    assert!(line("Upstream's lines are read at").contains("[read at "));
    let seen =
        line("- harmful: 1 case fails with it and passes without it, and it mends none. [measured on CPU");
    assert!(!seen.contains("drop"), "{seen}");
    // Nobody knows whether these very commands were run.
    assert!(line("For a reader who wants to make the figures again").ends_with("[not run]"), "{text}");
    assert!(line("*Without* is the pin with all other overlays").contains("[measured on CPU"), "{text}");
    let time = regex::Regex::new(r", at \d{4}-\d\d-\d\d \d\d:\d\d UTC\. \[measured on").unwrap();
    assert!(time.is_match(line("- CPU ")), "{text}");
}

#[test]
fn a_table_that_names_a_witness_has_its_columns_and_else_says_why_not() {
    let situation = needed();
    assert!(situation.project.read(REPORT).contains("with* has this one, too. [measured"), "no witness");
    // Upstream mended it: the witness decides.
    let mut scene = Scene::new(&[("hero", "wrong")], &[]);
    let pin = scene.commit(&[("mends/hero", "good\n")]);
    scene.change("fix", Kind::Patch, "hero", "wrong", "good");
    let situation = scene.done(String::new(), &pin, &[]);
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    project.run(&["report", "fix"]).expect(0);
    let text = project.read(REPORT);
    assert!(
        text.contains("At the witness, commit ") && text.contains("| witness without | witness with |"),
        "{text}"
    );
    assert_eq!(found(project), Vec::<String>::new());
    let page = project.run(&["report", "--html", "-"]).expect(0).stdout;
    assert!(page.contains("witness, without") && !page.contains("not run: the pin decides"));
}

#[test]
fn a_harmful_overlay_gets_a_retraction_and_never_a_draft() {
    let situation = planted("good", "wrong");
    let project = &situation.project;
    project.run(&["prove"]).expect(1);
    let run = project.run(&["report", "fix"]).expect(0);
    assert!(run.stdout.contains("retraction"), "{}", run.stdout);
    let text = project.read(REPORT);
    assert!(text.contains("nothing to file") && text.contains("Remove overlay `fix`"), "{text}");
    assert_eq!(found(project), Vec::<String>::new());
    for template in ["draft", "issue", "pull-request"] {
        let run = project.run(&["report", "fix", "--template", template]).expect(1);
        assert!(run.stdout.contains("harmful"), "{}", run.stdout);
    }
    let notes = project.run(&["report", "fix", "--template", "removal"]).expect(0);
    assert!(notes.stdout.contains("Remove overlay fix"), "{}", notes.stdout);
}

#[test]
fn what_was_not_tested_gets_no_draft_but_the_command() {
    let situation = planted("wrong", "good");
    let project = &situation.project;
    let run = project.run(&["report", "fix"]).expect(4);
    assert!(run.stderr.contains("overlaid prove fix"), "{run:?}");
    assert!(!project.path().join(REPORT).exists());
    // A verdict that a person must decide on gives none, either.
    let situation = planted("wrong", "nan");
    situation.project.run(&["prove"]).expect(3);
    situation.project.run(&["report", "fix"]).expect(3);
    assert!(!situation.project.path().join(REPORT).exists());
}

#[test]
fn sections_of_a_person_survive_and_the_rest_does_not() {
    let situation = needed();
    let project = &situation.project;
    let mine = "Mine: *odd*  spacing,\r\n\n\n{{ not a template }} ### and such\n";
    let todo = project.read(REPORT);
    let open = "<!-- person: root-cause -->\n";
    let start = todo.find(open).unwrap() + open.len();
    let end = todo.find("<!-- end of person: root-cause -->").unwrap();
    project.write(REPORT, format!("{}{mine}{}", &todo[..start], &todo[end..]));
    assert_eq!(found(project), ["wrong-label"]);
    project.run(&["report", "fix"]).expect(0);
    assert!(project.read(REPORT).contains(&format!("{open}{mine}<!-- end of person: root-cause -->")));
    assert_eq!(found(project), Vec::<String>::new());

    // A marker that is gone stops it: nothing is written.
    edit(project, "<!-- end of person: root-cause -->", "");
    let before = project.read(REPORT);
    let run = project.run(&["report", "fix"]).expect(3);
    assert!(run.stderr.contains("root-cause"), "{}", run.stderr);
    assert_eq!(project.read(REPORT), before);
    assert!(found(project).contains(&"markers".to_owned()));
}

#[test]
fn a_figure_that_was_edited_is_found_with_its_line() {
    let situation = needed();
    let project = &situation.project;
    edit(project, "| 1 | fail", "| 2 | fail");
    let run = project.run(&["report", "--check"]).expect(1);
    let line = 1 + project.read(REPORT).lines().position(|line| line.contains("| 2 | fail")).unwrap();
    assert!(run.stdout.contains(&format!("{REPORT}:{line}: generated-edited")), "{}", run.stdout);
    project.run(&["report", "fix"]).expect(0);
    assert_eq!(found(project), Vec::<String>::new());
}

#[test]
fn a_quote_that_was_edited_is_found_wherever_it_stands() {
    let situation = needed();
    let project = &situation.project;
    edit(project, "2  wrong\n", "2  right\n");
    assert!(found(project).contains(&"quote-differs".to_owned()));
    project.run(&["report", "fix"]).expect(0);
    assert_eq!(found(project), Vec::<String>::new());

    let quote = project.run(&["report", "--quote", "cases/other:1-2"]).expect(0).stdout;
    edit(
        project,
        "<!-- person: root-cause -->\nTODO",
        &format!("<!-- person: root-cause -->\n{quote}\nSo it is.\nTODO"),
    );
    project.run(&["report", "fix"]).expect(0);
    assert_eq!(found(project), Vec::<String>::new());
    edit(project, "2  good", "2  gold");
    assert_eq!(found(project), ["quote-differs"]);
}

#[test]
fn evidence_that_was_edited_or_is_gone_is_found() {
    let situation = needed();
    let project = &situation.project;
    let file = evidence(project).into_iter().next().unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("0.001", "0.002", 1)).unwrap();
    assert!(found(project).contains(&"evidence-edited".to_owned()));
    std::fs::remove_file(&file).unwrap();
    let codes = found(project);
    assert!(
        codes.contains(&"evidence-missing".to_owned()) && codes.contains(&"broken-link".to_owned()),
        "{codes:?}"
    );
}

#[test]
fn a_hash_that_was_edited_is_found() {
    let situation = needed();
    let project = &situation.project;
    let text = project.read(REPORT);
    let at = text.find("\"sha256\": \"").unwrap() + 11;
    let other = if &text[at..=at] == "0" { "1" } else { "0" };
    project.write(REPORT, format!("{}{other}{}", &text[..at], &text[at + 1..]));
    assert!(found(project).contains(&"facts-edited".to_owned()));
}

#[test]
fn evidence_is_stale_when_sources_change_and_not_when_the_machine_does() {
    let situation = needed();
    let project = &situation.project;
    // Another machine: nothing is known there of what was built.
    std::fs::remove_dir_all(project.path().join(".overlaid")).unwrap();
    assert_eq!(found(project), Vec::<String>::new());
    project.run(&["report", "fix"]).expect(0);
    assert_eq!(found(project), Vec::<String>::new());

    let script = project.read("tests/check/check.sh");
    project.write("tests/check/check.sh", format!("{script}# another line\n"));
    assert!(found(project).contains(&"stale".to_owned()));
    project.run(&["report", "fix"]).expect(4);
    project.write("tests/check/check.sh", &script);
    let patch = project.read("overlays/up/fix.patch");
    project.write("overlays/up/fix.patch", patch.replace("+good", "+nan"));
    let run = project.run(&["report", "--check"]).expect(1);
    assert!(run.stdout.contains("stale") && run.stdout.contains("cases/hero"), "{}", run.stdout);
}

#[test]
fn links_and_labels_are_looked_at_in_what_a_person_writes_too() {
    let situation = needed();
    let project = &situation.project;
    let hint = "<!-- person: unexplained -->\n";
    edit(
        project,
        hint,
        &format!("{hint}See [this](evidence/none.json) and [that](#no-such) and [here](#evidence).\n\n"),
    );
    project.run(&["report", "fix"]).expect(0);
    assert_eq!(found(project), ["broken-link", "broken-link"]);
    project.write(
        REPORT,
        project.read(REPORT).replace("evidence/none.json", "evidence").replace("#no-such", "#summary"),
    );
    assert_eq!(found(project), Vec::<String>::new());
    edit(project, "## Unexplained\n", "## Unexplained\n\nIt is the compiler's fault.\n");
    let codes = found(project);
    assert!(
        codes.contains(&"no-label".to_owned()) && codes.contains(&"generated-edited".to_owned()),
        "{codes:?}"
    );
}

#[test]
fn a_template_of_the_user_is_used_and_an_unknown_name_is_an_error() {
    let situation = needed();
    let project = &situation.project;
    let pin = git(situation.upstream.path(), &["rev-parse", "main"]);
    project.write(
        "templates/report/draft.md",
        "# {{ overlay.name }}\n\n{{ quote(\"cases/hero\", lines=\"1-2\", at=pin) }}\n\nNothing more. [run]\n",
    );
    assert_eq!(found(project), ["outdated"]);
    project.run(&["report", "fix"]).expect(0);
    let text = project.read(REPORT);
    assert!(text.contains("1  # case hero\n2  wrong\n") && text.contains(&pin), "{text}");
    assert_eq!(found(project), Vec::<String>::new());

    project.write("templates/report/draft.md", "# {{ overlay.nmae }}\n");
    let run = project.run(&["report", "fix"]).expect(2);
    assert!(run.stderr.contains("draft.md") && run.stderr.contains("undefined"), "{}", run.stderr);
    project.write("templates/report/draft.md", "{{ quote(\"cases/hero\", lines=\"9\", at=pin) }}\n");
    let run = project.run(&["report", "fix"]).expect(2);
    assert!(run.stderr.contains("has 3 lines"), "{}", run.stderr);
}

#[test]
fn evidence_only_has_no_sentences() {
    let situation = needed();
    let project = &situation.project;
    let with = project.read(REPORT);
    project.run(&["report", "fix", "--evidence-only"]).expect(0);
    let text = project.read(REPORT);
    assert!(with.contains("needed: ") && !text.contains("needed: "), "{text}");
    assert!(!text.contains("Status:") && text.contains("| cases | count |"), "{text}");
    assert_eq!(found(project), Vec::<String>::new());
}

#[test]
fn a_newer_commit_is_asked_whether_the_fault_is_there() {
    let situation = planted("wrong", "good");
    let project = &situation.project;
    project.run(&["prove"]).expect(0);
    let mut upstream = situation.upstream;
    let still = upstream.commit("more", &[("elsewhere", "even more\n")]);
    let mended = upstream.commit("mend", &[("cases/hero", "# case hero\ngood\n# end\n")]);
    project.run(&["report", "fix", "--at", &still]).expect(0);
    assert!(project.read(REPORT).contains("still there"), "{}", project.read(REPORT));
    assert_eq!(found(project), Vec::<String>::new());
    project.run(&["report", "fix", "--at", &mended]).expect(0);
    let text = project.read(REPORT);
    assert!(text.contains("The fault is gone") && text.contains(&mended), "{text}");
    assert_eq!(found(project), Vec::<String>::new());
}

#[test]
fn hostile_text_does_no_harm_in_a_report() {
    let situation = planted("wrong", "good");
    let project = &situation.project;
    let hostile = "<script>alert(1)</script> @ada \u{202e} [x](javascript:1) ``` <!-- person: summary -->";
    let long = "y".repeat(10_000);
    let manifest = project.read("manifests/up.toml");
    project.write("manifests/up.toml", manifest.replace("\"planted\"", &format!("'{hostile} {long}'")));
    project.run(&["prove"]).expect(0);
    project.run(&["report", "fix"]).expect(0);
    let text =
        project.read(REPORT) + &project.run(&["report", "fix", "--template", "issue"]).expect(0).stdout;
    assert!(
        !text.contains("<script>") && !text.contains('\u{202e}') && !text.contains("(javascript:"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.len() < 3000));
    assert_eq!(found(project), Vec::<String>::new());
}

#[test]
fn a_quote_of_a_forge_has_a_link_with_lines_and_commit() {
    let mut upstream = Upstream::new();
    let lines: String = (1..=9).map(|n| format!("int a{n};\n")).collect();
    let pin = upstream.commit("one", &[("src/k.cu", &lines)]);
    let newer = upstream.commit("two", &[("src/k.cu", &lines.replace("a4", "b4"))]);
    let mut project = Project::new();
    let manifest = format!(
        "version = 1\n[upstream]\nname = \"up\"\nurl = \"https://github.com/o/r.git\"\npin = \"{pin}\"\n"
    );
    write(&project.path().join("manifests/up.toml"), manifest);
    project.set("OVERLAID_UPSTREAM_UP", upstream.path());
    let run = project.run(&["--offline", "report", "--quote", "src/k.cu:3-5", "--at", &newer]).expect(0);
    assert!(
        run.stdout.contains(&format!("https://github.com/o/r/blob/{newer}/src/k.cu#L3-L5")),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("3  int a3;\n4  int b4;\n5  int a5;"), "{}", run.stdout);
    let run = project.run(&["--offline", "report", "--quote", "src/k.cu:3-5"]).expect(0);
    assert!(run.stdout.contains("4  int a4;") && run.stdout.contains(&pin), "{}", run.stdout);
    project.run(&["--offline", "report", "--quote", "src/k.cu:8-12"]).expect(2);
    project.run(&["--offline", "report", "--quote", "src/none.cu:1"]).expect(2);
    project.run(&["--offline", "report", "--quote", "src/k.cu"]).expect(2);
}

/// The sample with the reports that this repository holds.
fn sample_with_reports() -> Project {
    let project = crate::rowops::sample();
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in walkdir::WalkDir::new(here.join("docs/upstream")) {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            let path = entry.path().strip_prefix(here).unwrap();
            project.write(&path.display().to_string(), std::fs::read(entry.path()).unwrap());
        }
    }
    project
}

#[test]
fn the_reports_of_the_sample_hold_wherever_they_are_checked() {
    let project = sample_with_reports();
    let draft = project.read("docs/upstream/argmax-first-index.md");
    let retraction = project.read("docs/upstream/rms-norm-held-back.md");
    assert!(draft.contains("Status: a draft") && retraction.contains("Status: a retraction"));
    let run = project.run(&["-m", "rowops", "report", "--check", "--json"]).expect(0);
    assert_eq!(run.json()["reports"].as_array().unwrap().len(), 2, "{}", run.stdout);

    let worse = draft.replacen("fail, worst 5", "fail, worst 6", 1);
    assert_ne!(worse, draft);
    project.write("docs/upstream/argmax-first-index.md", worse);
    let run = project.run(&["-m", "rowops", "report", "--check"]).expect(1);
    assert!(run.stdout.contains("generated-edited"), "{}", run.stdout);
}

#[test]
fn what_a_gpu_found_stands_in_the_report_of_a_machine_without_one() {
    let mut project = crate::rowops::sample();
    let evidence = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/upstream/evidence");
    for entry in std::fs::read_dir(evidence).unwrap().map(|entry| entry.unwrap()) {
        let name = entry.file_name().into_string().unwrap();
        project.write(&format!("docs/upstream/evidence/{name}"), std::fs::read(entry.path()).unwrap());
    }
    // Whatever this machine has: here it has no compiler for CUDA.
    project.set("CUDACXX", "/no/such/nvcc");
    let cuda = ["-m", "rowops", "--profile", "cuda"];
    project.run(&[&cuda[..], &["report", "rms-norm-held-back"]].concat()).expect(0);
    let report = project.read("docs/upstream/rms-norm-held-back.md");
    let line = |start: &str| {
        let found = report.lines().find(|line| line.starts_with(start));
        found.unwrap_or_else(|| panic!("{start}\n{report}"))
    };
    assert!(
        line("- NVIDIA H200").contains("driver 580.")
            && line("- NVIDIA H200").contains(", CUDA 13.0, compiler")
    );
    // A sanitizer is no case of the sweep, and has no figure.
    assert!(line("Test `rms-norm-sweep`").contains(": 1092 cases"));
    assert_eq!(line("| `sanitizer:memcheck` |"), "| `sanitizer:memcheck` | 1 | pass | fail |");
    assert!(
        line("| `axis 257..512 (34 of 34)").contains("| 344 | pass, worst 0.0019 | fail, worst 0.9557 |")
    );
    let found = line("- rms-norm-sweep sanitizer:memcheck at the pin with the overlay: Invalid");
    assert!(
        found.contains("src/reduce.h:44") && found.ends_with("[measured on NVIDIA H200 (sm\\_90)]"),
        "{found}"
    );
    project.run(&[&cuda[..], &["report", "argmax-first-index"]].concat()).expect(0);
    assert!(
        project.read("docs/upstream/argmax-first-index.md").contains("argmax-first-index: draft for rowops")
    );
    project.run(&["report", "--check"]).expect(0);
}
