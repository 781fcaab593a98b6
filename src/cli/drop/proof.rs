//! Whether overlays may go: each by its own verdict, and several only if all of them together were proven, too.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::escape::{for_shell, for_terminal};
use crate::id::{Name, OverlayName};
use crate::io::store::Store;
use crate::io::workspace::Workspace;
use crate::manifest::Profile;
use crate::report::facts::AtOnce;
use crate::verdict::group::Together;
use crate::verdict::{Reason, Verdict};

use super::super::bench::{counted, profile_name};
use super::super::report::gather::Gathered;
use super::super::report::group::{self, Group};
use super::super::report::{options, should_go};
use super::super::{Answer, Context, Failure, Ui};

/// An overlay that is to go, and what is known of it.
pub(super) struct Judged<'w> {
    pub gathered: Gathered<'w>,
    /// What a drop still needs.
    pub gaps: Vec<Reason>,
}

impl Judged<'_> {
    pub fn name(&self) -> &OverlayName {
        self.gathered.loaded.name()
    }

    /// Whether the evidence says that it can go by itself.
    pub fn is_proven(&self) -> bool {
        should_go(self.gathered.verdict()) && self.gaps.is_empty()
    }

    fn reasons(&self) -> Vec<String> {
        // What a drop still needs matters only where the verdict says that it can go.
        match should_go(self.gathered.verdict()) {
            true => self.gaps.iter().map(|gap| gap.text.clone()).collect(),
            false => self.gathered.reasons(),
        }
    }
}

/// Why it is not proven that several overlays can go at once.
pub(super) struct NotTogether {
    profile: Option<Name>,
    text: String,
    /// Whether a proof may say otherwise.
    is_open: bool,
}

/// Where it is not proven that all of these can go at once, under the profiles that turn several of them on.
pub(super) fn together(
    context: &Context,
    workspace: &Workspace,
    judged: &[Judged<'_>],
    store: &Store,
    ui: &mut Ui,
) -> Result<Vec<NotTogether>, Failure> {
    let names: Vec<OverlayName> = judged.iter().map(|one| one.name().clone()).collect();
    let mut profiles: Vec<Option<&Profile>> = workspace.manifest.profiles.iter().map(Some).collect();
    if profiles.is_empty() {
        profiles.push(None);
    }
    let (mut missing, mut seen) = (Vec::new(), Vec::new());
    for profile in profiles {
        let Some(group) = group::known(context, workspace, profile, Some(&names), store, ui)? else {
            continue;
        };
        let of_reports = reported(judged, profile_name(profile), &group.overlays);
        seen.extend(of_reports.iter().flat_map(|at_once| at_once.measured.machine.device_names()));
        if group.answer == Together::AllCanGo {
            seen.extend(group.measured.machine.device_names());
        } else if of_reports.is_empty() {
            missing.push(NotTogether::of(group, profile_name(profile)));
        }
    }
    // What the pin has all of is the same on any device.
    let tested = judged.iter().filter(|one| one.gathered.verdict() != Verdict::Redundant);
    if tested.clone().count() > 1 {
        let devices = tested.flat_map(|one| &one.gathered.loaded.overlay.devices);
        missing.extend(unseen(devices.map(|device| device.value.as_str()), &seen));
    }
    Ok(missing)
}

/// The devices that overlays name and that nothing on all of them is from.
fn unseen<'a>(named: impl Iterator<Item = &'a str>, seen: &[String]) -> Vec<NotTogether> {
    let named: BTreeSet<&str> = named.filter(|device| !seen.iter().any(|known| known == device)).collect();
    let of = |device: &str| NotTogether {
        profile: None,
        text: format!("whether they can go at once is not known from a device `{device}`"),
        is_open: true,
    };
    named.into_iter().map(of).collect()
}

/// What reports say from what was measured elsewhere, if nothing has changed since.
fn reported<'j>(
    judged: &'j [Judged<'_>],
    profile: Option<&Name>,
    overlays: &[OverlayName],
) -> Vec<&'j AtOnce> {
    let is_redundant = |name: &OverlayName| {
        let of = judged.iter().find(|one| one.name() == name);
        of.is_some_and(|one| one.gathered.verdict() == Verdict::Redundant)
    };
    let speaks = |at_once: &&AtOnce| {
        at_once.measured.profile.as_ref() == profile
            && at_once.overlays == overlays
            && at_once.redundant.iter().all(is_redundant)
    };
    judged.iter().flat_map(|one| &one.gathered.together).filter(speaks).collect()
}

impl NotTogether {
    fn of(group: Group, profile: Option<&Name>) -> Self {
        let names: Vec<String> = group.overlays.iter().map(|name| format!("`{name}`")).collect();
        let names = names.join(", ");
        let under = profile.map(|profile| format!(" under profile `{profile}`")).unwrap_or_default();
        let (text, is_open) = match group.answer {
            Together::AllCanGo => (String::new(), false),
            Together::NotTogether { cases } => {
                let cases = counted(cases.len(), "case");
                let text = format!(
                    "not all of {names} can go at once{under}: {cases} would fail without all of them"
                );
                (text, false)
            }
            Together::Unknown { reasons } => {
                let why = reasons.first().map(|reason| format!(": {}", reason.text)).unwrap_or_default();
                (format!("whether all of {names} can go at once is not known{under}{why}"), true)
            }
        };
        Self { profile: profile.cloned(), text, is_open }
    }
}

/// Says why nothing is dropped, and which command would prove it.
pub(super) fn refuse(
    context: &Context,
    judged: &[Judged<'_>],
    missing: &[NotTogether],
    ui: &mut Ui,
) -> Answer {
    let names = judged.iter().map(|one| for_shell(one.name().as_str())).collect::<Vec<_>>().join(" ");
    let prove = format!("overlaid{} prove {names}", options(&of_profile(context, judged, missing)));
    // Only dropping one of them first leads on from there.
    let is_closed = !missing.is_empty() && missing.iter().all(|one| !one.is_open);
    if ui.is_json() {
        let of = |one: &Judged<'_>| json!({ "overlay": one.name(), "verdict": one.gathered.verdict(), "reasons": one.reasons() });
        let overlays: Vec<Value> = judged.iter().map(of).collect();
        let mut document = match overlays.as_slice() {
            [one] => one.clone(),
            _ => json!({ "together": missing.iter().map(|one| &one.text).collect::<Vec<_>>() }),
        };
        document["schema"] = "overlaid.drop.v1".into();
        document["dropped"] = false.into();
        document["overlays"] = overlays.into();
        document["prove"] = prove.into();
        ui.document(&document);
        return Answer::No;
    }
    for one in judged {
        let (name, verdict) = (one.name(), one.gathered.verdict());
        if one.is_proven() {
            ui.line(format_args!("{name}: {}; not dropped, for all go or none", verdict.as_str()));
            continue;
        }
        ui.line(format_args!("{name}: not dropped; the verdict is {}", verdict.as_str()));
        for reason in one.reasons() {
            ui.line(format_args!("  {}", for_terminal(reason)));
        }
    }
    for one in missing {
        ui.line(for_terminal(&one.text));
    }
    match judged {
        [one] if one.gathered.verdict() == Verdict::Needed => {
            ui.note(format_args!("hint: to see what breaks without it: {prove}"));
        }
        [first, ..] if is_closed => ui.note(format_args!(
            "hint: drop one, and prove again: overlaid{} drop {}",
            options(context),
            for_shell(first.name().as_str())
        )),
        _ => ui.note(format_args!("hint: what would prove it: {prove}")),
    }
    Answer::No
}

/// Where only a profile is missing, that is what is to be run.
fn of_profile(context: &Context, judged: &[Judged<'_>], missing: &[NotTogether]) -> Context {
    let gaps = judged.iter().filter(|one| should_go(one.gathered.verdict())).flat_map(|one| &one.gaps);
    let mut of_gaps =
        gaps.filter(|gap| gap.code == "other-profile").filter_map(|gap| gap.text.split('`').nth(1));
    let of_group = missing.iter().find(|one| one.is_open).and_then(|one| one.profile.as_ref());
    let profile = of_gaps.next().or(of_group.map(Name::as_str));
    match profile {
        Some(profile) => Context { profile: Some(profile.to_owned()), ..context.clone() },
        None => context.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_device_that_one_of_them_names_must_have_seen_all_of_them() {
        let texts = |seen: &[&str]| {
            let seen: Vec<String> = seen.iter().map(ToString::to_string).collect();
            let missing = unseen(["sm_90", "sm_80", "sm_90"].into_iter(), &seen);
            assert!(missing.iter().all(|one| one.is_open));
            missing.into_iter().map(|one| one.text).collect::<Vec<_>>()
        };
        assert_eq!(texts(&["NVIDIA H200", "sm_90", "sm_80"]), Vec::<String>::new());
        assert_eq!(texts(&["sm_90"]), ["whether they can go at once is not known from a device `sm_80`"]);
        assert_eq!(texts(&[]).len(), 2);
    }
}
