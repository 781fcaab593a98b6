//! An overlay's own change: comments dimmed, capped, and the cap named.

use std::fmt::Write;

use super::html::{Code, Text, shorten};
use super::model::{LineKind, PathDelta};

/// How much of a line is shown, in bytes.
const LINE: usize = 240;
/// How many lines are shown without a click.
const OPEN: usize = 40;

/// Writes the change of all paths in at most about `budget` bytes.
pub(super) fn write(overlay: &str, paths: &[PathDelta], budget: usize, out: &mut String) {
    let lines: usize = paths.iter().map(|path| path.lines.len()).sum();
    let open = if lines <= OPEN { " open" } else { "" };
    let _ =
        writeln!(out, "<details{open}><summary>Its own change, against its base ({lines} lines)</summary>");
    let end = out.len() + budget;
    let mut left = 0;
    for path in paths {
        if out.len() >= end {
            left += path.lines.len();
            continue;
        }
        let _ = write!(
            out,
            "<p><code>{}</code>: {}</p>\n<pre tabindex=\"0\" role=\"region\" aria-label=\"Change of {0} by {2}\">",
            Text(shorten(&path.path, 300)),
            Text(&path.word),
            Text(overlay)
        );
        let mut shown = 0;
        for (kind, line) in path.lines.iter().take_while(|_| out.len() < end).collect::<Vec<_>>() {
            write_line(*kind, line, out);
            shown += 1;
            if out.len() >= end {
                break;
            }
        }
        left += path.lines.len() - shown;
        out.push_str("</pre>\n");
    }
    if left > 0 {
        let _ = writeln!(
            out,
            "<p>{left} lines more are not shown here: <code>overlaid diff {}</code></p>",
            Text(overlay)
        );
    }
    out.push_str("</details>\n");
}

fn write_line(kind: LineKind, line: &[u8], out: &mut String) {
    let class = match kind {
        LineKind::Hunk => "h",
        LineKind::Context => "",
        LineKind::Added => "a",
        LineKind::Removed => "r",
        LineKind::AddedComment => "a c",
        LineKind::RemovedComment => "r c",
    };
    let (shown, more) = line.split_at(line.len().min(LINE));
    let more = if more.is_empty() { String::new() } else { format!("… {} bytes more", more.len()) };
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let shown = Code(shown).to_string();
    // An empty line has to have a height.
    let shown = if shown.is_empty() { " " } else { &shown };
    let _ = write!(out, "<span{class}>{shown}{more}</span>");
}
