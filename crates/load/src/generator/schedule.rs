//! When connections start. Pure: the time is an argument.
//!
//! In a **closed loop** each slot starts its next connection when the last one has ended, so a slow
//! server gets fewer requests. In an **open loop** connections start at a rate independent of the
//! server; if no slot is free, the start is late, and the latency counts from the time it was due.

use std::{collections::VecDeque, time::Duration};

/// What starts the next connection.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Pace {
    /// The end of the previous one in the same slot.
    Closed,
    /// The clock, at this rate per second.
    Open(f64),
}

/// The starts of a run. Times are relative to its beginning.
///
/// ```
/// use std::time::Duration;
/// use ackwise_load::generator::{Pace, Schedule};
///
/// // Ten a second, three at once, five in all.
/// let schedule = Schedule::new(Pace::Open(10.0), 3).connections(5).duration(Duration::from_secs(60));
/// assert_eq!(schedule.slots(), 3);
/// ```
#[derive(Clone, Debug)]
pub struct Schedule {
    pace: Pace,
    slots: usize,
    connections: Option<u64>,
    duration: Option<Duration>,
    started: u64,
    /// When each free slot became free, earliest first. At most `slots` entries.
    free: VecDeque<Duration>,
}

/// The next action.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Next {
    /// Start a connection, which was due at this time.
    Start(Duration),
    /// Poll again at this time.
    At(Duration),
    /// Poll again when a connection has ended.
    WhenOneEnds,
    /// No connection starts any more.
    Over,
}

impl Schedule {
    /// At most `slots` concurrent connections (at least one), without an end.
    #[must_use]
    pub fn new(pace: Pace, slots: usize) -> Self {
        let slots = slots.max(1);
        let free = std::iter::repeat_n(Duration::ZERO, slots).collect();
        Self { pace, slots, connections: None, duration: None, started: 0, free }
    }

    /// Limits the number of starts.
    #[must_use]
    pub const fn connections(mut self, connections: u64) -> Self {
        self.connections = Some(connections);
        self
    }

    /// Starts no connection after this time. Open ones continue to their end.
    #[must_use]
    pub const fn duration(mut self, duration: Duration) -> Self {
        self.duration = Some(duration);
        self
    }

    /// Maximum number of concurrent connections.
    #[must_use]
    pub const fn slots(&self) -> usize {
        self.slots
    }

    /// Number of connections started.
    #[must_use]
    pub const fn started(&self) -> u64 {
        self.started
    }

    /// Number of connections that were due in an open loop but never started.
    pub(super) fn missed(&self) -> u64 {
        let (Pace::Open(rate), Some(duration)) = (self.pace, self.duration) else { return 0 };
        let limit = self.connections.unwrap_or(u64::MAX);
        let missed = (self.started..limit).take(MISSED_LIMIT);
        missed.take_while(|index| nth_start(*index, rate) < duration).count() as u64
    }

    /// The action at `now`. [`Next::Start`] takes a slot.
    pub(super) fn next(&mut self, now: Duration) -> Next {
        if self.connections.is_some_and(|limit| self.started >= limit) {
            return Next::Over;
        }
        let due = match (self.pace, self.free.front()) {
            (Pace::Closed, None) => return self.wait_for_slot(now),
            (Pace::Closed, Some(free)) => *free,
            (Pace::Open(rate), _) => nth_start(self.started, rate),
        };
        if self.is_over(due) || self.is_too_late(now) {
            return Next::Over;
        }
        if due > now {
            return Next::At(due);
        }
        if self.free.pop_front().is_none() {
            return Next::WhenOneEnds;
        }
        self.started += 1;
        Next::Start(due)
    }

    /// Frees the slot of a connection that ended at `now`.
    pub(super) fn end_one(&mut self, now: Duration) {
        assert!(self.free.len() < self.slots, "more connections have ended than were started");
        self.free.push_back(now);
    }

    fn wait_for_slot(&self, now: Duration) -> Next {
        if self.is_over(now) { Next::Over } else { Next::WhenOneEnds }
    }

    fn is_over(&self, at: Duration) -> bool {
        self.duration.is_some_and(|duration| at >= duration)
    }

    /// Starts that were due in time are made late, so that a run does not omit slow requests at its
    /// end. [`CATCH_UP`] limits this for a server that cannot keep up.
    fn is_too_late(&self, now: Duration) -> bool {
        match self.pace {
            Pace::Closed => self.is_over(now),
            Pace::Open(_) => self.duration.is_some_and(|duration| now >= duration + CATCH_UP),
        }
    }
}

/// When the start with number `index` is due. Computed from the beginning, so that rounding errors
/// do not add up.
fn nth_start(index: u64, rate: f64) -> Duration {
    #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 starts")]
    let seconds = index as f64 / rate;
    // A rate of zero or NaN: the start never comes.
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// How long after the end late starts are made (our choice).
const CATCH_UP: Duration = Duration::from_secs(1);
/// Maximum number of missed starts that are counted (our choice).
const MISSED_LIMIT: usize = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use Next::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_closed_loop_starts_when_one_has_ended() {
        let mut schedule = Schedule::new(Pace::Closed, 2).connections(4);
        assert_eq!(schedule.next(ms(0)), Start(ms(0)));
        assert_eq!(schedule.next(ms(1)), Start(ms(0)), "our own lateness counts");
        assert_eq!(schedule.next(ms(2)), WhenOneEnds);
        schedule.end_one(ms(7));
        schedule.end_one(ms(8));
        assert_eq!(schedule.next(ms(9)), Start(ms(7)));
        assert_eq!(schedule.next(ms(9)), Start(ms(8)));
        schedule.end_one(ms(10));
        assert_eq!(schedule.next(ms(10)), Over);
        assert_eq!(schedule.started(), 4);
    }

    #[test]
    fn an_open_loop_starts_by_the_clock() {
        let mut schedule = Schedule::new(Pace::Open(100.0), 2).connections(4);
        assert_eq!(schedule.next(ms(0)), Start(ms(0)));
        assert_eq!(schedule.next(ms(0)), At(ms(10)));
        assert_eq!(schedule.next(ms(10)), Start(ms(10)));
        assert_eq!(schedule.next(ms(20)), WhenOneEnds, "no slot is free");
        schedule.end_one(ms(500));
        assert_eq!(schedule.next(ms(500)), Start(ms(20)), "late, and due as ever");
        schedule.end_one(ms(510));
        assert_eq!(schedule.next(ms(510)), Start(ms(30)));
        assert_eq!(schedule.next(ms(511)), Over);
    }

    #[test]
    fn after_its_duration_nothing_starts() {
        let mut schedule = Schedule::new(Pace::Closed, 1).duration(ms(3));
        assert_eq!(schedule.next(ms(0)), Start(ms(0)));
        schedule.end_one(ms(2));
        assert_eq!(schedule.next(ms(2)), Start(ms(2)));
        schedule.end_one(ms(3));
        assert_eq!(schedule.next(ms(3)), Over);
        let mut busy = Schedule::new(Pace::Closed, 1).duration(ms(3));
        assert_eq!((busy.next(ms(0)), busy.next(ms(1))), (Start(ms(0)), WhenOneEnds));
        assert_eq!(busy.next(ms(3)), Over);
    }

    #[test]
    fn what_was_due_in_time_is_made_up_for_and_what_is_not_is_counted() {
        let mut schedule = Schedule::new(Pace::Open(100.0), 1).duration(ms(50));
        assert_eq!(schedule.next(ms(0)), Start(ms(0)));
        schedule.end_one(ms(60));
        assert_eq!((schedule.next(ms(60)), schedule.missed()), (Start(ms(10)), 3));
        schedule.end_one(ms(1049));
        assert_eq!((schedule.next(ms(1049)), schedule.missed()), (Start(ms(20)), 2));
        schedule.end_one(ms(1050));
        assert_eq!((schedule.next(ms(1050)), schedule.missed()), (Over, 2));
    }

    #[test]
    fn a_rate_holds_over_a_long_time() {
        let hour = Duration::from_secs(3600);
        assert_eq!(nth_start(3600 * 3000, 3000.0), hour);
        assert_eq!(nth_start(1, 0.0), Duration::MAX);
        assert_eq!(nth_start(1, f64::NAN), Duration::MAX);
    }
}
