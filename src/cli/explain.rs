//! `--explain WORD` of `status`, `verify` and `prove`, and how these three speak to CI.

use crate::escape::for_terminal;
use crate::io::step_summary;
use crate::report::ci::{Format, Notice, github, sarif};
use crate::report::explain;

use super::{Answer, Failure, Tone, Ui};

/// Says what a state, a verdict or a code means.
///
/// # Errors
/// If there is no such word.
pub fn run(word: &str, ui: &mut Ui) -> Result<Answer, Failure> {
    let found = explain::meanings(word);
    if found.is_empty() {
        let known = explain::words().join(", ");
        return Err(Failure::input(format!("there is no state, verdict or code `{}`", for_terminal(word)))
            .with_hint(format!("there are: {known}")));
    }
    for found in found {
        ui.line(format_args!("{} ({})", Tone::Strong.paint(&found.word), found.kind));
        ui.text(2, None, &found.meaning);
        if let Some(example) = found.example {
            ui.text(2, Some((Tone::Dim, "for example:")), &format!(" {example}"));
        }
        if let Some(to_do) = &found.to_do {
            ui.text(2, Some((Tone::Good, "what to do:")), &format!(" {to_do}"));
        }
        ui.text(2, Some((Tone::Dim, "more:")), &format!(" docs/{}", found.manual));
    }
    Ok(Answer::Yes)
}

/// Prints notices in a format for CI.
///
/// # Errors
/// If the summary of the step cannot be written.
pub fn print_for_ci(format: Format, command: &str, notices: &[Notice], ui: &mut Ui) -> Result<(), Failure> {
    match format {
        Format::Text => {}
        Format::Sarif => ui.document(&sarif::document(command, env!("CARGO_PKG_VERSION"), notices)),
        Format::Github => {
            ui.bytes(github::annotations(notices).as_bytes());
            step_summary::append(&github::summary(command, notices)).map_err(|error| {
                Failure::environment("cannot write to the file that GITHUB_STEP_SUMMARY names")
                    .caused_by(error)
            })?;
        }
    }
    Ok(())
}
