//! Whole captures, written by hand: one packet a line.

mod endings;
mod put_off;

use std::{net::SocketAddr, time::Duration};

use ackwise_cause::{Cause, Party};
use ackwise_tcp::{Flags, Instant, Options, Segment, SeqNumber, Timestamps};

use crate::{
    analysis::{Analyser, Analysis},
    attribution::{Confidence, Vantage},
    decode::Seen,
};

const REQUEST: &[u8] = b"GET /a?secret HTTP/1.1\r\nHost: a\r\n\r\n";
const EXPECTATION: &[u8] = b"PUT /a HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";

/// What goes over the wire, as it is seen at one side.
struct Wire {
    analyser: Analyser,
    number: u64,
}

/// Where a packet is seen, and which addresses it has there.
#[derive(Clone, Copy)]
struct Side {
    interface: u32,
    client: &'static str,
    server: &'static str,
    micros_later: u64,
}

const BEFORE_NAT: Side =
    Side { interface: 0, client: "10.0.0.1:5000", server: "10.96.0.1:80", micros_later: 0 };
const BEHIND_NAT: Side =
    Side { interface: 1, client: "10.0.0.1:5000", server: "10.244.0.5:8080", micros_later: 8 };

/// When, from the client or not, its number and what it acknowledges, its flags and data.
type Packet = (u32, bool, u32, Option<u32>, Flags, &'static [u8]);

impl Wire {
    fn new() -> Self {
        Self { analyser: Analyser::default(), number: 0 }
    }

    /// A keep-alive connection on which the body waits 40 ms for the client's delayed ACK. Each
    /// packet is seen at `sides`, in this order from the client and in the other from the server.
    fn nagle(mut self, sides: &[Side]) -> Analysis {
        self.exchange(sides, usize::MAX);
        self.analyser.finish()
    }

    /// Carries the first `packets` packets of that exchange.
    fn exchange(&mut self, sides: &[Side], packets: usize) {
        let body = u32::try_from(HEAD.len()).unwrap();
        let all: [Packet; 10] = [
            (0, true, 0, None, Flags::SYN, &b""[..]),
            (200, false, 0, Some(1), Flags::SYN, b""),
            (400, true, 1, Some(1), Flags::NONE, b""),
            (500, true, 1, Some(1), Flags::PSH, REQUEST),
            (900, false, 1, Some(36), Flags::PSH, HEAD),
            (40_950, true, 36, Some(1 + body), Flags::NONE, b""),
            (41_160, false, 1 + body, Some(36), Flags::PSH, b"12345"),
            (41_300, true, 36, Some(6 + body), Flags::FIN, b""),
            (41_500, false, 6 + body, Some(37), Flags::FIN, b""),
            (41_700, true, 37, Some(7 + body), Flags::NONE, b""),
        ];
        self.carry(&all[..packets.min(all.len())], sides);
    }

    /// A client that expects 100 (Continue), and after a second sends the body without it.
    fn expectation(mut self) -> Analysis {
        let [head, body] = [EXPECTATION, HEAD].map(|it| 1 + u32::try_from(it.len()).unwrap());
        let packets = [
            (0, true, 0, None, Flags::SYN, &b""[..]),
            (200, false, 0, Some(1), Flags::SYN, b""),
            (400, true, 1, Some(1), Flags::NONE, b""),
            (500, true, 1, Some(1), Flags::PSH, EXPECTATION),
            (700, false, 1, Some(head), Flags::NONE, b""),
            (1_000_700, true, head, Some(1), Flags::PSH, b"12345"),
            (1_001_100, false, 1, Some(5 + head), Flags::PSH, HEAD),
            (1_001_150, false, body, Some(5 + head), Flags::PSH, b"12345"),
        ];
        self.carry(&packets, &[BEFORE_NAT]);
        self.analyser.finish()
    }

    fn carry(&mut self, packets: &[Packet], sides: &[Side]) {
        for &(at, from_client, seq, ack, flags, bytes) in packets {
            let segment = Segment {
                seq: SeqNumber(seq + if from_client { 7_000 } else { 90_000 }),
                ack: ack.map(|it| SeqNumber(it + if from_client { 90_000 } else { 7_000 })),
                flags,
                window: 1_000,
                options: Options {
                    mss: flags.syn.then_some(1_460),
                    timestamps: Some(Timestamps { value: at / 1_000, echo: 0 }),
                    ..Options::NONE
                },
                len: u32::try_from(bytes.len()).unwrap(),
                ..Segment::default()
            };
            let mut sides = sides.to_vec();
            if !from_client {
                sides.reverse();
            }
            for (side, later) in sides.iter().zip([0, sides[sides.len() - 1].micros_later]) {
                self.see(*side, from_client, segment, bytes, u64::from(at) + later);
            }
        }
    }

    fn see(&mut self, side: Side, from_client: bool, segment: Segment, bytes: &[u8], at: u64) {
        self.number += 1;
        let ends: [SocketAddr; 2] = [side.client.parse().unwrap(), side.server.parse().unwrap()];
        let [source, destination] = if from_client { ends } else { [ends[1], ends[0]] };
        self.analyser.handle(&Seen {
            number: self.number,
            at: Instant::EPOCH + Duration::from_micros(at),
            interface: side.interface,
            source,
            destination,
            segment,
            payload: bytes,
            hop_limit: 64,
            identification: segment
                .options
                .timestamps
                .map_or(0, |it| 1 + u16::try_from(it.value).unwrap()),
            fragment: false,
            options_cut: false,
            station: None,
        });
    }
}

fn stall(analysis: &Analysis) -> Duration {
    let [exchange] = &analysis.exchanges[..] else { panic!("{:?}", analysis.exchanges) };
    assert_eq!(exchange.request.as_deref(), Some("GET /a"), "the query is nobody's business");
    assert_eq!((exchange.status, exchange.complete, exchange.exact), (Some(200), true, true));
    exchange.owed_to(Cause::NagleDelayedAck)
}

#[test]
fn a_body_that_waits_for_a_delayed_acknowledgement_is_nagles() {
    let analysis = Wire::new().nagle(&[BEFORE_NAT]);
    let stall = stall(&analysis);
    assert!((Duration::from_millis(39)..Duration::from_millis(41)).contains(&stall), "{stall:?}");
}

#[test]
fn a_packet_that_is_seen_on_two_interfaces_and_behind_nat_is_one() {
    let clean = Wire::new().nagle(&[BEFORE_NAT]);
    let twice = Wire::new().nagle(&[BEFORE_NAT, Side { interface: 1, ..BEFORE_NAT }]);
    let translated = Wire::new().nagle(&[BEFORE_NAT, BEHIND_NAT]);
    for analysis in [&twice, &translated] {
        assert_eq!(analysis.connections.len(), 1);
        assert_eq!(analysis.connections[0].server, clean.connections[0].server);
        assert_eq!(analysis.connections[0].repeated, [0, 0]);
        assert_eq!(analysis.copies, 10);
        let [one, other] = [&clean, analysis].map(|it| &it.exchanges[0].shares);
        assert_eq!(one.iter().count(), other.iter().count());
        for (one, other) in one.iter().zip(other) {
            assert_eq!((one.cause, one.direction), (other.cause, other.direction));
            assert!(one.span.abs_diff(other.span) < Duration::from_micros(50), "{one:?} {other:?}");
        }
    }
}

#[test]
fn both_ends_are_here_if_their_addresses_are_of_one_host() {
    // A round trip takes 400 us, as on a busy machine.
    for (client, server, vantage) in [
        ("127.0.0.1:5000", "127.0.0.2:80", Vantage::OneHost),
        ("[::1]:5000", "[::1]:80", Vantage::OneHost),
        ("10.0.0.1:5000", "10.0.0.1:80", Vantage::OneHost),
        ("10.0.0.1:5000", "10.0.0.2:80", Vantage::Between),
        ("127.0.0.1:5000", "10.0.0.1:80", Vantage::Between),
    ] {
        let analysis = Wire::new().nagle(&[Side { client, server, ..BEFORE_NAT }]);
        assert_eq!(analysis.connections[0].vantage, vantage, "{client} {server}");
    }
}

#[test]
fn a_packet_that_a_mirror_port_delivers_twice_is_one() {
    let clean = Wire::new().nagle(&[BEFORE_NAT]);
    let twice = Wire::new().nagle(&[BEFORE_NAT, Side { micros_later: 8, ..BEFORE_NAT }]);
    assert_eq!((clean.copies, twice.copies), (0, 10));
    assert_eq!(twice.connections[0].repeated, [0, 0]);
    assert_eq!(stall(&clean), stall(&twice));
}

#[test]
fn a_clock_that_is_set_back_makes_all_doubtful_and_packets_out_of_order_do_not() {
    for (at, steps, confidence) in [
        (40_200, 0, Some(Confidence::High)),
        (39_940, 1, Some(Confidence::Low)),
        (0, 1, Some(Confidence::Low)),
    ] {
        let mut wire = Wire::new();
        wire.exchange(&[BEFORE_NAT], 6);
        let body = 1 + u32::try_from(HEAD.len()).unwrap();
        wire.carry(&[(at, false, body, Some(36), Flags::PSH, b"12345")], &[BEFORE_NAT]);
        let quality = wire.analyser.finish().connections[0].quality;
        assert_eq!((quality.clock_steps, quality.confidence()), (steps, confidence), "{at}");
    }
}

#[test]
fn a_packet_larger_than_a_segment_comes_from_an_offload() {
    for (len, oversized) in [(1_460, 0), (1_461, 1), (65_160, 1)] {
        let mut wire = Wire::new();
        wire.exchange(&[BEFORE_NAT], 5);
        let (seq, ack) = (SeqNumber(91_000), Some(SeqNumber(7_036)));
        let segment = Segment { seq, ack, len, ..Segment::default() };
        wire.see(BEFORE_NAT, false, segment, &vec![b'x'; len as usize], 1_000);
        let quality = wire.analyser.finish().connections[0].quality;
        assert_eq!(quality.directions.map(|it| it.oversized), [0, oversized], "{len}");
    }
}

#[test]
fn an_exact_reset_after_both_ends_have_closed_hands_time_wait_over() {
    /// Before the client's last acknowledgement, and after it.
    const LAST: [usize; 2] = [9, 10];
    // The server's SND.NXT: the response and its FIN.
    let exact = 90_000 + 7 + u32::try_from(HEAD.len()).unwrap();
    for packets in LAST {
        for (from_client, seq, holder) in [
            (false, Some(exact), Some(Party::Server)),
            (false, None, Some(Party::Client)),
            (true, Some(7_000 + 37), Some(Party::Client)),
        ] {
            let mut wire = Wire::new();
            wire.exchange(&[BEFORE_NAT], packets);
            if let Some(seq) = seq {
                let segment =
                    Segment { seq: SeqNumber(seq), flags: Flags::RST, ..Segment::default() };
                wire.see(BEFORE_NAT, from_client, segment, b"", 41_900);
            }
            let analysis = wire.analyser.finish();
            let [connection] = &analysis.connections[..] else { panic!("one connection") };
            assert_eq!(connection.closed_first, Some(Party::Client));
            let broken_off = from_client && packets == LAST[0];
            assert_eq!(connection.reset, broken_off, "{packets} {seq:?}");
            assert_eq!(connection.time_wait, holder.filter(|_| !broken_off), "{packets} {seq:?}");
        }
    }
}

#[test]
fn a_reset_that_is_not_exact_or_comes_too_early_breaks_off() {
    for (packets, seq) in [(9, 90_000), (7, 90_000 + 7)] {
        let mut wire = Wire::new();
        wire.exchange(&[BEFORE_NAT], packets);
        let segment = Segment { seq: SeqNumber(seq), flags: Flags::RST, ..Segment::default() };
        wire.see(BEFORE_NAT, false, segment, b"", 41_900);
        let connection = &wire.analyser.finish().connections[0];
        assert!(connection.reset);
        assert_eq!(connection.time_wait, None);
    }
}

#[test]
fn who_owes_a_100_continue_is_waited_for() {
    let analysis = Wire::new().expectation();
    let [exchange] = &analysis.exchanges[..] else { panic!("{:?}", analysis.exchanges) };
    let owed = [Cause::ServerThink, Cause::ApplicationLimited].map(|it| exchange.owed_to(it));
    assert_eq!(owed.map(|it| it.as_millis()), [1_000, 0], "{:?}", exchange.shares);
}

/// A second request on the connection of [`Wire::nagle`] that is not closed, 60 ms after its begin.
const SECOND_REQUEST: Packet = (60_000, true, 36, Some(44), Flags::PSH, REQUEST);

#[test]
fn nobody_is_blamed_for_what_an_abandoned_connection_waits_for() {
    for (packets, listed) in [(1, 0), (2, 0), (4, 0), (7, 1)] {
        let mut wire = Wire::new();
        wire.exchange(&[BEFORE_NAT], packets);
        if listed > 0 {
            wire.carry(&[SECOND_REQUEST], &[BEFORE_NAT]);
        }
        wire.analyser.keep_only(|_| false);
        let analysis = wire.analyser.finish();
        assert_eq!(analysis.exchanges.len(), listed, "after {packets} packets");
        assert_eq!(analysis.connections.len(), listed, "after {packets} packets");
        assert!(analysis.connections.iter().all(|it| it.abandoned && it.exchanges == 1));
        let owed: Duration =
            analysis.exchanges.iter().map(|it| it.owed_to(Cause::ServerThink)).sum();
        assert!(owed < Duration::from_millis(1), "{owed:?}");
        assert_eq!(analysis.folded.connections, 1 - listed as u64);
        let open = u64::from(packets >= 4);
        assert_eq!((analysis.unfollowed.connections, analysis.unfollowed.exchanges), (1, open));
    }
}

#[test]
fn connections_that_stay_are_explained_as_if_the_others_had_never_been() {
    let mut wire = Wire::new();
    wire.exchange(&[BEFORE_NAT], 5);
    wire.exchange(&[BEHIND_NAT], 5);
    let server: SocketAddr = BEFORE_NAT.server.parse().unwrap();
    wire.analyser.keep_only(|ends| ends.contains(&server));
    let mut whole = Wire::new();
    whole.exchange(&[BEFORE_NAT], 5);
    for wire in [&mut wire, &mut whole] {
        let body = u32::try_from(HEAD.len()).unwrap();
        wire.carry(
            &[
                (40_950, true, 36, Some(1 + body), Flags::NONE, b""),
                (41_160, false, 1 + body, Some(36), Flags::PSH, b"12345"),
            ],
            &[BEFORE_NAT],
        );
    }
    let [analysis, whole] = [wire, whole].map(|it| it.analyser.finish());
    assert_eq!(stall(&analysis), stall(&whole));
    assert_eq!(analysis.connections.len(), 1);
    assert!(!analysis.connections[0].abandoned);
    assert_eq!((analysis.unfollowed.connections, analysis.unfollowed.exchanges), (1, 1));
}

#[test]
fn a_connection_that_is_followed_again_counts_as_another() {
    let mut wire = Wire::new();
    wire.exchange(&[BEFORE_NAT], 7);
    wire.analyser.keep_only(|_| false);
    // Two seconds later its next exchange.
    let [request, response] =
        [(2_000_000, true, 36, Some(44), REQUEST), (2_000_400, false, 44, Some(71), HEAD)]
            .map(|(at, up, seq, ack, data)| (at, up, seq, ack, Flags::PSH, data));
    let end = (2_000_401, false, 82, Some(71), Flags::PSH, &b"12345"[..]);
    wire.carry(&[request, response, end], &[BEFORE_NAT]);
    let analysis = wire.analyser.finish();
    let abandoned: Vec<_> = analysis.connections.iter().map(|it| it.abandoned).collect();
    assert_eq!(abandoned, [true, false]);
    let longest = analysis.exchanges.iter().map(|it| it.duration).max().unwrap();
    assert!(longest < Duration::from_millis(50), "the time between is nobody's: {longest:?}");
    assert!(analysis.connections.iter().all(|it| it.quality.missing_packets() == 0));
}

#[test]
fn a_connection_that_was_not_captured_for_a_while_is_abandoned_when_it_is_seen_again() {
    // Its last segment was the one with number 6, counted from 0.
    for (number, abandoned) in [(6, false), (7, true)] {
        let mut wire = Wire::new();
        wire.exchange(&[BEFORE_NAT], 7);
        assert_eq!(wire.analyser.segments(), 7);
        // Of another connection.
        wire.exchange(&[BEHIND_NAT], 1);
        let seen = Seen {
            number: 9,
            at: Instant::EPOCH + Duration::from_secs(1),
            interface: 0,
            source: BEFORE_NAT.client.parse().unwrap(),
            destination: BEFORE_NAT.server.parse().unwrap(),
            segment: Segment { ack: Some(SeqNumber(90_044)), ..Segment::default() },
            payload: &[],
            hop_limit: 64,
            identification: 0,
            fragment: false,
            options_cut: false,
            station: None,
        };
        wire.analyser.keep_if_seen_since(&seen, number);
        wire.analyser.handle(&seen);
        let analysis = wire.analyser.finish();
        assert_eq!(analysis.connections[0].abandoned, abandoned, "since segment {number}");
        assert_eq!(analysis.unfollowed.connections, abandoned.into());
    }
}
