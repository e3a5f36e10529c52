//! What the client's segments show of several users on one connection.

use std::ops::Range;

use ackwise_cause::Direction;
use ackwise_tcp::Instant;

use super::ObservedConnection;
use crate::{
    attribution::{Evidence, Nanos, Rule, gap::Gap, sender::Departure},
    conversation::Protocol,
    flow::multiplexed::{ClientSegment, Released},
};

/// What stood before a segment of the client.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    last: Departure,
    flight: u64,
    /// What the server sent since then, if it did: its last packet, and when that was seen.
    answer: Option<(u64, Instant)>,
}

impl ObservedConnection {
    /// What stands before the client's next segment, if requests are answered in order, and the capture is at the client.
    #[inline]
    pub(super) fn before_segment(&self, direction: Direction) -> Option<Before> {
        match self.protocol.is_some_and(Protocol::is_in_order) {
            true if direction == Direction::ToServer => self.before_client_segment(direction),
            _ => None,
        }
    }

    #[inline(never)]
    fn before_client_segment(&self, direction: Direction) -> Option<Before> {
        if !self.ends.distances.path_delays(direction).is_next_to_sender() {
            return None;
        }
        let half = self.ends.half(direction);
        let (last, _) = half.sender.last_new()?;
        let answer = self.ends.last_data.filter(|it| it.0 != direction);
        let answer = answer.map(|it| (it.1.packet, it.1.seen));
        Some(Before { last, flight: half.stream.flight(), answer })
    }

    /// The client has sent `bytes`, which nobody had seen.
    pub(super) fn note_segment(
        &mut self,
        before: &Before,
        bytes: Range<u64>,
        gap: Option<&Gap>,
        (packet, now): (u64, Instant),
    ) {
        let &Before { last, flight, answer } = before;
        let immediate = self.ends.distances.path_delays(Direction::ToServer).immediate;
        let by_ack = |gap: &&Gap| gap.hold.rule == Rule::NagleHeld && gap.before.is_none();
        let ack = gap.map_or(0, |gap| gap.evidence.numbers()[1]);
        let (released, ack) = match (last.small, flight, answer) {
            (true, 1.., _) => (Released::Despite, ack),
            (true, 0, Some((answer, seen))) if Nanos::between(seen, now) <= immediate => {
                (Released::WithAnswer, answer)
            }
            (true, 0, None) if gap.filter(by_ack).is_some() => (Released::ByAcknowledgement, ack),
            _ => (Released::Otherwise, ack),
        };
        let since_last = Nanos::between(last.sent, now).into();
        let evidence = Evidence::of([last.packet, ack, packet]);
        let segment = ClientSegment { bytes, since_last, released, evidence };
        self.multiplexed.get_or_insert_default().handle_segment(segment);
    }
}
