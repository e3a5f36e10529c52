//! `close-race`: the server closes an idle connection while the client's next request is on its way. RFC 9112, section
//! 9.3.1: a client MAY then retransmit requests with idempotent methods; RFC 9110, section 9.2.2: it "SHOULD NOT
//! automatically retry a request with a non-idempotent method unless it has some means to know" that this does no harm.
//!
//! HTTP/2's GOAWAY says which requests were not processed: RFC 9113, section 8.7: "Requests that have not been processed
//! have not failed; clients MAY automatically retry them, even those with non-idempotent methods." Section 6.8: its
//! receivers "MUST NOT open additional streams on the connection".
//!
//! A client that sends the same request again and again anyway looks like one that retries: so its requests are
//! counted in a run without a close, and a retry is one request more.

use ackwise_cause::Remedy;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, client_check::ClientCheck, judged::Judged},
    client::{
        ListenError,
        observed::{Connection, Exit, Observed, Request},
        runs::Runs,
        script::Script,
    },
    http_client::Protocol,
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "close-race",
        "whether a client repeats a request if the server closes the idle connection at the same time",
    ),
    is_stall: false,
    remedies: &[&[Remedy::new(
        "repeat GET and other idempotent requests if a reused connection closes without a \
             response, and keep idle connections for a shorter time than the server does",
    )]],
    run: Run::Client(ClientCheck { run, judge_any: None }),
};

/// Values of `close-race`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct CloseRace {
    /// The method of the request that met the close.
    pub method: Option<&'static str>,
    /// Whether it was sent again on another connection.
    pub sent_again: Option<bool>,
    /// Whether the client sent a request on a connection long after the server's GOAWAY; null in HTTP/1.1.
    pub after_goaway: Option<bool>,
}

fn run(runs: &mut Runs<'_>) -> Result<Judged, ListenError> {
    let raced = runs.run(Script::ClosesReused, 0)?;
    let judged = judge(runs.plain()?, &raced);
    if judged.verdict != Verdict::Warn {
        return Ok(judged);
    }
    // A client that sends more or less of its own accord is no judge of that.
    let again = runs.run(Script::Plain, 0)?;
    Ok(confirm(judged, runs.plain()?, &again))
}

/// Decides from a run without a close, and one with.
fn judge(plain: &Observed, raced: &Observed) -> Judged {
    let Some((place, lost)) = lost(raced) else {
        return Judged::not_applicable("needs a second request on the same connection");
    };
    let same = |it: &&Request| it.method == lost.method && it.target == lost.target;
    let mut later = raced.connections[place + 1..].iter().flat_map(|it| &it.requests);
    let answered = |run: &Observed| run.requests().filter(|it| it.answered_at.is_some()).count();
    let sent_again = answered(raced) >= answered(plain) && later.any(|it| same(&it));
    let method = lost.method.as_str();
    let is_http2 = raced.has(Protocol::Http2);
    let after_goaway = is_http2.then(|| raced.requests().any(|it| it.after_goaway));
    let values = CloseRace { method: Some(method), sent_again: Some(sent_again), after_goaway };
    if is_http2 {
        return judge_goaway(method, values, &outcome(raced));
    }
    let judged = |verdict, summary: String| Judged::new(verdict, summary, values);
    let closed = "whose reused connection was just closed";
    match (sent_again, lost.method.is_idempotent()) {
        (true, true) => judged(Verdict::Pass, format!("sends a {method} again {closed}")),
        (true, false) => {
            let may = "the server may carry it out twice (RFC 9110, section 9.2.2)";
            judged(Verdict::Warn, format!("sends a {method} again {closed}: {may}"))
                .remedied_by(Remedy::new(NOT_AGAIN))
        }
        (false, true) => {
            judged(Verdict::Warn, format!("loses a {method} {closed}{}", outcome(raced)))
        }
        (false, false) => judged(Verdict::Pass, format!("does not send a {method} again {closed}")),
    }
}

fn judge_goaway(method: &str, values: CloseRace, outcome: &str) -> Judged {
    let warn = |summary: String, remedy| {
        Judged::new(Verdict::Warn, summary, values).remedied_by(Remedy::new(remedy))
    };
    let left = "that the server's GOAWAY has left unprocessed";
    match (values.after_goaway, values.sent_again) {
        (Some(true), _) => warn(
            "goes on sending requests on a connection after the server's GOAWAY (RFC 9113, section 6.8)"
                .to_owned(),
            "open another connection after a GOAWAY",
        ),
        (_, Some(true)) => {
            Judged::new(Verdict::Pass, format!("sends a {method} again {left}"), values)
        }
        _ => warn(format!("loses a {method} {left}{outcome}"), SEND_AGAIN),
    }
}

/// `found` once more, after another run without a close: if the client did not send as many requests as in the first, a
/// count says nothing about it.
fn confirm(found: Judged, plain: &Observed, again: &Observed) -> Judged {
    let [one, other] = [plain, again].map(|run| run.requests().count());
    match one == other {
        true => found,
        false => Judged::unknown(
            Reason::Disturbed,
            format!("the client sends {one} requests in one run and {other} in another"),
        ),
    }
}

/// The request that met the close, and the place of its connection.
fn lost(run: &Observed) -> Option<(usize, &Request)> {
    let met = |(place, it): (usize, &'_ Connection)| {
        it.requests.iter().position(|it| it.met_close).map(|number| (place, number))
    };
    let (place, number) = run.connections.iter().enumerate().find_map(met)?;
    Some((place, &run.connections[place].requests[number]))
}

fn outcome(run: &Observed) -> String {
    match run.exit {
        Some(Exit::Success) => ", and goes on".to_owned(),
        Some(Exit::Failure(Some(code))) => format!(", and exits with {code}"),
        Some(Exit::Failure(None)) => ", and is ended by a signal".to_owned(),
        None => ", and does not end".to_owned(),
    }
}

const SEND_AGAIN: &str = "send requests above the last stream of a GOAWAY again, whatever their method (RFC 9113, \
                          section 8.7)";
const NOT_AGAIN: &str = "do not repeat requests that are not idempotent, or keep idle connections for a shorter time \
                         than the server does";

#[cfg(test)]
mod tests {
    use ackwise_http::Method;

    use super::*;
    use crate::client::observed::{
        Connection,
        sample::{connection, get, run},
    };

    fn with(method: Method, request: Request) -> Request {
        Request { method, ..request }
    }

    #[test]
    fn a_retry_is_one_request_more() {
        let plain = |method| {
            run(vec![connection(
                0,
                vec![get(1), get(2)].into_iter().map(|it| with(method, it)).collect(),
            )])
        };
        let raced = |method, again: usize| {
            let lost = Request { met_close: true, answered_at: None, ..with(method, get(2)) };
            let first = connection(0, vec![with(method, get(1)), lost]);
            let retries = (0..again).map(|_| connection(5, vec![with(method, get(6))]));
            run([first].into_iter().chain(retries).collect())
        };
        for (method, again, verdict, sent_again) in [
            (Method::Get, 1, Verdict::Pass, true),
            (Method::Get, 0, Verdict::Warn, false),
            (Method::Post, 1, Verdict::Warn, true),
            (Method::Post, 0, Verdict::Pass, false),
        ] {
            let found = judge(&plain(method), &raced(method, again));
            let values = CloseRace {
                method: Some(method.as_str()),
                sent_again: Some(sent_again),
                after_goaway: None,
            };
            assert_eq!(
                (found.verdict, found.values),
                (verdict, Some(values.into())),
                "{method:?} {again}"
            );
        }
    }

    #[test]
    fn the_next_of_many_equal_requests_is_no_retry() {
        let plain = run(vec![connection(0, vec![get(1), get(2), get(3)])]);
        let lost = Request { met_close: true, answered_at: None, ..get(2) };
        let raced = run(vec![connection(0, vec![get(1), lost]), connection(5, vec![get(6)])]);
        assert_eq!(judge(&plain, &raced).verdict, Verdict::Warn);
        assert_eq!(judge(&plain, &plain).verdict, Verdict::NotApplicable);
    }

    #[test]
    fn a_request_that_a_goaway_left_unprocessed_is_sent_again_elsewhere() {
        let http2 = |at, requests| Connection {
            protocol: Some(Protocol::Http2),
            ..connection(at, requests)
        };
        let post = |at| with(Method::Post, get(at));
        let lost = Request { met_close: true, answered_at: None, ..post(2) };
        let late = Request { answered_at: None, after_goaway: true, ..post(900) };
        let plain = run(vec![http2(0, vec![post(1), post(2)])]);
        let again = http2(5, vec![post(6)]);
        for (connections, verdict) in [
            (vec![http2(0, vec![post(1), lost.clone()]), again.clone()], Verdict::Pass),
            (vec![http2(0, vec![post(1), lost.clone()])], Verdict::Warn),
            (vec![http2(0, vec![post(1), lost, late]), again], Verdict::Warn),
        ] {
            assert_eq!(
                judge(&plain, &run(connections.clone())).verdict,
                verdict,
                "{connections:?}"
            );
        }
    }
}
