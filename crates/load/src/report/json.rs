//! JSON output. The keys are documented in `docs/load/report.md`; within a version keys are only added.

use std::{collections::BTreeMap, time::Duration};

use ackwise_cause::{ConnectOutcome, Outcome};
use ackwise_text::format::{self, Format};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::{FailureCount, LoadReport};
use crate::{
    HeldCount, Sample,
    generator::{Failure, Fault},
};

/// Formats the report as one JSON object: a [`Document`].
#[must_use]
pub fn json(report: &LoadReport) -> String {
    format::to_json(&Document {
        ackwise: env!("CARGO_PKG_VERSION"),
        summary: report.summary(),
        target: &report.target,
        server: report.server.to_string(),
        close: report.close.as_str(),
        stack: report.stack.as_str(),
        concurrency: report.concurrency,
        connections: report.connections,
        requests: report.requests,
        failed: report.failed,
        crossed_closes: report.crossed_closes,
        repeated: report.repeated,
        failures: report.failures.iter().map(Failures::from).collect(),
        statuses: report
            .statuses
            .iter()
            .map(|(status, count)| (status.to_string(), *count))
            .collect(),
        warm_up: WarmUp { requests: report.warm_up.requests, failed: report.warm_up.failed },
        forestalled: report.forestalled,
        cut_short: report.cut_short,
        dismissed: report.dismissed,
        missed: report.missed,
        not_closed: report.not_closed,
        unfinished: report.unfinished,
        bytes: report.bytes,
        elapsed_s: seconds(report.elapsed),
        rate_per_s: round(report.rate()),
        latency_ms: report.latency.map(|latency| Latency {
            mean: millis(latency.mean),
            p50: millis(latency.p50),
            p90: millis(latency.p90),
            p99: millis(latency.p99),
            p999: millis(latency.p999),
            max: millis(latency.max),
        }),
        generator: Generator {
            cpu_s: report.own_cost.map(|cost| seconds(cost.cpu)),
            waited_for_cpu_s: report.own_cost.map(|cost| seconds(cost.waiting)),
            late_ms: millis(report.own_lateness),
        },
        causes: report.causes.as_ref().map(|causes| Causes {
            exchanges: causes.exchanges,
            packets: causes.packets,
            dropped: causes.dropped,
            time_s: seconds(causes.time),
            list: causes.list.iter().map(CauseTime::from).collect(),
        }),
        time_wait: TimeWait {
            server: report.time_wait.server.known(),
            client: report.time_wait.client.known(),
            server_unknown: why(&report.time_wait.server),
            client_unknown: why(&report.time_wait.client),
            server_ignores_resets: report.time_wait.server_ignores_resets,
            series: report.time_wait.series.iter().map(Point::from).collect(),
        },
        notes: &report.notes,
    })
}

/// What `ackwise load --json` prints.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Document<'a> {
    /// The version of the program.
    ackwise: &'static str,
    /// The summary, as in the text report.
    summary: String,
    /// The URL, as given.
    target: &'a str,
    /// The server's address and port.
    server: String,
    /// Which end was to close first.
    close: &'static str,
    /// The clients' TCP stack.
    stack: &'static str,
    /// Most connections open at once.
    concurrency: usize,
    /// Connections made.
    connections: u64,
    /// Requests made: those that were answered and those that failed.
    requests: u64,
    /// Requests without a complete response, with a status of 400 or more, or with other content than expected; without
    /// `crossed_closes`.
    failed: u64,
    /// Requests that crossed the server's close of a connection that had been in use.
    crossed_closes: u64,
    /// Of these, those that were sent again (`--retry-closed`) and also count by what came of that.
    repeated: u64,
    /// What failed and why, crossed closes included.
    failures: Vec<Failures<'a>>,
    /// Complete responses by status.
    statuses: BTreeMap<String, u64>,
    /// Requests of the warm-up, which count nowhere else.
    warm_up: WarmUp,
    /// Connections on which the server announced `Connection: close`, although the client was to close first.
    forestalled: u64,
    /// Connections that the server closed, or announced to close, before their last request; the others were made on new ones.
    cut_short: u64,
    /// Kept connections that the client closed because no request was left for them.
    dismissed: u64,
    /// Requests that were due but never started.
    missed: u64,
    /// Connections that, after their last response, the server reset or did not close in time.
    not_closed: u64,
    /// Connections that were still open when the run was stopped, and that the client reset.
    unfinished: u64,
    /// Bytes read.
    bytes: u64,
    /// Seconds from the first start, or from the end of the warm-up, to the last end.
    elapsed_s: f64,
    /// Answered requests per second.
    rate_per_s: f64,
    /// From the intended start of a request to the last byte of its response, or to its timeout; null if no request was answered.
    latency_ms: Option<Latency>,
    /// What the generator itself took.
    generator: Generator,
    /// With `--explain`: what the captured exchanges waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    causes: Option<Causes<'a>>,
    /// Connections in TIME-WAIT.
    time_wait: TimeWait<'a>,
    /// What limits these results, and what to do about it.
    notes: &'a [String],
}

impl format::Document for Document<'_> {
    const FORMAT: Format = Format::first("ackwise-load");
    const ABOUT: &'static str =
        "What `ackwise load --json` prints: requests, failures, latencies and TIME-WAIT.";
}

/// Requests that failed in the same way.
#[derive(Debug, JsonSchema, Serialize)]
struct Failures<'a> {
    /// Why they failed; their `outcome` if the reason does not show (docs/failures.md).
    #[schemars(schema_with = "kinds")]
    kind: &'static str,
    /// What happened.
    #[schemars(schema_with = "outcomes")]
    outcome: &'static str,
    /// Confidence in `kind`: `high` or `medium`.
    confidence: &'static str,
    /// What looks the same to the client.
    rival: Option<&'static str>,
    /// Number of requests.
    count: u64,
    /// The first failure, in words.
    first: &'a str,
}

impl<'a> From<&'a FailureCount> for Failures<'a> {
    fn from(failed: &'a FailureCount) -> Self {
        let Fault { kind, outcome, rival } = failed.fault;
        let confidence = if rival.is_some() { "medium" } else { "high" };
        Self { kind, outcome, confidence, rival, count: failed.count, first: &failed.first }
    }
}

fn kinds(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Failure::KINDS })
}

fn outcomes(_: &mut SchemaGenerator) -> Schema {
    let connects = ConnectOutcome::ALL.map(ConnectOutcome::name);
    let names: Vec<_> = Outcome::ALL.map(Outcome::name).into_iter().chain(connects).collect();
    json_schema!({ "type": "string", "enum": names })
}

/// Quantiles, in milliseconds.
#[derive(Debug, JsonSchema, Serialize)]
struct Latency {
    mean: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    p999: f64,
    max: f64,
}

/// Requests that were due during the warm-up.
#[derive(Debug, JsonSchema, Serialize)]
struct WarmUp {
    /// All of them.
    requests: u64,
    /// Those that failed.
    failed: u64,
}

/// The generator's own share in the results.
#[derive(Debug, JsonSchema, Serialize)]
struct Generator {
    /// Processor time; null if unknown.
    cpu_s: Option<f64>,
    /// Time in which it could have run, but other programs did; null if unknown.
    waited_for_cpu_s: Option<f64>,
    /// Most that a request started late although a connection was free.
    late_ms: f64,
}

/// Time of the captured exchanges by cause.
#[derive(Debug, JsonSchema, Serialize)]
struct Causes<'a> {
    /// Captured exchanges.
    exchanges: usize,
    /// Captured packets.
    packets: u64,
    /// Packets that the capture missed.
    dropped: u64,
    /// Duration of the exchanges together.
    time_s: f64,
    /// Largest first.
    list: Vec<CauseTime<'a>>,
}

/// Time of one cause.
#[derive(Debug, JsonSchema, Serialize)]
struct CauseTime<'a> {
    /// Its name, as in `ackwise explain`.
    cause: &'a str,
    /// The end that can change it; null if none can.
    party: Option<&'a str>,
    /// Sum over all exchanges.
    time_s: f64,
    /// Exchanges with this cause.
    exchanges: usize,
    /// high, medium or low.
    confidence: &'a str,
    /// What removes it.
    remedy: Option<&'a str>,
}

impl<'a> From<&'a super::CauseTime> for CauseTime<'a> {
    fn from(cause: &'a super::CauseTime) -> Self {
        let super::CauseTime { cause, party, time, exchanges, confidence, remedy } = cause;
        Self {
            cause,
            party: *party,
            time_s: seconds(*time),
            exchanges: *exchanges,
            confidence,
            remedy: remedy.as_deref(),
        }
    }
}

/// Connections of this run in TIME-WAIT at its end.
#[derive(Debug, JsonSchema, Serialize)]
struct TimeWait<'a> {
    /// At the server; null if unknown.
    server: Option<u64>,
    /// At the client; null if unknown.
    client: Option<u64>,
    /// Why `server` is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    server_unknown: Option<&'a str>,
    /// Why `client` is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_unknown: Option<&'a str>,
    /// `net.ipv4.tcp_rfc1337` at the server; null if unknown.
    server_ignores_resets: Option<bool>,
    /// Samples over time.
    series: Vec<Point>,
}

/// Connections in TIME-WAIT at one moment.
#[derive(Debug, JsonSchema, Serialize)]
struct Point {
    /// Time since the start.
    at_s: f64,
    server: Option<u64>,
    client: Option<u64>,
}

impl From<&Sample> for Point {
    fn from(sample: &Sample) -> Self {
        Self { at_s: seconds(sample.at), server: sample.server, client: sample.client }
    }
}

fn why(held: &HeldCount) -> Option<&str> {
    match held {
        HeldCount::Known(_) => None,
        HeldCount::Unknown(why) => Some(why),
    }
}

/// Milliseconds to the microsecond, which is the histogram's resolution.
fn millis(span: Duration) -> f64 {
    round(span.as_secs_f64() * 1e3)
}

fn seconds(span: Duration) -> f64 {
    round(span.as_secs_f64())
}

fn round(number: f64) -> f64 {
    (number * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::report::sample;

    #[test]
    fn an_end_that_is_not_known_is_null_and_says_why() {
        let document: Value = serde_json::from_str(&super::json(&sample::report())).unwrap();
        let time_wait = json!({
            "server": null,
            "client": 1198,
            "server_unknown": "10.0.0.1 is not an address of this host",
            "server_ignores_resets": null,
            "series": [{ "at_s": 0.25, "server": null, "client": 150 }],
        });
        assert_eq!(document["time_wait"], time_wait);
        let failures = json!([{
            "kind": "truncated",
            "outcome": "truncated",
            "confidence": "high",
            "rival": null,
            "count": 2,
            "first": "connection closed before the end of the body",
        }]);
        assert_eq!(document["failures"], failures);
        let left = ["missed", "not_closed", "unfinished"].map(|key| document[key].as_u64());
        assert_eq!(left, [Some(3), Some(2), Some(1)]);
        assert_eq!(document["latency_ms"]["p999"], 6.0);
        assert_eq!(document["rate_per_s"], 599.0);
        assert_eq!(document["causes"]["list"][0]["time_s"], 3.0);
        assert_eq!(document["statuses"], json!({ "200": 1197, "304": 1 }));
        assert_eq!(document["generator"]["waited_for_cpu_s"], 0.02);
    }
}
