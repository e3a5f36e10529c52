//! Runs all readers in turn, several times, on the same capture.

use std::num::NonZeroUsize;
use std::time::Duration;

use super::captures::Capture;
use super::reader::Reader;
use crate::peak::Peak;
use crate::{child, rounds};
use ackwise_units::statistics::Spread;

/// Measurements of one reader.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) name: &'static str,
    packets: f64,
    runs: Vec<Run>,
}

/// One reading of the whole capture.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// User and system time.
    cpu: Duration,
    wall: Duration,
    /// Maximum resident set in bytes.
    peak: u64,
}

impl Measured {
    /// Packets per second of processor time.
    pub(super) fn speed(&self) -> Spread {
        Spread::of(self.speeds())
    }

    /// Processor time in seconds.
    pub(super) fn cpu(&self) -> Spread {
        Spread::of(self.runs.iter().map(|run| run.cpu.as_secs_f64()))
    }

    /// Wall time in seconds.
    pub(super) fn wall(&self) -> Spread {
        Spread::of(self.runs.iter().map(|run| run.wall.as_secs_f64()))
    }

    /// Maximum memory of all rounds in bytes.
    pub(super) fn peak(&self) -> u64 {
        self.runs.iter().map(|run| run.peak).max().unwrap_or(0)
    }

    /// Speed by processor time relative to `other`, by round.
    pub(super) fn times(&self, other: &Self) -> Spread {
        Spread::of(self.speeds().zip(other.speeds()).map(|(ours, theirs)| ours / theirs))
    }

    /// Speed by wall time relative to `other`, by round.
    pub(super) fn wall_ratio(&self, other: &Self) -> Spread {
        let walls = self.runs.iter().zip(&other.runs);
        let ratio = |(ours, theirs): (&Run, &Run)| theirs.wall.div_duration_f64(ours.wall);
        Spread::of(walls.map(ratio))
    }

    fn speeds(&self) -> impl Iterator<Item = f64> {
        self.runs.iter().map(|run| self.packets / run.cpu.as_secs_f64())
    }
}

/// Runs each reader once on `capture`, to load the file into the page cache, and then `count` times
/// with timing.
///
/// # Errors
///
/// If a run fails.
pub(super) fn compare(
    capture: &Capture,
    readers: &[Reader],
    peak: &Peak,
    count: NonZeroUsize,
) -> anyhow::Result<Vec<Measured>> {
    let read = |reader: &Reader| read(capture, reader, peak);
    readers.iter().try_for_each(|reader| read(reader).map(drop))?;
    #[expect(clippy::cast_precision_loss, reason = "packets of a capture are below 2^53")]
    let packets = capture.packets as f64;
    let measured = |reader: &Reader| Measured { name: reader.name(), packets, runs: Vec::new() };
    let mut all: Vec<_> = readers.iter().map(measured).collect();
    for place in rounds::turns(count, readers.len()) {
        all[place].runs.push(read(&readers[place])?);
    }
    Ok(all)
}

fn read(capture: &Capture, reader: &Reader, peak: &Peak) -> anyhow::Result<Run> {
    let run = child::run_unheard(&mut peak.watch(&reader.command(&capture.file)))?;
    Ok(Run { cpu: run.user + run.system, wall: run.wall, peak: peak.bytes()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(cpu: &[u64], peak: u64) -> Measured {
        let run = |&seconds| {
            let cpu = Duration::from_secs(seconds);
            Run { cpu, wall: 2 * cpu, peak }
        };
        Measured { name: "", packets: 1_000.0, runs: cpu.iter().map(run).collect() }
    }

    #[test]
    fn the_ratio_is_taken_round_by_round() {
        let (ours, theirs) = (measured(&[1, 2, 4], 7), measured(&[3, 6, 12], 9));
        assert_eq!(ours.times(&theirs), Spread { lower: 3.0, median: 3.0, upper: 3.0 });
        assert_eq!(ours.wall_ratio(&theirs).median, 3.0);
        assert_eq!(ours.speed().median, 500.0);
        assert_eq!((ours.cpu().median, ours.wall().median, ours.peak()), (2.0, 4.0, 7));
    }
}
