//! How long the packets took that a client's capture has within its clock's times: neither the clock nor the analyser.
//!
//! Where this and the report are the same and the clock is not, the program was slower than its packets: between its call
//! and the first of them, or between the last of them and its read.

use std::collections::BTreeMap;

use ackwise_capture::decode::decode;

use super::clocks::{Clock, Clocks};
use crate::truth::reading::Packets;

/// From the first packet of the client to the last of the server, in nanoseconds, over all exchanges. `None` if a
/// client did not tell its ports or times, or there are no such packets.
pub(super) fn sum(packets: &Packets, clocks: &Clocks) -> Option<u64> {
    let mut by_port: BTreeMap<u16, Seen> =
        clocks.exchanges.iter().map(|it| (it.port, Seen::default())).collect();
    for (number, packet) in (1..).zip(&packets.packets) {
        let Ok(it) = decode(&packet.frame(number)) else { continue };
        let at = it.at.as_nanos();
        if it.segment.sequence_length() > 0
            && let Some(seen) = by_port.get_mut(&it.source.port())
        {
            seen.from_client.push(at);
        } else if it.segment.len > 0
            && let Some(seen) = by_port.get_mut(&it.destination.port())
        {
            seen.from_server.push(at);
        }
    }
    clocks.exchanges.iter().map(|it| by_port.get(&it.port)?.span(it)).sum()
}

/// When packets were captured: those with data, and SYN and FIN of the client.
#[derive(Debug, Default)]
struct Seen {
    from_client: Vec<u64>,
    from_server: Vec<u64>,
}

impl Seen {
    fn span(&self, clock: &Clock) -> Option<u64> {
        let from = clock.from_ns?.saturating_sub(SLACK);
        let until = clock.from_ns? + clock.total_ns? + SLACK;
        let first = self.from_client.iter().find(|it| **it >= from)?;
        let last = self.from_server.iter().rfind(|it| **it <= until)?;
        last.checked_sub(*first)
    }
}

/// Programs read their clocks with an error of some µs. Our choice.
const SLACK: u64 = 200_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_lasts_from_its_first_packet_to_its_last() {
        let seen = Seen {
            from_client: vec![1_000_000, 5_000_000, 20_000_000],
            from_server: vec![4_000_000, 9_000_000, 30_000_000],
        };
        let clock = |from_us: u64, total_us: u64| Clock {
            port: 1,
            number: 0,
            from_ns: Some(from_us * 1_000),
            total_ns: Some(total_us * 1_000),
            client_ns: None,
            server_ns: None,
        };
        assert_eq!(seen.span(&clock(900, 9_000)), Some(8_000_000));
        assert_eq!(seen.span(&clock(4_900, 5_000)), Some(4_000_000));
        // Nothing of the server is in this time.
        assert_eq!(seen.span(&clock(19_000, 2_000)), None);
        assert_eq!(seen.span(&Clock { from_ns: None, ..clock(900, 9_000) }), None);
    }
}
