//! A link of 10 Mb/s that is busy with a message.

use std::{io::Write, time::Duration};

use ackwise_cause::{Cause, Direction};
use ackwise_link::{LinkConfig, Rate};
use ackwise_linux::emulator::EmulatorOptions;

use super::judge_on_link;
use crate::{
    http::{body, read_message, response_head, upload_head},
    scenario::{Scenario, ask, respond},
};

#[test]
fn a_large_response_through_a_bottleneck() {
    let scenario = Scenario {
        client: Box::new(|stream, exchange, truth| {
            ask(stream);
            truth.tell(exchange, (Cause::Transmission, Direction::ToClient), on_link(BODY));
        }),
        server: respond(BODY),
        ..Scenario::default()
    };
    judge_on_link("a_large_response_through_a_bottleneck", &scenario, &[], &bottleneck());
}

#[test]
fn a_large_request_through_a_bottleneck() {
    let request = [upload_head(UPLOAD), body(UPLOAD)].concat();
    let scenario = Scenario {
        client: Box::new(move |stream, exchange, truth| {
            stream.write_all(&request).unwrap();
            read_message(stream).unwrap();
            truth.tell(exchange, (Cause::RequestUpload, Direction::ToServer), on_link(UPLOAD));
        }),
        server: Box::new(|stream, _, _| {
            read_message(stream).unwrap();
            stream.write_all(&[response_head(10), body(10)].concat()).unwrap();
        }),
        ..Scenario::default()
    };
    judge_on_link("a_large_request_through_a_bottleneck", &scenario, &[], &bottleneck());
}

/// How long the link is busy with `bytes`, in full segments with 52 bytes of headers.
fn on_link(bytes: usize) -> Duration {
    let segments = bytes.div_ceil(1_448);
    let bits = 8 * (bytes + segments * 52);
    Duration::from_secs_f64(bits as f64 / BITS_PER_SECOND as f64)
}

fn bottleneck() -> EmulatorOptions {
    let rate = Rate::bits_per_second(BITS_PER_SECOND);
    EmulatorOptions::symmetric(LinkConfig {
        rate,
        delay: Duration::from_millis(10),
        ..LinkConfig::IDEAL
    })
}

const BITS_PER_SECOND: u64 = 10_000_000;
/// At the server's side the last of it is still on the link when it is over: that should be little.
const BODY: usize = 1_500_000;
const UPLOAD: usize = 500_000;
