//! Which end holds TIME-WAIT: Ackwise's stack as the client, the kernel as a server that closes
//! first.
//!
//! `ACKWISE_TIME_WAIT_CONNECTIONS=10000` replaces the default of 2,000 connections.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[expect(dead_code, reason = "each test file uses its part")]
mod host;

use std::{fs, net::TcpListener, thread};

use ackwise_linux::{ConnectionId, stack::Tap};
use ackwise_tcp::{
    Config, Event, Policies, State, TimeWaitHolder, TimeWaitReason, policy::ClosePolicy,
};
use host::Host;

/// Below the kernel's backlog.
const MAX_OPEN: usize = 64;

#[test]
fn a_server_that_closes_first_waits_for_each_connection() {
    Host::with("a_server_that_closes_first_waits_for_each_connection", |mut host| {
        let reasons = serve(ClosePolicy::Ordinary, &mut host);
        assert_eq!((time_wait(), reasons.len()), (connections(), 0));
    });
}

#[test]
fn with_swap_no_connection_is_left_at_the_server() {
    Host::with("with_swap_no_connection_is_left_at_the_server", |mut host| {
        let reasons = serve(ClosePolicy::Swap, &mut host);
        assert_eq!(reasons, vec![TimeWaitReason::Swapped; connections()]);
        // No loss, but the last RST may still be in the device's queue.
        host.run_until("the server waits for none", |_| time_wait() == 0);
    });
}

#[test]
fn one_connection_can_do_otherwise_than_its_host() {
    Host::with("one_connection_can_do_otherwise_than_its_host", |mut host| {
        let listener = TcpListener::bind(host.kernel(0)).unwrap();
        let server = listener.local_addr().unwrap();
        let [ordinary, swapping] = [(); 2].map(|()| host.connect(server));
        host.stack.set_close(swapping, ClosePolicy::Swap);
        let kernel = thread::spawn(move || [(); 2].map(|()| drop(listener.accept().unwrap())));
        for id in [ordinary, swapping] {
            host.run_until_event(id, Event::PeerClosed);
            host.stack.close(id);
            host.run_until_event(id, Event::Closed);
        }
        kernel.join().unwrap();
        host.run_until("the server waits for the one", |_| time_wait() == 1);
        assert_eq!(host.state(swapping), Some(State::TimeWait));
        assert_eq!(host.state(ordinary), Some(State::Closed));
    });
}

#[test]
fn a_kernel_that_follows_rfc_1337_waits_all_the_same() {
    Host::with("a_kernel_that_follows_rfc_1337_waits_all_the_same", |mut host| {
        fs::write("/proc/sys/net/ipv4/tcp_rfc1337", "1").unwrap();
        let reasons = serve(ClosePolicy::Swap, &mut host);
        assert_eq!((time_wait(), reasons.len()), (connections(), connections()));
    });
}

#[test]
fn a_kernel_that_does_not_know_the_option_closes_as_ever() {
    Host::with("a_kernel_that_does_not_know_the_option_closes_as_ever", |mut host| {
        let reasons = serve(ClosePolicy::Negotiated(TimeWaitHolder::Mine), &mut host);
        assert_eq!((time_wait(), reasons.len()), (connections(), 0));
    });
}

fn connections() -> usize {
    let asked = std::env::var("ACKWISE_TIME_WAIT_CONNECTIONS");
    asked.map_or(2_000, |number| number.parse().unwrap())
}

/// Opens the connections, lets the kernel close each first, and closes the client's end. Returns
/// the reasons for the client's TIME-WAIT.
fn serve(close: ClosePolicy, host: &mut Host) -> Vec<TimeWaitReason> {
    let connections = connections();
    let listener = TcpListener::bind(host.kernel(0)).unwrap();
    let server = listener.local_addr().unwrap();
    let kernel = thread::spawn(move || {
        for _ in 0..connections {
            drop(listener.accept().unwrap());
        }
    });
    let config = Config::new(Policies { close, ..Policies::LINUX_6 });
    let mut ids: Vec<ConnectionId> = Vec::new();
    let mut closed = 0;
    host.run_until("all are closed", |host| {
        for (id, event) in host.take_events() {
            match event {
                Event::PeerClosed => host.stack.close(id),
                Event::Closed => closed += 1,
                Event::Connected => {}
                other => panic!("{other:?}"),
            }
        }
        while ids.len() < connections && ids.len() - closed < MAX_OPEN {
            ids.push(host.stack.connect(server, config, Tap::Off).unwrap());
        }
        closed == connections
    });
    kernel.join().unwrap();
    let waiting = ids.into_iter().filter(|id| host.state(*id) == Some(State::TimeWait));
    waiting.filter_map(|id| host.stack.endpoint(id)?.time_wait_reason()).collect()
}

/// The kernel's sockets in TIME-WAIT in this namespace, from `/proc/net/tcp`.
fn time_wait() -> usize {
    const TIME_WAIT: &str = "06";
    let table = fs::read_to_string("/proc/thread-self/net/tcp").unwrap();
    let states = table.lines().skip(1).filter_map(|row| row.split_whitespace().nth(3));
    states.filter(|state| *state == TIME_WAIT).count()
}
