//! `report --html`, `--format`, `--explain`, `man` and `completions`.

use crate::support::{Project, Upstream};

const OLD: &str = "int width = 1;\n";
const NEW: &str = "int width = 2;\n";

/// A project whose overlay takes upstream back. The commit that it undoes has this subject.
fn rollback(subject: &str) -> (Upstream, Project) {
    let mut upstream = Upstream::new();
    let first = upstream.commit("kernel: add", &[("src/kernel.cu", OLD)]);
    let second = upstream.commit(subject, &[("src/kernel.cu", NEW)]);
    let overlay = format!(
        "\n[[overlay]]\nname = \"ours\"\nreason = \"<b>held</b> back\"\nbase = \"{first}\"\nfiles = [\"src/kernel.cu\"]\n"
    );
    let project = Project::on(&upstream, &second, &overlay);
    project.write("overlays/up/src/kernel.cu", OLD);
    (upstream, project)
}

#[test]
fn the_page_says_what_is_undone_and_takes_no_markup_from_others() {
    let (_upstream, project) = rollback("<img src=x onerror=alert(1)> \u{202e}wider (#7)");
    project.run(&["report", "--html"]).expect(0);
    let page = project.read(".overlaid/report.html");
    assert!(page.contains("state: rollback") && page.contains("Upstream commits that it undoes (1)"));
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt; \\u{202e}wider (#7)"), "{page}");
    assert!(page.contains("&lt;b&gt;held&lt;/b&gt; back"));
    assert!(!page.contains("<img") && !page.contains("<script") && !page.contains('\u{202e}'));
    // Nothing in it asks a network for anything.
    assert!(page.contains("default-src 'none'"));
    let printed = project.run(&["report", "--html", "-"]).expect(0);
    assert_eq!(printed.stdout, page);
}

#[test]
fn github_is_told_the_line_of_the_overlay_and_gets_a_summary() {
    let (_upstream, mut project) = rollback("kernel: wider");
    let file = project.path().join("summary.md");
    project.set("GITHUB_STEP_SUMMARY", file.clone());
    let run = project.run(&["status", "--format", "github"]).expect(0);
    let line = run.stdout.lines().next().unwrap();
    assert!(line.starts_with("::error file=manifests/up.toml,line="), "{line}");
    assert!(line.contains("title=rollback of ours::ours is rollback: src/kernel.cu: "), "{line}");
    project.run(&["verify", "--format", "github"]).expect(1);
    let summary = std::fs::read_to_string(file).unwrap();
    assert!(summary.contains("## overlaid status") && summary.contains("## overlaid verify"), "{summary}");
    assert!(summary.contains("| error | rollback | ours | manifests/up.toml:"), "{summary}");
}

#[test]
fn whatever_upstream_calls_its_commits_github_reads_one_annotation_a_line() {
    let (_upstream, project) = rollback("100% \u{1b}[2J ::error file=x::owned, <b>| `x` \u{202e}");
    let annotation =
        regex::Regex::new(r"^::(error|warning|notice) (?:file=[^:,\r\n]+,line=[0-9]+(?:,col=[0-9]+)?,)?title=[^:,\r\n]+::[^\r\n]+$").unwrap();
    for (command, code) in [("status", 0), ("verify", 1)] {
        let shown = project.run(&[command, "--format", "github"]).expect(code).stdout;
        assert!(shown.contains("::error ") && shown.lines().all(|line| annotation.is_match(line)), "{shown}");
        let is_clean = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
        assert!(shown.chars().all(is_clean), "{shown}");
        // A percent sign is only ever the begin of an escape of ours.
        let escapes = ["%25", "%0A", "%0D", "%3A", "%2C"];
        assert!(
            shown
                .match_indices('%')
                .all(|(at, _)| escapes.iter().any(|escape| shown[at..].starts_with(escape))),
            "{shown}"
        );
    }
}

#[test]
fn sarif_has_a_rule_and_a_place_for_each_finding() {
    let (_upstream, project) = rollback("kernel: wider");
    let document = project.run(&["verify", "--format", "sarif"]).expect(1).json();
    assert_eq!(document["version"], "2.1.0");
    let run = &document["runs"][0];
    let found =
        run["results"].as_array().unwrap().iter().find(|result| result["ruleId"] == "rollback").unwrap();
    assert_eq!(found["level"], "error");
    let place = &found["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "manifests/up.toml");
    assert!(place["region"]["startLine"].as_u64().unwrap() > 1);
}

#[test]
fn a_word_is_explained_by_each_command_that_says_it() {
    let project = Project::new();
    let state = project.run(&["status", "--explain", "rollback"]).expect(0);
    assert!(
        state.stdout.contains("rollback (state)") && state.stdout.contains("what to do:"),
        "{}",
        state.stdout
    );
    let finding = project.run(&["verify", "--explain", "tree-content"]).expect(0);
    assert!(finding.stdout.contains("tree-content (finding)"), "{}", finding.stdout);
    let verdict = project.run(&["prove", "--explain", "harmful"]).expect(0);
    assert!(verdict.stdout.contains("harmful (verdict)") && verdict.stdout.contains("for example:"));
    let unknown = project.run(&["verify", "--explain", "nonsense"]).expect(2);
    assert!(unknown.stderr.contains("rollback"), "{}", unknown.stderr);
}

#[test]
fn every_code_that_the_source_gives_to_a_finding_is_explained() {
    let mut codes = Vec::new();
    for file in std::fs::read_dir("src/verify")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
    {
        let text = std::fs::read_to_string(file).unwrap();
        for call in ["Finding::error(", "Finding::warning("] {
            let calls = text.split(call).skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"'));
            codes.extend(calls.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
        }
    }
    assert!(codes.len() > 20, "{codes:?}");
    let manual = std::fs::read_to_string("docs/findings.md").unwrap();
    codes.retain(|code| !manual.contains(&format!("`{code}`")));
    assert_eq!(codes, Vec::<String>::new());
}

#[test]
fn each_command_has_a_manual_page_and_shells_can_complete_them() {
    let project = Project::new();
    project.run(&["man", "pages"]).expect(0);
    let page = project.read("pages/overlaid-prove.1");
    assert!(
        page.starts_with(".ie") && page.contains("overlaid\\-prove") && page.contains("needed"),
        "{page}"
    );
    assert!(project.read("pages/overlaid.1").contains("overlaid\\-status"));
    for shell in ["bash", "zsh", "fish"] {
        let script = project.run(&["completions", shell]).expect(0).stdout;
        assert!(script.contains("prove") && script.contains("dry-run"), "{shell}");
    }
}
