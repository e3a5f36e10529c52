//! For programs. The keys are documented in `docs/load.md` and only ever added to.

use std::{collections::BTreeMap, time::Duration};

use serde::Serialize;

use super::LoadReport;
use crate::{Held, Sample};

/// One JSON object.
#[must_use]
pub fn json(report: &LoadReport) -> String {
    let document = Document {
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
        failures: report.failures.iter().map(|failed| (failed.reason, failed.count)).collect(),
        forestalled: report.forestalled,
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
        time_wait: TimeWait {
            server: report.time_wait.server.known(),
            client: report.time_wait.client.known(),
            server_unknown: why(&report.time_wait.server),
            client_unknown: why(&report.time_wait.client),
            server_ignores_resets: report.time_wait.server_ignores_resets,
            series: report.time_wait.series.iter().map(Point::from).collect(),
        },
        notes: &report.notes,
    };
    let mut json = serde_json::to_string_pretty(&document).expect("its maps have strings for keys");
    json.push('\n');
    json
}

#[derive(Serialize)]
struct Document<'a> {
    ackwise: &'static str,
    summary: String,
    target: &'a str,
    server: String,
    close: &'static str,
    stack: &'static str,
    concurrency: usize,
    connections: u64,
    requests: u64,
    failed: u64,
    failures: BTreeMap<&'static str, u64>,
    forestalled: u64,
    missed: u64,
    not_closed: u64,
    unfinished: u64,
    bytes: u64,
    elapsed_s: f64,
    rate_per_s: f64,
    latency_ms: Option<Latency>,
    time_wait: TimeWait<'a>,
    notes: &'a [String],
}

#[derive(Serialize)]
struct Latency {
    mean: f64,
    p50: f64,
    p90: f64,
    p99: f64,
    p999: f64,
    max: f64,
}

#[derive(Serialize)]
struct TimeWait<'a> {
    server: Option<u64>,
    client: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_unknown: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_unknown: Option<&'a str>,
    server_ignores_resets: Option<bool>,
    series: Vec<Point>,
}

#[derive(Serialize)]
struct Point {
    at_s: f64,
    server: Option<u64>,
    client: Option<u64>,
}

impl From<&Sample> for Point {
    fn from(sample: &Sample) -> Self {
        Self { at_s: seconds(sample.at), server: sample.server, client: sample.client }
    }
}

fn why(held: &Held) -> Option<&str> {
    match held {
        Held::Known(_) => None,
        Held::Unknown(why) => Some(why),
    }
}

/// To the microsecond, which is what the histogram keeps.
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
        assert_eq!(document["failures"], json!({ "short-body": 2 }));
        let left = ["missed", "not_closed", "unfinished"].map(|key| document[key].as_u64());
        assert_eq!(left, [Some(3), Some(2), Some(1)]);
        assert_eq!(document["latency_ms"]["p999"], 6.0);
        assert_eq!(document["rate_per_s"], 599.0);
    }
}
