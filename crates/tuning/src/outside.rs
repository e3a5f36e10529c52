//! The send buffer of another program's connection, from what the kernel shows of it over time (`TCP_INFO`).
//!
//! [`Eatbt`] knows losses and round trips and no link rates: without loss, a modem and a fast line both demand
//! the peer's whole window. Seen from outside, a slow client shows all the same: its link's queue lengthens the
//! round trip, or its receive window is closed most of the time. Then what it took in the interval is its rate,
//! and rate times the least round trip is what its buffer has to hold, as for a document from a slow server
//! (section 3.1, policy B). This is our addition to the paper.

use core::{num::NonZeroU32, time::Duration};

use ackwise_tcp::{ByteCount, Nanos};

use crate::{
    demand::{Demand, DemandReason},
    eatbt::{Eatbt, Sender},
    loss::{LossEstimate, Sent},
    pftk::Throughput,
    ratio::Gain,
};

/// What the kernel shows of a connection at one time. Counters count from its beginning.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shown {
    /// Bytes that the client has acknowledged.
    pub acknowledged: u64,
    /// Segments with data that were sent, retransmissions included.
    pub segments: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Time with data to send.
    pub busy: Duration,
    /// The part of it in which the client's window was closed.
    pub window_closed: Duration,
    /// The part of it in which only a full send buffer kept it from sending.
    pub buffer_full: Duration,
    /// Bytes in the send buffer.
    pub queued: ByteCount,
    /// The smoothed round trip.
    pub round_trip: Nanos,
    /// The least round trip.
    pub least_round_trip: Nanos,
    /// The retransmission timeout.
    pub timeout: Nanos,
    /// Bytes of data in a full segment.
    pub mss: NonZeroU32,
    /// The client's window.
    pub peer_window: ByteCount,
}

/// One connection, from one look to the next.
#[derive(Clone, Copy, Debug)]
pub struct SeenSender {
    last: Shown,
    loss: LossEstimate,
    /// The largest window that the client had.
    peer_window: ByteCount,
    /// Bytes per second that a slow client takes; `None` if nothing shows that it is slow.
    taken: Option<f64>,
    is_short: bool,
    is_sending: bool,
}

impl SeenSender {
    /// A connection that is seen for the first time.
    #[must_use]
    pub fn new(shown: Shown) -> Self {
        let mut loss = LossEstimate::new(Gain::EIGHTH);
        loss.observe(Sent { segments: shown.segments, lost: shown.retransmitted });
        let is_sending = shown.queued.0 > 0;
        let peer_window = shown.peer_window;
        Self { last: shown, loss, peer_window, taken: None, is_short: false, is_sending }
    }

    /// Takes what is shown an interval later.
    pub fn observe(&mut self, shown: Shown) {
        let before = core::mem::replace(&mut self.last, shown);
        self.peer_window = self.peer_window.max(shown.peer_window);
        let segments = shown.segments.saturating_sub(before.segments);
        let lost = shown.retransmitted.saturating_sub(before.retransmitted);
        self.loss.observe(Sent { segments, lost });
        self.is_sending = segments > 0 || shown.queued.0 > 0;
        let busy = shown.busy.saturating_sub(before.busy);
        let full = shown.buffer_full.saturating_sub(before.buffer_full);
        self.is_short = full * SHORT_PART > busy && !full.is_zero();
        if busy < SHORTEST_BUSY {
            return;
        }
        let closed = shown.window_closed.saturating_sub(before.window_closed);
        #[expect(clippy::cast_precision_loss, reason = "a rate needs no 53 bits")]
        let acknowledged = shown.acknowledged.saturating_sub(before.acknowledged) as f64;
        let rate = acknowledged / busy.as_secs_f64();
        let is_slow = shown.has_queue_on_its_way() || closed * 2 > busy;
        self.taken = match self.taken {
            _ if is_slow => Some(rate),
            // The buffer that it got leaves no queue. It counts as slow until it takes more.
            Some(taken) if rate < taken * FASTER => Some(taken),
            _ => None,
        };
    }

    /// Whether it has sent in the last interval, or has something to send.
    #[must_use]
    pub const fn is_sending(&self) -> bool {
        self.is_sending
    }

    /// The send buffer that it can use, in bytes of data.
    #[must_use]
    pub fn demand(&self, rule: &Eatbt) -> Demand {
        let sender = self.sender();
        let estimated = rule.demand(&sender);
        if let Some(taken) = self.taken {
            let segments = taken / f64::from(sender.mss.get());
            let window = Throughput::segments_per_second(segments * HEADROOM)
                .map_or(0.0, |rate| rate.window(sender.round_trip));
            let slow = sender.demand_for(window, DemandReason::SlowClient { window });
            return if slow.bytes < estimated.bytes { slow } else { estimated };
        }
        // What is in the buffer of a client that is not slow is on its way, whatever the model says.
        let used = self.last.queued;
        let kept = match self.is_short {
            true => sender.demand(ByteCount(2 * used.0), DemandReason::Full { assigned: used }),
            false => Demand { bytes: used, reason: DemandReason::WellUsed { peak: used } },
        };
        if kept.bytes > estimated.bytes { kept } else { estimated }
    }

    /// The round trip is the least one: a queue that the buffer itself fills is no distance.
    fn sender(&self) -> Sender {
        let Shown { least_round_trip, round_trip, timeout, mss, .. } = self.last;
        let waiting = round_trip.get().saturating_sub(least_round_trip.get());
        Sender {
            loss: self.loss.loss(),
            round_trip: least_round_trip,
            timeout: Nanos::new(timeout.get().saturating_sub(waiting).max(least_round_trip.get())),
            mss,
            peer_window: self.peer_window,
            segments_per_ack: DELAYED_ACKS,
        }
    }
}

impl Shown {
    /// Whether packets wait on the way: the round trip has grown by half, and by more than scheduling does.
    fn has_queue_on_its_way(&self) -> bool {
        let (now, least) = (self.round_trip.get(), self.least_round_trip.get());
        let waiting = now.saturating_sub(least);
        waiting > least / 2 && waiting > SCHEDULING.get()
    }
}

/// RFC 9293, section 3.8.6.3: an ACK "for at least every second full-sized segment".
const DELAYED_ACKS: core::num::NonZeroU8 = core::num::NonZeroU8::new(2).expect("not 0");
/// A buffer of twice what a slow client takes in a round trip lets a link that has become faster show it (our
/// choice).
const HEADROOM: f64 = 2.0;
/// A client is no longer slow when it takes this many times what it took (our choice).
const FASTER: f64 = 1.25;
/// A buffer is too small if it was full for more than one part in this many of the time (our choice).
const SHORT_PART: u32 = 10;
/// Intervals with less time with data to send show no rate (our choice: some round trips).
const SHORTEST_BUSY: Duration = Duration::from_millis(200);
/// Our choice: a loaded host delays its own packets by some milliseconds.
const SCHEDULING: Nanos = Nanos::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Eatbt = Eatbt::OKAMOTO_2001;

    fn shown(seconds: u64, rate: u64, round_trip: u64, least: u64) -> Shown {
        Shown {
            acknowledged: rate * seconds,
            segments: rate * seconds / 1_000,
            retransmitted: 0,
            busy: Duration::from_secs(seconds),
            window_closed: Duration::ZERO,
            buffer_full: Duration::ZERO,
            queued: ByteCount(30_000),
            round_trip: Nanos::from_millis(round_trip),
            least_round_trip: Nanos::from_millis(least),
            timeout: Nanos::from_millis(round_trip + 200),
            mss: NonZeroU32::new(1_000).unwrap(),
            peer_window: ByteCount(3_000_000),
        }
    }

    fn after(shown: &[Shown]) -> SeenSender {
        let mut seen = SeenSender::new(shown[0]);
        shown[1..].iter().for_each(|it| seen.observe(*it));
        seen
    }

    #[test]
    fn a_queue_on_the_way_shows_a_slow_link() {
        // 125 kB/s for 40 ms are 5 segments, and as much again.
        let slow = after(&[shown(2, 125_000, 300, 40), shown(4, 125_000, 300, 40)]);
        let Demand { bytes, reason } = slow.demand(&RULE);
        assert_eq!(bytes, ByteCount(10_000));
        assert!(
            matches!(reason, DemandReason::SlowClient { window } if (window - 10.0).abs() < 1e-9)
        );
        // Its queue is gone with the smaller buffer, and it stays slow until it takes more.
        let mut same = slow;
        same.observe(shown(6, 125_000, 45, 40));
        assert_eq!(same.demand(&RULE).bytes, ByteCount(10_000));
        let faster = Shown { acknowledged: 1_000_000, ..shown(6, 125_000, 45, 40) };
        let mut seen = slow;
        seen.observe(faster);
        assert!(seen.demand(&RULE).bytes > ByteCount(16_000));
    }

    #[test]
    fn a_window_that_is_closed_shows_a_slow_reader() {
        let closed = |seconds| Shown {
            window_closed: Duration::from_millis(900 * seconds),
            ..shown(seconds, 20_000, 40, 40)
        };
        let slow = after(&[closed(2), closed(4)]).demand(&RULE);
        assert_eq!(slow.bytes, ByteCount(2_000), "two segments at least");
        assert!(matches!(slow.reason, DemandReason::SlowClient { .. }), "{slow:?}");
    }

    #[test]
    fn losses_and_distance_decide_for_others() {
        let lossy =
            |seconds| Shown { retransmitted: 50 * seconds, ..shown(seconds, 500_000, 100, 100) };
        let demand = after(&[lossy(2), lossy(4)]).demand(&RULE);
        assert_eq!(demand.reason, DemandReason::WellUsed { peak: ByteCount(30_000) });
        let rare = |seconds| Shown { retransmitted: 1, ..shown(seconds, 500_000, 100, 100) };
        let shown_rare: std::vec::Vec<_> = (1..20).map(|it| rare(2 * it)).collect();
        let demand = after(&shown_rare).demand(&RULE);
        assert!(matches!(demand.reason, DemandReason::Estimated { .. }), "{demand:?}");
        assert!(demand.bytes > ByteCount(60_000), "{demand:?}");
        // A full buffer grows, whatever the losses are.
        let full =
            |seconds| Shown { buffer_full: Duration::from_millis(200 * seconds), ..lossy(seconds) };
        let demand = after(&[full(2), full(4)]).demand(&RULE);
        let assigned = ByteCount(30_000);
        let reason = DemandReason::Full { assigned };
        assert_eq!(demand, Demand { bytes: ByteCount(60_000), reason });
        // A round trip that scheduling lengthens is no queue.
        let near = |seconds| Shown {
            round_trip: Nanos::from_micros(900),
            least_round_trip: Nanos::from_micros(50),
            ..shown(seconds, 500_000, 1, 1)
        };
        assert_eq!(after(&[near(2), near(4)]).demand(&RULE).bytes, ByteCount(30_000));
    }

    #[test]
    fn a_connection_sends_if_something_went_out_or_waits() {
        let idle = Shown { queued: ByteCount(0), ..shown(4, 500_000, 100, 100) };
        assert!(!SeenSender::new(idle).is_sending());
        let mut seen = SeenSender::new(shown(4, 500_000, 100, 100));
        assert!(seen.is_sending());
        seen.observe(idle);
        assert!(!seen.is_sending());
        seen.observe(Shown { segments: idle.segments + 1, ..idle });
        assert!(seen.is_sending());
        // The kernel's counters have 32 bits and start again.
        seen.observe(Shown { segments: 0, retransmitted: 0, acknowledged: 0, ..idle });
    }
}
