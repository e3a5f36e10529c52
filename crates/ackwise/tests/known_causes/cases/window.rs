//! Large responses over a long way: the congestion window lets them go little by little.

use std::{
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

use ackwise_cause::{Cause, Direction};
use ackwise_link::LinkConfig;
use ackwise_linux::emulator::EmulatorOptions;

use super::judge_on_link;
use crate::{
    scenario::{Scenario, ask, respond},
    truth::{Blame, Truth},
};

#[test]
fn a_large_response_on_a_fresh_connection() {
    let scenario = Scenario {
        connections: 3,
        client: Box::new(|stream, exchange, truth| time(stream, exchange, SLOW_START, truth)),
        server: respond(BODY),
        ..Scenario::default()
    };
    judge_on_link("a_large_response_on_a_fresh_connection", &scenario, &[], &long_way());
}

#[test]
fn a_large_response_after_an_idle_time() {
    /// Several retransmission time-outs, each of which halves the window.
    const IDLE: Duration = Duration::from_secs(2);
    // The first opens the window further than the later ones need it.
    let (first, later) = (respond(90_000), respond(BODY));
    let scenario = Scenario {
        exchanges: 3,
        client: Box::new(|stream, exchange, truth| {
            if exchange == 0 {
                return time(stream, exchange, SLOW_START, truth);
            }
            thread::sleep(IDLE);
            time(stream, exchange, (Cause::IdleRestart, Direction::ToClient), truth);
        }),
        server: Box::new(move |stream, exchange, truth| {
            let answer = if exchange == 0 { &first } else { &later };
            answer(stream, exchange, truth);
        }),
        ..Scenario::default()
    };
    judge_on_link("a_large_response_after_an_idle_time", &scenario, &[], &long_way());
}

/// What takes longer than the way there and back was caused by the window.
fn time(stream: &mut TcpStream, exchange: usize, blame: Blame, truth: &Truth) {
    let begun = Instant::now();
    ask(stream);
    truth.tell(exchange, blame, begun.elapsed().saturating_sub(WAY * 2));
}

fn long_way() -> EmulatorOptions {
    EmulatorOptions::symmetric(LinkConfig { delay: WAY, ..LinkConfig::IDEAL })
}

/// Three rounds, and less than a first receive window.
const BODY: usize = 60_000;
const SLOW_START: Blame = (Cause::SlowStart, Direction::ToClient);
const WAY: Duration = Duration::from_millis(30);
