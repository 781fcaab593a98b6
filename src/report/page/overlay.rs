//! An overlay on the page.

use std::fmt::Write;

use super::html::{Text, link, shorten};
use super::model::{OverlayPart, ProofPart, UpstreamPart, commit_address};
use super::{anchor, class, delta, variants};
use crate::report::picture;
use crate::upstream::Commit;
use crate::verdict::Verdict;

/// How many commits are listed.
const COMMITS: usize = 30;
/// How much of a sentence is shown.
const SENTENCE: usize = 600;

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
    for (proof, word) in part.verdicts() {
        let on = proof.profile.as_ref().map(|profile| format!(" on {}", Text(profile))).unwrap_or_default();
        let _ = write!(out, "<span class=\"badge\">verdict: {word}{on}</span>");
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
    facts(part, upstream, out);
    states(part, upstream, out);
    said(part, out);
    for (index, proof) in part.proofs.iter().enumerate() {
        write_proof(proof, &format!("p{number}-{index}"), out);
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

fn write_proof(proof: &ProofPart, id: &str, out: &mut String) {
    let on = proof.profile.as_ref().map(|profile| format!(" on {}", Text(profile))).unwrap_or_default();
    let decision = &proof.decision;
    let _ = writeln!(out, "<h4>Proof{on}: {}</h4>", decision.verdict);
    let sentence = Text(shorten(&decision.first_line, SENTENCE)).to_string();
    let _ = writeln!(out, "<p>{sentence}</p>");
    if let Some(date) = &proof.on_file {
        let _ = writeln!(
            out,
            "<p class=\"dim\">From records of {date}, made on {}. Whether they hold on the machine that made this page was not \
             checked: <code>overlaid prove {}</code></p>",
            Text(proof.machine.device.clone().unwrap_or_else(|| proof.machine.class())),
            Text(decision.overlay.as_str())
        );
    }
    if decision.verdict == Verdict::Inconclusive {
        let noted = proof.noted.as_ref().map(|noted| {
            let changed = if noted.holds { "" } else { "; pin or overlay have changed since" };
            format!(
                "The last verdict noted is <strong>{}</strong> ({}{changed}). ",
                Text(&noted.verdict),
                Text(&noted.when)
            )
        });
        let _ = writeln!(
            out,
            "<p>{}To prove it here: <code>overlaid prove {}</code></p>",
            noted.unwrap_or_default(),
            Text(decision.overlay.as_str())
        );
    }
    if !decision.reasons.is_empty() {
        out.push_str("<ul>");
        for reason in decision.reasons.iter().take(12) {
            let _ = write!(out, "<li>{}</li>", Text(shorten(&reason.text, SENTENCE)));
        }
        out.push_str("</ul>\n");
    }
    for (index, (test, rows)) in variants::by_test(decision).into_iter().enumerate() {
        let whose = format!(
            "{}{}",
            decision.overlay,
            proof.profile.as_ref().map(|p| format!(" on {p}")).unwrap_or_default()
        );
        variants::table(test, &whose, &rows, out);
        for (part, grid) in proof.grids_of(test, &rows).iter().enumerate() {
            // Where all pass, there is little to see.
            let (before, after) = match grid.is_plain() {
                true => ("<details><summary>Picture: all pass</summary>", "</details>"),
                false => ("", ""),
            };
            out.push_str(before);
            let _ = writeln!(
                out,
                "<figure><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Picture of {} {}, {}{on}\">{}</div></figure>",
                Text(test),
                part + 1,
                Text(decision.overlay.as_str()),
                picture::inline(grid, &format!("{id}-{index}-{part}"))
            );
            out.push_str(after);
        }
    }
    if !decision.cells.is_empty() {
        environment(proof, out);
    }
}

fn environment(proof: &ProofPart, out: &mut String) {
    let machine = &proof.machine;
    out.push_str("<details><summary>Environment</summary><dl>");
    let mut fact = |name: &str, value: &str| {
        let _ = write!(out, "<dt>{name}</dt><dd>{}</dd>", Text(shorten(value, 300)));
    };
    fact("machine", &machine.class());
    fact("device", machine.device.as_deref().unwrap_or("none"));
    if let Some(driver) = &machine.driver {
        fact("driver", driver);
    }
    for toolchain in &proof.toolchains {
        fact("built with", toolchain);
    }
    if let Some(witness) = &proof.witness {
        fact("witness", witness);
    }
    if let Some(noted) = &proof.noted {
        fact("verdict given", &noted.when);
    }
    out.push_str("</dl></details>\n");
}
