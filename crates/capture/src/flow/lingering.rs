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
