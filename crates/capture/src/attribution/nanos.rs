//! Spans of time as one number.

use std::{
    iter::Sum,
    ops::{Add, Div, Mul, Sub},
    time::Duration,
};

use ackwise_tcp::Instant;

/// A span of time in nanoseconds; it saturates at both ends.
///
/// The analyser adds, halves and compares dozens of them for each segment. `Duration` keeps seconds
/// and nanoseconds apart: its arithmetic was 6 % of all instructions, in one function alone.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Nanos(u64);

impl Nanos {
    pub(crate) const ZERO: Self = Self(0);

    pub(crate) const fn new(nanos: u64) -> Self {
        Self(nanos)
    }

    pub(crate) const fn from_micros(micros: u64) -> Self {
        Self(micros * 1_000)
    }

    pub(crate) const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// From `earlier` to `later`; nothing if they are the other way round, as times that were
    /// estimated may be.
    pub(crate) const fn between(earlier: Instant, later: Instant) -> Self {
        Self(later.as_nanos().saturating_sub(earlier.as_nanos()))
    }

    pub(crate) const fn get(self) -> u64 {
        self.0
    }

    pub(crate) const fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub(crate) const fn abs_diff(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }
}

impl Add for Nanos {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanos {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Nanos {
    type Output = Self;

    fn mul(self, factor: u64) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

impl Div<u64> for Nanos {
    type Output = Self;

    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl Add<Nanos> for Instant {
    type Output = Self;

    fn add(self, span: Nanos) -> Self {
        Self::from_nanos(self.as_nanos().saturating_add(span.0))
    }
}

impl Sub<Nanos> for Instant {
    type Output = Self;

    /// [`Instant::EPOCH`] at the earliest.
    fn sub(self, span: Nanos) -> Self {
        Self::from_nanos(self.as_nanos().saturating_sub(span.0))
    }
}

impl From<Nanos> for Duration {
    fn from(span: Nanos) -> Self {
        Self::from_nanos(span.0)
    }
}
