//! Counts the stalls that tie a transfer to delayed acknowledgements.
//!
//! A stall is seen from outside, without asking either end: the sender has nothing in flight; the
//! receiver acknowledges late, with a segment of its own; and the sender goes on the moment that it
//! arrives. What an application thinks about is none.

use std::{collections::BTreeMap, time::Duration};

use ackwise_sim::{
    Observer,
    observe::{ConnectionId, Side, Sighting},
};
use ackwise_tcp::Instant;

/// Watches the transfers of one side.
#[derive(Clone, Debug)]
pub(crate) struct Stalls {
    sender: Side,
    connections: BTreeMap<ConnectionId, ConnectionAcks>,
    /// How many, on all connections.
    pub(crate) count: u64,
    /// How long they took together, from the last data that arrived to the ACK that left.
    pub(crate) time: Duration,
    /// The longest.
    pub(crate) longest: Duration,
    /// Of each of the first [`MOST_GAPS`](Self::MOST_GAPS): the time between the segments with data
    /// before and after it, as they left.
    pub(crate) gaps: Vec<Duration>,
    /// Segments with data that the sender sent.
    pub(crate) data_segments: u64,
    /// Segments without data that the receiver sent, SYN, FIN and RST left out.
    pub(crate) bare_acks: u64,
    /// The most segments with data that the sender sent at one instant.
    pub(crate) longest_burst: u64,
    burst: (Instant, u64),
    /// Segments that links dropped.
    pub(crate) drops: u64,
}

/// What is known of one connection.
#[derive(Clone, Copy, Debug, Default)]
struct ConnectionAcks {
    sent: u64,
    received: u64,
    last_sent: Option<Instant>,
    last_data: Option<Instant>,
    late: Option<LateAck>,
}

/// An ACK that may end a stall.
#[derive(Clone, Copy, Debug)]
struct LateAck {
    delay: Duration,
    arrived: Option<Instant>,
}

impl Stalls {
    /// An ACK that is delayed by less is not late: hosts think that long.
    pub(crate) const LATE: Duration = Duration::from_millis(10);

    /// How many gaps are kept (our choice: a page's stalls, a thousand times).
    pub(crate) const MOST_GAPS: usize = 3_000;

    /// Watches what `sender` sends.
    #[must_use]
    pub(crate) const fn of(sender: Side) -> Self {
        Self {
            sender,
            connections: BTreeMap::new(),
            count: 0,
            time: Duration::ZERO,
            longest: Duration::ZERO,
            gaps: Vec::new(),
            data_segments: 0,
            bare_acks: 0,
            longest_burst: 0,
            burst: (Instant::EPOCH, 0),
            drops: 0,
        }
    }

    fn sender_sends(&mut self, sighting: &Sighting<'_>, now: Instant) {
        let connection = self.connections.entry(sighting.connection).or_default();
        let end = sighting.transmit.offset + u64::from(sighting.transmit.segment.len);
        connection.sent = connection.sent.max(end);
        self.data_segments += 1;
        self.burst = if self.burst.0 == now { (now, self.burst.1 + 1) } else { (now, 1) };
        self.longest_burst = self.longest_burst.max(self.burst.1);
        let gap = connection.last_sent.replace(now).map(|since| now.since(since));
        let late = connection.late.take();
        if let Some(LateAck { delay, .. }) = late.filter(|late| late.arrived == Some(now)) {
            self.count += 1;
            self.time += delay;
            self.longest = self.longest.max(delay);
            if self.gaps.len() < Self::MOST_GAPS {
                self.gaps.extend(gap);
            }
        }
    }

    fn receiver_sends(&mut self, sighting: &Sighting<'_>, now: Instant) {
        let connection = self.connections.entry(sighting.connection).or_default();
        let segment = &sighting.transmit.segment;
        let flags = segment.flags;
        connection.late = None;
        if segment.len > 0 || flags.syn || flags.fin || flags.rst {
            return;
        }
        self.bare_acks += 1;
        let delay = connection.last_data.map_or(Duration::ZERO, |since| now.since(since));
        let nothing_in_flight = connection.received >= connection.sent;
        if delay >= Self::LATE && nothing_in_flight {
            connection.late = Some(LateAck { delay, arrived: None });
        }
    }
}

impl Observer for Stalls {
    fn on_sent(&mut self, sighting: &Sighting<'_>, now: Instant) {
        if sighting.from != self.sender {
            self.receiver_sends(sighting, now);
        } else if sighting.transmit.segment.len > 0 {
            self.sender_sends(sighting, now);
        }
    }

    fn on_received(&mut self, sighting: &Sighting<'_>, now: Instant) {
        let connection = self.connections.entry(sighting.connection).or_default();
        let segment = &sighting.transmit.segment;
        if sighting.from == self.sender && segment.len > 0 {
            let end = sighting.transmit.offset + u64::from(segment.len);
            connection.received = connection.received.max(end);
            connection.last_data = Some(now);
        } else if sighting.from != self.sender
            && let Some(late) = &mut connection.late
        {
            late.arrived = Some(now);
        }
    }

    fn on_dropped(&mut self, _sighting: &Sighting<'_>, _now: Instant) {
        self.drops += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::experiment_file;
    use crate::runner;

    /// The stalls of each case, and pages.
    fn stalls(file: crate::file::File) -> Vec<(u64, u64)> {
        let outcomes = runner::run(file, |_| Stalls::of(Side::Server)).unwrap();
        let pages = |measures: &ackwise_sim::Measures| measures.applications["web"].documents;
        outcomes.iter().map(|outcome| (outcome.seen.count, pages(&outcome.measures))).collect()
    }

    #[test]
    fn a_stall_is_found_where_a_figure_shows_one() {
        // Figure 2's first reply has both problems, Figure 4's second reply the second.
        assert_eq!(stalls(experiment_file!("heidemann_figure_2.toml")), [(2, 1)]);
        assert_eq!(stalls(experiment_file!("heidemann_figure_4.toml")), [(1, 1)]);
    }

    #[test]
    fn thinking_is_no_stall() {
        // Both fixes: clients and servers think, and the client's clock ticks.
        let counts = stalls(experiment_file!("heidemann_readings.toml"));
        assert_eq!([counts[2], counts[6]], [(0, 100), (0, 100)]);
    }
}
