//! The result of a run, as text and as JSON.

mod causes;
mod hgrm;
mod json;
mod notes;
mod text;

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use hdrhistogram::Histogram;

use super::{
    CloseMode, LoadOptions, StackMode, TimeWait,
    explain::{Facts, explain},
    own_cost::OwnCost,
};
use crate::generator::{Drain, EndReason, Failure, Fault, LoadResult, Quantiles, Tally, WarmUp};

pub use causes::{CauseTime, Causes};
pub use hgrm::hgrm;
pub use json::{Document, json};
pub use text::text;

/// The result of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadReport {
    /// The URL.
    pub target: String,
    /// The server's address and port.
    pub server: SocketAddr,
    /// Which end closes first.
    pub close: CloseMode,
    /// What follows a CLIENT_CLOSE.
    pub drain: Drain,
    /// The clients' TCP stack.
    pub stack: StackMode,
    /// Maximum number of concurrent connections.
    pub concurrency: usize,
    /// Connections that were started.
    pub connections: u64,
    /// Requests sent.
    pub requests: u64,
    /// Requests without a complete response, with a status of 400 or more, or with other content than
    /// expected; those that crossed a close count apart.
    pub failed: u64,
    /// Requests that crossed the server's close of a connection that had been in use.
    pub crossed_closes: u64,
    /// Of these, those that were sent again.
    pub repeated: u64,
    /// What failed and why, crossed closes included.
    pub failures: Vec<FailureCount>,
    /// Complete responses by status.
    pub statuses: BTreeMap<u16, u64>,
    /// Requests of the warm-up, which count nowhere else.
    pub warm_up: WarmUp,
    /// Time from the first start, or from the end of the warm-up, to the last end.
    pub elapsed: Duration,
    /// Bytes read.
    pub bytes: u64,
    /// Latency from the intended start of each answered request to its last byte; of those that timed
    /// out, to that moment.
    pub latency: Option<Quantiles>,
    /// These latencies, in microseconds.
    pub latencies: Histogram<u64>,
    /// TIME-WAIT at both ends.
    pub time_wait: TimeWait,
    /// Why the run ended.
    pub ended: EndReason,
    /// Restrictions on the results, and advice.
    pub notes: Vec<String>,
    /// Connections that the server announced it would close although the client was to close first.
    pub forestalled: u64,
    /// Connections that the server closed, or announced to close, before their last request.
    pub cut_short: u64,
    /// Kept connections that the client closed because no request was left for them.
    pub dismissed: u64,
    /// Requests that were due in an open loop and were never started.
    pub missed: u64,
    /// Connections that were reset, or not closed in time, after their last response.
    pub not_closed: u64,
    /// Connections that were still open when the run was stopped, and were reset.
    pub unfinished: u64,
    /// Processor time of the generator; `None` if this system does not tell.
    pub own_cost: Option<OwnCost>,
    /// Maximum delay of a start although a connection was free.
    pub own_lateness: Duration,
    /// What the requests waited for, if their packets were captured.
    pub causes: Option<Causes>,
    broken: u64,
    lost: u64,
}

/// Requests that failed in the same way.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FailureCount {
    /// What happened, and why.
    pub fault: Fault,
    /// Number of requests.
    pub count: u64,
    /// The first failure, in words.
    pub first: String,
}

impl LoadReport {
    pub(super) fn new(
        options: &LoadOptions,
        stack: StackMode,
        server: SocketAddr,
        loaded: &LoadResult,
        time_wait: TimeWait,
        lost: u64,
        own_cost: Option<OwnCost>,
    ) -> Self {
        let LoadResult { tally, elapsed, ended, .. } = loaded;
        let failures = tally.failures().map(|(fault, count, first)| FailureCount {
            fault,
            count,
            first: first.to_string(),
        });
        let mut report = Self {
            target: options.target.to_string(),
            server,
            close: options.close,
            drain: options.drain,
            stack,
            concurrency: options.concurrency,
            connections: tally.connections(),
            requests: tally.requests(),
            failed: tally.failed(),
            crossed_closes: tally.crossed_closes(),
            repeated: tally.repeated(),
            failures: failures.collect(),
            statuses: tally.statuses().clone(),
            warm_up: tally.warm_up(),
            elapsed: *elapsed,
            bytes: tally.bytes(),
            latency: tally.latency(),
            latencies: tally.latencies().clone(),
            time_wait,
            ended: *ended,
            notes: Vec::new(),
            forestalled: tally.forestalled(),
            cut_short: tally.cut_short(),
            dismissed: tally.dismissed(),
            missed: loaded.missed,
            not_closed: tally.unclean(),
            unfinished: tally.unfinished(),
            own_cost,
            own_lateness: tally.own_lateness(),
            causes: None,
            broken: broken(tally),
            lost,
        };
        report.notes = notes::notes(&report, options, loaded);
        report
    }

    /// Which end holds TIME-WAIT, for how many connections, and why: one sentence.
    #[must_use]
    pub fn summary(&self) -> String {
        explain(&Facts {
            connections: self.connections,
            close: self.close,
            drain: self.drain,
            time_wait: &self.time_wait,
            lost: self.lost,
            not_closed: self.not_closed,
            unfinished: self.unfinished,
            broken: self.broken,
            forestalled: self.forestalled,
            dismissed: self.dismissed,
        })
    }

    /// Requests answered per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 requests")]
        let answered = (self.requests - self.failed - self.lost_in_close()) as f64;
        if seconds > 0.0 { answered / seconds } else { 0.0 }
    }

    /// Requests that crossed a close and were not sent again.
    #[must_use]
    pub const fn lost_in_close(&self) -> u64 {
        self.crossed_closes - self.repeated
    }

    /// Whether every request that was due was made, whatever came of it, and all connections closed in
    /// time.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.missed + self.not_closed == 0 && self.ended == EndReason::AsPlanned
    }

    /// Whether, besides, every request was answered.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_whole() && self.failed + self.lost_in_close() == 0
    }
}

/// Connections that ended before a response was complete. They continue after an error response.
fn broken(tally: &Tally) -> u64 {
    let broken = |failure: Failure| !failure.is_response();
    tally.failures().filter(|(_, _, first)| broken(*first)).map(|(_, count, _)| count).sum()
}

#[cfg(test)]
mod sample {
    use crate::generator::EndReason;

    use super::*;
    use crate::{HeldCount, Sample};

    /// A run with failures, against a remote server.
    #[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
    pub(super) fn report() -> LoadReport {
        let ms = Duration::from_millis;
        LoadReport {
            target: "http://server/".to_owned(),
            server: ([10, 0, 0, 1], 80).into(),
            close: CloseMode::Client,
            drain: Drain::HalfClose,
            stack: StackMode::Kernel,
            concurrency: 64,
            connections: 1200,
            requests: 1200,
            failed: 2,
            failures: vec![FailureCount {
                fault: Fault { kind: "truncated", outcome: "truncated", rival: None },
                count: 2,
                first: "connection closed before the end of the body".to_owned(),
            }],
            crossed_closes: 0,
            repeated: 0,
            statuses: BTreeMap::from([(200, 1197), (304, 1)]),
            warm_up: WarmUp::default(),
            elapsed: ms(2000),
            bytes: 123_456,
            latency: Some(Quantiles {
                mean: ms(3),
                p50: ms(2),
                p90: ms(4),
                p99: ms(5),
                p999: ms(6),
                max: ms(700),
            }),
            latencies: latencies(),
            time_wait: TimeWait {
                server: HeldCount::Unknown("10.0.0.1 is not an address of this host".to_owned()),
                client: HeldCount::Known(1198),
                series: vec![Sample { at: ms(250), server: None, client: Some(150) }],
                server_ignores_resets: None,
                reasons: Vec::new(),
            },
            ended: EndReason::AsPlanned,
            notes: vec!["could not determine TIME-WAIT at the server".to_owned()],
            forestalled: 0,
            cut_short: 0,
            dismissed: 0,
            missed: 3,
            not_closed: 2,
            unfinished: 1,
            own_cost: Some(OwnCost { cpu: ms(500), waiting: ms(20), wall: ms(2000) }),
            own_lateness: ms(1),
            causes: Some(Causes {
                exchanges: 1190,
                packets: 12_000,
                dropped: 3,
                time: ms(4000),
                list: vec![CauseTime {
                    cause: "nagle-delayed-ack",
                    party: Some("server"),
                    time: ms(3000),
                    exchanges: 75,
                    confidence: "high",
                    remedy: Some("set TCP_NODELAY".to_owned()),
                }],
            }),
            broken: 2,
            lost: 0,
        }
    }

    /// A thousand of 1 to 1,000 ms.
    fn latencies() -> Histogram<u64> {
        let mut latencies = Histogram::new_with_bounds(1, 3_600_000_000, 3).unwrap();
        (1..=1000).for_each(|millis| latencies.record(millis * 1000).unwrap());
        latencies
    }
}
