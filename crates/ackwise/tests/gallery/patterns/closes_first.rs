//! The server closes after each response, hundreds of times a second.

use std::{thread, time::Instant};

use ackwise_cause::Party;

use super::*;

#[test]
fn a_server_that_closes_first() {
    Exhibit {
        title: "A server that closes first, 600 times a second",
        source: include_str!("closes_first.rs"),
        network: Network::Cable,
        server: serve,
        client: ask_600_times,
        verdict: Claim::HoldsTimeWait(Party::Server),
    }
    .show();
}

fn serve(stream: &mut TcpStream, version: Version) -> io::Result<()> {
    http::read_message(stream)?;
    stream.write_all(&[http::response_head(500), http::body(500)].concat())?;
    match version {
        Version::Buggy => Ok(()),
        // The client knows the length of the response, and closes first.
        Version::Fixed => io::copy(stream, &mut io::sink()).map(|_| ()),
    }
}

fn ask_600_times(server: SocketAddr, version: Version) -> io::Result<()> {
    let begun = Instant::now();
    for number in 0..600 {
        let due = begun + Duration::from_secs(1) * number / 600;
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let mut stream = connect(server)?;
        ask(&mut stream)?;
        if version == Version::Buggy {
            io::copy(&mut stream, &mut io::sink())?;
        }
    }
    Ok(())
}
