//! Real sockets that hold a place: at the server, or in the stack's table after the server has released it.

use std::{
    net::{SocketAddr, TcpStream},
    thread,
    time::{Duration, Instant},
};

use ackwise_serve::Limits;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use socket2::SockRef;

use crate::harness::{PATIENCE, Seen, serve, served, whole};

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

fn raise_descriptor_limit() {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).unwrap();
}
