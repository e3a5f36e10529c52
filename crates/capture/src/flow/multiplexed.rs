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

#[cfg(test)]
mod tests {
    use super::{Released::*, *};

    /// A segment of the client with the bytes from the first to the last number, and where requests begin in it.
    type Sent<'a> = (Range<u64>, Released, &'a [u64]);

    /// How many requests were held, behind one that only an acknowledgement let go and `joined` segments with two each.
    fn held(joined: u64, then: &[Sent<'_>]) -> Option<u32> {
        let mut all = Multiplexed::default();
        let mut see = |(bytes, released, requests): Sent<'_>| {
            let since_last = Duration::from_millis(40);
            let evidence = Evidence::of([1, 2, 3]);
            all.handle_segment(ClientSegment { bytes, since_last, released, evidence });
            requests.iter().for_each(|&position| all.begin_request(position));
        };
        see((0..10, ByAcknowledgement, &[0]));
        for start in (1..=joined).map(|number| number * 100) {
            see((start..start + 20, WithAnswer, &[start, start + 10]));
        }
        then.iter().cloned().for_each(&mut see);
        all.held().map(|it| it.count)
    }

    #[test]
    fn requests_are_held_that_leave_together_with_an_acknowledgement_again_and_again() {
        assert_eq!(held(8, &[]), Some(1 + 8));
        assert_eq!(held(7, &[]), None, "it may be chance");
        for (why, then, expected) in [
            ("three at once", (1_000..1_030, WithAnswer, &[1_000, 1_010, 1_020][..]), Some(11)),
            (
                "two by an acknowledgement",
                (1_000..1_020, ByAcknowledgement, &[1_000, 1_010]),
                Some(11),
            ),
            ("the rest of one first", (1_000..1_030, WithAnswer, &[1_010, 1_020]), Some(9)),
            ("in no segment that was seen", (1_000..1_010, ByAcknowledgement, &[999]), Some(9)),
            ("behind it", (1_000..1_010, ByAcknowledgement, &[1_000, 1_010]), Some(10)),
            ("later", (1_000..1_020, Otherwise, &[1_000, 1_010]), Some(9)),
            ("beside a small segment on its way", (1_000..1_010, Despite, &[1_000]), None),
        ] {
            assert_eq!(held(8, &[then]), expected, "{why}");
        }
    }

    /// So a client leaves that asks for more when it has an answer.
    #[test]
    fn nothing_is_held_where_no_acknowledgement_alone_lets_a_request_go() {
        let mut all = Multiplexed::default();
        for start in (0..20).map(|number| number * 100) {
            let (bytes, since_last) = (start..start + 20, Duration::from_millis(40));
            let evidence = Evidence::of([1, 2, 3]);
            let segment = ClientSegment { bytes, since_last, released: WithAnswer, evidence };
            all.handle_segment(segment);
            all.begin_request(start);
            all.begin_request(start + 10);
        }
        assert!(all.held().is_none());
    }
}
