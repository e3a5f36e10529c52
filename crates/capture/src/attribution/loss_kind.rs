//! What kind of loss was repaired: a detail of the verdict, not a cause of its own.

/// What the packets show of a loss.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LossKind {
    /// Fewer than three segments were sent after the lost one: too few for fast retransmit.
    Tail,
    /// A tail-loss probe (RFC 8985, section 7) repaired it, which comes earlier than the retransmission timer.
    Probe,
    /// Several segments were lost together.
    Burst,
    /// Nothing was lost: what was sent again arrived only late or out of order.
    Spurious,
    /// The data had arrived, and its acknowledgement was lost.
    AckLost,
    /// The capture has the first copy: it was lost between the capture point and the receiver.
    BehindCapture,
}

impl LossKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Tail, Self::Probe, Self::Burst, Self::Spurious, Self::AckLost, Self::BehindCapture];

    /// In reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tail => "tail",
            Self::Probe => "probe",
            Self::Burst => "burst",
            Self::Spurious => "spurious",
            Self::AckLost => "ack-lost",
            Self::BehindCapture => "behind-capture",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_in_the_list_once() {
        for (place, kind) in LossKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place, "{}", kind.name());
        }
    }
}
