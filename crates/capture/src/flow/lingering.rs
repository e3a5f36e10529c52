//! A response that the vantage point has seen to its end, and that the client perhaps has not.
//!
//! Between the vantage point and the client something can still be lost. Whether what is sent again
//! then was needed, its acknowledgement tells: it comes a round trip later, or sooner.

use ackwise_cause::Direction;
use ackwise_tcp::Instant;

use super::OpenExchange;
use crate::attribution::{Nanos, gap::Gap, later::Resolution, sender::Departure};

/// An exchange whose response is not yet acknowledged.
#[derive(Debug)]
pub(crate) struct Lingering {
    open: Box<OpenExchange>,
    /// Where the response ends.
    end: u64,
    /// Its last bytes, and when links were done with them.
    sent: (Departure, Instant),
    /// The times before what was sent again, and the last of that.
    gaps: Vec<Gap>,
    again: Option<(Departure, Instant)>,
}

impl Lingering {
    /// The most repairs that are kept. Our choice.
    const MAX_REPAIRS: usize = 64;

    pub(crate) const fn new(open: Box<OpenExchange>, end: u64, sent: (Departure, Instant)) -> Self {
        Self { open, end, sent, gaps: Vec::new(), again: None }
    }

    /// Some of the response was sent again, in `again`.
    pub(crate) fn handle_repair(&mut self, gap: &Gap, again: (Departure, Instant)) {
        if self.gaps.len() < Self::MAX_REPAIRS {
            self.gaps.push(*gap);
            self.again = Some(again);
        }
    }

    /// Records what an acknowledgement shows of what was sent again last.
    pub(crate) fn resolve(&mut self, resolution: Resolution) {
        if resolution != Resolution::Confirmed {
            // The client had that; whether all, what else is sent again shows.
            self.again = None;
        }
        if let Some(last) = self.gaps.last_mut() {
            last.later.note(resolution);
        }
    }

    /// Whether all of it is acknowledged.
    pub(crate) const fn is_over(&self, acked: u64) -> bool {
        acked >= self.end
    }

    /// The exchange as it went. The acknowledgement was seen at `acked`, if it was; `round_trip` is that
    /// from the vantage point to the client.
    pub(crate) fn settle(mut self, acked: Option<Instant>, round_trip: Nanos) -> Box<OpenExchange> {
        let needed = |again: &(Departure, Instant)| {
            acked.is_some_and(|at| Nanos::between(again.0.seen, at) >= round_trip * 3 / 4)
        };
        let (last, free_at) = match self.again.filter(needed) {
            Some(again) => {
                for gap in &self.gaps {
                    self.open.handle_gap(&gap.settled(), Direction::ToClient);
                }
                again
            }
            None => self.sent,
        };
        self.open.end_response(free_at, &last);
        self.open
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        attribution::{
            Account,
            gap::tests::{HELD, at},
            sender::{Left, SeenData, Sender},
        },
        conversation::ExchangeId,
    };

    /// Data that was seen at this time, in this packet.
    fn departure(millis: u64, packet: u64) -> (Departure, Instant) {
        let mut sender = Sender::default();
        let data = SeenData {
            packet,
            seen: at(millis),
            bytes: 0..100,
            full: 1_000,
            pushed: true,
            loss: None,
            missing: crate::attribution::gap::Missing::Nothing,
            new: true,
            timestamp: None,
            echo: None,
            answers: None,
            lost_before: None,
            seems_lost_before: false,
        };
        sender.handle_data(
            &data,
            crate::attribution::Distances::default().path_delays(Direction::ToClient),
        );
        let last = *sender.last().unwrap();
        assert_eq!(last.left, Left::AsSeen);
        (last, at(millis))
    }

    fn lingering() -> Lingering {
        let open = OpenExchange::new(ExchangeId(0), 0, Account::new(at(0)), 0);
        Lingering::new(Box::new(open), 1_000, departure(10, 5))
    }

    /// In which packet the response ends.
    fn ends_in(lingering: Lingering, acked: Option<u64>) -> u64 {
        let open = lingering.settle(acked.map(at), Nanos::from_millis(20));
        let result = open.into_result(0, true, Nanos::ZERO);
        result.answered_after[1].map_or(0, |it| it.get().into())
    }

    #[test]
    fn what_was_sent_again_was_needed_if_its_acknowledgement_takes_a_round_trip() {
        let again = || {
            let mut lingering = lingering();
            lingering.handle_repair(&HELD, departure(100, 9));
            lingering
        };
        for (acked, packet) in [(Some(115), 9), (Some(114), 5), (None, 5)] {
            assert_eq!(ends_in(again(), acked), packet, "{acked:?}");
        }
        for (resolution, packet) in
            [(Resolution::Confirmed, 9), (Resolution::Spurious, 5), (Resolution::AckLost, 5)]
        {
            let mut lingering = again();
            lingering.resolve(resolution);
            assert_eq!(ends_in(lingering, Some(120)), packet, "{resolution:?}");
        }
        assert_eq!(ends_in(lingering(), Some(120)), 5, "nothing was sent again");
    }

    #[test]
    fn a_response_is_over_when_its_last_byte_is_acknowledged() {
        for (acked, over) in [(999, false), (1_000, true), (1_001, true)] {
            assert_eq!(lingering().is_over(acked), over, "{acked}");
        }
    }

    #[test]
    fn repairs_that_are_kept_are_bounded() {
        let mut lingering = lingering();
        for number in 0..=Lingering::MAX_REPAIRS as u64 {
            lingering.handle_repair(&HELD, departure(100, 10 + number));
        }
        assert_eq!(lingering.gaps.len(), Lingering::MAX_REPAIRS);
        let last = lingering.again.unwrap().0.packet;
        assert_eq!(last, 9 + Lingering::MAX_REPAIRS as u64);
    }
}
