//! `connection-reuse`: whether a client sends its next request on the connection that it has.
//!
//! Only a connection that was idle, and that the server kept, could have been used again: requests at the same time
//! need connections of their own in HTTP/1.1. In HTTP/2 they do not, once a first response has shown that the server speaks
//! it.

use std::time::Duration;

use ackwise_cause::Remedy;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, client_check::ClientCheck, judged::Judged},
    client::{
        ListenError,
        counting::{count, count32},
        observed::{Connection, Observed, Request},
        runs::Runs,
    },
    http_client::Protocol,
    verdict::Verdict,
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "connection-reuse",
        "whether a client sends several requests on one connection",
    ),
    is_stall: false,
    remedies: &[&[Remedy::new(
        "keep one client or session for all requests, read each response to its end, and \
             do not send `Connection: close`",
    )]],
    run: Run::Client(ClientCheck { run, judge_any: Some(judge) }),
};

/// Values of `connection-reuse`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct ConnectionReuse {
    /// Connections with a request.
    pub connections: Option<u32>,
    /// Requests in all.
    pub requests: Option<u32>,
    /// Requests on a connection that had carried one before.
    pub reused: Option<u32>,
}

fn run(runs: &mut Runs<'_>) -> Result<Judged, ListenError> {
    Ok(judge(runs.plain()?))
}

fn judge(run: &Observed) -> Judged {
    let used: Vec<_> = run.connections.iter().filter(|it| !it.requests.is_empty()).collect();
    let requests: usize = used.iter().map(|it| it.requests.len()).sum();
    if requests < 2 {
        return Judged::not_applicable("needs two requests: let COMMAND send more");
    }
    let reused = requests - used.len();
    let values = ConnectionReuse {
        connections: Some(count32(used.len())),
        requests: Some(count32(requests)),
        reused: Some(count32(reused)),
    };
    let wasted = |(place, it): (usize, &&Connection)| {
        used[..place].iter().any(|earlier| was_usable(earlier, it.opened))
    };
    let wasted = used.iter().enumerate().filter(|it| wasted(*it)).count();
    let said = format!("{} on {}", count(requests, "request"), count(used.len(), "connection"));
    match (reused, wasted) {
        (0, 0) => Judged::not_applicable(format!("{said}, all at the same time")),
        (0, _) => {
            let all = |is: fn(&Request) -> bool| used.iter().flat_map(|it| &it.requests).all(is);
            let asked = match (all(|it| it.is_http10), all(|it| it.last)) {
                (_, false) => "",
                (true, _) => ": the client speaks HTTP/1.0, and asks for no keep-alive",
                _ => ": the client asks for Connection: close",
            };
            Judged::new(Verdict::Warn, format!("{said}, one after the other{asked}"), values)
        }
        _ => Judged::new(Verdict::Pass, said, values),
    }
}

/// Whether a connection could have carried another request at `time`.
fn was_usable(connection: &Connection, time: Duration) -> bool {
    let answered = |it: &Request| it.answered_at.is_some_and(|at| at < time);
    match connection.protocol {
        Some(Protocol::Http2) => connection.requests.iter().any(answered),
        _ => connection.requests.iter().all(answered),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::observed::sample::{connection, get, run};

    #[test]
    fn only_an_idle_connection_could_have_been_used() {
        let unanswered = Request { answered_at: None, ..get(1) };
        for (connections, verdict) in [
            (vec![connection(0, vec![get(1)])], Verdict::NotApplicable),
            (vec![connection(0, vec![get(1), get(3)])], Verdict::Pass),
            (vec![connection(0, vec![get(1)]), connection(5, vec![get(6)])], Verdict::Warn),
            (
                vec![connection(0, vec![get(6)]), connection(5, vec![get(6)])],
                Verdict::NotApplicable,
            ),
            (
                vec![connection(0, vec![unanswered]), connection(5, vec![get(6)])],
                Verdict::NotApplicable,
            ),
            (vec![connection(0, vec![get(1), get(2)]), connection(5, vec![get(6)])], Verdict::Pass),
        ] {
            assert_eq!(judge(&run(connections.clone())).verdict, verdict, "{connections:?}");
        }
    }

    #[test]
    fn a_client_that_asks_for_the_close_is_told_so() {
        for (is_http10, said) in [(false, "asks for Connection: close"), (true, "HTTP/1.0")] {
            let last = |at| Request { last: true, is_http10, ..get(at) };
            let run = run(vec![connection(0, vec![last(1)]), connection(5, vec![last(6)])]);
            assert!(judge(&run).summary.contains(said));
        }
    }
}
