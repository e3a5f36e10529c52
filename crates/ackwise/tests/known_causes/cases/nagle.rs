//! Two writes where one would do: the second waits for an acknowledgement that is delayed.

use std::io::Write;

use ackwise_cause::{Cause, Direction};

use super::judge_on_ideal_link;
use crate::{
    http::{GET, body, read_body, read_head, read_message, response_head, upload_head},
    scenario::Scenario,
};

#[test]
fn a_server_that_writes_head_and_body_apart() {
    let blame = (Cause::NagleDelayedAck, Direction::ToClient);
    let scenario = Scenario {
        exchanges: 20,
        server: Box::new(|stream, _, _| {
            read_message(stream).unwrap();
            stream.write_all(&response_head(500)).unwrap();
            stream.write_all(&body(500)).unwrap();
        }),
        client: Box::new(move |stream, exchange, truth| {
            stream.write_all(GET).unwrap();
            let len = read_head(stream).unwrap();
            truth.measure(exchange, blame, || read_body(stream, len)).unwrap();
        }),
        ..Scenario::default()
    };
    judge_on_ideal_link("a_server_that_writes_head_and_body_apart", &scenario);
}

#[test]
fn a_client_that_writes_head_and_body_apart() {
    let blame = (Cause::NagleDelayedAck, Direction::ToServer);
    let scenario = Scenario {
        exchanges: 20,
        client: Box::new(|stream, _, _| {
            stream.write_all(&upload_head(300)).unwrap();
            stream.write_all(&body(300)).unwrap();
            read_message(stream).unwrap();
        }),
        server: Box::new(move |stream, exchange, truth| {
            let len = read_head(stream).unwrap();
            truth.measure(exchange, blame, || read_body(stream, len)).unwrap();
            stream.write_all(&[response_head(10), body(10)].concat()).unwrap();
        }),
        ..Scenario::default()
    };
    judge_on_ideal_link("a_client_that_writes_head_and_body_apart", &scenario);
}

#[test]
fn a_server_that_copies_in_blocks() {
    /// What fills two segments and a part of a third; the rest of the body then waits.
    const BLOCK: usize = 4_096;
    let blame = (Cause::NagleDelayedAck, Direction::ToClient);
    let scenario = Scenario {
        exchanges: 20,
        server: Box::new(|stream, _, _| {
            read_message(stream).unwrap();
            let response = [response_head(4_300), body(4_300)].concat();
            for block in response.chunks(BLOCK) {
                stream.write_all(block).unwrap();
            }
        }),
        client: Box::new(move |stream, exchange, truth| {
            stream.write_all(GET).unwrap();
            let len = read_head(stream).unwrap();
            let in_first_block = BLOCK - response_head(len).len();
            read_body(stream, in_first_block).unwrap();
            truth.measure(exchange, blame, || read_body(stream, len - in_first_block)).unwrap();
        }),
        ..Scenario::default()
    };
    judge_on_ideal_link("a_server_that_copies_in_blocks", &scenario);
}
