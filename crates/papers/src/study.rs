//! An experiment of ours whose cases become the lines of one table.

use ackwise_cause::Cause;
use ackwise_lab::experiment::Labels;
use ackwise_sim::{measure::ApplicationMeasures, observe::Side};
use ackwise_units::statistics::Moments;

use super::{
    ReproduceError,
    file::File,
    inputs::inputs,
    runner::{self, Outcome},
    stalls::Stalls,
    table::{Case, CaseValue, ComparisonTable, Row},
};

/// An experiment, and what its table shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Study {
    /// The id of its table.
    pub(crate) id: &'static str,
    /// Title.
    pub(crate) title: &'static str,
    /// What is run.
    pub(crate) file: File,
    /// Whose data is watched for stalls.
    pub(crate) sender: fn(&Labels) -> Side,
    /// The columns.
    pub(crate) measures: &'static [Measure],
}

/// A column: its name, and how it is computed.
pub(crate) type Measure<O = Stalls> = (&'static str, fn(&Outcome<O>) -> Option<f64>);

/// What a study gave.
#[derive(Clone, Debug)]
pub(crate) struct Studied {
    /// Case by case.
    pub(crate) outcomes: Vec<Outcome<Stalls>>,
    /// The same as a table.
    pub(crate) table: ComparisonTable,
}

impl Study {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// If the file is no experiment, or a run fails.
    pub(crate) fn run(&self) -> Result<Studied, ReproduceError> {
        let outcomes = runner::run(self.file, |labels| Stalls::of((self.sender)(labels)))?;
        let table = table((self.id, self.title), self.file, self.measures, &outcomes);
        Ok(Studied { table, outcomes })
    }
}

/// The outcomes of a file as a table of this id and title.
#[must_use]
pub(crate) fn table<O>(
    (id, title): (&str, &str),
    file: File,
    measures: &[Measure<O>],
    outcomes: &[Outcome<O>],
) -> ComparisonTable {
    let rows = outcomes.iter().flat_map(|outcome| {
        measures.iter().map(|(name, measure)| Row {
            case: case(outcome),
            measure: (*name).to_owned(),
            ours: measure(outcome),
            ..Row::default()
        })
    });
    let (id, title) = (id.to_owned(), title.to_owned());
    ComparisonTable { id, title, notes: inputs(file.text), rows: rows.collect() }
}

impl Studied {
    /// The value of `measure` in the case with these names and values.
    ///
    /// # Errors
    ///
    /// If there is no such case, or it has no such value.
    pub(crate) fn value(
        &self,
        measure: fn(&Outcome<Stalls>) -> Option<f64>,
        labels: &[(&str, &str)],
    ) -> Result<f64, ReproduceError> {
        let found = self.outcomes.iter().find(|outcome| outcome.matches(labels)).and_then(measure);
        found.ok_or_else(|| ReproduceError::NoCase { case: format!("{labels:?}") })
    }
}

/// The names and values of a case, as tables have them.
#[must_use]
pub(crate) fn case<O>(outcome: &Outcome<O>) -> Case {
    let labels = outcome.labels.iter();
    Case(
        labels
            .map(|(name, value)| (name.to_owned(), CaseValue::from(&*value.to_string())))
            .collect(),
    )
}

/// What the first application measured.
#[must_use]
pub(crate) fn application(outcome: &Outcome<Stalls>) -> Option<&ApplicationMeasures> {
    outcome.measures.applications.values().next()
}

/// Retrieval times, in milliseconds, in the order of the pages.
#[must_use]
pub(crate) fn times_ms(outcome: &Outcome<Stalls>) -> Vec<f64> {
    let times = application(outcome).into_iter().flat_map(|measures| &measures.times);
    times.map(|time| time.as_secs_f64() * 1e3).collect()
}

/// The mean retrieval time, in milliseconds.
#[must_use]
pub(crate) fn page_ms(outcome: &Outcome<Stalls>) -> Option<f64> {
    Some(Moments::of(&times_ms(outcome))?.mean)
}

/// Stalls for each page.
#[must_use]
pub(crate) fn stalls_per_page(outcome: &Outcome<Stalls>) -> Option<f64> {
    per_page(outcome, outcome.seen.count)
}

/// What an exchange's time was lost to, in milliseconds for each page; only if the run watched
/// causes.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "there are not 2^53 pages")]
pub(crate) fn cause_ms(outcome: &Outcome<Stalls>, cause: Cause) -> Option<f64> {
    let pages = application(outcome)?.documents;
    let lost = outcome.measures.causes.get(&cause).copied().unwrap_or_default();
    (pages > 0).then(|| lost.as_secs_f64() * 1e3 / pages as f64)
}

/// What the first stall of the papers takes of each page, in milliseconds.
#[must_use]
pub(crate) fn short_initial_segment_ms(outcome: &Outcome<Stalls>) -> Option<f64> {
    cause_ms(outcome, Cause::ShortInitialSegment)
}

/// What the second stall of the papers takes of each page, in milliseconds.
#[must_use]
pub(crate) fn nagle_delayed_ack_ms(outcome: &Outcome<Stalls>) -> Option<f64> {
    cause_ms(outcome, Cause::NagleDelayedAck)
}

#[expect(clippy::cast_precision_loss, reason = "there are not 2^53 of them")]
fn per_page(outcome: &Outcome<Stalls>, count: u64) -> Option<f64> {
    let pages = application(outcome)?.documents;
    (pages > 0).then(|| count as f64 / pages as f64)
}
