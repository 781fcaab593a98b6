//! The page of many overlays, and of hostile ones.

use super::model::*;
use super::*;
use crate::evidence::Machine;
use crate::id::{Name, UpstreamPath};
use crate::provenance::{Blobs, OverlayReport, PathReport, State};
use crate::report::picture::Bound;
use crate::upstream::Commit;
use crate::verdict::{CellRow, CellView, Decision, Reason, Verdict};

fn view(outcome: &'static str, value: f64) -> CellView {
    CellView { outcome, text: None, value: Some(value), runs: 3, failed: 0 }
}

fn row(case: String, fails: bool) -> CellRow {
    CellRow {
        test: Name::parse("sweep").unwrap(),
        case,
        witness_without: Some(view("fail", 0.9)),
        witness_with: Some(view("pass", 0.001)),
        pin_without: if fails { view("fail", 0.7) } else { view("pass", 0.002) },
        pin_with: view("pass", 0.001),
        attributed: true,
    }
}

fn decision(name: &str, verdict: Verdict, cells: Vec<CellRow>) -> Decision {
    Decision {
        overlay: Name::parse(name).unwrap(),
        verdict,
        first_line: format!("{verdict}: as measured"),
        attributed: Vec::new(),
        fixed: Vec::new(),
        broken: Vec::new(),
        unfixed: Vec::new(),
        silenced: Vec::new(),
        unsilenced: Vec::new(),
        reasons: vec![Reason { code: "note", text: "something to know".to_owned() }],
        cells,
        runs_needed: Vec::new(),
        wants: Vec::new(),
    }
}

fn part(name: &str, verdict: Verdict, cells: Vec<CellRow>) -> OverlayPart {
    let path = PathReport {
        path: UpstreamPath::parse("src/kernel.cu").unwrap(),
        state: State::Fresh,
        why: "upstream did not move".to_owned(),
        undoes: Vec::new(),
        included: Vec::new(),
        moved_by: Vec::new(),
        to: None,
        by: None,
        notes: Vec::new(),
        by_name_only: false,
        delta: None,
        against_base: None,
        against_pin: None,
        blobs: Blobs::default(),
    };
    let machine = Machine {
        os: "linux".into(),
        arch: "x86_64".into(),
        cpu: "a processor".into(),
        device: None,
        driver: None,
        cuda: None,
    };
    OverlayPart {
        report: OverlayReport::new(Name::parse(name).unwrap(), vec![path]),
        reason: Some("a reason".to_owned()),
        base: Some("1".repeat(40)),
        activity: String::new(),
        change: "code +3 -1".to_owned(),
        links: Vec::new(),
        tests: vec!["sweep".to_owned()],
        accepted: None,
        reported: Vec::new(),
        bisected: Vec::new(),
        delta: Ok(Vec::new()),
        proofs: vec![ProofPart {
            profile: Some("cpu".to_owned()),
            decision: decision(name, verdict, cells),
            measured: Some("2026-01-30 09:05 UTC".to_owned()),
            is_on_file: false,
            prove: format!("overlaid --profile cpu prove {name}"),
            noted: None,
            witness: None,
            machine,
            toolchains: vec!["gcc 12".to_owned()],
            bounds: vec![("sweep".to_owned(), Bound { metric: "rel_err".to_owned(), max: Some(0.01) })],
        }],
    }
}

fn page(overlays: Vec<OverlayPart>) -> Page {
    Page {
        version: "0".to_owned(),
        made: "2026-01-31".to_owned(),
        upstreams: vec![UpstreamPart {
            name: "up".to_owned(),
            url: "https://github.com/up/up.git".to_owned(),
            pin: "2".repeat(40),
            together: Vec::new(),
            overlays,
        }],
    }
}

#[test]
fn fifty_overlays_with_ten_thousand_cells_stay_below_a_megabyte() {
    let mut overlays = Vec::new();
    for overlay in 0..50 {
        // Every third case fails: hardly two neighbours are alike.
        let cases = (0..200).map(|n| {
            let case = format!(
                r#"{{"axis":{},"dtype":"{}"}}"#,
                16 * (n % 50 + 1),
                ["f16", "f32", "bf16", "f64"][n / 50]
            );
            row(case, n % 3 == 0)
        });
        let mut part = part(&format!("overlay-{overlay}"), Verdict::Needed, cases.collect());
        let line = |n: usize| {
            (
                LineKind::Added,
                format!("  if (a[{n}] < b && c > \"d\") return '{}';", "x".repeat(60)).into_bytes(),
            )
        };
        let lines = (0..2_000).map(line).collect();
        part.delta = Ok(vec![PathDelta { path: "src/kernel.cu".to_owned(), word: "code".to_owned(), lines }]);
        overlays.push(part);
    }
    let html = render(&page(overlays));
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
    assert!(html.contains("lines more are not shown here: <code>overlaid diff overlay-0</code>"));
    assert_eq!(html.matches("<article").count(), 50);
    assert_eq!(html.matches("<svg").count(), 50);
}

#[test]
fn text_of_others_does_no_harm() {
    let evil = "<script>alert(1)</script>\" onload='x' \u{202e}gnp.\u{1b}[2J\u{7}</pre></svg>";
    let long = "y".repeat(10_000);
    let mut cells = vec![row("1".to_owned(), true), row(evil.to_owned(), true)];
    cells.push(row(format!(r#"{{"axis":1,"x":{}}}"#, serde_json::to_string(evil).unwrap()), true));
    cells.push(row(format!(r#"{{"axis":2,"x":{}}}"#, serde_json::to_string(&long).unwrap()), true));
    cells.push(row(r#"{"axis":3,"x":"y"}"#.to_owned(), true));
    cells[0].pin_without.text = Some(evil.to_owned());
    let mut part = part("fix", Verdict::Harmful, cells);
    part.reason = Some(evil.to_owned());
    part.links = vec![(evil.to_owned(), format!("javascript:{evil}")), ("issue".to_owned(), evil.to_owned())];
    part.tests = vec![evil.to_owned(), long.clone()];
    part.accepted = Some(long.clone());
    part.delta = Ok(vec![PathDelta {
        path: evil.to_owned(),
        word: evil.to_owned(),
        lines: vec![
            (LineKind::Added, evil.as_bytes().to_vec()),
            (LineKind::Context, long.clone().into_bytes()),
        ],
    }]);
    part.proofs[0].bounds[0].1.metric = evil.to_owned();
    part.proofs[0].toolchains = vec![evil.to_owned()];
    part.report.paths[0].why = evil.to_owned();
    part.report.paths[0].undoes = vec![Commit { subject: evil.into(), ..commit() }];
    let mut page = page(vec![part]);
    page.upstreams[0].url = format!("javascript:{evil}");
    let html = render(&page);
    for bad in ["<script", "alert(1)</", "onload='", "\u{202e}", "\u{1b}", "\u{7}", "href=\"javascript:"] {
        assert!(!html.contains(bad), "{bad:?}");
    }
    assert_eq!(html.matches("<pre").count(), html.matches("</pre>").count());
    assert!(!html.contains(&"y".repeat(1_000)));
    let svg = crate::report::picture::document(&page.upstreams[0].overlays[0].proofs[0].grids());
    assert!(!svg.contains("<script") && roxmltree::Document::parse(&svg).is_ok(), "{svg}");
}

fn commit() -> Commit {
    Commit {
        id: crate::id::CommitId::from_bytes([7; 20]),
        parents: Vec::new(),
        committed: 0,
        subject: "".into(),
        authored: 0,
    }
}

#[test]
fn what_needs_a_hand_stands_first() {
    let names = [
        ("a-keep", Verdict::Needed),
        ("b-drop", Verdict::Droppable),
        ("c-now", Verdict::Harmful),
        ("d-decide", Verdict::Mixed),
    ];
    let html = render(&page(names.map(|(name, verdict)| part(name, verdict, Vec::new())).into()));
    let at = |name: &str| html.find(&format!("<article id=\"o-{name}\"")).unwrap();
    assert!(at("c-now") < at("b-drop") && at("b-drop") < at("d-decide") && at("d-decide") < at("a-keep"));
    assert!(html.contains("act now") && html.contains("harmful: as measured"));
}

#[test]
fn the_first_table_says_by_which_profile_and_device_it_was_judged() {
    let mut fix = part("fix", Verdict::Harmful, vec![row("1".to_owned(), true)]);
    let mut on_gpu = part("fix", Verdict::Needed, vec![row("1".to_owned(), true)]).proofs.remove(0);
    on_gpu.profile = Some("cuda".to_owned());
    on_gpu.machine.device = Some("NVIDIA H200 (sm_90)".to_owned());
    on_gpu.measured = Some("2026-01-31 10:00 UTC".to_owned());
    fix.proofs.push(on_gpu);
    let mut open = part("open", Verdict::Inconclusive, Vec::new());
    open.proofs[0].measured = None;
    let html = render(&page(vec![fix, open]));
    let table = &html[html.find("id=\"todo\"").unwrap()..html.find("<article").unwrap()];
    assert!(table.contains("harmful on cpu<br>needed on cuda"), "{table}");
    assert!(
        table
            .contains("<strong>cpu</strong>: measured on CPU a processor, last at 2026-01-30 09:05 UTC</li>"),
        "{table}"
    );
    assert!(
        table.contains(
            "<strong>cuda</strong>: measured on NVIDIA H200 (sm_90), last at 2026-01-31 10:00 UTC</li>"
        ),
        "{table}"
    );
    assert!(table.contains("on cpu: harmful: as measured"), "{table}");
}

#[test]
fn the_badge_and_the_section_of_a_noted_verdict_say_the_same() {
    let mut cell = row("1".to_owned(), false);
    cell.pin_without = CellView { outcome: "not run", ..view("not run", 0.0) };
    let mut part = part("fix", Verdict::Inconclusive, vec![cell]);
    let when = "2026-01-30 09:00 UTC, 1 d ago".to_owned();
    part.proofs[0].noted = Some(Noted { verdict: "needed".to_owned(), when, holds: true });
    let html = render(&page(vec![part]));
    assert!(html.contains("verdict: needed on cpu, by the last proof"), "{html}");
    assert!(html.contains("<h4>Proof on cpu: needed, by the last proof</h4>"), "{html}");
    assert!(html.contains("not all that it measured is at hand here"), "{html}");
    assert!(html.contains("what does not build counts only on the machine that saw it"), "{html}");
    assert!(
        !html.contains("inconclusive: as measured") && !html.contains("Proof on cpu: inconclusive"),
        "{html}"
    );
}

#[test]
fn only_cases_of_the_test_are_counted_as_cases() {
    let mut cells: Vec<CellRow> = (0..3).map(|n| row(format!("{{\"axis\":{n}}}"), false)).collect();
    for name in ["build", "run"] {
        let unrun = || CellView { outcome: "not run", ..view("not run", 0.0) };
        let mut cell = row(name.to_owned(), false);
        (cell.witness_without, cell.witness_with) = (Some(unrun()), Some(unrun()));
        cells.push(cell);
    }
    let html = render(&page(vec![part("fix", Verdict::Needed, cells)]));
    assert!(html.contains("3 cases. Without: the pin with all other overlays."), "{html}");
    assert!(!html.contains("5 cases"), "{html}");
}

#[test]
fn a_witness_that_was_not_run_is_said_to_be_so() {
    let mut cell = row("1".to_owned(), true);
    (cell.witness_without, cell.witness_with) = (None, None);
    let mut fix = part("fix", Verdict::Needed, vec![cell]);
    fix.proofs[0].witness = Some("3".repeat(40));
    let html = render(&page(vec![fix]));
    assert!(html.contains("; not run: the pin decides") && !html.contains("witness, without"), "{html}");
    // A test that was not run there has the columns of the others.
    let mut other = row("1".to_owned(), true);
    other.test = Name::parse("other").unwrap();
    (other.witness_without, other.witness_with) = (None, None);
    let html = render(&page(vec![part("fix", Verdict::Needed, vec![row("1".to_owned(), true), other])]));
    assert_eq!(html.matches("<th scope=\"col\">witness, without</th>").count(), 2, "{html}");
}

#[test]
fn what_was_not_run_has_no_empty_tables() {
    let unrun = || CellView { outcome: "not run", ..view("not run", 0.0) };
    let mut cell = row("build".to_owned(), false);
    (cell.witness_without, cell.witness_with) = (None, None);
    (cell.pin_without, cell.pin_with) = (unrun(), unrun());
    let html = render(&page(vec![part("fix", Verdict::Inconclusive, vec![cell])]));
    assert!(html.contains("Nothing is on record here.") && !html.contains("class=\"cells\""), "{html}");
}

#[test]
fn a_verdict_of_another_machine_still_says_what_to_do() {
    let mut part = part("fix", Verdict::Inconclusive, Vec::new());
    let noted = Noted { verdict: "droppable".to_owned(), when: "2026-01-30".to_owned(), holds: true };
    part.proofs[0].noted = Some(noted.clone());
    assert_eq!(part.to_do().0, Hand::Drop);
    part.proofs[0].noted = Some(Noted { holds: false, ..noted });
    assert_eq!(part.to_do().0, Hand::FindOut);
}
