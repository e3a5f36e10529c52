//! The server keeps at most 128 KiB unsent in its socket, and comes back to it every 100 ms.

use std::{io::ErrorKind, thread};

use ackwise_cause::{Cause, Party};
use ackwise_link::Rate;
use nix::sys::socket::{setsockopt, sockopt};
use socket2::SockRef;

use super::*;

#[test]
fn tcp_notsent_lowat_of_128_kib() {
    Exhibit {
        title: "TCP_NOTSENT_LOWAT of 128 KiB",
        source: include_str!("notsent_lowat.rs"),
        network: Network::Link(fast),
        server: serve,
        client: |server, _| ask(&mut connect(server)?),
        verdict: Claim::Costs(Cause::ApplicationLimited, Party::Server, 40.0),
    }
    .show();
}

fn serve(stream: &mut TcpStream, version: Version) -> io::Result<()> {
    let response = [http::response_head(BODY), http::body(BODY)].concat();
    http::read_message(stream)?;
    // The buffer holds what the link sends while the program is busy elsewhere;
    setsockopt(stream, sockopt::SndBufForce, &4_194_304)?;
    // the limit is a tenth of that.
    if version == Version::Buggy {
        SockRef::from(&*stream).set_tcp_notsent_lowat(131_072)?;
    }
    stream.set_nonblocking(true)?;
    let mut left = &response[..];
    while !left.is_empty() {
        match stream.write(left) {
            Ok(written) => left = &left[written..],
            // The program looks after its other connections for so long.
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(ELSEWHERE),
            Err(error) => return Err(error),
        }
    }
    stream.set_nonblocking(false)?;
    http::read_message(stream)
}

/// 100 Mb/s, and a round trip of 10 ms.
fn fast() -> EmulatorOptions {
    let rate = Rate::bits_per_second(100_000_000);
    EmulatorOptions::symmetric(LinkConfig {
        rate,
        delay: Duration::from_millis(5),
        ..LinkConfig::IDEAL
    })
}

const BODY: usize = 5_000_000;
const ELSEWHERE: Duration = Duration::from_millis(100);
