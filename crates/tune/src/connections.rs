//! Which connections are looked at in a scan. A look copies a descriptor, so each connection gets few: when
//! it is first seen with a process, and some later, because a server may set options of its own after
//! accept, and be interrupted before it does.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use ackwise_linux::sockets::TcpSocket;

/// The connections of one server, by cookie.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    known: BTreeMap<u64, Known>,
    /// When the last scan began.
    last_scan: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    looks: usize,
    next_look: Instant,
    /// A time at which it did not exist; `None` if it was there from the beginning.
    absent_at: Option<Instant>,
    is_there: bool,
}

impl Connections {
    /// Takes the sockets of a scan that began at `now`. Returns those to look at.
    pub(crate) fn scanned(&mut self, sockets: &[TcpSocket], now: Instant) -> Vec<TcpSocket> {
        for known in self.known.values_mut() {
            known.is_there = false;
        }
        let mut due = Vec::new();
        for socket in sockets {
            let is_full = self.known.len() >= CONNECTIONS_LIMIT;
            if is_full && !self.known.contains_key(&socket.cookie) {
                continue;
            }
            let absent_at = self.last_scan;
            let new = Known { looks: 0, next_look: now, absent_at, is_there: true };
            let known = self.known.entry(socket.cookie).or_insert(new);
            known.is_there = true;
            // Without an inode it waits to be accepted.
            if socket.inode != 0 && known.looks < LOOKS.len() && known.next_look <= now {
                due.push(*socket);
            }
        }
        self.known.retain(|_, known| known.is_there);
        self.last_scan = Some(now);
        due
    }

    /// Notes that `cookie` was looked at.
    pub(crate) fn looked_at(&mut self, cookie: u64, now: Instant) {
        if let Some(known) = self.known.get_mut(&cookie) {
            known.looks += 1;
            let wait = LOOKS.get(known.looks).copied().unwrap_or_default();
            known.next_look = now + wait;
        }
    }

    /// The longest time that the connection can have existed at `now`; `None` if it was there from the
    /// beginning.
    pub(crate) fn age(&self, cookie: u64, now: Instant) -> Option<Duration> {
        let absent_at = self.known.get(&cookie)?.absent_at?;
        Some(now.saturating_duration_since(absent_at))
    }

    /// Whether it was there when the run began.
    pub(crate) fn was_there(&self, cookie: u64) -> bool {
        self.known.get(&cookie).is_some_and(|known| known.absent_at.is_none())
    }

    /// Whether it was there at the last scan.
    pub(crate) fn contains(&self, cookie: u64) -> bool {
        self.known.contains_key(&cookie)
    }
}

/// Waits before each look, from the one before. Our choice: servers set options of a connection right after
/// accept, so most waits are short; the last finds what is set before the first response.
const LOOKS: [Duration; 4] = [
    Duration::ZERO,
    Duration::from_millis(10),
    Duration::from_millis(40),
    Duration::from_millis(400),
];
/// Largest number of connections (our choice: 10 MB). Further ones inherit from the listening socket, but
/// are not looked at.
const CONNECTIONS_LIMIT: usize = 100_000;

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use ackwise_linux::sockets::{Query, SocketTable};
    use ackwise_tcp::State;

    use super::*;

    fn socket() -> TcpSocket {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let _client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let _accepted = listener.accept().unwrap();
        let mut found = None;
        let query = Query::local_port(port).in_states(&[State::Established]);
        SocketTable::here().unwrap().each(query, |it| found = Some(*it)).unwrap();
        found.expect("one connection")
    }

    #[test]
    fn a_connection_is_looked_at_four_times_and_forgotten_when_it_is_gone() {
        let socket = socket();
        let cookies = |due: Vec<TcpSocket>| due.iter().map(|it| it.cookie).collect::<Vec<_>>();
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let (mut connections, mut previous) = (Connections::default(), 40);
        let mut waiting = socket;
        waiting.inode = 0; // Not accepted yet.
        assert!(connections.scanned(&[waiting], at(0)).is_empty());
        assert_eq!(cookies(connections.scanned(&[socket], at(20))), [socket.cookie]);
        // A look that failed does not count.
        assert_eq!(cookies(connections.scanned(&[socket], at(40))), [socket.cookie]);
        for (early, due) in [(45, 50), (89, 90), (489, 490)] {
            connections.looked_at(socket.cookie, at(previous));
            assert!(connections.scanned(&[socket], at(early)).is_empty(), "{early} ms");
            assert_eq!(cookies(connections.scanned(&[socket], at(due))), [socket.cookie]);
            previous = due;
        }
        connections.looked_at(socket.cookie, at(490));
        assert!(connections.scanned(&[socket], at(9_000)).is_empty());
        assert_eq!(connections.age(socket.cookie, at(9_000)), None);

        let mut later = socket;
        later.cookie += 1;
        assert_eq!(cookies(connections.scanned(&[later], at(9_020))), [later.cookie]);
        assert!(!connections.contains(socket.cookie));
        let age = connections.age(later.cookie, at(9_030));
        assert_eq!(age, Some(Duration::from_millis(30)));
    }
}
