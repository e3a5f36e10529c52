//! The server refuses an upload by its head, and closes with the body unread.

use ackwise_cause::Party;

use super::*;

#[test]
fn a_413_that_its_reset_overtakes() {
    Exhibit {
        title: "A 413 before the end of the upload",
        source: include_str!("early_refusal.rs"),
        network: Network::Link(long_way),
        server: refuse,
        client: upload,
        verdict: Claim::Fails("early-response-reset", Party::Server),
    }
    .show();
}

fn refuse(stream: &mut TcpStream, version: Version) -> io::Result<()> {
    http::read_head(stream)?;
    stream.write_all(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 9\r\n\r\ntoo large")?;
    if version == Version::Fixed {
        io::copy(stream, &mut io::sink())?;
    }
    Ok(())
}

/// Writes all of the body before it reads, as most clients do.
fn upload(server: SocketAddr, version: Version) -> io::Result<()> {
    let mut stream = connect(server)?;
    stream.write_all(&http::upload_head(400_000))?;
    let written = stream.write_all(&http::body(400_000));
    assert_eq!(written.is_ok(), version == Version::Fixed, "{version:?}: {written:?}");
    if version == Version::Fixed {
        http::read_message(&mut stream)?;
    }
    Ok(())
}
