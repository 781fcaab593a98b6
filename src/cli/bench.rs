//! What `build`, `test` and `prove` share: a lab, and what is said while it works.

use std::path::Path;

use crate::diagnostic::Diagnostic;
use crate::escape::for_terminal;
use crate::id::Name;
use crate::io::lab::event::Event;
use crate::io::lab::measure::{Interrupted, Lab};
use crate::io::workspace::Workspace;
use crate::manifest::{Profile, Test};
use crate::upstream::Upstream;

use super::{Failure, Ui};

/// Works in a lab, and says on standard error what is run before it is run.
///
/// # Errors
/// What `work` returns.
pub fn with_lab<T>(
    workspace: &Workspace,
    profile: Option<&Profile>,
    upstream: &dyn Upstream,
    ui: &mut Ui,
    work: impl FnOnce(&mut Lab<'_>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let manifest = &workspace.manifest;
    let root = workspace.root.canonicalize().unwrap_or_else(|_| workspace.root.clone());
    let mut say = |event: Event| show(&event, &root, ui);
    let mut lab = Lab::new(
        &workspace.root,
        &manifest.docs_folder(),
        &manifest.upstream.name.value,
        profile,
        upstream,
        &mut say,
    );
    let result = work(&mut lab);
    let refused = lab.finish();
    drop(lab);
    ui.end_progress();
    for (file, why) in refused {
        ui.warn(format_args!("{} is not used: {}", file.display(), for_terminal(why)));
    }
    result
}

fn show(event: &Event, root: &Path, ui: &mut Ui) {
    match event {
        Event::Waiting { folder } => ui.note(format_args!("waiting for another run in {}", folder.display())),
        Event::Flipping { variant, changes } => {
            ui.progress(format!("{variant}: {} changed by overlays", counted(*changes, "path")));
        }
        Event::Building { test, variant } => ui.note(format_args!("build {test}: {variant}")),
        Event::Built { steps: 0, .. } => {}
        Event::Built { steps, wall } => {
            let steps = counted(*steps, "step");
            ui.note(format_args!("      {steps} in {:.1} s", wall.as_secs_f64()));
        }
        Event::BuildFailed { what, log } => {
            let log = log.strip_prefix(root).unwrap_or(log);
            ui.note(format_args!("      does not build: {} (see {})", for_terminal(what), log.display()));
        }
        Event::Running { test, variant, command, times } => {
            let command = for_terminal(command.replace(&format!("{}/", root.display()), ""));
            let times = if *times > 1 { format!(", {times} times") } else { String::new() };
            ui.note(format_args!("run   {test}: {variant}{times}: {command}"));
        }
        Event::GoingOn { cases } => {
            let cases = counted(*cases, "case");
            ui.note(format_args!(
                "      going on after {cases}: a run that was interrupted has finished them"
            ));
        }
        Event::RanOnce { number, of } => ui.progress(format!("run {number} of {of}")),
        Event::Ran { passed, failed, other, wall } => {
            let other = if *other > 0 { format!(", {other} other") } else { String::new() };
            ui.note(format_args!("      {passed} pass, {failed} fail{other} in {:.1} s", wall.as_secs_f64()));
        }
        Event::Watched { tool, came_to } => {
            ui.note(format_args!("      {tool} {}", for_terminal(came_to)));
        }
        Event::Told(text) => ui.note(for_terminal(text)),
        Event::Warning(text) => ui.warn(for_terminal(text)),
    }
}

impl From<Interrupted> for Failure {
    fn from(interrupted: Interrupted) -> Self {
        Failure::environment(interrupted.0.to_string())
            .with_hint("run the same command again: it goes on with what was measured so far")
    }
}

/// A number and what it counts: `1 step`, `2 steps`.
#[must_use]
pub fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Makes sure that the projects of tests are there, before CMake is asked to read them.
///
/// # Errors
/// If one is not: a failure that shows the line of the manifest.
pub fn projects_are_there<'w>(
    workspace: &Workspace,
    tests: impl Iterator<Item = &'w Test>,
) -> Result<(), Failure> {
    let missing = tests.filter_map(|test| {
        let project = test.project.as_ref()?;
        let folder = workspace.root.join(&project.value);
        let (name, shown) = (&test.name.value, project.value.display());
        let message = if !folder.is_dir() {
            format!("the project of test `{name}` is not there: no folder `{shown}`")
        } else if !folder.join("CMakeLists.txt").is_file() {
            format!("the project of test `{name}` is none of CMake's: no file `{shown}/CMakeLists.txt`")
        } else {
            return None;
        };
        let place = workspace.manifest.place(project.span.clone(), "named here");
        Some(Diagnostic::error("missing-project", message).at(place))
    });
    let missing: Vec<Diagnostic> = missing.collect();
    if missing.is_empty() { Ok(()) } else { Err(Failure::diagnostics(missing)) }
}

/// The name of a profile, for `Option`s of them.
#[must_use]
pub fn profile_name(profile: Option<&Profile>) -> Option<&Name> {
    profile.map(|profile| &profile.name.value)
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_is_counted_as_one() {
        assert_eq!([0, 1, 2].map(|number| counted(number, "step")), ["0 steps", "1 step", "2 steps"]);
    }
}
