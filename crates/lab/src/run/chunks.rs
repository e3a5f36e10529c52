//! Rows in parts, each a task for one thread: how many rows a part has, and running one.

use std::{
    num::NonZeroUsize,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use ackwise_sim::{Observer, RunError};

use super::{
    row::{Row, RowKey},
    work::{On, RunAllError, Watch},
};
use crate::experiment::Experiment;

/// The rows of an experiment in parts of equal size; the last may be smaller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Chunks {
    rows: usize,
    rows_per_chunk: NonZeroUsize,
}

impl Chunks {
    /// Parts of this size.
    #[must_use]
    pub const fn new(rows: usize, rows_per_chunk: NonZeroUsize) -> Self {
        Self { rows, rows_per_chunk }
    }

    /// Runs some rows to find the size at which a part takes a thread about a second.
    ///
    /// # Errors
    ///
    /// A row that does not run to its end, or a stop.
    pub fn by_pilot(
        experiment: &Experiment,
        on: On,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, RunAllError> {
        let rows = experiment.cases().len() * experiment.seeds().len();
        let by_time = match on {
            On::Simulator => CHUNK.div_duration_f64(pilot(experiment, rows, stop)?),
            // A row takes as long as it lasts.
            #[cfg(target_os = "linux")]
            On::Live { .. } => 1.0,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let by_time = by_time as usize;
        let size = by_time.min(rows.div_ceil(FEW)).max(rows.div_ceil(MOST));
        Ok(Self::new(rows, NonZeroUsize::new(size).unwrap_or(NonZeroUsize::MIN)))
    }

    /// How many parts.
    #[must_use]
    pub const fn count(self) -> usize {
        self.rows.div_ceil(self.rows_per_chunk.get())
    }

    /// The rows of a part, by their places among all.
    #[must_use]
    pub fn range(self, chunk: usize) -> Range<usize> {
        let begin = chunk.saturating_mul(self.rows_per_chunk.get()).min(self.rows);
        begin..begin.saturating_add(self.rows_per_chunk.get()).min(self.rows)
    }

    /// How many rows all parts have.
    #[must_use]
    pub const fn rows(self) -> usize {
        self.rows
    }

    /// How many rows a part has, unless it is the last.
    #[must_use]
    pub const fn rows_per_chunk(self) -> NonZeroUsize {
        self.rows_per_chunk
    }
}

/// Runs the rows of a part, one after the other, on this thread.
///
/// # Errors
///
/// The first row that does not run to its end, or a stop.
pub fn run_chunk(
    experiment: &Experiment,
    rows: Range<usize>,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<Row>, RunAllError> {
    let clock = Arc::default();
    let mut watch = Watch::new([stop], &clock);
    let run = |row| {
        let place = RowKey::at(row, experiment);
        On::Simulator.run(experiment, place, &mut watch, (stop, &clock))
    };
    rows.map(run).collect()
}

/// How long a row takes, by rows that are spread over the experiment.
fn pilot(
    experiment: &Experiment,
    rows: usize,
    stop: &Arc<AtomicBool>,
) -> Result<Duration, RunAllError> {
    let begin = Instant::now();
    let clock = Arc::<AtomicU64>::default();
    let runs = rows.min(MOST_RUNS);
    let mut finished = 0;
    for run in 0..runs {
        let place = RowKey::at(run * rows / runs, experiment);
        let mut watch = PilotWatch { stop, end: begin + PILOT };
        match On::Simulator.run(experiment, place, &mut watch, (stop, &clock)) {
            Ok(_) => finished += 1,
            Err(RunAllError::Run { error: RunError::Stopped, .. })
                if !stop.load(Ordering::Relaxed) =>
            {
                break;
            }
            Err(error) => return Err(error),
        }
        if begin.elapsed() > CHUNK {
            break;
        }
    }
    Ok(begin.elapsed() / finished.max(1))
}

/// Ends a pilot that takes too long.
struct PilotWatch<'a> {
    stop: &'a AtomicBool,
    end: Instant,
}

impl Observer for PilotWatch<'_> {
    fn watches(&self) -> bool {
        false
    }

    fn goes_on(&mut self, _: ackwise_tcp::Instant) -> bool {
        !self.stop.load(Ordering::Relaxed) && Instant::now() < self.end
    }
}

/// What a part takes. Our choice: so much is lost by a kill, and writing a file is little beside it.
const CHUNK: Duration = Duration::from_secs(1);
/// The longest pilot; if no row ends in it, a part is a row.
const PILOT: Duration = Duration::from_secs(10);
/// Rows of a pilot (our choice).
const MOST_RUNS: usize = 16;
/// At least this many parts, also of short rows, so that the threads of several machines have work. Our choice.
const FEW: usize = 64;
/// More parts are too many files for a directory that is listed often. Our choice.
const MOST: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_in_one_part() {
        for (rows, size, count) in [(12, 5, 3), (12, 12, 1), (12, 100, 1), (1, 1, 1)] {
            let chunks = Chunks::new(rows, NonZeroUsize::new(size).unwrap());
            assert_eq!(chunks.count(), count);
            let all: Vec<usize> = (0..count).flat_map(|chunk| chunks.range(chunk)).collect();
            assert_eq!(all, (0..rows).collect::<Vec<_>>(), "{rows} by {size}");
            assert!(chunks.range(count).is_empty() && chunks.range(usize::MAX).is_empty());
        }
    }
}
