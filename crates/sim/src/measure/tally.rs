//! What an application has done, counted while a run goes: by the simulator, and by whoever else plays its scenarios.

use std::{collections::BTreeMap, time::Duration};

use super::{ApplicationMeasures, Missing};
use crate::Scenario;

/// A document that was wholly received.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Document {
    /// Its files.
    pub files: u32,
    /// Their bytes.
    pub bytes: u64,
    /// Retrieval time: what the user waited, not what it thought.
    pub time: Duration,
}

/// How far a user or client has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Progress {
    /// It has begun no document.
    NotStarted,
    /// It has finished no document, and should have.
    NoDocument,
    /// It has finished some.
    Documents,
}

/// One application's numbers, before the rates are computed.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Bytes that its receiving end has read.
    pub received: u64,
    sum_of_rates: f64,
    /// Counts and times; the rates are not known yet.
    pub measures: ApplicationMeasures,
}

/// The measures of all applications by name, from the tallies of all who counted: each has one for each application.
/// A run has measured for `seconds`.
pub fn applications(
    scenario: &Scenario,
    counted: impl IntoIterator<Item = Vec<Tally>>,
    seconds: f64,
) -> BTreeMap<String, ApplicationMeasures> {
    let mut sums: BTreeMap<String, Tally> = BTreeMap::new();
    for tallies in counted {
        for (application, tally) in scenario.applications.iter().zip(tallies) {
            match sums.get_mut(&application.name) {
                Some(sum) => sum.add(tally),
                None => {
                    sums.insert(application.name.clone(), tally);
                }
            }
        }
    }
    sums.into_iter().map(|(name, sum)| (name, sum.finish(seconds))).collect()
}

impl Tally {
    /// A document was received before the end of the warm-up.
    pub fn document_before(&mut self) {
        self.measures.missing.documents_before += 1;
    }

    /// A document was received.
    #[expect(clippy::cast_precision_loss, reason = "documents have fewer than 2^53 bytes")]
    pub fn document(&mut self, document: Document) {
        let Document { files, bytes, time } = document;
        if !time.is_zero() {
            self.sum_of_rates += bytes as f64 / time.as_secs_f64();
        }
        self.measures.documents += 1;
        self.measures.files += u64::from(files);
        self.measures.bytes += bytes;
        self.measures.times.push(time);
    }

    /// A user or client has come this far when the run ends.
    pub fn record(&mut self, progress: Progress) {
        let missing = &mut self.measures.missing;
        missing.users += 1;
        match progress {
            Progress::NotStarted => missing.never_started += 1,
            Progress::NoDocument => missing.without_document += 1,
            Progress::Documents => {}
        }
    }

    fn add(&mut self, other: Self) {
        let ApplicationMeasures {
            documents,
            files,
            bytes,
            rate_mean: _,
            rate_sum: _,
            goodput: _,
            times,
            connections_opened,
            connections_failed,
            requests_repeated,
            missing: Missing { users, never_started, without_document, documents_before },
            // Two proxies have two names: the scenario was checked.
            proxy: _,
        } = other.measures;
        self.received += other.received;
        self.sum_of_rates += other.sum_of_rates;
        self.measures.documents += documents;
        self.measures.files += files;
        self.measures.bytes += bytes;
        self.measures.times.extend(times);
        self.measures.connections_opened += connections_opened;
        self.measures.connections_failed += connections_failed;
        self.measures.requests_repeated += requests_repeated;
        let missing = &mut self.measures.missing;
        missing.users += users;
        missing.never_started += never_started;
        missing.without_document += without_document;
        missing.documents_before += documents_before;
    }

    #[expect(clippy::cast_precision_loss, reason = "a run moves fewer than 2^53 bytes")]
    fn finish(self, seconds: f64) -> ApplicationMeasures {
        let mut measures = self.measures;
        let total: Duration = measures.times.iter().sum();
        let per = |amount: f64, of: f64| (of > 0.0).then(|| amount / of);
        measures.rate_mean = per(self.sum_of_rates, measures.documents as f64);
        measures.rate_sum = per(measures.bytes as f64, total.as_secs_f64());
        measures.goodput = per(self.received as f64, seconds).unwrap_or(0.0);
        measures
    }
}
