//! cwnd when the first data may be sent.

use core::num::NonZeroU8;

/// cwnd when the first data may be sent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum InitialWindow {
    /// This number of segments.
    Segments(NonZeroU8),
    /// BSD: one segment, but two for the passive opener, whose window the ACK of its SYN has already
    /// opened (Heidemann 1996, footnote 1).
    BsdPassiveTwo,
    /// RFC 3390, section 1: "min (4*MSS, max (2*MSS, 4380 bytes))".
    Rfc3390,
    /// RFC 6928, section 2: "min (10*MSS, max (2*MSS, 14600))".
    Rfc6928,
}

impl InitialWindow {
    /// The window in bytes, if the SYN is not lost.
    #[must_use]
    #[expect(clippy::fn_params_excessive_bools, reason = "what 4.3BSD depends on")]
    pub fn bytes(self, mss: u32, passive: bool) -> u32 {
        let segments = |count: u32| mss.saturating_mul(count);
        match self {
            Self::Segments(count) => segments(count.get().into()),
            Self::BsdPassiveTwo => segments(1 + u32::from(passive)),
            Self::Rfc3390 => segments(4).min(segments(2).max(4_380)),
            Self::Rfc6928 => segments(10).min(segments(2).max(14_600)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{InitialWindow::*, *};

    #[test]
    fn the_window_follows_from_the_segment_size() {
        let three = Segments(NonZeroU8::new(3).unwrap());
        #[rustfmt::skip]
        let table: &[(InitialWindow, u32, bool, u32)] = &[
            (three,         1_460, false,  4_380),
            (BsdPassiveTwo, 1_460, false,  1_460),
            (BsdPassiveTwo, 1_460, true,   2_920),
            // RFC 3390: 4 segments up to 1095 bytes, 3 up to 2190, then 2.
            (Rfc3390,         536, false,  2_144),
            (Rfc3390,       1_095, false,  4_380),
            (Rfc3390,       1_460, false,  4_380),
            (Rfc3390,       2_190, false,  4_380),
            (Rfc3390,       4_312, false,  8_624),
            (Rfc6928,         536, false,  5_360),
            (Rfc6928,       1_460, true,  14_600),
            (Rfc6928,       9_000, false, 18_000),
            (Rfc6928,    u32::MAX, false, u32::MAX),
        ];
        for &(policy, mss, passive, bytes) in table {
            assert_eq!(policy.bytes(mss, passive), bytes, "{policy:?}, MSS {mss}");
        }
    }
}
