//! Which overlays can go at once.

use std::fmt::Write;

use super::html::{Text, shorten};
use super::model::{TogetherPart, UpstreamPart};
use super::overlay::SENTENCE;
use crate::id::OverlayName;
use crate::verdict::group::Together;

/// What was found out of all that can go one by one, profile by profile.
pub(super) fn list(upstream: &UpstreamPart, out: &mut String) {
    for part in &upstream.together {
        let names: Vec<String> = part.overlays.iter().map(link).collect();
        let names = names.join(", ");
        let on = on(part);
        let _ = match &part.answer {
            Together::AllCanGo => {
                let open = open_elsewhere(part, upstream);
                let first = match open.is_empty() {
                    true => String::new(),
                    false => {
                        format!(" A drop needs that on {}, too, and there it is not proven.", open.join(", "))
                    }
                };
                writeln!(
                    out,
                    "<p><strong>At once{on}:</strong> {names} can all go together: nothing fails when none of them is \
                     there.{first} \
                     <code>{}</code></p>",
                    Text(&part.drop)
                )
            }
            Together::NotTogether { cases } => writeln!(
                out,
                "<p><strong>Not at once{on}:</strong> each of {names} can go, but not all of them: {} fail without all. Drop one, \
                 and prove again.</p>",
                if cases.len() == 1 {
                    "1 case would".to_owned()
                } else {
                    format!("{} cases would", cases.len())
                }
            ),
            Together::Unknown { reasons } => {
                let why =
                    reasons.first().map(|reason| format!(" ({})", Text(shorten(&reason.text, SENTENCE))));
                writeln!(
                    out,
                    "<p><strong>At once{on}:</strong> whether all of {names} can go together is not known here{}: \
                     <code>{}</code></p>",
                    why.unwrap_or_default(),
                    Text(&part.prove)
                )
            }
        };
    }
}

/// With which others an overlay can go.
pub(super) fn of_overlay(overlay: &OverlayName, upstream: &UpstreamPart, out: &mut String) {
    let can_go = |part: &&TogetherPart| part.answer == Together::AllCanGo && part.overlays.contains(overlay);
    for part in upstream.together.iter().filter(can_go) {
        let others = part.overlays.iter().filter(|name| *name != overlay).map(link);
        let _ = writeln!(
            out,
            "<p><strong>At once{}:</strong> it can go together with {}.</p>",
            on(part),
            others.collect::<Vec<_>>().join(", ")
        );
    }
}

/// The other profiles under which one of them is not proven to go.
fn open_elsewhere(part: &TogetherPart, upstream: &UpstreamPart) -> Vec<String> {
    let members = upstream.overlays.iter().filter(|overlay| part.overlays.contains(&overlay.report.name));
    let mut open: Vec<String> = members
        .flat_map(|overlay| &overlay.proofs)
        .filter(|proof| proof.profile != part.profile && !can_go(proof.word()))
        .filter_map(|proof| proof.profile.as_ref().map(|profile| Text(profile).to_string()))
        .collect();
    open.sort();
    open.dedup();
    open
}

fn can_go(word: &str) -> bool {
    ["droppable", "harmful", "redundant"].contains(&word)
}

fn on(part: &TogetherPart) -> String {
    part.profile.as_ref().map(|profile| format!(" on {}", Text(profile))).unwrap_or_default()
}

fn link(name: &OverlayName) -> String {
    format!("<a href=\"#{}\">{}</a>", Text(super::anchor_of(name)), Text(name.as_str()))
}
