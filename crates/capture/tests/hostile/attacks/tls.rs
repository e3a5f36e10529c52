//! TLS 1.3 with secrets in the capture, which open nothing: each record is tried with several keys and numbers.

use super::{
    Attack,
    packets::{By, File, Talk},
    wrapped::{RAW_INTERFACE, block, section},
};

pub(crate) const ALL: &[Attack] = &[
    Attack { name: "tls-secrets-short", make: |most| sealed(most, 17, Holes::None) },
    Attack { name: "tls-secrets-short-holes", make: |most| sealed(most, 17, Holes::One) },
    Attack { name: "tls-secrets-many-holes", make: |most| sealed(most, 17, Holes::Each) },
    Attack { name: "tls-secrets-long", make: |most| sealed(most, 16_401, Holes::None) },
    Attack { name: "tls-secrets-long-holes", make: |most| sealed(most, 16_401, Holes::Each) },
];

/// Where the capture lacks a byte, in each direction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Holes {
    None,
    /// Before the first record.
    One,
    /// Before each record.
    Each,
}

fn sealed(most: usize, length: u16, holes: Holes) -> Vec<u8> {
    const RECORDS: usize = 40;
    let mut out = Vec::new();
    section(&mut out);
    block(1, RAW_INTERFACE, &mut out);
    let record = record(23, &vec![0x5a; usize::from(length)]);
    let mut number = 0_u32;
    while out.len() + 2 * RECORDS * (record.len() + 80) + 2_000 < most {
        let random: Vec<u8> = number.to_be_bytes().repeat(8);
        secrets(&random, &mut out);
        let mut file = File::new(usize::MAX);
        file.wait(u64::from(number) * 1_000);
        let mut talk = Talk::new(number);
        file.open(&mut talk);
        file.say(&mut talk, By::Client, &hello(1, &random, &[0, 2, 0x13, 3, 1, 0]));
        file.say(
            &mut talk,
            By::Server,
            &hello(2, &[4; 32], &[0x13, 3, 0, 0, 6, 0, 43, 0, 2, 3, 4]),
        );
        for by in [By::Server, By::Client] {
            if holes == Holes::Each {
                for _ in 0..RECORDS {
                    talk.next[by as usize] += 1;
                    file.say(&mut talk, by, &record);
                }
            } else {
                talk.next[by as usize] += u32::from(holes == Holes::One);
                file.say(&mut talk, by, &record.repeat(RECORDS));
            }
        }
        packets(&file.into_bytes(), &mut out);
        number += 1;
    }
    out
}

/// Writes the packets of a pcap file as blocks of pcapng.
fn packets(file: &[u8], out: &mut Vec<u8>) {
    const HEADER: usize = 24;
    let mut rest = &file[HEADER..];
    while let Some((head, packet)) = rest.split_first_chunk::<16>() {
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let micros = u64::from(word(0)) * 1_000_000 + u64::from(word(4));
        let (packet, after) = packet.split_at(word(8) as usize);
        let mut body = vec![0; 4];
        for half in [micros >> 32, micros & 0xffff_ffff] {
            body.extend(u32::try_from(half).expect("32 bits").to_le_bytes());
        }
        body.extend(&head[8..16]);
        body.extend(packet);
        body.resize(body.len().next_multiple_of(4), 0);
        block(6, &body, out);
        rest = after;
    }
}

/// A block with secrets of a connection, all wrong.
fn secrets(random: &[u8], out: &mut Vec<u8>) {
    const TLS_KEY_LOG: u32 = 0x544c_534b;
    let random: String = random.iter().map(|it| format!("{it:02x}")).collect();
    let lines: String = ["CLIENT_HANDSHAKE", "SERVER_HANDSHAKE", "CLIENT", "SERVER"]
        .map(|it| {
            let number = if it.contains('_') { "" } else { "_0" };
            format!("{it}_TRAFFIC_SECRET{number} {random} {}\n", "c3".repeat(32))
        })
        .concat();
    let length = u32::try_from(lines.len()).expect("few");
    let mut body = [TLS_KEY_LOG.to_le_bytes(), length.to_le_bytes()].concat();
    body.extend(lines.as_bytes());
    body.resize(body.len().next_multiple_of(4), 0);
    block(10, &body, out);
}

/// A hello without a session: what follows that, by `rest`.
fn hello(kind: u8, random: &[u8], rest: &[u8]) -> Vec<u8> {
    let body = [&[3, 3], random, &[0], rest].concat();
    let length = u8::try_from(body.len()).expect("short");
    record(22, &[&[kind, 0, 0, length], &body[..]].concat())
}

fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).expect("a record");
    [&[kind, 3, 3], &length.to_be_bytes()[..], content].concat()
}
