//! Ackwise's stack against the kernel's, over a TUN device in a separate namespace.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[expect(dead_code, reason = "each test file uses its part")]
mod host;

use std::{
    fs,
    io::{ErrorKind, Read, Write},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

use ackwise_linux::{
    TunDevice, TunStack,
    device::TunOptions,
    stack::{ConnectError, Listen, Tap, WireDirection},
};
use ackwise_tcp::{
    Config, Event, Flags, Segment, State,
    policy::{AckPolicy, Offer, Policies},
};
use ackwise_testing::{in_namespace, skip};
use host::{Host, PATIENCE, config, stream};

const MEGABYTE: usize = 1 << 20;

#[test]
fn a_megabyte_goes_each_way_to_a_kernel_server() {
    Host::with("a_megabyte_goes_each_way_to_a_kernel_server", |mut host| {
        let listener = TcpListener::bind(host.kernel(0)).unwrap();
        let server = listener.local_addr().unwrap();
        let kernel = thread::spawn(move || exchange_megabytes(listener.accept().unwrap().0));
        let id = host.connect(server);
        host.run_until_event(id, Event::Connected);
        let mut received = Vec::new();
        host.exchange(id, &stream(1, MEGABYTE), &mut received, MEGABYTE);
        assert!(received == stream(2, MEGABYTE), "what arrived is not what was sent");
        host.stack.close(id);
        host.run_until_event(id, Event::PeerClosed);
        kernel.join().unwrap();
        assert_eq!(host.stack.counters().malformed, 0, "{:?}", host.stack.counters());
    });
}

#[test]
fn a_further_address_of_the_device_reaches_a_kernel_server() {
    in_namespace("a_further_address_of_the_device_reaches_a_kernel_server", || {
        let [known, foreign] = [7, 8].map(|it| Ipv4Addr::new(203, 0, 113, it)); // RFC 5737
        let mut device = match TunDevice::open(TunOptions::default()) {
            Ok(device) => device,
            Err(missing) => {
                return skip("a_further_address_of_the_device_reaches_a_kernel_server", missing);
            }
        };
        device.add_host(known).unwrap();
        assert!(device.add_host(known).is_err(), "it is routed already");
        let mut host = Host::on(device);
        let listener = TcpListener::bind(host.kernel(0)).unwrap();
        let server = listener.local_addr().unwrap();
        let from = |stack: &mut TunStack, ours: Ipv4Addr| {
            stack.connect_from(ours.into(), server, config(), Tap::Off)
        };
        assert_eq!(from(&mut host.stack, foreign), Err(ConnectError::NoAddress(server)));
        let id = from(&mut host.stack, known).unwrap();
        host.run_until_event(id, Event::Connected);
        assert_eq!(listener.accept().unwrap().1.ip(), known);
        let states: Vec<_> = host.stack.states().collect();
        assert_eq!(states.len(), 1);
        assert_eq!((states[0].0.ours.ip(), states[0].1), (known.into(), State::Established));
    });
}

#[test]
fn a_megabyte_goes_each_way_to_a_kernel_client() {
    Host::with("a_megabyte_goes_each_way_to_a_kernel_client", |mut host| {
        listen(&mut host, 80);
        let ours = host.ours(80);
        let kernel = thread::spawn(move || exchange_megabytes(TcpStream::connect(ours).unwrap()));
        let mut accepted = None;
        host.run_until("accept", |host| {
            accepted = host.stack.accept(80);
            accepted.is_some()
        });
        let id = accepted.unwrap();
        let mut received = Vec::new();
        host.exchange(id, &stream(1, MEGABYTE), &mut received, MEGABYTE);
        assert!(received == stream(2, MEGABYTE), "what arrived is not what was sent");
        host.run_until_event(id, Event::PeerClosed);
        host.stack.close(id);
        host.run_until_event(id, Event::Closed);
        kernel.join().unwrap();
    });
}

/// The kernel's side: reads one megabyte while it writes another, then reads to the end.
fn exchange_megabytes(mut socket: TcpStream) {
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut writer = socket.try_clone().unwrap();
    let writing = thread::spawn(move || {
        writer.write_all(&stream(2, MEGABYTE)).unwrap();
        writer
    });
    let mut received = vec![0; MEGABYTE];
    socket.read_exact(&mut received).unwrap();
    assert!(received == stream(1, MEGABYTE), "what arrived is not what was sent");
    writing.join().unwrap().shutdown(Shutdown::Write).unwrap();
    assert_eq!(socket.read(&mut [0]).unwrap(), 0, "the end of the stream");
}

#[test]
fn ipv6_works_too() {
    Host::with("ipv6_works_too", |mut host| {
        let Some(v6) = host.stack.device().v6() else {
            return skip("ipv6_works_too", "IPv6 is switched off");
        };
        let listener = TcpListener::bind((v6.host, 0)).unwrap();
        let id = host.connect(listener.local_addr().unwrap());
        host.run_until_event(id, Event::Connected);
        let (mut socket, _) = listener.accept().unwrap();
        socket.write_all(b"hello").unwrap();
        let mut received = Vec::new();
        host.exchange(id, b"", &mut received, 5);
        assert_eq!(received, b"hello");
    });
}

#[test]
fn who_closes_first_waits() {
    Host::with("who_closes_first_waits", |mut host| {
        let listener = TcpListener::bind(host.kernel(0)).unwrap();
        let server = listener.local_addr().unwrap();

        let first = connected(&mut host, server);
        let (mut kernel, _) = listener.accept().unwrap();
        host.stack.close(first);
        host.run_until("FIN-WAIT-2", |host| host.state(first) == Some(State::FinWait2));
        assert_eq!(kernel.read(&mut [0]).unwrap(), 0);
        drop(kernel);
        host.run_until("TIME-WAIT", |host| host.state(first) == Some(State::TimeWait));
        assert_eq!(host.events(first), [Event::Connected, Event::PeerClosed, Event::Closed]);

        let second = connected(&mut host, server);
        drop(listener.accept().unwrap());
        host.run_until_event(second, Event::PeerClosed);
        assert_eq!(host.state(second), Some(State::CloseWait));
        host.stack.close(second);
        host.run_until("CLOSED", |host| host.state(second) == Some(State::Closed));
        let port = host.stack.tuple(second).unwrap().ours.port();
        assert_eq!(kernel_state(port), Some(TIME_WAIT), "the kernel closed first");

        assert_eq!(host.stack.connections(), 2);
        host.stack.release(second);
        assert_eq!(host.stack.connections(), 1, "TIME-WAIT stays");
    });
}

#[test]
fn both_hosts_refuse_where_nobody_listens() {
    Host::with("both_hosts_refuse_where_nobody_listens", |mut host| {
        let nobody = host.kernel(9);
        let id = host.connect(nobody);
        host.run_until_event(id, Event::Reset);
        assert_eq!(host.state(id), Some(State::Closed));

        let ours = host.ours(9);
        let kernel = thread::spawn(move || TcpStream::connect_timeout(&ours, PATIENCE));
        host.run_until("the kernel's SYN", |host| host.stack.counters().refused > 0);
        assert_eq!(kernel.join().unwrap().unwrap_err().kind(), ErrorKind::ConnectionRefused);
    });
}

#[test]
fn an_abort_is_a_reset_and_so_is_the_end_of_the_stack() {
    Host::with("an_abort_is_a_reset_and_so_is_the_end_of_the_stack", |mut host| {
        let listener = TcpListener::bind(host.kernel(0)).unwrap();
        let server = listener.local_addr().unwrap();
        let reset = |host: &mut Host| {
            let id = connected(host, server);
            let (socket, _) = listener.accept().unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            (id, socket)
        };
        let (id, mut aborted) = reset(&mut host);
        let (_, mut abandoned) = reset(&mut host);
        host.stack.abort(id);
        assert_eq!(aborted.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
        drop(host);
        assert_eq!(abandoned.read(&mut [0]).unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn data_for_a_released_connection_is_answered_by_a_reset() {
    Host::with("data_for_a_released_connection_is_answered_by_a_reset", |mut host| {
        let listener = TcpListener::bind(host.kernel(0)).unwrap();
        let id = connected(&mut host, listener.local_addr().unwrap());
        let (mut kernel, _) = listener.accept().unwrap();
        host.stack.release(id);
        assert_eq!(host.stack.write(id, b"nobody holds it"), 0);
        kernel.write_all(b"still there?").unwrap();
        host.run_until("the end", |host| host.stack.connections() == 0);
        assert_eq!(kernel.write(b"no").unwrap_err().kind(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn a_backlog_is_a_limit() {
    Host::with("a_backlog_is_a_limit", |mut host| {
        let two = Listen { config: config(), backlog: 2, tap: Tap::Off };
        host.stack.listen(80, two).unwrap();
        assert!(host.stack.listen(80, two).is_err());
        let ours = host.ours(80);
        let kernel = thread::spawn(move || {
            let connect = || TcpStream::connect_timeout(&ours, Duration::from_millis(300));
            (connect(), connect(), connect())
        });
        host.run_until("an overflow", |host| host.stack.counters().overflows > 0);
        host.run_until("the kernel's patience", |_| kernel.is_finished());
        let (first, second, third) = kernel.join().unwrap();
        assert!(first.is_ok() && second.is_ok());
        assert_eq!(third.unwrap_err().kind(), ErrorKind::TimedOut);
        assert!(host.stack.accept(80).is_some() && host.stack.accept(80).is_some());
        assert!(host.stack.accept(80).is_none());
    });
}

#[test]
fn a_syn_reopens_time_wait() {
    Host::with("a_syn_reopens_time_wait", |mut host| {
        listen(&mut host, 80);
        let ours = host.ours(80);
        let port = 20_000;
        let incarnation = |host: &mut Host| {
            let kernel = thread::spawn(move || connect_from(port, ours));
            let mut accepted = None;
            host.run_until("accept", |host| {
                accepted = host.stack.accept(80);
                accepted.is_some()
            });
            let (id, mut socket) = (accepted.unwrap(), kernel.join().unwrap());
            host.stack.close(id);
            host.run_until("FIN-WAIT-2", |host| host.state(id) == Some(State::FinWait2));
            assert_eq!(socket.read(&mut [0]).unwrap(), 0);
            drop(socket);
            host.run_until("TIME-WAIT", |host| host.state(id) == Some(State::TimeWait));
            id
        };
        let first = incarnation(&mut host);
        let second = incarnation(&mut host);
        assert_ne!(first, second);
    });
}

/// Connects from the given local port.
fn connect_from(port: u16, to: SocketAddr) -> TcpStream {
    use nix::sys::socket::{
        AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, setsockopt, socket, sockopt,
    };
    use std::os::fd::AsRawFd;

    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).unwrap();
    setsockopt(&socket, sockopt::ReuseAddr, &true).unwrap();
    bind(socket.as_raw_fd(), &SockaddrIn::new(0, 0, 0, 0, port)).unwrap();
    let SocketAddr::V4(to) = to else { panic!("an IPv4 test") };
    connect(socket.as_raw_fd(), &SockaddrIn::from(to)).unwrap();
    socket.into()
}

#[test]
fn a_tap_shows_each_segment_and_a_withheld_ack_holds_the_kernel_back() {
    let name = "a_tap_shows_each_segment_and_a_withheld_ack_holds_the_kernel_back";
    Host::with(name, |mut host| {
        let listener = TcpListener::bind(host.kernel(0)).unwrap();
        let delay = Duration::from_millis(120);
        let ack = AckPolicy::Withheld { delay: delay.try_into().unwrap() };
        let offer = Offer { sack: false, ..Offer::ALL };
        let config = Config::new(Policies { ack, offer, ..Policies::RFC });
        let server = listener.local_addr().unwrap();
        let id = host.stack.connect(server, config, Tap::Last(100)).unwrap();
        host.run_until_event(id, Event::Connected);
        let (mut kernel, _) = listener.accept().unwrap();
        // Nagle: the tail waits for the ACK of the full segment.
        kernel.write_all(&[1; 1000]).unwrap();
        kernel.write_all(&[2; 500]).unwrap();
        let mut received = Vec::new();
        host.exchange(id, b"", &mut received, 1500);

        let trace = host.stack.trace(id).unwrap();
        let arrivals: Vec<_> = trace
            .since(0)
            .filter(|it| it.direction == WireDirection::In && it.segment.len > 0)
            .collect();
        let lines: Vec<_> = trace.since(0).map(ToString::to_string).collect();
        let lines = lines.join("\n");
        let [head, tail] = arrivals[..] else { panic!("two segments:\n{lines}") };
        assert_eq!((head.offset, head.segment.len), (Some(0), 1000), "{lines}");
        assert_eq!((tail.offset, tail.segment.len), (Some(1000), 500), "{lines}");
        assert!(!head.retransmission && !tail.retransmission, "{lines}");
        let ack = trace
            .since(0)
            .find(|it| it.direction == WireDirection::Out && it.acknowledges == Some(1000))
            .unwrap_or_else(|| panic!("an ACK of the head:\n{lines}"));
        let waited = ack.at.since(head.at);
        assert!(waited >= delay && waited < delay + Duration::from_millis(60), "{lines}");
        assert!(tail.at >= ack.at, "released by our ACK:\n{lines}");
    });
}

#[test]
fn an_exact_reset_from_a_detached_connection_ends_the_kernel_s_time_wait() {
    let name = "an_exact_reset_from_a_detached_connection_ends_the_kernel_s_time_wait";
    Host::with(name, |mut host| {
        let listener = TcpListener::bind(host.kernel(0)).unwrap();
        let id = connected(&mut host, listener.local_addr().unwrap());
        drop(listener.accept().unwrap());
        host.run_until_event(id, Event::PeerClosed);
        host.stack.close(id);
        host.run_until("CLOSED", |host| host.state(id) == Some(State::Closed));
        let port = host.stack.tuple(id).unwrap().ours.port();
        assert_eq!(kernel_state(port), Some(TIME_WAIT));

        let endpoint = host.stack.detach(id).unwrap();
        let exact = endpoint.next_sequence();
        let probe =
            Segment { seq: exact - 1, ack: Some(endpoint.next_expected()), ..Segment::default() };
        let seen = host.stack.trace(id).unwrap().recorded();
        host.stack.send_crafted(id, &probe, &[]).unwrap();
        host.run_until("an answer to the probe", |host| {
            let trace = host.stack.trace(id).unwrap();
            trace
                .since(seen)
                .any(|it| it.direction == WireDirection::In && it.segment.ack == Some(exact))
        });
        assert_eq!(host.stack.counters().refused, 0, "the answer was watched, not answered");

        let near = Segment { seq: exact + 1, flags: Flags::RST, ..Segment::default() };
        host.stack.send_crafted(id, &near, &[]).unwrap();
        assert_eq!(kernel_state(port), Some(TIME_WAIT), "not exact");
        host.stack.send_crafted(id, &Segment { seq: exact, ..near }, &[]).unwrap();
        assert_eq!(kernel_state(port), None, "exact");
        host.stack.release(id);
        assert_eq!(host.stack.connections(), 0);
    });
}

#[test]
fn we_answer_pings() {
    Host::with("we_answer_pings", |mut host| {
        use nix::sys::socket::{
            AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, recv, sendto,
            socket,
        };
        use std::os::fd::AsRawFd;
        let SocketAddr::V4(ours) = host.ours(0) else { panic!("an IPv4 test") };
        let flags = SockFlag::SOCK_NONBLOCK;
        let raw = socket(AddressFamily::Inet, SockType::Raw, flags, SockProtocol::Icmp).unwrap();
        let request = [8, 0, 0xe5, 0xca, 0x12, 0x34, 0, 1];
        sendto(raw.as_raw_fd(), &request, &SockaddrIn::from(ours), MsgFlags::empty()).unwrap();
        let mut reply = [0; 64];
        host.run_until("a reply", |_| recv(raw.as_raw_fd(), &mut reply, MsgFlags::empty()).is_ok());
        assert_eq!(reply[20..28], [0, 0, 0xed, 0xca, 0x12, 0x34, 0, 1]);
        assert_eq!(host.stack.counters().echoes, 1);
    });
}

#[test]
fn nothing_happens_in_an_idle_stack() {
    Host::with("nothing_happens_in_an_idle_stack", |mut host| {
        let listener = TcpListener::bind(host.kernel(0)).unwrap();
        let id = connected(&mut host, listener.local_addr().unwrap());
        let before = host.stack.counters().packets_out;
        let until = Instant::now() + Duration::from_millis(100);
        let mut wake_ups = 0;
        while Instant::now() < until {
            host.stack.poll(until).unwrap();
            wake_ups += 1;
        }
        assert_eq!(host.stack.counters().packets_out, before);
        assert!(wake_ups < 20, "{wake_ups} wake-ups in 100 ms without anything to do");
        assert_eq!(host.state(id), Some(State::Established));
    });
}

fn connected(host: &mut Host, server: SocketAddr) -> ackwise_linux::ConnectionId {
    let id = host.connect(server);
    host.run_until_event(id, Event::Connected);
    id
}

fn listen(host: &mut Host, port: u16) {
    host.stack.listen(port, Listen { config: config(), backlog: 16, tap: Tap::Off }).unwrap();
}

/// The state of the kernel's socket whose peer has `port`, as `/proc/net/tcp` numbers it.
fn kernel_state(port: u16) -> Option<u8> {
    let table = fs::read_to_string("/proc/thread-self/net/tcp").unwrap();
    let peer = format!(":{port:04X}");
    table
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .find(|fields| fields[2].ends_with(&peer))
        .map(|fields| u8::from_str_radix(fields[3], 16).unwrap())
}

/// `TCP_TIME_WAIT` in `include/net/tcp_states.h`.
const TIME_WAIT: u8 = 6;
