//! How likely something is, in millionths.

/// A probability in millionths, so that a stream gives the same decisions on every platform.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Probability {
    per_million: u32,
}

impl Probability {
    /// `None` above a million.
    #[inline]
    #[must_use]
    pub const fn per_million(value: u32) -> Option<Self> {
        if value <= MILLION { Some(Self { per_million: value }) } else { None }
    }

    /// In millionths.
    #[inline]
    #[must_use]
    pub const fn as_per_million(self) -> u32 {
        self.per_million
    }
}

const MILLION: u32 = 1_000_000;
