//! The page: one HTML file that a reviewer reads in a minute, without scripts and without a network.
//!
//! Decides what stands where: first what there is to do with each overlay and why, then each overlay with its verdict,
//! its cells, the upstream work that it undoes, and its own change. Colour is never the only sign. All text of others
//! goes through [`html`]. Never reads anything: [`model`] has it all.

mod delta;
pub mod html;
mod judged;
pub mod model;
mod overlay;
mod proof;
mod together;
mod variants;

use std::fmt::Write;

use html::{Text, link, shorten};
use model::{OverlayPart, Page, UpstreamPart, commit_address};

use super::hand::Hand;
use super::picture::Look;
use crate::id::OverlayName;

/// How many bytes the changes of all overlays may take.
const DELTA_BYTES: usize = 200_000;

/// The page as HTML.
#[must_use]
pub fn render(page: &Page) -> String {
    let mut out = String::new();
    let count: usize = page.upstreams.iter().map(|upstream| upstream.overlays.len()).sum();
    let names: Vec<&str> = page.upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
    let title = format!("Overlays on {}", names.join(", "));
    let _ = writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{0}</title>\n<style>\n{1}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#todo\">To what there is to do</a>\n<header>\n<h1>{0}</h1>",
        Text(&title),
        include_str!("style.css")
    );
    let _ = writeln!(
        out,
        "<p class=\"dim\">Made at {} by overlaid {}. What stands here is from evidence and git objects at that time.</p>\n</header>\n<main>",
        Text(&page.made),
        Text(&page.version)
    );
    to_do(page, &mut out);
    legend(&mut out);
    let budget = (DELTA_BYTES / count.max(1)).clamp(2_000, 40_000);
    let mut number = 0;
    for upstream in &page.upstreams {
        heading(upstream, &mut out);
        for part in sorted(upstream) {
            number += 1;
            overlay::write(part, upstream, number, budget, &mut out);
        }
        out.push_str("</section>\n");
    }
    let _ = writeln!(out, "</main>\n<footer><p>{count} overlays.</p></footer>\n</body>\n</html>");
    out
}

/// What needs a hand first; then by name, as people look for it.
fn sorted(upstream: &UpstreamPart) -> Vec<&OverlayPart> {
    let mut parts: Vec<&OverlayPart> = upstream.overlays.iter().collect();
    parts.sort_by_key(|part| (part.to_do().0, part.report.name.clone()));
    parts
}

/// How urgent something is, as a class.
fn class(hand: Hand) -> &'static str {
    match hand {
        Hand::Now | Hand::Mend => "fail",
        Hand::Drop => "measured",
        Hand::Decide | Hand::FindOut => "flaky",
        Hand::Keep => "pass",
    }
}

fn anchor(part: &OverlayPart) -> String {
    anchor_of(&part.report.name)
}

fn anchor_of(overlay: &OverlayName) -> String {
    format!("o-{overlay}")
}

fn to_do(page: &Page, out: &mut String) {
    out.push_str(
        "<section id=\"todo\" aria-labelledby=\"todo-h\">\n<h2 id=\"todo-h\">What there is to do</h2>\n",
    );
    for upstream in &page.upstreams {
        judged::list(upstream, out);
    }
    out.push_str(
        "<table class=\"todo\" role=\"table\"><thead role=\"rowgroup\"><tr role=\"row\"><th role=\"columnheader\" scope=\"col\">overlay</th>\
         <th role=\"columnheader\" scope=\"col\">what to do</th><th role=\"columnheader\" scope=\"col\">state</th>\
         <th role=\"columnheader\" scope=\"col\">verdict</th><th role=\"columnheader\" scope=\"col\">why</th></tr></thead>\n<tbody role=\"rowgroup\">\n",
    );
    let mut parts: Vec<&OverlayPart> = page.upstreams.iter().flat_map(sorted).collect();
    parts.sort_by_key(|part| part.to_do().0);
    for part in parts {
        let (hand, why) = part.to_do();
        let _ = writeln!(
            out,
            "<tr role=\"row\"><th role=\"rowheader\" scope=\"row\"><a href=\"#{}\">{}</a></th>\
             <td role=\"cell\" data-is=\"to do\"><span class=\"{}\"><span class=\"sign\" aria-hidden=\"true\">{}</span> {}</span></td>\
             <td role=\"cell\" data-is=\"state\">{}</td><td role=\"cell\" data-is=\"verdict\">{}</td><td role=\"cell\">{}</td></tr>",
            Text(anchor(part)),
            Text(part.report.name.as_str()),
            class(hand),
            hand.sign(),
            hand.as_str(),
            part.report.state,
            match judged::words(part).join("<br>") {
                none if none.is_empty() => "–".to_owned(),
                words => words,
            },
            Text(shorten(&why, 300))
        );
    }
    out.push_str("</tbody></table>\n");
    for upstream in &page.upstreams {
        together::list(upstream, out);
    }
    out.push_str("</section>\n");
}

fn legend(out: &mut String) {
    out.push_str("<details><summary>What the signs mean</summary>\n<ul>\n");
    for look in Look::ALL {
        let _ = writeln!(
            out,
            "<li><span class=\"sign {}\" aria-hidden=\"true\">{}</span> {}</li>",
            look.class(),
            look.sign(),
            look.as_str()
        );
    }
    for hand in Hand::ALL {
        let _ = writeln!(
            out,
            "<li><span class=\"sign {}\" aria-hidden=\"true\">{}</span> {}: {}</li>",
            class(hand),
            hand.sign(),
            hand.as_str(),
            Text(hand.meaning())
        );
    }
    out.push_str(
        "</ul>\n<p>In the pictures a tall bar fails, a low one passes, one of half height is flaky or a figure of speed, a \
         hollow one was not run or is not known. A cross is a figure without the overlay, a dot one with it, the broken \
         line the largest figure that passes.</p>\n<p>The pin is the upstream commit that we build on; the witness is one \
         at which the tests saw the fault. <em>Without</em> an overlay is the pin with all other overlays that are on, and without \
         those that need it; <em>with</em> it, all are on. At the witness only the overlay and what it needs are on. Cases are \
         those of the tests; that they build and run has a row of its own where it does not go without saying. States and verdicts: <code>overlaid status --explain STATE</code>, \
         <code>overlaid prove --explain VERDICT</code>.</p>\n</details>\n",
    );
}

fn heading(upstream: &UpstreamPart, out: &mut String) {
    let short = upstream.pin.get(..12).unwrap_or(&upstream.pin);
    let pin = match commit_address(&upstream.url, &upstream.pin) {
        Some(address) => link(&address, short),
        None => format!("<code>{}</code>", Text(short)),
    };
    let _ = writeln!(
        out,
        "<section aria-labelledby=\"u-{0}\">\n<h2 id=\"u-{0}\">{0}</h2>\n<p class=\"dim\">pinned at {1}, from {2}</p>",
        Text(&upstream.name),
        pin,
        link(&upstream.url, &upstream.url)
    );
}

#[cfg(test)]
mod tests;
