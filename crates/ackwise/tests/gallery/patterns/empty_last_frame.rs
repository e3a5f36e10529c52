//! An HTTP/2 server ends its stream with an empty DATA frame, under a cork that nobody takes out.

use std::io::Read;

use ackwise_cause::{Cause, Party};
use socket2::SockRef;

use super::*;
use crate::http2::{
    DATA, END_HEADERS, END_STREAM, GET, HEADERS, OK, PREFACE, SETTINGS, frame, read_frame,
};

#[test]
fn an_empty_last_data_frame_under_a_cork() {
    Exhibit {
        title: "An empty last DATA frame under a cork",
        source: include_str!("empty_last_frame.rs"),
        network: Network::Cable,
        server: serve,
        client: ask_by_http2,
        verdict: Claim::Costs(Cause::CorkTimer, Party::Server, 85.0),
    }
    .show();
}

fn serve(stream: &mut TcpStream, version: Version) -> io::Result<()> {
    stream.read_exact(&mut [0; PREFACE.len()])?;
    stream.set_nodelay(true)?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
    loop {
        let request = read_frame(stream)?;
        if request.kind != HEADERS {
            continue;
        }
        SockRef::from(&*stream).set_tcp_cork(true)?;
        stream.write_all(&frame(HEADERS, END_HEADERS, request.id, &OK))?;
        // The copy loop ends with an empty read, which becomes an empty frame.
        for part in [&[b'x'; 3_000][..], &[]] {
            let end = if part.is_empty() { END_STREAM } else { 0 };
            stream.write_all(&frame(DATA, end, request.id, part))?;
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
        stream.write_all(&frame(HEADERS, END_HEADERS | END_STREAM, id, &GET))?;
        while read_frame(&mut stream)?.flags & END_STREAM == 0 {}
    }
    Ok(())
}
