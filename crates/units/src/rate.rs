//! Bits per second.

use core::{num::NonZeroU64, time::Duration};

use crate::ByteCount;

/// A link rate. Bits per second, as link rates are quoted; never zero.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Rate {
    bits_per_second: NonZeroU64,
}

impl Rate {
    /// `None` for zero: a link that carries nothing is down, not slow.
    #[inline]
    #[must_use]
    pub const fn bits_per_second(value: u64) -> Option<Self> {
        match NonZeroU64::new(value) {
            Some(bits_per_second) => Some(Self { bits_per_second }),
            None => None,
        }
    }

    /// Bits per second.
    #[inline]
    #[must_use]
    pub const fn get(self) -> u64 {
        self.bits_per_second.get()
    }

    /// Time to send `size`, rounded up to a nanosecond, so that a link never finishes early.
    /// Saturates at 584 years.
    #[inline]
    #[must_use]
    pub fn serialization_delay(self, size: ByteCount) -> Duration {
        Duration::from_nanos(self.serialization_nanos(size))
    }

    /// The same in nanoseconds.
    #[inline]
    #[must_use]
    pub fn serialization_nanos(self, size: ByteCount) -> u64 {
        const NANOBITS: u64 = 8_000_000_000;
        let rate = self.bits_per_second.get();
        // A 128-bit division takes ten times as long, and packets are small.
        match size.0.checked_mul(NANOBITS) {
            Some(bits) => bits.div_ceil(rate),
            None => {
                let nanos = (u128::from(size.0) * u128::from(NANOBITS)).div_ceil(rate.into());
                u64::try_from(nanos).unwrap_or(u64::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_what_it_was_made_of() {
        assert_eq!(Rate::bits_per_second(1_500_000).map(Rate::get), Some(1_500_000));
        assert_eq!(Rate::bits_per_second(0), None);
    }

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
            let delay = Rate::bits_per_second(rate).unwrap().serialization_delay(ByteCount(size));
            assert_eq!(delay, Duration::from_nanos(nanos), "{size} bytes at {rate} bit/s");
        }
        assert_eq!(Rate::bits_per_second(0), None);
    }
}
