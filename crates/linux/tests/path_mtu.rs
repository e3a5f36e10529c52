//! A kernel router behind Ackwise's host, whose link to the server has an MTU of 1,400 bytes.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[expect(dead_code, reason = "each test file uses its part")]
mod host;

use std::{
    fs,
    io::Read,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    process::Command,
    sync::mpsc,
    thread,
};

use ackwise_linux::Namespace;
use ackwise_tcp::Event;
use ackwise_testing::skip;
use host::{Host, stream};

const ROUTER: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 2);
/// More segments than the initial window.
const BYTES: usize = 200_000;

#[test]
fn a_router_that_needs_to_fragment_is_believed() {
    let name = "a_router_that_needs_to_fragment_is_believed";
    if Command::new("ip").arg("-V").output().is_err() {
        return skip(name, "no ip here; install iproute2");
    }
    Host::with(name, |mut host| {
        let server = Namespace::create().unwrap();
        route_through_a_narrow_link(&server);
        let listener = server.run(|| TcpListener::bind((SERVER, 0))).unwrap().unwrap();
        let port = listener.local_addr().unwrap().port();
        let sent = stream(7, BYTES);

        // No report so far: the segments are as long as the device and the peer allow.
        let (id, received) = send(&mut host, &listener, (SERVER, port).into(), &sent);
        assert_eq!(received, sent);
        let counters = host.stack.counters();
        // Each segment of the initial window was reported; the first report took effect.
        assert_eq!(counters.path_mtus, 1, "{counters:?}");
        assert_eq!(host.stack.endpoint(id).unwrap().segment_size(), 1_400 - 20 - 32);

        // The next connection to the host uses the known MTU, and its segments pass the router.
        let (_, received) = send(&mut host, &listener, (SERVER, port).into(), &sent);
        assert_eq!(received, sent);
        assert_eq!(host.stack.counters().path_mtus, counters.path_mtus);
    });
}

/// Sends all bytes. Returns those read by a kernel socket.
fn send(
    host: &mut Host,
    listener: &TcpListener,
    server: SocketAddr,
    bytes: &[u8],
) -> (ackwise_linux::ConnectionId, Vec<u8>) {
    let id = host.connect(server);
    host.run_until_event(id, Event::Connected);
    let (mut socket, _) = listener.accept().unwrap();
    let reader = thread::spawn(move || {
        let mut received = vec![0; BYTES];
        socket.read_exact(&mut received).map(|()| received)
    });
    host.exchange(id, bytes, &mut Vec::new(), 0);
    host.run_until("all is read", |_| reader.is_finished());
    (id, reader.join().unwrap().unwrap())
}

/// Makes the calling thread's namespace a router, and connects the server's namespace to it.
fn route_through_a_narrow_link(server: &Namespace) {
    let (here, there) = mpsc::channel();
    let (done, finished) = mpsc::channel::<()>();
    thread::scope(|scope| {
        // A namespace without a name is identified by a thread in it.
        scope.spawn(move || {
            server.run(move || {
                here.send(fs::read_link("/proc/thread-self").unwrap()).unwrap();
                let _ = finished.recv();
            })
        });
        let path = there.recv().unwrap();
        let peer = format!("peer name wire netns /proc/{}/ns/net", path.display());
        ip(&format!("link add wire type veth {peer}"));
        drop(done);
    });
    ip(&format!("address add {ROUTER}/24 dev wire"));
    ip("link set wire mtu 1400 up");
    fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap();
    server
        .run(|| {
            ip(&format!("address add {SERVER}/24 dev wire"));
            ip("link set wire up");
            ip(&format!("route add default via {ROUTER}"));
        })
        .unwrap();
}

fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}
