//! However a capture is handed over, and however many threads judge it: it says the same.

use std::{net::SocketAddr, num::NonZeroUsize};

use ackwise_capture::{
    analysis::{Analyser, Analysis, Batch},
    decode::Seen,
};
use ackwise_tcp::{Flags, Instant, Segment, SeqNumber};
use proptest::{prelude::*, test_runner::RngSeed};

const REQUEST: &[u8] = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";

/// A connection, and what becomes of its packets.
#[derive(Clone, Debug)]
struct Planned {
    /// One of few, so that ports are used again.
    port: u16,
    host: u8,
    initial: u32,
    start: u64,
    /// Between two packets.
    pace: u64,
    exchanges: u8,
    /// One packet in so many is not captured; 0 for none.
    lost: u64,
    closes: bool,
}

fn planned() -> impl Strategy<Value = Planned> {
    let fields = (
        5_000_u16..5_040,
        0_u8..3,
        any::<u32>(),
        0_u64..200_000,
        50_u64..60_000,
        1_u8..12,
        prop::sample::select(vec![0_u64, 0, 0, 7, 13]),
        any::<bool>(),
    );
    fields.prop_map(|(port, host, initial, start, pace, exchanges, lost, closes)| Planned {
        port,
        host,
        initial,
        start,
        pace,
        exchanges,
        lost,
        closes,
    })
}

/// A packet with the time in microseconds at which it is seen.
type Timed = (u64, Seen<'static>);

impl Planned {
    fn packets(&self) -> Vec<Timed> {
        let mut wire =
            Wire { plan: self, packets: Vec::new(), next: [self.initial, !self.initial] };
        let syn = Flags { syn: true, ..Flags::NONE };
        wire.send(true, syn, b"", true);
        wire.send(false, syn, b"", false);
        wire.send(true, Flags::NONE, b"", false);
        for _ in 0..self.exchanges {
            for (from_client, payload) in
                [(true, REQUEST), (false, HEAD), (true, b""), (false, b"12345")]
            {
                wire.send(from_client, Flags::NONE, payload, false);
            }
        }
        if self.closes {
            let fin = Flags { fin: true, ..Flags::NONE };
            wire.send(true, fin, b"", false);
            wire.send(false, fin, b"", false);
            wire.send(true, Flags::NONE, b"", false);
        }
        let lost = |number: usize| self.lost > 0 && (number as u64 + 1).is_multiple_of(self.lost);
        let kept = wire.packets.into_iter().enumerate().filter(|(number, _)| !lost(*number));
        kept.map(|(_, packet)| packet).collect()
    }
}

/// Writes down what two ends send.
struct Wire<'a> {
    plan: &'a Planned,
    packets: Vec<Timed>,
    /// The client's next sequence number, and the server's.
    next: [u32; 2],
}

impl Wire<'_> {
    fn send(&mut self, from_client: bool, flags: Flags, payload: &'static [u8], first: bool) {
        let Planned { port, host, start, pace, .. } = self.plan;
        let client: SocketAddr = ([10, 0, 0, *host], *port).into();
        let server: SocketAddr = ([10, 0, 1, 1], 80).into();
        let (source, destination) = if from_client { (client, server) } else { (server, client) };
        let [ours, theirs] = [usize::from(!from_client), usize::from(from_client)];
        let len = u32::try_from(payload.len()).expect("it is short");
        let segment = Segment {
            seq: SeqNumber(self.next[ours]),
            ack: (!first).then_some(SeqNumber(self.next[theirs])),
            flags,
            window: 60_000,
            len,
            ..Segment::default()
        };
        self.next[ours] = self.next[ours].wrapping_add(len + u32::from(flags.syn || flags.fin));
        let micros = start + pace * self.packets.len() as u64;
        let seen = Seen {
            number: 0,
            at: Instant::EPOCH,
            interface: 0,
            source,
            destination,
            segment,
            payload,
            hop_limit: 64,
            identification: 0,
            fragment: false,
            options_cut: false,
            station: None,
        };
        self.packets.push((micros, seen));
    }
}

/// All packets in order of time.
fn capture(plans: &[Planned]) -> Vec<Seen<'static>> {
    let mut packets: Vec<Timed> = plans.iter().flat_map(Planned::packets).collect();
    packets.sort_by_key(|(micros, _)| *micros);
    let numbered = (1..).zip(packets).map(|(number, (micros, seen))| {
        // No two at once: which of them came first would be arbitrary.
        Seen { number, at: Instant::from_nanos(micros * 1_000 + number), ..seen }
    });
    numbered.collect()
}

fn one_by_one(packets: &[Seen<'static>]) -> Analysis {
    let mut analyser = Analyser::default();
    packets.iter().for_each(|seen| analyser.handle(seen));
    analyser.finish()
}

/// In batches of `size`, on `threads`.
fn in_batches(packets: &[Seen<'static>], size: usize, threads: usize) -> Analysis {
    let threads = NonZeroUsize::new(threads).expect("there is one at least");
    let mut analyser = Analyser::default().with_threads(threads);
    let mut batch = Batch::default();
    for part in packets.chunks(size) {
        part.iter().for_each(|seen| batch.push(seen));
        batch = analyser.handle_batch(batch);
        assert!(batch.is_empty());
    }
    analyser.finish()
}

fn config() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(20_261_123), cases: 96, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn batches_and_threads_change_nothing(
        plans in prop::collection::vec(planned(), 1..60),
        size in prop::sample::select(vec![1_usize, 3, 64, 500, 100_000]),
    ) {
        let packets = capture(&plans);
        let expected = format!("{:#?}", one_by_one(&packets));
        for threads in [1, 2, 5] {
            let found = format!("{:#?}", in_batches(&packets, size, threads));
            prop_assert!(found == expected, "{threads} threads, batches of {size}");
        }
    }
}

#[test]
fn a_batch_with_copies_is_judged_like_its_packets() {
    let plan = Planned {
        port: 5_000,
        host: 1,
        initial: 9,
        start: 0,
        pace: 400,
        exchanges: 3,
        lost: 0,
        closes: true,
    };
    // Each packet is seen on two interfaces of the host; the first of them before any other is known.
    let packets: Vec<_> = capture(&[plan])
        .into_iter()
        .flat_map(|seen| [seen, Seen { interface: 1, number: seen.number + 1_000, ..seen }])
        .collect();
    let expected = one_by_one(&packets);
    assert_eq!((expected.connections.len(), expected.copies), (1, packets.len() as u64 / 2));
    for size in [1, 2, 7, 1_000] {
        let found = in_batches(&packets, size, 2);
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "batches of {size}");
    }
}
