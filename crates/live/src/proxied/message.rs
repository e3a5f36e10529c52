//! The few lines of HTTP/1.1 that clients, relay and servers need.
//!
//! Not here: chunked bodies, pipelining, and anything that a proxy under test does not send.

use std::io::{self, BufRead, Read};

use ackwise_sim::requests::Wanted;

use super::Addresses;

/// How a client writes where a document is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Form {
    /// `/s7/1000` for 1,000 bytes of the eighth server, `/hit/1000` for what the proxy has: for a proxy that stands
    /// for its servers.
    Path,
    /// `http://ADDRESS/1000`, and `http://ADDRESS/hit`: for a proxy of its clients.
    Absolute,
}

impl Form {
    /// A request. Of what the proxy has, it wants the first bytes.
    pub(super) fn request(self, wanted: &Wanted, place: &Addresses) -> String {
        let Wanted { size, server, hit } = *wanted;
        let target = match (self, hit) {
            (Self::Path, false) => format!("/s{server}/{size}"),
            (Self::Path, true) => format!("/hit/{size}"),
            (Self::Absolute, false) => format!("http://{}/{size}", place.servers[server as usize]),
            (Self::Absolute, true) => format!("http://{}/hit", place.hits),
        };
        let range = if hit { format!("Range: bytes=0-{}\r\n", size - 1) } else { String::new() };
        format!("GET {target} HTTP/1.1\r\nHost: proxy\r\n{range}\r\n")
    }
}

/// What a server is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Asked {
    /// The server by its place in the list; `None` if the path names none.
    pub(super) server: Option<u32>,
    pub(super) hit: bool,
    pub(super) size: u64,
}

/// Reads a request; `None` at the end of the stream.
pub(super) fn read_request(from: &mut impl BufRead) -> io::Result<Option<Asked>> {
    let head = read_head(from)?;
    if head.is_empty() {
        return Ok(None);
    }
    let path = head.split(' ').nth(1).ok_or(io::ErrorKind::InvalidData)?;
    let mut parts = path.split('/').skip(1).peekable();
    let server = parts.next_if(|it| it.starts_with('s')).map(|it| it[1..].parse());
    let hit = parts.next_if(|it| *it == "hit").is_some();
    let size = match parts.next() {
        Some(size) => size.parse().map_err(|_| io::ErrorKind::InvalidData)?,
        None => Addresses::LARGEST,
    };
    let server = server.transpose().map_err(|_| io::ErrorKind::InvalidData)?;
    Ok(Some(Asked { server, hit, size }))
}

/// The head of a response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) length: u64,
}

/// Reads the head of a response.
pub(super) fn read_response(from: &mut impl BufRead) -> io::Result<Head> {
    let head = read_head(from)?.to_ascii_lowercase();
    if head.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    let length = head.lines().find_map(|it| it.strip_prefix("content-length:"));
    let length = length.and_then(|it| it.trim().parse().ok());
    match (status, length) {
        (Some(status), Some(length)) => Ok(Head { status, length }),
        // An error without a length, whose end is that of the connection.
        (Some(status @ 300..), None) => Ok(Head { status, length: 0 }),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Lines up to an empty one; empty at the end of the stream.
fn read_head(from: &mut impl BufRead) -> io::Result<String> {
    let mut head = String::new();
    loop {
        let before = head.len();
        let mut line = from.take(LONGEST_HEAD.saturating_sub(before as u64));
        let read = line.read_line(&mut head)?;
        match &head[before..] {
            "\r\n" | "\n" => return Ok(head),
            _ if read == 0 && before == 0 => return Ok(head),
            line if !line.ends_with('\n') => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ => {}
        }
    }
}

/// Bytes of a head (our choice: a few lines that we or a proxy write).
const LONGEST_HEAD: u64 = 8_192;

#[cfg(test)]
mod tests {
    use std::net::SocketAddrV4;

    use super::*;

    fn place() -> Addresses {
        let at = |text: &str| text.parse::<SocketAddrV4>().unwrap();
        Addresses { listen: at("1.1.1.1:1"), servers: vec![at("2.2.2.2:2")], hits: at("3.3.3.3:3") }
    }

    #[test]
    fn a_server_reads_what_a_client_writes() {
        for (hit, server, asked) in [
            (false, 0, Asked { server: Some(0), hit: false, size: 700 }),
            (true, 0, Asked { server: None, hit: true, size: 700 }),
        ] {
            let text = Form::Path.request(&Wanted { size: 700, server, hit }, &place());
            assert_eq!(read_request(&mut text.as_bytes()).unwrap(), Some(asked));
        }
        let text = Form::Absolute.request(&Wanted { size: 700, server: 0, hit: true }, &place());
        assert!(text.starts_with("GET http://3.3.3.3:3/hit HTTP/1.1\r\n"), "{text}");
        assert!(text.contains("\r\nRange: bytes=0-699\r\n"), "{text}");
        // As a proxy passes it on.
        let hit = Asked { server: None, hit: true, size: Addresses::LARGEST };
        assert_eq!(read_request(&mut &b"GET /hit HTTP/1.1\r\n\r\n"[..]).unwrap(), Some(hit));
        assert_eq!(read_request(&mut &b""[..]).unwrap(), None);
        assert!(read_request(&mut &b"GET /x HTTP/1.1\r\n\r\n"[..]).is_err());
        assert!(read_request(&mut &b"GET /1 HTTP/1.1\r\n"[..]).is_err());
    }

    #[test]
    fn a_response_has_a_length_or_is_an_error() {
        let read = |text: &str| read_response(&mut text.as_bytes());
        let good = read("HTTP/1.1 206 Partial\r\nContent-Length: 9\r\n\r\n").unwrap();
        assert_eq!(good, Head { status: 206, length: 9 });
        assert_eq!(read("HTTP/1.1 503 x\r\n\r\n").unwrap(), Head { status: 503, length: 0 });
        assert!(read("HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(read("").is_err());
        assert!(read(&format!("HTTP/1.1 200 {}\r\n\r\n", "x".repeat(9_000))).is_err());
    }
}
