//! Segments from addresses that are not the sender's.

use std::{
    io::Read as _,
    net::{SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use ackwise_linux::stack::StackOptions;
use ackwise_serve::Limits;
use ackwise_tcp::{Flags, Options, Segment, SeqNumber, wire};
use socket2::{Domain, Protocol, Socket, Type};

use crate::harness::{PATIENCE, Seen, ask, serve, served, whole};

/// Sends segments at a rate, for some time.
#[derive(Clone, Copy)]
struct Flood {
    rate: u32,
    lasts: Duration,
    segment: fn(u32) -> Spoofed,
}

/// A segment and its pretended source.
struct Spoofed {
    source: SocketAddr,
    segment: Segment,
}

impl Flood {
    fn run(self, server: SocketAddr) {
        let Self { rate, lasts, segment } = self;
        send(server, rate, (0..).map(segment), Instant::now() + lasts);
    }
}

/// Sends until there is nothing more, or until `end`.
fn send(server: SocketAddr, rate: u32, segments: impl Iterator<Item = Spoofed>, end: Instant) {
    // IPPROTO_RAW: we write the IP header, too.
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(255))).unwrap();
    let to = SocketAddr::from((server.ip(), 0)).into();
    let (mut packet, started) = (Vec::new(), Instant::now());
    for (sent, Spoofed { source, segment }) in (0_u32..).zip(segments) {
        let payload = vec![b'x'; segment.len as usize];
        wire::write(&mut packet, source, server, &segment, &payload).unwrap();
        // A full queue drops it, as on any link.
        let _ = socket.send_to(&packet, &to);
        if sent % BATCH == 0 {
            if Instant::now() > end {
                return;
            }
            let due = Duration::from_secs(1) * sent / rate;
            thread::sleep(due.saturating_sub(started.elapsed()));
        }
    }
}

/// A SYN of many addresses, of which none answers.
fn syn(number: u32) -> Spoofed {
    let [_, high, middle, low] = number.to_be_bytes();
    let port = 1024 + u16::from(low);
    let source = SocketAddr::from(([10, high + 1, middle, low.max(1)], port));
    let options = Options { mss: Some(1460), ..Options::NONE };
    let (seq, flags) = (SeqNumber(number), Flags::SYN);
    let segment = Segment { seq, flags, window: 65_535, options, ..Segment::default() };
    Spoofed { source, segment }
}

/// A SYN of one address, from all of its ports.
fn syn_of_one_address(number: u32) -> Spoofed {
    let [_, _, high, low] = number.to_be_bytes();
    let source = ([10, 1, 1, 1], u16::from_be_bytes([high, low]).max(1)).into();
    Spoofed { source, ..syn(number) }
}

/// What no handshake contains: a SYN with data, with FIN, an ACK with a guessed cookie.
fn stray(number: u32) -> Spoofed {
    let Spoofed { source, segment } = syn(number);
    let guess = SeqNumber(number.wrapping_mul(2_654_435_761));
    let segment = match number % 3 {
        0 => Segment { len: 100, ..segment },
        1 => Segment { flags: Flags { fin: true, ..Flags::SYN }, ..segment },
        _ => Segment { flags: Flags::NONE, ack: Some(guess), ..segment },
    };
    Spoofed { source, segment }
}

/// How many of `clients` are served during the floods, which come one after the other.
fn during(name: &str, floods: &[Flood], clients: usize, then: impl FnOnce(usize, Seen) + Send) {
    let meanwhile = |server| {
        thread::scope(|scope| {
            scope.spawn(|| floods.iter().for_each(|flood| flood.run(server)));
            thread::sleep(Duration::from_millis(100));
            served(server, clients)
        })
    };
    serve(
        name,
        Limits::default(),
        StackOptions::default().connections,
        meanwhile,
        |served, seen| {
            eprintln!("{served} of {clients} clients were served: {seen:?}");
            assert!(served * 100 >= clients * 95, "{served} of {clients}: {seen:?}");
            then(served, seen);
        },
    );
}

const LASTS: Duration = Duration::from_millis(2_500);

#[test]
fn clients_are_served_during_a_flood_of_syns() {
    let (floods, clients, syns): (&[Flood], _, _) = if whole() {
        let first = Flood { rate: 46_500, lasts: Duration::from_secs(2), segment: syn };
        (&[first, Flood { rate: 50_000, lasts: Duration::from_secs(10), ..first }], 100, 400_000)
    } else {
        (&[Flood { rate: 10_000, lasts: LASTS, segment: syn }], 20, 5_000)
    };
    let name = "clients_are_served_during_a_flood_of_syns";
    during(name, floods, clients, |served, Seen { counters, .. }| {
        assert!(counters.cookies_sent > syns, "{counters:?}");
        assert!(counters.cookies_accepted >= served as u64, "{counters:?}");
    });
}

#[test]
fn clients_are_served_while_one_address_sends_syns_from_all_of_its_ports() {
    let name = "clients_are_served_while_one_address_sends_syns_from_all_of_its_ports";
    let flood = Flood { rate: 20_000, lasts: LASTS, segment: syn_of_one_address };
    during(name, &[flood], 20, |_, Seen { counters, .. }| {
        assert!(counters.cookies_sent > 10_000, "{counters:?}");
    });
}

#[test]
fn stray_segments_open_no_connection_and_clients_are_served_beside_them() {
    let name = "stray_segments_open_no_connection_and_clients_are_served_beside_them";
    let flood = Flood { rate: 20_000, lasts: LASTS, segment: stray };
    during(name, &[flood], 20, |served, Seen { counters, stats, most }| {
        assert_eq!(stats.accepted, served as u64, "{stats:?}");
        assert!(counters.refused > 5_000, "{counters:?}");
        assert!(most <= 600, "{most} connections");
    });
}

/// RFC 5961, section 3: only an RST with exactly RCV.NXT ends the connection, which one in 2^32 has. One that is in
/// the window is challenged.
#[test]
fn no_guess_of_an_rst_ends_a_connection() {
    let name = "no_guess_of_an_rst_ends_a_connection";
    let meanwhile = |server| {
        let client = TcpStream::connect_timeout(&server, PATIENCE).unwrap();
        let source = client.local_addr().unwrap();
        // Every 2^15th number: two of them are in a window of 65,535 bytes.
        let segments = (0..1_u32 << 17).map(|number| Spoofed {
            source,
            segment: Segment {
                seq: SeqNumber(number << 15),
                flags: Flags::RST,
                ..Segment::default()
            },
        });
        send(server, 100_000, segments, Instant::now() + Duration::from_secs(10));
        ask(&client, "/300").unwrap().read_to_end(&mut Vec::new()).unwrap()
    };
    let places = StackOptions::default().connections;
    serve(name, Limits::default(), places, meanwhile, |bytes, Seen { counters, .. }| {
        assert!(bytes > 300, "{counters:?}");
        assert!(counters.packets_in > 1 << 16, "{counters:?}");
    });
}

/// Segments between two looks at the clock.
const BATCH: u32 = 100;
