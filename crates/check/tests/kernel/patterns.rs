//! Named patterns of writes: who stalls for a client of today fails, on both stacks, and nobody else.

use std::net::SocketAddr;

use ackwise_check::{
    CheckError, Options, StackChoice,
    builtin::Network,
    card::{CheckId, Finding, Values, Verdict},
    check,
};
use ackwise_net::Target;
use ackwise_testing::pattern::{PatternServer, Stalls, WritePattern};

#[test]
fn the_kernel_fails_the_patterns_that_stall_and_no_other() {
    for pattern in WritePattern::ALL {
        let server = PatternServer::start(loopback(), pattern).expect("a free port");
        let found = nagle(server.local_addr(), StackChoice::Kernel).expect("a card");
        judge(pattern, &found, pattern.stalls != Stalls::Always);
    }
}

#[test]
fn our_stack_fails_the_same_ones_and_says_which_only_clients_on_the_same_host_wait_for() {
    // A namespace of its own belongs to a thread that has no other to look after.
    if Network::private() != Network::Private {
        return ackwise_testing::skip(
            "our_stack_fails_the_same_ones_and_says_which_only_clients_on_the_same_host_wait_for",
            "a network namespace; run as root",
        );
    }
    for pattern in WritePattern::ALL {
        let server = PatternServer::start(Network::Private.bind(), pattern).expect("a free port");
        let address = SocketAddr::from(([127, 0, 0, 1], server.local_addr().port()));
        let found = match nagle(address, StackChoice::Ackwise) {
            Err(CheckError::Stack(missing)) => {
                return ackwise_testing::skip(
                    "our_stack_fails_the_same_ones_and_says_which_only_clients_on_the_same_host_wait_for",
                    missing,
                );
            }
            found => found.expect("a card"),
        };
        judge(pattern, &found, pattern.stalls == Stalls::SameHost);
    }
}

/// `same_host`: of those that stall, whether only clients on the same host wait.
#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn judge(pattern: WritePattern, found: &Finding, same_host: bool) {
    let stalls = pattern.stalls != Stalls::Never;
    let expected = if stalls { Verdict::Fail } else { Verdict::Pass };
    assert_eq!(found.verdict, expected, "{}: {found:?}", pattern.name);
    let only_same_host = match &found.values {
        Values::NagleDelayedAck(values) => values.only_same_host,
        _ => None,
    };
    assert_eq!(only_same_host, stalls.then_some(same_host), "{}: {found:?}", pattern.name);
    let failed = found.verdict == Verdict::Fail;
    if let Some(cost) = found.cost_ms.filter(|_| failed) {
        assert!((30.0..120.0).contains(&cost), "{}: {found:?}", pattern.name);
    }
}

fn nagle(address: SocketAddr, stack: StackChoice) -> Result<Finding, CheckError> {
    let target: Target = format!("http://{address}/").parse().expect("an address");
    let only = Some([CheckId::NagleDelayedAck].into());
    let options = Options { stack, only, ..Options::default() };
    let mut card = check(&target, &options, &mut |_| {})?;
    Ok(card.findings.remove(0))
}

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}
