//! Selects the packets that a fault affects.

use alloc::vec::Vec;

use ackwise_units::Probability;

use crate::seed::{Seed, Stream};

/// The packets that a fault affects.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Pick {
    /// None.
    #[default]
    Never,
    /// Each with this probability, independently of the others (Bernoulli).
    Random(Probability),
    /// The nth packets offered to the link, counted from 1, in any order.
    Nth(Vec<u64>),
}

/// A [`Pick`] with its position in the sequence of packets.
#[derive(Clone, Debug)]
pub(crate) struct Picker {
    pick: Pick,
    stream: Stream,
    offered: u64,
}

impl Picker {
    pub(crate) fn new(mut pick: Pick, seed: Seed) -> Self {
        if let Pick::Nth(numbers) = &mut pick {
            numbers.sort_unstable();
        }
        Self { pick, stream: seed.stream(), offered: 0 }
    }

    /// Whether the next packet is affected. One call per packet.
    pub(crate) fn next(&mut self) -> bool {
        self.offered += 1;
        match &self.pick {
            Pick::Never => false,
            Pick::Random(probability) => self.stream.hits(*probability),
            Pick::Nth(numbers) => numbers.binary_search(&self.offered).is_ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn hits(pick: Pick, packets: u64) -> Vec<u64> {
        let mut picker = Picker::new(pick, Seed(1));
        (1..=packets).filter(|_| picker.next()).collect()
    }

    fn random(per_million: u32) -> Pick {
        Pick::Random(Probability::per_million(per_million).unwrap())
    }

    #[test]
    fn scripted_ones_are_hit_in_any_order() {
        assert_eq!(hits(Pick::Nth(vec![7, 1, 3, 1, 0]), 10), [1, 3, 7]);
        assert!(hits(Pick::Never, 10).is_empty());
    }

    #[test]
    fn never_and_always_are_exact() {
        assert!(hits(random(0), 5_000_000).is_empty());
        assert_eq!(hits(random(1_000_000), 10_000).len(), 10_000);
        assert_eq!(Probability::per_million(1_000_001), None);
    }

    #[test]
    fn the_rate_is_the_probability() {
        // Five standard deviations of a binomial distribution.
        let packets = 1_000_000;
        for per_million in [100, 10_000, 50_000, 500_000] {
            let p = f64::from(per_million) / 1e6;
            let tolerance = 5.0 * (p * (1.0 - p) * 1e6).sqrt();
            let count = hits(random(per_million), packets).len() as f64;
            assert!((count - p * 1e6).abs() < tolerance, "{count} of a million at {p}");
        }
    }
}
