//! Collects what a run measures while it goes.

use std::time::Duration;

use ackwise_cause::Cause;
use ackwise_link::Counters;
use ackwise_tcp::{Instant, Segment};

use super::{
    DirectionMeasures, Document, HostMeasures, Measures, Progress, ProxyMeasures, Tally, tally,
};
use crate::{
    connection::Connection,
    observe::Side,
    scenario::{ApplicationKind, Bulk, BulkSender, Scenario},
};

/// Collects while a run goes.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    pub(crate) measures: Measures,
    /// By the application's place in the scenario.
    tallies: Vec<Tally>,
    /// At which end what each transfers arrives.
    receives: Vec<Side>,
    /// By direction of each link: what happened before the warm-up was over.
    before: Vec<Counters>,
    since: Instant,
    warm: bool,
}

impl Collector {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let applications = || scenario.applications.iter();
        let tallies = applications().map(|application| {
            let mut tally = Tally::default();
            tally.measures.proxy = match application.kind {
                ApplicationKind::Proxy(_) => Some(Box::default()),
                _ => None,
            };
            tally
        });
        let receives = applications().map(|application| match application.kind {
            ApplicationKind::Bulk(Bulk { sender: BulkSender::Client, .. }) => Side::Server,
            _ => Side::Client,
        });
        Self {
            measures: Measures::default(),
            tallies: tallies.collect(),
            receives: receives.collect(),
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
        let application = connection.application as usize;
        if self.warm && self.receives[application] == side {
            let tally = &mut self.tallies[application];
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

    pub(crate) fn document(&mut self, application: u32, document: Document) {
        let tally = &mut self.tallies[application as usize];
        match self.warm {
            true => tally.document(document),
            false => tally.document_before(),
        }
    }

    /// Records how far a user or client has come when the run ends.
    pub(crate) fn record_progress(&mut self, application: u32, progress: Progress) {
        self.tallies[application as usize].record(progress);
    }

    /// Computes what follows from the counts.
    pub(crate) fn finish(
        self,
        scenario: &Scenario,
        links: impl Iterator<Item = (Counters, u64)>,
        hosts: impl Iterator<Item = HostMeasures>,
        now: Instant,
    ) -> Measures {
        let Self { mut measures, tallies, receives: _, before, since, warm } = self;
        measures.measured = if warm { now.since(since) } else { Duration::ZERO };
        let seconds = measures.measured.as_secs_f64();
        measures.applications = tally::applications(scenario, [tallies], seconds);
        if warm {
            let mut counters = links.zip(before);
            for link in &scenario.links {
                let both = [0, 1].map(|direction| {
                    let ((after, most_queued), before) =
                        counters.next().expect("two for each link");
                    let counts = [&before, &after];
                    let measures = DirectionMeasures::between(link, direction, counts, seconds);
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
