//! What a report draws of a connection: its segments over time, and what its exchanges waited for.
//!
//! Kept only when asked for ([`Analyser::with_series`](crate::analysis::Analyser::with_series)), and
//! bounded, per connection and in all: of a long connection several segments become one [`Point`], and
//! what is over the bound in all is only counted.

use ackwise_cause::Direction;
use ackwise_tcp::{Flags, Instant};

pub use crate::attribution::Stretch;

/// One segment as it was seen, or several of one direction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Point {
    /// When it was seen.
    pub at: Instant,
    /// Its number in the capture, from 1.
    pub packet: u64,
    /// Which way it goes.
    pub direction: Direction,
    /// Its data, from and up to, in bytes since the beginning of its stream.
    pub bytes: [u64; 2],
    /// Up to where the other stream has been acknowledged by then.
    pub ack: Option<u64>,
    /// Up to where the other end may send.
    pub edge: Option<u64>,
    /// SYN, FIN, RST.
    pub flags: Flags,
    /// Its data was sent before, or repairs a loss.
    pub again: bool,
    /// How many segments it stands for; `packet` is the first.
    pub segments: u32,
}

impl Point {
    const fn has_data(&self) -> bool {
        self.bytes[0] < self.bytes[1]
    }

    /// Takes a later one in. A repair is never hidden by what is not: that one stays, alone.
    fn join(&mut self, later: &Self) {
        let segments = self.segments.saturating_add(later.segments);
        if self.again != later.again {
            if later.again {
                *self = *later;
            }
            self.segments = segments;
            return;
        }
        match (self.has_data(), later.has_data()) {
            (true, true) => {
                let [from, to] = self.bytes;
                self.bytes = [from.min(later.bytes[0]), to.max(later.bytes[1])];
            }
            (true, false) => {}
            // An acknowledgement counts from when it was seen, not earlier.
            (false, _) => {
                (self.at, self.packet, self.bytes) = (later.at, later.packet, later.bytes)
            }
        }
        self.segments = segments;
        (self.ack, self.edge) = (later.ack.or(self.ack), later.edge.or(self.edge));
        self.flags.syn |= later.flags.syn;
        self.flags.fin |= later.flags.fin;
        self.flags.rst |= later.flags.rst;
    }
}

/// The segments of a connection over time.
#[derive(Clone, Debug)]
pub struct Series {
    points: Vec<Point>,
    /// Where the last of each direction is.
    last: [Option<usize>; 2],
    grain: u32,
    left_out: u64,
}

impl Default for Series {
    fn default() -> Self {
        Self { points: Vec::new(), last: [None; 2], grain: 1, left_out: 0 }
    }
}

impl Series {
    /// Beyond this many points, neighbours become one: a screen shows no more. Our choice.
    pub const MAX_POINTS: usize = 1 << 12;

    /// In the order in which they were seen.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// About the number of segments that share one point; 1 if each has its own.
    #[must_use]
    pub const fn grain(&self) -> u32 {
        self.grain
    }

    /// Segments that are not here, because what is kept of all connections is bounded.
    #[must_use]
    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    pub(crate) fn push(&mut self, point: Point, budget: &mut Budget) {
        if self.points.len() == Self::MAX_POINTS {
            self.coarsen();
            budget.points += Self::MAX_POINTS - self.points.len();
        }
        if self.joins(&point) {
            return;
        }
        if budget.points == 0 {
            self.left_out += u64::from(point.segments);
            return;
        }
        budget.points -= 1;
        self.append(point);
    }

    /// The connection is over: joining may have left points a little out of order.
    pub(crate) fn finish(&mut self) {
        self.points.sort_by_key(|it| (it.at, it.packet));
        self.points.shrink_to_fit();
    }

    fn joins(&mut self, point: &Point) -> bool {
        let last = self.last[point.direction as usize].map(|place| &mut self.points[place]);
        let last = last.filter(|it| it.segments < self.grain);
        last.map(|it| it.join(point)).is_some()
    }

    fn append(&mut self, point: Point) {
        self.last[point.direction as usize] = Some(self.points.len());
        self.points.push(point);
    }

    /// Takes about two points for one.
    fn coarsen(&mut self) {
        self.grain = self.grain.saturating_mul(2);
        self.last = [None; 2];
        for point in std::mem::take(&mut self.points) {
            if !self.joins(&point) {
                self.append(point);
            }
        }
    }
}

/// What may still be kept of the whole capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    points: usize,
    stretches: usize,
    stretches_per_exchange: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            points: Self::POINTS,
            stretches: Self::STRETCHES,
            stretches_per_exchange: Self::STRETCHES_PER_EXCHANGE,
        }
    }
}

impl Budget {
    /// 72 bytes each, 18 MiB in all: 50 for each of 5,000 connections. Our choice.
    const POINTS: usize = 1 << 18;
    /// 48 bytes each, 12 MiB in all. Our choice.
    const STRETCHES: usize = 1 << 18;
    /// Shorter ones would not be visible. Our choice.
    pub(crate) const STRETCHES_PER_EXCHANGE: usize = 1 << 10;

    /// Everything that exchanges waited for, and no segments.
    pub(crate) const fn all_stretches() -> Self {
        Self { points: 0, stretches: usize::MAX, stretches_per_exchange: usize::MAX }
    }

    /// The most stretches that one exchange keeps.
    pub(crate) const fn stretches_per_exchange(&self) -> usize {
        self.stretches_per_exchange
    }

    /// The stretches, if there is room for them.
    pub(crate) fn admit(&mut self, stretches: Box<[Stretch]>) -> Box<[Stretch]> {
        let Some(left) = self.stretches.checked_sub(stretches.len()) else {
            return Box::default();
        };
        self.stretches = left;
        stretches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    fn point(number: u64, direction: Direction, again: bool) -> Point {
        let bytes = match direction {
            Direction::ToClient => [number * 100, number * 100 + 100],
            Direction::ToServer => [0, 0],
        };
        Point {
            at: Instant::from_nanos(number),
            packet: number,
            direction,
            bytes,
            ack: Some(number),
            edge: None,
            flags: Flags::NONE,
            again,
            segments: 1,
        }
    }

    #[test]
    fn a_long_connection_gets_coarser_and_no_longer() {
        let (mut series, mut budget) = (Series::default(), Budget::default());
        for number in 1..=100_000 {
            let direction = if number % 3 == 0 { Direction::ToServer } else { Direction::ToClient };
            series.push(point(number, direction, number == 50_000), &mut budget);
        }
        series.finish();
        let kept = series.points();
        assert!(kept.len() <= Series::MAX_POINTS, "{}", kept.len());
        assert!(kept.len() > Series::MAX_POINTS / 4, "{}", kept.len());
        assert_eq!(kept.iter().map(|it| u64::from(it.segments)).sum::<u64>(), 100_000);
        assert!(kept.iter().any(|it| it.again), "the repair is still there");
        assert!(kept.is_sorted_by_key(|it| it.at));
        assert_eq!(budget.points + kept.len(), Budget::POINTS);
    }

    #[test]
    fn the_bound_in_all_is_kept_and_what_is_over_it_is_counted() {
        let mut budget = Budget { points: 10, stretches: 0, stretches_per_exchange: 0 };
        let mut series = Series::default();
        for number in 1..=25 {
            series.push(point(number, Direction::ToClient, false), &mut budget);
        }
        assert_eq!((series.points().len(), series.left_out()), (10, 15));
    }
}
