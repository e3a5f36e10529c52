//! What restart by rate sends after an idle period, over an emulated path.

#![cfg(all(target_os = "linux", feature = "ebpf"))]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use ackwise_bpf::{Base, Paced};
use ackwise_link::{LinkConfig, Queue, Rate};
use ackwise_linux::{
    Emulator, Namespace,
    emulator::EmulatorOptions,
    sockets::{Query, SocketTable, TcpInfo, TcpSocket},
};
use ackwise_tcp::State;
use ackwise_testing::{inconclusive, skip};
use socket2::SockRef;

/// In slow start, Reno's window grows to twice what was in flight. The half that the path has not held is not put back:
/// at that rate, the queue overflowed as soon as the measured delivery rate was too high as well.
#[test]
fn a_restart_puts_back_no_more_than_was_in_flight() {
    let test = "a_restart_puts_back_no_more_than_was_in_flight";
    if !nix::unistd::geteuid().is_root() {
        return skip(test, "root, to register a congestion control; run as root");
    }
    if !std::path::Path::new("/sys/kernel/btf/vmlinux").exists() {
        return skip(test, "a kernel with BTF; CONFIG_DEBUG_INFO_BTF");
    }
    for base in Base::ALL {
        let _paced = Paced::register(&[base]).unwrap();
        let [client, server] = [(); 2].map(|()| Namespace::create().unwrap());
        let emulator = Emulator::between(&client, &server, &path()).unwrap();
        let listener = server.run(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0))).unwrap();
        let listener = listener.unwrap();
        SockRef::from(&listener).set_tcp_congestion(base.paced().as_bytes()).unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = SocketAddr::from((emulator.server_address(), port));
        let mut receiving = client.run(|| TcpStream::connect(address)).unwrap().unwrap();
        let sending = listener.accept().unwrap().0;
        thread::spawn(move || while receiving.read(&mut [0; 65_536]).is_ok_and(|size| size > 0) {});
        let mut table = SocketTable::of(&server).unwrap();
        let (mut flight, mut restarted) = (0, Vec::new());
        for _ in 0..RESPONSES {
            let seen = response(&mut table, &sending);
            restarted.push((seen.window_at_first, flight));
            flight = flight.max(seen.flight);
            thread::sleep(IDLE);
        }
        drop((sending, listener));
        let disturbed = emulator.stop().unwrap().disturbances();
        let words = format!("{base:?}: {restarted:?}, {disturbed:?}");
        // A look each millisecond can miss the top. The kernel's own restart would have ten segments or some more.
        let is_so =
            |(window, flight): &(u32, u32)| *window <= flight + flight / 8 + 4 && *window > 20;
        match restarted[1..].iter().all(is_so) {
            true => {}
            // A retransmission that the machine caused counts as a loss.
            false if !disturbed.is_empty() => return inconclusive(test, words),
            false => panic!("{words}"),
        }
    }
}

/// What a response has shown, in segments.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// The largest window before the first ACK.
    window_at_first: u32,
    /// Most segments in flight.
    flight: u32,
}

fn response(table: &mut SocketTable, mut sending: &TcpStream) -> Seen {
    let port = sending.local_addr().unwrap().port();
    let mut look = || -> TcpInfo {
        let query = Query::local_port(port).in_states(&[State::Established]).with_info();
        let mut found = None;
        table.each(query, |it: &TcpSocket| found = it.info).unwrap();
        found.unwrap()
    };
    let (before, began) = (look().bytes_acked, Instant::now());
    let mut seen = Seen::default();
    // The send buffer has room for all of it.
    sending.write_all(&[0; SIZE]).unwrap();
    loop {
        let info = look();
        seen.flight = seen.flight.max(info.unacked);
        if info.bytes_acked == before {
            seen.window_at_first = seen.window_at_first.max(info.snd_cwnd);
        }
        if info.bytes_acked >= before + SIZE as u64 {
            return seen;
        }
        assert!(began.elapsed() < LIMIT, "{info:?}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// The path of `cargo xtask bench pace`.
fn path() -> EmulatorOptions {
    let link = LinkConfig {
        rate: Rate::bits_per_second(20_000_000),
        delay: Duration::from_millis(40),
        queue: Queue::bytes(60_000),
        ..LinkConfig::IDEAL
    };
    let mut options = EmulatorOptions::symmetric(link);
    options.congestion_control = None;
    options
}

const RESPONSES: usize = 4;
const SIZE: usize = 200_000;
/// Longer than the retransmission timeout (our choice).
const IDLE: Duration = Duration::from_secs(2);
const LIMIT: Duration = Duration::from_secs(20);
