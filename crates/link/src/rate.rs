//! Bits per second.

use core::{num::NonZeroU64, time::Duration};

use ackwise_tcp::Octets;

/// A link rate. Bits per second, as link rates are quoted; never zero.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Rate {
    bits_per_second: NonZeroU64,
}

impl Rate {
    /// `None` for zero: a link that carries nothing is down, not slow.
    #[must_use]
    pub const fn bits_per_second(value: u64) -> Option<Self> {
        match NonZeroU64::new(value) {
            Some(bits_per_second) => Some(Self { bits_per_second }),
            None => None,
        }
    }

    /// Bits per second.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.bits_per_second.get()
    }

    /// Time for `size` to pass, rounded up to a nanosecond: a link never finishes early. What would
    /// last longer than 584 years lasts 584 years.
    #[must_use]
    pub fn serialization_delay(self, size: Octets) -> Duration {
        const NANOBITS: u64 = 8_000_000_000;
        let rate = self.bits_per_second.get();
        // A division in 128 bits costs ten times as much, and packets are small.
        let nanos = match size.0.checked_mul(NANOBITS) {
            Some(bits) => bits.div_ceil(rate),
            None => {
                let nanos = (u128::from(size.0) * u128::from(NANOBITS)).div_ceil(rate.into());
                u64::try_from(nanos).unwrap_or(u64::MAX)
            }
        };
        Duration::from_nanos(nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialization_is_exact_to_the_nanosecond() {
        #[rustfmt::skip]
        let table: &[(u64, u64, u64)] = &[
            (     1_500_000,     1_500,       8_000_000),
            (    10_000_000,     1_500,       1_200_000),
            (        28_800,       552,     153_333_334), // rounded up
            (10_000_000_000,        64,              52), // 51.2
            (10_000_000_000,         0,               0),
            (             3,         1,   2_666_666_667),
            (             1, 1_000_000, 8_000_000_000_000_000),
            ( 8_000_000_000, u64::MAX,        u64::MAX), // in 128 bits
            (             1, u64::MAX,        u64::MAX), // saturated
        ];
        for &(rate, size, nanos) in table {
            let delay = Rate::bits_per_second(rate).unwrap().serialization_delay(Octets(size));
            assert_eq!(delay, Duration::from_nanos(nanos), "{size} octets at {rate} bit/s");
        }
        assert_eq!(Rate::bits_per_second(0), None);
    }
}
