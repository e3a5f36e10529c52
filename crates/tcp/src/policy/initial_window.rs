//! cwnd when the first data may be sent.

use core::num::NonZeroU8;

/// cwnd when the first data may be sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum InitialWindow {
    /// So many segments.
    Segments(NonZeroU8),
    /// BSD: one segment, but two for the passive opener, whose window the ACK of its SYN has already
    /// opened (Heidemann 1996, footnote 1).
    BsdPassiveTwo,
    /// min(4 MSS, max(2 MSS, 4380)).
    Rfc3390,
    /// min(10 MSS, max(2 MSS, 14600)).
    Rfc6928,
}

impl InitialWindow {
    /// The window in octets.
    ///
    /// RFC 6928, section 2: "If the SYN or SYN/ACK is lost, the initial window used by a sender after a
    /// correctly transmitted SYN MUST be one segment": `syn_lost`, for every variant.
    #[must_use]
    pub fn octets(self, mss: u32, passive: bool, syn_lost: bool) -> u32 {
        if syn_lost {
            return mss;
        }
        match self {
            Self::Segments(count) => u32::from(count.get()) * mss,
            Self::BsdPassiveTwo => mss * (1 + u32::from(passive)),
            Self::Rfc3390 => (4 * mss).min((2 * mss).max(4380)),
            Self::Rfc6928 => (10 * mss).min((2 * mss).max(14600)),
        }
    }
}
