//! What a proof would build and run, how long that takes, and what is on record.
//!
//! Decides nothing about overlays, and starts nothing.

use crate::evidence::took::Took;
use crate::id::Name;
use crate::io::lab::budget::Left;
use crate::io::lab::campaign::Campaign;
use crate::io::lab::measure::Lab;
use crate::variant::Request;

/// Something that would be built and run.
pub struct Planned {
    /// On which variant.
    pub variant: String,
    /// Which test.
    pub test: Name,
    /// How often.
    pub runs: usize,
    /// One build, if there is something to build, and one run.
    pub took: Took,
    /// All of it, in milliseconds.
    pub millis: Option<u64>,
}

/// Something that is on record and still holds.
pub struct Valid {
    /// On which variant.
    pub variant: String,
    /// Which test.
    pub test: Name,
    /// How often; 0: it does not build.
    pub runs: usize,
}

/// What is wanted, test by test.
pub fn of_request(request: Request) -> impl Iterator<Item = Left> {
    let Request { variant, tests } = request;
    tests.into_iter().map(move |(test, seeds)| Left { variant: variant.clone(), test, runs: seeds.len() })
}

/// How long it takes.
pub fn plan(campaign: &Campaign<'_>, left: Left, lab: &mut Lab<'_>) -> Planned {
    let test = campaign.manifest().test(left.test.as_str());
    let took = test.map(|test| campaign.usually_takes(test, lab)).unwrap_or_default();
    Planned {
        variant: campaign.subjects.label(&left.variant),
        test: left.test,
        runs: left.runs,
        took,
        millis: took.with_runs(left.runs),
    }
}

/// All that is known without running anything.
pub fn valid(campaign: &Campaign<'_>) -> Vec<Valid> {
    let of = |(variant, test, runs)| {
        let test: &Name = test;
        Valid { variant: campaign.subjects.label(variant), test: test.clone(), runs }
    };
    campaign.on_record().map(of).collect()
}
