//! What other devices have measured of an overlay: a verdict for each of them.
//!
//! Decides which records speak for a device: those that hold for today's sources, options and way of running, as far as
//! that can be told here. Never mixes devices: each verdict stands on the records of one place.

use std::collections::BTreeMap;

use crate::evidence::{Machine, elsewhere};
use crate::id::Name;
use crate::manifest::Test;
use crate::variant::Variant;
use crate::verdict::coverage::Elsewhere;
use crate::verdict::{Decision, State};

use super::campaign::{Campaign, Candidate};
use super::measure::Lab;

/// What the records of one other device say of an overlay.
#[derive(Debug, Clone)]
pub struct OnDevice {
    /// The machine.
    pub machine: Machine,
    /// When the newest of them was made, in seconds since 1970.
    pub recorded: i64,
    /// What they say.
    pub decision: Decision,
}

impl OnDevice {
    /// As far as it bears on a drop.
    #[must_use]
    pub fn elsewhere(&self) -> Elsewhere {
        Elsewhere {
            place: elsewhere::words(&self.machine),
            devices: self.machine.device_names(),
            verdict: self.decision.verdict,
        }
    }
}

/// The records of one place.
struct Place {
    machine: Machine,
    recorded: i64,
    states: BTreeMap<(Variant, Name), State>,
}

impl Campaign<'_> {
    /// The verdict of each device from which there are records that hold, save those that the verdict here stands on.
    /// Runs nothing.
    pub fn on_other_devices(&mut self, candidate: &Candidate, lab: &mut Lab<'_>) -> Vec<OnDevice> {
        if candidate.redundant {
            return Vec::new();
        }
        let stands_in = self.measured_by(candidate, lab).into_iter().filter_map(|machine| machine.device);
        let here: Vec<String> = lab.machine().device.clone().into_iter().chain(stands_in).collect();
        let variants = &candidate.variants;
        let witness = variants.witness.iter().flatten();
        let mut places: BTreeMap<String, Place> = BTreeMap::new();
        for variant in [&variants.pin_without, &variants.pin_with].into_iter().chain(witness) {
            let Ok(subject) = self.subjects.get(variant) else { continue };
            for test in self.tests_of_name(&variants.overlay) {
                for (record, state) in lab.states_from_devices(&subject, test, &here) {
                    let place = places.entry(record.place()).or_insert_with(|| Place {
                        machine: record.machine.clone(),
                        recorded: record.recorded,
                        states: BTreeMap::new(),
                    });
                    place.recorded = place.recorded.max(record.recorded);
                    place.states.insert((variant.clone(), test.name.value.clone()), state);
                }
            }
        }
        // Of one device the place that has the most to say: another driver, another compiler is another place.
        let mut of_devices: BTreeMap<Option<String>, Place> = BTreeMap::new();
        for place in places.into_values() {
            let says = |place: &Place| (place.states.len(), place.recorded);
            let device = place.machine.device.clone();
            if of_devices.get(&device).is_none_or(|known| says(known) < says(&place)) {
                of_devices.insert(device, place);
            }
        }
        let of_place = |place: Place| {
            let state = |variant: &Variant, test: &Test| {
                place.states.get(&(variant.clone(), test.name.value.clone())).cloned().unwrap_or_default()
            };
            let (_, decision) = self.basis_on(candidate, &state);
            OnDevice { machine: place.machine.clone(), recorded: place.recorded, decision }
        };
        of_devices.into_values().map(of_place).collect()
    }
}
