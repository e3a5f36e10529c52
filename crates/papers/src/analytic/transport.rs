//! How long a page takes: the variants of the paper, and two of its successors.

use std::num::NonZeroU32;

use super::{
    path::{Exchange, Path},
    slow_start::{Rounds, Start},
};

/// What a page's exchanges travel over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Transport {
    /// A connection for each file, one after the other (HTTP/1.0).
    SimpleHttp,
    /// One new connection; each request after the reply before it (P-HTTP).
    Persistent,
    /// The same on a connection that is open and whose window is too.
    PersistentCached,
    /// Transaction TCP that has not talked to this server yet: only the first file sets up.
    Transaction,
    /// Transaction TCP with a cached connection count: no set-up, but slow start for each file.
    TransactionCached,
    /// Request and response over UDP, as with the Prospero project's ARDP.
    Ardp {
        /// Its packet window; the paper's is not known. `None` is the lower bound of all
        /// transports.
        window: Option<NonZeroU32>,
    },
    /// The first file on one connection, then the others on several connections at once. First-order model:
    /// each connection has an equal share of the bottleneck.
    Parallel {
        /// Number of connections.
        connections: NonZeroU32,
    },
    /// One connection; all further requests at once, after the first reply.
    Pipelined,
}

/// A transport that reports compare, and how they call it.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    /// In words.
    pub name: &'static str,
    /// As a measure, whose unit is milliseconds.
    pub measure: &'static str,
    /// What it is.
    pub transport: Transport,
}

/// Those that reports compare, in their order.
pub const COMPARED: [Compared; 8] = [
    compared("simple HTTP", "http_ms", Transport::SimpleHttp),
    compared("4 parallel connections", "parallel_4_ms", Transport::Parallel { connections: FOUR }),
    compared("P-HTTP", "p_http_ms", Transport::Persistent),
    compared("P-HTTP, connection open", "p_http_cached_ms", Transport::PersistentCached),
    compared("P-HTTP, pipelined", "pipelined_ms", Transport::Pipelined),
    compared("T/TCP, first contact", "t_tcp_ms", Transport::Transaction),
    compared("T/TCP, known server", "t_tcp_cached_ms", Transport::TransactionCached),
    compared("UDP, no slow start", "udp_ms", Transport::Ardp { window: None }),
];

const fn compared(name: &'static str, measure: &'static str, transport: Transport) -> Compared {
    Compared { name, measure, transport }
}

/// How long a page takes by each transport that reports compare, in seconds.
#[must_use]
pub fn compare(page: &[Exchange], path: Path, start: Start) -> [(Compared, f64); COMPARED.len()] {
    COMPARED.map(|compared| (compared, page_time(compared.transport, page, path, start)))
}

const FOUR: NonZeroU32 = NonZeroU32::new(4).expect("4 is not 0");

/// How long a page takes from the first SYN, or request, to its last byte; in seconds.
#[must_use]
pub fn page_time(transport: Transport, page: &[Exchange], path: Path, start: Start) -> f64 {
    let least = page.iter().map(|exchange| exchange.least_time(path)).sum::<f64>();
    let afresh = || page.iter().map(|exchange| stalled(exchange, path, start)).sum::<f64>();
    #[expect(clippy::cast_precision_loss, reason = "a page has not 2^53 files")]
    match transport {
        Transport::SimpleHttp => page.len() as f64 * path.setup() + least + afresh(),
        Transport::Persistent => path.setup() + least + carried_on(page, path, start).stalled,
        Transport::PersistentCached => least,
        Transport::Transaction => path.setup() + least + afresh(),
        Transport::TransactionCached => least + afresh(),
        Transport::Ardp { window } => least + window.map_or(0.0, |it| windowed(page, path, it)),
        Transport::Parallel { connections } => parallel(page, path, start, connections),
        Transport::Pipelined => pipelined(page, path, start),
    }
}

/// What slow start costs a file on a new connection.
fn stalled(exchange: &Exchange, path: Path, start: Start) -> f64 {
    Rounds::of(path.segments(exchange.reply), start, path).stalled
}

/// What slow start costs replies that follow each other on one connection: each begins with the
/// window that the one before has left. The wait between two is the round trip that
/// [`Exchange::least_time`] already has.
fn carried_on(page: &[Exchange], path: Path, start: Start) -> Rounds {
    let begin = Rounds { stalled: 0.0, stalls: 0, window: start.window };
    page.iter().fold(begin, |before, exchange| {
        let start = Start { window: before.window, ..start };
        let Rounds { stalled, stalls, window } =
            Rounds::of(path.segments(exchange.reply), start, path);
        Rounds { stalled: before.stalled + stalled, stalls: before.stalls + stalls, window }
    })
}

/// What a window of constant size costs.
#[expect(clippy::cast_precision_loss, reason = "a reply has not 2^53 segments")]
fn windowed(page: &[Exchange], path: Path, window: NonZeroU32) -> f64 {
    let gap = path.rtt + path.segment_time() - f64::from(window.get()) * path.segment_time();
    let full = |exchange: &Exchange| {
        path.segments(exchange.reply).div_ceil(u64::from(window.get())).saturating_sub(1) as f64
    };
    page.iter().map(full).sum::<f64>() * gap.max(0.0)
}

/// Files are dealt out in turn. The page waits for the connection that would end last if it were
/// alone, or for the bottleneck, which has to carry them all.
fn parallel(page: &[Exchange], path: Path, start: Start, connections: NonZeroU32) -> f64 {
    let [primary, inlines @ ..] = page else { return 0.0 };
    let alone = |exchange: &Exchange| {
        path.setup() + exchange.least_time(path) + stalled(exchange, path, start)
    };
    let parallel_connections =
        connections.get().min(u32::try_from(inlines.len()).unwrap_or(u32::MAX)).max(1);
    let dealt =
        |turn: u32| inlines.iter().skip(turn as usize).step_by(parallel_connections as usize);
    let ends = (0..parallel_connections).map(|turn| dealt(turn).map(alone).sum::<f64>());
    let carried = together(inlines).map_or(0.0, |all| path.setup() + all.least_time(path));
    alone(primary) + ends.fold(carried, f64::max)
}

/// All of them as one exchange, whose ends work on one while another travels.
fn together(exchanges: &[Exchange]) -> Option<Exchange> {
    let first = exchanges.first()?;
    Some(Exchange {
        request: exchanges.iter().map(|exchange| exchange.request).sum(),
        reply: exchanges.iter().map(|exchange| exchange.reply).sum(),
        ..*first
    })
}

/// One round trip for all inlines together.
fn pipelined(page: &[Exchange], path: Path, start: Start) -> f64 {
    let [primary, inlines @ ..] = page else { return 0.0 };
    let first = Rounds::of(path.segments(primary.reply), start, path);
    let begun = path.setup() + primary.least_time(path) + first.stalled;
    let Some(all) = together(inlines) else { return begun };
    let all = Exchange { server: inlines.iter().map(|exchange| exchange.server).sum(), ..all };
    let start = Start { window: first.window, ..start };
    begun + all.least_time(path) + stalled(&all, path, start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analytic::Acks;

    /// 10 bytes take 1 ms, a round trip takes 100.
    const PATH: Path = Path { rtt: 0.1, bandwidth: 10_000.0, mss: 100 };
    const START: Start = Start { window: 2, acks: Acks::EverySegment };

    fn file(reply: u64) -> Exchange {
        Exchange { request: 10, reply, client: 0.001, server: 0.002 }
    }

    fn milliseconds(transport: Transport, page: &[Exchange]) -> f64 {
        (page_time(transport, page, PATH, START) * 1e6).round() / 1e3
    }

    #[test]
    fn a_page_of_two_files_by_every_transport() {
        // Least time: 1 + 100 + 1 + 2 + 40 = 144 and 1 + 100 + 1 + 2 + 20 = 124 ms. Set-up: 108 ms.
        // The first file is 4 segments of 10 ms: 2, then a stall of 100 + 10 - 20 = 90 ms, then 2.
        let page = [file(400), file(200)];
        let window = NonZeroU32::new(2);
        let table = [
            (Transport::SimpleHttp, 108.0 + 144.0 + 90.0 + 108.0 + 124.0),
            (Transport::Persistent, 108.0 + 144.0 + 90.0 + 124.0),
            (Transport::PersistentCached, 144.0 + 124.0),
            (Transport::Transaction, 108.0 + 144.0 + 90.0 + 124.0),
            (Transport::TransactionCached, 144.0 + 90.0 + 124.0),
            (Transport::Ardp { window: None }, 144.0 + 124.0),
            (Transport::Ardp { window }, 144.0 + 90.0 + 124.0),
            (Transport::Parallel { connections: NonZeroU32::MIN }, 342.0 + 108.0 + 124.0),
            (Transport::Pipelined, 342.0 + 124.0),
        ];
        for (transport, expected) in table {
            assert_eq!(milliseconds(transport, &page), expected, "{transport:?}");
        }
    }

    #[test]
    fn two_at_once_wait_for_the_longer_or_for_the_bottleneck() {
        let connections = NonZeroU32::new(2).unwrap();
        let parallel = |page: &[Exchange]| milliseconds(Transport::Parallel { connections }, page);
        // 222 for the first; together: set-up 108, then 1 + 100 + 2 + 2 + 30; the longer alone 232.
        assert_eq!(parallel(&[file(100), file(100), file(200)]), 222.0 + 243.0);
        // Of three, one connection has two: 108 + 114 each.
        let four = [file(100), file(100), file(100), file(100)];
        assert_eq!(parallel(&four), 222.0 + 2.0 * 222.0);
    }

    #[test]
    fn pipelined_inlines_share_one_round_trip() {
        let page = [file(100), file(100), file(100)];
        assert_eq!(
            milliseconds(Transport::Pipelined, &page),
            222.0 + 1.0 + 100.0 + 2.0 + 4.0 + 20.0
        );
    }

    #[test]
    fn nothing_is_faster_than_the_lower_bound() {
        let page = [file(6877), file(4109), file(2092)];
        let bound = page_time(Transport::Ardp { window: None }, &page, PATH, START);
        for transport in [
            Transport::SimpleHttp,
            Transport::Persistent,
            Transport::PersistentCached,
            Transport::Transaction,
            Transport::TransactionCached,
        ] {
            assert!(page_time(transport, &page, PATH, START) >= bound, "{transport:?}");
        }
    }

    #[test]
    fn an_empty_page_takes_no_more_than_its_set_up() {
        for transport in
            [Transport::Pipelined, Transport::Parallel { connections: NonZeroU32::MIN }]
        {
            assert_eq!(page_time(transport, &[], PATH, START), 0.0);
        }
    }
}
