//! Runs all simulators in turn, several times, on the same work.

use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::Context;

use super::simulator::{Simulator, Watch};
use super::work::{Counts, Seconds, Work};
use crate::{child, rounds};
use ackwise_units::statistics::Spread;

/// Measurements of one simulator.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) name: &'static str,
    /// Virtual time of its runs.
    pub(super) seconds: Seconds,
    pub(super) counts: Counts,
    /// Amount of work in that time.
    amount: f64,
    rounds: Vec<Times>,
}

/// User times of one round.
#[derive(Clone, Copy, Debug)]
struct Times {
    /// A whole run.
    whole: Duration,
    /// A run that ends after the setup.
    set_up: Duration,
}

impl Measured {
    /// User time of the whole run in seconds.
    pub(super) fn whole(&self) -> Spread {
        Spread::of(self.rounds.iter().map(|times| times.whole.as_secs_f64()))
    }

    /// User time of the setup in seconds.
    pub(super) fn set_up(&self) -> Spread {
        Spread::of(self.rounds.iter().map(|times| times.set_up.as_secs_f64()))
    }

    /// Units of the work per user second.
    pub(super) fn speed(&self) -> Spread {
        Spread::of(self.speeds())
    }

    /// Speed relative to `other`, by round.
    pub(super) fn times(&self, other: &Self) -> Spread {
        Spread::of(self.speeds().zip(other.speeds()).map(|(ours, theirs)| ours / theirs))
    }

    /// The same without the setup times.
    pub(super) fn times_when_set_up(&self, other: &Self) -> Spread {
        let pairs = self.speeds_when_set_up().zip(other.speeds_when_set_up());
        Spread::of(pairs.map(|(ours, theirs)| ours / theirs))
    }

    /// How many packet-hops it does in a user second, relative to `other`, by round.
    pub(super) fn hops_per_second_beside(&self, other: &Self) -> Spread {
        let pairs = self.hops_per_second().zip(other.hops_per_second());
        Spread::of(pairs.map(|(ours, theirs)| ours / theirs))
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of one run are below 2^53")]
    fn hops_per_second(&self) -> impl Iterator<Item = f64> {
        let hops = self.counts.packet_hops as f64;
        self.rounds.iter().map(move |times| hops / times.whole.as_secs_f64())
    }

    fn speeds(&self) -> impl Iterator<Item = f64> {
        self.rounds.iter().map(|times| self.amount / times.whole.as_secs_f64())
    }

    fn speeds_when_set_up(&self) -> impl Iterator<Item = f64> {
        let rest = |times: &Times| times.whole.saturating_sub(times.set_up).as_secs_f64();
        self.rounds.iter().map(move |times| self.amount / rest(times))
    }
}

/// Runs `work` on each simulator once with packet counts, then `count` times with timing. The order
/// rotates between rounds, so that drift of the machine favours none.
///
/// # Errors
///
/// If a run fails or does not print its counts.
pub(super) fn compare(
    work: Work,
    simulators: &[Box<dyn Simulator>],
    count: NonZeroUsize,
) -> anyhow::Result<Vec<Measured>> {
    let mut all = simulators
        .iter()
        .map(|simulator| count_work(work, simulator.as_ref()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    for place in rounds::turns(count, simulators.len()) {
        let times = time(work, simulators[place].as_ref())?;
        all[place].rounds.push(times);
    }
    Ok(all)
}

fn count_work(work: Work, simulator: &dyn Simulator) -> anyhow::Result<Measured> {
    let (name, seconds) = (simulator.name(), simulator.seconds(work));
    let run = child::run(&mut simulator.command(work, seconds, Watch::Count))?;
    let counts = simulator.counts(work, &run.output);
    let counts = counts.with_context(|| format!("{name} printed no counts: {}", run.output))?;
    let amount = work.amount(counts).with_context(|| format!("{name} did not count all"))?;
    #[expect(clippy::cast_precision_loss, reason = "counts of one run are below 2^53")]
    let amount = amount as f64;
    Ok(Measured { name, seconds, counts, amount, rounds: Vec::new() })
}

fn time(work: Work, simulator: &dyn Simulator) -> anyhow::Result<Times> {
    let user = |seconds| {
        let run = child::run(&mut simulator.command(work, seconds, Watch::Nothing))?;
        anyhow::Ok(run.user)
    };
    Ok(Times { set_up: user(Seconds(0))?, whole: user(simulator.seconds(work))? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(amount: f64, whole: u64, set_up: u64) -> Measured {
        let times =
            Times { whole: Duration::from_secs(whole), set_up: Duration::from_secs(set_up) };
        let counts = Counts { packet_hops: 0, connections: None };
        Measured { name: "", seconds: Seconds(1), counts, amount, rounds: vec![times; 3] }
    }

    #[test]
    fn a_smaller_share_of_the_work_is_made_up_for() {
        let (ours, theirs) = (measured(600.0, 10, 0), measured(100.0, 20, 10));
        assert_eq!(ours.times(&theirs).median, 12.0);
        assert_eq!(ours.times_when_set_up(&theirs).median, 6.0);
    }
}
