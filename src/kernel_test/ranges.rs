//! Which cases, in few words: `axis 257..512 (34 of 34), dtype bf16, f16, rows 2, 3, 4`.
//!
//! Decides how a set of cases is described. The words say nothing that does not hold for each of them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::CaseKey;

/// How many descriptions are given before it is said how many cases are left.
const LINES: usize = 6;

/// A set of values of the axis: from, to, how many chosen, how many there are.
type Spans = Vec<(f64, f64, usize, usize)>;

/// Describes the chosen ones of all cases of a test, a line for each kind.
///
/// The axis is the number that takes most values. Cases that have the same values in all else are put
/// together into ranges of it; kinds with the same ranges into one line.
#[must_use]
pub fn describe(all: &[(&CaseKey, bool)]) -> Vec<String> {
    let chosen = all.iter().filter(|(_, chosen)| *chosen).count();
    if chosen == 0 {
        return Vec::new();
    }
    let objects: Vec<Option<BTreeMap<String, Value>>> =
        all.iter().map(|(case, _)| case.object().map(|object| object.into_iter().collect())).collect();
    let mut lines = Vec::new();
    let axis = find_axis(objects.iter().flatten());
    let mut kinds: BTreeMap<BTreeMap<String, String>, Vec<(f64, bool)>> = BTreeMap::new();
    for ((case, is_chosen), object) in all.iter().zip(&objects) {
        let value = axis.as_ref().and_then(|axis| object.as_ref()?.get(axis)?.as_f64());
        match (object, value) {
            (Some(object), Some(value)) => {
                let rest = object.iter().filter(|(key, _)| Some(*key) != axis.as_ref());
                let rest = rest.map(|(key, value)| (key.clone(), plain(value))).collect();
                kinds.entry(rest).or_default().push((value, *is_chosen));
            }
            _ if *is_chosen => lines.push(match object {
                Some(object) => {
                    let parts: Vec<_> =
                        object.iter().map(|(key, value)| format!("{key} {}", plain(value))).collect();
                    parts.join(", ")
                }
                None => case.as_str().to_owned(),
            }),
            _ => {}
        }
    }
    if let Some(axis) = &axis {
        let mut groups: Vec<(Spans, Vec<BTreeMap<String, String>>)> = Vec::new();
        for (kind, values) in kinds {
            let spans = spans(values);
            match groups.iter_mut().find(|(other, _)| *other == spans) {
                _ if spans.is_empty() => {}
                Some((_, kinds)) => kinds.push(kind),
                None => groups.push((spans, vec![kind])),
            }
        }
        for (spans, kinds) in groups {
            let ranges: Vec<String> = spans.iter().map(|span| range(axis, *span)).collect();
            for kind in product(&kinds) {
                let range = ranges.join(", ");
                lines.push(if kind.is_empty() { range } else { format!("{range}, {kind}") });
            }
        }
    }
    if lines.len() > LINES {
        let more = lines.len() - LINES + 1;
        lines.truncate(LINES - 1);
        lines.push(format!("and {more} more"));
    }
    lines
}

/// The axis of the cases of a test, if they have one.
#[must_use]
pub fn axis<'a>(cases: impl Iterator<Item = &'a CaseKey>) -> Option<String> {
    let objects: Vec<BTreeMap<String, Value>> =
        cases.filter_map(CaseKey::object).map(|object| object.into_iter().collect()).collect();
    find_axis(objects.iter())
}

/// The key with most different numbers, if it has more than two.
fn find_axis<'a>(objects: impl Iterator<Item = &'a BTreeMap<String, Value>>) -> Option<String> {
    let mut values: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    for object in objects {
        for (key, value) in object {
            if let Some(number) = value.as_f64() {
                values.entry(key).or_default().insert(number.to_bits());
            }
        }
    }
    let most = values.into_iter().max_by_key(|(_, numbers)| numbers.len())?;
    (most.1.len() > 2).then(|| most.0.to_owned())
}

/// The stretches of chosen values between which no other value stands.
fn spans(mut values: Vec<(f64, bool)>) -> Spans {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut spans: Spans = Vec::new();
    let mut open = false;
    for (value, chosen) in values {
        match spans.last_mut() {
            Some(last) if chosen && open => *last = (last.0, value, last.2 + 1, last.3 + 1),
            _ if chosen => spans.push((value, value, 1, 1)),
            _ => {}
        }
        open = chosen;
    }
    // Many short stretches are one long one with gaps, and the counts say so.
    if spans.len() > 4
        && let (Some(first), Some(last)) = (spans.first(), spans.last())
    {
        let chosen = spans.iter().map(|span| span.2).sum();
        return vec![(first.0, last.1, chosen, 0)];
    }
    spans
}

fn range(axis: &str, (from, to, chosen, all): (f64, f64, usize, usize)) -> String {
    match (chosen, all) {
        (1, 1) => format!("{axis} {from}"),
        (_, 0) => format!("{axis} {from}..{to} ({chosen} of them)"),
        _ => format!("{axis} {from}..{to} ({chosen} of {all})"),
    }
}

/// Kinds as products: `dtype bf16, f16, rows 2, 3` for all four. A set that is no product is split by its
/// first key.
fn product(kinds: &[BTreeMap<String, String>]) -> Vec<String> {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (key, value) in kinds.iter().flatten() {
        values.entry(key).or_default().insert(value);
    }
    let same_keys = kinds.iter().all(|kind| kind.len() == values.len());
    let size: usize = values.values().map(BTreeSet::len).product();
    if same_keys && size == kinds.len() {
        let parts: Vec<String> =
            values.iter().map(|(key, values)| format!("{key} {}", sorted(values).join(", "))).collect();
        return vec![parts.join(", ")];
    }
    let splits = |key: &&str| values.get(*key).is_some_and(|values| values.len() > 1);
    let Some(key) = values.keys().copied().find(|key| splits(key)) else {
        return vec![format!("{} kinds", kinds.len())];
    };
    let mut lines = Vec::new();
    let mut rest: Vec<BTreeMap<String, String>> = kinds.to_vec();
    while let Some(first) = rest.first() {
        let value = first.get(key).cloned();
        let (now, later) = rest.into_iter().partition(|kind| kind.get(key) == value.as_ref());
        rest = later;
        lines.extend(product(&now));
    }
    lines
}

/// Numbers by value, all else by text.
fn sorted<'a>(values: &BTreeSet<&'a str>) -> Vec<&'a str> {
    let mut values: Vec<&str> = values.iter().copied().collect();
    let number = |text: &str| text.parse::<f64>().unwrap_or(f64::INFINITY);
    values.sort_by(|a, b| number(a).total_cmp(&number(b)).then(a.cmp(b)));
    values
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(axis: u32, dtype: &str, rows: u32) -> CaseKey {
        let object = serde_json::json!({ "axis": axis, "dtype": dtype, "rows": rows });
        CaseKey::from_object(object.as_object().unwrap())
    }

    fn sweep(fails: impl Fn(u32, &str, u32) -> bool) -> Vec<String> {
        let mut cases = Vec::new();
        for dtype in ["f32", "bf16", "f16"] {
            for rows in [1, 2, 3, 17] {
                for axis in (8..=1024).step_by(8) {
                    cases.push((case(axis, dtype, rows), fails(axis, dtype, rows)));
                }
            }
        }
        describe(&cases.iter().map(|(case, fails)| (case, *fails)).collect::<Vec<_>>())
    }

    #[test]
    fn a_picture_of_a_sweep_takes_a_line() {
        let lines = sweep(|axis, dtype, _| dtype != "f32" && (257..=512).contains(&axis));
        assert_eq!(lines, ["axis 264..512 (32 of 32), dtype bf16, f16, rows 1, 2, 3, 17"]);
    }

    #[test]
    fn kinds_that_fail_elsewhere_get_a_line_of_their_own() {
        let lines = sweep(|axis, dtype, rows| {
            let range = if dtype == "f32" { 129..=256 } else { 257..=512 };
            rows > 1 && range.contains(&axis)
        });
        assert_eq!(
            lines,
            [
                "axis 264..512 (32 of 32), dtype bf16, f16, rows 2, 3, 17",
                "axis 136..256 (16 of 16), dtype f32, rows 2, 3, 17",
            ]
        );
    }

    #[test]
    fn gaps_and_single_values_are_told_apart() {
        let lines = sweep(|axis, dtype, rows| dtype == "f16" && rows == 1 && [8, 64, 72].contains(&axis));
        assert_eq!(lines, ["axis 8, axis 64..72 (2 of 2), dtype f16, rows 1"]);
        let lines = sweep(|axis, dtype, rows| dtype == "f16" && rows == 1 && axis % 16 == 0);
        assert_eq!(lines, ["axis 16..1024 (64 of them), dtype f16, rows 1"]);
    }

    #[test]
    fn kinds_that_are_no_product_are_split() {
        let lines = sweep(|axis, dtype, rows| axis == 8 && (dtype == "f32") == (rows == 1));
        assert_eq!(
            lines,
            [
                "axis 8, dtype bf16, rows 2, 3, 17",
                "axis 8, dtype f16, rows 2, 3, 17",
                "axis 8, dtype f32, rows 1"
            ]
        );
    }

    #[test]
    fn names_that_are_no_objects_are_listed() {
        let cases: Vec<_> = (0..9).map(|n| CaseKey::from_junit("suite", &format!("t{n}"))).collect();
        let lines = describe(&cases.iter().map(|case| (case, true)).collect::<Vec<_>>());
        assert_eq!(lines.len(), LINES);
        assert_eq!((lines[0].as_str(), lines[LINES - 1].as_str()), ("suite.t0", "and 4 more"));
        assert!(describe(&cases.iter().map(|case| (case, false)).collect::<Vec<_>>()).is_empty());
    }
}
