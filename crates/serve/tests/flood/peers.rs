//! Real sockets that hold a place: at the server, or in the stack's table after the server has released it.

use std::{
    io::{ErrorKind, Read as _},
    net::{SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use ackwise_linux::stack::StackOptions;
use ackwise_serve::Limits;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::{Domain, SockRef, Socket, Type};

use crate::harness::{PATIENCE, Seen, ask, fetch, serve, served, whole};

/// A table that a test fills in a second. In CI, peers are three times as many.
const PLACES: usize = 512;

/// After this time, the peers that are not connected yet are none.
const ATTACK: Duration = Duration::from_secs(10);

fn peers() -> usize {
    if whole() { 15_000 } else { 3 * PLACES }
}

/// Peers that connect one after the other, do as `act` says, and are held until all of `clients` were served or not.
fn beside(
    name: &str,
    limits: Limits,
    places: usize,
    act: impl Fn(SocketAddr) -> Option<TcpStream> + Sync,
    then: impl FnOnce(&[TcpStream], Seen) + Send,
) {
    const CLIENTS: usize = 20;
    raise_descriptor_limit();
    let meanwhile = |server| {
        thread::scope(|scope| {
            let end = Instant::now() + ATTACK;
            let peers = (0..peers()).take_while(move |_| Instant::now() < end);
            let attack = scope.spawn(|| peers.filter_map(|_| act(server)).collect());
            let first = served(server, CLIENTS / 2);
            let held: Vec<TcpStream> = attack.join().unwrap();
            (first + served(server, CLIENTS / 2), held)
        })
    };
    serve(name, limits, places, meanwhile, |(served, held), seen| {
        eprintln!("{served} of {CLIENTS} clients served beside {} peers: {seen:?}", peers());
        assert!(served * 100 >= CLIENTS * 95, "{served} of {CLIENTS} clients served: {seen:?}");
        assert!(seen.most < places, "{seen:?}");
        then(&held, seen);
    });
}

fn connect(server: SocketAddr) -> Option<TcpStream> {
    TcpStream::connect_timeout(&server, PATIENCE).ok()
}

#[test]
fn clients_are_served_beside_peers_that_send_nothing() {
    let name = "clients_are_served_beside_peers_that_send_nothing";
    let places = StackOptions::default().connections;
    beside(name, Limits::default(), places, connect, |held, seen| {
        assert_eq!((held.len(), seen.stats.refused), (peers(), 0), "{seen:?}");
    });
}

#[test]
fn clients_are_served_after_peers_that_reset() {
    let name = "clients_are_served_after_peers_that_reset";
    let reset = |server| {
        SockRef::from(&connect(server)?).set_linger(Some(Duration::ZERO)).unwrap();
        None
    };
    beside(name, Limits::default(), PLACES, reset, |_, seen| {
        assert!(seen.stats.accepted >= peers() as u64, "{seen:?}");
    });
}

#[test]
fn clients_are_served_while_connections_are_in_time_wait() {
    let name = "clients_are_served_while_connections_are_in_time_wait";
    let close = |server| {
        let _ = fetch(server);
        None
    };
    beside(name, Limits::default(), PLACES, close, |_, seen| {
        assert!(seen.stats.answered >= peers() as u64, "{seen:?}");
    });
}

#[test]
fn clients_are_served_beside_peers_that_never_close() {
    let name = "clients_are_served_beside_peers_that_never_close";
    let limits = Limits { linger: Duration::from_millis(50), ..Limits::default() };
    let stay = |server| {
        let stream = connect(server)?;
        let mut response = Vec::new();
        ask(&stream, "/300").ok()?.read_to_end(&mut response).ok()?;
        Some(stream)
    };
    beside(name, limits, PLACES, stay, |_, seen| {
        assert!(seen.stats.answered >= peers() as u64, "{seen:?}");
    });
}

#[test]
fn clients_are_served_beside_peers_that_never_read() {
    let name = "clients_are_served_beside_peers_that_never_read";
    let limits = Limits { response: Duration::from_millis(100), ..Limits::default() };
    let act = |server| {
        // 256 places, each for 100 ms: more peers than that would be refused.
        thread::sleep(Duration::from_millis(1));
        never_read(server)
    };
    beside(name, limits, PLACES, act, |held, _| {
        let reset = |stream: &&TcpStream| {
            stream.take_error().unwrap().is_some_and(|it| it.kind() == ErrorKind::ConnectionReset)
        };
        let reset = held.iter().filter(reset).count();
        assert!(reset > held.len() / 2, "{reset} of {} were reset", held.len());
    });
}

/// Those that hold all places for the 60 s of a response give way after 5 s.
#[test]
fn a_server_full_of_peers_that_never_read_serves_again_after_five_seconds() {
    let name = "a_server_full_of_peers_that_never_read_serves_again_after_five_seconds";
    let meanwhile = |server| {
        let limit = Limits::default().connections;
        let held: Vec<_> = (0..limit).map(|_| never_read(server).unwrap()).collect();
        let before = served(server, 1);
        thread::sleep(Duration::from_secs(5));
        (held, before, served(server, 10))
    };
    let places = StackOptions::default().connections;
    serve(name, Limits::default(), places, meanwhile, |(_, before, after), seen| {
        assert_eq!((before, after), (0, 10), "{seen:?}");
    });
}

/// A peer that asks for more than send and receive buffer hold.
fn never_read(server: SocketAddr) -> Option<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(0).unwrap(); // The kernel's least.
    socket.connect_timeout(&server.into(), PATIENCE).ok()?;
    let stream = TcpStream::from(socket);
    ask(&stream, "/3000000").ok()?;
    Some(stream)
}

fn raise_descriptor_limit() {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).unwrap();
}
