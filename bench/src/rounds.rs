//! Runs both sides in turn, and measures wall and processor time.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use super::{Benchmark, Side};
use xtask::process;

/// One run of one side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// The result in the benchmark's unit.
    pub(crate) value: f64,
    pub(crate) wall: Duration,
    /// User and system time of the processes started that have ended.
    pub(crate) cpu: Duration,
}

/// One run of each side, one directly after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    pub(crate) ours: Sample,
    pub(crate) other: Sample,
}

impl Round {
    pub(crate) fn sample(&self, side: Side) -> Sample {
        match side {
            Side::Ours => self.ours,
            Side::Other => self.other,
        }
    }

    /// Time of the reference relative to Ackwise.
    pub(crate) fn ratio(&self) -> f64 {
        self.other.value / self.ours.value
    }
}

/// Runs `count` rounds after a warm-up round. The order alternates between rounds, so that drift of
/// the machine favours neither side.
///
/// # Errors
///
/// If a run gives no result.
pub(crate) fn run(
    benchmark: &mut dyn Benchmark,
    count: NonZeroUsize,
) -> anyhow::Result<Vec<Round>> {
    round(benchmark, Side::Ours)?;
    (0..count.get())
        .map(|number| {
            let first = if number % 2 == 0 { Side::Ours } else { Side::Other };
            let round = round(benchmark, first)?;
            println!("round {} of {count}: ratio {:.3}", number + 1, round.ratio());
            Ok(round)
        })
        .collect()
}

/// The order of `players` in `rounds` rounds, by index. The first one rotates.
pub(crate) fn turns(rounds: NonZeroUsize, players: usize) -> impl Iterator<Item = usize> {
    (0..rounds.get()).flat_map(move |round| (0..players).map(move |turn| (round + turn) % players))
}

fn round(benchmark: &mut dyn Benchmark, first: Side) -> anyhow::Result<Round> {
    match first {
        Side::Ours => {
            let ours = sample(benchmark, Side::Ours)?;
            Ok(Round { ours, other: sample(benchmark, Side::Other)? })
        }
        Side::Other => {
            let other = sample(benchmark, Side::Other)?;
            Ok(Round { ours: sample(benchmark, Side::Ours)?, other })
        }
    }
}

fn sample(benchmark: &mut dyn Benchmark, side: Side) -> anyhow::Result<Sample> {
    let (started, cpu_before) = (Instant::now(), process::children_cpu_time()?);
    let value = benchmark.measure(side)?;
    let cpu = process::children_cpu_time()?.saturating_sub(cpu_before);
    Ok(Sample { value, wall: started.elapsed(), cpu })
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtask::install::needs::Package;

    /// Records the order of the calls; the reference takes twice as long.
    #[derive(Default)]
    struct Recorder {
        asked: Vec<Side>,
    }

    impl Benchmark for Recorder {
        fn name(&self) -> &'static str {
            "recorder"
        }
        fn question(&self) -> &'static str {
            "who was asked when?"
        }
        fn packages(&self) -> &'static [Package] {
            &[]
        }
        fn label(&self, _side: Side) -> &'static str {
            "side"
        }
        fn unit(&self) -> &'static str {
            "ms"
        }
        fn rounds(&self) -> NonZeroUsize {
            NonZeroUsize::MIN
        }
        fn prepare(&mut self) -> anyhow::Result<()> {
            Ok(())
        }
        fn measure(&mut self, side: Side) -> anyhow::Result<f64> {
            self.asked.push(side);
            Ok(if side == Side::Ours { 10.0 } else { 20.0 })
        }
    }

    #[test]
    fn both_sides_take_turns_in_going_first_after_a_warm_up() {
        use Side::{Other, Ours};
        let mut recorder = Recorder::default();
        let rounds = run(&mut recorder, NonZeroUsize::new(2).unwrap()).unwrap();
        assert_eq!(recorder.asked, [Ours, Other, Ours, Other, Other, Ours]);
        assert_eq!(rounds.len(), 2);
        assert!(rounds.iter().all(|round| round.ratio() == 2.0));
    }

    #[test]
    fn of_several_another_goes_first_each_time() {
        let places: Vec<_> = turns(NonZeroUsize::new(4).unwrap(), 3).collect();
        assert_eq!(places, [0, 1, 2, 1, 2, 0, 2, 0, 1, 0, 1, 2]);
    }
}
