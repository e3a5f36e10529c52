//! The options of `ackwise run` that record one run: as a capture, and as sequence numbers over time.

use std::{
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use ackwise_explain::Explained;
use ackwise_lab::{
    experiment::Experiment,
    run::{
        Row,
        record::{Recorder, Recording},
        run_one,
    },
};
use clap::{ArgGroup, Args};

use super::{number::whole, outcome::Failure};

/// What is recorded, of which row.
#[derive(Args, Debug)]
#[command(next_help_heading = "Record one run")]
#[command(group = ArgGroup::new("recorded").multiple(true))]
#[group(id = "record", multiple = true, conflicts_with_all = ["list", "store"])]
pub(crate) struct Record {
    /// Write the packets that one host sends and receives to a pcap file
    #[arg(long, value_name = "FILE", group = "recorded")]
    pcap: Option<PathBuf>,

    /// Record at HOST [default: the first application's client; all hosts for --time-sequence]
    #[arg(long, value_name = "HOST", requires = "recorded")]
    vantage: Option<String>,

    /// Truncate captured frames to N bytes; 128 keeps the headers
    #[arg(long, value_name = "N", requires = "pcap", value_parser = whole(0_u32..))]
    snap_length: Option<u32>,

    /// Write sequence numbers, ACKs and windows over time to a CSV file
    #[arg(long, value_name = "FILE", group = "recorded")]
    time_sequence: Option<PathBuf>,

    /// Record case N, as numbered by --list
    #[arg(long, value_name = "N", requires = "recorded")]
    #[arg(value_parser = whole(NonZeroUsize::MIN..))]
    case: Option<NonZeroUsize>,

    /// Record the run with this seed [default: the experiment's smallest]
    #[arg(long, value_name = "SEED", requires = "recorded", value_parser = whole(0_u64..))]
    seed: Option<u64>,
}

impl Record {
    /// Whether one row is run and recorded, instead of all.
    pub(crate) const fn is_wanted(&self) -> bool {
        let is_chosen = self.case.is_some() || self.seed.is_some() || self.vantage.is_some();
        is_chosen || self.pcap.is_some() || self.time_sequence.is_some()
    }

    /// What is written.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.pcap.as_deref().into_iter().chain(self.time_sequence.as_deref())
    }

    /// Runs one row and makes its recording. After a stop nothing is written.
    pub(crate) fn run(
        &self,
        experiment: &Experiment,
        recording: &Recording,
    ) -> Result<(Row, Option<Explained>), Failure> {
        let (case, seed) = (self.case_of(experiment)?, self.seed_of(experiment)?);
        let scenario = &experiment.cases()[case].scenario;
        let mut recorder = Recorder::begin(recording, scenario)?;
        let row = run_one(experiment, case, seed, &mut recorder);
        match row {
            Ok((row, _)) => Ok((row, recorder.finish()?)),
            Err(error) => {
                // It knows why the run was stopped, if nobody wanted that.
                recorder.give_up()?;
                Err(error.into())
            }
        }
    }

    /// The files that are asked for.
    pub(crate) fn recording(&self) -> Recording {
        let whole = Recording::default();
        Recording {
            pcap: self.pcap.clone(),
            vantage: self.vantage.clone(),
            snap_length: self.snap_length.unwrap_or(whole.snap_length),
            time_sequence: self.time_sequence.clone(),
            ..whole
        }
    }

    /// Its place in the experiment.
    fn seed_of(&self, experiment: &Experiment) -> Result<usize, Failure> {
        let Some(wanted) = self.seed else { return Ok(0) };
        let place = experiment.seeds().iter().position(|seed| *seed == wanted);
        place.ok_or_else(|| {
            Failure::Usage(format!(
                "cannot record seed {wanted}: not a seed of the experiment (use --set \
                 seeds=[{wanted}] to replace its seeds)"
            ))
        })
    }

    /// Its place in the experiment.
    fn case_of(&self, experiment: &Experiment) -> Result<usize, Failure> {
        let cases = experiment.cases().len();
        match self.case {
            Some(number) if number.get() <= cases => Ok(number.get() - 1),
            Some(number) => Err(Failure::Usage(format!(
                "cannot record case {number}: the experiment has {cases} cases (see --list)"
            ))),
            None if cases == 1 => Ok(0),
            None => Err(Failure::Usage(format!(
                "cannot record {cases} cases: a recording holds one run (expected --case N; --list \
                 numbers the cases)"
            ))),
        }
    }
}
