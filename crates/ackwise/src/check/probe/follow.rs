//! Does the release of a stall follow our ACK? The one decision on which `fail` rests.
//!
//! A held segment leaves when our ACK arrives (Nagle), when a timer fires (cork), or when the
//! application gets to it (think time). Only the first moves with our ACK. So the ACK is withheld for
//! two different times, and not at all, in turn; the load of a machine makes any of the three late,
//! but none of them early.

use std::time::Duration;

use crate::check::{conversation::Stall, stack::Capabilities};

/// The two delays of our ACK.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Delays {
    /// The shorter.
    pub short: Duration,
    /// The longer.
    pub long: Duration,
    /// An ACK that was withheld longer than this left at a time that nobody knows.
    pub trusted: Duration,
}

/// When our end acknowledges in one trial.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Arm {
    /// At once.
    Prompt,
    /// After the shorter delay.
    Short,
    /// After the longer delay.
    Long,
}

/// One request and its answer.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// How it was acknowledged.
    pub arm: Arm,
    /// The longest pause in the answer.
    pub stall: Option<Stall>,
}

/// What one trial says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Hint {
    /// No pause worth the name.
    Free,
    /// The pause ended before our ACK left: nobody waited for it.
    Early,
    /// The pause ended when our ACK had just arrived.
    Follows,
    /// The pause went on after our ACK had arrived.
    Late,
    /// Nothing: it is not known when our ACK left.
    Void,
}

/// What all trials say together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Release {
    /// More trials are needed.
    Undecided,
    /// There is no stall.
    NotHeld,
    /// Our ACK releases it.
    Ack,
    /// It lasts about 200 ms, whatever we do.
    Timer,
    /// Something else does: the application, the path.
    Other,
}

impl Delays {
    /// The delays that a stack can keep; `None` if it cannot keep two that can be told apart.
    #[must_use]
    pub fn within(capabilities: Capabilities) -> Option<Self> {
        let longest = capabilities.longest_delay;
        let (short, long) = match longest {
            _ if longest >= Duration::from_millis(120) => (40, 120),
            _ if longest >= Duration::from_millis(30) => (12, 26),
            _ => return None,
        };
        let (short, long) = (Duration::from_millis(short), Duration::from_millis(long));
        Some(Self { short, long, trusted: longest + LATENESS })
    }

    /// How long the ACK is withheld in a trial of `arm`.
    #[must_use]
    pub fn of(&self, arm: Arm) -> Duration {
        match arm {
            Arm::Prompt => Duration::ZERO,
            Arm::Short => self.short,
            Arm::Long => self.long,
        }
    }
}

impl Trial {
    /// What this trial says, on a path with that round-trip time.
    #[must_use]
    pub fn hint(&self, rtt: Duration, trusted: Duration) -> Hint {
        let Some(stall) = self.stall.filter(|stall| stall.length() >= STALL) else {
            return Hint::Free;
        };
        let known = stall.acked.filter(|acked| *acked <= stall.from + trusted);
        match known.filter(|acked| *acked <= stall.to) {
            Some(acked) if stall.to.saturating_duration_since(acked) <= slack(rtt) => Hint::Follows,
            Some(_) => Hint::Late,
            // No ACK can have left before the pause ended.
            None if stall.length() <= trusted => Hint::Early,
            None => Hint::Void,
        }
    }

    /// How long the pause was, if it is worth the name.
    #[must_use]
    pub fn length_if_stalled(&self) -> Option<Duration> {
        Some(self.length()).filter(|length| *length >= STALL)
    }

    fn length(&self) -> Duration {
        self.stall.map_or(Duration::ZERO, |stall| stall.length())
    }
}

/// Decides what releases the stalls of `trials`, made in rounds of one trial for each [`Arm`].
#[must_use]
pub fn decide(trials: &[Trial], rtt: Duration, trusted: Duration) -> Release {
    let hints = |arm| {
        let of_arm = trials.iter().filter(move |trial| trial.arm == arm);
        Tally::of(of_arm.map(|trial| trial.hint(rtt, trusted)))
    };
    let (short, long) = (hints(Arm::Short), hints(Arm::Long));
    let (fewest, most) = (short.total().min(long.total()), short.total().max(long.total()));
    let follows = short.follows + long.follows;
    if follows == 0 && short.total() + long.total() >= ROUNDS_MIN && short.free + long.free == 0 {
        let timer = trials.iter().all(|trial| is_like_the_cork_timer(trial.length(), rtt));
        return if timer { Release::Timer } else { Release::Other };
    }
    if fewest < ROUNDS_MIN {
        return if most < ROUNDS_MAX { Release::Undecided } else { Release::Other };
    }
    if short.accuses() && long.accuses() && moves(trials) {
        return Release::Ack;
    }
    if short.acquits() && long.acquits() {
        return Release::NotHeld;
    }
    let hopeless = |tally: Tally| {
        let stalls = tally.total() - tally.free;
        tally.early >= ROUNDS_MIN || (stalls >= ROUNDS_MIN && tally.follows * 2 < stalls)
    };
    if most >= ROUNDS_MAX || hopeless(short) || hopeless(long) {
        return Release::Other;
    }
    Release::Undecided
}

/// Whether the stall grows with the delay of our ACK, from none to the shorter to the longer, by at
/// least half as much: one that the server ends by itself does not, however well its length happens
/// to fit one of the delays.
fn moves(trials: &[Trial]) -> bool {
    let of = |arm| {
        let stalled = trials.iter().filter(move |trial| {
            trial.arm == arm && (arm == Arm::Prompt || trial.length() >= STALL)
        });
        let withheld = |trial: &Trial| trial.stall?.withheld();
        let by_ack = median(stalled.clone().filter_map(withheld)).filter(|_| arm != Arm::Prompt);
        (median(stalled.map(Trial::length)).unwrap_or_default(), by_ack.unwrap_or_default())
    };
    let (prompt, short, long) = (of(Arm::Prompt), of(Arm::Short), of(Arm::Long));
    let follows = |(stall, withheld): (Duration, Duration), (more_stall, more_withheld)| {
        let by_ack = Duration::saturating_sub(more_withheld, withheld);
        by_ack >= DISTINCT && Duration::saturating_sub(more_stall, stall) * 2 >= by_ack
    };
    follows(prompt, short) && follows(short, long)
}

/// Whether something that was held for `span` may have been a cork's: Linux sends what a cork holds
/// back when its RTO, at least 200 ms, has passed.
#[must_use]
pub fn is_like_the_cork_timer(span: Duration, rtt: Duration) -> bool {
    let (early, late) = (Duration::from_millis(5), Duration::from_millis(80));
    (CORK_TIMER - early..=CORK_TIMER + 3 * rtt + late).contains(&span)
}

/// The middle one (the upper of two).
#[must_use]
pub fn median(spans: impl Iterator<Item = Duration>) -> Option<Duration> {
    let mut sorted: Vec<Duration> = spans.collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied()
}

/// How much later than our ACK a release may arrive that it has caused: the round trip with some
/// queueing, and what a busy machine adds.
fn slack(rtt: Duration) -> Duration {
    rtt * 3 / 2 + Duration::from_millis(5)
}

#[derive(Clone, Copy, Default)]
struct Tally {
    free: usize,
    early: usize,
    follows: usize,
    late: usize,
}

impl Tally {
    fn of(hints: impl Iterator<Item = Hint>) -> Self {
        let mut tally = Self::default();
        for hint in hints {
            match hint {
                Hint::Free => tally.free += 1,
                Hint::Early => tally.early += 1,
                Hint::Follows => tally.follows += 1,
                Hint::Late => tally.late += 1,
                Hint::Void => {}
            }
        }
        tally
    }

    fn total(self) -> usize {
        self.free + self.early + self.follows + self.late
    }

    /// Three of four stalls end with our ACK, and at most one earlier. Answers without a stall
    /// speak neither way: how a server's writes fall into segments is a matter of luck.
    fn accuses(self) -> bool {
        let stalls = self.total() - self.free;
        self.follows >= ROUNDS_MIN && self.follows * 4 >= stalls * 3 && self.early <= 1
    }

    fn acquits(self) -> bool {
        self.free >= ROUNDS_MIN && self.free * 4 >= self.total() * 3
    }
}

/// A busy machine makes both delays longer; if that brings them nearer than this, they are not two.
const DISTINCT: Duration = Duration::from_millis(5);

/// A shorter pause is not worth a word.
pub const STALL: Duration = Duration::from_millis(10);

/// Trials at each delay before a verdict.
pub const ROUNDS_MIN: usize = 3;

/// Trials at each delay after which there is none.
pub const ROUNDS_MAX: usize = 8;

/// `TCP_RTO_MIN` of Linux.
pub const CORK_TIMER: Duration = Duration::from_millis(200);

/// How late our own ACK may be and still be ours. With the kernel's stack, 30 ms and these stay below
/// the 40 ms of Linux's delayed-ACK timer.
const LATENESS: Duration = Duration::from_millis(6);
