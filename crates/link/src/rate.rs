//! Bits per second, and what was computed of them last.

use ackwise_tcp::ByteCount;

pub use ackwise_units::Rate;

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
            *known = (size.0, self.rate.map_or(0, |rate| rate.serialization_nanos(size)));
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
    use core::time::Duration;

    use super::*;

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
