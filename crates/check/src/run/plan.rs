//! The order of the probes, and what each may use of the budget.

use std::{net::SocketAddr, time::Duration};

use super::{Options, idle, reach::Reached};
use crate::{
    card::{Finding, FindingId, Protocol},
    http_client::Client,
    probe::{self, Facts},
};

/// What a check is doing.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Progress {
    /// About to make a change to the host that was allowed: the command that would do the same.
    ChangingHost(String),
    /// Everything that needs privileges is open: from now on, only the server's bytes are handled.
    Ready,
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
    /// Waiting for the server to close an idle connection.
    Idle {
        /// So far.
        waited: Duration,
        /// At most.
        of: Duration,
    },
}

/// Asks all questions that `options` want, and sorts the answers as the card shows them.
pub(super) fn run_probes(
    reached: &mut Reached,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Vec<Finding> {
    let Reached { client, facts, .. } = reached;
    let steps: Vec<&Step> = ORDER
        .iter()
        .filter(|step| options.wants(step.id))
        // What cannot be asked about this server is named only where it was asked for.
        .filter(|step| options.only.is_some() || applies(step.id, client, facts))
        .collect();
    let mut findings = Vec::new();
    for (done, step) in steps.iter().enumerate() {
        if step.needs_idle && facts.idle.is_none() && facts.end().is_ok() {
            let mut waiting = |waited, of| progress(Progress::Idle { waited, of });
            facts.idle = idle::watch(client, facts, options, &mut waiting);
        }
        progress(Progress::Probing { id: step.id, done, of: steps.len() });
        let now = client.now();
        let left = client.budget.time_left(now);
        // A slow server must not use up, before its turn, a wait that the user asks for.
        let waits = facts.front().filter(|_| !step.needs_idle);
        let apart = waits.map_or(Duration::ZERO, |it| (it.needs() + idle::RESERVE).min(left / 2));
        let time = (left - apart).mul_f64(step.share);
        let all = client.budget.clone();
        let reserved: u32 = steps[done + 1..].iter().map(|later| later.least).sum();
        let requests = step.requests.min(all.requests_left().saturating_sub(reserved));
        let lent = all.lend(requests.max(step.least), time, now);
        client.budget = lent.clone();
        findings.push(probe::probe(step.id, client, facts));
        client.budget = all.settle(&lent, &client.budget);
    }
    findings.sort_by_key(|finding| finding.id);
    findings
}

/// Whether there is something to ask.
fn applies(id: FindingId, client: &Client, facts: &Facts) -> bool {
    match id {
        FindingId::EarlyResponse => {
            client.template().content.is_some() && client.protocol() == Protocol::Http1
        }
        FindingId::Close => client.protocol() == Protocol::Http1,
        FindingId::AcceptQueueFull => facts.queue.is_some(),
        FindingId::H2FlowControl | FindingId::H2Streams => client.protocol() == Protocol::Http2,
        _ => true,
    }
}

struct Step {
    id: FindingId,
    /// Requests that it may send.
    requests: u32,
    /// Requests that the steps before leave to it, since it answers nothing without.
    least: u32,
    /// Share of the time that is left when its turn comes.
    share: f64,
    /// It speaks about an idle connection, which is watched as late as possible.
    needs_idle: bool,
}

const fn step(id: FindingId, least: u32, requests: u32, share: f64) -> Step {
    Step { id, requests, least, share, needs_idle: false }
}

/// The most valuable first: a slow server may leave no time for the others.
const ORDER: [Step; 17] = [
    step(FindingId::NagleDelayedAck, 16, 180, 0.4),
    step(FindingId::ShortInitialSegment, 8, 30, 0.3),
    step(FindingId::CorkTimer, 4, 8, 0.3),
    step(FindingId::FirstByte, 4, 16, 0.5),
    step(FindingId::ResponsePause, 0, 16, 0.3), // Mostly of the same responses.
    step(FindingId::RequestSegments, 4, 16, 0.3),
    step(FindingId::Pipelining, 4, 6, 0.3),
    step(FindingId::SplitHead, 1, 6, 0.3), // The others may have seen it already.
    step(FindingId::InitialWindow, 1, 1, 0.3),
    step(FindingId::SendBuffer, 4, 4, 0.4),
    step(FindingId::IdleRestart, 3, 3, 0.5),
    step(FindingId::EarlyResponse, 1, 1, 0.5),
    step(FindingId::H2FlowControl, 2, 2, 0.5),
    step(FindingId::H2Streams, 1, 1, 0.3),
    Step { needs_idle: true, ..step(FindingId::Close, 3, 3, 0.5) },
    Step { needs_idle: true, ..step(FindingId::KeepAlive, 2, u32::MAX, 1.0) },
    step(FindingId::AcceptQueueFull, 0, 0, 1.0), // Last: it is about the time of all others.
];
