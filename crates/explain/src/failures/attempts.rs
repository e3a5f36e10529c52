//! When which host tried to connect where: looked up for each failure, and there may be as many of these as
//! connections.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ackwise_capture::analysis::{Analysis, ConnectionResult};
use ackwise_tcp::Instant;

/// All attempts of a capture.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    /// By the hosts of client and server, in order of time.
    by_hosts: BTreeMap<[IpAddr; 2], Vec<Instant>>,
    /// When a host began its last connection to a server that sent data.
    answered: BTreeMap<(IpAddr, SocketAddr), Instant>,
    /// Those that brought a connection.
    connected: BTreeMap<Place, Connected>,
}

/// The same port of any host: of one client, whose address is of the same family, or of any, whose address may be of the
/// other.
type Place = (Option<IpAddr>, bool, u16);

/// Connections to one place, in order of time.
#[derive(Debug, Default)]
struct Connected {
    all: Vec<(Instant, IpAddr)>,
    /// Of each, the nearest before it and behind it that is to another host.
    others: Vec<[Option<usize>; 2]>,
}

impl Attempts {
    pub(super) fn of(analysis: &Analysis) -> Self {
        let mut attempts = Self::default();
        for it in &analysis.connections {
            let (client, server) = (it.client.ip(), it.server);
            attempts.by_hosts.entry([client, server.ip()]).or_default().push(it.first_seen);
            if it.bytes[1] > 0 {
                let last = attempts.answered.entry((client, server)).or_insert(it.first_seen);
                *last = (*last).max(it.first_seen);
            }
            if it.connect.is_none() {
                for client in [Some(client), None] {
                    let place = (client, server.is_ipv6(), server.port());
                    let connected = attempts.connected.entry(place).or_default();
                    connected.all.push((it.first_seen, server.ip()));
                }
            }
        }
        attempts.by_hosts.values_mut().for_each(|it| it.sort_unstable());
        attempts.connected.values_mut().for_each(Connected::sort);
        attempts
    }

    /// When the client tried again to connect to that host.
    pub(super) fn next(&self, connection: &ConnectionResult, than: Instant) -> Option<Instant> {
        let hosts = [connection.client.ip(), connection.server.ip()];
        let attempts = self.by_hosts.get(&hosts)?;
        attempts.get(attempts.partition_point(|it| *it <= than)).copied()
    }

    /// Whether a later connection to the same server is answered.
    pub(super) fn works_again(&self, connection: &ConnectionResult, than: Instant) -> bool {
        let hosts = (connection.client.ip(), connection.server);
        self.answered.get(&hosts).is_some_and(|last| *last > than)
    }

    /// Whether the client got a connection to the same port of another address at about the same time: `localhost` is two
    /// addresses, and other names may have more.
    pub(super) fn succeeds_elsewhere(&self, refused: &ConnectionResult) -> bool {
        let (at, server) = (refused.first_seen, refused.server);
        let (is_v6, port) = (server.is_ipv6(), server.port());
        let places = [(Some(refused.client.ip()), is_v6, port), (None, !is_v6, port)];
        let mut connected = places.iter().filter_map(|it| self.connected.get(it));
        connected.any(|it| it.has_other(at, server.ip()))
    }
}

impl Connected {
    /// A client tries the next address at once, or both side by side. Our choice.
    const SOON: Duration = Duration::from_secs(1);

    fn sort(&mut self) {
        self.all.sort_unstable();
        self.others = vec![[None; 2]; self.all.len()];
        for number in 1..self.all.len() {
            self.others[number][0] = match self.all[number].1 == self.all[number - 1].1 {
                true => self.others[number - 1][0],
                false => Some(number - 1),
            };
        }
        for number in (0..self.all.len().saturating_sub(1)).rev() {
            self.others[number][1] = match self.all[number].1 == self.all[number + 1].1 {
                true => self.others[number + 1][1],
                false => Some(number + 1),
            };
        }
    }

    /// Whether one is to another host, and soon.
    fn has_other(&self, at: Instant, host: IpAddr) -> bool {
        let behind = self.all.partition_point(|it| it.0 <= at);
        let nearest = [behind.checked_sub(1), Some(behind)];
        nearest.into_iter().enumerate().any(|(side, number)| {
            let Some((number, it)) = number.and_then(|it| Some((it, self.all.get(it)?))) else {
                return false;
            };
            let other = if it.1 == host { self.others[number][side] } else { Some(number) };
            let apart = |other: Instant| at.saturating_since(other) + other.saturating_since(at);
            other.is_some_and(|it| apart(self.all[it].0) <= Self::SOON)
        })
    }
}
