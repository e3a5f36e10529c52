//! Requests whose first byte Nagle's algorithm held: a wait in front of an exchange, which begins with that byte.
//!
//! The client's TCP held it because an earlier small segment, such as the answer to a PING, was not acknowledged yet,
//! and the server delayed that ACK; or several users share a pipelined connection, so that the request of one is that
//! segment for all others. When the program wrote the request, no packet shows: the times are upper limits.

use std::time::Duration;

use ackwise_cause::Cause;

use crate::attribution::{Confidence, Evidence};

/// The requests of a connection whose first byte left with an ACK.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct HeldRequests {
    /// `NagleDelayedAck`, or `NagleRtt` if several users share the connection, and their requests left with the ACK of one.
    pub cause: Cause,
    /// How many.
    pub count: u32,
    /// From when the server had what was sent before to when the request left: the sum, at most.
    pub total: Duration,
    /// The shortest.
    pub shortest: Duration,
    /// The longest.
    pub longest: Duration,
    /// Which packets show the longest: what was sent before, its ACK, the request.
    pub evidence: Evidence,
    /// The least sure of them.
    pub confidence: Confidence,
}

impl HeldRequests {
    /// A request that was held for so long.
    #[must_use]
    pub const fn once(time: Duration, confidence: Confidence) -> Self {
        let [total, shortest, longest] = [time; 3];
        let evidence = Evidence::of([0; Evidence::MAX]);
        let cause = Cause::NagleDelayedAck;
        Self { cause, count: 1, total, shortest, longest, evidence, confidence }
    }

    /// Adds others of the same cause.
    pub fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.total += other.total;
        self.shortest = self.shortest.min(other.shortest);
        if other.longest > self.longest {
            (self.longest, self.evidence) = (other.longest, other.evidence);
        }
        self.confidence = self.confidence.min(other.confidence);
    }
}
