//! How many challenge ACKs (RFC 5961) may leave.

use crate::units::Instant;

/// The challenges of one period.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Challenges {
    /// Which period since the run began, modulo 2^16: 91 hours.
    period: u16,
    sent: u8,
}

impl Challenges {
    pub(crate) const NONE: Self = Self { period: 0, sent: 0 };

    /// Whether one more may leave; if so, it is counted.
    ///
    /// RFC 5961, section 7: "in any 5 second window, no more than 10 challenge ACKs should be sent".
    /// Counted for each connection: a count for the whole host tells others about this one
    /// (CVE-2016-5696).
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let [low, high, ..] = (now.as_nanos() / PERIOD_NANOS).to_le_bytes();
        let period = u16::from_le_bytes([low, high]);
        if period != self.period {
            *self = Self { period, sent: 0 };
        }
        let allowed = self.sent < MAX_CHALLENGES;
        self.sent += u8::from(allowed);
        allowed
    }
}

const MAX_CHALLENGES: u8 = 10;
const PERIOD_NANOS: u64 = 5_000_000_000;

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn ten_challenges_leave_in_five_seconds() {
        let at = |ms| Instant::EPOCH + Duration::from_millis(ms);
        let mut challenges = Challenges::NONE;
        let allowed = (0..100).filter(|_| challenges.take(at(7_000))).count();
        assert_eq!(allowed, 10);
        assert!(!challenges.take(at(9_999)));
        assert!(challenges.take(at(10_000)));
    }
}
