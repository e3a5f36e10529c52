//! `connection-reuse`: whether a client sends its next request on the connection that it has.
//!
//! Only a connection that was idle, and that the server kept, could have been used again: requests at the same time
//! need connections of their own.

use std::time::Duration;

use super::{
    judged::{count, count32, judged, not_applicable},
    observed::{Connection, Observed},
};
use crate::card::{ConnectionReuse, Finding, FindingId, Verdict};

const ID: FindingId = FindingId::ConnectionReuse;

pub(super) fn judge(run: &Observed) -> Finding {
    let used: Vec<_> = run.connections.iter().filter(|it| !it.requests.is_empty()).collect();
    let requests: usize = used.iter().map(|it| it.requests.len()).sum();
    if requests < 2 {
        return not_applicable(ID, "needs two requests: let COMMAND send more");
    }
    let reused = requests - used.len();
    let values = ConnectionReuse {
        connections: Some(count32(used.len())),
        requests: Some(count32(requests)),
        reused: Some(count32(reused)),
    };
    let wasted = |(place, it): (usize, &&Connection)| {
        used[..place].iter().any(|earlier| was_idle(earlier, it.opened))
    };
    let wasted = used.iter().enumerate().filter(|it| wasted(*it)).count();
    let said = format!("{} on {}", count(requests, "request"), count(used.len(), "connection"));
    match (reused, wasted) {
        (0, 0) => not_applicable(ID, format!("{said}, all at the same time")),
        (0, _) => {
            let closes = used.iter().flat_map(|it| &it.requests).all(|it| it.last);
            let asked = if closes { ": the client asks for Connection: close" } else { "" };
            judged(ID, Verdict::Warn, format!("{said}, one after the other{asked}"), values)
        }
        _ => judged(ID, Verdict::Pass, said, values),
    }
}

/// Whether all requests of a connection had been answered at `time`.
fn was_idle(connection: &Connection, time: Duration) -> bool {
    let answered = |at: Option<Duration>| at.is_some_and(|at| at < time);
    connection.requests.iter().all(|it| answered(it.answered_at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen::observed::{
        Request,
        sample::{connection, get, run},
    };

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
        let last = |at| Request { last: true, ..get(at) };
        let run = run(vec![connection(0, vec![last(1)]), connection(5, vec![last(6)])]);
        assert!(judge(&run).summary.contains("asks for Connection: close"));
    }
}
