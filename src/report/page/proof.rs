//! What evidence says of an overlay under one profile.

use std::fmt::Write;

use super::html::{Text, shorten};
use super::model::{NOT_AT_HAND, ProofPart, Standing};
use super::overlay::SENTENCE;
use super::variants;
use crate::report::picture;
use crate::report::proof_view::toolchain_words;

pub(super) fn write(proof: &ProofPart, id: &str, out: &mut String) {
    let on = proof.profile.as_ref().map(|profile| format!(" on {}", Text(profile))).unwrap_or_default();
    let decision = &proof.decision;
    let (name, prove) = (Text(decision.overlay.as_str()), Text(&proof.prove));
    let by = if matches!(proof.standing(), Standing::Noted(_)) { ", by the last proof" } else { "" };
    let _ = writeln!(out, "<h4>Proof{on}: {}{by}</h4>", proof.word());
    if let (Some(measured), false) = (&proof.measured, proof.is_on_file) {
        let _ = writeln!(
            out,
            "<p class=\"dim\">Measured on {}, last at {}.</p>",
            Text(proof.machine.device_or_cpu()),
            Text(measured)
        );
    }
    match proof.standing() {
        Standing::Decided => {
            let _ = writeln!(out, "<p>{}</p>", Text(shorten(&decision.first_line, SENTENCE)));
        }
        Standing::Noted(noted) => {
            let _ = writeln!(
                out,
                "<p>The last proof, of the same pin and the same content, said <strong>{}</strong> ({}); {NOT_AT_HAND}, so it \
                 was not judged again. To prove it here: <code>{prove}</code></p>",
                Text(&noted.verdict),
                Text(&noted.when)
            );
        }
        Standing::Open => {
            let says = match proof.was_run() {
                true => Text(shorten(&decision.first_line, SENTENCE)).to_string(),
                false => "Nothing is on record here.".to_owned(),
            };
            let noted = proof.noted.as_ref().map(|noted| {
                format!(
                    " The last verdict noted is <strong>{}</strong> ({}); pin or overlay have changed since.",
                    Text(&noted.verdict),
                    Text(&noted.when)
                )
            });
            let noted = noted.unwrap_or_default();
            let _ = writeln!(out, "<p>{says}{noted} To prove it here: <code>{prove}</code></p>");
        }
    }
    if let (Some(measured), true) = (&proof.measured, proof.is_on_file) {
        let _ = writeln!(
            out,
            "<p class=\"dim\">From records of {}, made on {}. Whether they hold on the machine that made this page was not \
             checked: <code>{prove}</code></p>",
            Text(measured),
            Text(proof.machine.device_or_cpu())
        );
    }
    if !proof.was_run() && proof.standing() == Standing::Open {
        return;
    }
    reasons(proof, out);
    for (index, (test, rows)) in variants::by_test(decision).into_iter().enumerate() {
        let whose = format!(
            "{}{}",
            decision.overlay,
            proof.profile.as_ref().map(|p| format!(" on {p}")).unwrap_or_default()
        );
        variants::table(test, &whose, &rows, proof.asks_witness(), out);
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
                name,
                picture::inline(grid, &format!("{id}-{index}-{part}"))
            );
            out.push_str(after);
        }
    }
    if !decision.cells.is_empty() {
        environment(proof, out);
    }
}

fn reasons(proof: &ProofPart, out: &mut String) {
    let mut texts: Vec<&str> =
        proof.decision.reasons.iter().take(12).map(|reason| reason.text.as_str()).collect();
    if proof.lacks_a_build() {
        texts.push(
            "what does not build counts only on the machine that saw it, while nothing there has changed",
        );
    }
    if texts.is_empty() {
        return;
    }
    out.push_str("<ul>");
    for text in texts {
        let _ = write!(out, "<li>{}</li>", Text(shorten(text, SENTENCE)));
    }
    out.push_str("</ul>\n");
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
        fact("built with", &toolchain_words(toolchain).unwrap_or_else(|| toolchain.clone()));
    }
    if let Some(witness) = &proof.witness {
        let run = if proof.asks_witness() { "" } else { "; not run: the pin decides" };
        fact("witness", &format!("{witness}{run}"));
    }
    if let Some(measured) = &proof.measured {
        fact("measured", measured);
    }
    if let Some(noted) = &proof.noted {
        fact("verdict given", &noted.when);
    }
    out.push_str("</dl></details>\n");
}
