//! What a connection may cost beyond its packets themselves: a thousand requests may be open, and a segment may have one
//! byte.
//!
//! Each connection has a budget of its own, which its own segments fill, and some have more at first, out of what all
//! connections of a shard have. So what all of them cost together is bounded by the size of the capture, and no thread has a
//! part in it.

use crate::limits::{WORK_IN_RESERVE, WORK_PER_SEGMENT};

/// What is left of the budget. A unit is what takes as long as dividing a gap for one exchange, or less.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Work {
    left: usize,
    drawn: usize,
    is_spent: bool,
    /// The packet in which a request began last.
    begun_in: u64,
}

/// What connections may have beyond their own segments' part.
#[derive(Debug)]
pub(crate) struct Reserve {
    all: usize,
    out: usize,
}

impl Default for Reserve {
    fn default() -> Self {
        Self { all: WORK_IN_RESERVE / Self::SHARES, out: 0 }
    }
}

impl Reserve {
    /// One for each shard.
    pub(crate) const SHARES: usize = 16;
    /// Packets of a capture for each unit by which a shard's reserve grows, so that long captures have enough. Our choice.
    const PACKETS: usize = 4;

    /// That of a shard which has all connections.
    pub(crate) const fn of_all() -> Self {
        Self { all: WORK_IN_RESERVE, out: 0 }
    }

    fn draw(&mut self, units: usize, packet: u64) -> usize {
        let grown = usize::try_from(packet).unwrap_or(usize::MAX) / Self::PACKETS;
        let there = self.all.saturating_add(grown).saturating_sub(self.out);
        let drawn = units.min(there);
        self.out += drawn;
        drawn
    }
}

impl Work {
    /// The most that a connection draws. Our choice: 16 segments behind a hole, for 1,024 open requests.
    const MOST_DRAWN: usize = 1 << 14;
    /// What a request takes: what is kept of it is prepared, told and forgotten. Our choice, by measurement.
    const REQUEST: usize = 32;
    /// What the first of a packet takes: its connection may not be in the processor's cache. Our choice, by measurement.
    const FIRST_REQUEST: usize = 128;
    /// Looks at all open requests for which there should be enough. Our choice.
    const LOOKS: usize = 16;

    /// A `packet` has `captured` bytes of data in the capture, while `open` requests are open.
    pub(crate) fn grant(
        &mut self,
        captured: usize,
        open: usize,
        reserve: &mut Reserve,
        packet: u64,
    ) {
        self.left = self.left.saturating_add(WORK_PER_SEGMENT).saturating_add(captured);
        self.need(open * Self::LOOKS, reserve, packet);
    }

    /// Whether there is enough for a request that begins in `packet`.
    pub(crate) fn begin_request(&mut self, reserve: &mut Reserve, packet: u64) -> bool {
        let is_first = std::mem::replace(&mut self.begun_in, packet) != packet;
        let units = if is_first { Self::FIRST_REQUEST } else { Self::REQUEST };
        self.need(units, reserve, packet);
        self.spend(units)
    }

    /// Draws what is lacking.
    fn need(&mut self, units: usize, reserve: &mut Reserve, packet: u64) {
        let lacking = units.saturating_sub(self.left).min(Self::MOST_DRAWN - self.drawn);
        if lacking > 0 && !self.is_spent {
            let drawn = reserve.draw(lacking, packet);
            (self.left, self.drawn) = (self.left + drawn, self.drawn + drawn);
        }
    }

    /// Whether there is enough for this; if not, there is nothing left for the rest of the connection.
    pub(crate) const fn spend(&mut self, units: usize) -> bool {
        match self.left.checked_sub(units) {
            Some(left) if !self.is_spent => self.left = left,
            _ => self.is_spent = true,
        }
        !self.is_spent
    }

    /// Whether there was not enough once.
    pub(crate) const fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// The connection is over: what it has drawn and not needed is there for others.
    pub(crate) fn give_back(&mut self, reserve: &mut Reserve) {
        reserve.out -= self.left.min(self.drawn);
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_fill_the_budget_and_what_is_spent_stays_spent() {
        let (mut work, mut reserve) = (Work::default(), Reserve { all: 0, out: 0 });
        work.grant(100, 0, &mut reserve, 0);
        assert!(work.spend(WORK_PER_SEGMENT + 100) && !work.is_spent());
        assert!(!work.spend(1) && work.is_spent());
        work.grant(1_000, 0, &mut reserve, 0);
        assert!(!work.spend(1));
    }

    #[test]
    fn what_a_connection_draws_and_does_not_need_is_there_for_others() {
        let mut reserve = Reserve { all: 1_000, out: 0 };
        let [mut one, mut other] = [Work::default(); 2];
        one.grant(0, 100, &mut reserve, 3);
        assert_eq!((one.left, reserve.out), (WORK_PER_SEGMENT + 1_000, 1_000));
        other.grant(0, 100, &mut reserve, 3);
        assert_eq!(other.left, WORK_PER_SEGMENT, "nothing is left");
        one.spend(264);
        one.give_back(&mut reserve);
        assert_eq!(reserve.out, 200);
        other.grant(0, 100, &mut reserve, 400);
        assert_eq!(other.left, 2 * WORK_PER_SEGMENT + 900, "a hundred packets later");
    }

    #[test]
    fn a_request_costs_less_behind_another_one() {
        let (mut work, mut reserve) = (Work::default(), Reserve { all: 0, out: 0 });
        work.grant(136, 0, &mut reserve, 7);
        let begun = (0..9).filter(|_| work.begin_request(&mut reserve, 7)).count();
        assert_eq!(begun, 1 + (WORK_PER_SEGMENT + 136 - Work::FIRST_REQUEST) / Work::REQUEST);
    }
}
