//! Results: counts by reason, and latencies from the intended start.
//!
//! Measuring from the actual start omits the requests that should have been sent while the
//! generator waited, which are the slowest. Here a request's time starts when it was due.

use std::{collections::BTreeMap, time::Duration};

use hdrhistogram::Histogram;

use super::Failure;

/// Results so far.
#[derive(Clone, Debug)]
pub struct Tally {
    latencies: Histogram<u64>,
    failures: BTreeMap<&'static str, Failed>,
    connections: u64,
    bytes: u64,
    unclean: u64,
    cut_short: u64,
    forestalled: u64,
    unfinished: u64,
    latest_start: Duration,
}

/// Failures of one kind.
#[derive(Clone, Copy, Debug)]
struct Failed {
    count: u64,
    first: Failure,
}

/// Latencies of the answered requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantiles {
    /// The mean.
    pub mean: Duration,
    /// The median.
    pub p50: Duration,
    /// The 90th percentile.
    pub p90: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The 99.9th percentile.
    pub p999: Duration,
    /// The maximum.
    pub max: Duration,
}

impl Tally {
    pub(super) fn new() -> Self {
        let latencies = Histogram::new_with_bounds(1, LONGEST, DIGITS);
        Self {
            latencies: latencies.expect("the bounds are the histogram's own"),
            failures: BTreeMap::new(),
            connections: 0,
            bytes: 0,
            unclean: 0,
            cut_short: 0,
            forestalled: 0,
            unfinished: 0,
            latest_start: Duration::ZERO,
        }
    }

    /// Whether any response arrived, including error responses.
    pub(super) fn has_response(&self) -> bool {
        let is_status = |failed: &Failed| matches!(failed.first, Failure::Status(_));
        self.answered() > 0 || self.failures.values().any(is_status)
    }

    /// Number of complete responses with a status below 400.
    #[must_use]
    pub fn answered(&self) -> u64 {
        self.latencies.len()
    }

    /// Number of failed requests.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.values().map(|failed| failed.count).sum()
    }

    /// The reasons by name, with the number of failed requests and the first failure.
    pub fn failures(&self) -> impl Iterator<Item = (&'static str, u64, Failure)> {
        self.failures.iter().map(|(name, failed)| (*name, failed.count, failed.first))
    }

    /// Number of connections started.
    #[must_use]
    pub const fn connections(&self) -> u64 {
        self.connections
    }

    /// Number of bytes read.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Connections that were reset, or not closed in time, after their last response.
    #[must_use]
    pub const fn unclean(&self) -> u64 {
        self.unclean
    }

    /// Connections that the server announced it would close before their last request.
    #[must_use]
    pub const fn cut_short(&self) -> u64 {
        self.cut_short
    }

    /// Connections that the server announced it would close although the client was to close first.
    #[must_use]
    pub const fn forestalled(&self) -> u64 {
        self.forestalled
    }

    /// Connections that were still open when the run was stopped.
    #[must_use]
    pub const fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// Maximum delay of a start. In an open loop: no slot was free, or the generator was busy.
    #[must_use]
    pub const fn latest_start(&self) -> Duration {
        self.latest_start
    }

    /// Latencies of the answered requests, to three digits. `None` without any.
    #[must_use]
    pub fn latency(&self) -> Option<Quantiles> {
        let at = |quantile| Duration::from_micros(self.latencies.value_at_quantile(quantile));
        (!self.latencies.is_empty()).then(|| Quantiles {
            mean: Duration::from_secs_f64(self.latencies.mean() * 1e-6),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: Duration::from_micros(self.latencies.max()),
        })
    }

    pub(super) fn count_connection(&mut self, late: Duration) {
        self.connections += 1;
        self.latest_start = self.latest_start.max(late);
    }

    pub(super) fn count_answer(&mut self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.latencies.saturating_record(micros);
    }

    pub(super) fn count_failure(&mut self, failure: Failure) {
        let failed = self.failures.entry(failure.as_str());
        failed.or_insert(Failed { count: 0, first: failure }).count += 1;
    }

    pub(super) fn count_bytes(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    pub(super) fn count_unclean(&mut self) {
        self.unclean += 1;
    }

    pub(super) fn count_cut_short(&mut self) {
        self.cut_short += 1;
    }

    pub(super) fn count_forestalled(&mut self) {
        self.forestalled += 1;
    }

    pub(super) fn count_unfinished(&mut self) {
        self.unfinished += 1;
    }
}

/// Maximum of the histogram: an hour, in microseconds (our choice). Larger values are clipped.
const LONGEST: u64 = 3_600_000_000;
/// Significant digits of the histogram, which bounds it to a few hundred kilobytes (our choice).
const DIGITS: u8 = 3;
