//! Segments that wait for the next ACK, so that more leave together ([`DeferralPolicy`](crate::policy::DeferralPolicy);
//! Linux `tcp_tso_should_defer`).

use super::{
    control::{Control, LEAST_BURST},
    flight::Flight,
    piece::Piece,
    sequence::SendSequence,
};
use crate::{
    policy::Deferrable,
    units::{Instant, Nanos},
};

/// What becomes of a segment that could leave.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Deferral {
    /// It waits for an ACK.
    Waits,
    Leaves,
    /// It leaves as the first of these segments.
    Begins(u32),
}

/// What that depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue<'a> {
    pub(crate) sequence: &'a SendSequence,
    pub(crate) flight: &'a Flight,
    pub(crate) control: &'a Control,
    pub(crate) srtt: Option<Nanos>,
    pub(crate) shortest: Option<Nanos>,
    /// When data last left.
    pub(crate) last_send: Instant,
}

impl Queue<'_> {
    /// What becomes of `piece`.
    #[inline]
    pub(crate) fn defer(&self, piece: &Piece, now: Instant) -> Deferral {
        let &Self { sequence, flight, control, srtt, shortest, last_send } = self;
        // What would not become more is sent at once, and so is what the FIN ends: Linux puts it on the last buffer
        // of what is left.
        let (end, to_send) = (piece.end(), sequence.end());
        let ends = sequence.has_fin() && to_send - piece.start() <= LARGEST_BUFFER;
        if ends || end >= to_send || end <= sequence.max() || flight.probe().is_due() {
            return Deferral::Leaves;
        }
        let (Some(head), Some(srtt)) = (flight.head(), srtt) else { return Deferral::Leaves };
        let (window, mss) = (control.window(), sequence.mss());
        let room = u64::from(window).saturating_sub(flight.pipe(sequence.una(), mss));
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        let facts = Deferrable {
            room: room / mss,
            window: window / mss,
            since_sent: Nanos::between(control.sent_at().unwrap_or(last_send), now),
            oldest: Nanos::between(head.at(), now),
            srtt,
        };
        if !facts.waits() || u64::from(room) > to_send - piece.start() {
            return Deferral::Leaves;
        }
        if facts.room < LEAST_BURST && !control.has_model() {
            return Deferral::Waits;
        }
        match control.burst(srtt, shortest, mss) {
            burst if facts.room < burst => Deferral::Waits,
            burst => Deferral::Begins(burst),
        }
    }
}

/// `GSO_LEGACY_MAX_SIZE`: what one buffer of the kernel's queue holds, if it was written at once.
const LARGEST_BUFFER: u64 = 65_536;
