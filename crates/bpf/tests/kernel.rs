//! The programs in this kernel. Names of congestion controls are the whole host's, so one test does what
//! concerns them.

#![cfg(all(target_os = "linux", feature = "libbpf"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
};

use ackwise_bpf::{Base, BpfError, Last, Paced, Witness};
use ackwise_testing::skip;
use socket2::SockRef;

/// Says why a test cannot run.
fn is_possible(test: &str) -> bool {
    let why = if !nix::unistd::geteuid().is_root() {
        "root; run as root"
    } else if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        "a kernel with BTF; build one with CONFIG_DEBUG_INFO_BTF"
    } else {
        return true;
    };
    skip(test, why);
    false
}

fn congestion(socket: SockRef<'_>) -> String {
    let name = socket.tcp_congestion().unwrap();
    String::from_utf8(name).unwrap().trim_end_matches('\0').to_owned()
}

#[test]
fn a_paced_control_registers_is_inherited_and_outlives_its_name_in_its_sockets() {
    let test = "a_paced_control_registers_is_inherited_and_outlives_its_name_in_its_sockets";
    if !is_possible(test) {
        return;
    }
    for base in Base::ALL {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let set = |name: &str| SockRef::from(&listener).set_tcp_congestion(name.as_bytes());
        assert!(set(base.paced()).is_err(), "nobody has registered it");
        let paced = Paced::register(&[base]).unwrap();
        let again = Paced::register(&[base]);
        assert!(
            matches!(again, Err(BpfError::NameTaken(name)) if name == base.paced()),
            "{again:?}"
        );
        set(base.paced()).unwrap();
        let connect = || {
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (client, listener.accept().unwrap().0)
        };
        let before = connect();
        assert_eq!(congestion(SockRef::from(&before.1)), base.paced());
        drop(paced);
        // The listening socket holds the programs.
        let mut after = connect();
        assert_eq!(congestion(SockRef::from(&after.1)), base.paced());
        after.1.write_all(&[0; 100_000]).unwrap();
        after.0.read_exact(&mut [0; 100_000]).unwrap();
        set("reno").unwrap();
        assert!(set(base.paced()).is_err(), "the name is gone");
        SockRef::from(&after.1).set_tcp_congestion(b"reno").unwrap();
        after.1.write_all(&[0; 100_000]).unwrap();
        after.0.read_exact(&mut [0; 100_000]).unwrap();
    }
}

#[test]
fn the_witness_knows_what_came_last() {
    if !is_possible("the_witness_knows_what_came_last") {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut client = TcpStream::connect(address).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let cookie = SockRef::from(&server).cookie().unwrap();
    let witness = Witness::start(Some(address.port())).unwrap();
    let other = Witness::start(Some(1)).unwrap();
    let every = Witness::start(None).unwrap();
    let upward = SockRef::from(&client).cookie().unwrap();
    assert_eq!(witness.last(cookie, 0), None);

    client.write_all(b"request").unwrap();
    server.read_exact(&mut [0; 7]).unwrap();
    assert_eq!(witness.last(cookie, 7), None);
    server.write_all(b"response").unwrap();
    assert_eq!(witness.last(cookie, 7), Some(Last::Written));
    // The next one follows at once, and the server works on it.
    client.write_all(b"request").unwrap();
    server.read_exact(&mut [0; 7]).unwrap();
    assert_eq!(witness.last(cookie, 14), Some(Last::Received));
    server.write_all(b"response").unwrap();
    assert_eq!(witness.last(cookie, 14), Some(Last::Written));
    // A response that is written while another request is unread does not answer that.
    client.write_all(b"request").unwrap();
    while server.peek(&mut [0; 7]).unwrap() < 7 {}
    server.write_all(b"response").unwrap();
    server.read_exact(&mut [0; 7]).unwrap();
    assert_eq!(witness.last(cookie, 21), Some(Last::Received));
    assert_eq!(other.last(cookie, 21), None);
    // The client's end, on whatever port it has: the response came after its last request.
    assert_eq!((witness.last(upward, 24), every.last(cookie, 21)), (None, Some(Last::Received)));
    assert_eq!(every.last(upward, 24), Some(Last::Received));
    client.read_exact(&mut [0; 24]).unwrap();
    client.write_all(b"request").unwrap();
    assert_eq!(every.last(upward, 24), Some(Last::Written));
}
