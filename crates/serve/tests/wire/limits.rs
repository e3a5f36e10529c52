//! Malicious and slow clients take a bounded time and a bounded amount of resources.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use ackwise_http::{Behaviour, RequestBuilder, response::responses};
use ackwise_serve::{Config, Server};

use crate::client::{Client, PATIENCE, eventually};

const SHORT: Duration = Duration::from_millis(300);

fn start(change: impl FnOnce(&mut Config)) -> Server {
    let mut config = Config::loopback(Behaviour::FIXED);
    change(&mut config);
    Server::start(config).unwrap()
}

#[test]
fn what_is_not_a_request_gets_a_status_and_a_close() {
    for (bytes, status) in [
        (&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"[..], 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"BREW / HTTP/1.1\r\nHost: h\r\n\r\n", 501),
        (b"GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505),
        (
            b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
        ),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n", 413),
    ] {
        let server = start(|_| {});
        let mut client = Client::connect(&server);
        client.stream.write_all(bytes).unwrap();
        let heads: Vec<_> = responses(&client.rest()).unwrap();
        assert_eq!(heads.len(), 1);
        assert_eq!(heads[0].head.status, status, "{}", bytes.escape_ascii());
    }
}

#[test]
fn a_head_larger_than_the_limit_is_answered_not_reset() {
    let server = start(|_| {});
    let mut client = Client::connect(&server);
    client.stream.write_all(b"GET / HTTP/1.1\r\nX: ").unwrap();
    client.stream.write_all(&vec![b'a'; 100 * 1024]).unwrap();
    assert_eq!(responses(&client.rest()).unwrap()[0].head.status, 431);
}

#[test]
fn a_request_that_trickles_is_cut_off() {
    let server = start(|config| config.limits.request = SHORT);
    let mut client = Client::connect(&server);
    client.stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < PATIENCE, "still open");
        let _ = client.stream.write(b"G");
        match client.stream.read(&mut [0]) {
            Ok(0) => break,
            Ok(_) => panic!("an answer to half a request"),
            Err(_) => {}
        }
    }
    assert!(start.elapsed() > SHORT / 2);
}

#[test]
fn a_client_that_does_not_read_is_given_up() {
    let server = start(|config| {
        config.limits.response = SHORT;
        config.limits.linger = SHORT;
        config.limits.connections = 1;
    });
    let mut greedy = Client::connect(&server);
    greedy.send(&[RequestBuilder::get("localhost", "/67108864")]);
    await_seat(&server);
    eventually("the second client was served, the first was not", || server.stats().answered == 1);
}

#[test]
fn one_connection_too_many_is_closed_and_counted() {
    let server = start(|config| config.limits.connections = 2);
    let [mut first, mut second] = [(); 2].map(|()| Client::connect(&server));
    first.time("/200");
    second.time("/200");
    let mut third = TcpStream::connect(server.local_addr()).unwrap();
    third.set_read_timeout(Some(PATIENCE)).unwrap();
    assert_eq!(third.read(&mut [0]).unwrap(), 0);
    assert_eq!((server.stats().accepted, server.stats().refused), (2, 1));
    drop(first);
    await_seat(&server);
}

#[test]
fn stopping_ends_every_kind_of_wait() {
    let behaviour = Behaviour { think: Duration::from_secs(60), ..Behaviour::FIXED };
    let server = Server::start(Config::loopback(behaviour)).unwrap();
    let idle = Client::connect(&server);
    let mut thinking = Client::connect(&server);
    thinking.send(&[RequestBuilder::get("localhost", "/200")]);
    let mut half = Client::connect(&server);
    half.stream.write_all(b"GET /").unwrap();
    eventually("all three are accepted", || server.stats().accepted == 3);
    let address = server.local_addr();
    let start = Instant::now();
    server.stop();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert!(TcpStream::connect(address).is_err(), "the port is free again");
    drop((idle, thinking, half));
}

/// Waits until a new client is served.
fn await_seat(server: &Server) {
    let request = RequestBuilder::get("localhost", "/1").encode().unwrap();
    eventually("a place becomes free", || {
        let mut stream = TcpStream::connect(server.local_addr()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&request).is_ok() && stream.read(&mut [0]).is_ok_and(|n| n > 0)
    });
}
