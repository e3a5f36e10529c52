//! Samples compared with closed forms, and the draws themselves, which must not change.

mod golden;
mod sizes;
mod spans;
mod usable;

use alloc::vec::Vec;

use ackwise_link::Seed;

/// Draws per comparison.
const DRAWS: u32 = 200_000;

/// A sample in ascending order, from its own fixed seed.
fn sample(name: &str, mut draw: impl FnMut(&mut ackwise_link::Stream) -> f64) -> Vec<f64> {
    let mut stream = Seed(1).named(name).stream();
    let mut sample: Vec<f64> = (0..DRAWS).map(|_| draw(&mut stream)).collect();
    sample.sort_unstable_by(f64::total_cmp);
    sample
}

/// Kolmogorov–Smirnov test: the greatest distance between the sample's distribution function and
/// `below` is under 1.95 / sqrt(n), which a correct generator exceeds for one in a thousand seeds;
/// this seed is fixed. `step` is the granularity to which draws are rounded down.
fn assert_distributed(name: &str, sample: &[f64], step: f64, below: impl Fn(f64) -> f64) {
    let n = sample.len() as f64;
    let mut distance = 0.0_f64;
    for (rank, &x) in sample.iter().enumerate() {
        // Equal draws share one step of the sample's function: compare at its ends.
        let last = sample.get(rank + 1).is_none_or(|next| *next > x);
        let first = rank == 0 || sample[rank - 1] < x;
        if last {
            distance = distance.max((((rank + 1) as f64) / n - below(x + step)).abs());
        }
        if first {
            distance = distance.max((rank as f64 / n - below(x)).abs());
        }
    }
    assert!(distance * n.sqrt() < 1.95, "{name}: distance {distance} of {n}");
}

/// The sample's mean is within five standard errors of `mean`.
fn assert_mean(name: &str, sample: &[f64], mean: f64) {
    let n = sample.len() as f64;
    let found = sample.iter().sum::<f64>() / n;
    let variance = sample.iter().map(|x| (x - found).powi(2)).sum::<f64>() / n;
    let error = (variance / n).sqrt();
    assert!((found - mean).abs() < 5.0 * error, "{name}: {found} instead of {mean} +- {error}");
}

fn quantile(sample: &[f64], share: f64) -> f64 {
    #[expect(clippy::cast_possible_truncation, reason = "a rank lies in the sample")]
    let rank = (share * sample.len() as f64) as usize;
    sample[rank]
}
