//! How a connection opens: what a listener does with a segment, and data that travels with the SYN.

mod fast_open;

pub(crate) use self::fast_open::{FastOpen, data_of_syn, data_with_syn};

use crate::{
    received::DropReason,
    segment::{Flags, Segment},
    transmit::PendingReset,
};

/// What a host without a connection answers: an RST, or nothing to an RST (RFC 9293, section
/// 3.10.7.1).
#[must_use]
pub fn refuse(segment: &Segment) -> Option<Segment> {
    PendingReset::unknown(segment).map(PendingReset::segment)
}

/// What a listener does with a segment that belongs to no connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ListenDecision {
    /// It opens a connection.
    Opens,
    /// It answers with an RST, because that connection is gone: [`refuse`] returns the RST.
    Refused,
    /// It does not answer.
    Dropped(DropReason),
}

/// Decides what a listener does with a segment that belongs to no connection (RFC 9293, section
/// 3.10.7.2).
///
/// Without RST, ACK and SYN: "This should not be reached. Drop the segment and return." No RST: that is
/// for ports without a listener.
#[must_use]
pub const fn classify_for_listener(segment: &Segment) -> ListenDecision {
    if segment.flags.rst {
        ListenDecision::Dropped(DropReason::UnacceptableReset)
    } else if segment.ack.is_some() {
        ListenDecision::Refused
    } else if segment.flags.syn {
        ListenDecision::Opens
    } else {
        ListenDecision::Dropped(DropReason::NotASyn)
    }
}

/// The same segment as if its SYN had arrived before.
pub(crate) fn without_syn(segment: &Segment) -> Segment {
    Segment { seq: segment.data_start(), flags: Flags { syn: false, ..segment.flags }, ..*segment }
}
