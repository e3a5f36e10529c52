//! The order of the probes, and what each may use of the budget.

use std::net::SocketAddr;

use super::{Options, reach::Reached};
use crate::check::{
    card::{Finding, FindingId},
    probe,
};

/// What a check is doing.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// About to make a change to the host that was allowed: the command that would do the same.
    ChangingHost(String),
    /// Asking for the addresses of the name.
    Resolving,
    /// Connecting to an address.
    Connecting(SocketAddr),
    /// Working on a finding.
    Probing {
        /// Which.
        id: FindingId,
        /// Findings that are done.
        done: usize,
        /// Findings in all.
        of: usize,
    },
}

/// Asks all questions that `options` want, and sorts the answers as the card shows them.
pub(super) fn carry_out(
    reached: Reached,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Vec<Finding> {
    let Reached { mut client, mut facts, .. } = reached;
    let steps: Vec<&Step> = ORDER.iter().filter(|step| options.wants(step.id)).collect();
    let mut findings = Vec::new();
    for (done, step) in steps.iter().enumerate() {
        progress(Progress::Probing { id: step.id, done, of: steps.len() });
        let now = client.now();
        let time = client.budget.time_left(now).mul_f64(step.share);
        let all = client.budget.clone();
        let lent = all.lend(step.requests, time, now);
        client.budget = lent.clone();
        findings.push(probe::probe(step.id, &mut client, &mut facts));
        client.budget = all.settle(&lent, &client.budget);
    }
    findings.sort_by_key(|finding| finding.id);
    findings
}

struct Step {
    id: FindingId,
    /// Requests that it may send.
    requests: u32,
    /// Share of the time that is left when its turn comes.
    share: f64,
}

/// The most valuable first: a slow server may leave no time for the others.
const ORDER: [Step; 2] = [
    Step { id: FindingId::NagleDelayedAck, requests: 40, share: 0.5 },
    Step { id: FindingId::SplitHead, requests: 4, share: 0.3 },
];
