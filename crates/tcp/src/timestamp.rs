//! The clock of the timestamp option.

use crate::units::Instant;

/// Milliseconds (RFC 7323, section 5.4: 1 ms to 1 s a tick).
#[expect(clippy::cast_possible_truncation, reason = "the clock wraps, as RFC 7323 expects")]
pub(crate) const fn timestamp(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}
