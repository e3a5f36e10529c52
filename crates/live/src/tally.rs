//! What the programs of one thread count; the threads' counts are added up in the end.

use std::{collections::BTreeMap, time::Duration};

use ackwise_sim::{
    Scenario,
    measure::{ApplicationMeasures, Missing},
};

/// One application's numbers, before the rates are computed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) received: u64,
    sum_of_rates: f64,
    pub(crate) measures: ApplicationMeasures,
}

/// A document that was wholly received.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Document {
    pub(crate) files: u32,
    pub(crate) bytes: u64,
    /// What the user waited, not what it thought.
    pub(crate) time: Duration,
}

/// How far a user or client has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Progress {
    NotStarted,
    NoDocument,
    Documents,
}

impl Tally {
    #[expect(clippy::cast_precision_loss, reason = "documents have fewer than 2^53 bytes")]
    pub(crate) fn document(&mut self, document: Document, warm: bool) {
        if !warm {
            self.measures.missing.documents_before += 1;
            return;
        }
        let Document { files, bytes, time } = document;
        if !time.is_zero() {
            self.sum_of_rates += bytes as f64 / time.as_secs_f64();
        }
        self.measures.documents += 1;
        self.measures.files += u64::from(files);
        self.measures.bytes += bytes;
        self.measures.times.push(time);
    }

    pub(crate) fn record(&mut self, progress: Progress) {
        let missing = &mut self.measures.missing;
        missing.users += 1;
        match progress {
            Progress::NotStarted => missing.never_started += 1,
            Progress::NoDocument => missing.without_document += 1,
            Progress::Documents => {}
        }
    }

    fn add(&mut self, other: Self) {
        let Self { received, sum_of_rates, measures } = other;
        let ApplicationMeasures { missing, .. } = measures;
        let Missing { users, never_started, without_document, documents_before } = missing;
        self.received += received;
        self.sum_of_rates += sum_of_rates;
        let own = &mut self.measures;
        own.documents += measures.documents;
        own.files += measures.files;
        own.bytes += measures.bytes;
        own.times.extend(measures.times);
        own.connections_opened += measures.connections_opened;
        own.connections_failed += measures.connections_failed;
        own.requests_repeated += measures.requests_repeated;
        own.missing.users += users;
        own.missing.never_started += never_started;
        own.missing.without_document += without_document;
        own.missing.documents_before += documents_before;
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

/// The measures of all applications by name, from the tallies of all threads.
pub(crate) fn applications(
    scenario: &Scenario,
    threads: Vec<Vec<Tally>>,
    seconds: f64,
) -> BTreeMap<String, ApplicationMeasures> {
    let mut sums: BTreeMap<String, Tally> = BTreeMap::new();
    for tallies in threads {
        for (application, tally) in scenario.applications.iter().zip(tallies) {
            sums.entry(application.name.clone()).or_default().add(tally);
        }
    }
    sums.into_iter().map(|(name, sum)| (name, sum.finish(seconds))).collect()
}
