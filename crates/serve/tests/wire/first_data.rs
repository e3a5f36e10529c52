//! The first data of a response: at least two segments where there are that many, so that a receiver that delays its ACKs
//! acknowledges at once (Heidemann 1996, section 2.5: "we also write enough of the initial data to insure a steady
//! return of ACKs").

use std::{
    fs,
    io::Write,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use ackwise_http::{Behaviour, RequestBuilder};
use ackwise_linux::packet_socket::PacketSocket;
use ackwise_serve::{Config, Copies, Documents, SendBuffers, Server, Site};
use ackwise_testing::{in_namespace, skip};
use socket2::{Domain, Socket, Type};

/// Bytes of a full segment.
const SEGMENT: u32 = 1_000;
/// With a head of about 200 bytes: less than two segments, little more, and many.
const SIZES: [usize; 4] = [700, 1_900, 10_000, 1_000_000];

#[test]
fn the_first_packet_has_two_segments_or_the_whole_response() {
    let name = "the_first_packet_has_two_segments_or_the_whole_response";
    in_namespace(name, || match PacketSocket::open(Some("lo"), None) {
        Ok(_) => every_way(),
        Err(missing) => skip(name, missing),
    });
}

fn every_way() {
    let directory = tempfile::tempdir().unwrap();
    for size in SIZES {
        fs::write(directory.path().join(size.to_string()), vec![b'x'; size]).unwrap();
    }
    let site = Arc::new(Site::open(directory.path()).unwrap());
    let mmap = Copies::Mmap { over: Copies::MMAP_OVER };
    let ways = [Copies::Read, Copies::Stdio, Copies::Sendfile, mmap, Copies::Mmap { over: 0 }];
    let mut cases = vec![(Documents::Generated, Copies::Read)];
    cases.extend(ways.map(|copies| (Documents::Stored(Arc::clone(&site)), copies)));
    for (documents, copies) in cases {
        for send_buffers in [SendBuffers::Fixed, SendBuffers::Eatbt] {
            let documents = documents.clone();
            let config =
                Config { documents, copies, send_buffers, ..Config::loopback(Behaviour::FIXED) };
            let server = Server::start(config).unwrap();
            for size in SIZES {
                let first = first_packet(server.local_addr(), size);
                let least = (2 * SEGMENT as usize).min(size);
                assert!(first >= least, "{first} of {size} bytes by {copies:?}, {send_buffers:?}");
            }
            server.stop();
        }
    }
}

/// Bytes of the first packet with data that a new connection's server sends. On loopback, what one write gives to TCP
/// is one packet (segmentation offload).
fn first_packet(server: SocketAddr, size: usize) -> usize {
    let mut capture = PacketSocket::open(Some("lo"), None).unwrap();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_tcp_mss(SEGMENT).unwrap();
    socket.connect(&server.into()).unwrap();
    let request = RequestBuilder::get("localhost", format!("/{size}")).encode().unwrap();
    (&socket).write_all(&request).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if capture.receive().unwrap().is_none() {
            continue;
        }
        let Some((port, data)) = data_of(capture.bytes()) else { continue };
        if port == server.port() && data > 0 {
            return data;
        }
    }
    panic!("no response within ten seconds");
}

/// Source port and bytes of data of an IPv4 packet with TCP.
fn data_of(packet: &[u8]) -> Option<(u16, usize)> {
    let ip = usize::from(packet.first()? & 0x0f) * 4;
    let total = usize::from(u16::from_be_bytes([*packet.get(2)?, *packet.get(3)?]));
    let (tcp, offset) = (packet.get(ip..)?, *packet.get(ip + 12)?);
    let header = usize::from(offset >> 4) * 4;
    let port = u16::from_be_bytes([*tcp.first()?, *tcp.get(1)?]);
    Some((port, total.checked_sub(ip + header)?))
}
