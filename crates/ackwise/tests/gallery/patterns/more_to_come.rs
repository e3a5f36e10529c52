//! A proxy passes a body on with MSG_MORE, and then its end brings nothing that it could send.

use ackwise_cause::{Cause, Party};
use nix::libc::MSG_MORE;
use socket2::SockRef;

use super::*;

#[test]
fn a_last_part_that_was_sent_with_msg_more() {
    Exhibit {
        title: "A last part that was sent with MSG_MORE",
        source: include_str!("more_to_come.rs"),
        network: Network::Cable,
        server: serve,
        client: twenty_requests,
        verdict: Claim::Costs(Cause::NagleDelayedAck, Party::Server, 70.0),
    }
    .show();
}

fn serve(stream: &mut TcpStream, version: Version) -> io::Result<()> {
    let response = [http::response_head(2_000), http::body(2_000)].concat();
    loop {
        http::read_message(stream)?;
        // The backend's frame has no END_STREAM: there is more to come.
        SockRef::from(&*stream).send_with_flags(&response, MSG_MORE)?;
        // That was an empty frame with END_STREAM: there is nothing to send.
        if version == Version::Fixed {
            stream.set_nodelay(true)?;
        }
    }
}
