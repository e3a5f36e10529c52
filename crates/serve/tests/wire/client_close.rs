//! A client that closes first and announces it: which end holds TIME-WAIT, and how the server
//! reacts.

use std::{
    fs,
    io::Write,
    net::{Ipv4Addr, Shutdown, SocketAddr},
    process,
    sync::atomic::{AtomicU8, Ordering},
};

use ackwise_http::{Behaviour, RequestBuilder, client_close};
use ackwise_serve::{Config, Server};

use crate::client::{Client, eventually};

/// A server on its own loopback address, so that sockets in TIME-WAIT from other tests or earlier
/// runs are not counted.
#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn server(client_close: bool) -> Server {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let [.., high, low] = process::id().to_be_bytes();
    let address = Ipv4Addr::new(127, high, low, NEXT.fetch_add(1, Ordering::Relaxed));
    let bind = SocketAddr::from((address, 0));
    let config = Config { bind, client_close, ..Config::loopback(Behaviour::FIXED) };
    Server::start(config).unwrap()
}

fn get(path: &str) -> RequestBuilder {
    RequestBuilder::get("localhost", path)
}

fn say_client_close(client: &mut Client) {
    client.stream.write_all(&client_close::encode("localhost").unwrap()).unwrap();
}

/// Sockets in TIME-WAIT at the server and at the clients.
fn time_wait(server: &Server) -> [usize; 2] {
    const TIME_WAIT: &str = "06";
    count(server, |state| state == TIME_WAIT)
}

/// Sockets of connections to the server, at both ends.
fn sockets(server: &Server) -> usize {
    const LISTEN: &str = "0A";
    count(server, |state| state != LISTEN).iter().sum()
}

/// Sockets in the states that `counts` selects, at the server and at the clients.
fn count(server: &Server, counts: impl Fn(&str) -> bool) -> [usize; 2] {
    let SocketAddr::V4(address) = server.local_addr() else { panic!("it is one of IPv4") };
    let number = u32::from_ne_bytes(address.ip().octets());
    let shown = format!("{number:08X}:{:04X}", address.port());
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let rows = table.lines().skip(1).map(|row| row.split_whitespace().collect::<Vec<_>>());
    let counted: Vec<_> = rows.filter(|row| counts(row[3])).collect();
    [1, 2].map(|column| counted.iter().filter(|row| row[column] == shown).count())
}

#[test]
fn the_client_waits_and_the_server_says_nothing() {
    const CONNECTIONS: usize = 20;
    for half_close in [true, false] {
        let server = server(true);
        for _ in 0..CONNECTIONS {
            let mut client = Client::connect(&server);
            client.time("/300");
            client.time("/6651");
            say_client_close(&mut client);
            if half_close {
                client.stream.shutdown(Shutdown::Write).unwrap();
                assert_eq!(client.rest(), b"");
            }
        }
        eventually("all are closed", || time_wait(&server).iter().sum::<usize>() == CONNECTIONS);
        assert_eq!(time_wait(&server), [0, CONNECTIONS], "half-close: {half_close}");
        let stats = server.stats();
        assert_eq!(stats.client_closed, CONNECTIONS as u64);
        assert_eq!(stats.answered, 2 * CONNECTIONS as u64);
    }
}

#[test]
fn without_it_who_closes_is_the_server() {
    let server = server(true);
    let mut client = Client::connect(&server);
    let request = get("/300").connection(ackwise_http::ConnectionOption::Close);
    client.fetch(request);
    client.rest();
    drop(client);
    eventually("the server waits", || time_wait(&server) == [1, 0]);
    assert_eq!(server.stats().client_closed, 0);
}

#[test]
fn who_does_not_know_it_answers_that_it_is_not_implemented() {
    let server = server(false);
    let mut client = Client::connect(&server);
    client.time("/300");
    say_client_close(&mut client);
    assert_eq!(client.receive().response.head.status, 501);
    assert_eq!(client.rest(), b"");
    assert_eq!(server.stats().client_closed, 0);
}

/// The unread response triggers an RST, which leaves no state at either end: the client does not
/// get the TIME-WAIT that it closed first for.
#[test]
fn who_does_not_know_it_and_is_not_listened_to_leaves_time_wait_nowhere() {
    const CONNECTIONS: u64 = 20;
    let server = server(false);
    for _ in 0..CONNECTIONS {
        let mut client = Client::connect(&server);
        client.time("/300");
        say_client_close(&mut client);
    }
    eventually("all are over", || sockets(&server) == 0);
    assert_eq!(server.stats().accepted, CONNECTIONS);
}

#[test]
fn what_was_asked_before_is_answered_and_what_comes_after_is_not() {
    let server = server(true);
    let mut client = Client::connect(&server);
    let mut stream = get("/300").encode().unwrap();
    stream.extend(client_close::encode("localhost").unwrap());
    stream.extend(get("/400").encode().unwrap());
    stream.extend(b"no HTTP");
    client.stream.write_all(&stream).unwrap();
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.receive().content.len(), 300);
    assert_eq!(client.rest(), b"");
    let stats = server.stats();
    assert_eq!((stats.answered, stats.client_closed), (1, 1));
}

/// It was meant for the proxy. The connection may be shared with other clients.
#[test]
fn through_a_proxy_it_closes_nothing() {
    let server = server(true);
    let mut client = Client::connect(&server);
    client.time("/300");
    client
        .stream
        .write_all(b"CLIENT_CLOSE * HTTP/1.1\r\nHost: localhost\r\nVia: 1.1 proxy\r\n\r\n")
        .unwrap();
    assert_eq!(client.receive().response.head.status, 501);
    client.time("/400");
    assert_eq!(server.stats().client_closed, 0);
}

/// A client that announces the close but does not close holds the connection no longer than any
/// other.
#[test]
fn a_client_that_does_not_keep_its_word_is_not_waited_for_long() {
    let server = server(true);
    let mut client = Client::connect(&server);
    client.time("/300");
    say_client_close(&mut client);
    assert_eq!(client.rest(), b""); // Within the client's timeout.
    drop(client);
    eventually("the server has closed first", || time_wait(&server) == [1, 0]);
}
