//! Ports are used again as soon as TCP allows, on a network that loses, repeats and delays: does an old
//! connection's data ever reach a new one?
//!
//! Each case is a few connections, one after the other, between the same two addresses and ports, with
//! sequence numbers chosen to overlap. What is lost, repeated and late follows from the case's number
//! alone. A failure prints that number; `ACKWISE_PORT_REUSE_CASE=number` runs it by itself and prints
//! every segment. `ACKWISE_PORT_REUSE_CASES=number` sets the number of cases; a release build runs 100,000.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod case;
mod host;
mod world;

use case::{Case, Closing};
use world::{Outcome, World};

/// What the cases of one way to close have come to.
#[derive(Debug, Default)]
struct Tally {
    connections: u64,
    orderly: u64,
    /// Data of an earlier connection, which had been late, and was recognised as old.
    late_data: u64,
    stale: Vec<String>,
}

fn run(closing: Closing, cases: u64) -> Tally {
    let mut tally = Tally::default();
    let numbers = match number("ACKWISE_PORT_REUSE_CASE") {
        Some(one) => one..one + 1,
        None => 0..cases,
    };
    let trace = numbers.clone().count() == 1;
    for number in numbers {
        let Outcome { connections, orderly, late_data, stale } =
            World::new(&Case::new(number, closing), trace).run();
        tally.connections += connections;
        tally.orderly += orderly;
        tally.late_data += late_data;
        tally.stale.extend(stale.map(|what| format!("case {number}: {what}")));
    }
    println!(
        "{closing:?}: {} connections, {} of them closed in order; {} late segments with data; \
         {} cases with old data delivered",
        tally.connections,
        tally.orderly,
        tally.late_data,
        tally.stale.len()
    );
    tally
}

/// A hundred thousand in a release build, by default; what a debug build does in the same time.
fn cases() -> u64 {
    let usual = if cfg!(debug_assertions) { 2_000 } else { 100_000 };
    number("ACKWISE_PORT_REUSE_CASES").unwrap_or(usual)
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

/// In percent: the holder hears an RST if the last ACK was lost, and with data in its last segment it
/// cannot tell that all is well. The network loses 7 % and delays 5 %.
const LOST_LAST_ACK: u64 = 85;

fn nothing_old_is_delivered(closing: Closing) {
    let Tally { connections, orderly, late_data, stale } = run(closing, cases());
    assert!(
        stale.is_empty(),
        "{closing:?}: {} cases, the first: {}; see ACKWISE_PORT_REUSE_CASE=… \
         cargo test -p ackwise-tcp --test port_reuse under_ -- --nocapture",
        stale.len(),
        stale[0]
    );
    if number("ACKWISE_PORT_REUSE_CASE").is_none() {
        // The network was as hostile as it is meant to be, and TCP came through all the same.
        assert!(late_data > connections, "only {late_data} late segments");
        let percent = if closing == Closing::Negotiated { LOST_LAST_ACK } else { 97 };
        assert!(orderly * 100 > connections * percent, "{orderly} of {connections} in order");
    }
}

#[test]
fn under_swap_a_reused_port_never_delivers_old_data() {
    nothing_old_is_delivered(Closing::Swap);
}

#[test]
fn under_negotiation_a_reused_port_never_delivers_old_data() {
    nothing_old_is_delivered(Closing::Negotiated);
}

/// The test of the test: who resets and does not wait, and who waits and can be assassinated (RFC 1337,
/// H1), delivers old data in the same network. Where resets are ignored there is less: a client that
/// does not wait may take an old SYN-ACK for its answer, and the data behind it, if it begins with the
/// very number of an earlier connection, as a quarter of these do, and none should that follows RFC
/// 9293, section 3.4.1.
#[test]
fn the_network_delivers_old_data_to_whoever_lets_it() {
    let few = cases().min(20_000);
    let delivered = |closing| run(closing, few).stale.len();
    assert!(delivered(Closing::NobodyWaits) > 10);
    let assassinated = delivered(Closing::Assassinated);
    assert!(assassinated > 10 && delivered(Closing::Rfc1337) < assassinated / 4);
}
