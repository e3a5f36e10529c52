//! `accept-queue-full`: did connections fit into the queue of those that the program has not accepted?
//!
//! Read on the server's host, never provoked: no check makes a connection for this. About a server on another host
//! nothing is said.

use ackwise_cause::Cause;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::Client,
    no_verdict::NoVerdict,
    server::{Facts, Queue},
    verdict::Verdict,
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Cause(Cause::AcceptQueueFull),
    is_stall: false,
    remedies: &[],
    // Last: it is about the time of all others.
    run: Run::Server(
        ServerCheck::new(16, [0, 0], 1.0, run).only_if(|_, facts| facts.queue.is_some()),
    ),
};

/// Values of `accept-queue-full`, as read on the server's host.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct AcceptQueueFull {
    /// Connections that the program had not accepted when the check ended.
    pub backlog: Option<u32>,
    /// SYNs and connections that the listening socket dropped during the check, for whatever reason.
    pub dropped: Option<u32>,
    /// The limit of the queue: listen(2)'s, at most net.core.somaxconn.
    pub limit: Option<u32>,
    /// By how much TcpExt ListenDrops of the whole host grew during the check.
    pub listen_drops: Option<u64>,
    /// By how much TcpExt ListenOverflows of the whole host grew during the check.
    pub listen_overflows: Option<u64>,
}

/// Compares the queue with what it was before the check.
fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
    let queues = facts.queue.as_ref().zip(Queue::read(client.server()));
    let (before, after) = queues.ok_or_else(|| {
        NoVerdict::not_applicable("no listening socket of the server is on this host")
    })?;
    Ok(report(before, &after))
}

fn report(before: &Queue, after: &Queue) -> Judged {
    let &Queue { backlog, limit, .. } = after;
    let dropped = after.dropped.wrapping_sub(before.dropped);
    let [overflows, drops] = [0, 1].map(|it| after.host[it].wrapping_sub(before.host[it]));
    let values = AcceptQueueFull {
        backlog: Some(backlog),
        dropped: Some(dropped),
        limit: Some(limit),
        listen_drops: Some(drops),
        listen_overflows: Some(overflows),
    };
    // The host's count has the reason, and the socket's says whose it was.
    let lost = u64::from(dropped).min(overflows);
    let (verdict, summary) = if lost > 0 {
        let what = format!(
            "the accept queue (limit {limit}) overflowed during the check: {lost} SYNs or \
             connections were dropped, which clients repeat after a second"
        );
        (Verdict::Warn, what)
    } else if after.room() == 0 {
        let what = format!("the accept queue is full: {backlog} connections wait (limit {limit})");
        (Verdict::Warn, what)
    } else {
        let what =
            format!("no overflow; {backlog} connections wait to be accepted (limit {limit})");
        (Verdict::Pass, what)
    };
    Judged::new(verdict, summary, values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_overflow_of_this_socket_or_a_full_queue_is_warned_of() {
        let before =
            Queue { backlog: 0, limit: 5, dropped: u32::MAX, host: [7, 9], congestion: None };
        // Backlog, dropped by this socket, by the host for overflows and in all.
        #[rustfmt::skip]
        let table = [
            (0, 0, [0, 0], Verdict::Pass),
            (5, 0, [0, 0], Verdict::Pass),
            (6, 0, [0, 0], Verdict::Warn),
            (0, 2, [2, 2], Verdict::Warn),
            (0, 0, [3, 3], Verdict::Pass), // Another server's.
            (0, 1, [0, 1], Verdict::Pass), // For another reason.
        ];
        for (backlog, dropped, grown, verdict) in table {
            let dropped = before.dropped.wrapping_add(dropped);
            let host = [before.host[0] + grown[0], before.host[1] + grown[1]];
            let after = Queue { backlog, dropped, host, congestion: None, ..before };
            let found = report(&before, &after);
            assert_eq!(found.verdict, verdict, "{found:?}");
        }
    }
}
