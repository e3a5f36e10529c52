//! The bandwidth of the path by the spacing of acknowledgements: where Hoe's slow start ends.
//!
//! Three acknowledgements of one flight that come closely after each other were spaced by the
//! bottleneck; what they cover in the time between the first and the last is its rate, and its
//! product with the round-trip time is what slow start may fill.
//!
//! Our reading: Heidemann 1997, section 3, says of Hoe 1996 only that she limits "the aggressive phase
//! of slow-start". Three acknowledgements are our choice, and that they must be of one flight.

use crate::units::{Instant, Nanos};

/// What is known of the flight whose acknowledgements come.
#[derive(Clone, Debug, Default)]
pub(crate) struct AckSpacing {
    first: Option<First>,
    /// Acknowledgements after the first one.
    further: u8,
}

/// The first acknowledgement of a flight.
#[derive(Clone, Copy, Debug)]
struct First {
    at: Instant,
    una: u64,
    /// All that was sent when it came.
    sent: u64,
}

impl AckSpacing {
    /// Everything before `una` is acknowledged, everything before `sent` was sent; the
    /// bandwidth-delay product in bytes, once three acknowledgements of a flight have come.
    pub(crate) fn on_ack(&mut self, una: u64, sent: u64, srtt: Nanos, now: Instant) -> Option<u32> {
        let Some(first) = self.first.filter(|first| una <= first.sent) else {
            (self.first, self.further) = (Some(First { at: now, una, sent }), 0);
            return None;
        };
        self.further += 1;
        let span = Nanos::between(first.at, now);
        if self.further < FURTHER || span.is_zero() {
            return None;
        }
        let bytes = u128::from(una - first.una) * u128::from(srtt.get()) / u128::from(span.get());
        Some(u32::try_from(bytes).unwrap_or(u32::MAX))
    }
}

/// Three acknowledgements.
const FURTHER: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Nanos = Nanos::from_millis(100);

    const fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn three_acknowledgements_of_one_flight_give_the_product() {
        let mut spacing = AckSpacing::default();
        // 2,000 bytes every 10 ms are 20,000 in a round trip.
        assert_eq!(spacing.on_ack(2_001, 8_001, SRTT, at(100)), None);
        assert_eq!(spacing.on_ack(4_001, 12_001, SRTT, at(110)), None);
        assert_eq!(spacing.on_ack(6_001, 16_001, SRTT, at(120)), Some(20_000));
    }

    #[test]
    fn acknowledgements_of_several_flights_or_at_once_give_nothing() {
        let mut spacing = AckSpacing::default();
        for (una, sent, ms) in [(1_001, 2_001, 0), (2_001, 4_001, 10), (3_001, 6_001, 100)] {
            assert_eq!(spacing.on_ack(una, sent, SRTT, at(ms)), None, "{ms} ms");
        }
        let mut spacing = AckSpacing::default();
        for una in [1_001, 2_001, 3_001, 4_001] {
            assert_eq!(spacing.on_ack(una, 9_001, SRTT, at(7)), None);
        }
    }
}
