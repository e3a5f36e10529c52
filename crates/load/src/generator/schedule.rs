//! When requests are due, and on how many connections. Pure: the time is an argument.
//!
//! In a **closed loop** each slot carries one connection after the other, and each request follows
//! the response before it, so a slow server gets fewer requests. In an **open loop** requests are due
//! at a rate independent of the server, on any connection that is free; if none is, the request is
//! late, and its latency counts from the time it was due.

use std::{collections::VecDeque, time::Duration};

use super::arrivals::{Arrivals, DueTimes};

/// What makes the next request due.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Pace {
    /// The previous response in the same slot.
    Closed,
    /// The clock.
    Open(Arrivals),
}

/// The requests of a run. Times are relative to its beginning.
///
/// ```
/// use std::{num::NonZeroU64, time::Duration};
/// use ackwise_load::generator::{Arrivals, Pace, Schedule};
///
/// // Ten a second on at most three connections, five in all.
/// let pace = Pace::Open(Arrivals::constant(10.0));
/// let schedule = Schedule::new(pace, 3).requests(5).duration(Duration::from_secs(60));
/// assert_eq!(schedule.slots(), 3);
/// ```
#[derive(Clone, Debug)]
pub struct Schedule {
    clock: Option<DueTimes>,
    slots: usize,
    requests: Option<u64>,
    per_connection: u64,
    duration: Option<Duration>,
    /// Requests that were started, and those reserved for open connections in a closed loop.
    taken: u64,
    /// When each free slot became free, earliest first. At most `slots` entries.
    free: VecDeque<Duration>,
    /// In a closed loop, the slots that the ramp has not released yet, and its length.
    held_back: usize,
    ramp: Duration,
}

/// The next action.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Next {
    /// Start a request.
    Start(Start),
    /// Poll again at this time.
    At(Duration),
    /// Poll again when a slot is free.
    WhenOneEnds,
    /// No request starts any more, except those that connections return.
    Over,
}

/// A request to be started.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Start {
    /// When it was due.
    pub(super) due: Duration,
    /// How many requests its connection may carry, if it opens one.
    pub(super) requests: u64,
    /// Since when a slot was free for it.
    pub(super) free_since: Duration,
}

/// What follows a response on a connection that may carry more requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum AfterAnswer {
    /// The next request.
    Ask {
        /// When it is due: in a closed loop, when the user has thought.
        due: Duration,
        /// Since when a slot was free for it, this one or another.
        free_since: Duration,
    },
    /// The connection waits for a request to be due. Its slot was freed.
    Idle,
    /// The connection is not needed any more.
    Close,
}

impl Schedule {
    /// At most `slots` requests at once (at least one), one for each connection, without an end.
    #[must_use]
    pub fn new(pace: Pace, slots: usize) -> Self {
        let slots = slots.max(1);
        let clock = match pace {
            Pace::Closed => None,
            Pace::Open(arrivals) => Some(DueTimes::new(arrivals)),
        };
        let free = std::iter::repeat_n(Duration::ZERO, slots).collect();
        Self {
            clock,
            slots,
            requests: None,
            per_connection: 1,
            duration: None,
            taken: 0,
            free,
            held_back: 0,
            ramp: Duration::ZERO,
        }
    }

    /// Limits the number of requests.
    #[must_use]
    pub const fn requests(mut self, requests: u64) -> Self {
        self.requests = Some(requests);
        self
    }

    /// Sets the number of requests that each connection carries at most.
    #[must_use]
    pub fn per_connection(mut self, requests: u64) -> Self {
        self.per_connection = requests.max(1);
        self
    }

    /// Starts no request after this time. Outstanding ones continue to their end.
    #[must_use]
    pub const fn duration(mut self, duration: Duration) -> Self {
        self.duration = Some(duration);
        self
    }

    /// In a closed loop, adds one slot after the other during this time. An open loop's ramp is part
    /// of its [`Arrivals`].
    #[must_use]
    pub fn ramp(mut self, ramp: Duration) -> Self {
        if self.clock.is_none() && !ramp.is_zero() {
            self.free.clear();
            (self.held_back, self.ramp) = (self.slots, ramp);
        }
        self
    }

    /// Whether requests are due at a rate.
    pub(super) const fn is_open_loop(&self) -> bool {
        self.clock.is_some()
    }

    /// Maximum number of concurrent connections.
    #[must_use]
    pub const fn slots(&self) -> usize {
        self.slots
    }

    /// Number of requests that were due in an open loop but never started.
    pub(super) fn missed(&self) -> u64 {
        let (Some(clock), Some(duration)) = (&self.clock, self.duration) else { return 0 };
        let limit = self.requests.unwrap_or(u64::MAX).saturating_sub(self.taken).min(MISSED_LIMIT);
        let mut clock = clock.clone();
        (0..limit)
            .take_while(|_| {
                let due = clock.next_due();
                clock.advance();
                due < duration
            })
            .count() as u64
    }

    /// The action at `now`. [`Next::Start`] takes a slot.
    pub(super) fn next(&mut self, now: Duration) -> Next {
        self.release(now);
        let left = self.left();
        if left == 0 {
            return Next::Over;
        }
        let due = match (&self.clock, self.free.front()) {
            (None, None) if self.is_over(now) => return Next::Over,
            (None, None) if self.held_back > 0 => return Next::At(self.next_release()),
            (None, None) => return Next::WhenOneEnds,
            (None, Some(free)) => *free,
            (Some(clock), _) => clock.next_due(),
        };
        if self.is_over(due) || self.is_too_late(now) {
            return Next::Over;
        }
        if due > now {
            return Next::At(due);
        }
        let Some(free_since) = self.free.pop_front() else { return Next::WhenOneEnds };
        let requests = self.per_connection.min(left);
        self.take(requests);
        let requests = if self.clock.is_some() { self.per_connection } else { requests };
        Next::Start(Start { due, requests, free_since })
    }

    /// What a connection does at `now`, when it has a response and may carry another request. The user of a
    /// closed loop thinks until `resumes`.
    pub(super) fn after_answer(&mut self, resumes: Duration, now: Duration) -> AfterAnswer {
        let Some(clock) = &self.clock else {
            let is_over = self.is_over(resumes);
            let ask = AfterAnswer::Ask { due: resumes, free_since: now };
            return if is_over { AfterAnswer::Close } else { ask };
        };
        let due = clock.next_due();
        if self.left() == 0 || self.is_over(due) || self.is_too_late(now) {
            return AfterAnswer::Close;
        }
        if due > now {
            self.free.push_back(now);
            return AfterAnswer::Idle;
        }
        self.take(1);
        AfterAnswer::Ask { due, free_since: self.free.front().map_or(now, |free| now.min(*free)) }
    }

    /// Frees the slot of a connection that ended, from `at` on: in a closed loop, its user may still think.
    /// The requests that were reserved for it and are `unused` go to other connections.
    pub(super) fn end_one(&mut self, at: Duration, unused: u64) {
        assert!(self.free.len() < self.slots, "more connections have ended than were started");
        let place = self.free.partition_point(|free| *free <= at);
        self.free.insert(place, at);
        if self.clock.is_none() {
            self.taken = self.taken.saturating_sub(unused);
        }
    }

    /// An open loop takes its requests one by one, a closed loop those of a connection together.
    fn take(&mut self, reserved: u64) {
        match &mut self.clock {
            None => self.taken = self.taken.saturating_add(reserved),
            Some(clock) => {
                self.taken += 1;
                clock.advance();
            }
        }
    }

    fn left(&self) -> u64 {
        self.requests.map_or(u64::MAX, |limit| limit.saturating_sub(self.taken))
    }

    /// Adds the slots that the ramp releases until `now`.
    fn release(&mut self, now: Duration) {
        while self.held_back > 0 && self.next_release() <= now {
            let at = self.next_release();
            // Earlier than those that became free meanwhile.
            let place = self.free.partition_point(|free| *free <= at);
            self.free.insert(place, at);
            self.held_back -= 1;
        }
    }

    fn next_release(&self) -> Duration {
        let released = u32::try_from(self.slots - self.held_back).unwrap_or(u32::MAX);
        let slots = u32::try_from(self.slots).unwrap_or(u32::MAX);
        self.ramp.mul_f64(f64::from(released) / f64::from(slots))
    }

    fn is_over(&self, at: Duration) -> bool {
        self.duration.is_some_and(|duration| at >= duration)
    }

    /// Requests that were due in time are made late, so that a run does not omit slow requests at its
    /// end. [`CATCH_UP`] limits this for a server that cannot keep up.
    fn is_too_late(&self, now: Duration) -> bool {
        match self.clock {
            None => self.is_over(now),
            Some(_) => self.duration.is_some_and(|duration| now >= duration + CATCH_UP),
        }
    }
}

/// How long after the end late requests are made (our choice).
const CATCH_UP: Duration = Duration::from_secs(1);
/// Maximum number of missed requests that are counted (our choice).
const MISSED_LIMIT: u64 = 10_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use Next::{At, Over, WhenOneEnds};

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// When the request was due, and the requests for its connection.
    fn asks(due: Duration, free_since: Duration) -> AfterAnswer {
        AfterAnswer::Ask { due, free_since }
    }

    fn starts(schedule: &mut Schedule, now: Duration) -> (Duration, u64) {
        match schedule.next(now) {
            Next::Start(Start { due, requests, .. }) => (due, requests),
            other => panic!("{other:?} at {now:?}"),
        }
    }

    #[test]
    fn a_closed_loop_starts_when_one_has_ended() {
        let mut schedule = Schedule::new(Pace::Closed, 2).requests(4);
        assert_eq!(starts(&mut schedule, ms(0)), (ms(0), 1));
        assert_eq!(starts(&mut schedule, ms(1)), (ms(0), 1), "our own lateness counts");
        assert_eq!(schedule.next(ms(2)), WhenOneEnds);
        schedule.end_one(ms(7), 0);
        schedule.end_one(ms(8), 0);
        assert_eq!(starts(&mut schedule, ms(9)), (ms(7), 1));
        assert_eq!(starts(&mut schedule, ms(9)), (ms(8), 1));
        schedule.end_one(ms(10), 0);
        assert_eq!(schedule.next(ms(10)), Over);
    }

    #[test]
    fn requests_that_a_connection_could_not_make_go_to_another() {
        let mut schedule = Schedule::new(Pace::Closed, 1).requests(10).per_connection(10);
        assert_eq!(starts(&mut schedule, ms(0)), (ms(0), 10));
        assert_eq!(schedule.next(ms(1)), Over);
        schedule.end_one(ms(2), 7);
        assert_eq!(starts(&mut schedule, ms(2)), (ms(2), 7));
        schedule.end_one(ms(3), 0);
        assert_eq!(schedule.next(ms(3)), Over);
    }

    #[test]
    fn an_open_loop_starts_by_the_clock() {
        let pace = Pace::Open(Arrivals::constant(100.0));
        let mut schedule = Schedule::new(pace, 2).requests(4);
        assert_eq!(starts(&mut schedule, ms(0)), (ms(0), 1));
        assert_eq!(schedule.next(ms(0)), At(ms(10)));
        assert_eq!(starts(&mut schedule, ms(10)), (ms(10), 1));
        assert_eq!(schedule.next(ms(20)), WhenOneEnds, "no slot is free");
        schedule.end_one(ms(500), 0);
        assert_eq!(starts(&mut schedule, ms(500)), (ms(20), 1), "late, and due as ever");
        schedule.end_one(ms(510), 0);
        assert_eq!(starts(&mut schedule, ms(510)), (ms(30), 1));
        assert_eq!(schedule.next(ms(511)), Over);
    }

    #[test]
    fn a_kept_connection_of_an_open_loop_takes_what_is_due_or_waits() {
        let pace = Pace::Open(Arrivals::constant(100.0));
        let mut schedule = Schedule::new(pace, 1).requests(4).per_connection(9);
        assert_eq!(starts(&mut schedule, ms(0)), (ms(0), 9));
        assert_eq!(schedule.after_answer(ms(25), ms(25)), asks(ms(10), ms(25)));
        assert_eq!(schedule.after_answer(ms(26), ms(26)), asks(ms(20), ms(26)));
        assert_eq!(schedule.after_answer(ms(27), ms(27)), AfterAnswer::Idle);
        assert_eq!(schedule.next(ms(27)), At(ms(30)));
        assert_eq!(starts(&mut schedule, ms(30)), (ms(30), 9));
        assert_eq!(schedule.after_answer(ms(31), ms(31)), AfterAnswer::Close);
    }

    #[test]
    fn a_request_that_is_late_although_a_slot_was_free_is_the_generators_fault() {
        let pace = Pace::Open(Arrivals::constant(100.0));
        let mut schedule = Schedule::new(pace, 2).requests(4).per_connection(9);
        assert_eq!(starts(&mut schedule, ms(0)), (ms(0), 9));
        // The generator was not woken at 10 ms.
        assert_eq!(schedule.after_answer(ms(15), ms(15)), asks(ms(10), ms(0)));
    }

    #[test]
    fn after_its_duration_nothing_starts() {
        let mut schedule = Schedule::new(Pace::Closed, 1).duration(ms(3)).per_connection(u64::MAX);
        assert_eq!(starts(&mut schedule, ms(0)), (ms(0), u64::MAX));
        assert_eq!(schedule.after_answer(ms(2), ms(2)), asks(ms(2), ms(2)));
        assert_eq!(schedule.after_answer(ms(3), ms(3)), AfterAnswer::Close);
        schedule.end_one(ms(3), u64::MAX);
        assert_eq!(schedule.next(ms(3)), Over);
        let mut busy = Schedule::new(Pace::Closed, 1).duration(ms(3));
        assert_eq!((starts(&mut busy, ms(0)), busy.next(ms(1))), ((ms(0), 1), WhenOneEnds));
        assert_eq!(busy.next(ms(3)), Over);
    }

    #[test]
    fn what_was_due_in_time_is_made_up_for_and_what_is_not_is_counted() {
        let pace = Pace::Open(Arrivals::constant(100.0));
        let mut schedule = Schedule::new(pace, 1).duration(ms(50));
        assert_eq!(starts(&mut schedule, ms(0)), (ms(0), 1));
        schedule.end_one(ms(60), 0);
        assert_eq!((starts(&mut schedule, ms(60)), schedule.missed()), ((ms(10), 1), 3));
        schedule.end_one(ms(1049), 0);
        assert_eq!((starts(&mut schedule, ms(1049)), schedule.missed()), ((ms(20), 1), 2));
        schedule.end_one(ms(1050), 0);
        assert_eq!((schedule.next(ms(1050)), schedule.missed()), (Over, 2));
    }

    #[test]
    fn a_closed_loop_s_ramp_adds_one_slot_after_the_other() {
        let mut schedule = Schedule::new(Pace::Closed, 4).ramp(ms(100));
        assert_eq!(starts(&mut schedule, ms(0)), (ms(0), 1));
        assert_eq!(schedule.next(ms(0)), At(ms(25)));
        schedule.end_one(ms(30), 0);
        assert_eq!(starts(&mut schedule, ms(51)), (ms(25), 1));
        assert_eq!(starts(&mut schedule, ms(51)), (ms(30), 1));
        assert_eq!(starts(&mut schedule, ms(51)), (ms(50), 1));
        assert_eq!(schedule.next(ms(51)), At(ms(75)));
        assert_eq!(starts(&mut schedule, ms(99)), (ms(75), 1));
        assert_eq!(schedule.next(ms(100)), WhenOneEnds);
    }

    #[test]
    fn a_user_who_thinks_takes_its_slot_again_when_it_has_thought() {
        let mut schedule = Schedule::new(Pace::Closed, 2).duration(ms(100)).per_connection(9);
        assert_eq!(starts(&mut schedule, ms(0)), (ms(0), 9));
        assert_eq!(starts(&mut schedule, ms(0)), (ms(0), 9));
        assert_eq!(schedule.after_answer(ms(50), ms(10)), asks(ms(50), ms(10)));
        assert_eq!(schedule.after_answer(ms(100), ms(10)), AfterAnswer::Close);
        schedule.end_one(ms(60), 0);
        schedule.end_one(ms(40), 0);
        assert_eq!(schedule.next(ms(30)), At(ms(40)));
        assert_eq!(starts(&mut schedule, ms(41)), (ms(40), 9));
        assert_eq!(schedule.next(ms(41)), At(ms(60)));
    }
}
