//! An HTTP/2 server ends its stream with an empty DATA frame, under a cork that nobody takes out.

use std::io::Read;

use ackwise_http::cause::{Cause, Party};
use socket2::SockRef;

use super::*;

#[test]
fn an_empty_last_data_frame_under_a_cork() {
    Exhibit {
        title: "An empty last DATA frame under a cork",
        source: include_str!("empty_last_frame.rs"),
        network: Network::Cable,
        server: serve,
        client: ask_by_http2,
        verdict: Verdict::Costs(Cause::CorkTimer, Party::Server, 85.0),
    }
    .show();
}

fn serve(stream: &mut TcpStream, version: Version) -> io::Result<()> {
    stream.read_exact(&mut [0; PREFACE.len()])?;
    stream.set_nodelay(true)?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
    loop {
        let (kind, id, _) = read_frame(stream)?;
        if kind != HEADERS {
            continue;
        }
        SockRef::from(&*stream).set_tcp_cork(true)?;
        stream.write_all(&frame(HEADERS, END_HEADERS, id, &[STATUS_200]))?;
        // What the program copies ends when a read returns nothing.
        for part in [&[b'x'; 3_000][..], &[]] {
            let end = if part.is_empty() { END_STREAM } else { 0 };
            stream.write_all(&frame(DATA, end, id, part))?;
        }
        if version == Version::Fixed {
            SockRef::from(&*stream).set_tcp_cork(false)?;
        }
    }
}

fn ask_by_http2(server: SocketAddr, _: Version) -> io::Result<()> {
    let mut stream = connect(server)?;
    stream.set_nodelay(true)?;
    stream.write_all(&[PREFACE, &frame(SETTINGS, 0, 0, &[])].concat())?;
    for id in (1..=9).step_by(2) {
        let flags = END_HEADERS | END_STREAM;
        stream.write_all(&frame(HEADERS, flags, id, &[METHOD_GET, SCHEME_HTTP, PATH_ROOT]))?;
        while read_frame(&mut stream)?.2 & END_STREAM == 0 {}
    }
    Ok(())
}

/// RFC 9113, section 4.1.
fn frame(kind: u8, flags: u8, id: u32, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).expect("frames are small").to_be_bytes();
    [&len[1..], &[kind, flags], &id.to_be_bytes(), payload].concat()
}

/// The kind of the next frame, its stream and its flags.
fn read_frame(stream: &mut TcpStream) -> io::Result<(u8, u32, u8)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head)?;
    let [a, b, c, kind, flags, id @ ..] = head;
    http::read_body(stream, u32::from_be_bytes([0, a, b, c]) as usize)?;
    Ok((kind, u32::from_be_bytes(id), flags))
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// RFC 7541, appendix A: indexed fields of the static table.
const STATUS_200: u8 = 0x88;
const METHOD_GET: u8 = 0x82;
const SCHEME_HTTP: u8 = 0x86;
const PATH_ROOT: u8 = 0x84;
