//! A stream of random numbers for each purpose, so that adding a link, or a fault to a link, does
//! not change the random numbers of another.

use ackwise_units::Probability;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

/// The seed of a stream.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Seed(pub u64);

impl Seed {
    /// Derives the seed of a part: FNV-1a (64 bits) over this seed's eight bytes, least significant
    /// first, then over `name`. Independent of the other parts.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let bytes = self.0.to_le_bytes().into_iter().chain(name.bytes());
        Self(bytes.fold(OFFSET_BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME)))
    }

    /// The stream of this seed.
    #[must_use]
    pub fn stream(self) -> Stream {
        Stream { generator: Xoshiro256PlusPlus::seed_from_u64(self.0) }
    }
}

/// The random number generator of faults and simulations: xoshiro256++, seeded by SplitMix64 as its
/// authors recommend. The numbers are the same on every platform and in every version.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stream {
    generator: Xoshiro256PlusPlus,
}

impl Stream {
    /// The next number, uniform in 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// The next number, uniform in [0, 1): a multiple of 2^-53, from the upper 53 bits, so that
    /// each is exact in an `f64` and none is rounded up to 1.
    pub fn unit(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.next_u64() >> 11) as f64 * STEP
    }

    /// The next number, uniform in `0..bound`; 0 for a bound of 0. The bias is below `bound` /
    /// 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        let scaled = (u128::from(self.next_u64()) * u128::from(bound)) >> 64;
        u64::try_from(scaled).expect("the upper half of 128 bits has 64")
    }

    /// Draws a decision with this probability. The bias is below 2^-44.
    pub fn hits(&mut self, probability: Probability) -> bool {
        self.below(MILLION) < probability.as_per_million().into()
    }
}

const MILLION: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        // Computed from the published definitions of FNV-1a, SplitMix64 and xoshiro256++, not with
        // this code: a new version of a dependency must not change old results.
        let seed = Seed(1).named("uplink").named("loss");
        assert_eq!(seed, Seed(0x8004_6e82_abe1_d888));
        let mut stream = seed.stream();
        assert_eq!(
            [stream.next_u64(), stream.next_u64(), stream.next_u64()],
            [0x6871_743a_67bc_7ca8, 0xaf87_99a8_f71a_f652, 0x5a46_13f5_dd76_c9f1]
        );
    }

    #[test]
    fn a_unit_is_made_of_the_upper_53_bits() {
        let mut stream = Seed(1).named("uplink").named("loss").stream();
        let bits = [0x6871_743a_67bc_7ca8_u64, 0xaf87_99a8_f71a_f652, 0x5a46_13f5_dd76_c9f1];
        for bits in bits {
            assert_eq!(stream.unit().to_bits(), ((bits >> 11) as f64 / 2_f64.powi(53)).to_bits());
        }
    }

    #[test]
    fn below_reaches_every_number_and_never_the_bound() {
        let mut stream = Seed(1).stream();
        let mut seen = [0_u32; 7];
        for _ in 0..70_000 {
            seen[usize::try_from(stream.below(7)).unwrap()] += 1;
        }
        // Five standard deviations of a binomial distribution around 10,000.
        assert!(seen.iter().all(|count| count.abs_diff(10_000) < 463), "{seen:?}");
        assert_eq!([stream.below(0), stream.below(1)], [0, 0]);
    }

    #[test]
    fn streams_are_told_apart_by_name_and_seed() {
        let mut firsts: std::vec::Vec<u64> = [(1, "a"), (1, "b"), (2, "a"), (1, "ab"), (1, "ba")]
            .map(|(seed, name)| Seed(seed).named(name).stream().next_u64())
            .into();
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 5);
    }
}
