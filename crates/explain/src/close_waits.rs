//! Clients that have a complete response and read on until the server closes: what they do next waits for its idle timeout.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ackwise_capture::analysis::{Analysis, ConnectionResult};
use ackwise_cause::Party;
use ackwise_tcp::Instant;
use ackwise_text::words::{counted, rounded};
use ackwise_units::statistics::middle;

/// Shorter waits are a server that closes behind its response. Our choice.
const LEAST_WAIT: Duration = Duration::from_millis(100);
/// Who has waited goes on as soon, and one round trip. Our choice.
const SOON: Duration = Duration::from_millis(50);
/// Once may be chance. Our choice.
const LEAST_TIMES: usize = 2;

/// A note for each client that waited so for most of its connections to one server.
pub(super) fn notes(analysis: &Analysis) -> Vec<String> {
    // By connection: most captures have many exchanges, and nothing of this.
    let mut ends = vec![None; analysis.connections.len()];
    for it in analysis.exchanges.iter().filter(|it| it.complete) {
        let end = &mut ends[it.connection as usize];
        *end = (*end).max(Some(it.start + it.duration));
    }
    // A stream of events goes on behind the exchange that opened it.
    for (connection, end) in analysis.connections.iter().zip(&mut ends) {
        *end = (*end).max(connection.tunnels.iter().map(|it| it.until).max());
    }
    let waits = |it: &&ConnectionResult| wait(it, &ends).is_some();
    if analysis.connections.iter().filter(waits).count() < LEAST_TIMES {
        return Vec::new();
    }
    let mut all: BTreeMap<(IpAddr, SocketAddr), Vec<&ConnectionResult>> = BTreeMap::new();
    for it in analysis.connections.iter().filter(|it| it.exchanges > 0) {
        all.entry((it.client.ip(), it.server)).or_default().push(it);
    }
    let note = |((client, server), mut connections): (_, Vec<&ConnectionResult>)| {
        connections.sort_by_key(|it| it.first_seen);
        let pairs = connections.windows(2);
        let waits = pairs.filter_map(|it| wait(it[0], &ends).filter(|_| goes_on(it[0], it[1])));
        let waits: Vec<_> = waits.collect();
        let is_usual = waits.len() >= LEAST_TIMES && waits.len() * 2 >= connections.len();
        is_usual.then(|| said(client, server, waits))
    };
    all.into_iter().filter_map(note).collect()
}

/// How long a client had nothing to wait for on a connection but that the server closes it.
fn wait(it: &ConnectionResult, ends: &[Option<Instant>]) -> Option<Duration> {
    let closed = it.server_closed.filter(|_| it.closed_first == Some(Party::Server))?;
    let wait = closed.saturating_since((*ends.get(it.id as usize)?)?);
    (wait >= LEAST_WAIT).then_some(wait)
}

/// Whether the client went on with the next one then.
fn goes_on(one: &ConnectionResult, next: &ConnectionResult) -> bool {
    let later = one.server_closed.filter(|closed| next.first_seen >= *closed);
    later.is_some_and(|closed| next.first_seen.saturating_since(closed) <= SOON + one.round_trip)
}

fn said(client: IpAddr, server: SocketAddr, waits: Vec<Duration>) -> String {
    format!(
        "After complete responses, {client} did nothing until {server} closed the connection: {}, median {}. If the client \
         reads until the connection ends, let it read Content-Length bytes instead, or send `Connection: close`.",
        counted(waits.len() as u64, "time"),
        rounded(middle(waits).unwrap_or_default()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failures::tests::{Host, Pair};

    #[test]
    fn who_goes_on_when_the_server_has_closed_has_waited_for_that() {
        for (why, idle, after, times, expected) in [
            ("waits", 5_000, 10, 4, true),
            ("once", 5_000, 10, 2, false),
            ("the server closes at once", 50, 10, 4, false),
            ("goes on when it likes", 5_000, 700, 4, false),
            // A pool that opens the next one for another request.
            ("goes on before", 5_000, -100, 4, false),
        ] {
            let mut host = Host::default();
            let (mut packets, mut at) = (Vec::new(), 0_i64);
            for port in 0..times {
                packets.push((at, port, true));
                packets.push((at + 40 + idle, port, false));
                at += 40 + idle + after;
            }
            packets.sort_unstable();
            for (at, port, begins) in packets {
                let pair = Pair(1_000 + port, "10.0.0.2:80");
                match begins {
                    true => host.exchange(pair, at.unsigned_abs()),
                    false => host.close(pair, at.unsigned_abs()),
                }
            }
            let notes = notes(&host.finish());
            assert_eq!(!notes.is_empty(), expected, "{why}: {notes:?}");
            let told = "10.0.0.1 did nothing until 10.0.0.2:80 closed the connection: 3 times, median 5.00 s";
            assert!(!expected || notes[0].contains(told), "{why}: {notes:?}");
        }
    }
}
