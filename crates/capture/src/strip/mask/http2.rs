//! HTTP/2's frames: their headers, and the payloads that are read.

use std::hash::RandomState;

use super::{METHODS, path};
use crate::conversation::KnownFields;

/// The header of a frame, without padding and priority in a field block; of one that means nothing
/// to the analyser, the length alone.
pub(super) fn frame_header(length: u32, number: u8, flags: u8, stream: u32) -> Vec<u8> {
    let [_, a, b, c] = length.to_be_bytes();
    let (number, flags, stream) = match number {
        HEADERS | PUSH_PROMISE => (number, flags & !(PADDED | PRIORITY), stream),
        DATA | RST_STREAM | SETTINGS | GOAWAY | WINDOW_UPDATE | CONTINUATION => {
            (number, flags, stream)
        }
        PING => (PING, 0, 0),
        _ => (UNKNOWN_TYPE, 0, 0),
    };
    [&[a, b, c, number, flags][..], &stream.to_be_bytes()].concat()
}

/// The payload of `length` bytes of a frame with a field block that says this, behind `prefix` bytes.
pub(super) fn payload(
    length: u32,
    prefix: u32,
    fields: &KnownFields,
    key: &RandomState,
) -> Vec<u8> {
    let prefix = prefix.min(length);
    let mut payload = vec![0; prefix as usize];
    let length = (length - prefix) as usize;
    payload.extend(block(length, fields, key));
    payload
}

/// A field block of `length` bytes in which method, path, status and protocol stand, as far as they
/// fit; none of them in HPACK's dynamic table, so that each block can be read alone.
fn block(length: usize, fields: &KnownFields, key: &RandomState) -> Vec<u8> {
    let KnownFields { method, path, status, protocol } = fields;
    let mut block = Vec::with_capacity(length);
    let is_websocket = protocol.as_deref().is_some_and(|it| it.eq_ignore_ascii_case("websocket"));
    let room = |block: &Vec<u8>| length - block.len();
    let fields = [
        method.as_deref().map(method_field),
        status.map(status_field),
        is_websocket.then(|| WEBSOCKET.to_vec()),
    ];
    for field in fields.into_iter().flatten().filter(|field| !field.is_empty()) {
        if field.len() <= room(&block) {
            block.extend(field);
        }
    }
    if let Some(target) = path {
        block.extend(path_field(target, room(&block), key));
    }
    block.resize(length, FILLER);
    block
}

/// RFC 7541, appendix A: `:method` GET and POST have entries of their own.
fn method_field(method: &str) -> Vec<u8> {
    match method {
        "GET" => vec![0x82],
        "POST" => vec![0x83],
        _ if METHODS.contains(&method.as_bytes()) => literal(2, method.as_bytes()),
        _ => Vec::new(),
    }
}

fn status_field(status: u16) -> Vec<u8> {
    match STATUSES.iter().zip(0x88..).find(|(known, _)| **known == status) {
        Some((_, index)) => vec![index],
        None => literal(8, status.to_string().as_bytes()),
    }
}

fn path_field(target: &str, room: usize, key: &RandomState) -> Vec<u8> {
    match room {
        0 => Vec::new(),
        // The entry for "/".
        1..=3 => vec![0x84],
        _ => literal(4, &path(target.as_bytes(), room - 2, key)),
    }
}

/// RFC 7541, section 6.2.2: without indexing, its name by an entry below 15, its value as it is and
/// below 127 bytes.
fn literal(name: u8, value: &[u8]) -> Vec<u8> {
    let length = u8::try_from(value.len()).unwrap_or(u8::MAX);
    [&[name, length][..], value].concat()
}

/// The parameters that RFC 9113 knows, of a SETTINGS frame's payload; zeros for others.
pub(super) fn settings(mut payload: Vec<u8>) -> Vec<u8> {
    for parameter in payload.chunks_mut(6) {
        if !matches!(parameter, [0, 1..=6, ..]) {
            parameter.fill(0);
        }
    }
    payload
}

/// RFC 8441, section 4, as RFC 7541, section 6.2.2, has it: without indexing, with a name of its own.
const WEBSOCKET: &[u8] = b"\x00\x09:protocol\x09websocket";

/// Frame types and flags (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// No frame has this type (IANA, HTTP/2 Frame Type registry).
const UNKNOWN_TYPE: u8 = 0xff;

/// `:status`, entries 8 to 14.
const STATUSES: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];

/// The entry for `accept-encoding: gzip, deflate`: a field that is none of the three.
const FILLER: u8 = 0x90;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_keeps_what_is_read_and_of_an_unknown_frame_only_the_length() {
        let noise = frame_header(0x0a_48_45, b'A', b'D', 0x2061_6263);
        assert_eq!(noise, [b'\n', b'H', b'E', UNKNOWN_TYPE, 0, 0, 0, 0, 0]);
        let headers = frame_header(17, HEADERS, 0x4 | PADDED | PRIORITY, 3);
        assert_eq!(headers, [0, 0, 17, HEADERS, 0x4, 0, 0, 0, 3]);
        assert_eq!(frame_header(8, PING, 1, 5), [0, 0, 8, PING, 0, 0, 0, 0, 0]);
        assert_eq!(frame_header(1, DATA, 1, 5), [0, 0, 1, DATA, 1, 0, 0, 0, 5]);
    }

    #[test]
    fn blocks_have_their_length_and_hold_what_fits() {
        let key = RandomState::new();
        let block = |length, method: Option<&str>, path: Option<&str>, status, key: &_| {
            let [method, path] = [method, path].map(|it| it.map(Into::into));
            block(length, &KnownFields { method, path, status, protocol: None }, key)
        };
        let get = block(3, Some("GET"), Some("/secret"), None, &key);
        assert_eq!(get, [0x82, 0x84, FILLER]);
        let put = block(20, Some("PUT"), Some("/secret"), None, &key);
        assert_eq!(put[..7], [2, 3, b'P', b'U', b'T', 4, 9]);
        assert_eq!((put[7], put.len()), (b'/', 20));
        assert_eq!(block(1, None, None, Some(404), &key), [0x8d]);
        assert_eq!(block(6, None, None, Some(503), &key), [8, 3, b'5', b'0', b'3', FILLER]);
        assert_eq!(block(1, Some("STEAL"), None, None, &key), [FILLER]);
        assert!(block(0, Some("GET"), Some("/"), Some(200), &key).is_empty());
    }
}
