//! TCP: connections, holes, acknowledgements.

use super::{
    Attack,
    packets::{ACK, By, End, FIN, File, RST, SYN, Talk},
};

pub(crate) const ALL: &[Attack] = &[
    Attack { name: "syn-flood", make: syn_flood },
    Attack { name: "syn-flood-answered", make: syn_flood_answered },
    Attack { name: "syn-flood-servers", make: syn_flood_servers },
    Attack { name: "syn-same-ports", make: syn_same_ports },
    Attack { name: "reopened-ports", make: |most| reopened(most, 1) },
    Attack { name: "reopened-ports-64", make: |most| reopened(most, 64) },
    Attack { name: "syn-reset", make: syn_reset },
    Attack { name: "handshakes", make: handshakes },
    Attack { name: "byte-flood", make: byte_flood },
    Attack { name: "byte-flood-both", make: byte_flood_both },
    Attack { name: "ack-flood", make: |most| acks(most, &[]) },
    Attack { name: "sack-flood", make: |most| acks(most, SACK) },
    Attack { name: "duplicate-data", make: duplicate_data },
    Attack { name: "same-segment-ahead", make: same_segment_ahead },
    Attack { name: "descending-ahead", make: descending_ahead },
    Attack { name: "overlapping-ahead", make: overlapping_ahead },
    Attack { name: "gaps", make: gaps },
    Attack { name: "gaps-alternating", make: gaps_alternating },
    Attack { name: "gaps-many-connections", make: gaps_many },
    Attack { name: "unacknowledged", make: unacknowledged },
    Attack { name: "ping-pong-retransmissions", make: ping_pong },
    Attack { name: "window-scale", make: window_scale },
    Attack { name: "fin-flood", make: fin_flood },
    Attack { name: "long-times", make: long_times },
];

/// Three blocks of selective acknowledgements.
const SACK: &[u8] =
    &[1, 1, 5, 26, 0, 0, 9, 0, 0, 0, 9, 1, 0, 0, 8, 0, 0, 0, 8, 1, 0, 0, 7, 0, 0, 0, 7, 1];

fn flood(most: usize, mut send: impl FnMut(&mut File, u32, Talk)) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0;
    while file.has_room(500) {
        send(&mut file, number, Talk::new(number));
        number += 1;
    }
    file.into_bytes()
}

fn syn_flood(most: usize) -> Vec<u8> {
    flood(most, |file, _, mut talk| file.send(&mut talk, By::Client, SYN, &[]))
}

fn syn_flood_answered(most: usize) -> Vec<u8> {
    flood(most, |file, _, mut talk| {
        file.send(&mut talk, By::Client, SYN, &[]);
        talk.next[0] += 1;
        file.send(&mut talk, By::Server, SYN | ACK, &[]);
    })
}

/// Each SYN goes to another host.
fn syn_flood_servers(most: usize) -> Vec<u8> {
    flood(most, |file, number, mut talk| {
        talk.ends[1].host = (11 << 24) + number;
        file.send(&mut talk, By::Client, SYN, &[]);
    })
}

/// Each SYN begins another connection between the same ports.
fn syn_same_ports(most: usize) -> Vec<u8> {
    flood(most, |file, number, _| {
        let mut talk = Talk::new(0);
        talk.next[0] = number.wrapping_mul(1000);
        file.send(&mut talk, By::Client, SYN, &[]);
    })
}

/// Connections that begin again and again between the same ports, `pairs` of them in turn.
fn reopened(most: usize, pairs: u32) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0_u32;
    while file.has_room(20_000) {
        let mut talks: Vec<_> = (0..pairs).map(Talk::new).collect();
        for talk in &mut talks {
            talk.next[0] = number.wrapping_mul(100_000);
            file.send(talk, By::Client, SYN, &[]);
            talk.next[0] += 1;
        }
        for talk in &mut talks {
            file.say(talk, By::Client, b"G");
        }
        number += 1;
    }
    file.into_bytes()
}

fn syn_reset(most: usize) -> Vec<u8> {
    flood(most, |file, _, mut talk| {
        file.send(&mut talk, By::Client, SYN, &[]);
        talk.next[0] += 1;
        talk.next[1] = 0;
        file.send(&mut talk, By::Server, RST | ACK, &[]);
    })
}

fn handshakes(most: usize) -> Vec<u8> {
    flood(most, |file, _, mut talk| file.open(&mut talk))
}

/// One byte on each connection.
fn byte_flood(most: usize) -> Vec<u8> {
    flood(most, |file, _, mut talk| file.say(&mut talk, By::Client, b"?"))
}

fn byte_flood_both(most: usize) -> Vec<u8> {
    flood(most, |file, _, mut talk| {
        file.say(&mut talk, By::Client, b"?");
        file.say(&mut talk, By::Server, b"!");
    })
}

fn talk_on(most: usize, mut send: impl FnMut(&mut File, u32, &mut Talk)) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    file.say(&mut talk, By::Client, b"GET / HTTP/1.1\r\n\r\n");
    file.say(&mut talk, By::Server, b"HTTP/1.1 200 \r\nContent-Length: 999999999\r\n\r\n");
    let mut number = 0;
    while file.has_room(70_000) {
        send(&mut file, number, &mut talk);
        number += 1;
    }
    file.into_bytes()
}

fn acks(most: usize, options: &'static [u8]) -> Vec<u8> {
    talk_on(most, |file, _, talk| {
        let (ends, numbers) = talk.of(By::Client);
        file.segment(ends, numbers, ACK, options, &[]);
    })
}

fn duplicate_data(most: usize) -> Vec<u8> {
    talk_on(most, |file, _, talk| {
        let ([server, client], [seq, ack]) = talk.of(By::Server);
        file.segment([server, client], [seq.wrapping_sub(10), ack], ACK, &[], b"0123456789");
        let (ends, numbers) = talk.of(By::Client);
        file.segment(ends, numbers, ACK, &[], &[]);
    })
}

/// The same segment behind a hole, again and again.
fn same_segment_ahead(most: usize) -> Vec<u8> {
    talk_on(most, |file, _, talk| {
        let ([server, client], [seq, ack]) = talk.of(By::Server);
        file.segment([server, client], [seq.wrapping_add(100), ack], ACK, &[], b"0123456789");
    })
}

/// Segments behind a hole, each before the last.
fn descending_ahead(most: usize) -> Vec<u8> {
    talk_on(most, |file, number, talk| {
        let ([server, client], [seq, ack]) = talk.of(By::Server);
        let ahead = seq.wrapping_add(1_000_000 - number % 90_000 * 11);
        file.segment([server, client], [ahead, ack], ACK, &[], b"0123456789");
    })
}

/// Segments behind a hole that overlap with each other.
fn overlapping_ahead(most: usize) -> Vec<u8> {
    talk_on(most, |file, number, talk| {
        let ([server, client], [seq, ack]) = talk.of(By::Server);
        let ahead = seq.wrapping_add(100 + number % 1000);
        file.segment([server, client], [ahead, ack], ACK, &[], &[b'a'; 1000]);
    })
}

/// Every second byte of a stream.
fn gaps(most: usize) -> Vec<u8> {
    talk_on(most, |file, _, talk| {
        talk.next[1] = talk.next[1].wrapping_add(1);
        file.say(talk, By::Server, b"a");
    })
}

/// Every second byte, and acknowledgements of them all.
fn gaps_alternating(most: usize) -> Vec<u8> {
    talk_on(most, |file, _, talk| {
        talk.next[1] = talk.next[1].wrapping_add(1);
        file.say(talk, By::Server, b"a");
        let (ends, numbers) = talk.of(By::Client);
        file.segment(ends, numbers, ACK, &[], &[]);
    })
}

/// 60 kB behind a hole, on each connection.
fn gaps_many(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0;
    while file.has_room(62_000) {
        let mut talk = Talk::new(number);
        file.say(&mut talk, By::Client, b"GET / HTTP/1.1\r\n");
        talk.next[0] += 1;
        file.say(&mut talk, By::Client, &[b'a'; 60_000]);
        number += 1;
    }
    file.into_bytes()
}

/// Segments of one byte that nobody acknowledges.
fn unacknowledged(most: usize) -> Vec<u8> {
    talk_on(most, |file, _, talk| file.say(talk, By::Server, b"a"))
}

/// Each byte is sent three times.
fn ping_pong(most: usize) -> Vec<u8> {
    talk_on(most, |file, _, talk| {
        let before = talk.next;
        for _ in 0..3 {
            talk.next = before;
            file.say(talk, By::Server, b"a");
        }
        let (ends, numbers) = talk.of(By::Client);
        file.segment(ends, numbers, ACK, &[], &[]);
    })
}

/// Sequence numbers that jump by a gigabyte.
fn window_scale(most: usize) -> Vec<u8> {
    talk_on(most, |file, number, talk| {
        let ([server, client], [seq, ack]) = talk.of(By::Server);
        let ahead = seq.wrapping_add((number % 1000) << 20);
        file.segment([server, client], [ahead, ack], ACK, &[], b"0123456789");
        let ([client, server], [seq, ack]) = talk.of(By::Client);
        file.segment([client, server], [seq, ack.wrapping_add(number << 8)], ACK, &[], &[]);
    })
}

fn fin_flood(most: usize) -> Vec<u8> {
    flood(most, |file, _, mut talk| file.send(&mut talk, By::Client, FIN | SYN, b"a"))
}

/// A byte on the same connection each day, from ports of their own each hour.
fn long_times(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    file.step = 700_000;
    let server = End { host: 1, port: 80 };
    let mut number = 0_u32;
    while file.has_room(500) {
        let client = End { host: 2, port: u16::try_from(number % 50_000).expect(FITS) + 1024 };
        file.segment([client, server], [number, 0], SYN, &[], &[]);
        file.segment([client, server], [number + 1, 0], ACK, &[], b"a");
        file.segment([server, client], [0, number + 2], RST | ACK, &[], &[]);
        number += 1;
    }
    file.into_bytes()
}

const FITS: &str = "numbers here are small";
