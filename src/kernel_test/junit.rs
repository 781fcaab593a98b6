//! JUnit XML, as GoogleTest, doctest, pytest and CTest write it.
//!
//! Decides what each `testcase` came to. Never resolves entities of a DTD (a document with one is refused), and
//! never takes a file that is cut short for a complete one.

use roxmltree::{Document, Node};

use super::cell::{CaseKey, Cell, CellOutcome, FailHow, Unknown};
use super::run::{Problem, Process, Run, with_results, without_results};

/// Reads the XML that one process of a test wrote. Empty: it wrote none.
#[must_use]
pub fn parse(seed: u64, xml: &[u8], process: Process) -> Run {
    let xml = xml.strip_prefix(b"\xef\xbb\xbf").unwrap_or(xml);
    let Process { ref end, millis } = process;
    let mut cells: Vec<Cell> = Vec::new();
    let mut problems = Vec::new();
    let mut notes = Vec::new();
    if !xml.trim_ascii().is_empty() {
        match read(xml) {
            Ok(found) => {
                for (case, outcome) in found {
                    merge(&mut cells, &mut notes, Cell::new(case, outcome, millis));
                }
            }
            Err(problem) => problems.push(problem),
        }
    }
    let run = if cells.is_empty() && problems.is_empty() {
        without_results(end)
    } else {
        // The file is written at the end, so a complete one stands for a complete run.
        with_results(end, true, &problems)
    };
    cells.push(Cell::new(CaseKey::run(), run, millis));
    Run { seed, processes: vec![process], cells, problems, notes }
}

fn merge(cells: &mut Vec<Cell>, notes: &mut Vec<String>, cell: Cell) {
    match cells.iter_mut().find(|old| old.case == cell.case) {
        None => cells.push(cell),
        Some(old) => {
            notes.push(format!("{} has several results in one run", cell.case));
            if old.outcome != cell.outcome {
                old.outcome = CellOutcome::Unknown { why: Unknown::Contradictory };
            }
        }
    }
}

fn read(xml: &[u8]) -> Result<Vec<(CaseKey, CellOutcome)>, Problem> {
    let text = std::str::from_utf8(xml).map_err(|error| Problem {
        line: 1 + xml[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count(),
        text: "not UTF-8".to_owned(),
    })?;
    let document = Document::parse(text).map_err(|error| Problem {
        line: usize::try_from(error.pos().row).unwrap_or(0),
        text: format!("not the XML of a complete JUnit report: {error}"),
    })?;
    let root = document.root_element();
    if !["testsuites", "testsuite"].contains(&root.tag_name().name()) {
        let line = 1;
        let text = format!("the root is <{}>, expected <testsuites> or <testsuite>", root.tag_name().name());
        return Err(Problem { line, text });
    }
    for suite in
        root.descendants().filter(|node| node.has_tag_name("testsuite") || node.has_tag_name("testsuites"))
    {
        if let Some(text) = contradiction(suite) {
            let line = usize::try_from(document.text_pos_at(suite.range().start).row).unwrap_or(0);
            return Err(Problem { line, text });
        }
    }
    Ok(root.descendants().filter(|node| node.has_tag_name("testcase")).map(read_case).collect())
}

/// What a suite says of itself and none of its cases: a set-up that failed, cases that are missing.
fn contradiction(suite: Node<'_, '_>) -> Option<String> {
    let name = suite.attribute("name").unwrap_or("without a name");
    let own = |kind: &str| suite.children().any(|child| child.has_tag_name(kind));
    if own("error") || own("failure") {
        return Some(format!("the suite `{name}` failed outside of its cases"));
    }
    let count =
        |key: &str| suite.attribute(key).and_then(|count| count.trim().parse::<usize>().ok()).unwrap_or(0);
    let said = count("failures") + count("errors");
    let cases = suite.descendants().filter(|node| node.has_tag_name("testcase"));
    let shown: usize = cases
        .map(|case| {
            let marks = |child: &Node<'_, '_>| child.has_tag_name("failure") || child.has_tag_name("error");
            let marks = case.children().filter(marks).count();
            let by_status = matches!(case.attribute("status"), Some("fail" | "failed" | "error"));
            marks.max(usize::from(by_status))
        })
        .sum();
    (said > shown)
        .then(|| format!("the suite `{name}` counts {said} failures and errors, and its cases show {shown}"))
}

fn read_case(node: Node<'_, '_>) -> (CaseKey, CellOutcome) {
    let attribute = |name| node.attribute(name).unwrap_or_default();
    let case = CaseKey::from_junit(attribute("classname"), attribute("name"));
    let child = |name: &str| node.children().find(|child| child.has_tag_name(name));
    let outcome = if let Some(error) = child("error") {
        CellOutcome::Fail { how: FailHow::Error { text: text_of(error) } }
    } else if let Some(failure) = child("failure") {
        read_failure(failure, attribute("status"))
    } else if let Some(skipped) = child("skipped") {
        CellOutcome::Skip { why: text_of(skipped) }
    } else {
        match (attribute("status"), attribute("result")) {
            // GoogleTest's disabled tests, CTest's disabled and not run ones.
            ("notrun" | "disabled", _) | (_, "skipped" | "suppressed") => {
                CellOutcome::Skip { why: "not run".to_owned() }
            }
            ("fail" | "failed" | "error", _) => CellOutcome::Fail {
                how: FailHow::Error { text: format!("status {:?} and no message", attribute("status")) },
            },
            _ => CellOutcome::Pass,
        }
    };
    (case, outcome)
}

fn read_failure(failure: Node<'_, '_>, status: &str) -> CellOutcome {
    let text = text_of(failure);
    let fail = |how| CellOutcome::Fail { how };
    // CTest runs a program for each case and says how it ended.
    if status == "fail" {
        return match text.to_ascii_lowercase().as_str() {
            "timeout" => CellOutcome::Unknown { why: Unknown::Timeout },
            "segfault" => fail(FailHow::Crash { signal: 11 }),
            "illegal" => fail(FailHow::Crash { signal: 4 }),
            "numerical" => fail(FailHow::Crash { signal: 8 }),
            "sigtrap" => fail(FailHow::Crash { signal: 5 }),
            "subprocess aborted" | "child aborted" => fail(FailHow::Crash { signal: 6 }),
            _ => fail(FailHow::Error { text }),
        };
    }
    if is_exception(message_of(failure)) || failure.attribute("type").is_some_and(is_exception) {
        fail(FailHow::Error { text })
    } else {
        fail(FailHow::Assertion { text })
    }
}

/// Whether a failure's message is that of an exception, which the caller would have noticed, and not that of
/// a check: `RuntimeError: ...` of pytest, `C++ exception with description ...` of GoogleTest.
fn is_exception(message: &str) -> bool {
    if message.contains("C++ exception") {
        return true;
    }
    let word = message.split(|c: char| c == ':' || c.is_whitespace()).next().unwrap_or_default();
    let last = word.rsplit('.').next().unwrap_or_default();
    (last.ends_with("Error") || last.ends_with("Exception")) && last != "AssertionError"
}

/// The first line of the message, or else of the text; where GoogleTest puts only a place there, the next
/// one, too.
fn text_of(node: Node<'_, '_>) -> String {
    let mut lines = message_of(node).lines().map(str::trim).filter(|line| !line.is_empty());
    let Some(first) = lines.next() else { return "no message".to_owned() };
    let is_place = first == "unknown file"
        || first.rsplit_once(':').is_some_and(|(_, line)| line.bytes().all(|b| b.is_ascii_digit()));
    match lines.next() {
        Some(second) if is_place => format!("{first}: {second}"),
        _ => first.to_owned(),
    }
}

fn message_of<'a>(node: Node<'a, '_>) -> &'a str {
    let message = node.attribute("message").map(str::trim).filter(|message| !message.is_empty());
    message.or(node.text()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_test::End;

    const OK: End = End::Exit { status: 0 };

    fn read(xml: &str, end: End) -> Run {
        parse(1, xml.as_bytes(), Process { end, millis: 9 })
    }

    fn outcomes(run: &Run) -> Vec<(&str, &CellOutcome)> {
        run.cells.iter().map(|cell| (cell.case.as_str(), &cell.outcome)).collect()
    }

    fn assertion(text: &str) -> CellOutcome {
        CellOutcome::Fail { how: FailHow::Assertion { text: text.into() } }
    }

    fn error(text: &str) -> CellOutcome {
        CellOutcome::Fail { how: FailHow::Error { text: text.into() } }
    }

    fn skip(why: &str) -> CellOutcome {
        CellOutcome::Skip { why: why.into() }
    }

    const PASS: CellOutcome = CellOutcome::Pass;

    #[test]
    fn google_test() {
        let run = read(
            r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="5" failures="2" disabled="1" errors="0" time="0.01" name="AllTests">
  <testsuite name="Sweep/Norm" tests="5" failures="2">
    <testcase name="Axis/0" value_param="256" status="run" result="completed" classname="Sweep/Norm" />
    <testcase name="Axis/1" status="run" result="completed" classname="Sweep/Norm">
      <failure message="norm_test.cc:20&#x0A;The difference between a and b is 0.9" type=""><![CDATA[more]]></failure>
    </testcase>
    <testcase name="Throws" status="run" result="completed" classname="Norm">
      <failure message="unknown file&#x0A;C++ exception with description &quot;x&quot; thrown" type=""></failure>
    </testcase>
    <testcase name="DISABLED_Old" status="notrun" result="suppressed" classname="Norm" />
    <testcase name="Bf16" status="run" result="skipped" classname="Norm">
      <skipped message="norm_test.cc:9&#x0A;no bf16"><![CDATA[x]]></skipped>
    </testcase>
  </testsuite>
</testsuites>"#,
            End::Exit { status: 1 },
        );
        let throws = error("unknown file: C++ exception with description \"x\" thrown");
        assert_eq!(
            outcomes(&run),
            [
                ("Sweep/Norm.Axis/0", &PASS),
                ("Sweep/Norm.Axis/1", &assertion("norm_test.cc:20: The difference between a and b is 0.9")),
                ("Norm.Throws", &throws),
                ("Norm.DISABLED_Old", &skip("not run")),
                ("Norm.Bf16", &skip("norm_test.cc:9: no bf16")),
                ("run", &PASS),
            ]
        );
    }

    #[test]
    fn pytest() {
        let run = read(
            r#"<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" errors="1" failures="2" skipped="1" tests="5">
<testcase classname="tests.test_norm" name="test_axis[256-bf16]" time="0.001" />
<testcase classname="tests.test_norm" name="test_axis[512-bf16]"><failure message="AssertionError: 0.94 &gt; 0.01&#10;assert False">tb</failure></testcase>
<testcase classname="tests.test_norm" name="test_gpu"><failure message="RuntimeError: CUDA error: an illegal memory access">tb</failure></testcase>
<testcase classname="tests.test_norm" name="test_fp8"><skipped type="pytest.skip" message="needs sm_90">x</skipped></testcase>
<testcase classname="" name="tests.test_new"><error message="collection failure">ImportError</error></testcase>
</testsuite></testsuites>"#,
            End::Exit { status: 1 },
        );
        assert_eq!(
            outcomes(&run),
            [
                ("tests.test_norm.test_axis[256-bf16]", &PASS),
                ("tests.test_norm.test_axis[512-bf16]", &assertion("AssertionError: 0.94 > 0.01")),
                ("tests.test_norm.test_gpu", &error("RuntimeError: CUDA error: an illegal memory access")),
                ("tests.test_norm.test_fp8", &skip("needs sm_90")),
                ("tests.test_new", &error("collection failure")),
                ("run", &PASS),
            ]
        );
    }

    #[test]
    fn doctest() {
        let run = read(
            r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="norm_test" errors="1" failures="1" tests="3">
    <testcase classname="norm.cpp" name="sums" status="run"/>
    <testcase classname="norm.cpp" name="norms" status="run">
      <failure message="0.94 &lt; 0.01" type="CHECK">norm.cpp(7)</failure>
    </testcase>
    <testcase classname="norm.cpp" name="throws" status="run"><error message="exception">std::bad_alloc</error></testcase>
  </testsuite>
</testsuites>"#,
            End::Exit { status: 1 },
        );
        assert_eq!(
            outcomes(&run),
            [
                ("norm.cpp.sums", &PASS),
                ("norm.cpp.norms", &assertion("0.94 < 0.01")),
                ("norm.cpp.throws", &error("exception")),
                ("run", &PASS)
            ]
        );
    }

    #[test]
    fn ctest() {
        let run = read(
            r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="Linux-c++" tests="6" failures="3" disabled="1" skipped="1" hostname="" time="1">
	<testcase name="good" classname="good" time="0.1" status="run"><system-out>ok</system-out></testcase>
	<testcase name="bad" classname="bad" time="0.1" status="fail"><failure message="Failed"/><system-out/></testcase>
	<testcase name="segv" classname="segv" status="fail"><failure message="SEGFAULT"/></testcase>
	<testcase name="slow" classname="slow" status="fail"><failure message="Timeout"/></testcase>
	<testcase name="off" classname="off" status="disabled"><skipped message="Disabled"/></testcase>
	<testcase name="none" classname="none" status="notrun"><skipped message="Unable to find executable"/></testcase>
</testsuite>"#,
            End::Exit { status: 8 },
        );
        assert_eq!(
            outcomes(&run),
            [
                ("good.good", &PASS),
                ("bad.bad", &error("Failed")),
                ("segv.segv", &CellOutcome::Fail { how: FailHow::Crash { signal: 11 } }),
                ("slow.slow", &CellOutcome::Unknown { why: Unknown::Timeout }),
                ("off.off", &skip("Disabled")),
                ("none.none", &skip("Unable to find executable")),
                ("run", &PASS),
            ]
        );
    }

    #[test]
    fn a_report_that_cannot_be_read_is_a_problem() {
        for (xml, says) in [
            ("<testsuites><testsuite><testcase name=\"a\"/>", "complete"),
            ("<!DOCTYPE x [<!ENTITY a \"b\">]><testsuites>&a;</testsuites>", "complete"),
            ("<html/>", "<html>"),
            ("ok\n", "complete"),
        ] {
            let run = read(xml, OK);
            assert_eq!(run.cells.len(), 1, "{xml}");
            assert!(run.problems[0].text.contains(says), "{xml}: {:?}", run.problems);
            assert!(matches!(run.cells[0].outcome, CellOutcome::Unknown { why: Unknown::Protocol { .. } }));
        }
        let run = parse(1, b"<testsuite>\n\xff</testsuite>", Process { end: OK, millis: 1 });
        assert_eq!(run.problems[0].line, 2);
    }

    #[test]
    fn no_report_is_judged_by_how_the_process_ended() {
        let only = |end| read("", end).cells[0].outcome.clone();
        assert_eq!(only(OK), CellOutcome::Unknown { why: Unknown::NothingReported });
        assert_eq!(only(End::Exit { status: 1 }), CellOutcome::Unknown { why: Unknown::NothingReported });
        assert_eq!(only(End::Signal { signal: 6 }), CellOutcome::Fail { how: FailHow::Crash { signal: 6 } });
        assert_eq!(only(End::TimedOut), CellOutcome::Unknown { why: Unknown::Timeout });
        let empty = read("<testsuites tests=\"0\"/>", OK);
        assert_eq!(empty.cells[0].outcome, CellOutcome::Unknown { why: Unknown::NothingReported });
    }

    #[test]
    fn two_cases_of_one_name_that_disagree_are_contradictory() {
        let two = |second: &str| {
            let xml = format!(
                "<testsuite><testcase name=\"a\"/><testcase name=\"a\">{second}</testcase></testsuite>"
            );
            let run = read(&xml, OK);
            assert_eq!(run.notes.len(), 1);
            run.cells[0].outcome.clone()
        };
        assert_eq!(two(""), PASS);
        assert_eq!(two("<failure/>"), CellOutcome::Unknown { why: Unknown::Contradictory });
    }
}
