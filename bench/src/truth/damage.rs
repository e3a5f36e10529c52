//! What a capture may lack, drawn by seed and done to a capture before it is read.

/// A kind of damage.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Damage {
    /// Some packets are missing.
    Missing,
    /// Only one direction was captured.
    OneDirection,
    /// ACKs without data were filtered out.
    NoPureAcks,
    /// Packets were cut to 128 bytes.
    Cut,
    /// The network card joined segments.
    Offloads,
}

impl Damage {
    pub(super) const ALL: [Self; 5] =
        [Self::Missing, Self::OneDirection, Self::NoPureAcks, Self::Cut, Self::Offloads];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing packets",
            Self::OneDirection => "one direction",
            Self::NoPureAcks => "no pure ACKs",
            Self::Cut => "128 bytes",
            Self::Offloads => "offloads",
        }
    }
}
