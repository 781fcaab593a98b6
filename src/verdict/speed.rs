//! Figures of speed: is the difference between the two sides beyond the measured noise and `min-gain`?
//!
//! The two sides take turns: a machine that gets slower meanwhile makes noise then, and no difference. Never takes
//! "too noisy to tell" for "no difference".

use crate::kernel_test::Better;
use crate::kernel_test::repeats::median;

/// How many samples a side needs at least before anything is said.
const MIN_SAMPLES: usize = 5;
/// After how many samples more of them will not help.
const MAX_SAMPLES: usize = 20;
/// How many samples a side gets in a further turn.
const TURN: usize = 6;

/// How many samples a side needs, if it gets `first` of them in its first turn: those of two turns as long, so that the
/// order is without, with, with, without.
#[must_use]
pub fn least(first: u32) -> usize {
    MIN_SAMPLES.max(2 * usize::try_from(first).unwrap_or(MAX_SAMPLES))
}

/// How many samples a side should have after its next turn, if noise is in the way of an answer.
#[must_use]
pub fn after_next_turn(have: usize) -> usize {
    (have + TURN).min(MAX_SAMPLES).max(have)
}

/// How two series of samples compare.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// What can be said.
    pub speed: Speed,
    /// The medians without and with the overlay.
    pub medians: [f64; 2],
    /// The noise, as a share of the median without.
    pub noise: f64,
    /// In which direction it is better.
    pub better: Better,
}

impl Comparison {
    /// In words, if there is a difference: `takes 1.40 times as long with it (medians 140 and 100, noise 1.2 %)`.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        let [without, with] = self.medians;
        let is_more_with = with > without;
        if !matches!(self.speed, Speed::Better { .. } | Speed::Worse { .. }) {
            return None;
        }
        let (ratio, side) = if is_more_with { (with / without, "with") } else { (without / with, "without") };
        let does = match self.better {
            Better::Lower => format!("takes {ratio:.2} times as long {side} it"),
            Better::Higher => format!("gives {ratio:.2} times as much {side} it"),
        };
        let noise = self.noise * 100.0;
        Some(format!(
            "{does} (medians {} with and {} without, noise {noise:.1} %)",
            short(with),
            short(without)
        ))
    }
}

/// A figure with four digits.
fn short(value: f64) -> String {
    let digits = 3 - value.abs().max(f64::MIN_POSITIVE).log10().floor() as i32;
    format!("{value:.*}", usize::try_from(digits.clamp(0, 12)).unwrap_or(0))
}

/// How the side with the overlay compares with the side without it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    /// Better with the overlay.
    Better {
        /// By this share of the figure without it.
        by: f64,
    },
    /// Worse with the overlay.
    Worse {
        /// By this share of the figure without it.
        by: f64,
    },
    /// The same: if there is a difference, it is smaller than what counts.
    Same,
    /// Fewer samples on a side than it needs.
    TooFew,
    /// The noise is larger than the difference and larger than what counts.
    Noisy,
}

/// Compares two series of samples. `least`: how many of them a side needs.
///
/// The difference is that of the medians, relative to the one without. The noise is three standard errors of
/// that difference (of a median: about 1.25 standard deviations over the root of the number of samples). A
/// difference counts if it is larger than the noise and than `min_gain`; there is none if both together are
/// not larger than `min_gain`.
#[must_use]
pub fn compare(without: &[f64], with: &[f64], better: Better, min_gain: f64, least: usize) -> Comparison {
    let medians = [median(without).unwrap_or(f64::NAN), median(with).unwrap_or(f64::NAN)];
    let [a, b] = medians;
    let said = |speed, noise| Comparison { speed, medians, noise, better };
    if without.len() < least || with.len() < least {
        return said(Speed::TooFew, f64::INFINITY);
    }
    if !(a.is_finite() && b.is_finite() && a > 0.0 && b > 0.0) {
        return said(Speed::Noisy, f64::INFINITY);
    }
    let gain = match better {
        Better::Lower => (a - b) / a,
        Better::Higher => (b - a) / a,
    };
    let noise = 3.0 * 1.2533 * (error_squared(without) + error_squared(with)).sqrt() / a;
    let min_gain = if min_gain.is_finite() { min_gain.max(0.0) } else { f64::INFINITY };
    let speed = if gain.abs() > noise && gain.abs() > min_gain {
        if gain > 0.0 { Speed::Better { by: gain } } else { Speed::Worse { by: -gain } }
    } else if gain.abs() + noise <= min_gain {
        Speed::Same
    } else {
        Speed::Noisy
    };
    said(speed, noise)
}

/// The variance of the mean.
fn error_squared(samples: &[f64]) -> f64 {
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    samples.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>() / (n - 1.0) / n
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: [f64; 5] = [10.0, 10.1, 9.9, 10.05, 9.95];
    const FAST: [f64; 5] = [7.0, 7.1, 6.9, 7.05, 6.95];

    fn speed(without: &[f64], with: &[f64], better: Better, min_gain: f64) -> Speed {
        compare(without, with, better, min_gain, 5).speed
    }

    #[test]
    fn a_difference_beyond_noise_and_min_gain_counts() {
        let faster = speed(&SLOW, &FAST, Better::Lower, 0.05);
        assert!(matches!(faster, Speed::Better { by } if (by - 0.3).abs() < 0.01));
        assert!(matches!(speed(&FAST, &SLOW, Better::Lower, 0.05), Speed::Worse { by } if by > 0.4));
        assert!(matches!(speed(&SLOW, &FAST, Better::Higher, 0.05), Speed::Worse { .. }));
        // Below what counts, and surely so.
        assert_eq!(speed(&SLOW, &FAST, Better::Lower, 0.5), Speed::Same);
        assert_eq!(speed(&SLOW, &SLOW, Better::Lower, 0.05), Speed::Same);
    }

    #[test]
    fn noise_is_not_equality() {
        let wild = [5.0, 15.0, 9.0, 12.0, 7.0];
        assert_eq!(speed(&SLOW, &wild, Better::Lower, 0.05), Speed::Noisy);
        assert_eq!(speed(&SLOW, &SLOW, Better::Lower, 0.0), Speed::Noisy);
        assert_eq!(speed(&SLOW[..4], &FAST, Better::Lower, 0.05), Speed::TooFew);
        assert_eq!(speed(&[0.0; 5], &FAST, Better::Lower, 0.05), Speed::Noisy);
    }

    #[test]
    fn a_machine_that_gets_slower_makes_noise_and_no_difference() {
        let clock = |turn: std::ops::Range<i32>| turn.map(|at| 100.0 + 3.0 * f64::from(at));
        // One turn each: the side that came second looks slower.
        let (first, second): (Vec<f64>, Vec<f64>) = (clock(0..8).collect(), clock(8..16).collect());
        assert!(matches!(speed(&first, &second, Better::Lower, 0.05), Speed::Worse { .. }));
        // In turns: without, with, with, without.
        let without: Vec<f64> = clock(0..4).chain(clock(12..16)).collect();
        let with: Vec<f64> = clock(4..12).collect();
        assert_eq!(compare(&without, &with, Better::Lower, 0.05, least(4)).speed, Speed::Noisy);
        assert_eq!(compare(&without[..4], &with, Better::Lower, 0.05, least(4)).speed, Speed::TooFew);
    }

    #[test]
    fn turns_are_of_the_same_length_and_come_to_an_end() {
        assert_eq!([1, 2, 4, 5].map(least), [5, 5, 8, 10]);
        assert_eq!([8, 14, 20, 24].map(after_next_turn), [14, 20, 20, 24]);
    }

    #[test]
    fn a_difference_is_told_as_how_many_times() {
        let said = |a: &[f64], b: &[f64], better| compare(a, b, better, 0.05, 5).words();
        let slower = said(&FAST, &SLOW, Better::Lower).unwrap();
        assert!(
            slower.starts_with("takes 1.43 times as long with it (medians 10.00 with and 7.000 without"),
            "{slower}"
        );
        assert!(
            said(&SLOW, &FAST, Better::Lower).unwrap().starts_with("takes 1.43 times as long without it")
        );
        assert!(
            said(&SLOW, &FAST, Better::Higher).unwrap().starts_with("gives 1.43 times as much without it")
        );
        assert_eq!(said(&SLOW, &SLOW, Better::Lower), None);
        assert_eq!([0.00123456, 12345.6].map(short), ["0.001235", "12346"]);
    }
}
