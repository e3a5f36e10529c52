//! Bytes that read as others do, and say nothing else.
//!
//! Each function gives as many bytes as it was given: lengths are what the analyser lives on.

mod block;
mod chunks;
mod head;
mod hello;

pub(crate) use block::{block, settings};
pub(crate) use chunks::Chunks;
pub(crate) use head::head;
pub(crate) use hello::{Alpn, hello};

use std::hash::{BuildHasher, RandomState};

/// Methods that say nothing about who uses them: those of RFC 9110 and RFC 5789.
const METHODS: [&[u8]; 9] =
    [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"CONNECT", b"OPTIONS", b"TRACE", b"PATCH"];

/// A name for a path: the same for the same path of the same capture, and not to be undone by who
/// has not the key. At most `length` bytes, at least one.
fn path(path: &[u8], length: usize, key: &RandomState) -> Vec<u8> {
    let mut name = format!("/{:08x}", key.hash_one(path) >> 32).into_bytes();
    name.truncate(length.max(1));
    name
}
