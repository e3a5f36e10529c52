//! Bits per second.

use core::{num::NonZeroU64, time::Duration};

use ackwise_tcp::ByteCount;

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

    /// Time to send `size`, rounded up to a nanosecond, so that a link never finishes early.
    /// Saturates at 584 years.
    #[must_use]
    pub fn serialization_delay(self, size: ByteCount) -> Duration {
        Duration::from_nanos(self.nanos(size))
    }

    fn nanos(self, size: ByteCount) -> u64 {
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

/// An optional rate with the cached delays of the last small and the last large packet: most
/// packets of a link have one of two sizes, and a division takes longer than the rest of a push.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    rate: Option<Rate>,
    /// Size and delay in nanoseconds.
    known: [(u64, u64); 2],
}

impl Pace {
    pub(crate) const fn new(rate: Option<Rate>) -> Self {
        // Zero bytes take no time at any rate.
        Self { rate, known: [(0, 0); 2] }
    }

    /// [`Rate::serialization_delay`] in nanoseconds; 0 without a rate.
    #[inline]
    pub(crate) fn serialization_nanos(&mut self, size: ByteCount) -> u64 {
        let known = &mut self.known[usize::from(size.0 >= Self::LARGE)];
        if known.0 != size.0 {
            *known = (size.0, self.rate.map_or(0, |rate| rate.nanos(size)));
        }
        known.1
    }

    pub(crate) const fn rate(&self) -> Option<Rate> {
        self.rate
    }

    /// Boundary in bytes between acknowledgements and data.
    const LARGE: u64 = 256;
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

    #[test]
    fn what_is_remembered_is_what_is_computed() {
        for rate in [Rate::bits_per_second(1_500_000), Rate::bits_per_second(3), None] {
            let mut pace = Pace::new(rate);
            for size in [0, 1_500, 40, 1_500, 255, 256, 40, 256, 0, u64::MAX, 255].map(ByteCount) {
                let delay = rate.map_or(Duration::ZERO, |rate| rate.serialization_delay(size));
                assert_eq!(Duration::from_nanos(pace.serialization_nanos(size)), delay);
            }
        }
    }
}
