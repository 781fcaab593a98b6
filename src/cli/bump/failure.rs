//! Why a move was not made, and what there is to do.

use std::path::Path;

use crate::bump::EditsError;
use crate::diagnostic::Diagnostic;
use crate::io::merge_tool::ToolError;
use crate::io::own_edits;
use crate::overlay::Unwanted;

use super::super::{Failure, FailureKind};

pub(super) fn damaged(file: &Path) -> Failure {
    let message = format!("`{}` is damaged, so it cannot be told where the bump goes", file.display());
    Failure::environment(message).with_hint(
        "give it up: overlaid bump --abort; what you made of conflicts is kept in .overlaid/before",
    )
}

pub(super) fn describe_edits_error(error: EditsError) -> Failure {
    let message = error.to_string();
    match error {
        EditsError::NoPin { .. } | EditsError::NoFile(_) => Failure::input(message)
            .with_hint("correct the [[upstream.also-pinned]] entry; overlaid verify shows where it stands"),
        EditsError::Manifest(_) => Failure::input(message),
        EditsError::NotText(_) => Failure::new(FailureKind::NeedsPerson, message)
            .with_hint("make a patch of the overlay: a patch can name it"),
        EditsError::Broken(diagnostics) => would_be_broken(diagnostics),
        EditsError::Recut(_) => Failure::new(FailureKind::Bug, message),
    }
}

/// What is wrong stands in a text that nobody has yet, so no place of it is shown.
pub(super) fn would_be_broken(mut problems: Vec<Diagnostic>) -> Failure {
    for problem in &mut problems {
        problem.at = None;
        problem.more.clear();
    }
    Failure {
        message: "the manifest would not be right after the move, so nothing is written".to_owned(),
        kind: FailureKind::NeedsPerson,
        ..Failure::diagnostics(problems)
    }
}

/// Overlays that would not fit on the new pin.
pub(super) fn would_not_fit(unwanted: Unwanted) -> Failure {
    if let Unwanted::Upstream(error) = unwanted {
        return error.into();
    }
    let message = format!("after the move the overlays would not fit, so nothing is written: {unwanted}");
    Failure { message, kind: FailureKind::NeedsPerson, ..Failure::from(unwanted) }
        .with_hint("if one of them stands on another, say so with its `needs`; or change it, and bump again")
}

pub(super) fn no_tool(error: ToolError) -> Failure {
    let message = error.to_string();
    match error {
        ToolError::Run(..) => Failure::environment(message),
        ToolError::NotNamed | ToolError::NoCommand(_) => Failure::input(message)
            .with_hint("name a command: overlaid bump --tool='meld \"$LOCAL\" \"$MERGED\" \"$REMOTE\"'"),
    }
}

impl From<own_edits::OwnEditError> for Failure {
    fn from(error: own_edits::OwnEditError) -> Self {
        use own_edits::OwnEditError;
        let failure = Failure::environment(error.to_string());
        match error {
            OwnEditError::Pending => failure.with_hint(
                "whichever it was, finish it: overlaid bump --continue; or take it back: overlaid bump --abort",
            ),
            OwnEditError::Backward => failure.with_hint("take it back: overlaid bump --abort"),
            OwnEditError::Changed(_) | OwnEditError::Busy => failure.with_hint("run it again"),
            _ => failure,
        }
    }
}
