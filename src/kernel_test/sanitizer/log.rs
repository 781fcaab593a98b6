//! The log of AddressSanitizer and UndefinedBehaviorSanitizer, as GCC and Clang write it.
//!
//! A finding of the first begins with `ERROR: AddressSanitizer: KIND on address A`, then says how it was touched,
//! then has a stack; one of the second is `FILE:LINE:COLUMN: runtime error: WHAT`. Frames of the tool's own
//! functions (its `memcpy`, its `malloc`) are passed over: the first frame with a source file of somebody else is
//! the place.

use std::path::PathBuf;

use super::{Finding, Report};

/// Reads the log of one run; of several processes one after the other.
///
/// # Errors
/// If it says that the tool failed, and reports nothing.
pub fn parse(log: &str) -> Result<Report, String> {
    let mut report = Report::default();
    let lines: Vec<&str> = log.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let rest = &lines[index + 1..];
        if let Some(finding) = error(line, rest).or_else(|| runtime_error(line, rest)) {
            report.add(finding);
        }
    }
    if report.findings.is_empty()
        && let Some(line) = lines.iter().find(|line| TROUBLE.iter().any(|sign| line.contains(sign)))
    {
        return Err(without_process(line).to_owned());
    }
    Ok(report)
}

/// What a tool writes that cannot do its work here.
const TROUBLE: [&str; 5] = [
    "runtime does not come first",
    "Shadow memory range interleaves",
    "failed to allocate",
    "incompatible ASan runtime",
    "ReserveShadowMemoryRange failed",
];

/// `==4711==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000018 at pc ...`.
fn error(line: &str, rest: &[&str]) -> Option<Finding> {
    let (_, error) = line.split_once("==ERROR: ")?;
    let (_, text) = error.split_once("Sanitizer: ")?;
    let kind = text.split(" on ").next().unwrap_or(text).split(" (").next().unwrap_or(text);
    let kind = kind.trim_start_matches("attempting ").trim_end_matches(':').to_owned();
    let of_report = || rest.iter().take_while(|line| !line.contains("==ERROR: "));
    let access = of_report().take(3).find_map(|line| {
        let (access, more) = line.trim().split_once(" of size ")?;
        let size = more.split_whitespace().next()?;
        (["READ", "WRITE"].contains(&access)).then(|| format!("{} of {size} bytes", access.to_lowercase()))
    });
    let what = match access {
        Some(access) => format!("{kind}, {access}"),
        None => kind.clone(),
    };
    let (function, place) = first_frame(&of_report().copied().collect::<Vec<_>>());
    let address = text.split_whitespace().find(|word| word.starts_with("0x"));
    let address = address.map(|word| word.trim_end_matches([':', ',', ')']).to_owned());
    Some(Finding { kind, what, function, place, address, times: 1 })
}

/// `src/sum.cpp:12:20: runtime error: signed integer overflow: ...`.
fn runtime_error(line: &str, rest: &[&str]) -> Option<Finding> {
    let (place, what) = line.split_once(": runtime error: ")?;
    let frames: Vec<&str> = rest.iter().copied().take_while(|line| line.trim().starts_with('#')).collect();
    let (function, of_frame) = first_frame(&frames);
    let address = what.split_whitespace().find(|word| word.starts_with("0x"));
    Some(Finding {
        kind: what.split(':').next().unwrap_or(what).to_owned(),
        what: what.to_owned(),
        function,
        place: place_of(place).or(of_frame),
        address: address.map(|word| word.trim_end_matches([':', ',']).to_owned()),
        times: 1,
    })
}

/// The function and the place of the first frame that is not the tool's own; of the first stack only.
fn first_frame(lines: &[&str]) -> (Option<String>, Option<(PathBuf, u32)>) {
    let stack = lines.iter().skip_while(|line| !line.trim().starts_with('#'));
    for line in stack.take_while(|line| line.trim().starts_with('#')) {
        let Some((_, frame)) = line.split_once(" in ") else { continue };
        let frame = frame.trim();
        // Functions have blanks in their names; a path begins with a slash, or is the last word.
        let (function, place) = match frame.find(" /") {
            Some(at) => (&frame[..at], &frame[at + 1..]),
            None => frame.rsplit_once(' ').unwrap_or((frame, "")),
        };
        let is_tools = ["/libsanitizer/", "/compiler-rt/", "sanitizer_common"];
        if is_tools.iter().any(|part| place.contains(part)) {
            continue;
        }
        if let Some(place) = place_of(place) {
            return (Some(function.to_owned()), Some(place));
        }
    }
    (None, None)
}

/// `FILE:LINE` or `FILE:LINE:COLUMN`.
fn place_of(text: &str) -> Option<(PathBuf, u32)> {
    let (before, last) = text.rsplit_once(':')?;
    let last: u32 = last.parse().ok()?;
    if let Some((file, line)) = before.rsplit_once(':')
        && let Ok(line) = line.parse()
    {
        return Some((file.into(), line));
    }
    Some((before.into(), last))
}

fn without_process(line: &str) -> &str {
    line.trim()
        .trim_start_matches('=')
        .trim_start_matches(|c: char| c.is_ascii_digit())
        .trim_start_matches('=')
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVERRUN: &str = "=================================================================
==4711==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000018 at pc 0x55c2662441ce bp 0x7ffe1 sp 0x7ffe0
WRITE of size 4 at 0x602000000018 thread T0
    #0 0x7f59e12b9628 in __interceptor_memcpy ../../../../src/libsanitizer/sanitizer_common/sanitizer_common_interceptors.inc:827
    #1 0x55c2662441cd in sum(float const*, unsigned long) /lab/a tree/src/sum.cpp:12
    #2 0x7f59e0c45249 in __libc_start_call_main ../sysdeps/nptl/libc_start_call_main.h:58

0x602000000018 is located 0 bytes to the right of 8-byte region [0x602000000010,0x602000000018)
allocated by thread T0 here:
    #0 0x7f59e12b9628 in operator new[](unsigned long) ../../../../src/libsanitizer/asan/asan_new_delete.cpp:98
    #1 0x55c26624418a in main /lab/test.cpp:40

SUMMARY: AddressSanitizer: heap-buffer-overflow /lab/a tree/src/sum.cpp:12 in sum(float const*, unsigned long)
";

    #[test]
    fn an_overrun_has_its_function_its_line_and_its_address() {
        let report = parse(OVERRUN).unwrap();
        assert_eq!(
            report.text().unwrap(),
            "heap-buffer-overflow, write of 4 bytes in sum(float const*, unsigned long) at /lab/a tree/src/sum.cpp:12, \
             address 0x602000000018"
        );
    }

    #[test]
    fn columns_of_clang_are_no_lines() {
        let log = OVERRUN.replace("sum.cpp:12\n", "sum.cpp:12:33\n");
        assert_eq!(parse(&log).unwrap().findings[0].place, Some(("/lab/a tree/src/sum.cpp".into(), 12)));
    }

    #[test]
    fn other_kinds_say_less() {
        let log = "==1==ERROR: AddressSanitizer: attempting double-free on 0x602000000010 in thread T0:\n    \
                   #0 0x1 in operator delete(void*) ../../../../src/libsanitizer/asan/asan_new_delete.cpp:152\n    \
                   #1 0x2 in main /t/a.cpp:5:3\n";
        assert_eq!(
            parse(log).unwrap().text().unwrap(),
            "double-free in main at /t/a.cpp:5, address 0x602000000010"
        );
        let log = "AddressSanitizer:DEADLYSIGNAL\n==1==ERROR: AddressSanitizer: SEGV on unknown address \
                   0x000000000000 (pc 0x1 bp 0x2 sp 0x3 T0)\n==1==The signal is caused by a READ memory access.\n";
        assert_eq!(parse(log).unwrap().text().unwrap(), "SEGV, address 0x000000000000");
    }

    #[test]
    fn an_overflow_has_its_line_and_with_a_stack_its_function() {
        let line = "src/sum.cpp:12:20: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented in \
                    type 'int'";
        assert_eq!(
            parse(line).unwrap().text().unwrap(),
            "signed integer overflow: 2147483647 + 1 cannot be represented in type 'int' at src/sum.cpp:12"
        );
        let log = format!(
            "{line}\n    #0 0x1 in add(int, int) /lab/src/sum.cpp:12\n    #1 0x2 in main /lab/t.cpp:9\n\n"
        );
        assert_eq!(parse(&log).unwrap().findings[0].function.as_deref(), Some("add(int, int)"));
    }

    #[test]
    fn a_log_without_findings_is_clean_unless_the_tool_failed() {
        assert_eq!(parse(""), Ok(Report::default()));
        assert_eq!(parse("==1==WARNING: something is slow\n"), Ok(Report::default()));
        let failed =
            "==12==ASan runtime does not come first in initial library list; you should either link it\n";
        assert!(parse(failed).unwrap_err().starts_with("ASan runtime does not come first"));
    }
}
