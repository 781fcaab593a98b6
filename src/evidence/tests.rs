use std::collections::BTreeMap;

use super::build::{paths_digest, tree_digest};
use super::*;
use crate::id::{BlobId, Name, UpstreamPath};
use crate::kernel_test::{CaseKey, Cell, CellOutcome, End, FailHow, Figure, Process, Run, Unknown};
use crate::tree::{Entry, Listing, Mode};

fn path(text: &str) -> UpstreamPath {
    UpstreamPath::parse(text).unwrap()
}

fn entry(content: &str) -> Entry {
    Entry { mode: Mode::File, id: BlobId::of(content.as_bytes()) }
}

fn tree(files: &[(&str, &str)]) -> Listing {
    files.iter().map(|(name, content)| (path(name), entry(content))).collect()
}

fn note() -> VariantNote {
    VariantNote {
        commit: CommitId::parse(&"a".repeat(40)).unwrap(),
        overlays: vec![Name::parse("fix").unwrap()],
        fault: None,
        tree: None,
    }
}

fn machine() -> Machine {
    Machine {
        os: "linux".into(),
        arch: "x86_64".into(),
        cpu: "some processor".into(),
        device: None,
        driver: None,
        cuda: None,
    }
}

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn build(listing: &Listing, read: &[&str], outcome: BuildOutcome) -> BuildRecord {
    let tree = match outcome {
        BuildOutcome::Built { .. } => TreeRead::Files {
            files: read.iter().map(|name| (path(name), listing[&path(name)])).collect(),
            paths: paths_digest(listing.keys()),
        },
        BuildOutcome::Failed { .. } => TreeRead::Whole { digest: whole(listing) },
    };
    let inputs = BuildInputs {
        tree,
        project: map(&[("tests/t.cpp", "1")]),
        options: map(&[("CMAKE_BUILD_TYPE", "Release")]),
        toolchain: "g++ 12".into(),
    };
    let made_on = MadeOn { machine: vec!["here".into()], names: None };
    BuildRecord { inputs, outcome, made_on, variant: note(), machine: machine(), recorded: 1, millis: None }
}

fn whole(listing: &Listing) -> Digest {
    tree_digest(listing.iter().map(|(path, entry)| (path, *entry)))
}

fn holds(record: &BuildRecord, listing: &Listing, change: impl Fn(&mut Candidate<'_>)) -> bool {
    let (project, options) = (map(&[("tests/t.cpp", "1")]), map(&[("CMAKE_BUILD_TYPE", "Release")]));
    let mut candidate = Candidate {
        entry: &|path| listing.get(path).copied(),
        paths: &paths_digest(listing.keys()),
        whole: &whole(listing),
        project: &project,
        options: &options,
        toolchain: "g++ 12",
        is_same_machine: &|made_on| made_on.machine == ["here"],
    };
    change(&mut candidate);
    record.holds_for(&candidate)
}

fn built() -> BuildOutcome {
    BuildOutcome::Built { outputs: map(&[("t", "hash")]) }
}

const FILES: [(&str, &str); 3] = [("a.cu", "a"), ("a.h", "h"), ("unread.cu", "u")];

#[test]
fn a_build_holds_as_long_as_what_it_read_is_the_same() {
    let before = tree(&FILES);
    let record = build(&before, &["a.cu", "a.h"], built());
    assert!(holds(&record, &before, |_| {}));
    // A file that it did not read.
    assert!(holds(&record, &tree(&[FILES[0], FILES[1], ("unread.cu", "other")]), |_| {}));
    // One that it read; one that is gone; one more, which an include could find first.
    assert!(!holds(&record, &tree(&[FILES[0], ("a.h", "other"), FILES[2]]), |_| {}));
    assert!(!holds(&record, &tree(&FILES[..2]), |_| {}));
    assert!(!holds(&record, &tree(&[FILES[0], FILES[1], FILES[2], ("new.h", "")]), |_| {}));
    let mut executable = before.clone();
    executable.insert(path("a.cu"), Entry { mode: Mode::Executable, ..entry("a") });
    assert!(!holds(&record, &executable, |_| {}));
    let other = map(&[]);
    assert!(!holds(&record, &before, |now| now.toolchain = "g++ 13"));
    assert!(!holds(&record, &before, |now| now.options = Box::leak(Box::new(other.clone()))));
    assert!(!holds(&record, &before, |now| now.project = Box::leak(Box::new(other.clone()))));
}

#[test]
fn a_failed_build_holds_for_the_very_same_tree_only() {
    let before = tree(&FILES);
    let record = build(&before, &[], BuildOutcome::Failed { text: "a.cu:1: error".into() });
    assert!(holds(&record, &before, |_| {}));
    assert!(!holds(&record, &tree(&[FILES[0], FILES[1], ("unread.cu", "other")]), |_| {}));
    // Another machine, or one that nobody looked at: the failure may have been the machine's.
    for machine in [vec!["elsewhere".into()], Vec::new()] {
        let mut moved = record.clone();
        moved.made_on.machine = machine;
        assert!(!holds(&moved, &before, |_| {}));
        assert!(holds(
            &BuildRecord { made_on: moved.made_on, ..build(&before, &["a.cu"], built()) },
            &before,
            |_| {}
        ));
    }
    // A failure that claims to know what it read is not believed.
    let mut odd = build(&before, &["a.cu"], built());
    odd.outcome = record.outcome.clone();
    assert!(!holds(&odd, &before, |_| {}));
}

fn run_inputs() -> RunInputs {
    RunInputs {
        build: "k".into(),
        binary: "b".into(),
        libraries: map(&[("libc.so.6", "c")]),
        files: map(&[]),
        command: vec!["{build}/t".into()],
        environment: map(&[]),
        format: "jsonl".into(),
        timeout_ms: 1000,
        sanitizers: Vec::new(),
        compiler: "g++ 12".into(),
        host: machine().class(),
        device: None,
        driver: None,
        protocol: result::PROTOCOL,
    }
}

fn result(recorded: i64) -> ResultRecord {
    let figure =
        Figure { metric: "rel_err".into(), value: Some(0.1 + 0.2), max: Some(1e-2), min: None, better: None };
    let nan = Figure { value: None, ..figure.clone() };
    let fail = |how| CellOutcome::Fail { how };
    let cell = |name: &str, outcome, figure| Cell {
        figure,
        ..Cell::new(CaseKey::from_junit("c", name), outcome, 12)
    };
    let cells = vec![
        cell("a", fail(FailHow::WrongFigure), Some(figure)),
        cell("b", fail(FailHow::NotFinite), Some(nan)),
        cell("c", fail(FailHow::Crash { signal: 11 }), None),
        cell("d", CellOutcome::Unknown { why: Unknown::Protocol { text: "line 3: é\u{1b}".into() } }, None),
        cell("e", CellOutcome::Skip { why: "no".into() }, None),
        Cell::new(CaseKey::run(), CellOutcome::Pass, 12),
    ];
    let run = Run {
        seed: 1,
        processes: vec![Process { end: End::Signal { signal: 11 }, millis: 12 }],
        cells,
        problems: Vec::new(),
        notes: vec!["odd".into()],
    };
    ResultRecord {
        test: Name::parse("t").unwrap(),
        inputs: run_inputs(),
        built_from: None,
        runs: vec![run],
        sanitized: BTreeMap::from([("memcheck".into(), vec![CellOutcome::Pass])]),
        variant: note(),
        machine: machine(),
        recorded,
    }
}

#[test]
fn a_record_comes_back_as_it_was() {
    for record in
        [Record::Result(result(1_700_000_000)), Record::Build(build(&tree(&FILES), &["a.h"], built()))]
    {
        let text = render_record(&record).unwrap();
        assert_eq!(parse_record(&text).unwrap(), record);
        assert!(text.contains("\"schema\": \"overlaid.evidence.v1\"") && text.ends_with("}\n"));
        // Another formatter does no harm.
        let compact = serde_json::from_str::<serde_json::Value>(&text).unwrap().to_string();
        assert_eq!(parse_record(&compact).unwrap(), record);
    }
}

#[test]
fn an_edit_by_hand_shows() {
    let text = render_record(&Record::Result(result(1))).unwrap();
    for (from, to) in [
        ("\"wrong-figure\"", "\"not-finite\""),
        ("0.30000000000000004", "0.3"),
        ("\"recorded\": 1", "\"recorded\": 2"),
        ("\"seed\": 1", "\"seed\": 2"),
        ("\"fix\"", "\"fax\""),
        ("\"odd\"", "\"even\""),
    ] {
        let edited = text.replacen(from, to, 1);
        assert_ne!(edited, text, "{from}: nothing to edit");
        assert_eq!(parse_record(&edited), Err(EvidenceError::Edited), "{from}");
    }
    assert_eq!(parse_record("{\"schema\": \"overlaid.evidence.v1\"}"), Err(EvidenceError::Edited));
    assert!(matches!(
        parse_record(&text.replace("evidence.v1", "evidence.v2")),
        Err(EvidenceError::Schema(_))
    ));
    assert!(matches!(parse_record("{}"), Err(EvidenceError::Schema(_))));
    assert!(matches!(parse_record(&text[..text.len() / 2]), Err(EvidenceError::Malformed(_))));
    assert!(matches!(parse_record("[]"), Err(EvidenceError::Malformed(_))));
}

#[test]
fn results_are_found_by_what_they_ran_from_and_not_by_name() {
    let mut evidence = Evidence::default();
    evidence.add(Record::Result(result(20)));
    evidence.add(Record::Result(ResultRecord { test: Name::parse("other").unwrap(), ..result(10) }));
    let found = evidence.find_results(&run_inputs());
    assert_eq!(found.iter().map(|r| r.recorded).collect::<Vec<_>>(), [10, 20]);
    let changes: [fn(&mut RunInputs); 10] = [
        |i| i.build.push('x'),
        |i| i.binary.push('x'),
        |i| drop(i.libraries.insert("libm.so".into(), "m".into())),
        |i| drop(i.files.insert("data".into(), "d".into())),
        |i| i.command.push("--full".into()),
        |i| i.device = Some("H200".into()),
        |i| i.driver = Some("580".into()),
        |i| i.compiler.push('x'),
        |i| i.host.push('x'),
        |i| i.timeout_ms += 1,
    ];
    for (index, change) in changes.into_iter().enumerate() {
        let mut inputs = run_inputs();
        change(&mut inputs);
        assert!(evidence.find_results(&inputs).is_empty(), "change {index}");
    }
}

#[test]
fn the_newest_build_that_holds_is_taken() {
    let listing = tree(&FILES);
    let mut evidence = Evidence::default();
    for recorded in [5, 9, 7] {
        evidence.add(Record::Build(BuildRecord { recorded, ..build(&listing, &["a.cu"], built()) }));
    }
    let (project, options) = (map(&[("tests/t.cpp", "1")]), map(&[("CMAKE_BUILD_TYPE", "Release")]));
    let candidate = Candidate {
        entry: &|path| listing.get(path).copied(),
        paths: &paths_digest(listing.keys()),
        whole: &whole(&listing),
        project: &project,
        options: &options,
        toolchain: "g++ 12",
        is_same_machine: &|_| true,
    };
    assert_eq!(evidence.find_build(&candidate).unwrap().recorded, 9);
    assert!(evidence.find_build(&Candidate { toolchain: "clang", ..candidate }).is_none());
}

#[test]
fn what_was_read_differs_by_content_and_not_by_what_nobody_reads() {
    let one = build(&tree(&FILES), &["a.cu", "a.h"], built()).inputs;
    let unread = tree(&[FILES[0], FILES[1], ("unread.cu", "other"), ("more.cu", "")]);
    let same = build(&unread, &["a.cu", "a.h"], built()).inputs;
    let comment = build(&tree(&[("a.cu", "a // x"), FILES[1], FILES[2]]), &["a.cu", "a.h"], built()).inputs;
    let run = run_inputs();
    assert_eq!(what_was_read(&one, Some(&run)), what_was_read(&same, Some(&run)));
    assert_ne!(what_was_read(&one, Some(&run)), what_was_read(&comment, Some(&run)));
    let data = RunInputs { files: map(&[("tree: weights", "w")]), ..run.clone() };
    assert_ne!(what_was_read(&one, Some(&run)), what_was_read(&one, Some(&data)));
    assert_ne!(one.key(), same.key());
}

#[test]
fn a_device_is_named_in_full_by_its_name_or_by_its_capability() {
    let named = |device: &str| Machine { device: Some(device.into()), ..machine() }.device_names();
    assert_eq!(named("NVIDIA H200 (sm_90)"), ["NVIDIA H200 (sm_90)", "NVIDIA H200", "sm_90"]);
    assert_eq!(named("NVIDIA H200"), ["NVIDIA H200"]);
    assert!(machine().device_names().is_empty());
}
