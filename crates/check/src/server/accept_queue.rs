//! The accept queue of a server on this host.

use std::net::SocketAddr;

/// The accept queue of a listening socket on this host, and what was dropped for want of room.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Queue {
    /// Connections that the program has not accepted.
    pub(crate) backlog: u32,
    /// How many may wait. The kernel takes one more (`sk_acceptq_is_full`).
    pub(crate) limit: u32,
    /// SYNs and connections that this socket dropped, ever.
    pub(crate) dropped: u32,
    /// TcpExt ListenOverflows and ListenDrops of the whole host.
    pub(crate) host: [u64; 2],
    /// The congestion control of connections that it accepts.
    pub(crate) congestion: Option<String>,
}

impl Queue {
    /// The queue of the socket that listens on `server`; the fullest, if several do. `None` if none does here.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub(crate) fn read(server: SocketAddr) -> Option<Self> {
        use ackwise_linux::sockets::{Query, SocketTable};
        use ackwise_tcp::State;

        if !ackwise_linux::wire::is_local(server) {
            return None;
        }
        let netstat = std::fs::read_to_string("/proc/thread-self/net/netstat").ok()?;
        let host = counters(&netstat)?;
        let mut found: Option<Self> = None;
        let query = Query::local_port(server.port()).in_states(&[State::Listen]);
        let query = query.with_memory().with_congestion();
        let mut table = SocketTable::here().ok()?;
        let visited = table.each(query, |socket| {
            let ip = socket.local.ip();
            if ip == server.ip() || ip.is_unspecified() {
                let dropped = socket.memory.map_or(0, |memory| memory.drops);
                let (backlog, limit) = (socket.receive_queue, socket.send_queue);
                let congestion = socket.congestion.map(|name| name.as_str().to_owned());
                let this = Self { backlog, limit, dropped, host, congestion };
                found = Some(match found.take() {
                    Some(other) => other.with(this),
                    None => this,
                });
            }
        });
        visited.ok().and(found)
    }

    /// No other system is asked.
    #[cfg(not(target_os = "linux"))]
    #[must_use]
    pub(crate) fn read(_server: SocketAddr) -> Option<Self> {
        None
    }

    /// Both sockets of one server: the fuller queue, and all that was dropped.
    #[cfg(target_os = "linux")]
    fn with(self, other: Self) -> Self {
        let dropped = self.dropped.wrapping_add(other.dropped);
        let fuller = if other.room() < self.room() { other } else { self };
        Self { dropped, ..fuller }
    }

    pub(crate) fn room(&self) -> u32 {
        (self.limit + 1).saturating_sub(self.backlog)
    }
}

/// ListenOverflows and ListenDrops, in a line of names and a line of numbers that begin with `TcpExt:`.
#[cfg(target_os = "linux")]
fn counters(netstat: &str) -> Option<[u64; 2]> {
    let mut lines = netstat.lines().filter(|line| line.starts_with("TcpExt:"));
    let (names, numbers) = (lines.next()?, lines.next()?);
    let value = |wanted| {
        let mut both = names.split_whitespace().zip(numbers.split_whitespace());
        both.find(|(name, _)| *name == wanted)?.1.parse().ok()
    };
    Some([value("ListenOverflows")?, value("ListenDrops")?])
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_name() {
        let text =
            "TcpExt: A ListenOverflows ListenDrops B\nTcpExt: 1 22 333 4\nIpExt: A\nIpExt: 5\n";
        assert_eq!(counters(text), Some([22, 333]));
        assert_eq!(counters("TcpExt: ListenOverflows\nTcpExt: 1\n"), None);
    }
}
