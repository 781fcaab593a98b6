//! An overlay on the page.

use std::fmt::Write;

use super::html::{Text, link, shorten};
use super::model::{OverlayPart, UpstreamPart, commit_address};
use super::{anchor, class, delta, judged, together};
use crate::upstream::Commit;

/// How many commits are listed.
const COMMITS: usize = 30;
/// How much of a sentence is shown.
pub(super) const SENTENCE: usize = 600;

pub(super) fn write(
    part: &OverlayPart,
    upstream: &UpstreamPart,
    number: usize,
    budget: usize,
    out: &mut String,
) {
    let (hand, why) = part.to_do();
    let name = part.report.name.as_str();
    let _ = write!(
        out,
        "<article id=\"{0}\" aria-labelledby=\"{0}-h\">\n<header><h3 id=\"{0}-h\">{1}</h3>\
         <span class=\"badge\">state: {2}</span>",
        Text(anchor(part)),
        Text(name),
        part.report.state
    );
    for words in judged::words(part) {
        let _ = write!(out, "<span class=\"badge\">verdict: {words}</span>");
    }
    if !part.activity.is_empty() {
        let _ = write!(out, "<span class=\"badge\">{}</span>", Text(&part.activity));
    }
    out.push_str("</header>\n");
    let _ = writeln!(
        out,
        "<p class=\"lead {}\"><span class=\"sign {0}\" aria-hidden=\"true\">{}</span> <span><strong>{}</strong>: {}</span></p>",
        class(hand),
        hand.sign(),
        hand.as_str(),
        Text(shorten(&why, SENTENCE))
    );
    if let Some(reason) = &part.reason {
        let words: Vec<&str> = reason.split_whitespace().collect();
        let _ = writeln!(
            out,
            "<p><strong>Carried because:</strong> {}</p>",
            Text(shorten(&words.join(" "), SENTENCE))
        );
    }
    together::of_overlay(&part.report.name, upstream, out);
    facts(part, upstream, out);
    states(part, upstream, out);
    said(part, out);
    for (index, proof) in part.proofs.iter().enumerate() {
        super::proof::write(proof, &format!("p{number}-{index}"), out);
    }
    match &part.delta {
        Ok(paths) if paths.iter().all(|path| path.lines.is_empty()) => {}
        Ok(paths) => delta::write(name, paths, budget, out),
        Err(why) => {
            let _ = writeln!(out, "<p>Its own change cannot be shown: {}</p>", Text(shorten(why, SENTENCE)));
        }
    }
    out.push_str("</article>\n");
}

fn facts(part: &OverlayPart, upstream: &UpstreamPart, out: &mut String) {
    out.push_str("<dl>");
    let mut fact = |name: &str, value: String| {
        let _ = write!(out, "<dt>{name}</dt><dd>{value}</dd>");
    };
    fact("changes", format!("{} of its base", Text(&part.change)));
    if let Some(base) = &part.base {
        fact("base", commit_id(base, upstream));
    }
    if !part.tests.is_empty() {
        fact("tests", Text(shorten(&part.tests.join(", "), SENTENCE)).to_string());
    }
    for (name, address) in &part.links {
        fact(&Text(name).to_string(), link(address, address));
    }
    if let Some(accepted) = &part.accepted {
        fact("accepted", Text(shorten(accepted, SENTENCE)).to_string());
    }
    out.push_str("</dl>\n");
}

fn commit_id(id: &str, upstream: &UpstreamPart) -> String {
    let short = id.get(..12).unwrap_or(id);
    match commit_address(&upstream.url, id) {
        Some(address) => link(&address, short),
        None => format!("<code>{}</code>", Text(short)),
    }
}

/// What each path is, and the upstream work that is taken out.
fn states(part: &OverlayPart, upstream: &UpstreamPart, out: &mut String) {
    let undone = part.report.undoes();
    if !undone.is_empty() {
        let _ = writeln!(out, "<h4>Upstream commits that it undoes ({})</h4>\n<ul>", undone.len());
        for commit in undone.iter().take(COMMITS) {
            let _ = writeln!(
                out,
                "<li>{} {}</li>",
                commit_id(&commit.id.to_string(), upstream),
                Text(shorten(&subject(commit), 200))
            );
        }
        if undone.len() > COMMITS {
            let _ = writeln!(out, "<li>and {} more</li>", undone.len() - COMMITS);
        }
        out.push_str("</ul>\n");
    }
    let _ = writeln!(out, "<details><summary>Against history: {}</summary>\n<ul>", part.report.state);
    if let Some(why) = &part.report.why {
        let _ = writeln!(out, "<li>{}</li>", Text(shorten(why, SENTENCE)));
    }
    for path in part.report.paths.iter().take(COMMITS) {
        let _ = writeln!(
            out,
            "<li><code>{}</code>: {}: {}</li>",
            Text(shorten(&path.path.to_string(), 300)),
            path.state,
            Text(shorten(&path.why, SENTENCE))
        );
        for note in path.notes.iter().take(8) {
            let _ = writeln!(out, "<li>note: {}</li>", Text(shorten(&note.to_string(), SENTENCE)));
        }
    }
    for note in part.report.notes.iter().take(8) {
        let _ = writeln!(out, "<li>note: {}</li>", Text(shorten(&note.to_string(), SENTENCE)));
    }
    out.push_str("</ul>\n</details>\n");
}

/// What people report, and what searches came to: each with its ground.
fn said(part: &OverlayPart, out: &mut String) {
    if !part.reported.is_empty() {
        out.push_str("<h4>Reported by people, not measured</h4>\n<ul>\n");
        for report in part.reported.iter().take(COMMITS) {
            let _ = writeln!(out, "<li>{}</li>", Text(shorten(&report.text(), SENTENCE)));
        }
        out.push_str("</ul>\n");
    }
    if !part.bisected.is_empty() {
        out.push_str("<h4>Searched in upstream's history</h4>\n<ul>\n");
        for note in part.bisected.iter().take(COMMITS) {
            let on = note.profile.as_ref().map(|profile| format!("profile {profile}, ")).unwrap_or_default();
            let _ = writeln!(
                out,
                "<li>{} <span class=\"dim\">measured on {}{}</span></li>",
                Text(shorten(&note.text(), SENTENCE)),
                Text(on),
                Text(note.device())
            );
        }
        out.push_str("</ul>\n");
    }
}

fn subject(commit: &Commit) -> String {
    commit.subject.to_string()
}
