//! Which connections are looked at, and when. A look copies a descriptor, so each connection gets few: when
//! it is first seen with a process, and some later, because a server may set options of its own after
//! accept, and be interrupted before it does.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use ackwise_linux::sockets::TcpSocket;

/// The connections of one server, by cookie.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    known: BTreeMap<u64, Known>,
    /// The time of the next look, for those that get one.
    next_looks: BTreeSet<(Instant, u64)>,
    /// Those that wait to be accepted.
    waiting: BTreeSet<u64>,
    /// When nothing was there that is not known now.
    complete_at: Option<Instant>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    socket: TcpSocket,
    looks: usize,
    failures: u32,
    next_look: Option<Instant>,
    /// A time at which it did not exist; `None` if it was there from the beginning.
    absent_at: Option<Instant>,
    is_there: bool,
}

impl Connections {
    /// Takes the sockets of a scan that began at `now`.
    pub(crate) fn scanned(&mut self, sockets: &[TcpSocket], now: Instant) {
        for known in self.known.values_mut() {
            known.is_there = false;
        }
        for socket in sockets {
            let is_full = self.known.len() >= CONNECTIONS_LIMIT;
            if is_full && !self.known.contains_key(&socket.cookie) {
                continue;
            }
            let known = self.known.entry(socket.cookie).or_insert(Known {
                socket: *socket,
                looks: 0,
                failures: 0,
                next_look: None,
                absent_at: self.complete_at,
                is_there: true,
            });
            known.is_there = true;
            if socket.inode != 0 {
                self.accepted(socket, now);
            } else {
                self.waiting.insert(socket.cookie);
            }
        }
        let Self { known, next_looks, waiting, .. } = self;
        known.retain(|cookie, known| {
            if !known.is_there {
                waiting.remove(cookie);
                known.next_look.map(|at| next_looks.remove(&(at, *cookie)));
            }
            known.is_there
        });
        self.complete_at = Some(now);
    }

    /// Notes that no connection was opened until `now` since the last scan.
    pub(crate) fn nothing_new(&mut self, now: Instant) {
        self.complete_at = self.complete_at.map(|_| now);
    }

    /// Some of those that wait to be accepted.
    pub(crate) fn waiting(&self) -> Vec<TcpSocket> {
        let sockets = self.waiting.iter().filter_map(|cookie| self.known.get(cookie));
        sockets.take(WAITING_LIMIT).map(|known| known.socket).collect()
    }

    /// Notes that a process has the socket.
    pub(crate) fn accepted(&mut self, socket: &TcpSocket, now: Instant) {
        self.waiting.remove(&socket.cookie);
        let Some(known) = self.known.get_mut(&socket.cookie) else { return };
        known.socket = *socket;
        if known.looks == 0 && known.failures == 0 && known.next_look.is_none() {
            known.next_look = Some(now);
            self.next_looks.insert((now, socket.cookie));
        }
    }

    /// Those to look at, the longest due first.
    pub(crate) fn due(&self, now: Instant) -> Vec<TcpSocket> {
        let due = self.next_looks.range(..=(now, u64::MAX));
        due.filter_map(|(_, cookie)| Some(self.known.get(cookie)?.socket)).collect()
    }

    /// Notes that `cookie` was looked at.
    pub(crate) fn looked_at(&mut self, cookie: u64, now: Instant) {
        self.after_look(cookie, |known| {
            known.looks += 1;
            LOOKS.get(known.looks).map(|wait| now + *wait)
        });
    }

    /// Notes that `cookie` could not be looked at.
    pub(crate) fn failed(&mut self, cookie: u64, now: Instant) {
        self.after_look(cookie, |known| {
            known.failures += 1;
            (known.failures < FAILURES_LIMIT).then(|| now + RETRY * (1 << known.failures))
        });
    }

    fn after_look(&mut self, cookie: u64, next: impl FnOnce(&mut Known) -> Option<Instant>) {
        let Some(known) = self.known.get_mut(&cookie) else { return };
        known.next_look.map(|at| self.next_looks.remove(&(at, cookie)));
        known.next_look = next(known);
        self.next_looks.extend(known.next_look.map(|at| (at, cookie)));
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
/// Half of the wait after the first look that failed; each later wait is twice as long. The socket is gone, or
/// its process has passed it on to one that the next look through all processes finds (our choice).
const RETRY: Duration = Duration::from_millis(10);
/// Our choice: 10 s, several looks through all processes.
const FAILURES_LIMIT: u32 = 10;
/// Largest number of connections (our choice: 20 MB). Further ones inherit from the listening socket, but
/// are not looked at.
const CONNECTIONS_LIMIT: usize = 100_000;
/// At most this many are asked for at one time whether they were accepted (our choice: 0.3 ms).
const WAITING_LIMIT: usize = 64;

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
        connections.scanned(&[waiting], at(0));
        assert_eq!(connections.waiting(), [waiting]);
        assert!(connections.due(at(0)).is_empty());
        connections.accepted(&socket, at(20));
        assert!(connections.waiting().is_empty());
        assert_eq!(cookies(connections.due(at(20))), [socket.cookie]);
        // A look that failed does not count.
        connections.failed(socket.cookie, at(20));
        connections.scanned(&[socket], at(30));
        assert!(connections.due(at(39)).is_empty());
        assert_eq!(cookies(connections.due(at(40))), [socket.cookie]);
        for (early, due) in [(45, 50), (89, 90), (489, 490)] {
            connections.looked_at(socket.cookie, at(previous));
            connections.scanned(&[socket], at(early));
            assert!(connections.due(at(early)).is_empty(), "{early} ms");
            assert_eq!(cookies(connections.due(at(due))), [socket.cookie]);
            previous = due;
        }
        connections.looked_at(socket.cookie, at(490));
        connections.scanned(&[socket], at(9_000));
        assert!(connections.due(at(9_000)).is_empty());
        assert_eq!(connections.age(socket.cookie, at(9_000)), None);

        connections.nothing_new(at(9_015));
        let mut later = socket;
        later.cookie += 1;
        connections.scanned(&[later], at(9_020));
        assert_eq!(cookies(connections.due(at(9_020))), [later.cookie]);
        assert_eq!(connections.age(later.cookie, at(9_021)), Some(Duration::from_millis(6)));
        assert!(!connections.contains(socket.cookie) && connections.contains(later.cookie));
        connections.scanned(&[], at(9_030));
        assert!(connections.due(at(9_999)).is_empty());
    }

    #[test]
    fn a_connection_that_cannot_be_looked_at_is_left_after_some_times() {
        let (socket, now) = (socket(), Instant::now());
        let mut connections = Connections::default();
        connections.scanned(&[socket], now);
        let mut at = now;
        for times in 0..FAILURES_LIMIT {
            assert_eq!(connections.due(at).len(), 1, "{times}");
            connections.failed(socket.cookie, at);
            at += RETRY * (2 << times);
        }
        assert!(at > now + Duration::from_secs(10));
        connections.scanned(&[socket], now + Duration::from_secs(60));
        assert!(connections.due(now + Duration::from_secs(60)).is_empty());
    }
}
