//! Rivals side by side, as a person and as a program read them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::escape::for_terminal;
use crate::id::Name;
use crate::io::lab::together::Contest;
use crate::kernel_test::{CaseKey, ranges};
use crate::verdict::rivals::{Choice, Rivals, Score, Shown, SideBySide};

use super::super::Tone;
use super::super::table::{self, TableCell};
use super::reason_text;

/// The document's part about a group.
#[must_use]
pub fn document(contest: &Contest) -> Value {
    let elsewhere = contest.elsewhere.iter().map(|(place, rivals)| {
        let mut value = one(rivals);
        value["profile"] = json!(place.profile);
        value["device"] = json!(place.device);
        value["host"] = json!(place.host);
        value
    });
    let elsewhere: Vec<Value> = elsewhere.collect();
    let mut value = one(&contest.here);
    value["elsewhere"] = json!(elsewhere);
    value
}

fn one(rivals: &Rivals) -> Value {
    let cells = rivals.cells.iter().map(|cell| {
        let members = rivals.members.iter().zip(&cell.members);
        let with: BTreeMap<&str, &Shown> =
            members.map(|(member, shown)| (member.name.as_str(), shown)).collect();
        json!({ "test": cell.test, "case": cell.case, "none": cell.none, "with": with })
    });
    let cells: Vec<Value> = cells.collect();
    let (answer, overlays): (&str, Vec<&Name>) = match &rivals.choice {
        Choice::Best(best) => ("best", vec![best]),
        Choice::Unbeaten(best) => ("unbeaten", vec![best]),
        Choice::Equal(equal) => ("equal", equal.iter().collect()),
        Choice::PersonDecides(left) => ("person-decides", left.iter().collect()),
        Choice::NoneOfThem => ("none-of-them", Vec::new()),
        Choice::Unknown => ("unknown", Vec::new()),
    };
    json!({
        "group": rivals.group,
        "active": rivals.active,
        "answer": answer,
        "overlays": overlays,
        "reasons": rivals.reasons,
        "none": rivals.none,
        "members": rivals.members,
        "cells": cells,
    })
}

/// Lines for a person: which is the better and why, each with its score, and the cases in which they differ.
#[must_use]
pub fn lines(contest: &Contest) -> Vec<String> {
    let rivals = &contest.here;
    let mut lines = vec![format!("\nrivals {}: {}", Tone::Strong.paint(&rivals.group), answer(rivals))];
    lines.extend(scores_and_cases(rivals));
    for (place, there) in &contest.elsewhere {
        lines.push(format!("  elsewhere ({}): {}", for_terminal(place.to_string()), answer(there)));
        if there.choice != rivals.choice {
            let text = "not the same answer as here: a proof holds for the device that it was made on";
            lines.push(format!("  {}", Tone::Warning.paint(text)));
        }
        lines.extend(scores_and_cases(there));
    }
    lines
}

fn scores_and_cases(rivals: &Rivals) -> Vec<String> {
    let mut lines = Vec::new();
    for reason in &rivals.reasons {
        lines.push(format!("  {}", reason_text(reason)));
    }
    let mut rows = vec![row(0, "none of them", "", &rivals.none)];
    for (at, member) in rivals.members.iter().enumerate() {
        let is_active = member.name == rivals.active;
        rows.push(row(at + 1, member.name.as_str(), if is_active { "applied" } else { "" }, &member.score));
    }
    push_table(&["", "with", "", "pass", "fail loudly", "fail silently", "other"], &rows, &mut lines);

    let numbers: Vec<String> = (0..=rivals.members.len()).map(|number| number.to_string()).collect();
    let mut heading = vec!["cases"];
    heading.extend(numbers.iter().map(String::as_str));
    let rows: Vec<Vec<TableCell>> = alike(&rivals.cells)
        .into_iter()
        .map(|(cases, words)| {
            let mut row: Vec<TableCell> = vec![for_terminal(&cases).into()];
            row.extend(words.into_iter().map(|(text, tone)| tone.cell(text)));
            row
        })
        .collect();
    if rows.is_empty() {
        lines.push("    the same in every case".to_owned());
    } else {
        push_table(&heading, &rows, &mut lines);
    }
    lines
}

fn push_table(heading: &[&str], rows: &[Vec<TableCell>], lines: &mut Vec<String>) {
    let text = table::render(heading, rows);
    lines.extend(text.lines().map(|line| format!("    {line}").trim_end().to_owned()));
}

fn answer(rivals: &Rivals) -> String {
    let names = |names: &[Name]| names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
    match &rivals.choice {
        Choice::Best(best) if *best == rivals.active => {
            format!("{} is the better, and is applied", Tone::Good.paint(best))
        }
        Choice::Best(best) => format!(
            "{} is the better, and {} is applied; a person decides",
            Tone::Warning.paint(best),
            rivals.active
        ),
        Choice::Unbeaten(best) => {
            let applied = if *best == rivals.active { ", which is applied" } else { "" };
            format!(
                "no other one is better than {}{applied}; whether one is as good is not known",
                Tone::Good.paint(best)
            )
        }
        Choice::Equal(equal) => format!("{} are the same", names(equal)),
        Choice::PersonDecides(left) if left.len() == 1 => {
            format!("{} is not better in every way; {}", names(left), Tone::Warning.paint("a person decides"))
        }
        Choice::PersonDecides(left) => {
            format!(
                "each of {} is better somewhere; {}",
                names(left),
                Tone::Warning.paint("a person decides")
            )
        }
        Choice::NoneOfThem => Tone::Bad.paint("none of them is better than doing without").to_string(),
        Choice::Unknown => {
            format!("which is the better is {}", Tone::Warning.paint("not known"))
        }
    }
}

fn row(number: usize, name: &str, note: &str, score: &Score) -> Vec<TableCell> {
    let or_blank = |count: usize, tone: Tone| -> TableCell {
        if count == 0 { "".into() } else { tone.cell(count.to_string()) }
    };
    vec![
        number.to_string().into(),
        name.into(),
        Tone::Dim.cell(note),
        or_blank(score.passes, Tone::Good),
        or_blank(score.fails_loudly, Tone::Warning),
        or_blank(score.fails_silently, Tone::Bad),
        or_blank(score.fails + score.unknown, Tone::Dim),
    ]
}

/// One word for what a case came to.
fn word(shown: &Shown) -> (&'static str, Tone) {
    match (shown.view.outcome, shown.manner) {
        ("pass" | "measured", _) => ("pass", Tone::Good),
        (_, Some("silent")) => ("wrong", Tone::Bad),
        (_, Some("loud")) => ("error", Tone::Warning),
        (_, Some(_)) => ("fail", Tone::Bad),
        (other, None) => (other, Tone::Dim),
    }
}

/// Cases that come out alike with each of them, in few words, and what they come to. Those that are the same with
/// all of them and with none are left out.
fn alike(cells: &[SideBySide]) -> Vec<(String, Vec<(String, Tone)>)> {
    type Words = Vec<&'static str>;
    let words = |cell: &SideBySide| -> Words {
        std::iter::once(&cell.none).chain(&cell.members).map(|shown| word(shown).0).collect()
    };
    let mut groups: BTreeMap<(&Name, Words), Vec<&SideBySide>> = BTreeMap::new();
    for cell in cells {
        groups.entry((&cell.test, words(cell))).or_default().push(cell);
    }
    let is_one_test = cells.windows(2).all(|two| two[0].test == two[1].test);
    let mut lines = Vec::new();
    for ((test, words), chosen) in groups {
        if words.windows(2).all(|two| two[0] == two[1]) {
            continue;
        }
        let of_test = cells.iter().filter(|cell| cell.test == *test && !cell.case.is_pseudo());
        let keys: Vec<(&CaseKey, bool)> =
            of_test.map(|cell| (&cell.case, chosen.iter().any(|other| other.case == cell.case))).collect();
        let shown = columns(&chosen);
        let pseudo =
            chosen.iter().filter(|cell| cell.case.is_pseudo()).map(|cell| cell.case.as_str().to_owned());
        for cases in pseudo.chain(ranges::describe(&keys)) {
            let cases = if is_one_test { cases } else { format!("{test}: {cases}") };
            lines.push((cases, shown.clone()));
        }
    }
    lines
}

/// What cases that are alike come to with none and with each of them: the word, and how wrong at most.
fn columns(cells: &[&SideBySide]) -> Vec<(String, Tone)> {
    let members = cells.first().map_or(0, |cell| cell.members.len());
    let column = |at: usize| -> (String, Tone) {
        let shown: Vec<&Shown> =
            cells.iter().map(|cell| if at == 0 { &cell.none } else { &cell.members[at - 1] }).collect();
        let Some((text, tone)) = shown.first().map(|shown| word(shown)) else {
            return (String::new(), Tone::Dim);
        };
        let worst = shown
            .iter()
            .filter_map(|shown| shown.view.value)
            .fold(None, |worst: Option<f64>, value| Some(worst.map_or(value, |worst| worst.max(value))));
        match worst.filter(|_| text == "wrong") {
            Some(worst) => (format!("{text} {worst:.2}"), tone),
            None => (text.to_owned(), tone),
        }
    };
    (0..=members).map(column).collect()
}
