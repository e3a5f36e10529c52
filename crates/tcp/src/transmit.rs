//! A segment to put on the wire.

use crate::{
    policy::AckReason,
    segment::{Flags, Options, Segment},
    seq::SeqNumber,
};

/// A segment to put on the wire.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Transmit {
    /// The header, and how much data.
    pub segment: Segment,
    /// Where its data begins in our stream (offset 0 is the first byte after the SYN). The driver
    /// takes `segment.len` bytes from there.
    pub offset: u64,
    /// Something in it was sent before.
    pub retransmission: bool,
    /// Why it leaves now, if it carries nothing but an ACK.
    pub ack_reason: Option<AckReason>,
}

impl Transmit {
    /// Whether it carries only an ACK. A bare ACK is sent only when nothing else may be, so that
    /// [`Endpoint::poll_transmit`](crate::Endpoint::poll_transmit) has nothing more at that moment.
    #[must_use]
    pub const fn is_bare_ack(&self) -> bool {
        self.segment.sequence_length() == 0 && !self.segment.flags.rst
    }
}

/// An RST that waits for the next [`Endpoint::poll_transmit`](crate::Endpoint::poll_transmit).
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingReset {
    seq: SeqNumber,
    ack: Option<SeqNumber>,
}

impl PendingReset {
    /// What answers a segment of a connection that is unknown, unless that is an RST itself (RFC 9293, section
    /// 3.10.7.1).
    pub(crate) fn unknown(segment: &Segment) -> Option<Self> {
        if segment.flags.rst {
            return None;
        }
        let end = segment.end();
        let of_nothing = Self { seq: SeqNumber(0), ack: Some(end) };
        Some(Self::unacceptable(segment).unwrap_or(of_nothing))
    }

    /// What answers an ACK that is not acceptable.
    pub(crate) fn unacceptable(segment: &Segment) -> Option<Self> {
        segment.ack.map(|seq| Self { seq, ack: None })
    }

    /// One of a connection that is known.
    pub(crate) const fn in_sequence(seq: SeqNumber, ack: SeqNumber) -> Self {
        Self { seq, ack: Some(ack) }
    }

    pub(crate) const fn segment(self) -> Segment {
        Segment {
            seq: self.seq,
            ack: self.ack,
            flags: Flags::RST,
            window: 0,
            options: Options::NONE,
            time_wait_holder: None,
            len: 0,
        }
    }
}
