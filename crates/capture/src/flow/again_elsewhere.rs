//! A connection whose packets come twice: from a capture at its client, and from another at its server.
//!
//! Copies that follow each other at once are left out earlier (`copies`). These are a way through the network apart,
//! and look like retransmissions.

use ackwise_tcp::{Segment, SeqNumber};

use crate::decode::Seen;

/// The first packet of a connection, as long as it was seen in one capture only.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum AgainElsewhere {
    #[default]
    NothingSeen,
    Once(First),
    Yes,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct First {
    interface: u32,
    number: SeqNumber,
    ack: Option<SeqNumber>,
    timestamp: Option<u32>,
    identification: u16,
}

impl AgainElsewhere {
    pub(super) fn note(&mut self, seen: &Seen<'_>) {
        match self {
            Self::NothingSeen => *self = Self::Once(First::of(seen)),
            Self::Once(first) if first.is_again(seen) => *self = Self::Yes,
            Self::Once(_) | Self::Yes => {}
        }
    }

    pub(super) const fn is_so(&self) -> bool {
        matches!(self, Self::Yes)
    }
}

impl First {
    fn of(seen: &Seen<'_>) -> Self {
        let Segment { seq, ack, options, .. } = seen.segment;
        let timestamp = options.timestamps.map(|it| it.value);
        let (interface, identification) = (seen.interface, seen.identification);
        Self { interface, number: seq, ack, timestamp, identification }
    }

    /// A retransmission has another identification and mostly a later timestamp.
    fn is_again(&self, seen: &Seen<'_>) -> bool {
        let is_unique = self.identification != 0 || self.timestamp.is_some();
        seen.interface != self.interface
            && is_unique
            && Self { interface: self.interface, ..Self::of(seen) } == *self
    }
}
