//! What a kernel test wrote: whatever it is, it is a run that can be kept, and a run with problems is no success.
#![no_main]

use libfuzzer_sys::fuzz_target;
use overlaid::kernel_test::{CellOutcome, End, Process, Run, jsonl, junit, ranges};

fuzz_target!(|data: &[u8]| {
    let Some((&which, text)) = data.split_first() else { return };
    let end = match which & 3 {
        0 => End::Exit { status: 0 },
        1 => End::Exit { status: i32::from(which >> 3) },
        2 => End::Signal { signal: i32::from(which >> 3) },
        _ => End::TimedOut,
    };
    let process = Process { end, millis: 1 };
    let run = if which & 4 == 0 {
        let half = text.iter().position(|&byte| byte == 0xff).unwrap_or(text.len());
        jsonl::parse_both(1, &text[..half], text.get(half + 1..).unwrap_or(b""), process)
    } else {
        junit::parse(1, text, process)
    };
    check(&run);
});

fn check(run: &Run) {
    assert!(!run.cells.is_empty(), "a run without any cell says nothing");
    let is_pass = |outcome: &CellOutcome| *outcome == CellOutcome::Pass;
    if !run.problems.is_empty() {
        assert!(run.cells.iter().any(|cell| !is_pass(&cell.outcome)), "{run:?}");
    }
    for (index, cell) in run.cells.iter().enumerate() {
        assert!(!run.cells[..index].iter().any(|other| other.case == cell.case), "a case twice: {run:?}");
    }
    let cases: Vec<_> = run.cells.iter().map(|cell| (&cell.case, is_pass(&cell.outcome))).collect();
    drop(ranges::describe(&cases));
    // Evidence is text: it must come back as it was.
    let text = serde_json::to_string(run).expect("a run is text");
    let back: Run = serde_json::from_str(&text).expect("and comes back");
    assert_eq!(*run, back);
    drop(run.clone().cut_off("the disk is full"));
    drop(run.clone().then(run.clone()));
}
