//! The packets of a run, as a monitor on the wire would print them.

use ackwise_sim::{
    Observer,
    observe::{ConnectionId, Side, Sighting},
};
use ackwise_tcp::{Instant, Segment, Transmit};

/// A packet that came to the end of its way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Packet {
    /// Of which connection.
    pub(crate) connection: ConnectionId,
    /// Who sent it.
    pub(crate) from: Side,
    /// When its last byte was there; `None` if it never came.
    pub(crate) at: Option<Instant>,
    /// What it was.
    pub(crate) segment: Segment,
    /// The place of its first byte in the sender's stream, counted from 1 as tcpdump does.
    pub(crate) first: u64,
    /// What it acknowledges, counted from 1.
    pub(crate) acknowledges: Option<u64>,
}

/// Keeps the packets of a run, in the order in which TCP sent them; at most [`Packets::MOST`].
///
/// On an Ethernet of 1996 that was their order on the wire, which took one packet at a time,
/// whatever its direction. Our links take one in each direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Packets {
    /// One after the other.
    pub(crate) sent: Vec<Packet>,
    /// The first sequence numbers of client and server, of the last connection.
    initial: [u32; 2],
}

impl Packets {
    /// Enough for the figures of the papers.
    pub(crate) const MOST: usize = 10_000;
}

impl Observer for Packets {
    fn on_sent(&mut self, sighting: &Sighting<'_>, _now: Instant) {
        let Sighting { connection, from, transmit: Transmit { segment, offset, .. }, .. } =
            sighting;
        let [own, peers] = if *from == Side::Client { [0, 1] } else { [1, 0] };
        if segment.flags.syn {
            self.initial[own] = segment.seq.0;
        }
        if self.sent.len() >= Self::MOST {
            return;
        }
        self.sent.push(Packet {
            connection: *connection,
            from: *from,
            at: None,
            segment: *segment,
            first: offset + 1,
            acknowledges: segment.ack.map(|ack| ack.0.wrapping_sub(self.initial[peers]).into()),
        });
    }

    fn on_received(&mut self, sighting: &Sighting<'_>, now: Instant) {
        let Sighting { connection, from, transmit: Transmit { segment, .. }, .. } = *sighting;
        let same = |packet: &&mut Packet| {
            packet.at.is_none()
                && (packet.connection, packet.from, &packet.segment) == (connection, from, segment)
        };
        if let Some(packet) = self.sent.iter_mut().find(same) {
            packet.at = Some(now);
        }
    }
}
