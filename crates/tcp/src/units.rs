//! Quantities that must not be confused with one another.

use core::{
    fmt,
    ops::{Add, Sub},
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
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self { nanos }
    }

    /// Nanoseconds since the run began.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.nanos
    }

    /// Time elapsed since `earlier`.
    ///
    /// # Panics
    ///
    /// If `earlier` is later: time never runs backwards, so the caller has a bug.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        assert!(earlier <= self, "time ran backwards: {earlier:?} > {self:?}");
        Duration::from_nanos(self.nanos - earlier.nanos)
    }

    /// Time elapsed since `earlier`; none if that is later, as it may be with times that were
    /// estimated.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanos.saturating_sub(earlier.nanos))
    }

    /// The point so much earlier, [`Instant::EPOCH`] at the earliest.
    #[must_use]
    pub fn saturating_sub(self, span: Duration) -> Self {
        let span = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Self { nanos: self.nanos.saturating_sub(span) }
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Saturates at [`Instant::FAR_FUTURE`], 584 years after the beginning.
    fn add(self, span: Duration) -> Self {
        let span =
            span.as_secs().saturating_mul(1_000_000_000).saturating_add(span.subsec_nanos().into());
        Self { nanos: self.nanos.saturating_add(span) }
    }
}

impl Sub for Instant {
    type Output = Duration;

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

/// A number of bytes. (Not `Bytes`, which in this ecosystem is a buffer.)
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ByteCount(pub u64);
