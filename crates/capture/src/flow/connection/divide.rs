//! How the time before data is divided over all exchanges that are open: a thousand may be, and a segment may have one
//! byte.
//!
//! Most gaps change nothing that anybody asks for before the exchange is over. So of many exchanges, each takes several gaps
//! at once, while it is in the processor's cache, and what a gap adds is found out once for all of them.

use ackwise_cause::Direction;
use ackwise_tcp::Instant;

use super::{ObservedConnection, OpenExchange};
use crate::{
    attribution::{Verdict, gap::Gap},
    flow::exchange::EarlierEnd,
};

/// A gap that exchanges have not taken yet.
#[derive(Debug)]
pub(super) struct DeferredGap {
    gap: Gap,
    direction: Direction,
    /// What it adds to the account of each.
    pieces: Vec<(Instant, Verdict)>,
}

impl DeferredGap {
    /// Bytes that one takes, mostly.
    pub(super) const USUAL: usize = size_of::<Self>() + 4 * size_of::<(Instant, Verdict)>();
}

impl ObservedConnection {
    /// From this many exchanges on gaps are put off. Our choice.
    const SEVERAL: usize = 4;
    /// The most gaps that are. Our choice: some 20 kB.
    const MOST_DEFERRED: usize = 32;

    /// Whether there is time to look at all open exchanges. If not, nothing more is divided.
    pub(super) fn may_look_at_all(&mut self) -> bool {
        self.may_spend(self.open.len())
    }

    /// The same for the gaps that wait: a look at one costs less.
    pub(super) fn may_look_at_waiting(&mut self, direction: Direction) -> bool {
        const CHEAPER: usize = 8;
        self.may_spend(self.unsettled[direction as usize].len() / CHEAPER)
    }

    pub(super) fn may_spend(&mut self, units: usize) -> bool {
        let may = self.work.spend(units);
        if !may {
            self.divide_nothing_more();
        }
        may
    }

    /// The time of its exchanges is unknown.
    pub(super) fn divide_nothing_more(&mut self) {
        self.unsettled = Default::default();
        self.deferred = Vec::new();
    }

    pub(super) fn divide(&mut self, gap: &Gap, direction: Direction) {
        if !self.may_look_at_all() {
            return;
        }
        if let Some(undecided) = &mut self.undecided[direction as usize] {
            undecided.note_gap(gap);
        }
        if self.open.len() < Self::SEVERAL {
            self.catch_up();
            for exchange in self.open.iter_mut() {
                exchange.handle_earlier_end(&self.earlier_end);
                exchange.handle_gap(gap, direction);
            }
            return;
        }
        let (gap, pieces) = (*gap, gap.pieces(direction));
        self.deferred.push(DeferredGap { gap, direction, pieces });
        if self.deferred.len() == Self::MOST_DEFERRED {
            self.catch_up();
        }
    }

    /// Lets all exchanges take the gaps that were put off.
    pub(super) fn catch_up(&mut self) {
        if self.deferred.is_empty() {
            return;
        }
        for exchange in self.open.iter_mut() {
            exchange.catch_up(&self.deferred, &self.earlier_end);
            exchange.taken = 0;
        }
        self.deferred.clear();
    }

    /// The oldest exchange, which has taken all gaps.
    pub(super) fn oldest(&mut self) -> Option<&mut OpenExchange> {
        let oldest = self.open.front_mut()?;
        oldest.catch_up(&self.deferred, &self.earlier_end);
        Some(oldest)
    }
}

impl OpenExchange {
    /// Takes what it has not taken of the gaps that were put off. Until they are forgotten, no response ends before it.
    pub(super) fn catch_up(&mut self, gaps: &[DeferredGap], earlier_end: &EarlierEnd) {
        self.handle_earlier_end(earlier_end);
        for DeferredGap { gap, direction, pieces } in gaps.get(self.taken..).unwrap_or_default() {
            self.handle_shared_gap(gap, *direction, pieces);
        }
        self.taken = gaps.len();
    }
}
