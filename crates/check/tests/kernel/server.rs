//! The built-in server, and a check of it.

use std::{collections::BTreeSet, time::Duration};

use ackwise_check::{
    CheckError, Options, StackChoice,
    card::{Card, CheckId, Finding},
    check,
};
use ackwise_http::Behaviour;
use ackwise_net::Target;
use ackwise_serve::{Config, Server};

/// The card of a server that behaves like that; all findings if `only` is empty.
pub(crate) fn card(behaviour: Behaviour, path: &str, only: &[CheckId]) -> Result<Card, CheckError> {
    let server = Server::start(Config::loopback(behaviour)).expect("loopback has a free port");
    let only: BTreeSet<CheckId> = only.iter().copied().collect();
    let options = Options {
        only: (!only.is_empty()).then_some(only),
        max_wait: Duration::from_secs(2),
        stack: StackChoice::Kernel,
        ..Options::default()
    };
    let target: Target =
        format!("http://{}{path}", server.local_addr()).parse().expect("an address and a path");
    check(&target, &options, &mut |_| {})
}

/// One finding about a server that behaves like that.
pub(crate) fn finding(behaviour: Behaviour, path: &str, id: CheckId) -> Finding {
    let mut card = card(behaviour, path, &[id]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(card.findings.len(), 1, "{card:?}");
    card.findings.remove(0)
}
