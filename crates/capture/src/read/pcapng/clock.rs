//! Time stamps of an interface.

use ackwise_tcp::Instant;

/// How an interface counts time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Clock {
    tick: Tick,
    /// Seconds to add (`if_tsoffset`).
    offset: i64,
}

/// How long a tick is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Tick {
    /// This many nanoseconds.
    Nanos(u64),
    /// The so-many'th part of a nanosecond.
    PerNano(u64),
    /// A second shifted right by this number of bits.
    Binary(u8),
}

impl Tick {
    /// So short that no 64 bits of them reach a nanosecond.
    const NONE: Self = Self::Binary(127);
}

impl Default for Clock {
    /// "If this option is not present, a resolution of 10^-6 is assumed".
    fn default() -> Self {
        Self::new(6, 0)
    }
}

impl Clock {
    /// Section 4.2, `if_tsresol`: "If the Most Significant Bit is equal to zero, the remaining bits
    /// indicates the resolution of the timestamp as a negative power of 10", else of 2.
    pub(super) fn new(resolution: u8, offset: i64) -> Self {
        let tick = match resolution {
            digits @ ..=9 => Tick::Nanos(10_u64.pow(9 - u32::from(digits))),
            digits @ ..0x80 => {
                let parts = 10_u64.checked_pow(u32::from(digits) - 9);
                parts.map_or(Tick::NONE, Tick::PerNano)
            }
            bits => Tick::Binary(bits & 0x7f),
        };
        Self { tick, offset }
    }

    /// The time after `ticks`; what is before 1970 becomes 1970, what is after 2554 becomes
    /// that.
    pub(super) fn instant(self, ticks: u64) -> Instant {
        let nanos = match self.tick {
            Tick::Nanos(nanos) => ticks.saturating_mul(nanos),
            Tick::PerNano(parts) => ticks / parts,
            Tick::Binary(bits) => {
                let nanos = (u128::from(ticks) * u128::from(NANOS_PER_SECOND)) >> bits;
                u64::try_from(nanos).unwrap_or(u64::MAX)
            }
        };
        let offset = self.offset.unsigned_abs().saturating_mul(NANOS_PER_SECOND);
        Instant::from_nanos(if self.offset < 0 {
            nanos.saturating_sub(offset)
        } else {
            nanos.saturating_add(offset)
        })
    }
}

const NANOS_PER_SECOND: u64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resolution_gives_nanoseconds() {
        #[rustfmt::skip]
        let table = [
            (0,    7,                      7_000_000_000),
            (3,    7_001,                  7_001_000_000),
            (6,    1_700_000_000_000_001,  1_700_000_000_000_001_000),
            (9,    1_700_000_000_000_000_001, 1_700_000_000_000_000_001),
            (12,   7_999,                  7),
            (28,   u64::MAX,               1),
            (29,   u64::MAX,               0),
            (127,  u64::MAX,               0),
            (0x80, 7,                      7_000_000_000),
            (0x81, 7,                      3_500_000_000),
            (0xa0, (3 << 32) + (1 << 31),  3_500_000_000),
            (0xff, u64::MAX,               0),
            (0,    u64::MAX,               u64::MAX),
            (0x80, u64::MAX,               u64::MAX),
        ];
        for (resolution, ticks, nanos) in table {
            let at = Clock::new(resolution, 0).instant(ticks);
            assert_eq!(at.as_nanos(), nanos, "{ticks} ticks of resolution {resolution:#x}");
        }
    }

    #[test]
    fn an_offset_is_added_and_stays_within_the_representable() {
        for (offset, nanos) in
            [(2, 3_000_000_000), (-1, 0), (-2, 0), (i64::MIN, 0), (i64::MAX, u64::MAX)]
        {
            assert_eq!(Clock::new(6, offset).instant(1_000_000).as_nanos(), nanos, "{offset} s");
        }
    }
}
