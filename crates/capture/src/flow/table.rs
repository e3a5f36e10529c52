//! Which connection a segment belongs to.

use std::{
    collections::VecDeque,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ackwise_tcp::Instant;
use hashbrown::HashMap;

use super::{closed::Closed, connection::ObservedConnection, copies::Copies};
use crate::{decode::Seen, results::Results};

/// The connections that are alive, and those that are over but may still be heard of.
#[derive(Debug, Default)]
pub(crate) struct ConnectionTable {
    // Looked up, never walked but to end it: so the order of a hash table shows nowhere.
    slots: HashMap<EndpointPair, Slot>,
    over: VecDeque<(Instant, EndpointPair)>,
    opened: u32,
    copies: Copies,
    copied: u64,
    /// Addresses behind NAT, as they are before it.
    aliases: HashMap<[SocketAddr; 2], [SocketAddr; 2]>,
}

/// Both ends, the lesser one first, so that both directions find the same. As numbers: each segment
/// is looked up.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct EndpointPair {
    one: u128,
    other: u128,
    ports: u64,
}

#[derive(Debug)]
enum Slot {
    Alive(Box<ObservedConnection>),
    Over(Closed),
}

impl ConnectionTable {
    /// How long segments of a closed connection may still arrive: 2 MSL, as in Linux.
    const LINGER: Duration = Duration::from_secs(60);
    /// The most closed connections that are remembered. Our choice.
    const MAX_OVER: usize = 1 << 16;
    /// The most address translations that are remembered. Our choice.
    const MAX_ALIASES: usize = 1 << 16;

    /// Takes a segment to its connection.
    pub(crate) fn handle(&mut self, seen: &Seen<'_>, results: &mut Results) {
        if let Some(original) = self.copies.original(seen) {
            self.copied += 1;
            self.translate(seen, original);
            return;
        }
        let renamed;
        let seen = match self.translated([seen.source, seen.destination]) {
            None => seen,
            Some([source, destination]) => {
                renamed = Seen { source, destination, ..*seen };
                &renamed
            }
        };
        let pair = EndpointPair::of(seen.source, seen.destination);
        self.forget(seen.at);
        let begins = seen.segment.flags.syn && seen.segment.ack.is_none();
        let slot = self.slots.get_mut(&pair);
        let slot = match slot {
            Some(Slot::Over(closed)) if !begins => return closed.handle(seen, results),
            Some(Slot::Alive(connection)) if !connection.is_reused_by(&seen.segment) => {
                connection.handle(seen, results);
                if connection.is_over() {
                    self.end(pair, seen.at, results);
                }
                return;
            }
            // An end that nobody saw the beginning of.
            None if seen.segment.len == 0 && !seen.segment.flags.syn => return,
            slot => slot,
        };
        let (client, server) = roles(seen);
        let mut connection =
            Box::new(ObservedConnection::new(self.opened, client, server, seen.at));
        self.opened += 1;
        if let Some(budget) = &results.budget {
            connection.keep_series(budget.stretches_per_exchange());
        }
        connection.handle(seen, results);
        match slot {
            Some(slot) => {
                if let Slot::Alive(before) = std::mem::replace(slot, Slot::Alive(connection)) {
                    before.finish(results);
                }
            }
            None => {
                self.slots.insert(pair, Slot::Alive(connection));
            }
        }
    }

    /// The copy of a packet has other addresses than the packet: so has all of its connection.
    fn translate(&mut self, copy: &Seen<'_>, original: [SocketAddr; 2]) {
        let addresses = [copy.source, copy.destination];
        let pair = EndpointPair::of(copy.source, copy.destination);
        if addresses == original || self.slots.contains_key(&pair) {
            return;
        }
        if self.aliases.len() >= Self::MAX_ALIASES {
            self.aliases.clear();
        }
        self.aliases.insert(addresses, original);
        let [[a, b], [c, d]] = [addresses, original];
        self.aliases.insert([b, a], [d, c]);
    }

    /// Addresses as they were where the connection was seen first, if they were others.
    fn translated(&self, addresses: [SocketAddr; 2]) -> Option<[SocketAddr; 2]> {
        if self.aliases.is_empty() {
            return None;
        }
        self.aliases.get(&addresses).copied()
    }

    fn end(&mut self, pair: EndpointPair, now: Instant, results: &mut Results) {
        if let Some(Slot::Alive(connection)) = self.slots.remove(&pair) {
            self.slots.insert(pair, Slot::Over(connection.finish(results)));
        }
        self.over.push_back((now, pair));
    }

    fn forget(&mut self, now: Instant) {
        while let Some((at, pair)) = self.over.front().copied() {
            if self.over.len() <= Self::MAX_OVER && now.saturating_since(at) < Self::LINGER {
                return;
            }
            self.over.pop_front();
            if matches!(self.slots.get(&pair), Some(Slot::Over(_))) {
                self.slots.remove(&pair);
            }
        }
    }

    /// The capture is over.
    pub(crate) fn finish(self, results: &mut Results) {
        results.set_copies(self.copied);
        let mut alive: Vec<_> = self
            .slots
            .into_values()
            .filter_map(|slot| match slot {
                Slot::Alive(connection) => Some(connection),
                Slot::Over(_) => None,
            })
            .collect();
        alive.sort_unstable_by_key(|connection| connection.id());
        for connection in alive {
            connection.finish(results);
        }
    }
}

impl EndpointPair {
    pub(crate) fn of(one: SocketAddr, other: SocketAddr) -> Self {
        let [a, b] = [number(one.ip()), number(other.ip())];
        let [c, d] = [one, other].map(|end| u64::from(end.port()));
        let family = u64::from(one.is_ipv6());
        // Neither port takes more than 16 bits.
        let ([one, other], ports) =
            if (a, c) <= (b, d) { ([a, b], c << 16 | d) } else { ([b, a], d << 16 | c) };
        Self { one, other, ports: ports | family << 32 }
    }
}

const fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits() as u128,
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Who is client and who is server: a SYN says it, or what is sent, or the ports.
pub(crate) fn roles(seen: &Seen<'_>) -> (SocketAddr, SocketAddr) {
    let (source, destination) = (seen.source, seen.destination);
    let from_client = match (seen.segment.flags.syn, seen.segment.ack) {
        (true, None) => true,
        (true, Some(_)) => false,
        _ if seen.payload.starts_with(b"HTTP/1.") => false,
        // Services have the lesser port nearly always.
        _ => source.port() >= destination.port(),
    };
    if from_client { (source, destination) } else { (destination, source) }
}
