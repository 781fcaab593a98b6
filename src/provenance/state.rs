//! The decision: the state of one path, from contents that are already read.

use crate::id::UpstreamPath;
use crate::lex::{self, Delta};
use crate::merge::{Conflict, Labels, Merged, Style, merge};
use crate::tree::Content;

use super::absorb::is_absorbed;
use super::{Note, State};

/// What an overlay makes of a path.
#[derive(Debug, Clone)]
pub(super) enum Ours<'a> {
    /// The overlay names the whole content; `None`: the path goes away.
    Whole(Option<&'a Content>),
    /// The overlay is a change.
    Change {
        /// What the change makes of the base; `Err`: it does not apply there, and why.
        on_base: Result<Option<&'a Content>, String>,
        /// What it makes of the pin; `Err`: it does not apply there, and why.
        on_pin: Result<Option<&'a Content>, String>,
    },
}

/// What is known of a path before the decision.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) path: &'a UpstreamPath,
    /// Upstream's content at the base.
    pub(super) base: Option<&'a Content>,
    /// Upstream's content at the pin.
    pub(super) pin: Option<&'a Content>,
    pub(super) ours: Ours<'a>,
    /// Whether the pin is older than the base: then what upstream has at the base is newer than the pin's.
    pub(super) ahead: bool,
    /// Whether the overlay moves the path to another one that upstream does not have as the overlay makes it.
    pub(super) moves_away: bool,
    /// Whether what the overlay gives is what upstream had before base and pin, or has after the pin.
    pub(super) elsewhere: Elsewhere,
}

/// Whether upstream had or has a content at another time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Elsewhere {
    /// Before base and pin. Never asked of a change.
    Older,
    /// After the pin.
    Newer,
    /// Neither.
    Nowhere,
    /// That cannot be told, and why.
    Unknown(String),
}

/// The decision.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decided {
    pub(super) state: State,
    pub(super) why: String,
    pub(super) notes: Vec<Note>,
}

impl Decided {
    fn new(state: State, why: impl Into<String>) -> Self {
        Self { state, why: why.into(), notes: Vec::new() }
    }
}

/// Whether two contents do the same: equal in bytes, or token by token without comments.
pub(super) fn does_the_same(path: &UpstreamPath, a: Option<&Content>, b: Option<&Content>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => lex::compare_contents(path, a, b).is_at_most(Delta::Comments),
        _ => false,
    }
}

/// The state of a path: the first row of the design's table that holds.
pub(super) fn decide(facts: &Facts<'_>) -> Decided {
    let same = |a, b| does_the_same(facts.path, a, b);
    let (base, pin) = (facts.base, facts.pin);
    let (at_pin, on_base, failed) = match &facts.ours {
        Ours::Whole(content) => (Some(*content), Ok(*content), None),
        Ours::Change { on_base, on_pin } => {
            (on_pin.as_ref().ok().copied(), on_base.clone(), on_pin.as_ref().err())
        }
    };
    // What a change makes of its base, it makes no more where upstream has just that.
    let has_it = failed.is_some() && !facts.moves_away && on_base.as_ref().is_ok_and(|ours| same(*ours, pin));
    // A path that the overlay takes away and upstream took away, too, is done.
    let both_absent = pin.is_none() && (at_pin == Some(None) || has_it);
    if base.is_some() && pin.is_none() && !both_absent {
        return Decided::new(State::Gone, "upstream had the path at the base and has it no more at the pin");
    }
    if let Some(ours) = at_pin
        && same(ours, pin)
    {
        let why = match (ours, pin) {
            (Some(ours), Some(pin)) if ours != pin => "it differs from upstream at the pin in comments only",
            (None, None) => "upstream does not have the path at the pin either",
            _ => "it is what upstream has at the pin",
        };
        return Decided::new(State::Redundant, why);
    }
    if has_it {
        let why = match pin {
            Some(_) => "upstream has what it makes of the base, so it applies no more",
            None => "upstream does not have the path at the pin either",
        };
        return Decided::new(State::Redundant, why);
    }
    if base.is_none() {
        return match pin {
            Some(_) => {
                Decided::new(State::Collides, "it was new at the base; upstream has another one by now")
            }
            // The path comes from another one, on which the change does not fit.
            None if failed.is_some() => {
                let why = format!("it does not apply at the pin: {}", failed.map_or("", String::as_str));
                Decided::new(State::StaleConflict, why)
            }
            None => Decided::new(State::New, "upstream has no such path, neither at the base nor at the pin"),
        };
    }
    if let Ours::Whole(Some(ours)) = &facts.ours
        && base != pin
        && !facts.ahead
        && same(Some(ours), base)
    {
        let why = if Some(*ours) == base {
            "it is what upstream had at the base"
        } else {
            "it is what upstream had at the base, comments aside"
        };
        return Decided::new(State::Rollback, why);
    }
    let at_newer_base = || facts.ahead && at_pin.is_some_and(|ours| same(ours, base));
    match &facts.elsewhere {
        Elsewhere::Older => return Decided::new(State::Rollback, "it is what upstream had before the base"),
        Elsewhere::Newer => return newer(at_pin),
        Elsewhere::Nowhere if at_newer_base() => return newer(at_pin),
        Elsewhere::Nowhere => {}
        Elsewhere::Unknown(why) => {
            let what = match facts.ours {
                Ours::Whole(Some(_)) => "it is an older content of upstream's",
                _ => "it is what upstream has after the pin",
            };
            return Decided::new(State::Unknown, format!("whether {what} cannot be told: {why}"));
        }
    }
    stale_or_fresh(facts, on_base, failed)
}

fn newer(ours: Option<Option<&Content>>) -> Decided {
    let why = match ours {
        Some(None) => "upstream has no such path after the pin",
        _ => "it is what upstream has after the pin",
    };
    Decided::new(State::Backport, why)
}

fn stale_or_fresh(
    facts: &Facts<'_>,
    on_base: Result<Option<&Content>, String>,
    failed: Option<&String>,
) -> Decided {
    let (base, pin) = (facts.base, facts.pin);
    let conflict = |why: &str, notes| Decided { state: State::StaleConflict, why: why.to_owned(), notes };
    let ours = match on_base {
        Ok(ours) => ours,
        // A change that never fitted its base: all that can be told is whether it applies at the pin.
        Err(why) => {
            return match failed {
                Some(_) => conflict(&format!("it applies neither at its base nor at the pin: {why}"), vec![]),
                None => Decided::new(State::Unknown, format!("it does not apply at its base: {why}")),
            };
        }
    };
    let labels = Labels { base: "base", ours: "overlay", theirs: "upstream" };
    let merged = merge(base, ours, pin, Style::Merge, labels);
    if base != pin && is_absorbed(facts.path, base, ours, pin) {
        return Decided::new(State::Absorbed, "upstream has by now all that it adds");
    }
    if base == pin {
        return match failed {
            Some(why) => conflict(&format!("it does not apply at the pin: {why}"), vec![]),
            None => Decided::new(State::Fresh, "upstream did not change the path between base and pin"),
        };
    }
    match (failed, merged) {
        (Some(why), _) => {
            conflict(&format!("upstream changed the path, and it no longer applies: {why}"), vec![])
        }
        (None, Merged::Conflict(found)) if matches!(facts.ours, Ours::Whole(_)) => {
            let why = format!("upstream changed the path, and the merge does not fit: {found}");
            conflict(&why, vec![Note::Conflict(without_text(found))])
        }
        (None, _) => Decided::new(State::StaleClean, "upstream changed the path; the change still fits"),
    }
}

/// A note needs no copy of the file.
fn without_text(conflict: Conflict) -> Conflict {
    match conflict {
        Conflict::Text { places, .. } => Conflict::Text { marked: Vec::new(), places },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Content {
        Content::file(text.as_bytes())
    }

    fn state(base: Option<&str>, ours: Option<&str>, pin: Option<&str>, is_older: bool) -> State {
        let [base, ours, pin] = [base, ours, pin].map(|text| text.map(file));
        decide(&Facts {
            path: &UpstreamPath::parse("k.cu").unwrap(),
            base: base.as_ref(),
            pin: pin.as_ref(),
            ours: Ours::Whole(ours.as_ref()),
            ahead: false,
            moves_away: false,
            elsewhere: if is_older { Elsewhere::Older } else { Elsewhere::Nowhere },
        })
        .state
    }

    const ONE: &str = "int a;\nint b;\nint c;\nint d;\nint e;\n";
    const TWO: &str = "int a;\nint b;\nint c;\nint d;\nint E;\n";

    #[test]
    fn whole_content_has_the_state_of_the_table() {
        let delta = "int A;\nint b;\nint c;\nint d;\nint e;\n";
        let clash = "int a;\nint b;\nint c;\nint d;\nint x;\n";
        let comment = format!("// ours\n{TWO}");
        let old_comment = format!("// ours\n{ONE}");
        let both = "int A;\nint b;\nint c;\nint d;\nint E;\n";
        for (base, ours, pin, older, expected) in [
            (Some(ONE), Some(delta), Some(ONE), false, State::Fresh),
            (Some(ONE), Some(delta), Some(TWO), false, State::StaleClean),
            (Some(ONE), Some(clash), Some(TWO), false, State::StaleConflict),
            (Some(ONE), Some(TWO), Some(TWO), false, State::Redundant),
            (Some(ONE), Some(comment.as_str()), Some(TWO), false, State::Redundant),
            (Some(ONE), Some(ONE), Some(TWO), false, State::Rollback),
            (Some(ONE), Some(old_comment.as_str()), Some(TWO), false, State::Rollback),
            (Some(TWO), Some(ONE), Some(TWO), true, State::Rollback),
            (Some(ONE), Some(delta), Some(both), false, State::Absorbed),
            (None, Some(ONE), None, false, State::New),
            (None, Some(ONE), Some(TWO), false, State::Collides),
            (None, Some(TWO), Some(TWO), false, State::Redundant),
            (Some(ONE), Some(delta), None, false, State::Gone),
            (Some(ONE), None, Some(ONE), false, State::Fresh),
            (Some(ONE), None, Some(TWO), false, State::StaleConflict),
            (Some(ONE), None, None, false, State::Redundant),
        ] {
            assert_eq!(state(base, ours, pin, older), expected, "{base:?} {ours:?} {pin:?}");
        }
    }

    #[test]
    fn a_change_replays_on_the_pin() {
        let (base, pin) = (file(ONE), file(TWO));
        let (on_base, on_pin) = (file(&ONE.replace("int a", "int A")), file(&TWO.replace("int a", "int A")));
        let state = |on_base: Result<&Content, &str>, on_pin: Result<&Content, &str>, pin: &Content| {
            change(Some(&base), on_base.map(Some), on_pin.map(Some), Some(pin), Elsewhere::Nowhere)
        };
        assert_eq!(state(Ok(&on_base), Ok(&on_pin), &pin), State::StaleClean);
        assert_eq!(state(Ok(&on_base), Err("no"), &pin), State::StaleConflict);
        assert_eq!(state(Ok(&on_base), Err("no"), &on_pin), State::Absorbed);
        assert_eq!(state(Ok(&on_base), Ok(&on_base), &base), State::Fresh);
        assert_eq!(state(Err("no"), Err("no"), &pin), State::StaleConflict);
        assert_eq!(state(Err("no"), Ok(&on_pin), &pin), State::Unknown);
    }

    #[test]
    fn what_a_change_makes_of_its_base_may_be_what_upstream_has() {
        let (base, made) = (file(ONE), file(TWO));
        let commented = file(&format!("// theirs\n{TWO}"));
        let state = |base, on_base, pin| change(base, Ok(on_base), Err("no"), pin, Elsewhere::Nowhere);
        assert_eq!(state(None, Some(&made), Some(&made)), State::Redundant);
        assert_eq!(state(None, Some(&made), Some(&commented)), State::Redundant);
        assert_eq!(state(None, Some(&made), Some(&base)), State::Collides);
        assert_eq!(state(Some(&base), Some(&made), Some(&commented)), State::Redundant);
        assert_eq!(state(Some(&base), None, None), State::Redundant);
        assert_eq!(state(Some(&base), Some(&made), None), State::Gone);
    }

    #[test]
    fn what_a_change_makes_of_the_pin_may_be_newer_but_never_older() {
        let (base, made) = (file(ONE), file(TWO));
        let state = |on_pin, elsewhere| change(Some(&base), Ok(Some(&made)), on_pin, Some(&base), elsewhere);
        assert_eq!(state(Ok(Some(&made)), Elsewhere::Newer), State::Backport);
        assert_eq!(state(Ok(None), Elsewhere::Newer), State::Backport);
        assert_eq!(state(Ok(Some(&made)), Elsewhere::Unknown("cut".to_owned())), State::Unknown);
        assert_eq!(state(Ok(Some(&made)), Elsewhere::Nowhere), State::Fresh);
        assert_eq!(state(Err("no"), Elsewhere::Nowhere), State::StaleConflict);
    }

    /// The state of a change.
    fn change<'a>(
        base: Option<&'a Content>,
        on_base: Result<Option<&'a Content>, &str>,
        on_pin: Result<Option<&'a Content>, &str>,
        pin: Option<&'a Content>,
        elsewhere: Elsewhere,
    ) -> State {
        let path = UpstreamPath::parse("k.cu").unwrap();
        let ours =
            Ours::Change { on_base: on_base.map_err(str::to_owned), on_pin: on_pin.map_err(str::to_owned) };
        let facts = Facts { path: &path, base, pin, ours, ahead: false, moves_away: false, elsewhere };
        decide(&facts).state
    }
}
