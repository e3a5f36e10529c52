//! As much of HTTP/1.1 as the programs need.

use std::io::{self, ErrorKind, Read};

/// A request without a body.
pub(crate) const GET: &[u8] = b"GET /page HTTP/1.1\r\nHost: server\r\n\r\n";

/// The head of a response with a `body` of this number of bytes.
pub(crate) fn response_head(body: usize) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {body}\r\n\r\n").into()
}

/// The head of a request that uploads a `body` of this number of bytes.
pub(crate) fn upload_head(body: usize) -> Vec<u8> {
    format!("POST /upload HTTP/1.1\r\nHost: server\r\nContent-Length: {body}\r\n\r\n").into()
}

/// So many bytes.
pub(crate) fn body(len: usize) -> Vec<u8> {
    vec![b'x'; len]
}

/// Reads a head up to its empty line, not a byte further; how long its body is.
pub(crate) fn read_head(stream: &mut impl Read) -> io::Result<usize> {
    const MAX_HEAD: usize = 8_192;
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
        if head.len() > MAX_HEAD {
            return Err(ErrorKind::InvalidData.into());
        }
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    Ok(length.and_then(|digits| digits.parse().ok()).unwrap_or(0))
}

/// Reads the `left` bytes of a body.
pub(crate) fn read_body(stream: &mut impl Read, mut left: usize) -> io::Result<()> {
    let mut buffer = vec![0; 65_536];
    while left > 0 {
        let part = left.min(buffer.len());
        stream.read_exact(&mut buffer[..part])?;
        left -= part;
    }
    Ok(())
}

/// Reads a whole message.
pub(crate) fn read_message(stream: &mut impl Read) -> io::Result<()> {
    let len = read_head(stream)?;
    read_body(stream, len)
}
