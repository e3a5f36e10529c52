//! What happened to each packet, for whoever has to know the truth about a measurement.

use std::time::{self, Duration};

use ackwise_link::{DropReason, Fate};
use ackwise_tcp::Instant;

use crate::clock::Clock;

/// What the link did with one packet.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct PacketRecord {
    /// Whether it came from the client.
    pub to_server: bool,
    /// IP header and what follows, up to [`PacketRecord::HEADERS`] bytes.
    pub headers: Vec<u8>,
    /// Length, IP header included.
    pub length: usize,
    /// When it was read from the device of its sender's side.
    pub offered: time::Instant,
    /// Why it was dropped, or when the link was busy with it: its first and its last bit.
    pub sent: Result<[time::Instant; 2], DropReason>,
    /// When it was passed to the other side, the first time if it was duplicated. `None` if it was
    /// dropped, or was in flight when the link ended.
    pub delivered: Option<time::Instant>,
    /// How much later than the link's model and its holds want.
    pub lateness: Duration,
}

impl PacketRecord {
    /// The longest headers of IPv4 and TCP.
    pub const HEADERS: usize = 120;
}

/// The log of one direction.
pub(super) struct Log {
    to_server: bool,
    entries: Vec<Entry>,
}

struct Entry {
    headers: [u8; PacketRecord::HEADERS],
    length: usize,
    offered: Instant,
    sent: Result<[Instant; 2], DropReason>,
    delivered: Option<(Instant, Duration)>,
}

impl Log {
    /// Further packets are not recorded (our choice: 40 MB).
    const MAX_PACKETS: usize = 1 << 18;
    /// Room that no packet has to wait for (our choice).
    const RESERVED: usize = 1 << 14;

    #[expect(clippy::fn_params_excessive_bools, reason = "the direction, as the fields have it")]
    pub(super) fn new(to_server: bool) -> Self {
        Self { to_server, entries: Vec::with_capacity(Self::RESERVED) }
    }

    /// The number of the next packet.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn offered(
        &mut self,
        packet: &[u8],
        verdict: Fate,
        (offered, begins, ends): (Instant, Instant, Instant),
    ) {
        if self.entries.len() == Self::MAX_PACKETS {
            return;
        }
        let mut headers = [0; PacketRecord::HEADERS];
        let kept = packet.len().min(headers.len());
        headers[..kept].copy_from_slice(&packet[..kept]);
        let sent = match verdict {
            Fate::Queued => Ok([begins, ends]),
            Fate::Dropped(reason) => Err(reason),
        };
        let length = packet.len();
        self.entries.push(Entry { headers, length, offered, sent, delivered: None });
    }

    pub(super) fn delivered(&mut self, number: usize, at: Instant, lateness: Duration) {
        if let Some(entry) = self.entries.get_mut(number) {
            entry.delivered.get_or_insert((at, lateness));
        }
    }

    pub(super) fn into_records(self, clock: Clock) -> Vec<PacketRecord> {
        let to_server = self.to_server;
        let record = |entry: Entry| {
            Some(PacketRecord {
                to_server,
                headers: entry.headers[..entry.length.min(PacketRecord::HEADERS)].to_vec(),
                length: entry.length,
                offered: clock.outside(entry.offered)?,
                sent: match entry.sent {
                    Ok([begins, ends]) => Ok([clock.outside(begins)?, clock.outside(ends)?]),
                    Err(reason) => Err(reason),
                },
                delivered: entry.delivered.and_then(|(at, _)| clock.outside(at)),
                lateness: entry.delivered.map_or(Duration::ZERO, |(_, lateness)| lateness),
            })
        };
        self.entries.into_iter().filter_map(record).collect()
    }
}
