//! The server writes the header, then the body.

use ackwise_cause::{Cause, Party};

use super::*;

#[test]
fn header_and_body_in_two_writes() {
    Exhibit {
        title: "Header and body in two writes",
        source: include_str!("two_writes.rs"),
        network: Network::Cable,
        server: serve,
        client: twenty_requests,
        verdict: Claim::Costs(Cause::NagleDelayedAck, Party::Server, 85.0),
    }
    .show();
}

fn serve(stream: &mut TcpStream, version: Version) -> io::Result<()> {
    let (head, body) = (http::response_head(500), http::body(500));
    loop {
        http::read_message(stream)?;
        match version {
            Version::Buggy => {
                stream.write_all(&head)?;
                stream.write_all(&body)?;
            }
            Version::Fixed => stream.write_all(&[&head[..], &body].concat())?,
        }
    }
}
