//! Receivers that have no room, or make none.

use std::{
    io::Write,
    time::{Duration, Instant},
};

use ackwise_cause::{Cause, Direction};
use ackwise_link::LinkConfig;
use ackwise_linux::emulator::EmulatorOptions;

use super::{judge_on_link, judge_scenario};
use crate::{
    http::{GET, read_body, read_head},
    lab::Lab,
    scenario::{Scenario, ask, respond, think},
    truth::Blame,
};

#[test]
fn a_small_receive_buffer_on_a_long_way() {
    const WAY: Duration = Duration::from_millis(30);
    let scenario = Scenario {
        // Less than an initial window, so that this is the only limit.
        connect: |socket| socket.set_recv_buffer_size(8_192).unwrap(),
        client: Box::new(|stream, exchange, truth| {
            let begun = Instant::now();
            ask(stream);
            truth.tell(exchange, NO_ROOM, begun.elapsed().saturating_sub(WAY * 2));
        }),
        server: respond(100_000),
        ..Scenario::default()
    };
    let options = EmulatorOptions::symmetric(LinkConfig { delay: WAY, ..LinkConfig::IDEAL });
    judge_on_link("a_small_receive_buffer_on_a_long_way", &scenario, &[], &options);
}

#[test]
fn a_client_that_reads_slowly() {
    /// Much more than both buffers hold, so that nearly all of the time is the reader's.
    const BODY: usize = 4_000_000;
    const PART: usize = 40_000;
    let scenario = Scenario {
        connect: |socket| socket.set_recv_buffer_size(32_768).unwrap(),
        client: Box::new(|stream, exchange, truth| {
            stream.write_all(GET).unwrap();
            let mut left = read_head(stream).unwrap();
            while left > 0 {
                let part = left.min(PART);
                read_body(stream, part).unwrap();
                left -= part;
                if left > PART {
                    truth.measure(exchange, NO_ROOM, || think(Duration::from_millis(10)));
                }
            }
        }),
        server: respond(BODY),
        ..Scenario::default()
    };
    // While nobody reads, Linux puts acknowledgements off, and probes for a loss (RFC 8985).
    let probes = [Cause::RetransmissionTimeout, Cause::LossRecovery];
    judge_scenario("a_client_that_reads_slowly", &scenario, &probes, Lab::with_cable);
}

const NO_ROOM: Blame = (Cause::ReceiveWindow, Direction::ToClient);
