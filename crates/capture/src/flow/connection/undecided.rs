//! Data of TLS that was seen, and may turn out to begin a request or a response: a record is opened when all of it is
//! there, and what may be a ticket is none if nothing follows it. Then the exchange begins where its data did.

use std::{collections::VecDeque, ops::Range};

use ackwise_cause::Direction;
use ackwise_tcp::Instant;

use super::{HeardByServer, ObservedConnection};
use crate::{
    attribution::{gap::Gap, sender::Departure},
    conversation::ExchangeId,
};

/// What was sent in one direction since something began that is not decided.
#[derive(Debug, Default)]
pub(crate) struct Undecided {
    segments: VecDeque<SeenSegment>,
    /// The time between them, as it was divided.
    gaps: VecDeque<Gap>,
}

/// A segment that was seen.
#[derive(Clone, Debug)]
pub(crate) struct SeenSegment {
    bytes: Range<u64>,
    pub departure: Departure,
    /// What the server had acknowledged by then.
    pub heard_by_server: HeardByServer,
}

impl Undecided {
    /// The most segments that are remembered, and gaps between them: those of four full records. Our choice.
    const MOST: usize = 64;

    fn push(&mut self, segment: SeenSegment) {
        if self.segments.len() < Self::MOST {
            self.segments.push_back(segment);
        }
    }

    /// The time before a segment was divided.
    pub(crate) fn note_gap(&mut self, gap: &Gap) {
        if self.gaps.len() == Self::MOST {
            self.gaps.pop_front();
        }
        self.gaps.push_back(*gap);
    }

    /// What begins in the future begins at `since` or later.
    fn forget_before(&mut self, since: u64) {
        while self.segments.front().is_some_and(|it| it.bytes.end <= since) {
            self.segments.pop_front();
        }
        let first = self.segments.front().map(|it| it.departure.sent);
        self.gaps.retain(|gap| first.is_some_and(|first| gap.until > first));
    }

    /// The segment with the byte at `position`.
    fn find(&self, position: u64) -> Option<&SeenSegment> {
        self.segments.iter().find(|it| it.bytes.contains(&position))
    }
}

impl ObservedConnection {
    /// Data was seen that its conversation does not have yet.
    pub(super) fn note_undecided(&mut self, direction: Direction, bytes: Range<u64>) {
        let Some(departure) = self.ends.half(direction).sender.last().copied() else { return };
        let heard_by_server = self.heard_by_server;
        let undecided = self.undecided[direction as usize].get_or_insert_default();
        undecided.push(SeenSegment { bytes, departure, heard_by_server });
    }

    /// Its conversation has taken what there is of a direction.
    pub(super) fn decide(&mut self, direction: Direction) {
        let Some(undecided) = &mut self.undecided[direction as usize] else { return };
        match self.conversation.undecided_since(direction) {
            Some(since) => undecided.forget_before(since),
            None => self.undecided[direction as usize] = None,
        }
    }

    /// Where something begins, if that was seen before the current `packet`.
    pub(super) fn began_at(
        &self,
        direction: Direction,
        position: u64,
        packet: u64,
    ) -> Option<SeenSegment> {
        let segment = self.undecided[direction as usize].as_ref()?.find(position)?;
        (segment.departure.packet != packet).then(|| segment.clone())
    }

    /// An exchange has turned out to send in this direction since then: what it waited for was divided without it.
    pub(super) fn divide_again(
        &mut self,
        exchange: ExchangeId,
        direction: Direction,
        since: Instant,
    ) {
        let Some(undecided) = self.undecided[direction as usize].take() else { return };
        if self.may_spend(undecided.gaps.len())
            && let Some(open) = self.open.get_mut(exchange)
        {
            for gap in undecided.gaps.iter().filter(|gap| gap.until > since) {
                open.handle_gap(gap, direction);
            }
        }
        self.undecided[direction as usize] = Some(undecided);
    }
}
