//! The comparison as JSON. The keys are documented in `docs/load.md`.

use std::collections::BTreeMap;

use ackwise_text::format::{self, Format};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Comparison, Measure, text::summary};

/// Formats the comparison as one JSON object: a [`ComparisonDocument`].
#[must_use]
pub fn comparison_json(comparison: &Comparison) -> String {
    let server = |index: usize| {
        let (requests, failed) = comparison.requests(index);
        let median = |measure| Some((name(measure), round(comparison.median(measure, index)?)));
        let medians = Measure::ALL.into_iter().filter_map(median).collect();
        Server { target: &comparison.targets[index], requests, failed, medians }
    };
    let ratio = |measure| {
        let ratio = comparison.ratio(measure)?;
        let [lower, median, upper] = [ratio.lower, ratio.median, ratio.upper].map(round);
        Some((name(measure), Ratio { lower, median, upper, confidence: round(ratio.confidence) }))
    };
    format::to_json(&ComparisonDocument {
        ackwise: env!("CARGO_PKG_VERSION"),
        summary: summary(comparison),
        a: server(0),
        b: server(1),
        rounds: comparison.rounds.len(),
        ratios: Measure::ALL.into_iter().filter_map(ratio).collect(),
        interrupted: comparison.interrupted,
    })
}

/// What `ackwise load --against --json` prints.
#[derive(Debug, JsonSchema, Serialize)]
pub struct ComparisonDocument<'a> {
    /// The version of the program.
    ackwise: &'static str,
    /// The summary, as in the text report.
    summary: String,
    /// The first server.
    a: Server<'a>,
    /// The one given with `--against`.
    b: Server<'a>,
    /// Runs of each server.
    rounds: usize,
    /// B's values divided by A's, by measure.
    ratios: BTreeMap<&'static str, Ratio>,
    /// Whether it was interrupted; unfinished rounds are left out.
    interrupted: bool,
}

impl format::Document for ComparisonDocument<'_> {
    const FORMAT: Format = Format::first("ackwise-load-against");
    const ABOUT: &'static str =
        "What `ackwise load --against URL --json` prints: two servers side by side.";
}

/// One of the servers.
#[derive(Debug, JsonSchema, Serialize)]
struct Server<'a> {
    /// The URL, as given.
    target: &'a str,
    /// Requests made.
    requests: u64,
    /// Those that failed.
    failed: u64,
    /// Medians over the rounds: latencies in milliseconds, and responses per second.
    medians: BTreeMap<&'static str, f64>,
}

/// The median of the rounds' ratios, and the interval of the sign test.
#[derive(Debug, JsonSchema, Serialize)]
struct Ratio {
    lower: f64,
    median: f64,
    upper: f64,
    /// Probability that such an interval contains the true median.
    confidence: f64,
}

const fn name(measure: Measure) -> &'static str {
    match measure {
        Measure::Mean => "mean_ms",
        Measure::P50 => "p50_ms",
        Measure::P90 => "p90_ms",
        Measure::P99 => "p99_ms",
        Measure::Rate => "rate_per_s",
    }
}

fn round(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}
