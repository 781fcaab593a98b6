use super::*;

const OK: End = End::Exit { status: 0 };
const SEGV: End = End::Signal { signal: 11 };

fn read(text: &str, end: End) -> Run {
    parse(1, text.as_bytes(), Source::ResultsFile, Process { end, millis: 40 })
}

fn outcome<'a>(run: &'a Run, case: &str) -> &'a CellOutcome {
    let cell = run.cells.iter().find(|cell| cell.case.as_str() == case);
    &cell.unwrap_or_else(|| panic!("no case {case} in {run:?}")).outcome
}

fn fail(how: FailHow) -> CellOutcome {
    CellOutcome::Fail { how }
}

fn unknown(why: Unknown) -> CellOutcome {
    CellOutcome::Unknown { why }
}

const PASS: CellOutcome = CellOutcome::Pass;

#[test]
fn figures_are_judged_by_their_bounds() {
    let run = read(
        r#"
{"case": {"axis": 512}, "metric": "rel_err", "value": 0.94, "max": 0.01}
{"case": {"axis": 256}, "metric": "rel_err", "value": 1e-7, "max": 0.01}
{"case": {"axis": 128}, "metric": "psnr", "value": 20, "min": 30, "needs": "compile"}
{"case": {"axis": 1}, "metric": "ms", "value": 1.5, "better": "lower"}
"#,
        OK,
    );
    assert_eq!(outcome(&run, r#"{"axis":512}"#), &fail(FailHow::WrongFigure));
    assert_eq!(outcome(&run, r#"{"axis":256}"#), &PASS);
    assert_eq!(outcome(&run, r#"{"axis":128}"#), &fail(FailHow::WrongFigure));
    assert_eq!(outcome(&run, r#"{"axis":1}"#), &CellOutcome::Measured);
    assert_eq!(outcome(&run, "run"), &PASS);
    assert!(run.cells[2].compile_only && !run.cells[1].compile_only);
    assert_eq!(run.cells[0].figure.as_ref().unwrap().value, Some(0.94));
    assert_eq!(run.cells[0].millis, 40);
    assert_eq!((run.problems.len(), run.notes.len()), (0, 0));
}

#[test]
fn what_is_no_finite_number_never_passes() {
    for value in [
        "nan",
        "-nan",
        "NaN",
        "nan(ind)",
        "inf",
        "-inf",
        "Infinity",
        "-Infinity",
        "null",
        "\"nan\"",
        "\"-Inf\"",
    ] {
        for bound in [r#""max": 1e300"#, r#""min": -1e300"#, r#""max": 1, "better": "lower""#] {
            let run = read(&format!("{{\"case\": {{\"a\": \"x nan\"}}, \"value\": {value}, {bound}}}\n"), OK);
            assert_eq!(outcome(&run, r#"{"a":"x nan"}"#), &fail(FailHow::NotFinite), "{value} {bound}");
            assert_eq!(run.cells[0].figure.as_ref().unwrap().value, None);
        }
    }
    let run = read(r#"{"case": {"a": nan}, "value": 1, "max": 2}"#, OK);
    assert_eq!(outcome(&run, r#"{"a":"nan"}"#), &PASS);
}

#[test]
fn a_line_of_the_protocol_that_cannot_be_read_is_a_problem_that_names_the_line() {
    for (bad, says) in [
        (r#"{"case": {"a": 2}, "value": 1, "max": 2"#, "not JSON"),
        (r#"{"case": {"a": 2}, "value": 1, "value": 0, "max": 2}"#, "twice"),
        (r#"{"case": {"a": 2, "a": 3}, "value": 1, "max": 2}"#, "twice"),
        (r#"{"case": "a", "value": 1, "max": 2}"#, "must be an object"),
        (r#"{"case": {}, "value": 1, "max": 2}"#, "must be an object"),
        (r#"{"case": {"a": 2}, "value": 1}"#, "nothing says when it passes"),
        (r#"{"case": {"a": 2}, "value": 1, "maxx": 2}"#, "nothing says when it passes"),
        (r#"{"case": {"a": 2}, "max": 2}"#, "no `value`"),
        (r#"{"case": {"a": 2}}"#, "no `value`"),
        (r#"{"case": {"a": 2}, "value": "0.1", "max": 2}"#, "must be a number"),
        (r#"{"case": {"a": 2}, "value": 1, "max": inf}"#, "must be a finite number"),
        (r#"{"case": {"a": 2}, "value": 1, "max": null}"#, "must be a finite number"),
        (r#"{"case": {"a": 2}, "value": 1, "better": "more"}"#, "\"lower\" or \"higher\""),
        (r#"{"case": {"a": 2}, "status": "ok"}"#, "`status` is \"ok\""),
        (r#"{"case": {"a": 2}, "status": "skip", "value": 1, "max": 2}"#, "both a figure and"),
        (r#"{"case": {"a": 2}, "status": "start", "needs": "luck"}"#, "\"compile\" or \"device\""),
        (r#"[{"case": {"a": 2}}]"#, "not a JSON object"),
        (r#"done"#, "not a JSON object"),
        (r#"{"axis": 2}"#, "without `case`"),
    ] {
        let run = read(&format!("{{\"case\":{{\"a\":1}},\"value\":0,\"max\":1}}\n{bad}\n"), OK);
        assert_eq!(run.problems.len(), 1, "{bad}");
        assert_eq!(run.problems[0].line, 2, "{bad}");
        assert!(run.problems[0].text.contains(says), "{bad}: {}", run.problems[0].text);
        let CellOutcome::Unknown { why: Unknown::Protocol { text } } = outcome(&run, "run") else {
            panic!("{bad}: {run:?}");
        };
        assert!(text.starts_with("line 2: "), "{text}");
    }
}

#[test]
fn standard_output_may_have_other_lines_but_no_result_is_lost_in_them() {
    let process = || Process { end: OK, millis: 1 };
    let good =
        b"MLX 0.31\n[ RUN ]\n{\"level\": \"info\"}\n\xff\xfe\n{\"case\":{\"a\":1},\"value\":0,\"max\":1}\r\n";
    let run = parse(1, good, Source::Stdout, process());
    assert_eq!((run.cells.len(), outcome(&run, "run")), (2, &PASS));
    for bad in [
        "loading... {\"case\":{\"a\":1},\"value\":9,\"max\":1}",
        "{\"case\":{\"a\":1},\"value\":9,",
        "{\"value\":9,\"case\":{\"a\":1}",
    ] {
        let run = parse(1, bad.as_bytes(), Source::Stdout, process());
        assert!(
            matches!(outcome(&run, "run"), CellOutcome::Unknown { why: Unknown::Protocol { .. } }),
            "{bad}"
        );
    }
}

#[test]
fn a_case_that_was_announced_and_has_no_result_is_judged_by_how_the_process_ended() {
    let text = "{\"case\":{\"a\":1},\"status\":\"start\"}\n{\"case\":{\"a\":1},\"value\":0,\"max\":1}\n\
                {\"case\":{\"a\":2},\"status\":\"start\"}\n";
    for (end, expected) in [
        (SEGV, fail(FailHow::Crash { signal: 11 })),
        (End::Exit { status: 134 }, fail(FailHow::Crash { signal: 6 })),
        (End::Exit { status: 1 }, fail(FailHow::Died { status: 1 })),
        (OK, unknown(Unknown::NoResult)),
        (End::TimedOut, unknown(Unknown::Timeout)),
    ] {
        let run = read(text, end.clone());
        assert_eq!(outcome(&run, r#"{"a":1}"#), &PASS);
        assert_eq!(outcome(&run, r#"{"a":2}"#), &expected, "{end:?}");
        // What would have come after the case was not run.
        assert_eq!(matches!(outcome(&run, "run"), CellOutcome::Unrun { .. }), end != OK, "{end:?}");
    }
    let run = read(text, End::Signal { signal: 9 });
    assert!(matches!(outcome(&run, r#"{"a":2}"#), CellOutcome::Unknown { why: Unknown::Killed { .. } }));
    assert!(matches!(outcome(&run, "run"), CellOutcome::Unknown { why: Unknown::Killed { .. } }));
}

#[test]
fn of_several_announced_cases_none_is_blamed_alone() {
    let text = "{\"case\":{\"a\":1},\"status\":\"start\"}\n{\"case\":{\"a\":2},\"status\":\"start\"}\n";
    for end in [SEGV, End::Exit { status: 1 }, End::TimedOut] {
        let run = read(text, end);
        for case in [r#"{"a":1}"#, r#"{"a":2}"#] {
            assert!(matches!(
                outcome(&run, case),
                CellOutcome::Unknown { why: Unknown::OneOfSeveral { .. } }
            ));
        }
    }
}

#[test]
fn the_exit_status_does_not_count_against_what_was_reported() {
    let text = "{\"case\":{\"a\":1},\"status\":\"start\"}\n{\"case\":{\"a\":1},\"value\":0,\"max\":1}\n";
    for end in [End::Exit { status: 1 }, End::Exit { status: 77 }, SEGV, End::TimedOut] {
        let run = read(text, end.clone());
        assert_eq!((outcome(&run, r#"{"a":1}"#), outcome(&run, "run")), (&PASS, &PASS), "{end:?}");
        assert_eq!(run.notes.len(), 1);
    }
    // A failing case stays one whatever the status says.
    let run = read("{\"case\":{\"a\":1},\"value\":5,\"max\":1}\n", OK);
    assert_eq!(outcome(&run, r#"{"a":1}"#), &fail(FailHow::WrongFigure));
}

#[test]
fn a_crash_of_a_test_that_does_not_announce_leaves_the_run_unknown() {
    let text = "{\"case\":{\"a\":1},\"value\":0,\"max\":1}\n";
    for end in [SEGV, End::TimedOut, End::Signal { signal: 9 }] {
        let run = read(text, end);
        assert_eq!(outcome(&run, r#"{"a":1}"#), &PASS);
        assert!(matches!(outcome(&run, "run"), CellOutcome::Unknown { .. }), "{run:?}");
    }
}

#[test]
fn nothing_reported_is_never_a_pass() {
    assert_eq!(outcome(&read("", OK), "run"), &unknown(Unknown::NothingReported));
    assert_eq!(outcome(&read("\n\n", End::Exit { status: 1 }), "run"), &unknown(Unknown::NothingReported));
    assert_eq!(outcome(&read("", SEGV), "run"), &fail(FailHow::Crash { signal: 11 }));
    assert_eq!(outcome(&read("", End::TimedOut), "run"), &unknown(Unknown::Timeout));
    for end in [
        End::Signal { signal: 9 },
        End::Exit { status: 127 },
        End::Exit { status: 137 },
        End::NotStarted { why: "not there".into() },
    ] {
        assert!(matches!(outcome(&read("", end), "run"), CellOutcome::Unknown { .. }));
    }
    assert!(matches!(outcome(&read("", End::Exit { status: 77 }), "run"), CellOutcome::Skip { .. }));
}

#[test]
fn the_last_line_of_a_process_that_died_may_be_cut() {
    let text = "{\"case\":{\"a\":1},\"status\":\"start\"}\n{\"case\":{\"a\":1},\"val";
    let run = read(text, SEGV);
    assert_eq!(outcome(&run, r#"{"a":1}"#), &fail(FailHow::Crash { signal: 11 }));
    assert_eq!((run.problems.len(), run.notes.len()), (0, 1));
    assert!(matches!(
        outcome(&read(text, OK), "run"),
        CellOutcome::Unknown { why: Unknown::Protocol { .. } }
    ));
}

#[test]
fn two_results_of_one_case_agree_or_contradict() {
    let line = |value: f64| format!("{{\"case\":{{\"a\":1}},\"value\":{value},\"max\":1}}\n");
    let twice = |a, b| outcome(&read(&(line(a) + &line(b)), OK), r#"{"a":1}"#).clone();
    assert_eq!(twice(0.0, 0.5), PASS);
    assert_eq!(twice(3.0, 2.0), fail(FailHow::WrongFigure));
    assert_eq!(twice(0.0, 2.0), unknown(Unknown::Contradictory));
    assert_eq!(read(&(line(0.0) + &line(0.5)), OK).notes.len(), 1);
    // A result, then the case again and no result.
    let again = line(0.0) + "{\"case\":{\"a\":1},\"status\":\"start\"}\n";
    assert_eq!(outcome(&read(&again, SEGV), r#"{"a":1}"#), &unknown(Unknown::Contradictory));
}

#[test]
fn one_result_for_each_fill_of_memory() {
    let line = |fill: f64, value: f64| {
        format!("{{\"case\":{{\"a\":1}},\"fill\":{fill},\"value\":{value},\"max\":1}}\n")
    };
    let start = "{\"case\":{\"a\":1},\"status\":\"start\"}\n".to_owned();
    let run = read(&(start.clone() + &line(0.0, 0.1) + &line(100.0, 57.0)), OK);
    let CellOutcome::Fail { how: FailHow::HistoryDependent { text } } = outcome(&run, r#"{"a":1}"#) else {
        panic!("{run:?}");
    };
    assert_eq!(text, "passes with 0, fails with 100");
    assert_eq!(run.cells[0].figure.as_ref().unwrap().value, Some(57.0));
    let run = read(&(start.clone() + &line(0.0, 0.1) + &line(100.0, 0.2)), OK);
    assert_eq!((outcome(&run, r#"{"a":1}"#), outcome(&run, "run")), (&PASS, &PASS));
    let run = read(&(start.clone() + &line(0.0, 4.0) + &line(100.0, 5.0)), OK);
    assert_eq!(outcome(&run, r#"{"a":1}"#), &fail(FailHow::WrongFigure));
    // The same fill twice with two results is no dependence on the fill.
    let run = read(&(start.clone() + &line(1.0, 0.0) + &line(1.0, 5.0)), OK);
    assert_eq!(outcome(&run, r#"{"a":1}"#), &unknown(Unknown::Contradictory));
    // A crash between two fills is the case's, a crash after the next case has started is not.
    let run = read(&(start.clone() + &line(0.0, 0.1)), SEGV);
    assert_eq!(outcome(&run, r#"{"a":1}"#), &fail(FailHow::Crash { signal: 11 }));
    let next = start + &line(0.0, 0.1) + "{\"case\":{\"a\":2},\"status\":\"start\"}\n";
    let run = read(&next, SEGV);
    assert_eq!(outcome(&run, r#"{"a":1}"#), &PASS);
    assert_eq!(outcome(&run, r#"{"a":2}"#), &fail(FailHow::Crash { signal: 11 }));
}

#[test]
fn skips_and_errors_say_why() {
    let run = read(
        "{\"case\":{\"a\":1},\"status\":\"skip\",\"why\":\"no bf16\"}\n\
         {\"case\":{\"a\":2},\"status\":\"error\",\"why\":\"unsupported head_dim\"}\n",
        OK,
    );
    assert_eq!(outcome(&run, r#"{"a":1}"#), &CellOutcome::Skip { why: "no bf16".into() });
    assert_eq!(outcome(&run, r#"{"a":2}"#), &fail(FailHow::Error { text: "unsupported head_dim".into() }));
}

#[test]
fn a_result_behind_other_text_is_a_problem_whatever_its_first_key() {
    for line in
        [r#"running {"metric": "e", "case": {"n": 1}, "value": 1, "max": 2}"#, r#"x {"case": {"n": 1}}"#]
    {
        let run = parse(1, line.as_bytes(), Source::Stdout, Process { end: OK, millis: 1 });
        assert_eq!(run.problems.len(), 1, "{line}");
    }
    let other = br#"compiled in {} "case" by case"#;
    assert!(parse(1, other, Source::Stdout, Process { end: OK, millis: 1 }).problems.is_empty());
}

#[test]
fn what_stands_in_the_file_and_on_standard_output_counts_once_each() {
    let file = br#"{"case": {"n": 1}, "metric": "e", "value": 0, "max": 1}
"#;
    let stdout = br#"{"case": {"n": 1}, "metric": "e", "value": 0, "max": 1}
{"case": {"n": 2}, "metric": "e", "value": 2, "max": 1}
hello
"#;
    let run = parse_both(1, file, stdout, Process { end: OK, millis: 1 });
    assert_eq!(outcome(&run, r#"{"n":1}"#), &PASS);
    assert_eq!(outcome(&run, r#"{"n":2}"#), &fail(FailHow::WrongFigure));
    assert!(run.notes.is_empty(), "{:?}", run.notes);
    // Two results that disagree are none.
    let other = br#"{"case": {"n": 1}, "metric": "e", "value": 3, "max": 1}"#;
    let run = parse_both(1, file, other, Process { end: OK, millis: 1 });
    assert!(matches!(outcome(&run, r#"{"n":1}"#), CellOutcome::Unknown { .. }), "{run:?}");
}
