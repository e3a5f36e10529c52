//! The client writes the head of its request, then the body.

use ackwise_cause::{Cause, Party};

use super::*;

#[test]
fn a_client_that_splits_its_request() {
    Exhibit {
        title: "A client that splits its request",
        source: include_str!("split_request.rs"),
        network: Network::Cable,
        server: |stream, _| answer(stream, 20),
        client: post,
        verdict: Claim::Costs(Cause::NagleDelayedAck, Party::Client, 85.0),
    }
    .show();
}

fn post(server: SocketAddr, version: Version) -> io::Result<()> {
    let mut stream = connect(server)?;
    let (head, body) = (http::upload_head(300), http::body(300));
    for _ in 0..20 {
        match version {
            Version::Buggy => {
                stream.write_all(&head)?;
                stream.write_all(&body)?;
            }
            Version::Fixed => stream.write_all(&[&head[..], &body].concat())?,
        }
        http::read_message(&mut stream)?;
    }
    Ok(())
}
