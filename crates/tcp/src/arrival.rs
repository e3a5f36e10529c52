//! What becomes of a segment that arrives on a connection (RFC 9293, section 3.10.7): the checks, which change nothing.

use crate::{
    receive::ReceiveSequence, received::DropReason, segment::Segment, send::SendSequence,
    seq::SeqNumber, state::State, units::Instant,
};

/// What becomes of a segment after the checks that come before its ACK and text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Disposition {
    Drop(DropReason),
    /// Dropped, but answered by an ACK, which tells the peer where we are.
    Acknowledge(DropReason),
    /// The same for what an attacker may have sent (RFC 5961), so rationed.
    Challenge(DropReason),
    Reset,
    Process,
}

/// The first four checks: sequence number, RST, SYN, presence of ACK. `ignores_reset` says whether this is a
/// TIME-WAIT that no RST ends.
#[inline]
pub(crate) fn check(
    segment: &Segment,
    state: State,
    receive: &ReceiveSequence,
    send: &SendSequence,
    ignores_reset: impl FnOnce() -> bool,
    now: Instant,
) -> Disposition {
    let acceptable = receive.is_acceptable(segment);
    if segment.flags.rst {
        // RFC 5961, section 3.2: only the exact number resets.
        return match segment.seq == receive.next_number() {
            _ if ignores_reset() => Disposition::Drop(DropReason::UnacceptableReset),
            true => Disposition::Reset,
            false if acceptable => Disposition::Challenge(DropReason::UnacceptableReset),
            false => Disposition::Drop(DropReason::UnacceptableReset),
        };
    }
    if segment.flags.syn {
        // RFC 5961, section 4.2: "irrespective of the sequence number". Before that, the fourth
        // check: "If the connection was initiated with a passive OPEN, then return this
        // connection to the LISTEN state".
        let starts_again = acceptable && state == State::SynReceived && send.is_passive();
        return match starts_again {
            true => Disposition::Reset,
            false => Disposition::Challenge(DropReason::UnexpectedSyn),
        };
    }
    // RFC 7323, section 3.2: "If a non-<RST> segment is received without a TSopt, a TCP SHOULD
    // silently drop the segment."
    if receive.uses_timestamps() && segment.options.timestamps.is_none() {
        Disposition::Drop(DropReason::NoTimestamp)
    } else if !acceptable {
        Disposition::Acknowledge(DropReason::OutsideWindow)
    } else if receive.is_older_by_timestamp(segment, now) {
        Disposition::Acknowledge(DropReason::OldTimestamp)
    } else if segment.ack.is_none() {
        Disposition::Drop(DropReason::NoAck)
    } else {
        Disposition::Process
    }
}

/// The fifth check: the position that a segment acknowledges. Otherwise, where it acknowledges no SYN of ours, an RST
/// answers it; later a challenge ACK does (RFC 5961).
#[inline]
pub(crate) fn check_ack(ack: SeqNumber, send: &SendSequence) -> Option<u64> {
    let (ack, una) = (send.position(ack), send.una());
    let oldest = match una {
        0 => 1,
        // RFC 5961, section 5.2: SND.UNA - MAX.SND.WND <= SEG.ACK <= SND.NXT.
        _ => as_signed(una) - i64::from(send.max_window()),
    };
    (oldest <= ack && ack <= as_signed(send.max())).then(|| u64::try_from(ack).unwrap_or(0))
}

/// No stream has 2^63 bytes.
const fn as_signed(position: u64) -> i64 {
    position.cast_signed()
}

/// What a segment does in SYN-SENT.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum InSynSent {
    Drop(DropReason),
    /// Its ACK is of nothing that was sent: an RST answers it.
    Refuse,
    Reset,
    /// Both ends open.
    OpensBoth,
    /// Everything before this position is acknowledged: beyond the SYN, data that travelled with it.
    Opens(u64),
}

/// What a segment does in SYN-SENT (section 3.10.7.3).
pub(crate) fn check_in_syn_sent(segment: &Segment, send: &SendSequence) -> InSynSent {
    let acked = segment.ack.and_then(|ack| u64::try_from(send.position(ack)).ok());
    let acked = acked.filter(|position| (1..=send.max()).contains(position));
    match (segment.flags.rst, acked) {
        (false, None) if segment.ack.is_some() => InSynSent::Refuse,
        (true, None) if segment.ack.is_some() => InSynSent::Drop(DropReason::UnacceptableAck),
        (true, None) => InSynSent::Drop(DropReason::UnacceptableReset),
        (true, Some(_)) => InSynSent::Reset,
        _ if !segment.flags.syn => InSynSent::Drop(DropReason::NotASyn),
        (false, None) => InSynSent::OpensBoth,
        (false, Some(acked)) => InSynSent::Opens(acked),
    }
}

/// Whether a SYN may reopen a connection out of TIME-WAIT.
///
/// RFC 9293, section 3.6.1 (MAY-2), and RFC 6191, section 2: the SYN's timestamp is newer, or
/// without timestamps its sequence number is beyond all that was received.
pub(crate) fn reopens(segment: &Segment, receive: &ReceiveSequence) -> bool {
    let syn_alone = segment.flags.syn && segment.ack.is_none() && !segment.flags.rst;
    syn_alone
        && match (receive.timestamp(), segment.options.timestamps) {
            (Some(recent), Some(offered)) if offered.value != recent => {
                SeqNumber(recent).precedes(SeqNumber(offered.value))
            }
            _ => receive.next_number().precedes(segment.seq),
        }
}
