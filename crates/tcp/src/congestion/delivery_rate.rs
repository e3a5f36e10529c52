//! Samples of the rate at which the network delivers (draft-cheng-iccrg-delivery-rate-estimation-02;
//! Linux `net/ipv4/tcp_rate.c`).
//!
//! From when a segment leaves to when it is acknowledged, what else is delivered tells the rate. It is the
//! lower one of the rate of sending and the rate of acknowledging, because ACKs may come in bursts.

use crate::units::{Instant, Nanos};

/// What a connection counts for samples of its delivery rate, in segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeliveryRate {
    /// C.delivered; wraps around, as `tp->delivered` does.
    pub(super) delivered: u32,
    /// C.delivered_time.
    pub(super) delivered_at: Instant,
    /// C.first_sent_time: when the segment was sent that was last sampled.
    first_sent: Instant,
    /// C.app_limited: until so many are delivered, samples tell of the application's rate; 0: they do not.
    app_limited: u32,
}

/// What had been delivered when a segment left.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Snapshot {
    delivered: u32,
    app_limited: bool,
    delivered_at: Instant,
    first_sent: Instant,
}

/// A sample of the rate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Sample {
    /// What had been delivered when its segment left.
    pub(super) prior_delivered: u32,
    /// Segments delivered in the interval.
    pub(super) delivered: u32,
    /// The interval, if it is one that can be believed.
    pub(super) interval: Option<Nanos>,
    /// There was less to send than could have been.
    pub(super) app_limited: bool,
}

impl Snapshot {
    /// Whether less had been delivered than at `other`.
    pub(crate) const fn is_before(self, other: Self) -> bool {
        precedes(self.delivered, other.delivered)
    }
}

impl DeliveryRate {
    pub(super) const NONE: Self = Self {
        // Linux `tcp_rcv_state_process`: the SYN or SYN-ACK.
        delivered: 1,
        delivered_at: Instant::EPOCH,
        first_sent: Instant::EPOCH,
        app_limited: 0,
    };

    /// A segment is about to leave, and nothing is outstanding.
    pub(super) const fn on_first_sent(&mut self, now: Instant) {
        (self.first_sent, self.delivered_at) = (now, now);
    }

    /// What a segment that leaves carries with it.
    pub(super) const fn snapshot(&self) -> Snapshot {
        Snapshot {
            delivered: self.delivered,
            app_limited: self.app_limited != 0,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
        }
    }

    /// An ACK has delivered `segments`; `latest` is of the one among them that was sent when most had been
    /// delivered, and when that was. A shorter interval than the shortest round trip is not believed.
    pub(super) fn on_ack(
        &mut self,
        segments: u32,
        latest: Option<(Snapshot, Instant)>,
        shortest: Option<Nanos>,
        now: Instant,
    ) -> Option<Sample> {
        self.delivered = self.delivered.wrapping_add(segments);
        if self.app_limited != 0 && precedes(self.app_limited, self.delivered) {
            self.app_limited = 0;
        }
        if segments > 0 {
            self.delivered_at = now;
        }
        let (snapshot, sent) = latest?;
        self.first_sent = sent;
        let interval = Nanos::between(snapshot.first_sent, sent)
            .max(Nanos::between(snapshot.delivered_at, now));
        let believed = !interval.is_zero() && interval >= shortest.unwrap_or_default();
        Some(Sample {
            prior_delivered: snapshot.delivered,
            delivered: self.delivered.wrapping_sub(snapshot.delivered),
            interval: believed.then_some(interval),
            app_limited: snapshot.app_limited,
        })
    }

    pub(super) const fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }

    /// Until the `in_flight` segments are delivered, samples tell less than the path could do.
    pub(super) fn limit_by_application(&mut self, in_flight: u32) {
        self.app_limited = self.delivered.wrapping_add(in_flight).max(1);
    }
}

/// Whether the count `a` comes before `b`, on a circle.
pub(super) const fn precedes(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn the_rate_is_the_lower_one_of_sending_and_acknowledging() {
        let mut rate = DeliveryRate::NONE;
        rate.on_first_sent(at(0));
        let first = rate.snapshot();
        let second = rate.snapshot();
        // Two segments in a round trip of 100 ms.
        let sample = rate.on_ack(1, Some((first, at(0))), None, at(100)).unwrap();
        assert_eq!((sample.delivered, sample.interval), (1, Some(Nanos::from_millis(100))));
        let third = rate.snapshot();
        let sample = rate.on_ack(1, Some((second, at(0))), None, at(110)).unwrap();
        assert_eq!((sample.delivered, sample.interval), (2, Some(Nanos::from_millis(110))));
        // Sent 100 ms after the one before it was: the rate of sending is the lower one.
        let sample = rate.on_ack(1, Some((third, at(100))), None, at(190)).unwrap();
        assert_eq!((sample.delivered, sample.interval), (2, Some(Nanos::from_millis(100))));
        assert!(!sample.app_limited);
    }

    #[test]
    fn an_interval_below_the_shortest_round_trip_is_not_believed() {
        let mut rate = DeliveryRate::NONE;
        rate.on_first_sent(at(0));
        let sent = rate.snapshot();
        let shortest = Some(Nanos::from_millis(50));
        let sample = rate.on_ack(1, Some((sent, at(0))), shortest, at(40)).unwrap();
        assert_eq!(sample.interval, None);
        assert_eq!(rate.on_ack(0, None, shortest, at(50)), None, "nothing was delivered");
    }

    #[test]
    fn samples_are_limited_by_the_application_until_its_flight_is_delivered() {
        let mut rate = DeliveryRate::NONE;
        rate.on_first_sent(at(0));
        let before = rate.snapshot();
        rate.limit_by_application(1);
        let after = rate.snapshot();
        assert!(!rate.on_ack(1, Some((before, at(0))), None, at(10)).unwrap().app_limited);
        assert!(rate.is_app_limited());
        assert!(rate.on_ack(1, Some((after, at(1))), None, at(20)).unwrap().app_limited);
        assert!(!rate.is_app_limited());
    }
}
