//! A conforming client with a conforming server.

use std::{
    net::Shutdown,
    num::{NonZeroU32, NonZeroUsize},
    time::{Duration, Instant},
};

use ackwise_http::{
    Behaviour, CloseReason, ConnectionOption, KeepAlive, Method, Persistence, RequestBuilder,
    Version,
    behaviour::{Gather, KeepAlivePolicy},
};
use ackwise_serve::{Config, Document, Server};

use crate::client::{Client, Fetched, eventually};

const BOTH: [Behaviour; 2] = [Behaviour::PAPER_1996, Behaviour::FIXED];

/// Its writes begin and end anywhere in heads and bodies.
const GATHERED: Behaviour = Behaviour {
    gather: Gather::Pending,
    write_size: NonZeroUsize::new(100),
    ..Behaviour::PAPER_1996
};

fn get(path: &str) -> RequestBuilder {
    RequestBuilder::get("localhost", path)
}

fn start(behaviour: Behaviour) -> Server {
    Server::start(Config::loopback(behaviour)).unwrap()
}

#[test]
fn documents_of_every_size_arrive_whole_on_one_connection() {
    for behaviour in BOTH {
        let server = start(Behaviour { send_buffer: NonZeroUsize::new(8192), ..behaviour });
        let mut client = Client::connect(&server);
        for path in ["/0", "/1", "/200", "/6651", "/3883", "/1866", "/4096", "/70000", "/5000000"] {
            client.time(path);
        }
        assert_eq!(server.stats().accepted, 1);
        eventually("all are counted", || server.stats().answered == 9);
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    for behaviour in [Behaviour::PAPER_1996, Behaviour::FIXED, GATHERED] {
        let server = start(behaviour);
        let mut client = Client::connect(&server);
        let head = RequestBuilder::new(Method::Head, "localhost", "/77");
        client.expect(Method::Get);
        client.expect(Method::Head);
        client.expect(Method::Get);
        client.send(&[get("/500"), head, get("/300").field("Range", "bytes=10-19")]);
        let [whole, head, part] = [client.receive(), client.receive(), client.receive()];
        assert!(Document::new(500).unwrap().has(0, &whole.content));
        assert_eq!((head.response.head.content_length, head.content.len()), (Some(77), 0));
        assert_eq!((part.response.head.status, part.content.len()), (206, 10));
        assert!(Document::new(300).unwrap().has(10, &part.content));
    }
}

#[test]
fn gathered_answers_that_need_many_slices_arrive_whole() {
    let server = start(Behaviour { write_size: None, ..GATHERED });
    let mut client = Client::connect(&server);
    for lengths in [vec![300, 5_000_000, 6651], (1..=70).collect()] {
        let requests: Vec<_> = lengths.iter().map(|length| get(&format!("/{length}"))).collect();
        client.send(&requests);
        for length in lengths {
            let document = Document::new(length).unwrap();
            assert!(document.has(0, &client.receive().content), "{length}");
        }
    }
    eventually("all are counted", || server.stats().answered == 73);
}

#[test]
fn the_server_closes_first_when_asked_to() {
    for behaviour in BOTH {
        let server = start(behaviour);
        let mut client = Client::connect(&server);
        client.time("/200");
        let closing = get("/6651").connection(ConnectionOption::Close);
        let Fetched { response, .. } = client.fetch(closing);
        assert_eq!(response.head.persistence, Persistence::Closes(CloseReason::CloseOption));
        assert_eq!(client.rest(), b"");
    }
}

#[test]
fn http_1_0_persists_only_if_it_asks_and_is_told_for_how_long() {
    let server = start(Behaviour::PAPER_1996);
    let mut client = Client::connect(&server);
    let old = get("/300").version(Version::Http10);
    let asked = client.fetch(old.clone().connection(ConnectionOption::KeepAlive));
    assert_eq!(asked.response.head.version, Version::Http10);
    assert_eq!(asked.response.head.persistence, Persistence::Persists);
    let said = KeepAlive { timeout: Some(Duration::from_secs(15)), max: Some(99) };
    assert_eq!(asked.response.head.keep_alive, Some(said));
    let not = client.fetch(old);
    assert_ne!(not.response.head.persistence, Persistence::Persists);
    assert_eq!(client.rest(), b"");
}

#[test]
fn a_connection_ends_after_the_requests_it_may_have() {
    let keep_alive =
        KeepAlivePolicy::Silent { idle: Duration::from_secs(15), max_requests: NonZeroU32::new(2) };
    let server = start(Behaviour { keep_alive, ..Behaviour::FIXED });
    let mut client = Client::connect(&server);
    client.send(&[get("/1"), get("/2"), get("/3")]);
    assert_eq!(client.receive().response.head.persistence, Persistence::Persists);
    assert_ne!(client.receive().response.head.persistence, Persistence::Persists);
    assert_eq!(client.rest(), b"", "the third request has no answer, and its loss is no reset");
}

#[test]
fn an_idle_connection_is_closed_when_the_server_said() {
    let idle = Duration::from_millis(200);
    let keep_alive = KeepAlivePolicy::Silent { idle, max_requests: None };
    let server = start(Behaviour { keep_alive, ..Behaviour::FIXED });
    let mut client = Client::connect(&server);
    client.time("/200");
    let start = Instant::now();
    assert_eq!(client.rest(), b"");
    let waited = start.elapsed();
    assert!(waited > idle / 2 && waited < idle * 10, "{waited:?}");
}

#[test]
fn a_client_that_has_said_all_still_gets_its_answer() {
    let server = start(Behaviour::PAPER_1996);
    let mut client = Client::connect(&server);
    client.send(&[get("/6651"), get("/300")]);
    client.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(client.receive().content.len(), 6651);
    assert_eq!(client.receive().content.len(), 300);
    assert_eq!(client.rest(), b"");
}
