//! The client's TCP, receiving half: when its ACKs leave.

use std::time::Instant;

use ackwise_check::stack::Acknowledge;

/// What has come and is not acknowledged.
pub(crate) struct Receiving {
    pub(crate) acknowledge: Acknowledge,
    pub(crate) received: u64,
    acknowledged: u64,
    segments: u32,
    due: Option<Instant>,
}

impl Receiving {
    pub(crate) fn new(acknowledge: Acknowledge) -> Self {
        Self { acknowledge, received: 0, acknowledged: 0, segments: 0, due: None }
    }

    pub(crate) fn arrived(&mut self, len: u64, now: Instant) {
        self.received += len;
        self.segments += 1;
        let due = match self.acknowledge {
            Acknowledge::Promptly => now,
            Acknowledge::Delayed(_) if self.segments >= 2 => now,
            Acknowledge::Delayed(delay) | Acknowledge::After(delay) => now + delay,
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
