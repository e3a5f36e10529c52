//! TIME-WAIT counts of both ends.

use std::time::Duration;

use ackwise_tcp::TimeWaitReason;

/// Connections at one end.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Held {
    pub(super) time_wait: u64,
    /// Between the first FIN and the last ACK.
    pub(super) closing: u64,
}

/// Number of this run's connections in TIME-WAIT at one end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum HeldCount {
    /// The number of connections.
    Known(u64),
    /// It cannot be determined, with the reason.
    Unknown(String),
}

impl HeldCount {
    /// The number, if known.
    #[must_use]
    pub const fn known(&self) -> Option<u64> {
        match self {
            Self::Known(held) => Some(*held),
            Self::Unknown(_) => None,
        }
    }
}

/// The counts at both ends at one moment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sample {
    /// Time since the beginning of the run.
    pub at: Duration,
    /// At the server.
    pub server: Option<u64>,
    /// At the clients.
    pub client: Option<u64>,
}

/// The counts at both ends during the run and at its end.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeWait {
    /// At the server, at the end.
    pub server: HeldCount,
    /// At the clients, at the end.
    pub client: HeldCount,
    /// The samples, oldest first.
    pub series: Vec<Sample>,
    /// Whether the server ignores an RST in TIME-WAIT (`net.ipv4.tcp_rfc1337`).
    pub server_ignores_resets: Option<bool>,
    /// Reasons for TIME-WAIT in Ackwise's TCP, with counts; empty for the kernel's.
    pub reasons: Vec<(TimeWaitReason, u64)>,
}

/// Evenly spaced samples in bounded memory: when it is full, every second sample is removed and the
/// interval doubles.
#[derive(Clone, Debug)]
pub(super) struct Series {
    samples: Vec<Sample>,
    interval: Duration,
    due: Duration,
}

impl Series {
    /// The first samples are close together, so that a short run has a history. A first look
    /// at both ends has taken `cost` already.
    pub(super) fn new(cost: Duration) -> Self {
        let due = (cost * COST_SHARE).max(FIRST_INTERVAL);
        Self { samples: Vec::new(), interval: FIRST_INTERVAL, due }
    }

    pub(super) fn is_due(&self, now: Duration) -> bool {
        now >= self.due
    }

    /// Adds a sample that took `cost`, which limits the share of time spent sampling.
    pub(super) fn push(&mut self, sample: Sample, cost: Duration) {
        if self.samples.len() >= SAMPLES_LIMIT {
            let mut odd = false;
            self.samples.retain(|_| {
                odd = !odd;
                odd
            });
            self.interval *= 2;
        } else if self.interval < INTERVAL {
            self.interval = (self.interval * 2).min(INTERVAL);
        }
        self.samples.push(sample);
        self.due = sample.at + self.interval.max(cost * COST_SHARE);
    }

    pub(super) fn last(&self) -> Option<&Sample> {
        self.samples.last()
    }

    pub(super) fn into_samples(self) -> Vec<Sample> {
        self.samples
    }
}

const FIRST_INTERVAL: Duration = Duration::from_millis(2);
const INTERVAL: Duration = Duration::from_millis(250);
/// Maximum share of time spent sampling, as a divisor (our choice).
const COST_SHARE: u32 = 100;
/// Maximum number of samples (our choice): four minutes at four per second.
const SAMPLES_LIMIT: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_as_many_samples_as_a_short_one() {
        let mut series = Series::new(Duration::ZERO);
        let (mut now, end) = (Duration::ZERO, Duration::from_secs(3600));
        while now < end {
            if series.is_due(now) {
                series.push(Sample { at: now, server: None, client: None }, Duration::ZERO);
            }
            now += Duration::from_millis(20);
        }
        let samples = series.into_samples();
        assert!((SAMPLES_LIMIT / 2..=SAMPLES_LIMIT).contains(&samples.len()), "{}", samples.len());
        assert!(samples[0].at < Duration::from_millis(40), "{:?}", samples[0]);
        assert!(samples.is_sorted_by_key(|sample| sample.at));
    }
}
