//! Bytes that read as others do, and say nothing else.
//!
//! Each function returns as many bytes as it was given: the analyser depends on lengths.

mod http1;
mod http2;
mod tls;

use std::hash::{BuildHasher, RandomState};

use crate::conversation::TokenKind;

/// What stands for a token. Names are made with `key`.
pub(super) fn mask(token: TokenKind, key: &RandomState) -> Vec<u8> {
    match token {
        TokenKind::EmptyLines(lines) => lines,
        TokenKind::Head(head) => http1::head(&head, key),
        TokenKind::Chunk(syntax, bytes) => http1::chunk(syntax, bytes),
        TokenKind::Unreadable(byte) => http1::unreadable(byte),
        TokenKind::Preface(preface) => preface.to_vec(),
        TokenKind::FrameHeader { length, number, flags, stream } => {
            http2::frame_header(length, number, flags, stream)
        }
        TokenKind::Settings(payload) => http2::settings(payload),
        TokenKind::WindowUpdate(increment) => increment.to_vec(),
        TokenKind::Error(bytes) | TokenKind::Framing(bytes) => bytes,
        TokenKind::FieldBlock { length, is_promise, fields } => {
            // A promise begins with the stream that is promised.
            http2::payload(length, if is_promise { 4 } else { 0 }, &fields, key)
        }
        TokenKind::RecordHeader { content_type, length } => {
            tls::record_header(content_type, length)
        }
        TokenKind::Hello { message_type, length, alpn } => tls::hello(message_type, length, alpn),
    }
}

/// Methods that say nothing about who uses them: those of RFC 9110 and RFC 5789.
const METHODS: [&[u8]; 9] =
    [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"CONNECT", b"OPTIONS", b"TRACE", b"PATCH"];

/// A name for a path: the same for the same path of the same capture, and irreversible without the
/// key. At most `length` bytes, at least one.
fn path(path: &[u8], length: usize, key: &RandomState) -> Vec<u8> {
    let mut name = format!("/{:08x}", key.hash_one(path) >> 32).into_bytes();
    name.truncate(length.max(1));
    name
}
