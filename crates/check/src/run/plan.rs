//! The order of the checks of a server, and what each may use of the budget.

use std::{net::SocketAddr, time::Duration};

use super::{Options, idle, reach::Reached};
use crate::{
    card::{CheckId, Finding, Role},
    checks::server_check::ServerCheck,
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
    /// Making a check.
    Checking {
        /// Which.
        id: CheckId,
        /// Checks that are done.
        done: usize,
        /// Checks in all.
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

/// Makes all checks that `options` want, and sorts the findings as the card shows them.
pub(super) fn run_checks(
    reached: &mut Reached,
    options: &Options,
    progress: &mut dyn FnMut(Progress),
) -> Vec<Finding> {
    let Reached { client, facts, .. } = reached;
    let mut checks: Vec<(CheckId, &ServerCheck)> = CheckId::of(Role::Server)
        .filter(|id| options.wants(*id))
        .filter_map(|id| Some((id, id.of_server()?)))
        // What cannot be asked about this server is named only where it was asked for.
        .filter(|(_, check)| options.only.is_some() || (check.applies)(client, facts))
        .collect();
    checks.sort_by_key(|(_, check)| check.turn);
    let mut findings = Vec::new();
    for (done, (id, check)) in checks.iter().enumerate() {
        if check.needs_idle && facts.idle.is_none() && facts.end().is_ok() {
            let mut waiting = |waited, of| progress(Progress::Idle { waited, of });
            facts.idle = idle::watch(client, facts, options, &mut waiting);
        }
        progress(Progress::Checking { id: *id, done, of: checks.len() });
        let now = client.now();
        let left = client.budget.time_left(now);
        // A slow server must not use up, before its turn, a wait that the user asks for.
        let waits = facts.front().filter(|_| !check.needs_idle);
        let apart = waits.map_or(Duration::ZERO, |it| (it.needs() + idle::RESERVE).min(left / 2));
        let time = (left - apart).mul_f64(check.share);
        let all = client.budget.clone();
        let reserved: u32 = checks[done + 1..].iter().map(|(_, later)| later.requests[0]).sum();
        let [least, most] = check.requests;
        let requests = most.min(all.requests_left().saturating_sub(reserved));
        let lent = all.lend(requests.max(least), time, now);
        client.budget = lent.clone();
        findings.push(check.run(*id, client, facts));
        client.budget = all.settle(&lent, &client.budget);
    }
    findings.sort_by_key(|finding| finding.id);
    findings
}
