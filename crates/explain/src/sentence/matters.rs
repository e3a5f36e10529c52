//! What of the time matters: what somebody could notice, and can do something about that is not done already.

use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use ackwise_capture::{
    analysis::{Analysis, ExchangeResult},
    attribution::Share,
};
use ackwise_cause::Cause;
use ackwise_tcp::Instant;

use crate::totals::{Notable, Total, Totals, least_notable};

/// A stall below this part of all time is not what matters. Our choice.
const WORTH_SAYING: u32 = 50;

/// The same of what is no stall: where the path and what cannot be changed take nine tenths, neither end can change
/// much. Our choice.
const WORTH_WORK: u32 = 10;

/// Whether `count` of `all` are enough to be mentioned.
pub(super) const fn is_worth_saying(count: usize, all: usize) -> bool {
    count.saturating_mul(WORTH_SAYING as usize) > all
}

/// The stall that takes most of the time of exchanges that it delays noticeably.
pub(super) fn largest_stall(totals: &Totals) -> Option<Total> {
    let stalls = totals.causes.iter().filter(|it| it.cause.is_stall());
    let most = stalls.max_by_key(|it| it.notable.span)?;
    (most.notable.span * WORTH_SAYING > totals.span).then_some(*most)
}

/// What else takes most of the time and can be changed.
pub(super) fn largest_avoidable(analysis: &Analysis, totals: &Totals) -> Option<Total> {
    let causes = totals.whole_causes().filter(|it| !it.cause.is_stall());
    // Of equal ones, the first.
    causes
        .filter(|it| matters(analysis, it, totals))
        .reduce(|most, it| if it.span > most.span { it } else { most })
}

/// Whether a cause that is no stall takes enough time of enough exchanges, and whether a change can avoid that.
pub(super) fn matters(analysis: &Analysis, total: &Total, totals: &Totals) -> bool {
    let avoidable = match total.cause {
        Cause::Handshake | Cause::TlsHandshake => repeated_setup(analysis),
        Cause::SlowStart if !begins_small(analysis) => Notable::default(),
        cause if cause.remedy(total.direction).is_none() => Notable::default(),
        _ => total.notable,
    };
    is_considerable(avoidable, totals)
}

/// Whether that is enough of the time.
pub(super) fn is_considerable(part: Notable, totals: &Totals) -> bool {
    part.exchanges > 0 && part.span * WORTH_WORK >= totals.span
}

/// Whether what took time is a delay of the path or of a program, not an open question.
pub(super) fn is_explained(totals: &Totals) -> bool {
    let is_open = |cause| matches!(cause, Cause::Unknown | Cause::CongestionWindow | Cause::Pacing);
    !totals.whole_causes().any(|it| is_open(it.cause) && is_considerable(it.notable, totals))
}

/// The setup of connections that an exchange waited for although its client had a connection to the same server that
/// had answered before: that one could have been used again. Not of clients that use most connections again already.
fn repeated_setup(analysis: &Analysis) -> Notable {
    let least = least_notable(Cause::Handshake);
    let setup = |it: &ExchangeResult| -> Duration {
        let is_setup = |it: &Share| matches!(it.cause, Cause::Handshake | Cause::TlsHandshake);
        it.shares.iter().filter(is_setup).map(|it| it.span).sum()
    };
    // Most captures have none that took so long.
    let counts = |it: &ExchangeResult| it.duration >= least && setup(it) >= least;
    if !analysis.exchanges.iter().any(counts) {
        return Notable::default();
    }
    let mut uses: BTreeMap<(IpAddr, SocketAddr), [u64; 2]> = BTreeMap::new();
    for connection in analysis.connections.iter().filter(|it| it.exchanges > 0) {
        let uses = uses.entry((connection.client.ip(), connection.server)).or_default();
        *uses = [uses[0] + 1, uses[1] + u64::from(connection.exchanges)];
    }
    let mut answered: BTreeMap<(IpAddr, SocketAddr), Instant> = BTreeMap::new();
    let mut repeated = Notable::default();
    for exchange in &analysis.exchanges {
        let connection = &analysis.connections[exchange.connection as usize];
        let pair = (connection.client.ip(), connection.server);
        let end = exchange.start + exchange.duration;
        let earlier = answered.get(&pair).is_some_and(|it| *it <= exchange.start);
        let reuses = uses.get(&pair).is_some_and(|[connections, all]| connections * 2 < *all);
        if earlier && !reuses && counts(exchange) {
            repeated.span += setup(exchange);
            repeated.exchanges += 1;
        }
        if exchange.complete {
            answered.entry(pair).and_modify(|it| *it = (*it).min(end)).or_insert(end);
        }
    }
    repeated
}

/// Whether slow start can be shortened: connections are not reused, or they begin with less than is usual today.
fn begins_small(analysis: &Analysis) -> bool {
    /// RFC 6928.
    const USUAL_WINDOW: u32 = 10;
    let is_small = |window: Option<u32>| window.is_some_and(|it| it < USUAL_WINDOW);
    repeated_setup(analysis).exchanges > 0
        || analysis.connections.iter().any(|it| is_small(it.initial_window))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ackwise_capture::{analysis::Analyser, decode::Seen};
    use ackwise_tcp::{Flags, Options, Segment, SeqNumber};

    use super::*;
    use crate::sentence;

    /// Connections with a handshake of `round_trip` milliseconds, the next `apart` after the first, with as many
    /// exchanges, one after the other, which the server answers within 0.1 ms.
    fn capture(connections: u32, exchanges: u32, round_trip: f64, apart: f64) -> Analysis {
        const ASKS: &[u8] = b"GET / HTTP/1.1\r\n\r\n";
        const ANSWERS: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";
        let mut packets = Vec::new();
        for connection in 0..connections {
            let mut at = f64::from(connection) * apart;
            let mut send = |at: f64, to_server: bool, syn: bool, seq, ack, data: &'static [u8]| {
                packets.push((at, connection, to_server, syn, seq, ack, data));
            };
            send(at, true, true, 0, None, &[]);
            send(at + round_trip, false, true, 0, Some(1), &[]);
            send(at + round_trip + 0.01, true, false, 1, Some(1), &[]);
            at += round_trip + 0.02;
            let (mut asked, mut answered) = (1, 1);
            for _ in 0..exchanges {
                send(at, true, false, asked, Some(answered), ASKS);
                asked += u32::try_from(ASKS.len()).unwrap();
                send(at + round_trip + 0.1, false, false, answered, Some(asked), ANSWERS);
                answered += u32::try_from(ANSWERS.len()).unwrap();
                at += round_trip + 0.2;
                send(at, true, false, asked, Some(answered), &[]);
                at += 0.1;
            }
        }
        packets.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut analyser = Analyser::default();
        for (number, (at, connection, to_server, syn, seq, ack, payload)) in (1..).zip(packets) {
            let ends = [format!("10.0.0.1:{}", 50_000 + connection), "10.0.0.2:80".to_owned()];
            let ends = ends.map(|it| it.parse().unwrap());
            let [source, destination] = if to_server { ends } else { [ends[1], ends[0]] };
            let mss = syn.then_some(1_460);
            analyser.handle(&Seen {
                number,
                at: Instant::EPOCH + Duration::from_secs_f64(at / 1e3),
                interface: 0,
                source,
                destination,
                segment: Segment {
                    seq: SeqNumber(seq),
                    ack: ack.map(SeqNumber),
                    len: u32::try_from(payload.len()).unwrap(),
                    flags: Flags { syn, psh: !payload.is_empty(), ..Flags::NONE },
                    window: u16::MAX,
                    options: Options { mss, sack_permitted: syn, ..Options::NONE },
                    ..Segment::default()
                },
                payload,
                hop_limit: 64,
                identification: 0,
                fragment: false,
                options_cut: false,
                station: None,
            });
        }
        analyser.finish()
    }

    #[test]
    fn connections_should_be_reused_where_they_could_have_been_and_were_not() {
        for (connections, exchanges, round_trip, apart, reuse) in [
            // One after the other, for one exchange each.
            (5, 1, 25.0, 100.0, true),
            // As near as a LAN: it takes no time.
            (5, 1, 5.0, 100.0, false),
            // All at the same time: none was free.
            (5, 1, 20.0, 1.0, false),
            (5, 20, 20.0, 1.0, false),
            // Only one, or few for many exchanges.
            (1, 1, 20.0, 0.0, false),
            (2, 50, 20.0, 5_000.0, false),
            // Most are used again.
            (5, 2, 25.0, 200.0, true),
            (5, 3, 25.0, 200.0, false),
        ] {
            let analysis = capture(connections, exchanges, round_trip, apart);
            let text = sentence(&analysis);
            let case = format!("{connections}, {exchanges}, {round_trip}, {apart}: {text}");
            assert_eq!(analysis.exchanges.len(), (connections * exchanges) as usize, "{case}");
            assert_eq!(text.contains("Fix: reuse connections"), reuse, "{case}");
            assert_eq!(text.starts_with("Nothing to change: "), !reuse, "{case}");
        }
    }
}
