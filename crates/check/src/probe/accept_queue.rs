//! `accept-queue-full`: did connections fit into the queue of those that the program has not accepted?
//!
//! Read on the server's host, never provoked: no check makes a connection for this. About a server on another host
//! nothing is said.

use std::net::SocketAddr;

use super::{NoVerdict, ProbeResult};
use crate::{
    card::{AcceptQueueFull, Verdict},
    http_client::Client,
};

/// The accept queue of a listening socket on this host, and what was dropped for want of room.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Queue {
    /// Connections that the program has not accepted.
    pub backlog: u32,
    /// How many may wait. The kernel takes one more (`sk_acceptq_is_full`).
    pub limit: u32,
    /// SYNs and connections that this socket dropped, ever.
    pub dropped: u32,
    /// TcpExt ListenOverflows and ListenDrops of the whole host.
    pub host: [u64; 2],
    /// The congestion control of connections that it accepts.
    pub congestion: Option<String>,
}

impl Queue {
    /// The queue of the socket that listens on `server`; the fullest, if several do. `None` if none does here.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn read(server: SocketAddr) -> Option<Self> {
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
    pub fn read(_server: SocketAddr) -> Option<Self> {
        None
    }

    /// Both sockets of one server: the fuller queue, and all that was dropped.
    #[cfg(target_os = "linux")]
    fn with(self, other: Self) -> Self {
        let dropped = self.dropped.wrapping_add(other.dropped);
        let fuller = if other.room() < self.room() { other } else { self };
        Self { dropped, ..fuller }
    }

    fn room(&self) -> u32 {
        (self.limit + 1).saturating_sub(self.backlog)
    }
}

/// Compares the queue with what it was before the check.
pub(super) fn probe(client: &Client, before: Option<&Queue>) -> Result<ProbeResult, NoVerdict> {
    let queues = before.zip(Queue::read(client.server()));
    let (before, after) = queues.ok_or_else(|| {
        NoVerdict::not_applicable("no listening socket of the server is on this host")
    })?;
    Ok(report(before, &after))
}

fn report(before: &Queue, after: &Queue) -> ProbeResult {
    let &Queue { backlog, limit, .. } = after;
    let dropped = after.dropped.wrapping_sub(before.dropped);
    let [overflows, drops] = [0, 1].map(|it| after.host[it].wrapping_sub(before.host[it]));
    let values = AcceptQueueFull {
        backlog: Some(backlog),
        dropped: Some(dropped),
        limit: Some(limit),
        listen_drops: Some(drops),
        listen_overflows: Some(overflows),
    };
    // The host's count has the reason, and the socket's says whose it was.
    let lost = u64::from(dropped).min(overflows);
    let (verdict, summary) = if lost > 0 {
        let what = format!(
            "the accept queue (limit {limit}) overflowed during the check: {lost} SYNs or \
             connections were dropped, which clients repeat after a second"
        );
        (Verdict::Warn, what)
    } else if after.room() == 0 {
        let what = format!("the accept queue is full: {backlog} connections wait (limit {limit})");
        (Verdict::Warn, what)
    } else {
        let what =
            format!("no overflow; {backlog} connections wait to be accepted (limit {limit})");
        (Verdict::Pass, what)
    };
    ProbeResult::new(verdict, summary, values)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_overflow_of_this_socket_or_a_full_queue_is_warned_of() {
        let before =
            Queue { backlog: 0, limit: 5, dropped: u32::MAX, host: [7, 9], congestion: None };
        // Backlog, dropped by this socket, by the host for overflows and in all.
        #[rustfmt::skip]
        let table = [
            (0, 0, [0, 0], Verdict::Pass),
            (5, 0, [0, 0], Verdict::Pass),
            (6, 0, [0, 0], Verdict::Warn),
            (0, 2, [2, 2], Verdict::Warn),
            (0, 0, [3, 3], Verdict::Pass), // Another server's.
            (0, 1, [0, 1], Verdict::Pass), // For another reason.
        ];
        for (backlog, dropped, grown, verdict) in table {
            let dropped = before.dropped.wrapping_add(dropped);
            let host = [before.host[0] + grown[0], before.host[1] + grown[1]];
            let after = Queue { backlog, dropped, host, congestion: None, ..before };
            let found = report(&before, &after);
            assert_eq!(found.verdict, verdict, "{found:?}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn counters_are_found_by_name() {
        let text =
            "TcpExt: A ListenOverflows ListenDrops B\nTcpExt: 1 22 333 4\nIpExt: A\nIpExt: 5\n";
        assert_eq!(counters(text), Some([22, 333]));
        assert_eq!(counters("TcpExt: ListenOverflows\nTcpExt: 1\n"), None);
    }
}
