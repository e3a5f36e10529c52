//! The way of each packet over both links, from the emulators' logs.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV4;

use ackwise_linux::emulator::PacketRecord;

use crate::witness::clock::{Clock, Nanos};
use crate::witness::header::Header;

/// A TCP packet from end to end.
#[derive(Clone, Debug)]
pub(super) struct Journey {
    pub(super) from: SocketAddrV4,
    pub(super) to: SocketAddrV4,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) window: u16,
    /// Of a SYN: the shift of the window.
    pub(super) scale: u8,
    /// Bytes of data.
    pub(super) len: u32,
    /// When it left its sender.
    pub(super) sent: Nanos,
    /// The links that accepted it.
    pub(super) hops: Vec<Hop>,
    /// When it arrived.
    pub(super) arrived: Option<Nanos>,
    /// When it was dropped.
    pub(super) lost: Option<Nanos>,
}

/// One link's part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) place: LinkWay,
    pub(super) offered: Nanos,
    /// The link was busy with it.
    pub(super) begins: Nanos,
    pub(super) ends: Nanos,
    pub(super) delivered: Option<Nanos>,
    /// How much later than the model of the link and its holds want.
    pub(super) lateness: Nanos,
}

/// A direction of a link.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct LinkWay {
    pub(super) near: bool,
    pub(super) to_server: bool,
}

/// Joins the logs of the link at the client and of the link at the server.
pub(super) fn join(near: &[PacketRecord], far: &[PacketRecord], clock: Clock) -> Vec<Journey> {
    let mut journeys = Vec::new();
    for to_server in [true, false] {
        let (first, second) = if to_server { (near, far) } else { (far, near) };
        let of = |records: &'_ [PacketRecord]| -> Vec<PacketRecord> {
            records.iter().filter(|it| it.to_server == to_server).cloned().collect()
        };
        let mut onward: BTreeMap<Key, VecDeque<PacketRecord>> = BTreeMap::new();
        for record in of(second) {
            if let Some(key) = Key::of(&record.headers) {
                onward.entry(key).or_default().push_back(record);
            }
        }
        for record in of(first) {
            let place = LinkWay { near: to_server, to_server };
            let Some(mut journey) =
                parse(&record.headers, record.length, clock.nanos(record.offered))
            else {
                continue;
            };
            journey.pass(&record, place, clock);
            let next = Key::of(&record.headers).and_then(|key| onward.get_mut(&key)?.pop_front());
            if journey.arrived.take().is_some()
                && let Some(record) = next
            {
                journey.pass(&record, LinkWay { near: !to_server, to_server }, clock);
            }
            journeys.push(journey);
        }
    }
    journeys.sort_by_key(|it| it.sent);
    journeys
}

impl Journey {
    fn pass(&mut self, record: &PacketRecord, place: LinkWay, clock: Clock) {
        let offered = clock.nanos(record.offered);
        let delivered = record.delivered.map(|at| clock.nanos(at));
        match record.sent {
            Ok([begins, ends]) => {
                let [begins, ends] = [begins, ends].map(|at| clock.nanos(at));
                let lateness = Nanos::try_from(record.lateness.as_nanos()).unwrap_or(Nanos::MAX);
                self.hops.push(Hop { place, offered, begins, ends, delivered, lateness });
            }
            Err(_) => self.lost = Some(offered),
        }
        self.arrived = delivered;
    }
}

/// What forwarding does not change: ports, IP's identification, and TCP's numbers and flags.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Key([u8; 18]);

impl Key {
    fn of(headers: &[u8]) -> Option<Self> {
        let tcp = headers.get(usize::from(headers[0] & 15) * 4..)?;
        let mut key = [0; 18];
        key[..2].copy_from_slice(headers.get(4..6)?);
        key[2..].copy_from_slice(tcp.get(..16)?);
        Some(Self(key))
    }
}

fn parse(headers: &[u8], length: usize, sent: Nanos) -> Option<Journey> {
    let Header { from, to, seq, ack, syn, fin, window, scale, len } =
        Header::parse(headers, length)?;
    let (hops, arrived, lost) = (Vec::new(), None, None);
    Some(Journey { from, to, seq, ack, syn, fin, window, scale, len, sent, hops, arrived, lost })
}
