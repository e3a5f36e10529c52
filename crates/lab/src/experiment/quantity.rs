//! Numbers of packets and segments, which experiment files write with their unit.

use std::num::NonZeroU32;

pub(crate) use ackwise_units::{Quantity, parse};

/// Packets in a queue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Packets(pub(crate) NonZeroU32);

impl Quantity for Packets {
    const EXPECTED: &'static str = "a number of packets, such as \"25 packets\"";
    const RANGE: &'static str = "at least one";
    const UNITS: &'static [(&'static str, u64)] = &[("packets", 1), ("packet", 1)];

    fn from_base(base: u64) -> Option<Self> {
        u32::try_from(base).ok().and_then(NonZeroU32::new).map(Self)
    }
}

/// Full segments in a window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Segments(pub(crate) u32);

impl Quantity for Segments {
    const EXPECTED: &'static str = "a number of segments, such as \"13 segments\"";
    const RANGE: &'static str = "in 32 bits";
    const UNITS: &'static [(&'static str, u64)] = &[("segments", 1), ("segment", 1)];

    fn from_base(base: u64) -> Option<Self> {
        u32::try_from(base).ok().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole_and_have_their_unit() {
        assert_eq!(parse("25 packets").ok(), NonZeroU32::new(25).map(Packets));
        assert_eq!(parse("1 segment"), Ok(Segments(1)));
        assert!(parse::<Packets>("0 packets").is_err() && parse::<Segments>("13").is_err());
    }
}
