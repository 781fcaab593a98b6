//! `[[test]]`: a kernel test.

use std::time::Duration;

use super::keys::{Default, Keys, NONE, REQUIRED, Shape, key, list, one};
use super::problems::Problems;
use super::profile::refuse_option;
use super::table::{Table, listed};
use super::typed::report_wrong;
use super::value::{DURATION, GLOB, Kind, NAME, PROJECT, WORD, Wrong, choice};
use super::{Format, Located, Sanitizer, Test};
use crate::diagnostic::quoted;

/// What stands in a command for something that is known later.
const PLACEHOLDERS: [&str; 3] = ["{build}", "{repository}", "{tree}"];
/// More runs than this are a slip of the key.
const MOST_REPEATS: i64 = 10_000;

const FORMATS: [(&str, Format); 3] =
    [("jsonl", Format::Jsonl), ("junit", Format::Junit), ("exit", Format::Exit)];

const SANITIZERS: [(&str, Sanitizer); 6] = [
    ("memcheck", Sanitizer::Memcheck),
    ("racecheck", Sanitizer::Racecheck),
    ("initcheck", Sanitizer::Initcheck),
    ("synccheck", Sanitizer::Synccheck),
    ("address", Sanitizer::Address),
    ("undefined", Sanitizer::Undefined),
];

const FORMAT: Kind<Format> = Kind {
    word: "word",
    words: "words",
    expected: "a format",
    plural: "formats",
    example: "\"jsonl\"",
    parse: |text| choice(text, &FORMATS),
};

const SANITIZER: Kind<Sanitizer> = Kind {
    word: "word",
    words: "words",
    expected: "a sanitizer",
    plural: "sanitizers",
    example: "[\"memcheck\"]",
    parse: |text| choice(text, &SANITIZERS),
};

/// What `[[test]]` can have.
pub(super) const KEYS: Keys = Keys {
    header: "[[test]]",
    keys: Some(&[
        key("name", one(&NAME), REQUIRED, "Unique among the tests."),
        key(
            "project",
            one(&PROJECT),
            Default::Said("the upstream"),
            "A CMake project of ours that is given `OVERLAID_TREE`.",
        ),
        key(
            "target",
            one(&WORD),
            NONE,
            "The target to build, of that project or of the upstream. A test has `project`, `target` or both, unless all its profiles have `python-path`.",
        ),
        key(
            "command",
            list(&WORD),
            REQUIRED,
            "The program and its arguments. No shell is involved. `{build}` and `{tree}` stand for the build folder and the tree, `{repository}` for your repository.",
        ),
        key("sources", list(&GLOB), NONE, "Files of ours that the test is built from or reads."),
        key("profiles", list(&NAME), Default::Said("all"), "Profiles under which it runs."),
        key(
            "format",
            one(&FORMAT),
            Default::Value("\"jsonl\""),
            "How it reports: `jsonl` (one JSON object a line), `junit` (JUnit XML) or `exit` (the exit code: 0 pass, 77 skip, else fail).",
        ),
        key("repeats", Shape::Count, Default::Value("3"), "How often it runs on each variant, from 1."),
        key(
            "sanitizers",
            list(&SANITIZER),
            NONE,
            "`memcheck`, `racecheck`, `initcheck`, `synccheck` (NVIDIA's compute-sanitizer), `address`, `undefined` (builds of their own). See [sanitizers.md](sanitizers.md).",
        ),
        key("timeout", one(&DURATION), Default::Value("\"120s\""), "How long one run may take."),
        key(
            "guard",
            Shape::Flag,
            Default::Value("false"),
            "True: it guards against side effects and need not see the fault.",
        ),
        key(
            "min-gain",
            Shape::Number,
            Default::Value("0.05"),
            "The least change of a figure of speed that counts, as a share: 0.05 is 5 per cent. Less than 1.",
        ),
    ]),
};

/// Reads one `[[test]]`.
pub(super) fn read(mut table: Table<'_>, problems: &mut Problems) -> Option<Test> {
    let name = table.need("name", &NAME, problems);
    if let Some(name) = &name {
        table.title = format!("test `{}`", name.as_str());
    }
    let project = table.one("project", &PROJECT, problems);
    let target = table.one("target", &WORD, problems);
    if let Some(target) = &target {
        refuse_option(&format!("`target` of {}", table.title), target, problems);
    }
    let command = table.list("command", &WORD, problems);
    match &command {
        None => table.report_missing(
            "command",
            "[\"{build}/some_test\"]",
            "a program and its arguments",
            problems,
        ),
        Some(words) => words.iter().for_each(|word| check_placeholders(&table.title, word, problems)),
    }
    let sources = table.set("sources", &GLOB, problems);
    let profiles = table.set("profiles", &NAME, problems);
    let format = table.one("format", &FORMAT, problems);
    let repeats = repeats(&mut table, problems);
    let sanitizers = table.set("sanitizers", &SANITIZER, problems);
    let timeout = table.one("timeout", &DURATION, problems);
    let guard = table.flag("guard", problems);
    let min_gain = min_gain(&mut table, problems);
    let span = table.span.clone();
    table.finish(problems);

    Some(Test {
        name: name?,
        span,
        project,
        target,
        command: command.unwrap_or_default(),
        sources,
        profiles,
        format: format.map_or(Format::Jsonl, |format| format.value),
        repeats,
        sanitizers,
        timeout: timeout.map_or(Duration::from_secs(120), |timeout| timeout.value),
        guard: guard.is_some_and(|guard| guard.value),
        min_gain,
    })
}

fn repeats(table: &mut Table<'_>, problems: &mut Problems) -> u32 {
    const DEFAULT: u32 = 3;
    let Some(written) = table.count("repeats", problems) else { return DEFAULT };
    match u32::try_from(written.value) {
        Ok(repeats) if (1..=MOST_REPEATS).contains(&written.value) => repeats,
        _ => {
            let wrong = Wrong::new(
                "bad-value",
                format!("is {}", written.value),
                format!("expected a number from 1 to {MOST_REPEATS}"),
            );
            report_wrong(&format!("`repeats` of {}", table.title), wrong, written.span, problems);
            DEFAULT
        }
    }
}

fn min_gain(table: &mut Table<'_>, problems: &mut Problems) -> f64 {
    const DEFAULT: f64 = 0.05;
    let Some(written) = table.number("min-gain", problems) else { return DEFAULT };
    if (0.0..1.0).contains(&written.value) {
        return written.value;
    }
    let what = format!("`min-gain` of {}", table.title);
    let wrong =
        Wrong::new("bad-value", "is not a share", "expected a number from 0 up to, but not including, 1");
    let wrong = if (1.0..100.0).contains(&written.value) {
        wrong.hint(format!("for {} per cent write {}", written.value, written.value / 100.0))
    } else {
        wrong.note("a share of the figure: 0.05 is 5 per cent")
    };
    report_wrong(&what, wrong, written.span, problems);
    DEFAULT
}

fn check_placeholders(title: &str, word: &Located<String>, problems: &mut Problems) {
    for found in placeholders(word) {
        if !PLACEHOLDERS.contains(&found) {
            let wrong = Wrong::new(
                "unknown-word",
                format!("has {}, which stands for nothing", quoted(found)),
                format!("known here: {}", listed(&PLACEHOLDERS)),
            );
            let wrong = match super::problems::closest(found, PLACEHOLDERS) {
                Some(meant) => wrong.hint(format!("did you mean `{meant}`?")),
                None => {
                    wrong.note("other values are in the environment: OVERLAID_SEED, OVERLAID_RESULTS, ...")
                }
            };
            report_wrong(&format!("`command` of {title}"), wrong, word.span.clone(), problems);
        }
    }
}

/// The words in braces: `{build}` in `{build}/norm`. Braces around anything else are left alone, as in JSON.
fn placeholders(word: &str) -> impl Iterator<Item = &str> {
    word.match_indices('{').filter_map(|(start, _)| {
        let end = start + word[start..].find('}')?;
        let inside = &word[start + 1..end];
        let is_word =
            !inside.is_empty() && inside.bytes().all(|b| b.is_ascii_alphabetic() || b"-_".contains(&b));
        is_word.then(|| &word[start..=end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_has_every_word_that_is_read() {
        let says = |key: &str, word: &str| {
            let declared = KEYS.get(key).unwrap();
            assert!(declared.meaning.contains(&format!("`{word}`")), "{key}: {word}");
        };
        FORMATS.iter().for_each(|(word, _)| says("format", word));
        SANITIZERS.iter().for_each(|(word, _)| says("sanitizers", word));
        PLACEHOLDERS.iter().for_each(|word| says("command", word));
    }
}
