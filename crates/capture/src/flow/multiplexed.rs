//! A pipelined connection of several users whose requests Nagle's algorithm joins: while a small segment is not
//! acknowledged, what else they ask waits, and leaves together with that acknowledgement, a round trip later.
//!
//! A client that sends several requests whenever an earlier one is answered, such as MULTI behind WATCH, sends the same
//! packets, if the acknowledgement comes with that answer. It never sends when nothing but an acknowledgement has come. So
//! that is asked for once at least, and that the client never sends a small segment while another one is outstanding.

use std::{ops::Range, time::Duration};

use ackwise_cause::Cause;

use crate::{
    attribution::{Confidence, Evidence},
    held_requests::HeldRequests,
};

/// What left the client, and when.
#[derive(Clone, Debug)]
pub(super) struct ClientSegment {
    pub bytes: Range<u64>,
    /// From when the segment before left to when this one did.
    pub since_last: Duration,
    pub released: Released,
    /// What was sent before, its ACK, this one.
    pub evidence: Evidence,
}

/// What a segment may have waited for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Released {
    /// It left at once with an acknowledgement of a small segment, and nothing else had come.
    ByAcknowledgement,
    /// It left at once with an answer that acknowledged a small segment.
    WithAnswer,
    /// It left while a small segment was not acknowledged.
    Despite,
    /// It left at any other time.
    Otherwise,
}

/// What a client's segments show so far.
#[derive(Debug, Default)]
pub(super) struct Multiplexed {
    last: Option<ClientSegment>,
    /// Requests that began in it.
    begun: u32,
    held: Option<HeldRequests>,
    /// Segments with several requests that left with an answer.
    joined: u32,
    /// Requests that left by an acknowledgement alone.
    proofs: u32,
    despite: u32,
}

impl Multiplexed {
    /// Fewer segments with several requests may be chance. Our choice.
    const LEAST_JOINED: u32 = 8;

    pub(super) fn handle_segment(&mut self, segment: ClientSegment) {
        self.despite += u32::from(segment.released == Released::Despite);
        (self.last, self.begun) = (Some(segment), 0);
    }

    /// A request begins at `position`.
    pub(super) fn begin_request(&mut self, position: u64) {
        let Some(segment) = self.last.as_ref().filter(|it| it.bytes.contains(&position)) else {
            return;
        };
        if self.begun == 0 && segment.bytes.start != position {
            return;
        }
        self.begun = self.begun.saturating_add(1);
        let held = match (segment.released, self.begun) {
            (Released::ByAcknowledgement, begun) => {
                self.proofs = self.proofs.saturating_add(u32::from(begun == 1));
                1
            }
            // The first may have been asked for when the answer came.
            (Released::WithAnswer, 1) => 0,
            (Released::WithAnswer, begun) => {
                self.joined = self.joined.saturating_add(u32::from(begun == 2));
                1
            }
            (Released::Despite | Released::Otherwise, _) => 0,
        };
        if held > 0 {
            let once = HeldRequests {
                cause: Cause::NagleRtt,
                evidence: segment.evidence,
                ..HeldRequests::once(segment.since_last, Confidence::Medium)
            };
            match &mut self.held {
                Some(all) => all.add(&once),
                None => self.held = Some(once),
            }
        }
    }

    /// The requests that were held, if that is shown.
    pub(super) fn held(&self) -> Option<HeldRequests> {
        let is_shown = self.despite == 0 && self.proofs > 0 && self.joined >= Self::LEAST_JOINED;
        self.held.filter(|_| is_shown)
    }
}
