//! The server never says `100 Continue`, and the client waits for it, up to a second as curl does.

use std::io::ErrorKind;

use ackwise_cause::{Cause, Party};

use super::*;

#[test]
fn a_100_continue_that_never_comes() {
    Exhibit {
        title: "100 Continue that never comes",
        source: include_str!("never_continues.rs"),
        network: Network::Cable,
        server: serve,
        client: upload,
        verdict: Claim::Costs(Cause::ServerThink, Party::Server, 85.0),
    }
    .show();
}

fn serve(stream: &mut TcpStream, version: Version) -> io::Result<()> {
    loop {
        let len = http::read_head(stream)?;
        if version == Version::Fixed {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        http::read_body(stream, len)?;
        stream.write_all(&[http::response_head(20), http::body(20)].concat())?;
    }
}

fn upload(server: SocketAddr, _: Version) -> io::Result<()> {
    let mut stream = connect(server)?;
    let head = "PUT /file HTTP/1.1\r\nContent-Length: 3000\r\nExpect: 100-continue\r\n\r\n";
    (0..2).try_for_each(|_| {
        stream.write_all(head.as_bytes())?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        match http::read_head(&mut stream) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
            _ => be_patient(&stream),
        }
        stream.write_all(&http::body(3_000))?;
        http::read_message(&mut stream)
    })
}
