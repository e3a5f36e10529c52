//! How often something happens.

use core::num::NonZeroU64;

/// A number of events per second; never zero.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Frequency {
    per_million_seconds: NonZeroU64,
}

impl Frequency {
    /// Events in a million seconds: at least one, and at most a billion per second.
    #[must_use]
    pub fn per_million_seconds(events: u64) -> Option<Self> {
        let per_million_seconds = NonZeroU64::new(events).filter(|it| it.get() <= MOST)?;
        Some(Self { per_million_seconds })
    }

    /// Events per second.
    #[must_use]
    pub fn per_second(self) -> f64 {
        self.per_million_seconds.get() as f64 / 1e6
    }
}

/// More is a mistake: a clock has as many ticks. Our choice.
const MOST: u64 = 1_000_000_000 * 1_000_000;
