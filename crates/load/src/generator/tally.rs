//! Results: counts by reason, and latencies from the intended start.
//!
//! Measuring from the actual start omits the requests that should have been sent while the
//! generator waited, which are the slowest. Here a request's time starts when it was due.

use std::{collections::BTreeMap, time::Duration};

use ackwise_net::ConnectionError;
use hdrhistogram::Histogram;

use super::{Failure, Fault};

/// Results so far.
#[derive(Clone, Debug)]
pub struct Tally {
    latencies: Histogram<u64>,
    answered: u64,
    /// Complete responses by status, and since when requests have failed without one.
    statuses: BTreeMap<u16, u64>,
    failures: BTreeMap<Fault, Failed>,
    repeated: u64,
    in_vain: u64,
    last_response: Duration,
    warm_up: WarmUp,
    connections: u64,
    bytes: u64,
    unclean: u64,
    cut_short: u64,
    forestalled: u64,
    unfinished: u64,
    dismissed: u64,
    latest_start: Duration,
    own_lateness: Duration,
}

/// Requests that were due during the warm-up, which count nowhere else.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct WarmUp {
    /// All of them.
    pub requests: u64,
    /// Those that failed.
    pub failed: u64,
}

/// Failures that are alike.
#[derive(Clone, Copy, Debug)]
struct Failed {
    count: u64,
    first: Failure,
}

/// Latencies of the requests that were answered, or timed out.
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
            answered: 0,
            statuses: BTreeMap::new(),
            failures: BTreeMap::new(),
            repeated: 0,
            in_vain: 0,
            last_response: Duration::ZERO,
            warm_up: WarmUp::default(),
            connections: 0,
            bytes: 0,
            unclean: 0,
            cut_short: 0,
            forestalled: 0,
            unfinished: 0,
            dismissed: 0,
            latest_start: Duration::ZERO,
            own_lateness: Duration::ZERO,
        }
    }

    /// When the last complete response arrived, and how many requests have failed since.
    pub(super) const fn silence(&self) -> (Duration, u64) {
        (self.last_response, self.in_vain)
    }

    /// Whether any response arrived, including error responses and those of the warm-up.
    pub(super) fn has_response(&self) -> bool {
        self.last_response > Duration::ZERO
    }

    /// Number of complete responses with a status below 400 and the expected content.
    #[must_use]
    pub const fn answered(&self) -> u64 {
        self.answered
    }

    /// Number of complete responses by status.
    #[must_use]
    pub const fn statuses(&self) -> &BTreeMap<u16, u64> {
        &self.statuses
    }

    /// Requests of the warm-up.
    #[must_use]
    pub const fn warm_up(&self) -> WarmUp {
        self.warm_up
    }

    /// Number of requests: answered, failed, and those that crossed a close and were not repeated.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.answered + self.failed() + self.crossed_closes() - self.repeated
    }

    /// Number of failed requests, without those that crossed a close.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.count(|fault| !fault.is_crossed_close())
    }

    /// Number of requests that crossed the server's close of a connection that had been in use.
    #[must_use]
    pub fn crossed_closes(&self) -> u64 {
        self.count(Fault::is_crossed_close)
    }

    /// Number of requests that crossed a close and were sent again.
    #[must_use]
    pub const fn repeated(&self) -> u64 {
        self.repeated
    }

    fn count(&self, which: fn(&Fault) -> bool) -> u64 {
        self.failures().filter(|(fault, ..)| which(fault)).map(|(_, count, _)| count).sum()
    }

    /// What failed and why, with the number of requests and the first failure. It includes crossed closes.
    pub fn failures(&self) -> impl Iterator<Item = (Fault, u64, Failure)> {
        self.failures.iter().map(|(fault, failed)| (*fault, failed.count, failed.first))
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

    /// Kept connections that the client closed because no request was left for them.
    #[must_use]
    pub const fn dismissed(&self) -> u64 {
        self.dismissed
    }

    /// Maximum delay of a start. In an open loop: no slot was free, or the generator was busy.
    #[must_use]
    pub const fn latest_start(&self) -> Duration {
        self.latest_start
    }

    /// Maximum delay of a start although a slot was free: the generator was busy.
    #[must_use]
    pub const fn own_lateness(&self) -> Duration {
        self.own_lateness
    }

    /// Latencies of the requests that were answered, and of those that timed out, in microseconds.
    #[must_use]
    pub const fn latencies(&self) -> &Histogram<u64> {
        &self.latencies
    }

    /// Latencies of the requests that were answered, and of those that timed out, to three digits.
    /// `None` without any.
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

    pub(super) fn count_connection(&mut self) {
        self.connections += 1;
    }

    /// A start at `now` that was due, and for which a slot was free, at the given times.
    pub(super) fn count_start(&mut self, now: Duration, due: Duration, free_since: Duration) {
        self.latest_start = self.latest_start.max(now.saturating_sub(due));
        let possible = due.max(free_since);
        self.own_lateness = self.own_lateness.max(now.saturating_sub(possible));
    }

    /// A complete response that arrived at `now`.
    pub(super) fn count_response(&mut self, now: Duration, status: u16) {
        self.note_response(now);
        *self.statuses.entry(status).or_default() += 1;
    }

    /// A response as expected.
    pub(super) fn count_answer(&mut self, latency: Duration) {
        self.answered += 1;
        self.record(latency);
    }

    /// A request that failed `after` this time. If it timed out, it would have taken at least as long.
    pub(super) fn count_failure(&mut self, failure: Failure, fault: Fault, after: Duration) {
        if let Failure::TimedOut | Failure::Connection(ConnectionError::TimedOut) = failure {
            self.record(after);
        }
        self.in_vain += u64::from(!failure.is_response());
        let failed = self.failures.entry(fault);
        failed.or_insert(Failed { count: 0, first: failure }).count += 1;
    }

    pub(super) fn count_repeat(&mut self) {
        self.repeated += 1;
    }

    /// A request of the warm-up, with the time of its response.
    pub(super) fn count_warm_up(&mut self, response: Option<Duration>, failure: Option<&Failure>) {
        self.warm_up.requests += 1;
        self.warm_up.failed += u64::from(failure.is_some());
        match response {
            Some(now) => self.note_response(now),
            None => self.in_vain += 1,
        }
    }

    fn note_response(&mut self, now: Duration) {
        self.in_vain = 0;
        // Never zero: it says whether there was any.
        self.last_response = now.max(Duration::from_nanos(1));
    }

    fn record(&mut self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.latencies.saturating_record(micros);
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

    pub(super) fn count_dismissed(&mut self) {
        self.dismissed += 1;
    }
}

/// Maximum of the histogram: an hour, in microseconds (our choice). Larger values are clipped.
const LONGEST: u64 = 3_600_000_000;
/// Significant digits of the histogram, which bounds it to a few hundred kilobytes (our choice).
const DIGITS: u8 = 3;
