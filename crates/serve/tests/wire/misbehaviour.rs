//! Intentionally wrong servers, which show that `check` detects the faults.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use ackwise_http::{
    Behaviour, RequestBuilder, ResponseErrorKind,
    behaviour::{Answer, HeadFlush, Pipelining, RequestPieces},
    response::responses,
};
use ackwise_serve::{Config, Server};

use crate::client::Client;

fn start(behaviour: Behaviour) -> Server {
    Server::start(Config::loopback(behaviour)).unwrap()
}

fn get(path: &str) -> RequestBuilder {
    RequestBuilder::get("localhost", path)
}

/// All bytes a server sends in response to one request.
fn said_by(answer: Answer) -> Vec<u8> {
    let server = start(Behaviour { answer, ..Behaviour::FIXED });
    let mut client = Client::connect(&server);
    client.send(&[get("/300")]);
    client.rest()
}

#[test]
fn two_requests_in_one_segment_get_one_answer() {
    let server = start(Behaviour { pipelining: Pipelining::FirstOnly, ..Behaviour::FIXED });
    let mut client = Client::connect(&server);
    client.send(&[get("/500"), get("/300")]);
    assert_eq!(client.receive().content.len(), 500);
    client.send(&[get("/200")]);
    assert_eq!(client.receive().content.len(), 200, "the second is lost, the third is not");
}

#[test]
fn two_requests_in_one_segment_are_answered_backwards() {
    let server = start(Behaviour { pipelining: Pipelining::Reversed, ..Behaviour::FIXED });
    let mut client = Client::connect(&server);
    client.send(&[get("/500"), get("/300")]);
    let lengths = [client.receive(), client.receive()].map(|fetched| fetched.content.len());
    assert_eq!(lengths, [300, 500]);
}

#[test]
fn a_request_in_two_segments_is_looked_at_late() {
    let pause = Duration::from_millis(400);
    for (request_pieces, least, most) in [
        (RequestPieces::LookedAtAfter(pause), pause, pause * 10),
        (RequestPieces::Awaited, Duration::ZERO, pause),
    ] {
        let server = start(Behaviour { request_pieces, ..Behaviour::FIXED });
        let mut client = Client::connect(&server);
        client.stream.set_nodelay(true).unwrap();
        client.time("/1"); // The server's thread now blocks in its read.
        let request = get("/300").encode().unwrap();
        let start = Instant::now();
        client.stream.write_all(&request[..20]).unwrap();
        std::thread::sleep(pause / 4);
        client.stream.write_all(&request[20..]).unwrap();
        assert_eq!(client.receive().content.len(), 300);
        let time = start.elapsed();
        assert!(time >= least && time < most, "{request_pieces:?}: {time:?}");
    }
}

#[test]
fn the_body_can_come_long_after_its_head() {
    let think_after_head = Duration::from_millis(40);
    let head_flush = HeadFlush::Apart;
    let server = start(Behaviour { head_flush, think_after_head, ..Behaviour::FIXED });
    assert!(Client::connect(&server).time("/300") >= think_after_head);
}

#[test]
fn garbage_is_not_http() {
    let error = responses(&said_by(Answer::Garbage)).unwrap_err();
    assert_eq!(error.at, 0);
    assert!(matches!(error.kind, ResponseErrorKind::NotHttp(_)), "{error}");
}

#[test]
fn a_head_without_end_is_refused_at_the_limit() {
    let said = said_by(Answer::EndlessHead);
    assert!(said.len() > 1024 * 1024, "{}", said.len());
    let error = responses(&said).unwrap_err();
    assert_eq!(error.kind, ResponseErrorKind::HeadTooLarge);
}

#[test]
fn closing_at_once_says_nothing() {
    assert_eq!(said_by(Answer::Close), b"");
}

#[test]
fn a_redirect_leads_back() {
    let server = start(Behaviour { answer: Answer::RedirectLoop, ..Behaviour::FIXED });
    let mut client = Client::connect(&server);
    let head = client.fetch(get("/300")).response.head;
    assert_eq!((head.status, head.fields.text("Location")), (302, Some("/300")));
}

#[test]
fn silence_lasts_as_long_as_a_response_may_take() {
    let mut config = Config::loopback(Behaviour { answer: Answer::Silence, ..Behaviour::FIXED });
    config.limits.response = Duration::from_millis(200);
    let server = Server::start(config.clone()).unwrap();
    let mut client = Client::connect(&server);
    client.send(&[get("/300")]);
    let start = Instant::now();
    assert_eq!(client.rest(), b"");
    assert!(start.elapsed() > config.limits.response / 2);
}
