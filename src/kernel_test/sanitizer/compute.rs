//! The XML that compute-sanitizer writes with `--xml --save FILE`.
//!
//! A `<ComputeSanitizerOutput>` of `<record>`s, each with `kind`, `level`, `who` (thread and block), `what`, `where`
//! (kernel, file, line) and stacks; none of them is promised by a published schema. So elements that are not known
//! are passed over, and a record counts unless it is certain that it must not: an API error (its kind says so, and it has no `where`), or
//! a hazard that racecheck itself calls harmless (level `Info`).

use std::path::PathBuf;

use roxmltree::{Document, Node};

use super::{Finding, Report};

/// Reads the XML of one run.
///
/// # Errors
/// Why it cannot be read, in words: it is empty, cut short or something else.
pub fn parse(xml: &[u8]) -> Result<Report, String> {
    if xml.trim_ascii().is_empty() {
        return Err("compute-sanitizer wrote no report".to_owned());
    }
    let text =
        std::str::from_utf8(xml).map_err(|_| "the report of compute-sanitizer is not UTF-8".to_owned())?;
    let document = Document::parse(text)
        .map_err(|error| format!("the report of compute-sanitizer is not complete: {error}"))?;
    let root = document.root_element();
    if root.tag_name().name() != "ComputeSanitizerOutput" {
        return Err(format!(
            "not a report of compute-sanitizer: it begins with <{}>",
            root.tag_name().name()
        ));
    }
    let mut report = Report::default();
    for record in root.descendants().filter(|node| node.has_tag_name("record")) {
        let level = text_of(record, "level").unwrap_or_default();
        let is_on_host = child(record, "where").is_none() && child(record, "deviceStack").is_none();
        let is_api = text_of(record, "kind").is_some_and(|kind| kind.to_lowercase().starts_with("api"));
        if is_on_host && is_api {
            report.api_errors += 1;
        } else if !level.eq_ignore_ascii_case("info") {
            report.add(finding(record));
        }
    }
    Ok(report)
}

/// What the tool itself says on the console when it could not do its work: then an empty report says nothing.
#[must_use]
pub fn trouble(console: &str) -> Option<String> {
    const SIGNS: [&str; 5] = [
        "Error: ",
        "Unable to find injection library",
        "Target application terminated before first instrumented",
        "timed-out",
        "Internal Sanitizer Error",
    ];
    // The test itself ended with another status than 0: it may have failing cases.
    const OF_THE_TEST: &str = "process didn't terminate successfully";
    let own = console.lines().filter_map(|line| line.trim_start().strip_prefix("=========")).map(str::trim);
    let mut own = own.filter(|line| !line.contains(OF_THE_TEST));
    own.find(|line| SIGNS.iter().any(|sign| line.contains(sign))).map(ToOwned::to_owned)
}

fn finding(record: Node<'_, '_>) -> Finding {
    let place = child(record, "where");
    let frame = child(record, "deviceStack").and_then(|stack| child(stack, "frame"));
    let from = |name: &str| [place, frame].into_iter().flatten().find_map(|node| text_of(node, name));
    let file = from("path").or_else(|| from("file"));
    let line = from("line").and_then(|line| line.parse().ok());
    Finding {
        kind: text_of(record, "kind").unwrap_or_default(),
        what: what(record),
        function: from("func").or_else(|| from("function")),
        place: file.map(PathBuf::from).zip(line),
        address: text_of(record, "address"),
        times: 1,
    }
}

/// What happened: the sentence, and size, direction and space where the sentence does not have them.
fn what(record: Node<'_, '_>) -> String {
    let Some(what) = child(record, "what") else {
        return text_of(record, "kind").unwrap_or_else(|| "a record that does not say what".to_owned());
    };
    let Some(mut text) = text_of(what, "text") else {
        let words = what.descendants().filter(Node::is_text).filter_map(|node| node.text());
        return words.map(str::trim).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    };
    let lower = text.to_lowercase();
    for (name, unit) in [("space", ""), ("direction", ""), ("size", " bytes"), ("accessSize", " bytes")] {
        let Some(value) = text_of(what, name) else { continue };
        let has_it = lower
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word.trim_matches('_').eq_ignore_ascii_case(value.trim_matches('_')));
        if !has_it {
            text.push_str(&format!(", {value}{unit}"));
        }
    }
    text
}

fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.descendants().find(|child| *child != node && child.has_tag_name(name))
}

fn text_of(node: Node<'_, '_>, name: &str) -> Option<String> {
    let text = child(node, name)?.text()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(what: &str, place: &str) -> String {
        format!(
            "<record><kind>Precise</kind><level>Error</level>\
             <who><threadIdx><x>31</x><y>0</y><z>0</z></threadIdx><blockIdx><x>0</x><y>0</y><z>0</z></blockIdx></who>\
             <what>{what}</what>{place}\
             <hostStack><saveLocation>error</saveLocation><frame><func>main</func><module>test</module></frame></hostStack>\
             </record>"
        )
    }

    fn document(records: &[String]) -> Vec<u8> {
        format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<ComputeSanitizerOutput>\n{}</ComputeSanitizerOutput>\n",
            records.concat()
        )
        .into_bytes()
    }

    const WHERE: &str = "<where><func>void rms_norm&lt;float&gt;(float*)</func><path>/lab/tree/src/rms_norm.cu</path>\
                         <line>77</line><pc>0x1f0</pc></where>";

    fn access(text: &str, address: &str) -> String {
        record(&format!("<text>{text}</text><size>4</size><address>{address}</address>"), WHERE)
    }

    #[test]
    fn records_are_findings_and_a_read_is_no_more_one_than_a_write() {
        let read = access("Invalid __shared__ read of size 4 bytes", "0x84");
        let write = access("Invalid __shared__ write of size 4 bytes", "0x80");
        let report = parse(&document(&[read.clone(), write, read])).unwrap();
        assert_eq!(report.findings.len(), 2);
        assert_eq!(
            report.findings[0].to_string(),
            "Invalid __shared__ read of size 4 bytes in void rms_norm<float>(float*) at /lab/tree/src/rms_norm.cu:77, \
             address 0x84 (2 times)"
        );
        assert!(report.findings[1].what.contains("write"));
    }

    #[test]
    fn api_errors_that_follow_are_not_counted() {
        let api = record("<text>Program hit unspecified launch failure</text><error>719</error>", "");
        let api = api.replace(">Precise<", ">Api<");
        let report = parse(&document(&[access("Invalid __global__ write", "0x7f00"), api.clone()])).unwrap();
        assert_eq!((report.findings.len(), report.api_errors), (1, 1));
        assert_eq!(parse(&document(&[api])).unwrap().text(), None);
    }

    #[test]
    fn a_finding_of_the_host_is_one_though_no_kernel_is_named() {
        let copy = record("<text>Host API uninitialized memory access</text>", "")
            .replace(">Precise<", ">InitcheckApiError<");
        assert_eq!(parse(&document(&[copy])).unwrap().findings.len(), 1);
    }

    #[test]
    fn size_and_direction_are_told_where_the_sentence_does_not_have_them() {
        let what = "<text>Access is out of bounds</text><space>shared</space><direction>write</direction><size>4</size>";
        let report = parse(&document(&[record(what, WHERE)])).unwrap();
        assert_eq!(report.findings[0].what, "Access is out of bounds, shared, write, 4 bytes");
        let what = "<text>Invalid __shared__ write of size 4</text><space>shared</space><size>4</size>";
        let report = parse(&document(&[record(what, WHERE)])).unwrap();
        assert_eq!(report.findings[0].what, "Invalid __shared__ write of size 4");
    }

    #[test]
    fn a_kernel_is_found_in_the_stack_of_the_device_where_the_place_has_none() {
        let place = "<where><pc>0x10</pc></where><deviceStack><frame><func>inner</func><path>a.cuh</path>\
                     <line>3</line></frame></deviceStack>";
        let report = parse(&document(&[record("<text>Race</text>", place)])).unwrap();
        assert_eq!(report.text().unwrap(), "Race in inner at a.cuh:3");
    }

    #[test]
    fn a_hazard_that_the_tool_calls_harmless_is_none() {
        let harmless = access("Potential WAW hazard", "0x0").replace(">Error<", ">Info<");
        let warned = access("Potential RAW hazard", "0x0").replace(">Error<", ">Warning<");
        assert_eq!(parse(&document(&[harmless, warned])).unwrap().findings.len(), 1);
    }

    #[test]
    fn a_clean_run_has_an_empty_root_and_anything_less_is_not_clean() {
        assert_eq!(parse(&document(&[])), Ok(Report::default()));
        assert_eq!(parse(b"<ComputeSanitizerOutput/>"), Ok(Report::default()));
        let whole = document(&[access("Invalid __global__ read", "0x1")]);
        for cut in (0..whole.len() - 2).step_by(7) {
            assert!(parse(&whole[..cut]).is_err(), "{cut}");
        }
        for odd in
            [&b""[..], b" \n", b"<valgrindoutput/>", b"\xff\xfe", b"<!DOCTYPE x [<!ENTITY e 'e'>]><x>&e;</x>"]
        {
            assert!(parse(odd).is_err());
        }
    }

    #[test]
    fn a_tool_that_could_not_attach_says_so() {
        let console = "{\"case\": {\"n\": 1}}\n========= COMPUTE-SANITIZER\n\
                       ========= Error: process didn't terminate successfully\n\
                       ========= Target application returned an error\n========= ERROR SUMMARY: 0 errors\n";
        assert_eq!(trouble(console), None);
        let console =
            "========= COMPUTE-SANITIZER\n========= Error: No attachable process found. timed-out.\n";
        assert!(trouble(console).unwrap().contains("No attachable process"));
        let console = "========= Error: Target application terminated before first instrumented API call\n";
        assert!(trouble(console).is_some());
        // What the test prints is not the tool's.
        assert_eq!(trouble("Error: of the test"), None);
    }
}
