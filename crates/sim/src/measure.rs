//! What a run measures, as data.
//!
//! Everything counts from the end of the warm-up on; rates are bytes a second of virtual time.

mod collect;
mod proxy;
mod tally;

pub(crate) use collect::Collector;
pub use proxy::{ProxyMeasures, Response, Unfinished};
pub use tally::{Document, Progress, Tally, applications};

use std::{collections::BTreeMap, time::Duration};

use ackwise_cause::Cause;
use ackwise_link::Counters;

use crate::{scenario::DuplexLink, table::TableMeasures};

/// What a run has measured. Names are the scenario's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measures {
    /// By the application's name.
    pub applications: BTreeMap<String, ApplicationMeasures>,
    /// By the link's name: both directions, as in the scenario.
    pub links: BTreeMap<String, [DirectionMeasures; 2]>,
    /// By the host's name.
    pub hosts: BTreeMap<String, HostMeasures>,
    /// Why exchanges took the time they took, summed over all of them; only if the run was asked to
    /// watch waits.
    pub causes: BTreeMap<Cause, Duration>,
    /// Segments with data, and those of them that were full.
    pub segments: FilledSegments,
    /// How long was measured.
    pub measured: Duration,
    /// What the run took, warm-up included.
    pub work: Work,
}

/// What one application did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ApplicationMeasures {
    /// Documents (or files of a bulk client, or responses to arrivals) that were wholly received.
    pub documents: u64,
    /// Files that were wholly received.
    pub files: u64,
    /// Bytes of the documents that were wholly received, response heads not counted.
    pub bytes: u64,
    /// The mean over documents of bytes / retrieval time, think time not counted.
    pub rate_mean: Option<f64>,
    /// All bytes / the sum of all retrieval times.
    pub rate_sum: Option<f64>,
    /// Stream bytes that clients received, unfinished documents included, per second of the run.
    pub goodput: f64,
    /// Retrieval times of documents, in the order in which they ended.
    pub times: Vec<Duration>,
    /// Connections that were opened.
    pub connections_opened: u64,
    /// Connections that failed with a request under way: reset, refused or given up.
    pub connections_failed: u64,
    /// Requests that were sent again, because their connection was closed or failed.
    pub requests_repeated: u64,
    /// What of all this may be missing, and why.
    pub missing: Missing,
    /// Of a proxy's application only.
    pub proxy: Option<Box<ProxyMeasures>>,
}

impl ApplicationMeasures {
    /// The smallest time that at least `fraction` of the documents did not exceed (nearest rank).
    #[must_use]
    pub fn percentile(&self, fraction: f64) -> Option<Duration> {
        let mut sorted = self.times.clone();
        sorted.sort_unstable();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a rank lies between 0 and the number of times"
        )]
        let rank = (fraction.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied()
    }

    /// The mean retrieval time of a document.
    #[must_use]
    pub fn mean_time(&self) -> Option<Duration> {
        let sum: Duration = self.times.iter().sum();
        let count = u32::try_from(self.times.len()).ok().filter(|&count| count > 0)?;
        Some(sum / count)
    }
}

/// What an application did not do in the whole run, warm-up included.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Missing {
    /// Its users or clients; a source of arrivals is one.
    pub users: u32,
    /// Those that would have started after the end of the run.
    pub never_started: u32,
    /// Those that started and finished no document; not those whose file is endless.
    pub without_document: u32,
    /// Documents that were finished before the warm-up was over, and are not measured.
    pub documents_before: u64,
}

/// What one direction of a link carried.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DirectionMeasures {
    /// Packets that were offered.
    pub offered: u64,
    /// Packets that were dropped, for whatever reason.
    pub dropped: u64,
    /// Those of them that were larger than the MTU; `None` without one.
    pub too_large: Option<u64>,
    /// Those whose flow had been forgotten; `None` if the link forgets none.
    pub flow_forgotten: Option<u64>,
    /// Bytes that were taken, link overhead included.
    pub bytes: u64,
    /// The share of the measured time in which the link was sending, 0 to 1; `None` without a rate, or
    /// if that changes.
    pub utilization: Option<f64>,
    /// Dropped / offered, 0 to 1.
    pub drop_rate: f64,
    /// The most packets in the queue at once, the one being sent included.
    pub most_queued: u64,
}

impl DirectionMeasures {
    /// What a direction of a link carried between two counts, `seconds` apart; the longest queue is not among them.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^53 packets and bytes")]
    pub fn between(
        link: &DuplexLink,
        direction: usize,
        [before, after]: [&Counters; 2],
        seconds: f64,
    ) -> Self {
        let config = &link.directions[direction];
        let dropped = after.dropped() - before.dropped();
        let offered = after.queued - before.queued + dropped;
        let bytes = after.bytes - before.bytes;
        let constant = config.rate.filter(|_| config.rate_change.is_none());
        let capacity = constant.map(|rate| rate.get() as f64 / 8.0 * seconds);
        Self {
            offered,
            dropped,
            too_large: (config.faults.mtu)
                .map(|_| after.dropped_too_large - before.dropped_too_large),
            flow_forgotten: (link.forgets_after)
                .map(|_| after.dropped_flow_forgotten - before.dropped_flow_forgotten),
            bytes,
            utilization: capacity.filter(|&most| most > 0.0).map(|most| bytes as f64 / most),
            drop_rate: if offered > 0 { dropped as f64 / offered as f64 } else { 0.0 },
            most_queued: 0,
        }
    }
}

/// What one host held.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct HostMeasures {
    /// Connections that came to be here, as client or as server.
    pub connections_opened: u64,
    /// The most at once, TIME-WAIT not counted.
    pub most_open: u64,
    /// The most in TIME-WAIT at once.
    pub most_time_wait: u64,
    /// Of its table of connections, if it has one.
    pub table: Option<TableMeasures>,
}

/// Segments with data.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct FilledSegments {
    /// All of them, retransmissions included.
    pub all: u64,
    /// Those that carried as much as the path allows.
    pub full: u64,
}

/// What a run took.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Work {
    /// Events taken out of the queue.
    pub events: u64,
    /// Packets that came to the end of a link.
    pub packet_hops: u64,
    /// Connections alive at once, at most.
    pub most_connections: u64,
    /// The hash of all that was sent, received and dropped, when and by whom: the same on every
    /// machine.
    pub trace_hash: u64,
}
