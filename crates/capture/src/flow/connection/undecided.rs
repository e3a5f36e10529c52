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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::{
        gap::tests::{HELD, at},
        sender::tests::departed,
    };

    fn segment(bytes: Range<u64>, sent: u64) -> SeenSegment {
        let mut departure = departed();
        (departure.packet, departure.sent) = (sent, at(sent));
        SeenSegment { bytes, departure, heard_by_server: HeardByServer::default() }
    }

    #[test]
    fn what_is_remembered_of_undecided_data_is_bounded() {
        let mut it = Undecided::default();
        for number in 0..=Undecided::MOST as u64 {
            it.push(segment(number * 10..number * 10 + 10, number));
            it.note_gap(&Gap { until: at(number), ..HELD });
        }
        assert_eq!((it.segments.len(), it.gaps.len()), (Undecided::MOST, Undecided::MOST));
        assert_eq!(it.gaps[0].until, at(1), "the last gaps");
        assert_eq!(it.segments[0].bytes.start, 0, "the first segments");
    }

    #[test]
    fn what_is_decided_is_forgotten_with_the_time_before_it() {
        for (since, segments, gaps) in [(9, 2, 1), (10, 1, 0), (20, 0, 0)] {
            let mut it = Undecided::default();
            it.push(segment(0..10, 1));
            it.push(segment(10..20, 2));
            [1, 2].iter().for_each(|&until| it.note_gap(&Gap { until: at(until), ..HELD }));
            it.forget_before(since);
            assert_eq!((it.segments.len(), it.gaps.len()), (segments, gaps), "{since}");
        }
    }

    #[test]
    fn something_begins_earlier_only_if_that_was_seen_in_another_packet() {
        for (position, packet, found) in
            [(9, 9, true), (9, 1, false), (10, 9, true), (20, 9, false), (10, 2, false)]
        {
            let mut it = ObservedConnection::default();
            let undecided = it.undecided[0].get_or_insert_default();
            undecided.push(segment(0..10, 1));
            undecided.push(segment(10..20, 2));
            let began = it.began_at(Direction::ToServer, position, packet);
            assert_eq!(began.is_some(), found, "{position} {packet}");
        }
    }

    #[test]
    fn only_the_time_since_something_began_is_divided_again() {
        use crate::{attribution::Account, flow::exchange::OpenExchange};
        for (since, divided) in [(69, true), (70, false)] {
            let mut it = ObservedConnection::default();
            let reserve = &mut crate::results::Results::default().reserve;
            it.work.grant(1 << 20, 0, reserve, 1);
            it.open.push(OpenExchange::new(ExchangeId(0), 0, Account::new(at(0)), 0));
            it.undecided[0].get_or_insert_default().note_gap(&HELD);
            it.divide_again(ExchangeId(0), Direction::ToServer, at(since));
            let cursor = it.open.front().unwrap().account.cursor();
            assert_eq!(cursor > at(0), divided, "{since}");
        }
        // Nothing is looked at any more.
        let mut spent = ObservedConnection::default();
        spent.work.spend(usize::MAX);
        spent.open.push(OpenExchange::new(ExchangeId(0), 0, Account::new(at(0)), 0));
        spent.undecided[0].get_or_insert_default().note_gap(&HELD);
        spent.divide_again(ExchangeId(0), Direction::ToServer, at(0));
        assert_eq!(spent.open.front().unwrap().account.cursor(), at(0));
    }
}
