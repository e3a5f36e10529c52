//! Collects what a run measures while it goes.

use std::{collections::BTreeMap, time::Duration};

use ackwise_cause::Cause;
use ackwise_link::Counters;
use ackwise_tcp::{Instant, Segment};

use super::{
    ApplicationMeasures, DirectionMeasures, HostMeasures, Measures, Missing, ProxyMeasures,
};
use crate::{
    connection::Connection,
    observe::Side,
    scenario::{ApplicationKind, Bulk, BulkSender, Scenario},
};

/// A document that was wholly received.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Document {
    pub(crate) files: u32,
    pub(crate) bytes: u64,
    /// Retrieval time: what the user waited, not what it thought.
    pub(crate) time: Duration,
}

/// How far a user or client has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Progress {
    NotStarted,
    /// It has finished no document, and should have.
    NoDocument,
    Documents,
}

/// One application's numbers, before the rates are computed.
#[derive(Clone, Debug)]
struct Tally {
    /// At which end what it transfers arrives.
    receives: Side,
    received: u64,
    sum_of_rates: f64,
    measures: ApplicationMeasures,
}

/// Collects while a run goes.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    pub(crate) measures: Measures,
    /// By the application's place in the scenario.
    tallies: Vec<Tally>,
    /// By direction of each link: what happened before the warm-up was over.
    before: Vec<Counters>,
    since: Instant,
    warm: bool,
}

impl Collector {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let tallies = scenario.applications.iter().map(|application| Tally {
            receives: match application.kind {
                ApplicationKind::Bulk(Bulk { sender: BulkSender::Client, .. }) => Side::Server,
                _ => Side::Client,
            },
            received: 0,
            sum_of_rates: 0.0,
            measures: ApplicationMeasures {
                proxy: match application.kind {
                    ApplicationKind::Proxy(_) => Some(Box::default()),
                    _ => None,
                },
                ..ApplicationMeasures::default()
            },
        });
        Self {
            measures: Measures::default(),
            tallies: tallies.collect(),
            before: Vec::new(),
            since: Instant::EPOCH,
            warm: false,
        }
    }

    /// The warm-up is over: what comes now counts.
    pub(crate) fn warmed_up(&mut self, links: impl Iterator<Item = Counters>, now: Instant) {
        (self.before, self.since, self.warm) = (links.collect(), now, true);
    }

    pub(crate) fn opened(&mut self, application: u32, live: usize) {
        let work = &mut self.measures.work;
        work.most_connections = work.most_connections.max(live as u64);
        if self.warm {
            self.tallies[application as usize].measures.connections_opened += 1;
        }
    }

    pub(crate) fn failed(&mut self, application: u32) {
        if self.warm {
            self.tallies[application as usize].measures.connections_failed += 1;
        }
    }

    /// Requests that a connection has lost are sent again.
    pub(crate) fn repeated(&mut self, application: u32, requests: u32) {
        if self.warm {
            let measures = &mut self.tallies[application as usize].measures;
            measures.requests_repeated += u64::from(requests);
        }
    }

    /// An application has read `bytes`.
    pub(crate) fn received(&mut self, connection: &Connection, side: Side, bytes: u32) {
        let tally = &mut self.tallies[connection.application as usize];
        if self.warm && tally.receives == side {
            tally.received += u64::from(bytes);
            if let Some(proxy) = &mut tally.measures.proxy {
                proxy.bytes_to_clients += u64::from(bytes);
            }
        }
    }

    /// A proxy has done something, after the warm-up.
    pub(crate) fn proxied(&mut self, application: u32, note: impl FnOnce(&mut ProxyMeasures)) {
        if self.warm {
            self.proxied_ever(application, note);
        }
    }

    /// A proxy has done something, whenever.
    pub(crate) fn proxied_ever(&mut self, application: u32, note: impl FnOnce(&mut ProxyMeasures)) {
        if let Some(proxy) = &mut self.tallies[application as usize].measures.proxy {
            note(proxy);
        }
    }

    /// An exchange has waited.
    pub(crate) fn blame(&mut self, cause: Cause, span: Duration) {
        if self.warm {
            *self.measures.causes.entry(cause).or_default() += span;
        }
    }

    /// A segment has been sent; a full one has `full` bytes of data.
    pub(crate) const fn sent(&mut self, segment: &Segment, full: u32) {
        if self.warm && segment.len > 0 {
            self.measures.segments.all += 1;
            self.measures.segments.full += (segment.len >= full) as u64;
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "documents have fewer than 2^53 bytes")]
    pub(crate) fn document(&mut self, application: u32, document: Document) {
        let tally = &mut self.tallies[application as usize];
        if !self.warm {
            tally.measures.missing.documents_before += 1;
            return;
        }
        if !document.time.is_zero() {
            tally.sum_of_rates += document.bytes as f64 / document.time.as_secs_f64();
        }
        tally.measures.documents += 1;
        tally.measures.files += u64::from(document.files);
        tally.measures.bytes += document.bytes;
        tally.measures.times.push(document.time);
    }

    /// Records how far a user or client has come when the run ends.
    pub(crate) fn record_progress(&mut self, application: u32, progress: Progress) {
        let missing = &mut self.tallies[application as usize].measures.missing;
        missing.users += 1;
        match progress {
            Progress::NotStarted => missing.never_started += 1,
            Progress::NoDocument => missing.without_document += 1,
            Progress::Documents => {}
        }
    }

    /// Computes what follows from the counts.
    pub(crate) fn finish(
        self,
        scenario: &Scenario,
        links: impl Iterator<Item = (Counters, u64)>,
        hosts: impl Iterator<Item = HostMeasures>,
        now: Instant,
    ) -> Measures {
        let Self { mut measures, tallies, before, since, warm } = self;
        measures.measured = if warm { now.since(since) } else { Duration::ZERO };
        let seconds = measures.measured.as_secs_f64();
        measures.applications = applications(scenario, tallies, seconds);
        if warm {
            let mut counters = links.zip(before);
            for link in &scenario.links {
                let both = link.directions.each_ref().map(|config| {
                    let ((after, most_queued), before) =
                        counters.next().expect("two for each link");
                    let measures = DirectionMeasures::between(config, [&before, &after], seconds);
                    DirectionMeasures { most_queued, ..measures }
                });
                measures.links.insert(link.name.clone(), both);
            }
        }
        for (node, host) in scenario.nodes.iter().zip(hosts) {
            if node.tcp.is_some() {
                measures.hosts.insert(node.name.clone(), host);
            }
        }
        measures
    }
}

/// Adds up what goes by one name, and computes the rates.
fn applications(
    scenario: &Scenario,
    tallies: Vec<Tally>,
    seconds: f64,
) -> BTreeMap<String, ApplicationMeasures> {
    let mut sums: BTreeMap<String, Tally> = BTreeMap::new();
    for (application, tally) in scenario.applications.iter().zip(tallies) {
        match sums.get_mut(&application.name) {
            Some(sum) => sum.add(tally),
            None => {
                sums.insert(application.name.clone(), tally);
            }
        }
    }
    sums.into_iter().map(|(name, sum)| (name, sum.finish(seconds))).collect()
}

impl Tally {
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
