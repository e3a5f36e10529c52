//! Programs that take their time: what looks like a delayed acknowledgement and is none.

use std::{io::Write, time::Duration};

use ackwise_cause::{Cause, Direction};

use super::judge_on_ideal_link;
use crate::{
    http::{body, read_message, response_head},
    scenario::{Scenario, ask, think, without_nagle},
};

#[test]
fn a_server_that_thinks_before_it_answers() {
    for millis in [5, 40, 45, 200] {
        let blame = (Cause::ServerThink, Direction::ToClient);
        let scenario = Scenario {
            exchanges: 12,
            server: Box::new(move |stream, exchange, truth| {
                read_message(stream).unwrap();
                truth.measure(exchange, blame, || think(Duration::from_millis(millis)));
                stream.write_all(&[response_head(500), body(500)].concat()).unwrap();
            }),
            client: Box::new(|stream, _, _| ask(stream)),
            ..Scenario::default()
        };
        judge_on_ideal_link(
            &format!("a_server_that_thinks_before_it_answers {millis} ms"),
            &scenario,
        );
    }
}

#[test]
fn a_server_that_thinks_between_head_and_body() {
    for millis in [5, 40, 45, 200] {
        let blame = (Cause::ApplicationLimited, Direction::ToClient);
        let scenario = Scenario {
            exchanges: 12,
            listen: without_nagle,
            server: Box::new(move |stream, exchange, truth| {
                read_message(stream).unwrap();
                stream.write_all(&response_head(500)).unwrap();
                truth.measure(exchange, blame, || think(Duration::from_millis(millis)));
                stream.write_all(&body(500)).unwrap();
            }),
            client: Box::new(|stream, _, _| ask(stream)),
            ..Scenario::default()
        };
        judge_on_ideal_link(
            &format!("a_server_that_thinks_between_head_and_body {millis} ms"),
            &scenario,
        );
    }
}
