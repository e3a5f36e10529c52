//! A cork that is never taken out: the last small segment waits for a timer.

use std::io::Write;

use ackwise_cause::{Cause, Direction};
use socket2::SockRef;

use super::judge_on_ideal_link;
use crate::{
    http::{GET, body, read_body, read_head, read_message, response_head},
    scenario::Scenario,
};

#[test]
fn a_server_that_never_takes_its_cork_out() {
    let blame = (Cause::CorkTimer, Direction::ToClient);
    let scenario = Scenario {
        exchanges: 6,
        server: Box::new(|stream, _, _| {
            read_message(stream).unwrap();
            SockRef::from(&*stream).set_tcp_cork(true).unwrap();
            stream.write_all(&[response_head(3_000), body(3_000)].concat()).unwrap();
        }),
        client: Box::new(move |stream, exchange, truth| {
            stream.write_all(GET).unwrap();
            let len = read_head(stream).unwrap();
            // What fills segments goes at once.
            truth.measure(exchange, blame, || read_body(stream, len)).unwrap();
        }),
        ..Scenario::default()
    };
    judge_on_ideal_link("a_server_that_never_takes_its_cork_out", &scenario);
}
