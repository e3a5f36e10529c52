//! However a capture is handed over, and however many threads judge it: it says the same.

use std::{net::SocketAddr, num::NonZeroUsize};

use ackwise_capture::{
    analysis::{Analyser, Analysis, Batch},
    decode::{RawSegment, decode},
    frame,
    read::{Frame, LinkType},
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

/// A packet, and when and where it is seen.
#[derive(Clone, Debug)]
struct Packet {
    number: u64,
    micros: u64,
    interface: u32,
    bytes: Vec<u8>,
}

impl Packet {
    /// As a frame with these bytes, which are its own.
    fn frame<'a>(&self, bytes: &'a [u8]) -> Frame<'a> {
        Frame {
            number: self.number,
            // No two at once: which of them came first would be arbitrary.
            at: Instant::from_nanos(self.micros * 1_000 + self.number),
            interface: self.interface,
            link_type: LinkType::RAW,
            original_len: u32::try_from(bytes.len()).expect("it is short"),
            bytes,
            direction: None,
            lost_before: 0,
        }
    }
}

impl Planned {
    fn packets(&self) -> Vec<Packet> {
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
    packets: Vec<Packet>,
    /// The client's next sequence number, and the server's.
    next: [u32; 2],
}

impl Wire<'_> {
    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
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
        let mut bytes = Vec::new();
        frame::write(&mut bytes, source, destination, &segment, payload).expect("it is short");
        self.packets.push(Packet { number: 0, micros, interface: 0, bytes });
    }
}

/// All packets in order of time.
fn capture(plans: &[Planned]) -> Vec<Packet> {
    let mut packets: Vec<Packet> = plans.iter().flat_map(Planned::packets).collect();
    packets.sort_by_key(|it| it.micros);
    let numbered = (1..).zip(packets).map(|(number, packet)| Packet { number, ..packet });
    numbered.collect()
}

fn one_by_one(packets: &[Packet]) -> Analysis {
    let mut analyser = Analyser::default();
    for packet in packets {
        analyser.handle(&decode(&packet.frame(&packet.bytes)).expect("it is TCP"));
    }
    analyser.finish()
}

/// How packets get into a batch.
#[derive(Clone, Copy, Debug)]
enum Storage {
    Copied,
    InPlace,
}

/// In batches of `size`, on `threads`.
fn in_batches(packets: &[Packet], size: usize, threads: usize, storage: Storage) -> Analysis {
    let threads = NonZeroUsize::new(threads).expect("there is one at least");
    let mut analyser = Analyser::default().with_threads(threads);
    let mut batch = Batch::default();
    for part in packets.chunks(size) {
        match storage {
            Storage::Copied => copy(part, &mut batch),
            Storage::InPlace => leave(part, &mut batch),
        }
        batch = analyser.handle_batch(batch);
        assert!(batch.is_empty());
    }
    analyser.finish()
}

fn copy(packets: &[Packet], batch: &mut Batch) {
    for packet in packets {
        batch.push(&RawSegment::find(&packet.frame(&packet.bytes)).expect("it is TCP"));
    }
}

fn leave(packets: &[Packet], batch: &mut Batch) {
    let mut block = batch.take_block();
    let all: usize = packets.iter().map(|it| it.bytes.len()).sum();
    block.resize(all.max(block.len()), 0);
    let mut end = 0;
    let places: Vec<_> = packets
        .iter()
        .map(|it| {
            let place = end..end + it.bytes.len();
            end = place.end;
            block[place.clone()].copy_from_slice(&it.bytes);
            place
        })
        .collect();
    for (packet, place) in packets.iter().zip(places) {
        batch.push_in_place(&RawSegment::find(&packet.frame(&block[place])).expect("it is TCP"));
    }
    batch.own(block);
}

fn config() -> ProptestConfig {
    ProptestConfig { rng_seed: RngSeed::Fixed(20_261_123), cases: 96, ..ProptestConfig::default() }
}

/// The same, of which some were captured on another interface, and some on both.
fn on_two_interfaces(packets: Vec<Packet>, other: u64, both: u64) -> Vec<Packet> {
    let is_one_in = |number: u64, many: u64| many > 0 && number.is_multiple_of(many);
    let seen = |mut it: Packet| {
        it.interface = u32::from(is_one_in(it.number, other));
        let again = is_one_in(it.number, both).then(|| {
            let (number, interface) = (it.number + 100_000, 1 - it.interface);
            Packet { number, interface, ..it.clone() }
        });
        std::iter::once(it).chain(again)
    };
    packets.into_iter().flat_map(seen).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn batches_and_threads_change_nothing(
        plans in prop::collection::vec(planned(), 1..60),
        size in prop::sample::select(vec![1_usize, 3, 64, 500, 100_000]),
        [other, both] in prop::sample::select(vec![[0_u64; 2], [0; 2], [170, 0], [3, 0], [2, 5], [90, 40]]),
    ) {
        let packets = on_two_interfaces(capture(&plans), other, both);
        let expected = format!("{:#?}", one_by_one(&packets));
        for (threads, storage) in [(1, Storage::Copied), (2, Storage::InPlace), (5, Storage::Copied)] {
            let found = format!("{:#?}", in_batches(&packets, size, threads, storage));
            prop_assert!(found == expected, "{threads} threads, batches of {size}, {storage:?}");
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
    let again = |it: Packet| [Packet { interface: 1, number: it.number + 1_000, ..it.clone() }, it];
    let packets: Vec<_> =
        capture(&[plan]).into_iter().flat_map(|it| again(it).into_iter().rev()).collect();
    let expected = one_by_one(&packets);
    assert_eq!((expected.connections.len(), expected.copies), (1, packets.len() as u64 / 2));
    for (size, storage) in [
        (1, Storage::Copied),
        (2, Storage::InPlace),
        (7, Storage::Copied),
        (1_000, Storage::InPlace),
    ] {
        let found = in_batches(&packets, size, 2, storage);
        assert_eq!(format!("{found:?}"), format!("{expected:?}"), "batches of {size}, {storage:?}");
    }
}
