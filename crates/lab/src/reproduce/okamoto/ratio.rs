//! Pairs of runs with the same requests: what one scheme gives for each that another gives.
//!
//! A seed decides what each client asks for and when it thinks, so a ratio is formed seed by seed, and the
//! interval is that of the ratios. A ratio whose interval contains 1 is a tie, and a tie is no difference.

use super::sweep::{CLASSES, Run, Sweep};
use crate::{reproduce::claim::Holds, run::Estimate};

/// A case: number of clients, scheme.
pub(super) type Place<'a> = (u32, &'a str);

/// A ratio with its interval of 95 %.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratio {
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// How much a difference that is "little" may be (our choice; the paper's words have no number).
pub(super) const LITTLE: f64 = 0.05;

/// What is "significantly" or "much" better, as a factor (our choice).
pub(super) const MUCH: f64 = 1.5;

impl Ratio {
    /// `None` without pairs; a single pair has no interval, so it is any.
    pub(super) fn of(ratios: &[f64]) -> Option<Self> {
        let Estimate { mean, ci95, .. } = Estimate::of(ratios)?;
        let half = ci95.unwrap_or(f64::INFINITY);
        Some(Self { mean, low: mean - half, high: mean + half })
    }

    /// Above `factor`, with its interval.
    pub(super) fn exceeds(&self, factor: f64) -> bool {
        self.low > factor
    }

    pub(super) fn is_below(&self, factor: f64) -> bool {
        self.high < factor
    }

    /// Within [`LITTLE`] of 1, with its interval.
    pub(super) fn is_little(&self) -> bool {
        self.low > 1.0 - LITTLE && self.high < 1.0 + LITTLE
    }

    /// Beyond [`LITTLE`] of 1, with its interval.
    pub(super) fn is_more_than_little(&self) -> bool {
        self.high < 1.0 - LITTLE || self.low > 1.0 + LITTLE
    }
}

/// Whether all these differences are little. An interval that reaches across the limit decides nothing.
pub(super) fn all_little<'a>(ratios: impl IntoIterator<Item = &'a Ratio> + Clone) -> Holds {
    if ratios.clone().into_iter().any(Ratio::is_more_than_little) {
        Holds::No
    } else if ratios.into_iter().all(Ratio::is_little) {
        Holds::Yes
    } else {
        Holds::NotTestable
    }
}

impl Sweep {
    /// What Figure 4 shows, of `one` for each of `other`.
    pub(super) fn bytes(&self, one: Place<'_>, other: Place<'_>) -> Option<Ratio> {
        self.ratio(one, other, |a, b| Some(a.bytes_both() / b.bytes_both()))
    }

    /// What Figure 5 shows: the response time by size of the document. The ratio is the geometric mean
    /// over classes of sizes, so no size counts more than another.
    pub(super) fn times(&self, one: Place<'_>, other: Place<'_>) -> Option<Ratio> {
        self.ratio(one, other, |a, b| geometric_mean(&a.times, &b.times))
    }

    /// The same if documents that clients still waited for at the end count with the time until then,
    /// which is less than they took.
    pub(super) fn times_at_least(&self, one: Place<'_>, other: Place<'_>) -> Option<Ratio> {
        self.ratio(one, other, |a, b| geometric_mean(&a.at_least, &b.at_least))
    }

    pub(super) fn ratio(
        &self,
        one: Place<'_>,
        other: Place<'_>,
        of: impl Fn(&Run, &Run) -> Option<f64>,
    ) -> Option<Ratio> {
        let pairs = self.runs(one.0, one.1).iter().zip(self.runs(other.0, other.1));
        let ratios: Vec<f64> = pairs.filter_map(|(one, other)| of(one, other)).collect();
        Ratio::of(&ratios)
    }

    /// A value with its interval.
    pub(super) fn estimate(
        &self,
        (clients, scheme): Place<'_>,
        of: impl Fn(&Run) -> Option<f64>,
    ) -> Option<Ratio> {
        let values: Vec<f64> = self.runs(clients, scheme).iter().filter_map(of).collect();
        Ratio::of(&values)
    }
}

pub(super) type Classes = [Option<(f64, u32)>; CLASSES.len()];

/// Fewer documents than these show no mean of a class (our choice).
const LEAST_DOCUMENTS: u32 = 5;

pub(super) fn geometric_mean(one: &Classes, other: &Classes) -> Option<f64> {
    let pairs = one.iter().zip(other).filter_map(|(one, other)| Some((((*one)?), ((*other)?))));
    let known = pairs.filter(|(one, other)| one.1.min(other.1) >= LEAST_DOCUMENTS);
    let logarithms: Vec<f64> = known.map(|(one, other)| (one.0 / other.0).ln()).collect();
    Some(Estimate::of(&logarithms)?.mean.exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tie_is_no_difference_and_not_always_little() {
        let ratio = |values: &[f64]| Ratio::of(values).unwrap();
        let better = ratio(&[1.10, 1.12, 1.11]);
        assert!(better.exceeds(1.0) && !better.exceeds(1.11) && !better.is_little());
        let same = ratio(&[1.01, 0.99, 1.00]);
        assert!(!same.exceeds(1.0) && !same.is_below(1.0) && same.is_little());
        let unknown = ratio(&[0.8, 1.2, 1.0]);
        assert!(!unknown.exceeds(1.0) && !unknown.is_little() && !unknown.is_more_than_little());
        assert_eq!(all_little([&same, &same]), Holds::Yes);
        assert_eq!(all_little([&same, &unknown]), Holds::NotTestable);
        assert_eq!(all_little([&same, &unknown, &better]), Holds::No);
        let single = ratio(&[2.0]);
        assert!(!single.exceeds(1.0) && !single.is_below(3.0), "one pair has no interval");
        assert!(Ratio::of(&[]).is_none());
    }

    #[test]
    fn each_class_of_sizes_counts_once() {
        let mut classes = [[None; CLASSES.len()]; 2];
        classes[0][0] = Some((200.0, 1_000));
        classes[1][0] = Some((100.0, 1_000));
        classes[0][5] = Some((100.0, 5));
        classes[1][5] = Some((200.0, 7));
        // Too few to count.
        classes[0][7] = Some((100.0, 4));
        classes[1][7] = Some((1.0, 900));
        let mean = geometric_mean(&classes[0], &classes[1]).unwrap();
        assert!((mean - 1.0).abs() < 1e-12, "{mean}");
    }
}
