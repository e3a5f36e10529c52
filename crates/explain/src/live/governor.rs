//! How many connections a live capture follows, so that it takes no more processor time than its
//! [`Budget`].
//!
//! Pure: time and processor time are arguments. A capture may use the allowance of its budget at once; the
//! less of that is left, the closer the budget's share is enforced. If more is used, the capture follows
//! half of the connections, half of that, and so on ([`Governor::handle_usage`]). With room for twice as
//! many, it follows more again, and waits longer before it tries the next time if that was too much.
//!
//! *Not* here: which connections, and the filter of the kernel (`ackwise_linux::packet_socket::Part`).

use std::time::{Duration, Instant};

/// The processor time that a live capture may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Of one processor, for as long as the capture lasts.
    share: f64,
}

impl Budget {
    /// The default in percent of one processor (our choice: with the allowance, 4 s of a minute, which
    /// leaves a second for the report).
    pub const PERCENT: u32 = 5;

    /// What may be used beside the share, and is saved up from it (our choice: half a second of packets
    /// as fast as they can be read is no flood).
    pub const ALLOWANCE: Duration = Duration::from_secs(1);

    /// So many percent of one processor.
    #[must_use]
    pub fn percent(percent: u32) -> Self {
        Self { share: f64::from(percent) / 100.0 }
    }

    /// The same number.
    #[must_use]
    pub fn as_percent(self) -> f64 {
        self.share * 100.0
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::percent(Self::PERCENT)
    }
}

/// Decides how many connections are followed: one in `2^halvings`.
#[derive(Clone, Debug)]
pub(super) struct Governor {
    budget: Budget,
    most_halvings: u32,
    /// Seconds of processor time that are left of the budget; negative if too much was used.
    left: f64,
    /// As of when, and what had been used then.
    counted: (Instant, Duration),
    halvings: u32,
    /// Since when so many are followed, and what had been used then.
    since: (Instant, Duration),
    /// The last look.
    looked: (Instant, Duration),
    /// Packets from before the last change are still queued.
    drains: bool,
    /// When more were followed the last time, and how long to wait before the next.
    widened: Option<Instant>,
    patience: Duration,
    /// How long each number of halvings lasted.
    times: Vec<Duration>,
}

/// What decides.
#[derive(Clone, Copy, Debug)]
struct Facts {
    /// Processors used since the last look, and since the last change.
    latest: f64,
    mean: f64,
    /// Processors that may be used.
    share: f64,
    /// Seconds of processor time that are left of the budget.
    left: f64,
    /// Whether the last change was long enough ago to follow more.
    is_patient: bool,
}

/// What to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Decision {
    Keep,
    /// Halve so often.
    Narrow(u32),
    /// Double so often.
    Widen(u32),
}

impl Facts {
    fn decide(self) -> Decision {
        let Self { latest, mean, share, left, is_patient } = self;
        let allowed = match left > 0.0 {
            true => share + left / HORIZON.as_secs_f64(),
            // What was used too much is saved later.
            false => share / 2.0,
        };
        if latest > allowed {
            return Decision::Narrow(doublings(latest / allowed).max(1));
        }
        let room = doublings_below(ROOM * share / mean);
        if is_patient && room > 0 && left >= TRIAL.as_secs_f64() {
            return Decision::Widen(room.min(MOST_AT_ONCE));
        }
        Decision::Keep
    }
}

/// How often 1 has to be doubled to reach `factor`.
fn doublings(factor: f64) -> u32 {
    (0..MOST_DOUBLINGS).find(|&it| f64::from(1_u32 << it) >= factor).unwrap_or(MOST_DOUBLINGS)
}

/// How often 1 can be doubled without exceeding `factor`.
fn doublings_below(factor: f64) -> u32 {
    (0..MOST_DOUBLINGS).find(|&it| f64::from(2_u32 << it) > factor).unwrap_or(MOST_DOUBLINGS)
}

impl Governor {
    /// Follows everything, from `now` on. No processor time was used.
    pub(super) fn new(budget: Budget, most_halvings: u32, now: Instant) -> Self {
        let nothing = (now, Duration::ZERO);
        Self {
            budget,
            most_halvings,
            left: Budget::ALLOWANCE.as_secs_f64(),
            counted: nothing,
            halvings: 0,
            since: nothing,
            looked: nothing,
            drains: false,
            widened: None,
            patience: PATIENCE,
            times: vec![Duration::ZERO; most_halvings as usize + 1],
        }
    }

    /// Whether it is time for [`handle_usage`](Self::handle_usage).
    pub(super) fn wants_to_look(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.looked.0) >= LOOK && !self.awaits_drain(now)
    }

    /// Whether what is used now is used for packets from before the last change.
    fn awaits_drain(&self, now: Instant) -> bool {
        self.drains && now.saturating_duration_since(self.since.0) < MOST_DRAIN
    }

    /// All of the process's processor time was `used` by now. Gives the number of halvings if that
    /// changes.
    pub(super) fn handle_usage(&mut self, used: Duration, now: Instant) -> Option<u32> {
        self.count(used, now);
        if self.awaits_drain(now) {
            return None;
        }
        self.drains = false;
        let decision = self.facts(used, now).decide();
        self.looked = (now, used);
        let halvings = match decision {
            Decision::Keep => self.halvings,
            Decision::Narrow(by) => self.most_halvings.min(self.halvings + by),
            Decision::Widen(by) => self.halvings.saturating_sub(by),
        };
        if halvings == self.halvings {
            return None;
        }
        let narrows = halvings > self.halvings;
        if narrows {
            let failed = self.widened.is_some_and(|at| now.saturating_duration_since(at) < FAILED);
            self.patience = if failed { LONGEST_PATIENCE.min(self.patience * 2) } else { PATIENCE };
        } else {
            self.widened = Some(now);
        }
        self.times[self.halvings as usize] += now.saturating_duration_since(self.since.0);
        (self.halvings, self.since, self.drains) = (halvings, (now, used), narrows);
        Some(halvings)
    }

    /// No packet is queued any more from before the last change.
    pub(super) fn handle_drained(&mut self, used: Duration, now: Instant) {
        self.count(used, now);
        if std::mem::take(&mut self.drains) {
            self.looked = (now, used);
        }
    }

    /// How long each number of halvings lasted until `now`: none, one, and so on.
    pub(super) fn times(&self, now: Instant) -> Vec<Duration> {
        let mut times = self.times.clone();
        times[self.halvings as usize] += now.saturating_duration_since(self.since.0);
        times
    }

    fn count(&mut self, used: Duration, now: Instant) {
        let (at, before) = std::mem::replace(&mut self.counted, (now, used));
        let earned = self.budget.share * now.saturating_duration_since(at).as_secs_f64();
        let left = self.left + earned - used.saturating_sub(before).as_secs_f64();
        self.left = left.min(Budget::ALLOWANCE.as_secs_f64());
    }

    fn facts(&self, used: Duration, now: Instant) -> Facts {
        let processors = |(at, before): (Instant, Duration)| {
            let elapsed = now.saturating_duration_since(at).as_secs_f64().max(f64::EPSILON);
            used.saturating_sub(before).as_secs_f64() / elapsed
        };
        Facts {
            latest: processors(self.looked),
            mean: processors(self.since),
            share: self.budget.share,
            left: self.left,
            is_patient: now.saturating_duration_since(self.since.0) >= self.patience,
        }
    }
}

/// All of these are our choice. How often usage is looked at: the clock of processor time has a resolution
/// of some microseconds, and half a second is noticed by then.
const LOOK: Duration = Duration::from_millis(50);
/// What is left of the budget may be used up within this time.
const HORIZON: Duration = Duration::from_millis(500);
/// How much of its share a capture should take after it follows more.
const ROOM: f64 = 0.8;
/// What must be left to follow more: about what it takes to find out that it is too much.
const TRIAL: Duration = Duration::from_millis(150);
/// The most doublings in one step.
const MOST_AT_ONCE: u32 = 3;
/// The longest time to get through packets that were queued before a change.
const MOST_DRAIN: Duration = Duration::from_millis(300);
/// How long to wait before more are followed: at first, and at most.
const PATIENCE: Duration = Duration::from_secs(2);
const LONGEST_PATIENCE: Duration = Duration::from_secs(64);
/// If fewer are followed so soon after more were, that was too much.
const FAILED: Duration = Duration::from_secs(10);
/// Factors are cut off here.
const MOST_DOUBLINGS: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// A capture in which following everything takes `load` processors; no more than one can be used.
    /// Runs for `seconds` in steps of 50 ms. What was used, and the number of halvings at each step.
    fn run(
        budget: Budget,
        seconds: u32,
        load: impl Fn(Duration, u32) -> f64,
    ) -> (Duration, Vec<u32>) {
        let begun = Instant::now();
        let mut governor = Governor::new(budget, 16, begun);
        let (mut used, mut halvings, mut steps) = (Duration::ZERO, 0, Vec::new());
        for step in 1..=seconds * 20 {
            let elapsed = LOOK * step;
            used += LOOK.mul_f64(load(elapsed, halvings).min(1.0));
            governor.handle_drained(used, begun + elapsed);
            if let Some(next) = governor.handle_usage(used, begun + elapsed) {
                assert_ne!(next, halvings);
                halvings = next;
            }
            steps.push(halvings);
        }
        let times = governor.times(begun + LOOK * (seconds * 20));
        assert_eq!(times.iter().sum::<Duration>(), LOOK * (seconds * 20));
        (used, steps)
    }

    /// A flood of many connections.
    fn flood(processors: f64) -> impl Fn(Duration, u32) -> f64 {
        move |_, halvings| processors / f64::from(1 << halvings)
    }

    #[test]
    fn a_flood_stays_within_the_budget_and_uses_most_of_it() {
        for processors in [0.2, 1.0, 1.6, 40.0, 3_000.0] {
            let (used, steps) = run(Budget::default(), 60, flood(processors));
            assert!(used <= Duration::from_millis(4_100), "{processors}: {used:?}");
            let left = steps[steps.len() / 2..].iter().max().unwrap();
            let kept = processors / f64::from(1 << left);
            assert!(kept > 0.012, "{processors}: {kept} processors of 0.05 are used");
        }
    }

    #[test]
    fn what_a_budget_carries_is_followed_completely() {
        let bursts = |at: Duration, _: u32| if at.as_millis() % 20_000 < 400 { 1.0 } else { 0.02 };
        let (_, steps) = run(Budget::default(), 300, bursts);
        assert!(steps.iter().all(|it| *it == 0), "bursts of 0.4 s");
        let (_, steps) = run(Budget::default(), 600, flood(0.049));
        assert!(steps.iter().all(|it| *it == 0), "just below the share");
        let (_, steps) = run(Budget::percent(100), 60, flood(5.0));
        assert!(steps.iter().all(|it| *it == 0), "a processor was allowed");
    }

    #[test]
    fn a_flood_after_a_quiet_hour_gets_no_more_than_any_other() {
        let (mut used, mut quiet) = (Duration::ZERO, 0.0);
        let load = |at: Duration, halvings: u32| match at.as_secs() {
            ..3_600 => 0.001,
            _ => 20.0 / f64::from(1 << halvings),
        };
        for (seconds, is_quiet) in [(3_600, true), (3_660, false)] {
            used = run(Budget::default(), seconds, load).0;
            if is_quiet {
                quiet = used.as_secs_f64();
            }
        }
        assert!(used.as_secs_f64() - quiet < 4.1, "{used:?}");
    }

    #[test]
    fn everything_is_followed_again_when_a_flood_is_over() {
        let load = |at: Duration, halvings: u32| {
            let flood = if at.as_secs() < 10 { 200.0 } else { 0.01 };
            flood / f64::from(1 << halvings)
        };
        let (_, steps) = run(Budget::default(), 60, load);
        assert!(steps[150] >= 10, "{:?}", steps[150]);
        let first = 10 * 20 + steps[200..].iter().position(|it| *it == 0).expect("some time");
        assert!(first < 40 * 20, "after {} s", first / 20);
        assert!(steps[first..].iter().all(|it| *it == 0));
    }

    #[test]
    fn one_connection_that_is_too_much_is_tried_less_and_less_often() {
        // It is in each part down to one in 4.
        let load = |_: Duration, halvings: u32| if halvings <= 2 { 1.0 } else { 0.001 };
        let (used, steps) = run(Budget::default(), 60, load);
        assert!(used < Duration::from_millis(4_100), "{used:?}");
        let trials = steps.windows(2).filter(|it| it[1] < it[0]).count();
        assert!((2..12).contains(&trials), "{trials} trials in a minute");
    }

    #[test]
    fn a_decision_follows_from_what_is_left() {
        let facts = Facts { latest: 1.0, mean: 1.0, share: 0.05, left: 1.0, is_patient: true };
        for (facts, decision) in [
            (facts, Decision::Keep),
            (Facts { left: 0.45, ..facts }, Decision::Narrow(1)),
            (Facts { left: 0.1, ..facts }, Decision::Narrow(2)),
            (Facts { left: 0.0, ..facts }, Decision::Narrow(6)),
            (Facts { left: -3.0, ..facts }, Decision::Narrow(6)),
            (Facts { latest: 0.05, mean: 0.05, ..facts }, Decision::Keep),
            (Facts { latest: 0.05, mean: 0.021, ..facts }, Decision::Keep),
            (Facts { latest: 0.05, mean: 0.02, ..facts }, Decision::Widen(1)),
            (Facts { latest: 0.0, mean: 0.0, ..facts }, Decision::Widen(3)),
            (Facts { latest: 0.0, mean: 0.0, left: 0.1, ..facts }, Decision::Keep),
            (Facts { latest: 0.0, mean: 0.0, is_patient: false, ..facts }, Decision::Keep),
        ] {
            assert_eq!(facts.decide(), decision, "{facts:?}");
        }
    }

    #[test]
    fn packets_queued_before_a_change_do_not_lead_to_another() {
        let begun = Instant::now();
        let mut governor = Governor::new(Budget::default(), 16, begun);
        let at = |millis| (Duration::from_millis(millis), begun + Duration::from_millis(millis));
        let mut now = 0;
        let halvings = loop {
            now += 50;
            let (used, now) = at(now);
            if let Some(halvings) = governor.handle_usage(used, now) {
                break halvings;
            }
        };
        assert_eq!((now, halvings), (600, 1), "half of the allowance is left");
        for later in [50, 100, 250] {
            let (used, now) = at(now + later);
            assert!(!governor.wants_to_look(now));
            assert_eq!(governor.handle_usage(used, now), None);
        }
        let (used, then) = at(now + 270);
        governor.handle_drained(used, then);
        let (used, then) = at(now + 320);
        assert!(governor.handle_usage(used, then).is_some(), "these were not");
    }
}
