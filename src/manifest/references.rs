//! What the tables of a manifest say about each other: references, cycles, rivals, features.
//!
//! Decides on names and conditions only; which paths an overlay covers is not known here.

use super::features::{Contradiction, contradiction};
use super::problems::{Problems, closest};
use super::upstream::unique;
use super::{Check, Kind, Located, Overlay, Profile, Remote, Test};
use crate::diagnostic::{Diagnostic, Place, Severity, quoted};
use crate::id::Name;
use crate::sorted::{SortedMap, SortedSet};

/// The tables that refer to each other.
pub(super) struct Tables<'a> {
    pub remotes: &'a [Remote],
    pub exclusive: &'a [Vec<Located<Name>>],
    pub overlays: &'a [Overlay],
    pub checks: &'a [Check],
    pub profiles: &'a [Profile],
    pub tests: &'a [Test],
}

/// Checks all that concerns more than one table.
pub(super) fn check(tables: &Tables<'_>, problems: &mut Problems) {
    unique("overlay", tables.overlays.iter().map(|o| (o.name.to_string(), &o.name.span)), problems);
    unique("check", tables.checks.iter().map(|c| (c.name.to_string(), &c.name.span)), problems);
    unique("test", tables.tests.iter().map(|t| (t.name.to_string(), &t.name.span)), problems);
    check_references(tables, problems);
    check_needs(tables, problems);
    check_rivals(tables.overlays, problems);
    check_features(tables, problems);
    check_what_is_built(tables, problems);
    warn_of_sanitizers_that_never_run(tables, problems);
}

fn check_references(tables: &Tables<'_>, problems: &mut Problems) {
    let overlays = Names::of("overlay", tables.overlays.iter().map(|overlay| &*overlay.name));
    let tests = Names::of("test", tables.tests.iter().map(|test| &*test.name));
    let profiles = Names::of("profile", tables.profiles.iter().map(|profile| &*profile.name));
    let remotes = Names::of("remote", tables.remotes.iter().map(|remote| &*remote.name));
    for overlay in tables.overlays {
        let who = format!("overlay `{}`", overlay.name.as_str());
        for need in overlay.needs.iter().filter(|need| need.value != overlay.name.value) {
            overlays.look_up(need, &format!("{who} needs"), problems);
        }
        for test in &overlay.tests {
            tests.look_up(test, &format!("{who} is linked to"), problems);
        }
        if let Kind::Commits { remote: Some(remote), .. } | Kind::HeldBack { remote: Some(remote), .. } =
            &overlay.kind
        {
            remotes.look_up(remote, &format!("{who} comes from"), problems);
        }
    }
    for test in tables.tests {
        for profile in &test.profiles {
            profiles.look_up(profile, &format!("test `{}` runs under", test.name.as_str()), problems);
        }
    }
}

/// The names of one sort of things.
struct Names<'a> {
    sort: &'static str,
    names: SortedSet<&'a Name>,
}

impl<'a> Names<'a> {
    fn of(sort: &'static str, names: impl Iterator<Item = &'a Name>) -> Self {
        Self { sort, names: names.collect() }
    }

    fn look_up(&self, name: &Located<Name>, who: &str, problems: &mut Problems) {
        if self.names.contains(&name.value) {
            return;
        }
        let sort = self.sort;
        let message = format!("{who} {sort} {}, which does not exist", quoted(name.as_str()));
        let diagnostic = Diagnostic::error("unknown-reference", message)
            .at(problems.place(name.span.clone(), format!("no {sort} has this name")));
        let meant = if problems.is_full() {
            None
        } else {
            closest(name.as_str(), self.names.iter().map(|name| name.as_str()))
        };
        problems.report_absent(match meant {
            Some(meant) => diagnostic.hint(format!("did you mean `{meant}`?")),
            None if self.names.is_empty() => diagnostic.note(format!("the manifest has no {sort}s")),
            None => {
                let some: Vec<_> = self.names.iter().take(8).map(|name| name.as_str()).collect();
                let more = if self.names.len() > some.len() { ", ..." } else { "" };
                diagnostic.note(format!("{sort}s of the manifest: {}{more}", super::table::listed(&some)))
            }
        });
    }
}

fn check_needs(tables: &Tables<'_>, problems: &mut Problems) {
    let by_name: SortedMap<&Name, usize> =
        tables.overlays.iter().enumerate().map(|(index, overlay)| (&overlay.name.value, index)).collect();
    for overlay in tables.overlays {
        for need in &overlay.needs {
            if need.value == overlay.name.value {
                let place = problems.place(need.span.clone(), "this is the overlay itself");
                problems.report(
                    Diagnostic::error(
                        "needs-cycle",
                        format!("overlay `{}` needs itself", overlay.name.as_str()),
                    )
                    .at(place)
                    .hint("remove it from `needs`"),
                );
            } else if let Some(&other) = by_name.get(&need.value) {
                check_together(overlay, need, &tables.overlays[other], tables.exclusive, problems);
            }
        }
    }
    for cycle in cycles(tables.overlays, &by_name) {
        report_cycle(tables.overlays, &cycle, problems);
    }
}

/// An overlay and one that it needs can be applied together.
fn check_together(
    overlay: &Overlay,
    need: &Located<Name>,
    other: &Overlay,
    exclusive: &[Vec<Located<Name>>],
    problems: &mut Problems,
) {
    let (name, needed) = (overlay.name.as_str(), other.name.as_str());
    if let (Some(group), Some(others)) = (&overlay.rivals, &other.rivals)
        && group.value == others.value
    {
        let place = problems.place(need.span.clone(), "a rival is never applied together with it");
        problems.report(
            Diagnostic::error("rivals", format!("overlay `{name}` needs its rival `{needed}`"))
                .at(place)
                .and(problems.place(others.span.clone(), format!("in the group `{}`, too", group.as_str())))
                .hint("remove one of `needs` and `rivals`"),
        );
    } else if overlay.active && !other.active {
        let group =
            other.rivals.as_ref().map_or_else(String::new, |group| format!(" of `{}`", group.as_str()));
        let place = problems.place(need.span.clone(), format!("another of the rivals{group} is active"));
        problems.report(
            Diagnostic::error("rivals", format!("overlay `{name}` needs `{needed}`, which is not applied"))
                .at(place)
                .and(problems.place(other.name.span.clone(), "stands back"))
                .hint(format!("make `{needed}` the active one, or remove it from `needs`")),
        );
    }
    // What is wrong with one of them alone is said elsewhere.
    let alone = [overlay, other].map(|overlay| contradiction(&overlay.when, exclusive));
    if alone == [None, None]
        && let Some(why) = contradiction(overlay.when.iter().chain(&other.when), exclusive)
    {
        let (first, second, label) = explain(why);
        let place = problems.place(need.span.clone(), "never on together with it");
        problems.report(
            Diagnostic::error("never-on", format!("overlays `{name}` and `{needed}` are never on together"))
                .at(place)
                .and(first.at(problems, ""))
                .and(second.at(problems, label))
                .hint("change `when` of one of them, or remove it from `needs`"),
        );
    }
}

struct Marked(std::ops::Range<usize>);

impl Marked {
    fn at(self, problems: &Problems, label: impl Into<String>) -> Place {
        problems.place(self.0, label)
    }
}

fn explain(why: Contradiction<'_>) -> (Marked, Marked, String) {
    match why {
        Contradiction::OnAndOff(on, off) => (
            Marked(on.span.clone()),
            Marked(off.span.clone()),
            format!("`{}` on and off", on.feature.as_str()),
        ),
        Contradiction::Exclusive(a, b) => {
            let (a, b) = if a.span.start <= b.span.start { (a, b) } else { (b, a) };
            let label = format!("excluded by `{}`", a.feature.as_str());
            (Marked(a.span.clone()), Marked(b.span.clone()), label)
        }
    }
}

/// The cycles in `needs`, each once, as indices in their order; an overlay that needs itself is not one.
///
/// A walk in depth without recursion: a manifest may have more overlays than a stack has room.
fn cycles(overlays: &[Overlay], by_name: &SortedMap<&Name, usize>) -> Vec<Vec<usize>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        No,
        OnThePath,
        Done,
    }
    let mut seen = vec![Seen::No; overlays.len()];
    let mut found = Vec::new();
    for start in 0..overlays.len() {
        if seen[start] != Seen::No {
            continue;
        }
        seen[start] = Seen::OnThePath;
        let mut path = vec![(start, 0)];
        while let Some((overlay, next)) = path.last_mut() {
            let Some(need) = overlays[*overlay].needs.get(*next) else {
                seen[*overlay] = Seen::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match by_name.get(&need.value) {
                Some(&needed) if needed != *overlay => match seen[needed] {
                    Seen::No => {
                        seen[needed] = Seen::OnThePath;
                        path.push((needed, 0));
                    }
                    Seen::OnThePath => {
                        let from = path.iter().position(|&(index, _)| index == needed).unwrap_or(0);
                        found.push(path[from..].iter().map(|&(index, _)| index).collect());
                    }
                    Seen::Done => {}
                },
                _ => {}
            }
        }
    }
    found
}

fn report_cycle(overlays: &[Overlay], cycle: &[usize], problems: &mut Problems) {
    let Some(&first) = cycle.first() else { return };
    let shown = cycle.iter().chain([&first]).map(|&index| format!("`{}`", overlays[index].name.as_str()));
    let message = if cycle.len() <= 6 {
        format!("overlays need each other: {}", shown.collect::<Vec<_>>().join(" -> "))
    } else {
        format!("{} overlays need each other in a circle", cycle.len())
    };
    let mut diagnostic = Diagnostic::error("needs-cycle", message).hint("remove one of these from `needs`");
    for (position, &index) in cycle.iter().enumerate().take(6) {
        let next = &overlays[cycle[(position + 1) % cycle.len()]].name.value;
        let Some(need) = overlays[index].needs.iter().find(|need| need.value == *next) else { continue };
        let place =
            problems.place(need.span.clone(), format!("`{}` needs this", overlays[index].name.as_str()));
        if diagnostic.at.is_none() {
            diagnostic.at = Some(place);
        } else {
            diagnostic.more.push(place);
        }
    }
    problems.report(diagnostic);
}

fn check_rivals(overlays: &[Overlay], problems: &mut Problems) {
    let mut groups: SortedMap<&Name, Vec<&Overlay>> = SortedMap::new();
    for overlay in overlays {
        if let Some(group) = &overlay.rivals {
            groups.get_or_insert(&group.value, Vec::new()).push(overlay);
        }
    }
    for (group, members) in groups {
        let active: Vec<_> = members.iter().filter(|member| member.active).collect();
        let what = format!("the rivals `{}`", group.as_str());
        match active.as_slice() {
            [_] => {}
            [] => {
                let mut diagnostic = Diagnostic::error("rivals", format!("none of {what} is active"))
                    .hint("write active = true in the one that is to be applied");
                mark(&mut diagnostic, &members, "not active", problems);
                problems.report(diagnostic);
            }
            several => {
                let mut diagnostic =
                    Diagnostic::error("rivals", format!("{} of {what} are active", several.len()))
                        .note("rivals are alternatives: one is applied, the others stand back")
                        .hint("write active = false in all but one");
                mark(&mut diagnostic, several.iter().copied(), "active", problems);
                problems.report(diagnostic);
            }
        }
    }
}

fn mark<'a>(
    diagnostic: &mut Diagnostic,
    members: impl IntoIterator<Item = &'a &'a Overlay>,
    label: &str,
    problems: &Problems,
) {
    for member in members.into_iter().take(6) {
        let place = problems.place(member.name.span.clone(), label);
        if diagnostic.at.is_none() {
            diagnostic.at = Some(place);
        } else {
            diagnostic.more.push(place);
        }
    }
}

fn check_features(tables: &Tables<'_>, problems: &mut Problems) {
    for overlay in tables.overlays {
        if let Some(why) = contradiction(&overlay.when, tables.exclusive) {
            let (first, second, label) = explain(why);
            problems.report(
                Diagnostic::error("never-on", format!("overlay `{}` can never be on", overlay.name.as_str()))
                    .at(second.at(problems, label))
                    .and(first.at(problems, ""))
                    .note("all features in `when` must hold at the same time")
                    .hint("remove one of them, or make two overlays"),
            );
        }
    }
    for profile in tables.profiles {
        let on: Vec<_> = profile
            .features
            .iter()
            .map(|name| Located {
                value: super::Condition { feature: name.value.clone(), negated: false },
                span: name.span.clone(),
            })
            .collect();
        if let Some(why) = contradiction(&on, tables.exclusive) {
            let (first, second, label) = explain(why);
            let name = profile.name.as_str();
            problems.report(
                Diagnostic::error(
                    "never-on",
                    format!("profile `{name}` turns on features that exclude each other"),
                )
                .at(second.at(problems, label))
                .and(first.at(problems, ""))
                .hint("remove one of them, or make two profiles"),
            );
        }
    }
    warn_of_unknown_features(tables, problems);
}

/// Features can come from the command line, too, so a name that nobody else uses is only suspicious.
fn warn_of_unknown_features(tables: &Tables<'_>, problems: &mut Problems) {
    let known: SortedSet<&Name> = tables
        .profiles
        .iter()
        .flat_map(|profile| &profile.features)
        .chain(tables.exclusive.iter().flatten())
        .map(|name| &name.value)
        .collect();
    if known.is_empty() {
        return;
    }
    let conditions =
        tables.overlays.iter().flat_map(|overlay| overlay.when.iter().map(move |c| (overlay, c)));
    for (overlay, condition) in conditions.filter(|(_, condition)| !known.contains(&condition.feature)) {
        let feature = condition.feature.as_str();
        let message = format!(
            "overlay `{}` depends on feature `{feature}`, which no profile turns on",
            overlay.name.as_str()
        );
        let place = problems.place(condition.span.clone(), "only `--features` can turn this on");
        let diagnostic = Diagnostic::new(Severity::Warning, "unknown-feature", message).at(place);
        let meant =
            if problems.is_full() { None } else { closest(feature, known.iter().map(|name| name.as_str())) };
        problems.report_absent(match meant {
            Some(meant) => diagnostic.hint(format!("did you mean `{meant}`?")),
            None => diagnostic.hint(format!("add `{feature}` to the features of a profile")),
        });
    }
}

/// A test needs something that is built, unless its profiles import the upstream as it is.
fn check_what_is_built(tables: &Tables<'_>, problems: &mut Problems) {
    for test in tables.tests.iter().filter(|test| test.project.is_none() && test.target.is_none()) {
        let mut own = profiles_of(test, tables).peekable();
        if own.peek().is_some() && own.all(|profile| !profile.python_path.is_empty()) {
            continue;
        }
        let message = format!("test `{}` has neither `project` nor `target`", test.name.as_str());
        problems.report_absent(
            Diagnostic::error("missing-key", message)
                .at(problems.place(test.name.span.clone(), "what is built for it?"))
                .note("`project` is a CMake project of ours, `target` one of its targets, or one of the upstream's; only profiles with `python-path` need none")
                .hint("add target = \"...\", and project = \"...\" if the upstream does not have it"),
        );
    }
}

/// The profiles that a test runs under.
fn profiles_of<'a>(test: &'a Test, tables: &Tables<'a>) -> impl Iterator<Item = &'a Profile> {
    tables.profiles.iter().filter(|profile| {
        test.profiles.is_empty() || test.profiles.iter().any(|name| name.value == profile.name.value)
    })
}

/// A sanitizer that no profile of the test lets run would be a check that nobody makes.
fn warn_of_sanitizers_that_never_run(tables: &Tables<'_>, problems: &mut Problems) {
    for test in tables.tests {
        let own: Vec<&Profile> = profiles_of(test, tables).collect();
        for sanitizer in &test.sanitizers {
            let runs =
                |profile: &&Profile| test.sanitizers_under(Some(profile)).any(|s| s == sanitizer.value);
            if own.is_empty() || own.iter().any(runs) {
                continue;
            }
            let word = sanitizer.value.as_str();
            let why = match sanitizer.value.is_built_in() {
                true => "every profile of the test requires a device, and this watches what runs without one",
                false => "no profile of the test requires a device, and this watches kernels on one",
            };
            let message = format!("`{word}` never watches test `{}`", test.name.as_str());
            let diagnostic = Diagnostic::new(Severity::Warning, "sanitizer-never-runs", message)
                .at(problems.place(sanitizer.span.clone(), why));
            problems.report_absent(match sanitizer.value.is_built_in() {
                true => diagnostic.hint("add a profile without `requires` to the test"),
                false => diagnostic.hint("add `requires = \"cuda\"` to a profile of the test"),
            });
        }
    }
}
