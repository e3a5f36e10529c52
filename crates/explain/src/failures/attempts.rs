//! When which host tried to connect where: looked up for each failure, and there may be as many of these as
//! connections.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ackwise_capture::analysis::{Analysis, ConnectionResult};
use ackwise_cause::Party;
use ackwise_tcp::Instant;

/// All attempts of a capture.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    /// By the hosts of client and server, in order of time.
    by_hosts: BTreeMap<[IpAddr; 2], Vec<Instant>>,
    /// When a host began its last connection to a server that sent data.
    answered: BTreeMap<(IpAddr, SocketAddr), Instant>,
    /// Those that brought a connection, and those that did not.
    connected: BTreeMap<Place, Connected>,
    failed: BTreeMap<Place, Connected>,
    /// When connections ended whose server held TIME-WAIT then, by both ends.
    time_wait: BTreeMap<[SocketAddr; 2], Vec<Instant>>,
    last: Instant,
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
        let mut attempts = Self { last: analysis.last, ..Self::default() };
        for it in &analysis.connections {
            let (client, server) = (it.client.ip(), it.server);
            attempts.by_hosts.entry([client, server.ip()]).or_default().push(it.first_seen);
            if it.bytes[1] > 0 {
                let last = attempts.answered.entry((client, server)).or_insert(it.first_seen);
                *last = (*last).max(it.first_seen);
            }
            let all = match it.connect {
                None => &mut attempts.connected,
                Some(_) => &mut attempts.failed,
            };
            for client in [Some(client), None] {
                let place = (client, server.is_ipv6(), server.port());
                all.entry(place).or_default().all.push((it.first_seen, server.ip()));
            }
            if it.time_wait == Some(Party::Server) {
                let ended = attempts.time_wait.entry([it.client, server]).or_default();
                ended.push(it.last_seen);
            }
        }
        attempts.by_hosts.values_mut().for_each(|it| it.sort_unstable());
        attempts.connected.values_mut().for_each(Connected::sort);
        attempts.failed.values_mut().for_each(Connected::sort);
        attempts
    }

    /// The end of the capture.
    pub(super) const fn last(&self) -> Instant {
        self.last
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
        /// A client tries the next address at once, or both side by side. Our choice.
        const SOON: Duration = Duration::from_secs(1);
        has_other(&self.connected, refused, SOON)
    }

    /// Whether the client tried another address in vain.
    pub(super) fn fails_elsewhere(&self, abandoned: &ConnectionResult) -> bool {
        /// The longest that a client waits for an address before it tries the next. Our choice.
        const LONG: Duration = Duration::from_secs(10);
        has_other(&self.failed, abandoned, LONG)
    }

    /// Whether the server held TIME-WAIT of the same ports.
    pub(super) fn had_time_wait(&self, collided: &ConnectionResult) -> bool {
        /// Linux's (`TCP_TIMEWAIT_LEN`).
        const TIME_WAIT: Duration = Duration::from_secs(60);
        let ended = self.time_wait.get(&[collided.client, collided.server]);
        let since = |it: &Instant| collided.first_seen.saturating_since(*it);
        ended.is_some_and(|all| {
            all.iter().any(|it| *it <= collided.first_seen && since(it) <= TIME_WAIT)
        })
    }
}

/// Whether one of `all` is to the same port of another address, at most so much earlier or later.
fn has_other(all: &BTreeMap<Place, Connected>, one: &ConnectionResult, apart: Duration) -> bool {
    let (is_v6, port) = (one.server.is_ipv6(), one.server.port());
    let places = [(Some(one.client.ip()), is_v6, port), (None, !is_v6, port)];
    let mut found = places.iter().filter_map(|it| all.get(it));
    found.any(|it| it.has_other(one.first_seen, one.server.ip(), apart))
}

impl Connected {
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

    /// Whether one is to another host, at most so much earlier or later.
    fn has_other(&self, at: Instant, host: IpAddr, most: Duration) -> bool {
        let behind = self.all.partition_point(|it| it.0 <= at);
        let nearest = [behind.checked_sub(1), Some(behind)];
        nearest.into_iter().enumerate().any(|(side, number)| {
            let Some((number, it)) = number.and_then(|it| Some((it, self.all.get(it)?))) else {
                return false;
            };
            let other = if it.1 == host { self.others[number][side] } else { Some(number) };
            let apart = |other: Instant| at.saturating_since(other) + other.saturating_since(at);
            other.is_some_and(|it| apart(self.all[it].0) <= most)
        })
    }
}
