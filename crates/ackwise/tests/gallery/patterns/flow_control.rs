//! An HTTP/2 client leaves the flow-control windows as they are by default: 65,535 bytes.

use std::{fs, io::Read};

use ackwise_cause::{Cause, Party};

use super::*;
use crate::http2::{
    DATA, END_HEADERS, END_STREAM, GET, HEADERS, OK, PREFACE, SETTINGS, WINDOW_UPDATE, frame,
    read_frame,
};

#[test]
fn http_2_windows_of_65_535_bytes() {
    Exhibit {
        title: "HTTP/2 windows of 65,535 bytes",
        source: include_str!("flow_control.rs"),
        network: Network::Link(long_way),
        server: serve,
        client: download,
        verdict: Claim::Costs(Cause::H2FlowControl, Party::Client, 60.0),
    }
    .show();
}

/// Sends what the windows of the connection and of the only stream allow.
fn serve(stream: &mut TcpStream, _: Version) -> io::Result<()> {
    stream.read_exact(&mut [0; PREFACE.len()])?;
    stream.set_nodelay(true)?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[]))?;
    let mut windows = [65_535_usize; 2];
    let mut left = 0;
    loop {
        let said = read_frame(stream)?;
        match (said.kind, &said.payload[..]) {
            (SETTINGS, [_, _, value @ ..]) => windows[1] = number(value),
            (WINDOW_UPDATE, more) => windows[usize::from(said.id > 0)] += number(more),
            (HEADERS, _) => {
                left = 2_000_000;
                stream.write_all(&frame(HEADERS, END_HEADERS, 1, &OK))?;
            }
            _ => {}
        }
        while let part @ 1.. = left.min(16_384).min(windows[0]).min(windows[1]) {
            left -= part;
            windows = windows.map(|window| window - part);
            let end = if left == 0 { END_STREAM } else { 0 };
            stream.write_all(&frame(DATA, end, 1, &http::body(part)))?;
        }
    }
}

fn download(server: SocketAddr, version: Version) -> io::Result<()> {
    // TCP's own window is large from the beginning, so that it hides nothing.
    fs::write("/proc/sys/net/ipv4/tcp_rmem", "4096 8388608 33554432")?;
    let mut stream = connect(server)?;
    stream.set_nodelay(true)?;
    let windows = match version {
        Version::Buggy => frame(SETTINGS, 0, 0, &[]),
        // Setting 4 is SETTINGS_INITIAL_WINDOW_SIZE, for streams; stream 0 is the connection.
        Version::Fixed => {
            [frame(SETTINGS, 0, 0, &[0, 4, 0, 0x80, 0, 0]), give(0, 8 << 20)].concat()
        }
    };
    let request = frame(HEADERS, END_HEADERS | END_STREAM, 1, &GET);
    stream.write_all(&[PREFACE, &windows, &request].concat())?;
    let mut taken = 0;
    loop {
        let part = read_frame(&mut stream)?;
        if part.flags & END_STREAM > 0 && part.kind == DATA {
            return Ok(());
        }
        taken += u32::try_from(part.payload.len()).expect("frames are small");
        if taken >= HALF {
            stream.write_all(&[give(0, taken), give(1, taken)].concat())?;
            taken = 0;
        }
    }
}

/// Makes the window of a stream, or of the connection, so much larger.
fn give(id: u32, bytes: u32) -> Vec<u8> {
    frame(WINDOW_UPDATE, 0, id, &bytes.to_be_bytes())
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

/// The client gives back what is used up when it is half of the window, as most do.
const HALF: u32 = 65_535 / 2;
