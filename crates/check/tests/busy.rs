#![cfg(target_os = "linux")]
//! The verdicts on patterns of writes hold when every core is busy. `cargo xtask bench check` does more runs, with
//! both stacks.

use std::{net::SocketAddr, time::Duration};

use ackwise_check::{
    Options, StackChoice, Target,
    card::{CheckId, Finding, Verdict},
    check,
};
use ackwise_testing::{
    busy::BusyCores,
    pattern::{PatternServer, Stalls, WritePattern},
};

/// As many as fit into the time of this test.
const RUNS: usize = 20;

#[test]
fn verdicts_are_right_with_all_cores_busy() {
    let _busy = BusyCores::start();
    for pattern in [
        WritePattern::HEAD_APART,
        WritePattern::JOINED,
        WritePattern::NO_DELAY,
        WritePattern::HEAD_APART_1623,
    ] {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let server = PatternServer::start(loopback, pattern).expect("a free port");
        let target: Target = format!("http://{}/", server.local_addr()).parse().expect("a URL");
        let options = Options {
            stack: StackChoice::Kernel,
            only: Some(CheckId::stalls().collect()),
            time: Duration::from_secs(4),
            ..Options::default()
        };
        let failures: Vec<Vec<Finding>> = (0..RUNS)
            .map(|_| check(&target, &options, &mut |_| {}).expect("a card").findings)
            .filter(|findings| findings.iter().any(|it| it.verdict == Verdict::Fail))
            .collect();
        let expected = if pattern.stalls == Stalls::Never { 0 } else { RUNS };
        assert_eq!(failures.len(), expected, "{}: {failures:?}", pattern.name);
    }
}
