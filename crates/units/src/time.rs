//! Points in time and spans, in nanoseconds.

use core::{
    fmt,
    iter::Sum,
    ops::{Add, Div, Mul, Sub},
    time::Duration,
};

/// A point in time: nanoseconds since the run began.
///
/// There is no `Instant::now()`. A simulator advances it; a driver on the wire derives it from the
/// monotonic clock, once per wake-up.
#[derive(Clone, Copy, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Instant {
    nanos: u64,
}

impl Instant {
    /// The beginning of the run.
    pub const EPOCH: Self = Self { nanos: 0 };
    /// Later than anything that happens.
    pub const FAR_FUTURE: Self = Self { nanos: u64::MAX };

    /// The point `nanos` nanoseconds after the beginning of the run.
    #[inline]
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self { nanos }
    }

    /// Nanoseconds since the run began.
    #[inline]
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.nanos
    }

    /// Time elapsed since `earlier`.
    ///
    /// # Panics
    ///
    /// If `earlier` is later: time never runs backwards, so the caller has a bug.
    #[inline]
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        assert!(earlier <= self, "time ran backwards: {earlier:?} > {self:?}");
        Duration::from_nanos(self.nanos - earlier.nanos)
    }

    /// Time elapsed since `earlier`; none if that is later, as it may be with times that were
    /// estimated.
    #[inline]
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanos.saturating_sub(earlier.nanos))
    }

    /// The point so much earlier, [`Instant::EPOCH`] at the earliest.
    #[inline]
    #[must_use]
    pub fn saturating_sub(self, span: Duration) -> Self {
        let span = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Self { nanos: self.nanos.saturating_sub(span) }
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Saturates at [`Instant::FAR_FUTURE`], 584 years after the beginning.
    #[inline]
    fn add(self, span: Duration) -> Self {
        self + Nanos::of(span)
    }
}

impl Sub for Instant {
    type Output = Duration;

    #[inline]
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

/// Seconds with six decimals, as packet traces print them.
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.nanos / 1_000;
        write!(f, "{}.{:06}", micros / 1_000_000, micros % 1_000_000)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.nanos / 1_000_000_000, self.nanos % 1_000_000_000)
    }
}

/// A span of time in nanoseconds; it saturates at both ends.
///
/// For code that adds and compares many spans for each segment: `Duration` keeps seconds and
/// nanoseconds apart, and its arithmetic took 6 % of all instructions of one function of the capture
/// analyser. Public functions take and return `Duration`.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Nanos(u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `nanos` nanoseconds.
    #[inline]
    #[must_use]
    pub const fn new(nanos: u64) -> Self {
        Self(nanos)
    }

    /// `micros` microseconds.
    #[inline]
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    /// `millis` milliseconds.
    #[inline]
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A `Duration` of up to 584 years; a longer one counts as that.
    #[inline]
    #[must_use]
    pub const fn of(span: Duration) -> Self {
        Self(
            span.as_secs().saturating_mul(1_000_000_000).saturating_add(span.subsec_nanos() as u64),
        )
    }

    /// From `earlier` to `later`; zero if they are the other way round, as estimated times may be.
    #[inline]
    #[must_use]
    pub const fn between(earlier: Instant, later: Instant) -> Self {
        Self(later.as_nanos().saturating_sub(earlier.as_nanos()))
    }

    /// The number of nanoseconds.
    #[inline]
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whole microseconds.
    #[inline]
    #[must_use]
    pub const fn micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Whether it is [`Nanos::ZERO`].
    #[inline]
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The difference, whichever of the two is longer.
    #[inline]
    #[must_use]
    pub const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }
}

impl Add for Nanos {
    type Output = Self;

    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Self;

    #[inline]
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Nanos {
    type Output = Self;

    #[inline]
    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Nanos {
    type Output = Self;

    #[inline]
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl Sum for Nanos {
    #[inline]
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl Add<Nanos> for Instant {
    type Output = Self;

    #[inline]
    fn add(self, span: Nanos) -> Self {
        Self::from_nanos(self.as_nanos().saturating_add(span.0))
    }
}

impl Sub<Nanos> for Instant {
    type Output = Self;

    /// [`Instant::EPOCH`] at the earliest.
    #[inline]
    fn sub(self, span: Nanos) -> Self {
        Self::from_nanos(self.as_nanos().saturating_sub(span.0))
    }
}

impl From<Nanos> for Duration {
    #[inline]
    fn from(span: Nanos) -> Self {
        Self::from_nanos(span.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_saturate_at_both_ends() {
        let (short, long) = (Nanos::from_micros(2), Nanos::from_millis(3));
        assert_eq!((short + long, long - short), (Nanos::new(3_002_000), Nanos::new(2_998_000)));
        assert_eq!((short - long, short.abs_diff(long)), (Nanos::ZERO, Nanos::new(2_998_000)));
        assert_eq!((long * 2, long / 2), (Nanos::new(6_000_000), Nanos::new(1_500_000)));
        let longest = Nanos::new(u64::MAX);
        assert_eq!((longest + short, longest * 2), (longest, longest));
        assert_eq!([short, long, short].into_iter().sum::<Nanos>(), Nanos::new(3_004_000));
        assert_eq!([longest, short].into_iter().sum::<Nanos>(), longest);
        assert!(Nanos::ZERO.is_zero() && !short.is_zero());
        assert_eq!((short.get(), Duration::from(long)), (2_000, Duration::from_millis(3)));
        assert_eq!((long.micros(), Nanos::new(1_999).micros()), (3_000, 1));
        assert_eq!(
            (Nanos::of(Duration::from_millis(3)), Nanos::of(Duration::MAX)),
            (long, longest)
        );
    }

    #[test]
    fn instants_saturate_at_both_ends() {
        let at = Instant::from_nanos(5_000);
        let (micro, milli) = (Nanos::from_micros(1), Nanos::from_millis(1));
        assert_eq!(
            (at + micro, at - micro),
            (Instant::from_nanos(6_000), Instant::from_nanos(4_000))
        );
        assert_eq!(
            (at - milli, Instant::FAR_FUTURE + micro),
            (Instant::EPOCH, Instant::FAR_FUTURE)
        );
        assert_eq!(Nanos::between(at, at + micro), micro);
        assert_eq!(Nanos::between(at + micro, at), Nanos::ZERO);
        let (span, long) = (Duration::from_micros(1), Duration::from_secs(2));
        assert_eq!(
            (at.saturating_sub(span), at.saturating_sub(long)),
            (at - micro, Instant::EPOCH)
        );
        assert_eq!((at + long).as_nanos(), 2_000_005_000);
        assert_eq!(at + Duration::MAX, Instant::FAR_FUTURE);
        assert_eq!(
            ((at + span).saturating_since(at), at.saturating_since(at + span)),
            (span, Duration::ZERO)
        );
        assert_eq!((at + span) - at, span);
    }

    #[test]
    #[should_panic(expected = "time ran backwards")]
    fn time_does_not_run_backwards() {
        let _ = Instant::EPOCH.since(Instant::from_nanos(1));
    }

    #[test]
    fn instants_print_as_packet_traces_do() {
        let at = Instant::from_nanos(12_003_004_005);
        assert_eq!(
            (std::format!("{at}"), std::format!("{at:?}")),
            ("12.003004".into(), "12.003004005s".into())
        );
    }
}
