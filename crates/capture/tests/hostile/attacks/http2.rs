//! HTTP/2: HPACK's table, streams, windows.

use super::{
    Attack,
    packets::{By, File, MOST_PAYLOAD, Talk},
};

pub(crate) const ALL: &[Attack] = &[
    Attack { name: "h2-table-path", make: |most| table_path(most, true, false) },
    Attack { name: "h2-table-path-unasked", make: |most| table_path(most, false, false) },
    Attack { name: "h2-table-path-reset", make: |most| table_path(most, true, true) },
    Attack { name: "h2-table-path-many", make: table_path_many },
    Attack { name: "h2-short-requests", make: |most| answered(most, false) },
    Attack { name: "h2-short-answered", make: |most| answered(most, true) },
    Attack { name: "h2-reset", make: reset },
    Attack { name: "h2-distinct-paths", make: distinct_paths },
    Attack { name: "h2-indexed-fields", make: |most| blocks(most, 0xbe, 60_000) },
    Attack { name: "h2-indexed-small", make: |most| blocks(most, 0xbe, 1) },
    Attack { name: "h2-static-fields", make: |most| blocks(most, 0x82, 1) },
    Attack { name: "h2-resizes", make: |most| blocks(most, 0x20, 1) },
    Attack { name: "h2-literals", make: literals },
    Attack { name: "h2-huffman", make: huffman },
    Attack { name: "h2-settings", make: settings },
    Attack { name: "h2-settings-parameters", make: settings_parameters },
    Attack { name: "h2-block-bytewise", make: block_bytewise },
    Attack { name: "h2-continuations", make: continuations },
    Attack { name: "h2-data-bytewise", make: data_bytewise },
    Attack { name: "h2-window-updates", make: window_updates },
    Attack { name: "h2-holes", make: holes },
    Attack { name: "h2-pushes", make: pushes },
    Attack { name: "h2-tunnels", make: tunnels },
    Attack { name: "h2-calls", make: |most| calls(most, END_STREAM) },
    Attack { name: "h2-calls-open", make: |most| calls(most, 0) },
    Attack { name: "h2-messages", make: messages },
    Attack { name: "h2-bytewise", make: bytewise },
    Attack { name: "h2-stream-open-many", make: open_many },
];

pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
/// Bytes of frames in one segment.
const FLUSH: usize = MOST_PAYLOAD - 200;

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    let length = u32::try_from(payload.len()).expect(FITS);
    out.extend(&length.to_be_bytes()[1..]);
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
}

/// An integer of HPACK (RFC 7541, section 5.1).
fn integer(first: u8, prefix: u32, mut value: usize, out: &mut Vec<u8>) {
    let mask = (1_usize << prefix) - 1;
    if value < mask {
        out.push(first | u8::try_from(value).expect(FITS));
        return;
    }
    out.push(first | u8::try_from(mask).expect(FITS));
    value -= mask;
    while value >= 128 {
        out.push(u8::try_from(value % 128).expect(FITS) | 128);
        value /= 128;
    }
    out.push(u8::try_from(value).expect(FITS));
}

/// Makes the table 64 KiB, and enters a path of the given length.
fn enter_path(length: usize) -> Vec<u8> {
    let mut block = vec![0x82];
    let mut resize = Vec::new();
    integer(0x20, 5, 65_536, &mut resize);
    block.splice(0..0, resize);
    block.push(0x44);
    integer(0, 7, length, &mut block);
    block.push(b'/');
    block.resize(block.len() + length - 1, b'a');
    block
}

#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn begin(file: &mut File, handshake: bool) -> Talk {
    let mut talk = Talk::new(0);
    if handshake {
        file.open(&mut talk);
    }
    file.say(&mut talk, By::Client, PREFACE);
    talk
}

#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn table_path(most: usize, handshake: bool, reset: bool) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = begin(&mut file, handshake);
    let mut frames = Vec::new();
    frame(HEADERS, END_HEADERS | END_STREAM, 1, &enter_path(60_000), &mut frames);
    let mut stream = 3;
    while file.has_room(frames.len()) {
        while frames.len() < FLUSH {
            frame(HEADERS, END_HEADERS | END_STREAM, stream, &[0x82, 0xbe], &mut frames);
            if reset {
                frame(RST_STREAM, 0, stream, &[0, 0, 0, 8], &mut frames);
            }
            stream += 2;
        }
        file.say(&mut talk, By::Client, &frames);
        frames.clear();
    }
    file.into_bytes()
}

/// The same on many connections: 1000 requests on each.
fn table_path_many(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0;
    while file.has_room(90_000) {
        let mut talk = Talk::new(number);
        let mut frames = PREFACE.to_vec();
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &enter_path(30_000), &mut frames);
        for stream in 1..1000 {
            frame(HEADERS, END_HEADERS | END_STREAM, 2 * stream + 1, &[0x82, 0xbe], &mut frames);
        }
        file.say(&mut talk, By::Client, &frames);
        number += 1;
    }
    file.into_bytes()
}

#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn answered(most: usize, answers: bool) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = begin(&mut file, true);
    let mut stream = 1;
    while file.has_room(2 * FLUSH) {
        let mut frames = [Vec::new(), Vec::new()];
        for _ in 0..1000 {
            frame(HEADERS, END_HEADERS | END_STREAM, stream, &[0x82, 0x84], &mut frames[0]);
            frame(HEADERS, END_HEADERS | END_STREAM, stream, &[0x88], &mut frames[1]);
            stream += 2;
        }
        file.say(&mut talk, By::Client, &frames[0]);
        if answers {
            file.say(&mut talk, By::Server, &frames[1]);
        }
    }
    file.into_bytes()
}

fn reset(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = begin(&mut file, true);
    let mut stream = 1;
    let mut frames = Vec::new();
    while file.has_room(FLUSH) {
        while frames.len() < FLUSH {
            frame(HEADERS, END_HEADERS, stream, &[], &mut frames);
            frame(RST_STREAM, 0, stream, &[], &mut frames);
            stream += 2;
        }
        file.say(&mut talk, By::Client, &frames);
        frames.clear();
    }
    file.into_bytes()
}

/// Each request has a path of its own, and an answer.
fn distinct_paths(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = begin(&mut file, true);
    let mut stream = 1;
    while file.has_room(2 * FLUSH) {
        let mut frames = [Vec::new(), Vec::new()];
        for _ in 0..1000 {
            let mut block = vec![0x82, 0x04, 9, b'/'];
            block.extend(format!("{stream:08x}").bytes());
            frame(HEADERS, END_HEADERS | END_STREAM, stream, &block, &mut frames[0]);
            frame(HEADERS, END_HEADERS | END_STREAM, stream, &[0x88], &mut frames[1]);
            stream += 2;
        }
        file.say(&mut talk, By::Client, &frames[0]);
        file.say(&mut talk, By::Server, &frames[1]);
    }
    file.into_bytes()
}

/// Header blocks of 60 kB that repeat one byte.
fn blocks(most: usize, byte: u8, path: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = begin(&mut file, true);
    let mut frames = Vec::new();
    frame(HEADERS, END_HEADERS | END_STREAM, 1, &enter_path(path), &mut frames);
    file.say(&mut talk, By::Client, &frames);
    let block = vec![byte; 60_000];
    let mut stream = 3;
    while file.has_room(61_000) {
        frames.clear();
        frame(HEADERS, END_HEADERS | END_STREAM, stream, &block, &mut frames);
        file.say(&mut talk, By::Client, &frames);
        stream += 2;
    }
    file.into_bytes()
}

/// Literal fields with empty names and values, each of which is entered into the table.
fn literals(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = begin(&mut file, true);
    let block = [0x40, 0, 0].repeat(20_000);
    let mut stream = 1;
    while file.has_room(61_000) {
        let mut frames = Vec::new();
        frame(HEADERS, END_HEADERS | END_STREAM, stream, &block, &mut frames);
        file.say(&mut talk, By::Client, &frames);
        stream += 2;
    }
    file.into_bytes()
}

/// Literal paths in Huffman code.
fn huffman(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = begin(&mut file, true);
    let mut block = vec![0x44];
    integer(0x80, 7, 60_000, &mut block);
    // `a` is 00011.
    block.extend([0x18, 0xc6, 0x31, 0x8c, 0x63].repeat(12_000));
    let mut stream = 1;
    while file.has_room(61_000) {
        let mut frames = Vec::new();
        frame(HEADERS, END_HEADERS | END_STREAM, stream, &block, &mut frames);
        file.say(&mut talk, By::Client, &frames);
        stream += 2;
    }
    file.into_bytes()
}

fn open_streams(file: &mut File) -> Talk {
    let mut talk = begin(file, true);
    let mut frames = Vec::new();
    for stream in 0..1024 {
        frame(HEADERS, END_HEADERS, 2 * stream + 1, &[0x83, 0x84], &mut frames);
    }
    file.say(&mut talk, By::Client, &frames);
    talk
}

/// Changes of the initial window, each of which concerns 1024 streams.
fn settings(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = open_streams(&mut file);
    let mut frames = Vec::new();
    let mut size = 0_u32;
    while file.has_room(FLUSH) {
        while frames.len() < FLUSH {
            size = 1 - size;
            let [a, b, c, d] = (size * 65_535).to_be_bytes();
            frame(SETTINGS, 0, 0, &[0, 4, a, b, c, d], &mut frames);
        }
        file.say(&mut talk, By::Server, &frames);
        file.say(&mut talk, By::Client, &[0, 0, 0, SETTINGS, 1, 0, 0, 0, 0]);
        frames.clear();
    }
    file.into_bytes()
}

fn settings_parameters(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = open_streams(&mut file);
    let parameters = [0, 4, 0, 0, 0xff, 0xff].repeat(10_000);
    while file.has_room(61_000) {
        let mut frames = Vec::new();
        frame(SETTINGS, 0, 0, &parameters, &mut frames);
        file.say(&mut talk, By::Server, &frames);
    }
    file.into_bytes()
}

/// A header block of 1 MB, one byte in each segment.
fn block_bytewise(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = begin(&mut file, true);
    let mut stream = 1;
    while file.has_room(0) {
        let mut frames = Vec::new();
        frame(HEADERS, 0, stream, &vec![0x82; 1 << 20], &mut frames);
        for byte in frames {
            if !file.has_room(0) {
                break;
            }
            file.say(&mut talk, By::Client, &[byte]);
        }
        stream += 2;
    }
    file.into_bytes()
}

/// Empty CONTINUATION frames without end.
fn continuations(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = begin(&mut file, true);
    let mut frames = Vec::new();
    frame(HEADERS, 0, 1, &[0x82; 60_000], &mut frames);
    while file.has_room(FLUSH) {
        while frames.len() < FLUSH {
            frame(CONTINUATION, 0, 1, &[], &mut frames);
        }
        file.say(&mut talk, By::Client, &frames);
        frames.clear();
    }
    file.into_bytes()
}

/// DATA of one byte over 1024 streams.
fn data_bytewise(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = open_streams(&mut file);
    let mut frames = Vec::new();
    let mut stream = 0;
    while file.has_room(FLUSH) {
        while frames.len() < FLUSH {
            frame(DATA, 0, 2 * stream + 1, &[0], &mut frames);
            stream = (stream + 1) % 1024;
        }
        file.say(&mut talk, By::Server, &frames);
        frames.clear();
    }
    file.into_bytes()
}

/// Windows that are used up and opened again, stream by stream.
fn window_updates(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = open_streams(&mut file);
    let mut stream = 0;
    let zero = [0, 4, 0, 0, 0, 0];
    let mut frames = Vec::new();
    frame(SETTINGS, 0, 0, &zero, &mut frames);
    file.say(&mut talk, By::Client, &frames);
    while file.has_room(2 * FLUSH) {
        let mut frames = [Vec::new(), Vec::new()];
        for _ in 0..2000 {
            frame(DATA, 0, 2 * stream + 1, &[0], &mut frames[0]);
            frame(WINDOW_UPDATE, 0, 2 * stream + 1, &[0, 0, 0, 1], &mut frames[1]);
            stream = (stream + 1) % 1024;
        }
        file.say(&mut talk, By::Server, &frames[0]);
        file.say(&mut talk, By::Client, &frames[1]);
    }
    file.into_bytes()
}

/// Frames of an open stream with bytes before each that were never captured: they may have ended any
/// of the 1024.
fn holes(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = open_streams(&mut file);
    let mut stream = 0;
    while file.has_room(200) {
        let mut frames = Vec::new();
        frame(DATA, 0, 2 * stream + 1, &[0], &mut frames);
        talk.next[1] = talk.next[1].wrapping_add(10);
        file.say(&mut talk, By::Server, &frames);
        let (ends, numbers) = talk.of(By::Client);
        file.segment(ends, numbers, super::packets::ACK, &[], &[]);
        stream = (stream + 1) % 1024;
    }
    file.into_bytes()
}

fn pushes(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = open_streams(&mut file);
    let mut frames = Vec::new();
    let mut stream = 2_u32;
    while file.has_room(FLUSH) {
        while frames.len() < FLUSH {
            let mut payload = stream.to_be_bytes().to_vec();
            payload.extend([0x82, 0x84]);
            frame(PUSH_PROMISE, END_HEADERS, 1, &payload, &mut frames);
            frame(HEADERS, END_HEADERS | END_STREAM, stream, &[0x88], &mut frames);
            stream += 2;
        }
        file.say(&mut talk, By::Server, &frames);
        frames.clear();
    }
    file.into_bytes()
}

/// CONNECT on each stream, which opens a tunnel.
fn tunnels(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = begin(&mut file, true);
    let mut stream = 1;
    let mut block = vec![0x02, 7];
    block.extend(b"CONNECT");
    while file.has_room(2 * FLUSH) {
        let mut frames = [Vec::new(), Vec::new()];
        for _ in 0..1000 {
            frame(HEADERS, END_HEADERS, stream, &block, &mut frames[0]);
            frame(HEADERS, END_HEADERS, stream, &[0x88], &mut frames[1]);
            frame(DATA, END_STREAM, stream, &[], &mut frames[1]);
            stream += 2;
        }
        file.say(&mut talk, By::Client, &frames[0]);
        file.say(&mut talk, By::Server, &frames[1]);
    }
    file.into_bytes()
}

/// The content type of gRPC, which enters the table and is then its newest field.
const GRPC: &[u8] = b"\x5f\x10application/grpc";

/// Calls of gRPC that turn out to be streams, 1000 in a segment.
fn calls(most: usize, end: u8) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = begin(&mut file, true);
    let mut stream = 1;
    let mut content_type = GRPC;
    while file.has_room(2 * FLUSH) {
        let mut frames = [Vec::new(), Vec::new()];
        for _ in 0..1000 {
            let request = [&[0x83], content_type].concat();
            let response = [&[0x88], content_type].concat();
            frame(HEADERS, END_HEADERS | END_STREAM, stream, &request, &mut frames[0]);
            frame(HEADERS, END_HEADERS, stream, &response, &mut frames[1]);
            frame(DATA, end, stream, &[0; 10], &mut frames[1]);
            (stream, content_type) = (stream + 2, &[0xbe]);
        }
        file.say(&mut talk, By::Client, &frames[0]);
        file.say(&mut talk, By::Server, &frames[1]);
    }
    file.into_bytes()
}

/// One call with empty messages both ways.
fn messages(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = begin(&mut file, true);
    for (by, first) in [(By::Client, 0x83), (By::Server, 0x88)] {
        let mut frames = Vec::new();
        frame(HEADERS, END_HEADERS, 1, &[&[first], GRPC].concat(), &mut frames);
        file.say(&mut talk, by, &frames);
    }
    let mut frames = Vec::new();
    frame(DATA, 0, 1, &[0; 15_000], &mut frames);
    while file.has_room(2 * FLUSH) {
        file.say(&mut talk, By::Client, &frames);
        file.say(&mut talk, By::Server, &frames);
    }
    file.into_bytes()
}

/// Answered requests, one byte in each segment.
fn bytewise(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = begin(&mut file, true);
    let mut stream = 1;
    while file.has_room(2000) {
        for (by, block) in [(By::Client, &[0x82, 0x84][..]), (By::Server, &[0x88])] {
            let mut frames = Vec::new();
            frame(HEADERS, END_HEADERS | END_STREAM, stream, block, &mut frames);
            for byte in frames {
                file.say(&mut talk, by, &[byte]);
            }
        }
        stream += 2;
    }
    file.into_bytes()
}

/// 1000 streams on each of many connections, which stay open.
fn open_many(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0;
    while file.has_room(15_000) {
        let mut talk = Talk::new(number);
        let mut frames = PREFACE.to_vec();
        for stream in 0..1000 {
            frame(HEADERS, END_HEADERS, 2 * stream + 1, &[0x82, 0x84], &mut frames);
        }
        file.say(&mut talk, By::Client, &frames);
        number += 1;
    }
    file.into_bytes()
}

const FITS: &str = "numbers here are small";
