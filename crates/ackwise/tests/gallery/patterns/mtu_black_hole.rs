//! Packets above a size are dropped on the way, and nobody says so.

use std::thread;

use ackwise_cause::Party;

use super::*;
use crate::lab::Lab;

#[test]
fn a_response_that_never_fits() {
    let exhibit = Exhibit {
        title: "Packets that are too large for a tunnel",
        source: include_str!("mtu_black_hole.rs"),
        network: Network::Cable,
        server: pages,
        client: ask_for_both,
        verdict: Claim::Fails("path-mtu-black-hole", Party::Path),
    };
    exhibit.show_with(&|lab, version| {
        tunnel(lab, version);
        exhibit.run(lab, version);
    });
}

/// Nothing above 1,400 bytes passes: a virtual cable drops what its other end would not take, and sends no ICMP.
fn tunnel(lab: &Lab, version: Version) {
    lab.client.run("ip link set cable mtu 1400");
    // The client's MSS is that of the Ethernet behind the tunnel, unless it is clamped.
    let mss = if version == Version::Buggy { 1_460 } else { 1_360 };
    let route = "10.77.0.0/24 dev cable congctl lock cubic";
    lab.client.run(&format!("ip route change {route} advmss {mss}"));
}

/// A small page, then a large one.
fn pages(stream: &mut TcpStream, _: Version) -> io::Result<()> {
    for size in [500, 6_000] {
        http::read_message(stream)?;
        stream.write_all(&[http::response_head(size), http::body(size)].concat())?;
    }
    io::copy(stream, &mut io::sink()).map(|_| ())
}

fn ask_for_both(server: SocketAddr, version: Version) -> io::Result<()> {
    let mut stream = connect(server)?;
    ask(&mut stream)?;
    stream.set_read_timeout(Some(Duration::from_secs(4)))?;
    let large = ask(&mut stream);
    assert_eq!(large.is_ok(), version == Version::Fixed, "{version:?}: {large:?}");
    drop(stream);
    thread::sleep(Duration::from_millis(400)); // Until the server has acknowledged that.
    Ok(())
}
