//! The client's TCP, receiving half: when its ACKs leave.

use std::time::Instant;

use ackwise_check::stack::{AckRule, Acknowledge};

/// What has come and is not acknowledged.
pub(crate) struct Receiving {
    pub(crate) acknowledge: Acknowledge,
    mss: u64,
    pub(crate) received: u64,
    acknowledged: u64,
    segments: u32,
    due: Option<Instant>,
}

impl Receiving {
    pub(crate) fn new(acknowledge: Acknowledge, mss: u64) -> Self {
        Self { acknowledge, mss, received: 0, acknowledged: 0, segments: 0, due: None }
    }

    pub(crate) fn arrived(&mut self, len: u64, now: Instant) {
        self.received += len;
        self.segments += 1;
        let bytes = self.received - self.acknowledged;
        let counted = match self.acknowledge {
            Acknowledge::Promptly => true,
            Acknowledge::Delayed(AckRule::Linux, _) => bytes > self.mss,
            Acknowledge::Delayed(AckRule::EverySecond, _) => self.segments >= 2,
            Acknowledge::Delayed(AckRule::TwoFull, _) => bytes >= 2 * self.mss,
            Acknowledge::After(_) => false,
        };
        let due = match self.acknowledge {
            Acknowledge::Delayed(_, delay) | Acknowledge::After(delay) if !counted => now + delay,
            _ => now,
        };
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
    }

    /// What was withheld is withheld no longer.
    pub(crate) fn hurry(&mut self, now: Instant) {
        if self.received > self.acknowledged {
            self.due = Some(now);
        }
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// The ACK leaves.
    pub(crate) fn acknowledge(&mut self) -> u64 {
        (self.due, self.segments) = (None, 0);
        self.acknowledged = self.received;
        self.received
    }
}
