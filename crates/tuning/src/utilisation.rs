//! A buffer size from how much of the buffer is used.
//!
//! Okamoto et al. 2001, section 3.1, decreases send buffers that "are not fully utilized", and
//! sizes receive buffers "by monitoring the utilization of the receive socket buffer". It gives
//! neither a measure of use nor a step, so all parameters are our choice.
//!
//! In a send buffer, the bytes that are not acknowledged count as used. In a receive buffer, it is
//! the bytes that arrive within one round trip, and not those that wait to be read: a program that
//! reads immediately keeps its buffer empty, even if the buffer is too small for the sender's
//! window.

use ackwise_tcp::ByteCount;

use crate::{
    demand::{Demand, DemandReason},
    ratio::Percent,
};

/// A buffer in one interval.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Use {
    /// Its size.
    pub assigned: ByteCount,
    /// The most that was used of it.
    pub peak: ByteCount,
}

/// When a buffer grows or shrinks, once an interval.
///
/// It at most doubles or halves. It stays while its utilisation is between `low` and `full`. A buffer
/// that shrinks ends there, so the size is steady if the use is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct UseRule {
    full: Percent,
    target: Percent,
    low: Percent,
    /// The smallest size.
    pub least: ByteCount,
}

impl UseRule {
    /// A buffer grows from 90 % utilisation, and shrinks below 50 % to a size with 70 %, but not
    /// below 1 KB. Our choices; 1 KB is the paper's minimum for idle connections (section 4).
    pub const DEFAULT: Self = {
        let [full, target, low] = [
            Percent::new(90).expect("at most 100"),
            Percent::new(70).expect("at most 100"),
            Percent::new(50).expect("at most 100"),
        ];
        Self { full, target, low, least: ByteCount(1_024) }
    };

    /// `None` unless 0 < low <= target <= full.
    #[must_use]
    pub fn new(full: Percent, target: Percent, low: Percent, least: ByteCount) -> Option<Self> {
        let nothing = Percent::new(0)?;
        let ordered = nothing < low && low <= target && target <= full;
        ordered.then_some(Self { full, target, low, least })
    }

    /// The next size of the buffer, at most `wanted`.
    #[must_use]
    pub fn demand(&self, buffer: Use, wanted: Demand) -> Demand {
        let Use { assigned, peak } = buffer;
        let (bytes, reason) = if self.full.is_reached(peak.0, assigned.0) {
            (assigned.0.saturating_mul(2), DemandReason::Full { assigned })
        } else if self.low.is_reached(peak.0, assigned.0) {
            (assigned.0, DemandReason::WellUsed { peak })
        } else {
            (self.used_well(peak).max(assigned.0 / 2), DemandReason::Unused { peak })
        };
        let bytes = ByteCount(bytes).max(self.least);
        if bytes < wanted.bytes { Demand { bytes, reason } } else { wanted }
    }

    /// The size at which `peak` is the target utilisation.
    fn used_well(&self, peak: ByteCount) -> u64 {
        let scaled = u128::from(peak.0) * 100 / u128::from(self.target.of(100).max(1));
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Demand = Demand { bytes: ByteCount(60_000), reason: DemandReason::PeerWindow };

    fn next(assigned: u64, peak: u64) -> Demand {
        let buffer = Use { assigned: ByteCount(assigned), peak: ByteCount(peak) };
        UseRule::DEFAULT.demand(buffer, WANTED)
    }

    fn because(bytes: u64, reason: DemandReason) -> Demand {
        Demand { bytes: ByteCount(bytes), reason }
    }

    #[test]
    fn a_full_buffer_doubles_up_to_what_is_wanted() {
        let full = |assigned| DemandReason::Full { assigned: ByteCount(assigned) };
        assert_eq!(next(10_000, 10_000), because(20_000, full(10_000)));
        assert_eq!(next(10_000, 9_000), because(20_000, full(10_000)));
        assert_eq!(next(40_000, 40_000), WANTED);
        assert_eq!(next(0, 0), because(1_024, full(0)), "a buffer of nothing can grow");
    }

    #[test]
    fn a_well_used_buffer_stays() {
        for peak in [5_000, 8_999] {
            let reason = DemandReason::WellUsed { peak: ByteCount(peak) };
            assert_eq!(next(10_000, peak), because(10_000, reason));
        }
        assert_eq!(next(70_000, 40_000), WANTED, "more than is wanted");
    }

    #[test]
    fn an_unused_buffer_shrinks_by_half_at_most() {
        let unused = |peak| DemandReason::Unused { peak: ByteCount(peak) };
        assert_eq!(next(10_000, 4_200), because(6_000, unused(4_200)));
        assert_eq!(next(10_000, 100), because(5_000, unused(100)));
        assert_eq!(next(1_100, 0), because(1_024, unused(0)));
    }

    #[test]
    fn a_steady_use_has_a_steady_size() {
        for peak in (0..60_000).step_by(77) {
            let mut size = 16_384;
            for _ in 0..30 {
                size = next(size, peak.min(size)).bytes.0;
            }
            assert_eq!(next(size, peak.min(size)).bytes.0, size, "{peak} B used");
            assert!(size >= peak, "{peak} B used of {size}");
        }
    }

    #[test]
    fn the_marks_are_ordered() {
        let rule = |full, target, low| {
            let [full, target, low] = [full, target, low].map(|it| Percent::new(it).unwrap());
            UseRule::new(full, target, low, ByteCount(1_024))
        };
        assert_eq!(rule(90, 70, 50), Some(UseRule::DEFAULT));
        assert!(rule(50, 50, 50).is_some());
        assert_eq!([rule(70, 90, 50), rule(90, 50, 70), rule(90, 70, 0)], [None; 3]);
    }
}
