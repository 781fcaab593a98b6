//! Bounds of figures: two figures say something about each other only if they were held against the same bound.
//!
//! An overlay, or an upstream, that loosens a test mends nothing.

use crate::kernel_test::repeats::Bounds;

/// How much two bounds may differ, as a share, and be the same.
const BOUND_ROUNDING: f64 = 1e-6;

/// Whether a bound of one side is another one for the same inputs.
pub(super) fn differ(a: &Bounds, b: &Bounds) -> bool {
    let close = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= BOUND_ROUNDING * a.abs().max(b.abs()),
        (None, None) => true,
        _ => false,
    };
    a.iter().any(|(seed, one)| b.get(seed).is_some_and(|two| !close(one.0, two.0) || !close(one.1, two.1)))
}

/// Whether a bound lets more pass than it did elsewhere, for the same inputs.
pub(super) fn looser(now: &Bounds, before: &Bounds) -> bool {
    let more = |now: Option<f64>, before: Option<f64>, sign: f64| match (now, before) {
        (Some(now), Some(before)) => sign * (now - before) > BOUND_ROUNDING * now.abs().max(before.abs()),
        (None, Some(_)) => true,
        _ => false,
    };
    now.iter().any(|(seed, now)| {
        let before = before.get(seed);
        before.is_some_and(|before| more(now.0, before.0, 1.0) || more(now.1, before.1, -1.0))
    })
}
