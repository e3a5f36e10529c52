//! A connection whose packets come twice: from a capture at its client, and from another at its server.
//!
//! Copies that follow each other at once are left out earlier (`copies`). These are a way through the network apart,
//! and look like retransmissions.

use ackwise_tcp::{Segment, SeqNumber};

use super::packet::Packet;

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
    #[inline(never)]
    pub(super) fn note(&mut self, seen: &Packet<'_>) {
        match self {
            Self::NothingSeen => *self = Self::Once(First::of(seen)),
            Self::Once(first) if first.interface != seen.interface && first.is_again(seen) => {
                *self = Self::Yes;
            }
            Self::Once(_) | Self::Yes => {}
        }
    }

    pub(super) const fn is_so(&self) -> bool {
        matches!(self, Self::Yes)
    }
}

impl First {
    fn of(seen: &Packet<'_>) -> Self {
        let &Segment { seq, ack, options, .. } = seen.segment;
        let timestamp = options.timestamps.map(|it| it.value);
        let (interface, identification) = (seen.interface, seen.identification);
        Self { interface, number: seq, ack, timestamp, identification }
    }

    /// Whether it is this packet at any interface. A retransmission has another identification and mostly a later
    /// timestamp.
    #[inline(never)]
    fn is_again(&self, seen: &Packet<'_>) -> bool {
        let is_unique = self.identification != 0 || self.timestamp.is_some();
        is_unique && Self { interface: self.interface, ..Self::of(seen) } == *self
    }
}

#[cfg(test)]
mod tests {
    use ackwise_tcp::{Instant, Options, Timestamps};

    use super::*;

    #[test]
    fn a_packet_with_the_same_numbers_at_another_interface_was_captured_twice() {
        let seen = |interface, identification, number, stamp: u32| {
            let timestamps = (stamp > 0).then_some(Timestamps { value: stamp, echo: 0 });
            let options = Options { timestamps, ..Options::NONE };
            let segment = Segment { seq: SeqNumber(number), options, ..Segment::default() };
            (interface, identification, segment)
        };
        for (why, first, second, twice) in [
            ("the same", seen(0, 7, 5, 9), seen(1, 7, 5, 9), true),
            ("in one capture", seen(0, 7, 5, 9), seen(0, 7, 5, 9), false),
            ("sent again", seen(0, 7, 5, 9), seen(1, 8, 5, 1_009), false),
            ("another segment", seen(0, 7, 5, 9), seen(1, 7, 6, 9), false),
            ("in IPv6", seen(0, 0, 5, 9), seen(1, 0, 5, 9), true),
            ("nothing tells copies apart", seen(0, 0, 5, 0), seen(1, 0, 5, 0), false),
        ] {
            let mut again = AgainElsewhere::default();
            for (interface, identification, segment) in [&first, &second] {
                again.note(&Packet {
                    number: 1,
                    at: Instant::EPOCH,
                    interface: *interface,
                    identification: *identification,
                    hop_limit: 64,
                    segment,
                    payload: &[],
                });
            }
            assert_eq!(again.is_so(), twice, "{why}");
        }
    }
}
