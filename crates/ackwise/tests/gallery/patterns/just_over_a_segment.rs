//! The server writes the header, then a body of a full segment and a little.

use ackwise_cause::{Cause, Party};

use super::*;

#[test]
fn header_then_a_body_of_just_over_a_segment() {
    Exhibit {
        title: "Header, then a body of just over a segment",
        source: include_str!("just_over_a_segment.rs"),
        network: Network::Link(long_way),
        server: serve,
        client: twenty_requests,
        verdict: Claim::Costs(Cause::NagleRtt, Party::Server, 40.0),
    }
    .show();
}

fn serve(stream: &mut TcpStream, version: Version) -> io::Result<()> {
    // Segments hold 1,448 bytes. The last 52 wait until the header is acknowledged.
    let (head, body) = (http::response_head(1_500), http::body(1_500));
    if version == Version::Fixed {
        stream.set_nodelay(true)?;
    }
    loop {
        http::read_message(stream)?;
        stream.write_all(&head)?;
        stream.write_all(&body)?;
    }
}
