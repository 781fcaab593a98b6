//! Figures of speed: is the difference between the two sides beyond the measured noise and `min-gain`?
//!
//! Never takes "too noisy to tell" for "no difference".

use crate::kernel_test::Better;
use crate::kernel_test::repeats::median;

/// How many samples a side needs before anything is said.
pub const MIN_SAMPLES: usize = 5;
/// After how many samples more of them will not help.
pub const MAX_SAMPLES: usize = 20;

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
    /// Fewer samples than [`MIN_SAMPLES`] on a side.
    TooFew,
    /// The noise is larger than the difference and larger than what counts.
    Noisy {
        /// The noise, as a share.
        noise: f64,
    },
}

/// Compares two series of samples.
///
/// The difference is that of the medians, relative to the one without. The noise is three standard errors of
/// that difference (of a median: about 1.25 standard deviations over the root of the number of samples). A
/// difference counts if it is larger than the noise and than `min_gain`; there is none if both together are
/// not larger than `min_gain`.
#[must_use]
pub fn compare(without: &[f64], with: &[f64], better: Better, min_gain: f64) -> Speed {
    if without.len() < MIN_SAMPLES || with.len() < MIN_SAMPLES {
        return Speed::TooFew;
    }
    let (Some(a), Some(b)) = (median(without), median(with)) else { return Speed::TooFew };
    if !(a.is_finite() && b.is_finite() && a > 0.0 && b > 0.0) {
        return Speed::Noisy { noise: f64::INFINITY };
    }
    let gain = match better {
        Better::Lower => (a - b) / a,
        Better::Higher => (b - a) / a,
    };
    let noise = 3.0 * 1.2533 * (error_squared(without) + error_squared(with)).sqrt() / a;
    let min_gain = if min_gain.is_finite() { min_gain.max(0.0) } else { f64::INFINITY };
    if gain.abs() > noise && gain.abs() > min_gain {
        if gain > 0.0 { Speed::Better { by: gain } } else { Speed::Worse { by: -gain } }
    } else if gain.abs() + noise <= min_gain {
        Speed::Same
    } else {
        Speed::Noisy { noise }
    }
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

    #[test]
    fn a_difference_beyond_noise_and_min_gain_counts() {
        assert!(
            matches!(compare(&SLOW, &FAST, Better::Lower, 0.05), Speed::Better { by } if (by - 0.3).abs() < 0.01)
        );
        assert!(matches!(compare(&FAST, &SLOW, Better::Lower, 0.05), Speed::Worse { by } if by > 0.4));
        assert!(matches!(compare(&SLOW, &FAST, Better::Higher, 0.05), Speed::Worse { .. }));
        // Below what counts, and surely so.
        assert_eq!(compare(&SLOW, &FAST, Better::Lower, 0.5), Speed::Same);
        assert_eq!(compare(&SLOW, &SLOW, Better::Lower, 0.05), Speed::Same);
    }

    #[test]
    fn noise_is_not_equality() {
        let wild = [5.0, 15.0, 9.0, 12.0, 7.0];
        assert!(matches!(compare(&SLOW, &wild, Better::Lower, 0.05), Speed::Noisy { .. }));
        assert!(matches!(compare(&SLOW, &SLOW, Better::Lower, 0.0), Speed::Noisy { .. }));
        assert_eq!(compare(&SLOW[..4], &FAST, Better::Lower, 0.05), Speed::TooFew);
        assert!(matches!(compare(&[0.0; 5], &FAST, Better::Lower, 0.05), Speed::Noisy { .. }));
    }
}
