//! The buffer size of an idle connection.
//!
//! Okamoto et al. 2001, section 3.2: "The socket buffer is not necessary at all when the TCP
//! connection becomes idle. However, we gradually decrease the [...] size [...] by taking account of
//! the fact that as the connection idle time continues, the possibility that the TCP connection is
//! ceased becomes large." A connection that becomes active again keeps what is left until the next
//! division (our choice; the paper does not mention it).

use core::num::NonZeroU64;

use ackwise_tcp::{ByteCount, Instant, Nanos};

/// The buffers of idle connections.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IdleBuffers {
    /// They take part in the division as if active: schemes 2 and 3 of the paper, which excludes
    /// them from it for scheme 4 only.
    KeepShare,
    /// They take no part in it, and shrink: scheme 4.
    Halve(Halving),
}

/// A buffer is halved at regular intervals of idleness.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Halving {
    period: NonZeroU64,
    /// The smallest size.
    pub least: ByteCount,
}

/// The next halving.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Step {
    /// When.
    pub at: Instant,
    /// Its size from then on.
    pub bytes: ByteCount,
}

impl IdleBuffers {
    /// The size at `now` of a buffer that had `held` when its connection became idle.
    #[must_use]
    pub fn size(self, held: ByteCount, since: Instant, now: Instant) -> ByteCount {
        match self {
            Self::KeepShare => held,
            Self::Halve(halving) => halving.size(held, since, now),
        }
    }
}

impl Halving {
    /// Section 4: halved "every 3 sec", and "the minimum size of the socket buffer is 1 KByte".
    pub const OKAMOTO_2001: Self =
        Self { period: NonZeroU64::new(3_000_000_000).expect("not 0"), least: ByteCount(1_024) };

    /// `None` for a period of no time.
    #[must_use]
    pub fn new(period: Nanos, least: ByteCount) -> Option<Self> {
        Some(Self { period: NonZeroU64::new(period.get())?, least })
    }

    /// From one halving to the next.
    #[must_use]
    pub const fn period(self) -> Nanos {
        Nanos::new(self.period.get())
    }

    /// The size at `now`. The first halving comes one period after `since`.
    #[must_use]
    pub fn size(self, held: ByteCount, since: Instant, now: Instant) -> ByteCount {
        self.halved(held, self.periods(since, now))
    }

    /// The next change after `now`; `None` when the buffer is as small as it gets.
    #[must_use]
    pub fn next(self, held: ByteCount, since: Instant, now: Instant) -> Option<Step> {
        let periods = self.periods(since, now);
        let bytes = self.halved(held, periods + 1);
        let at = since + Nanos::new(self.period.get()) * (periods + 1);
        (bytes < self.halved(held, periods)).then_some(Step { at, bytes })
    }

    fn periods(self, since: Instant, now: Instant) -> u64 {
        Nanos::between(since, now).get() / self.period
    }

    /// A buffer that was smaller than the least keeps its size.
    fn halved(self, held: ByteCount, times: u64) -> ByteCount {
        let halved = u32::try_from(times).ok().and_then(|times| held.0.checked_shr(times));
        ByteCount(halved.unwrap_or(0)).max(self.least.min(held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALVING: Halving = Halving::OKAMOTO_2001;

    fn at(millis: u64) -> Instant {
        Instant::EPOCH + Nanos::from_millis(millis)
    }

    /// Idle since one second.
    fn size(held: u64, millis: u64) -> u64 {
        HALVING.size(ByteCount(held), at(1_000), at(1_000 + millis)).0
    }

    #[test]
    fn sixteen_kilobytes_are_one_after_twelve_seconds() {
        let sizes = [0, 2_999, 3_000, 5_999, 6_000, 9_000, 12_000, 15_000, 3_600_000];
        let expected = [16_384, 16_384, 8_192, 8_192, 4_096, 2_048, 1_024, 1_024, 1_024];
        assert_eq!(sizes.map(|millis| size(16_384, millis)), expected);
    }

    #[test]
    fn the_least_is_not_undercut_and_not_given_to_smaller_buffers() {
        assert_eq!([3_000, 6_000].map(|millis| size(3_000, millis)), [1_500, 1_024]);
        assert_eq!(size(600, 9_000), 600);
        assert_eq!(size(u64::MAX, 64 * 3_000), 1_024);
        let to_nothing = Halving::new(Nanos::from_millis(1), ByteCount(0)).unwrap();
        assert_eq!(to_nothing.size(ByteCount(u64::MAX), at(0), Instant::FAR_FUTURE).0, 0);
        assert_eq!(Halving::new(Nanos::ZERO, ByteCount(0)), None);
    }

    #[test]
    fn the_steps_lead_through_the_same_sizes() {
        let held = ByteCount(50_000);
        let mut now = at(1_000);
        let mut count = 0;
        while let Some(step) = HALVING.next(held, at(1_000), now) {
            let before = Instant::from_nanos(step.at.as_nanos() - 1);
            assert!(HALVING.size(held, at(1_000), before) > step.bytes);
            assert_eq!(HALVING.size(held, at(1_000), step.at), step.bytes);
            now = step.at;
            count += 1;
        }
        assert_eq!((count, now), (6, at(19_000)));
        assert_eq!(HALVING.next(ByteCount(1_024), at(0), at(0)), None);
    }

    #[test]
    fn a_clock_that_is_behind_halves_nothing() {
        assert_eq!(HALVING.size(ByteCount(9_000), at(5_000), at(0)), ByteCount(9_000));
    }

    #[test]
    fn buffers_keep_their_share_or_halve() {
        let size = |rule: IdleBuffers| rule.size(ByteCount(8_000), at(0), at(4_000)).0;
        assert_eq!([IdleBuffers::KeepShare, IdleBuffers::Halve(HALVING)].map(size), [8_000, 4_000]);
    }
}
