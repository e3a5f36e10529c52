//! HTTP/1, TLS, WebSocket and what cannot be read.

use super::{
    Attack,
    packets::{ACK, By, FIN, File, MOST_PAYLOAD, RST, SYN, Talk},
};

pub(crate) const ALL: &[Attack] = &[
    Attack { name: "h1-pipelined", make: |most| repeated(most, REQUEST, b"") },
    Attack { name: "h1-pipelined-answered", make: |most| repeated(most, REQUEST, RESPONSE) },
    Attack { name: "h1-turns", make: turns },
    Attack { name: "h1-interims", make: interims },
    Attack { name: "h1-responses-only", make: |most| repeated(most, b"", RESPONSE) },
    Attack { name: "h1-header-lines", make: header_lines },
    Attack { name: "h1-long-heads", make: long_heads },
    Attack { name: "h1-head-bytewise", make: head_bytewise },
    Attack { name: "h1-partial-heads", make: partial_heads },
    Attack { name: "h1-empty-lines", make: empty_lines },
    Attack { name: "h1-chunks-bytewise", make: chunks },
    Attack { name: "h1-chunks-each", make: chunks_each },
    Attack { name: "h1-control-paths", make: control_paths },
    Attack { name: "h1-chunk-extensions", make: chunk_extensions },
    Attack { name: "h1-websockets", make: websockets },
    Attack { name: "h1-long-paths", make: long_paths },
    Attack { name: "h1-short-connections", make: short_connections },
    Attack { name: "h1-one-exchange-each", make: one_exchange_each },
    Attack { name: "h1-refused-each", make: refused_each },
    Attack { name: "h1-truncated-each", make: |most| truncated_each(most, Client::StaysOpen) },
    Attack { name: "h1-truncated-closed-each", make: |most| truncated_each(most, Client::Closes) },
    Attack { name: "h1-truncated-late-each", make: truncated_late_each },
    Attack { name: "tls-records", make: tls_records },
    Attack { name: "tls-turns", make: tls_turns },
    Attack { name: "tls-hello-bytewise", make: tls_hello },
    Attack { name: "opaque-turns", make: opaque_turns },
];

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\n\r\n";
const RESPONSE: &[u8] = b"HTTP/1.1 204 \r\n\r\n";

/// Messages back to back, in the largest segments.
fn repeated(most: usize, request: &[u8], response: &[u8]) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    let count = 1000.min(MOST_PAYLOAD / request.len().max(response.len()));
    while file.has_room(count * (request.len() + response.len())) {
        file.say(&mut talk, By::Client, &request.repeat(count));
        file.say(&mut talk, By::Server, &response.repeat(count));
    }
    file.into_bytes()
}

/// One exchange after the other.
fn turns(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    while file.has_room(500) {
        file.say(&mut talk, By::Client, REQUEST);
        file.say(&mut talk, By::Server, RESPONSE);
    }
    file.into_bytes()
}

fn interims(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    file.say(&mut talk, By::Client, &REQUEST.repeat(1000));
    while file.has_room(60_000) {
        file.say(&mut talk, By::Server, &b"HTTP/1.1 102 \r\n\r\n".repeat(3000));
    }
    file.into_bytes()
}

/// Heads of many short lines.
fn header_lines(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    let mut head = b"GET / HTTP/1.1\r\n".to_vec();
    head.extend(b"a:\r\n".repeat(7_000));
    head.extend(b"\r\n");
    while file.has_room(head.len() + 1000) {
        file.say(&mut talk, By::Client, &head);
        file.say(&mut talk, By::Server, RESPONSE);
    }
    file.into_bytes()
}

fn long_heads(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    let mut head = b"GET / HTTP/1.1\r\na:".to_vec();
    head.resize(60_000, b'a');
    head.extend(b"\r\n\r\n");
    while file.has_room(head.len() + 1000) {
        file.say(&mut talk, By::Client, &head);
        file.say(&mut talk, By::Server, RESPONSE);
    }
    file.into_bytes()
}

fn head_bytewise(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    let mut head = b"GET / HTTP/1.1\r\na:".to_vec();
    head.resize(31_000, b'a');
    head.extend(b"\r\n\r\n");
    while file.has_room(0) {
        for &byte in &head {
            if !file.has_room(0) {
                break;
            }
            file.say(&mut talk, By::Client, &[byte]);
        }
        file.say(&mut talk, By::Server, RESPONSE);
    }
    file.into_bytes()
}

/// Many connections, with half a head on each.
fn partial_heads(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0;
    while file.has_room(1000) {
        let mut talk = Talk::new(number);
        file.say(&mut talk, By::Client, b"GET / HTTP/1.1\r\na:");
        number += 1;
    }
    file.into_bytes()
}

fn empty_lines(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    file.say(&mut talk, By::Client, REQUEST);
    while file.has_room(60_000) {
        file.say(&mut talk, By::Client, &b"\r\n".repeat(30_000));
    }
    file.into_bytes()
}

fn chunks(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    file.say(&mut talk, By::Client, REQUEST);
    file.say(&mut talk, By::Server, b"HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n");
    while file.has_room(60_000) {
        file.say(&mut talk, By::Server, &b"1\r\na\r\n".repeat(10_000));
    }
    file.into_bytes()
}

fn chunk_extensions(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    file.say(&mut talk, By::Client, REQUEST);
    file.say(&mut talk, By::Server, b"HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n1;");
    while file.has_room(60_000) {
        file.say(&mut talk, By::Server, &b"a".repeat(60_000));
    }
    file.into_bytes()
}

/// A WebSocket on each connection.
fn websockets(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0;
    let request = b"GET /a HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    let response = b"HTTP/1.1 101 \r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    while file.has_room(1000) {
        let mut talk = Talk::new(number);
        file.say(&mut talk, By::Client, request);
        file.say(&mut talk, By::Server, response);
        file.say(&mut talk, By::Client, b"abc");
        number += 1;
    }
    file.into_bytes()
}

/// A path of 30 kB on each connection.
fn long_paths(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0;
    let path = "a".repeat(30_000);
    while file.has_room(32_000) {
        let mut talk = Talk::new(number);
        let head = format!("GET /{number}{path} HTTP/1.1\r\n\r\n");
        file.say(&mut talk, By::Client, head.as_bytes());
        file.say(&mut talk, By::Server, RESPONSE);
        number += 1;
    }
    file.into_bytes()
}

/// Handshake, request, response, end.
fn short_connections(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0;
    while file.has_room(1000) {
        let mut talk = Talk::new(number);
        file.open(&mut talk);
        file.say(&mut talk, By::Client, REQUEST);
        file.say(&mut talk, By::Server, RESPONSE);
        file.send(&mut talk, By::Server, FIN | ACK, &[]);
        file.send(&mut talk, By::Client, FIN | ACK, &[]);
        let (ends, numbers) = talk.of(By::Server);
        file.segment(ends, numbers, ACK, &[], &[]);
        number += 1;
    }
    file.into_bytes()
}

/// A request and a response, each path another, without handshake and end.
fn one_exchange_each(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0;
    while file.has_room(1000) {
        let mut talk = Talk::new(number);
        let head = format!("GET /{number} HTTP/1.1\r\n\r\n");
        file.say(&mut talk, By::Client, head.as_bytes());
        file.say(&mut talk, By::Server, RESPONSE);
        number += 1;
    }
    file.into_bytes()
}

/// No connection comes about.
fn refused_each(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0;
    while file.has_room(1000) {
        let mut talk = Talk::new(number);
        file.send(&mut talk, By::Client, SYN, b"");
        file.send(&mut talk, By::Server, RST | ACK, b"");
        number += 1;
    }
    file.into_bytes()
}

const TRUNCATED: &[u8] = b"HTTP/1.1 200 \r\nContent-Length: 9\r\n\r\n";

/// What a client does once its response is cut off.
enum Client {
    StaysOpen,
    /// It closes, and nobody acknowledges that.
    Closes,
}

/// On every connection, a response is cut off.
fn truncated_each(most: usize, client: Client) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0;
    while file.has_room(1000) {
        let mut talk = Talk::new(number);
        file.say(&mut talk, By::Client, REQUEST);
        file.send(&mut talk, By::Server, FIN | ACK, TRUNCATED);
        if matches!(client, Client::Closes) {
            file.send(&mut talk, By::Client, FIN | ACK, b"");
        }
        number += 1;
    }
    file.into_bytes()
}

/// The same without a FIN, longer after the request than first segments are put off.
fn truncated_late_each(most: usize) -> Vec<u8> {
    const TOGETHER: u32 = 1_000;
    let mut file = File::new(most);
    let mut number = 0;
    while file.has_room(200_000) {
        let mut talks: Vec<Talk> = (number..number + TOGETHER).map(Talk::new).collect();
        talks.iter_mut().for_each(|talk| file.say(talk, By::Client, REQUEST));
        file.wait(3_000_000);
        talks.iter_mut().for_each(|talk| file.say(talk, By::Server, TRUNCATED));
        number += TOGETHER;
    }
    file.into_bytes()
}

/// Many small chunks on each of many connections.
fn chunks_each(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    response.extend(b"1\r\na\r\n".repeat(10_800));
    let mut number = 0;
    while file.has_room(70_000) {
        let mut talk = Talk::new(number);
        file.say(&mut talk, By::Client, REQUEST);
        file.say(&mut talk, By::Server, &response);
        number += 1;
    }
    file.into_bytes()
}

/// Paths of which each character becomes an escape.
fn control_paths(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut number = 0;
    while file.has_room(1000) {
        let mut talk = Talk::new(number);
        let head = format!("GET /{number}{} HTTP/1.1\r\n\r\n", "\u{9b}".repeat(60));
        file.say(&mut talk, By::Client, head.as_bytes());
        file.say(&mut talk, By::Server, RESPONSE);
        number += 1;
    }
    file.into_bytes()
}

/// Empty records of application data.
fn tls_records(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    while file.has_room(60_000) {
        file.say(&mut talk, By::Client, &[23, 3, 3, 0, 0].repeat(6_000));
        file.say(&mut talk, By::Server, &[23, 3, 3, 0, 0].repeat(6_000));
    }
    file.into_bytes()
}

fn tls_turns(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    while file.has_room(500) {
        file.say(&mut talk, By::Client, &[23, 3, 3, 0, 1, 0]);
        file.say(&mut talk, By::Server, &[23, 3, 3, 0, 1, 0]);
    }
    file.into_bytes()
}

fn tls_hello(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    while file.has_room(0) {
        for byte in [22, 3, 1, 0, 1, 1] {
            file.say(&mut talk, By::Client, &[byte]);
        }
    }
    file.into_bytes()
}

fn opaque_turns(most: usize) -> Vec<u8> {
    let mut file = File::new(most);
    let mut talk = Talk::new(0);
    file.open(&mut talk);
    while file.has_room(500) {
        file.say(&mut talk, By::Client, b"?");
        file.say(&mut talk, By::Server, b"!");
    }
    file.into_bytes()
}
