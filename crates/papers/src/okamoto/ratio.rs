//! Pairs of runs with the same requests: what one scheme gives for each that another gives.
//!
//! A seed decides what each client asks for and when it thinks, so a ratio is formed seed by seed, and the
//! interval is that of the ratios.

use ackwise_lab::run::Estimate;

use super::sweep::{CLASSES, Run, Sweep};
use crate::interval::Interval;

/// A case: number of clients, scheme.
pub(crate) type Place<'a> = (u32, &'a str);

/// What is "significantly" or "much" better, as a factor (our choice).
pub(crate) const MUCH: f64 = 1.5;

impl Sweep {
    /// What Figure 4 shows, of `one` for each of `other`.
    pub(crate) fn bytes(&self, one: Place<'_>, other: Place<'_>) -> Option<Interval> {
        self.ratio(one, other, |a, b| Some(a.bytes_both() / b.bytes_both()))
    }

    /// What Figure 5 shows: the response time by size of the document. The ratio is the geometric mean
    /// over classes of sizes, so no size counts more than another.
    pub(crate) fn times(&self, one: Place<'_>, other: Place<'_>) -> Option<Interval> {
        self.ratio(one, other, |a, b| geometric_mean(&a.times, &b.times))
    }

    /// The same if documents that clients still waited for at the end count with the time until then,
    /// which is less than they took.
    pub(super) fn times_at_least(&self, one: Place<'_>, other: Place<'_>) -> Option<Interval> {
        self.ratio(one, other, |a, b| geometric_mean(&a.at_least, &b.at_least))
    }

    pub(super) fn ratio(
        &self,
        one: Place<'_>,
        other: Place<'_>,
        of: impl Fn(&Run, &Run) -> Option<f64>,
    ) -> Option<Interval> {
        let pairs = self.runs(one.0, one.1).iter().zip(self.runs(other.0, other.1));
        let ratios: Vec<f64> = pairs.filter_map(|(one, other)| of(one, other)).collect();
        Interval::of(&ratios)
    }

    /// A value with its interval.
    pub(super) fn estimate(
        &self,
        (clients, scheme): Place<'_>,
        of: impl Fn(&Run) -> Option<f64>,
    ) -> Option<Interval> {
        let values: Vec<f64> = self.runs(clients, scheme).iter().filter_map(of).collect();
        Interval::of(&values)
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
