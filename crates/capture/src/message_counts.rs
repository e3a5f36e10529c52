//! What is known of messages within a tunnel or a stream: how many went each way, and which of them a sender's TCP held.
//!
//! Nobody is known to wait for a message before it is written. So the time between two of them is nobody's, and only the
//! time for which TCP held one that was written is a stall.

use std::time::Duration;

use ackwise_cause::Cause;

use crate::attribution::{Confidence, Evidence};

/// Messages in one direction.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct MessageCounts {
    /// Whole ones.
    pub messages: u64,
    /// Control frames of a WebSocket, and comments of an event stream.
    pub control: u64,
    /// From the end of each message to that of the next one, where both were captured.
    pub gaps: Option<MessageGaps>,
    /// Those that were held, by what held them.
    pub held: Box<[HeldMessages]>,
    /// From some byte on, they could not be divided: the capture lacks something, or these are none.
    pub undivided: bool,
}

/// A distribution of times between messages.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct MessageGaps {
    /// Half of them are shorter; with more than 8 messages, within 6 %.
    pub median: Duration,
    /// 99 % of them are shorter, as exactly.
    pub p99: Duration,
}

impl MessageGaps {
    pub(crate) const fn new([median, p99]: [u32; 2]) -> Self {
        let [median, p99] =
            [Duration::from_micros(median as u64), Duration::from_micros(p99 as u64)];
        Self { median, p99 }
    }
}

/// Messages that something held before their first byte, or between their pieces.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct HeldMessages {
    /// Nagle's algorithm, alone or with the receiver's delayed ACK, or a cork.
    pub cause: Cause,
    /// How many.
    pub messages: u64,
    /// How often something was held: many messages may wait in one segment.
    pub times: u64,
    /// For how long, in all.
    pub total: Duration,
    /// The shortest time.
    pub shortest: Duration,
    /// The longest.
    pub longest: Duration,
    /// Which packets show the longest: what was sent before, its ACK, what was held.
    pub evidence: Evidence,
    /// The least sure of them.
    pub confidence: Confidence,
}

impl HeldMessages {
    /// Messages in one segment, held for this time.
    #[must_use]
    pub const fn once(cause: Cause, messages: u64, time: Duration, confidence: Confidence) -> Self {
        let [total, shortest, longest] = [time; 3];
        let evidence = Evidence::of([0; Evidence::MAX]);
        Self { cause, messages, times: 1, total, shortest, longest, evidence, confidence }
    }

    /// Whether the time is the most that they can have been held; else it is the least.
    #[must_use]
    pub fn is_upper_limit(&self) -> bool {
        self.cause != Cause::CorkTimer
    }

    /// Adds others with the same cause.
    pub fn add(&mut self, other: &Self) {
        self.messages = self.messages.saturating_add(other.messages);
        self.times = self.times.saturating_add(other.times);
        self.total = self.total.saturating_add(other.total);
        self.shortest = self.shortest.min(other.shortest);
        if other.longest > self.longest {
            (self.longest, self.evidence) = (other.longest, other.evidence);
        }
        self.confidence = self.confidence.min(other.confidence);
    }
}
