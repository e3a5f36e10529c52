//! Counts and lateness.

use std::{
    fmt,
    time::{Duration, Instant},
};

use ackwise_link::Counters;
use hdrhistogram::Histogram;

use super::{Disturbance, PacketRecord, Scheduling};

/// Report of an emulated link over its lifetime.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// From client to server.
    pub to_server: DirectionReport,
    /// From server to client.
    pub to_client: DirectionReport,
    /// Lateness of the packets of both directions.
    pub lateness: Lateness,
    /// Scheduling of the thread that delivered them.
    pub scheduling: Scheduling,
    /// The longest time for which a processor of this machine did not run its watch thread.
    pub longest_pause: Duration,
    /// When processors paused for longer than [`Disturbance::PAUSE`]: from, until.
    pub pauses: Vec<[Instant; 2]>,
    /// Lifetime of the link.
    pub ran: Duration,
    /// Each packet, those of the client first, in order; empty if no log was asked for.
    pub packets: Vec<PacketRecord>,
}

impl Report {
    /// Why a measurement over this link may be unreliable; empty if there are no known reasons.
    #[must_use]
    pub fn disturbances(&self) -> Vec<Disturbance> {
        let Self { to_server, to_client, lateness: Lateness { p99, .. }, .. } = self;
        let packets = to_server.dropped_by_accident() + to_client.dropped_by_accident();
        let dropped = (packets > 0).then_some(Disturbance::DroppedByAccident { packets });
        let late = (*p99 > Disturbance::LATE)
            .then(|| Disturbance::Late { p99: *p99, scheduling: self.scheduling.clone() });
        let paused = Disturbance::of_pause(self.longest_pause);
        dropped.into_iter().chain(late).chain(paused).collect()
    }
}

/// One direction of a link. Counts are in packets unless stated.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct DirectionReport {
    /// The model's counts, with drops by reason.
    pub link: Counters,
    /// Packets passed to the kernel, duplicates included.
    pub delivered: u64,
    /// Bytes of these packets, IP headers included.
    pub bytes_delivered: u64,
    /// Packets still in flight when the link ended.
    pub in_flight: u64,
    /// Dropped at [`Emulator::MAX_BYTES_IN_FLIGHT`](super::Emulator::MAX_BYTES_IN_FLIGHT), before
    /// the model.
    pub dropped_memory_full: u64,
    /// Dropped by the kernel before they were read, because the device's queue was full.
    pub unread: u64,
    /// Arrived, but not accepted by the kernel: no memory, or the device was down.
    pub refused: u64,
    /// Dropped as not IPv4: the kernel's own IPv6 neighbour and multicast messages.
    pub not_ipv4: u64,
}

impl DirectionReport {
    /// Packets dropped for any reason, by the model or not.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.link.dropped() + self.dropped_by_accident()
    }

    /// Packets dropped but not by the model. A measurement with such drops is unreliable.
    #[must_use]
    pub const fn dropped_by_accident(&self) -> u64 {
        self.dropped_memory_full + self.unread + self.refused
    }
}

/// Delay between a packet's due time and its delivery to the kernel. Excludes the time between the
/// kernel's send and the read from the device, for which there is no timestamp.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Lateness {
    /// Number of packets measured: all that arrived.
    pub packets: u64,
    /// The median.
    pub median: Duration,
    /// The 94th percentile.
    pub p94: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The maximum.
    pub max: Duration,
}

/// Collects lateness in bounded memory, with 1 % precision, up to a minute.
pub(super) struct LatenessRecord {
    nanos: Histogram<u64>,
}

impl LatenessRecord {
    pub(super) fn new() -> Self {
        let nanos = Histogram::new_with_max(LATENESS_LIMIT_NANOS, 2);
        Self { nanos: nanos.expect("2 digits up to a minute are within its limits") }
    }

    pub(super) fn record(&mut self, lateness: Duration) {
        self.nanos.saturating_record(u64::try_from(lateness.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(super) fn summary(&self) -> Lateness {
        let quantile = |q| Duration::from_nanos(self.nanos.value_at_quantile(q));
        Lateness {
            packets: self.nanos.len(),
            median: quantile(0.5),
            p94: quantile(0.94),
            p99: quantile(0.99),
            max: Duration::from_nanos(self.nanos.max()),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "client to server: {}", self.to_server)?;
        writeln!(f, "server to client: {}", self.to_client)?;
        let Self { lateness, scheduling, longest_pause, ran, .. } = self;
        write!(
            f,
            "lateness of {lateness}; {scheduling}; {ran:.1?}, longest pause {longest_pause:.1?}"
        )?;
        self.disturbances()
            .iter()
            .try_for_each(|disturbance| write!(f, "\ndoubtful: {disturbance}"))
    }
}

impl fmt::Display for DirectionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} packets ({} bytes) delivered", self.delivered, self.bytes_delivered)?;
        let (link, also) = (self.link, |count, what| (count > 0).then_some((count, what)));
        let others = [
            also(link.dropped_loss, "lost"),
            also(link.dropped_too_large, "larger than the MTU"),
            also(link.dropped_queue_full, "dropped by a full queue"),
            also(link.dropped_red, "dropped early"),
            also(link.dropped_in_flight_full, "dropped because too many were in flight"),
            also(link.duplicated, "duplicated"),
            also(link.reordered, "late on purpose"),
            also(self.in_flight, "still in flight"),
            also(self.dropped_memory_full, "DROPPED BECAUSE MEMORY WAS FULL"),
            also(self.unread, "DROPPED BY THE KERNEL BEFORE THE LINK"),
            also(self.refused, "REFUSED BY THE KERNEL BEHIND THE LINK"),
        ];
        others.into_iter().flatten().try_for_each(|(count, what)| write!(f, ", {count} {what}"))
    }
}

impl fmt::Display for Lateness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packets, median, p94, p99, max } = self;
        write!(
            f,
            "{packets} packets: median {median:.0?}, 94 % {p94:.0?}, 99 % {p99:.0?}, max {max:.1?}"
        )
    }
}

const LATENESS_LIMIT_NANOS: u64 = 60_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accidents_and_lateness_are_doubtful_and_losses_on_purpose_are_not() {
        let mut report = Report {
            to_server: DirectionReport::default(),
            to_client: DirectionReport::default(),
            lateness: Lateness { p99: Disturbance::LATE, ..Lateness::default() },
            scheduling: Scheduling::RoundRobin,
            longest_pause: Disturbance::PAUSE,
            pauses: Vec::new(),
            ran: Duration::ZERO,
            packets: Vec::new(),
        };
        report.to_server.link.dropped_loss = 1;
        assert_eq!(report.disturbances(), []);
        report.to_client.unread = 2;
        report.to_server.refused = 1;
        assert_eq!(report.disturbances(), [Disturbance::DroppedByAccident { packets: 3 }]);
        report.lateness.p99 = Duration::from_micros(1_001);
        assert!(matches!(report.disturbances()[..], [_, Disturbance::Late { .. }]));
        report.longest_pause = Duration::from_micros(5_001);
        assert!(matches!(report.disturbances()[..], [_, _, Disturbance::Paused { .. }]));
        assert!(
            report.to_string().contains("doubtful: the emulator dropped 3 packets"),
            "{report}"
        );
    }
}
