//! Does the release of a stall follow our ACK? The one decision on which `fail` rests.
//!
//! A held segment leaves when our ACK arrives (Nagle), when a timer fires (cork), or when the
//! application gets to it (think time). Only the first moves with our ACK. So the ACK is withheld for
//! two different times, and not at all, in turn; the load of a machine makes any of the three late,
//! but none of them early.

use std::time::Duration;

use ackwise_tcp::policy::HoldPolicy;
use ackwise_units::statistics::{middle, percentile};

use crate::{
    http_client::{Exchange, Stall},
    stack::Capabilities,
};

/// The two delays of our ACK.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Delays {
    /// The shorter.
    pub(crate) short: Duration,
    /// The longer.
    pub(crate) long: Duration,
    /// An ACK that was withheld longer than this left at a time that nobody knows.
    pub(crate) trusted: Duration,
}

/// When our end acknowledges in one trial.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Arm {
    /// At once.
    Prompt,
    /// After the shorter delay.
    Short,
    /// After the longer delay.
    Long,
}

/// One request and its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trial {
    /// How it was acknowledged.
    pub(crate) arm: Arm,
    /// The longest pause in the answer.
    pub(crate) stall: Option<Stall>,
    /// From the first byte of the answer to its last.
    pub(crate) took: Duration,
}

/// What one trial shows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TrialOutcome {
    /// No pause worth the name.
    Free,
    /// The pause ended before our ACK can have done anything: nobody waited for it.
    Early,
    /// The pause ended when our ACK had just arrived.
    Follows,
    /// The pause went on after our ACK had arrived.
    Late,
    /// Nothing: it is not known when our ACK left.
    Void,
}

/// What all trials show together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Release {
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
    /// The delays that a stack can keep, so that others wait for no longer than `hold` and twice the longer delay if the
    /// server serves one connection at a time; `None` if it cannot keep two that can be told apart.
    #[must_use]
    pub(crate) fn within(capabilities: Capabilities, hold: Option<Duration>) -> Option<Self> {
        let longest = capabilities.longest_delay;
        let (short, long) = match hold {
            None if longest >= Duration::from_millis(120) => (40, 120),
            Some(_) if longest >= Duration::from_millis(120) => (20, 60),
            _ if longest >= Duration::from_millis(30) => (12, 24),
            _ => return None,
        };
        let (short, long) = (Duration::from_millis(short), Duration::from_millis(long));
        Some(Self { short, long, trusted: longest + LATENESS })
    }

    /// How long the ACK is withheld in a trial of `arm`.
    #[must_use]
    pub(crate) fn of(&self, arm: Arm) -> Duration {
        match arm {
            Arm::Prompt => Duration::ZERO,
            Arm::Short => self.short,
            Arm::Long => self.long,
        }
    }
}

impl Trial {
    /// What `exchange`, acknowledged as `arm` says, shows when `stall` is the pause that counts.
    #[must_use]
    pub(crate) fn of(arm: Arm, stall: Option<Stall>, exchange: &Exchange) -> Self {
        let ends = exchange.duration().zip(exchange.first_byte());
        let took = ends.map_or(Duration::ZERO, |(last, first)| last.saturating_sub(first));
        Self { arm, stall, took }
    }

    /// What this trial says, on a path with that round-trip time.
    #[must_use]
    pub(crate) fn outcome(&self, rtt: Duration, trusted: Duration) -> TrialOutcome {
        let Some(stall) = self.stall.filter(|stall| stall.length() >= STALL) else {
            return TrialOutcome::Free;
        };
        let known = stall.acked.filter(|acked| *acked <= stall.from + trusted);
        let lag = known.and_then(|acked| stall.to.checked_duration_since(acked));
        match lag {
            Some(lag) if lag < soonest(rtt) => TrialOutcome::Early,
            Some(lag) if lag <= latest(rtt) => TrialOutcome::Follows,
            Some(_) => TrialOutcome::Late,
            // No ACK can have left before the pause ended.
            None if stall.length() <= trusted => TrialOutcome::Early,
            None => TrialOutcome::Void,
        }
    }

    /// How long the pause was, if it is worth the name.
    #[must_use]
    pub(crate) fn length_if_stalled(&self) -> Option<Duration> {
        Some(self.length()).filter(|length| *length >= STALL)
    }

    /// How long after our ACK the pause went on.
    fn lag(&self) -> Option<Duration> {
        let stall = self.stall?;
        stall.to.checked_duration_since(stall.acked?)
    }

    /// How long the pause was; no pause is one of no length.
    #[must_use]
    pub(crate) fn length(&self) -> Duration {
        self.stall.map_or(Duration::ZERO, |stall| stall.length())
    }
}

/// Decides what releases the stalls of `trials`, made in rounds of one trial for each [`Arm`].
///
/// The delays that count are those that came about: a busy machine makes two that were meant to
/// differ the same, and two that were meant to be the same differ.
#[must_use]
pub(crate) fn decide(trials: &[Trial], rtt: Duration, trusted: Duration) -> Release {
    let delayed = trials.iter().filter(|trial| trial.arm != Arm::Prompt);
    let outcomes = delayed.map(|trial| (trial, trial.outcome(rtt, trusted)));
    let known: Vec<(&Trial, TrialOutcome)> =
        outcomes.filter(|(_, outcome)| *outcome != TrialOutcome::Void).collect();
    let count = |wanted| known.iter().filter(|(_, outcome)| *outcome == wanted).count();
    let (free, follows, early) =
        (count(TrialOutcome::Free), count(TrialOutcome::Follows), count(TrialOutcome::Early));
    let stalls = known.len() - free;
    // Three pauses settle it if they are alike: an idle program's are, those of a machine that does not run the program are not.
    let settled = if alike_in_length(&known) { FEW } else { PLENTY };
    if follows == 0 && free == 0 && stalls >= settled {
        let timer = trials.iter().all(|trial| may_be_cork_timer(trial.length(), rtt));
        return if timer { Release::Timer } else { Release::Other };
    }
    if known.len() < ENOUGH {
        return Release::Undecided;
    }
    let mostly_free = free * 4 >= known.len() * 3;
    // A server that stalls now and then takes more answers to tell from a machine that pauses.
    let enough_free = MANY * (1 + follows);
    if mostly_free && follows * RARE < known.len() && known.len() >= enough_free {
        return Release::NotHeld;
    }
    // Answers without a stall speak neither way: how a server's writes fall into segments is luck.
    let (follows, grows) = (alike(&known, rtt), grows(trials, &known));
    // A path longer than the noise, one release too early, or answers without a pause leave more room for chance.
    let wanted = if rtt > BUSY || early > 0 || free > 0 { PLENTY } else { ENOUGH };
    // A busy machine pauses in answers that are free otherwise, too; that speaks of the machine, as long as most
    // answers are free and most pauses follow our ACK.
    let noise = if free * 2 >= known.len() { early.min(free / ENOUGH).min(follows / 5) } else { 0 };
    let (early, stalls) = (early - noise, stalls - noise);
    // On a long path, thinking that happens to end after our ACK is more likely.
    let early_allowed = if rtt > BUSY { 1 } else { 1 + follows / PLENTY };
    let accused = follows >= wanted && follows * 4 >= stalls * 3 && early <= early_allowed;
    if accused && grows == Some(true) {
        return Release::Ack;
    }
    let hopeless = stalls >= PLENTY && (follows * 3 < stalls * 2 || grows == Some(false));
    if (early >= FEW && early > follows) || hopeless { Release::Other } else { Release::Undecided }
}

/// Whether no pause is more than twice as long as another.
fn alike_in_length(known: &[(&Trial, TrialOutcome)]) -> bool {
    let lengths = || known.iter().filter_map(|(trial, _)| trial.length_if_stalled());
    lengths().max() <= lengths().min().map(|shortest| shortest * 2)
}

/// The order of the trials that decide: each of the three in every round, in an order that changes, so
/// that a server that stalls in every third response does not stall in the same one of the three.
pub(crate) fn arms() -> impl Iterator<Item = Arm> {
    (0..ROUNDS_MAX).flat_map(|round| ROUNDS[round * 5 % ROUNDS.len()])
}

/// How many releases come after our ACK by about the same time, as those do that it causes.
fn alike(known: &[(&Trial, TrialOutcome)], rtt: Duration) -> usize {
    let following = known.iter().filter(|(_, outcome)| *outcome == TrialOutcome::Follows);
    let lags: Vec<Duration> = following.filter_map(|(trial, _)| trial.lag()).collect();
    let usual = middle(lags.iter().copied()).unwrap_or_default();
    lags.iter().filter(|lag| lag.abs_diff(usual) <= BUSY + rtt / 10).count()
}

/// Whether the stall grows with the delay of our ACK by at least half as much, from none to the
/// longest third and from the shortest third to the longest: one that the server ends by itself does not,
/// however well its length happens to fit one of them. `None` if the delays are too much alike.
fn grows(trials: &[Trial], known: &[(&Trial, TrialOutcome)]) -> Option<bool> {
    let lengths = |trial: &Trial| Some((trial.stall?.withheld()?, trial.length()));
    let stalled = known.iter().filter(|(_, outcome)| *outcome == TrialOutcome::Follows);
    let mut by_delay: Vec<(Duration, Duration)> =
        stalled.filter_map(|(trial, _)| lengths(trial)).collect();
    by_delay.sort_unstable();
    let third = (by_delay.len() / 3).max(FEW).min(by_delay.len());
    let (shorter, longer) = (&by_delay[..third], &by_delay[by_delay.len() - third..]);
    let prompt: Vec<(Duration, Duration)> = trials
        .iter()
        .filter(|trial| trial.arm == Arm::Prompt)
        .map(|trial| lengths(trial).unwrap_or_default())
        .collect();
    Some(grows_from(&prompt, longer)? && grows_from(shorter, longer)?)
}

/// From one group of (delay of the ACK, length of the stall) to another.
fn grows_from(less: &[(Duration, Duration)], more: &[(Duration, Duration)]) -> Option<bool> {
    let medians = |group: &[(Duration, Duration)]| {
        let delay = middle(group.iter().map(|(delay, _)| *delay))?;
        Some((delay, middle(group.iter().map(|(_, stall)| *stall))?))
    };
    let ((less, short), (more, long)) = (medians(less)?, medians(more)?);
    let by_ack = more.saturating_sub(less);
    (by_ack >= DISTINCT).then(|| long.saturating_sub(short) * 2 >= by_ack)
}

/// Whether something that was held for `span` may have been a cork's: Linux sends what a cork holds
/// back when its RTO, at least 200 ms, has passed.
#[must_use]
pub(crate) fn may_be_cork_timer(span: Duration, rtt: Duration) -> bool {
    let (early, late) = (Duration::from_millis(5), Duration::from_millis(80));
    (CORK_TIMER - early..=CORK_TIMER + 3 * rtt + late).contains(&span)
}

/// How much longer the trials of `arm` that stall take than those of `all` with a prompt ACK: the stall
/// takes longer by so much, for the pause that is left is the application's or the path's; but no more than
/// the whole answer does, for an application that writes on meanwhile makes up for a part of it.
#[must_use]
pub(crate) fn extra_delay(trials: &[Trial], arm: Arm, all: &[Trial]) -> Option<Duration> {
    let stalled = |trial: &&Trial| trial.arm == arm && trial.length() >= STALL;
    let beyond = |of: fn(&Trial) -> Duration| {
        let prompt = all.iter().filter(|trial| trial.arm == Arm::Prompt).map(of);
        let prompt = middle(prompt).unwrap_or_default();
        Some(middle(trials.iter().filter(stalled).map(of))?.saturating_sub(prompt))
    };
    beyond(Trial::length).min(beyond(|trial| trial.took))
}

/// Whether a busy machine has stretched the stalls of `arm`: the quartiles of their lengths, if the third is
/// more than half again as long as the first.
#[must_use]
pub(crate) fn stretched(trials: &[Trial], arm: Arm) -> Option<[Duration; 2]> {
    let stalled = trials.iter().filter(|trial| trial.arm == arm);
    let mut lengths: Vec<Duration> = stalled.filter_map(Trial::length_if_stalled).collect();
    lengths.sort_unstable();
    let quartiles = [percentile(&lengths, 25)?, percentile(&lengths, 75)?];
    (quartiles[1] * 2 > quartiles[0] * 3).then_some(quartiles)
}

/// A release that our ACK causes arrives a round trip after it, and not much sooner than the quickest
/// round trip that was seen.
fn soonest(rtt: Duration) -> Duration {
    (rtt * 7 / 10).saturating_sub(BUSY)
}

/// It may come later by some queueing, and by what a busy machine adds.
pub(crate) fn latest(rtt: Duration) -> Duration {
    rtt * 3 / 2 + BUSY
}

/// What a busy machine adds to most things.
const BUSY: Duration = Duration::from_millis(5);

/// Delays that are nearer than this are not two.
const DISTINCT: Duration = Duration::from_millis(4);

/// A shorter pause is not worth a word.
pub(crate) const STALL: Duration = Duration::from_millis(10);

/// Rounds after which there is no verdict. Our choice: of servers that stall in one response of three, at random, 98
/// of 100 are accused on a busy machine (the test below).
pub(crate) const ROUNDS_MAX: usize = 30;

/// One for each order of the three. The number of orders and the step through them have no common factor.
const ROUNDS: [[Arm; 3]; 6] = [
    [Arm::Short, Arm::Prompt, Arm::Long],
    [Arm::Long, Arm::Prompt, Arm::Short],
    [Arm::Prompt, Arm::Short, Arm::Long],
    [Arm::Short, Arm::Long, Arm::Prompt],
    [Arm::Long, Arm::Short, Arm::Prompt],
    [Arm::Prompt, Arm::Long, Arm::Short],
];

/// How many telling trials with a withheld ACK acquit, if all of them say so.
const FEW: usize = 3;

/// How many accuse: three at each of two delays.
const ENOUGH: usize = 6;

/// After how many, trials that contradict the others weigh more.
const PLENTY: usize = 10;

/// How many answers acquit if no pause followed our ACK; for each pause that did, as many more.
const MANY: usize = 16;

/// One pause after our ACK in this many answers may be chance.
const RARE: usize = 8;

/// How long Linux holds what is corked.
pub(crate) const CORK_TIMER: Duration = HoldPolicy::LINUX_CORK_RELEASE;

/// How late our own ACK may be and still be ours. With the kernel's stack, 30 ms and these stay below
/// the 40 ms of Linux's delayed-ACK timer.
const LATENESS: Duration = Duration::from_millis(6);

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// What makes a server pause inside a response, in milliseconds.
    #[derive(Clone, Copy, Debug)]
    enum Pause {
        None,
        /// Until our ACK arrives.
        Nagle,
        /// The application takes so long.
        Think(f64),
        /// As `Think`, but never longer than that and never the same twice.
        Varied(f64),
        /// A program that sleeps between its writes, on a machine that wakes it late in every second response.
        Disturbed(f64),
        /// As `Nagle`, in this share of the responses.
        NagleIn(f64),
        /// As `Nagle`, in every third response.
        NagleEveryThird,
    }

    const KERNEL: Delays = Delays {
        short: Duration::from_millis(12),
        long: Duration::from_millis(24),
        trusted: Duration::from_millis(36),
    };
    const OURS: Delays = Delays {
        short: Duration::from_millis(40),
        long: Duration::from_millis(120),
        trusted: Duration::from_millis(186),
    };

    #[test]
    fn one_trial_hints_at_what_ended_the_pause() {
        #[rustfmt::skip]
        let table = [
            // pause, our ACK after, what it says (milliseconds; round trip 1 ms, trusted to 36 ms)
            (0.3,  None,        TrialOutcome::Free),
            (9.9,  Some(9.8),   TrialOutcome::Free),
            (26.5, Some(26.0),  TrialOutcome::Follows),
            (32.0, Some(26.0),  TrialOutcome::Follows),
            (33.0, Some(26.0),  TrialOutcome::Late),
            (20.0, Some(26.0),  TrialOutcome::Early),
            (20.0, None,        TrialOutcome::Early),
            (41.0, Some(40.9),  TrialOutcome::Void), // The kernel's own timer may have been first.
            (41.0, None,        TrialOutcome::Void),
            (41.0, Some(12.0),  TrialOutcome::Late),
        ];
        for (pause, acked, expected) in table {
            let trial = Trial { arm: Arm::Long, stall: Some(stall(pause, acked)), took: ms(pause) };
            let outcome = trial.outcome(ms(1.0), KERNEL.trusted);
            assert_eq!(outcome, expected, "pause {pause} ms, ACK after {acked:?} ms");
        }
    }

    #[test]
    fn on_a_quiet_machine_each_server_is_told_from_the_others() {
        #[rustfmt::skip]
        let table = [
            (Pause::None,          Release::NotHeld),
            (Pause::Nagle,         Release::Ack),
            (Pause::NagleEveryThird, Release::Ack),
            (Pause::Think(5.0),    Release::NotHeld),
            (Pause::Think(11.0),   Release::Other),
            (Pause::Think(12.5),   Release::Other), // Just after the kernel stack's shorter delay,
            (Pause::Think(24.5),   Release::Other), // its longer one,
            (Pause::Think(40.5),   Release::Other), // and both of ours.
            (Pause::Think(120.5),  Release::Other),
            (Pause::Think(204.0),  Release::Timer),
            (Pause::Think(400.0),  Release::Other),
            (Pause::Varied(60.0),  Release::Other),
            (Pause::Varied(130.0), Release::Other),
        ];
        for (pause, expected) in table {
            for delays in [KERNEL, OURS] {
                let released = study(pause, delays, ms(0.2), &mut Dice(1), false);
                assert_eq!(released, expected, "{pause:?} with {delays:?}");
            }
        }
    }

    #[test]
    fn a_busy_machine_acquits_no_bad_server_and_accuses_no_good_one() {
        let pauses = [
            Pause::None,
            Pause::Think(12.5),
            Pause::Think(24.5),
            Pause::Think(40.0),
            Pause::Varied(50.0),
            Pause::Disturbed(20.0),
            Pause::Disturbed(40.0),
            Pause::Disturbed(150.0),
        ];
        let seeds = 1..=RUNS;
        for delays in [KERNEL, OURS] {
            let accused =
                |pause, seed| study(pause, delays, ms(0.2), &mut Dice(seed), true) == Release::Ack;
            for pause in pauses {
                let wrong = seeds.clone().find(|seed| accused(pause, *seed));
                assert_eq!(wrong, None, "{pause:?} accused with {delays:?} and this seed");
            }
            // At random, one response of three is now and then not seen often enough.
            for (stalls, of_100) in
                [(Pause::Nagle, 1), (Pause::NagleEveryThird, 1), (Pause::NagleIn(1.0 / 3.0), 2)]
            {
                let escaped = seeds.clone().filter(|seed| !accused(stalls, *seed)).count();
                let about = format!("{escaped} of {RUNS} escape with {delays:?}: {stalls:?}");
                assert!(escaped as u64 * 100 <= RUNS * of_100, "{about}");
            }
        }
    }

    #[test]
    fn three_pauses_of_a_machine_that_does_not_run_the_server_acquit_nobody() {
        let starved =
            |length| Trial { arm: Arm::Long, stall: Some(stall(length, None)), took: ms(length) };
        let mut trials = [13.0, 60.0, 119.0].map(starved).to_vec();
        assert_eq!(decide(&trials, ms(0.2), OURS.trusted), Release::Undecided);
        for arm in arms() {
            let number = trials.len();
            trials.push(observe(Pause::Nagle, arm, number, OURS, ms(0.2), &mut Dice(1), false));
            match decide(&trials, ms(0.2), OURS.trusted) {
                Release::Undecided => {}
                release => return assert_eq!(release, Release::Ack, "after {number} answers"),
            }
        }
        panic!("never decided");
    }

    #[test]
    fn on_a_long_path_thinking_of_any_length_is_not_taken_for_waiting() {
        for delays in [KERNEL, OURS] {
            for rtt in [10.0, 50.0, 100.0, 300.0] {
                let released = |pause, seed| study(pause, delays, ms(rtt), &mut Dice(seed), false);
                let nagle = released(Pause::Nagle, 1);
                assert_eq!(nagle, Release::Ack, "round trip {rtt} ms with {delays:?}");
                for longest in [30.0, 60.0, 130.0, 250.0, 500.0] {
                    let varied = |seed| released(Pause::Varied(longest), seed);
                    let wrong = (1..=RUNS).find(|seed| varied(*seed) == Release::Ack);
                    let about = format!("to {longest} ms, round trip {rtt} ms with {delays:?}");
                    assert_eq!(wrong, None, "accused with this seed: pauses up {about}");
                }
            }
        }
    }

    /// Trials in the order of the checks, until there is a decision.
    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    fn study(pause: Pause, delays: Delays, rtt: Duration, dice: &mut Dice, busy: bool) -> Release {
        let mut trials: Vec<Trial> = Vec::new();
        let free = |trial: &Trial| trial.outcome(rtt, delays.trusted) == TrialOutcome::Free;
        while trials.len() < SCREENINGS && trials.iter().filter(|trial| !free(trial)).count() < 2 {
            let number = trials.len();
            trials.push(observe(pause, Arm::Long, number, delays, rtt, dice, busy));
        }
        if trials.iter().all(free) {
            return Release::NotHeld;
        }
        for arm in arms() {
            let number = trials.len();
            trials.push(observe(pause, arm, number, delays, rtt, dice, busy));
            let release = decide(&trials, rtt, delays.trusted);
            if release != Release::Undecided {
                return release;
            }
        }
        Release::Undecided
    }

    /// One exchange. Load delays our ACK, and whatever the server's program does.
    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    fn observe(
        pause: Pause,
        arm: Arm,
        number: usize,
        delays: Delays,
        rtt: Duration,
        dice: &mut Dice,
        busy: bool,
    ) -> Trial {
        let late = |dice: &mut Dice, often, most| {
            if busy && dice.roll() < often { dice.roll() * most } else { 0.0 }
        };
        let wanted = delays.of(arm).as_secs_f64() * 1e3;
        let mut acked = wanted + 0.05 + late(dice, 0.6, 12.0);
        if delays == KERNEL && arm != Arm::Prompt && acked > 40.0 {
            acked = 40.0 + dice.roll() * 4.0; // Sent by the kernel; we only learn of our own.
        }
        let held = match pause {
            Pause::NagleIn(share) => dice.roll() < share,
            Pause::NagleEveryThird => number % 3 == 2,
            _ => false,
        };
        let pause = match pause {
            Pause::NagleIn(_) | Pause::NagleEveryThird if held => Pause::Nagle,
            Pause::NagleIn(_) | Pause::NagleEveryThird => Pause::None,
            other => other,
        };
        let ended = match pause {
            Pause::NagleIn(_) | Pause::NagleEveryThird | Pause::None => {
                0.02 + late(dice, 0.05, 30.0)
            }
            Pause::Nagle => acked + rtt.as_secs_f64() * 1e3 + late(dice, 0.03, 20.0),
            Pause::Disturbed(most) if dice.roll() < 0.5 => 1.0 + dice.roll() * most,
            Pause::Disturbed(_) => 1.0,
            Pause::Think(ms) => ms + late(dice, 0.3, 20.0),
            Pause::Varied(ms) => dice.roll() * ms + late(dice, 0.3, 20.0),
        };
        let known = (acked <= ended).then_some(acked);
        Trial { arm, stall: Some(stall(ended, known)), took: ms(ended) }
    }

    fn stall(length: f64, acked: Option<f64>) -> Stall {
        let from = Instant::now();
        let after = |span: f64| from + ms(span);
        Stall { offset: 200, before: 200, from, to: after(length), acked: acked.map(after) }
    }

    fn ms(span: f64) -> Duration {
        Duration::from_secs_f64(span / 1e3)
    }

    /// SplitMix64: seeded, so that a failure can be replayed.
    struct Dice(u64);

    impl Dice {
        /// Evenly from 0 to 1.
        fn roll(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = self.0;
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (bits ^ (bits >> 31)) as f64 / u64::MAX as f64
        }
    }

    const RUNS: u64 = 2_000;

    /// As `nagle-delayed-ack` asks for the page.
    const SCREENINGS: usize = 20;
}
