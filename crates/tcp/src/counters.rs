//! What an endpoint has done, for drivers that ask for it.

use core::time::Duration;

use crate::{
    received::{DropReason, Received},
    segment::Segment,
    transmit::Transmit,
    units::Instant,
    wait::Wait,
};

/// What an endpoint has done since [`Endpoint::count`](crate::Endpoint::count).
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Counters {
    /// Segments sent, of any kind.
    pub segments_sent: u64,
    /// Bytes of data sent, retransmissions included.
    pub bytes_sent: u64,
    /// Segments sent with something in them that was sent before.
    pub segments_retransmitted: u64,
    /// Bytes of data in those segments.
    pub bytes_retransmitted: u64,
    /// Segments sent with data, retransmissions included.
    pub data_segments_sent: u64,
    /// Repairs begun: one for all losses that one recovery repairs, by duplicate ACKs or timeout. These
    /// are the loss events of Padhye et al. 1998 (PFTK).
    pub loss_events: u64,
    /// Segments that carried nothing but an ACK.
    pub bare_acks_sent: u64,
    /// Segments that arrived, of any kind.
    pub segments_received: u64,
    /// Bytes of data that arrived, repeated ones included.
    pub bytes_received: u64,
    /// ACKs that counted as duplicates (RFC 5681, section 2; RFC 6675, section 2).
    pub duplicate_acks_received: u64,
    dropped: [u64; DropReason::ALL.len()],
    waited: [Duration; Wait::ALL.len()],
    /// What is waited for, and since when.
    waiting: Option<(Wait, Instant)>,
}

impl Counters {
    pub(crate) const NONE: Self = Self {
        segments_sent: 0,
        bytes_sent: 0,
        segments_retransmitted: 0,
        bytes_retransmitted: 0,
        data_segments_sent: 0,
        loss_events: 0,
        bare_acks_sent: 0,
        segments_received: 0,
        bytes_received: 0,
        duplicate_acks_received: 0,
        dropped: [0; DropReason::ALL.len()],
        waited: [Duration::ZERO; Wait::ALL.len()],
        waiting: None,
    };

    /// Segments that were dropped for this reason.
    #[must_use]
    pub fn dropped(&self, reason: DropReason) -> u64 {
        index(&DropReason::ALL, reason).map_or(0, |index| self.dropped[index])
    }

    /// Time in which nothing (more) was sent for this reason. What is waited for now is counted up to
    /// the last call of [`Endpoint::poll_transmit`](crate::Endpoint::poll_transmit).
    #[must_use]
    pub fn waited(&self, wait: Wait) -> Duration {
        index(&Wait::ALL, wait).map_or(Duration::ZERO, |index| self.waited[index])
    }

    pub(crate) fn received(&mut self, segment: &Segment, received: Received) {
        self.segments_received += 1;
        self.bytes_received += u64::from(segment.len);
        let dropped = received.dropped().and_then(|reason| index(&DropReason::ALL, reason));
        if let Some(index) = dropped {
            self.dropped[index] += 1;
        }
    }

    /// Repairs have begun.
    pub(crate) fn lost(&mut self, loss_events: u8) {
        self.loss_events += u64::from(loss_events);
    }

    /// A duplicate ACK has arrived.
    pub(crate) const fn duplicate_ack(&mut self) {
        self.duplicate_acks_received += 1;
    }

    /// What was polled, and what is waited for after it. A bare ACK does not end a wait, and a segment that leaves
    /// says nothing about what follows it.
    pub(crate) fn polled(&mut self, transmit: Option<&Transmit>, wait: Option<Wait>, now: Instant) {
        match transmit {
            None => self.wait(wait, now),
            Some(transmit) => {
                self.sent(transmit);
                if !transmit.is_bare_ack() {
                    self.wait(None, now);
                }
            }
        }
    }

    fn sent(&mut self, transmit: &Transmit) {
        let len = u64::from(transmit.segment.len);
        self.segments_sent += 1;
        self.bytes_sent += len;
        self.data_segments_sent += u64::from(len > 0);
        self.bare_acks_sent += u64::from(transmit.is_bare_ack());
        if transmit.retransmission {
            self.segments_retransmitted += 1;
            self.bytes_retransmitted += len;
        }
    }

    /// From `now` on, `wait` is waited for, if anything.
    fn wait(&mut self, wait: Option<Wait>, now: Instant) {
        if let Some((before, since)) = self.waiting
            && let Some(index) = index(&Wait::ALL, before)
        {
            self.waited[index] += now.since(since);
        }
        self.waiting = wait.map(|wait| (wait, now));
    }
}

fn index<T: PartialEq>(all: &[T], one: T) -> Option<usize> {
    all.iter().position(|each| *each == one)
}
