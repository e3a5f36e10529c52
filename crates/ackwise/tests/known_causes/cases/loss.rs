//! A segment of the response is lost: in the middle, where later ones tell of it, and at the end.

use std::time::{Duration, Instant};

use ackwise_cause::{Cause, Direction};
use ackwise_link::{Faults, LinkConfig, Pick};
use ackwise_linux::emulator::EmulatorOptions;

use super::judge_on_link;
use crate::scenario::{Scenario, ask, respond};

#[test]
fn a_loss_in_the_middle() {
    judge_loss("a_loss_in_the_middle", 4, Cause::LossRecovery);
}

#[test]
fn a_loss_at_the_tail() {
    judge_loss("a_loss_at_the_tail", SEGMENTS, Cause::RetransmissionTimeout);
}

/// The `lost`th segment of a response that the initial window lets go at once.
fn judge_loss(name: &str, lost: u64, cause: Cause) {
    /// Before the response the server sends the SYN and an acknowledgement of the request.
    const BEFORE: u64 = 2;
    let scenario = Scenario {
        client: Box::new(move |stream, exchange, truth| {
            let begun = Instant::now();
            ask(stream);
            let late = begun.elapsed().saturating_sub(WAY * 2);
            truth.tell(exchange, (cause, Direction::ToClient), late);
        }),
        server: respond(1_448 * 8 + 500),
        ..Scenario::default()
    };
    let way = LinkConfig { delay: WAY, ..LinkConfig::IDEAL };
    let faults = Faults { loss: Pick::Nth(vec![BEFORE + lost]), ..Faults::NONE };
    let options = EmulatorOptions {
        to_client: LinkConfig { faults, ..way.clone() },
        ..EmulatorOptions::symmetric(way)
    };
    judge_on_link(name, &scenario, &[], &options);
}

/// Of the response.
const SEGMENTS: u64 = 9;
const WAY: Duration = Duration::from_millis(30);
