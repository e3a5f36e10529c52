//! As much of HTTP/2 as the programs need (RFC 9113).

use std::{
    io::{self, Read},
    net::TcpStream,
};

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Kinds of frames.
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const WINDOW_UPDATE: u8 = 8;

/// Flags.
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// `GET http://…/`, and status 200, by the static table (RFC 7541, appendix A).
pub(crate) const GET: [u8; 3] = [0x82, 0x86, 0x84];
pub(crate) const OK: [u8; 1] = [0x88];

/// A frame that was read.
#[derive(Debug)]
pub(crate) struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub id: u32,
    pub payload: Vec<u8>,
}

/// The bytes of a frame (section 4.1).
pub(crate) fn frame(kind: u8, flags: u8, id: u32, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).expect("frames are small").to_be_bytes();
    [&len[1..], &[kind, flags], &id.to_be_bytes(), payload].concat()
}

/// Reads the next frame.
pub(crate) fn read_frame(stream: &mut TcpStream) -> io::Result<Frame> {
    let mut head = [0; 9];
    stream.read_exact(&mut head)?;
    let [a, b, c, kind, flags, id @ ..] = head;
    let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
    stream.read_exact(&mut payload)?;
    Ok(Frame { kind, flags, id: u32::from_be_bytes(id), payload })
}
