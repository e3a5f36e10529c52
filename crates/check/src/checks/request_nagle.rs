//! `request-nagle`: a client that writes head and content apart, with Nagle's algorithm, sends the second only when the
//! server has acknowledged the first, and servers delay that ACK.
//!
//! Look-alikes: a client that thinks between its writes (its second piece arrives before our later ACK, or later
//! than it), one that waits for a 100 (Continue), and a large request, whose pieces arrive without waiting.

use std::{collections::BTreeSet, time::Duration};

use ackwise_cause::{NODELAY_AT_CLIENT, Remedy};
use ackwise_units::statistics::middle;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, client_check::ClientCheck, judged::Judged},
    client::{
        ListenError,
        counting::{count, count32, evidence},
        observed::{Content, Observed, Request, Step},
        runs::Runs,
        script::{DELAYS, FOLLOWS, Script},
    },
    http_client::Protocol,
    milliseconds::ms,
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "request-nagle",
        "the end of a client's request waits for the server's delayed ACK",
    ),
    is_stall: true,
    remedies: &[&[Remedy::new(NODELAY_AT_CLIENT)]],
    run: Run::Client(ClientCheck { run, judge_any: Some(judge_one) }),
};

/// Values of `request-nagle`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct RequestNagle {
    /// Requests whose end waited for the ACK of their beginning.
    pub held: Option<u32>,
    /// Requests that came in several pieces, so that their end could have waited.
    pub in_pieces: Option<u32>,
    /// Requests in all.
    pub requests: Option<u32>,
    /// How long the end of a request waited, with an ACK delay of `delay_ms`.
    pub stall_ms: Option<f64>,
    /// The ACK delay with which `stall_ms` was measured.
    pub delay_ms: Option<f64>,
}

/// One request is too few if it seemed to wait: then the command runs again.
fn run(runs: &mut Runs<'_>) -> Result<Judged, ListenError> {
    let mut seen = Vec::new();
    while seen.len() < MOST_RUNS {
        let earlier = seen.iter().map(delays_used).sum();
        seen.push(runs.run(Script::DelaysAcks, earlier)?);
        if !is_open(&seen) {
            break;
        }
    }
    Ok(judge(&seen))
}

/// By how much the next run's delays are shifted, so that each of its requests gets another one. Those whose ACKs were
/// not ours to delay have used none.
fn delays_used(run: &Observed) -> usize {
    let used = run.requests().filter(|it| it.delay.is_some()).count();
    if used.is_multiple_of(DELAYS) { used + 1 } else { used }
}

fn judge_one(run: &Observed) -> Judged {
    judge(std::slice::from_ref(run))
}

/// Decides from all runs so far.
fn judge(runs: &[Observed]) -> Judged {
    let seen: Vec<_> = runs.iter().flat_map(Observed::requests).map(|it| (it, shape(it))).collect();
    let of = |wanted: Shape| seen.iter().filter(move |(_, shape)| *shape == wanted).count();
    let [held, free, late, whole] =
        [Shape::Held, Shape::Free, Shape::Late, Shape::OnePiece].map(of);
    let values = RequestNagle {
        held: Some(count32(held)),
        in_pieces: Some(count32(held + free + late)),
        requests: Some(count32(seen.len())),
        ..RequestNagle::default()
    };
    let has_content = |it: &Request| it.content != Content::None && !it.expects;
    let told = seen.iter().any(|(it, shape)| has_content(it) && *shape == Shape::OnePiece);
    // There, our answer to SETTINGS may have acknowledged the first request.
    let protocol = match runs.iter().any(|run| run.has(Protocol::Http2)) {
        true => Protocol::Http2,
        false => Protocol::Http1,
    };
    match () {
        () if held > 0 => accuse(&seen, values, protocol),
        () if free + late > 0 => {
            let number = count(free + late, "request");
            let summary =
                format!("no part of a request waited for an ACK ({number} in several pieces)");
            Judged::new(Verdict::Pass, summary, values)
        }
        () if told => {
            let number = count(whole, "request");
            Judged::new(Verdict::Pass, format!("each of {number} arrived in one piece"), values)
        }
        () if !seen.iter().any(|(it, _)| has_content(it)) => {
            Judged::not_applicable("needs a request with content: let COMMAND send one")
        }
        () if seen.iter().all(|(it, _)| it.delay.is_none()) && protocol == Protocol::Http1 => {
            Judged::unknown(Reason::Stack, FIRST)
        }
        () => Judged::unknown(Reason::Limit, MORE),
    }
}

/// Some requests were held: whether again and again, by ACKs at different times.
fn accuse(seen: &[(&Request, Shape)], values: RequestNagle, protocol: Protocol) -> Judged {
    let held = || seen.iter().filter(|(_, shape)| *shape == Shape::Held).map(|(it, _)| *it);
    let others = seen.iter().filter(|(_, it)| matches!(it, Shape::Free | Shape::Late)).count();
    // Where the kernel decided, it may have been late: that is no pause of the client's own.
    let prompt = seen
        .iter()
        .filter(|(it, shape)| *shape == Shape::Prompt && it.delay == Some(Duration::ZERO));
    let own_pause = middle(prompt.map(|(it, _)| pause(it)));
    let delays: BTreeSet<_> = held().filter_map(|it| it.delay).collect();
    let measured = delays.iter().rev().find(|it| **it <= COMMON_DELAY).copied();
    if others > 0 {
        let thinks = |own: Duration| held().all(|it| pause(it) < own + FAILS);
        if own_pause.is_some_and(thinks) {
            let summary = "pauses between the parts of its requests, independent of ACKs";
            return Judged::new(Verdict::Pass, summary, values);
        }
        let waited = count(held().count(), "request");
        let why = format!(
            "{waited} waited for an ACK, and {others} did not: pauses of the program can look the same"
        );
        return Judged::unknown(Reason::Disturbed, why);
    }
    let (Some(own_pause), Some(delay), 2..) = (own_pause, measured, delays.len()) else {
        return Judged::unknown(Reason::Limit, MORE);
    };
    let stalled: Vec<_> = held().filter(|it| it.delay == Some(delay)).collect();
    let stall = middle(stalled.iter().map(|it| pause(it))).unwrap_or_default();
    let cost = stall.saturating_sub(own_pause);
    let verdict = if cost >= FAILS { Verdict::Fail } else { Verdict::Warn };
    let what = match protocol {
        Protocol::Http1 => "the end of a request waits until the server acknowledges its beginning",
        Protocol::Http2 => {
            "a request, or its end, waits until the server acknowledges the frames before it"
        }
    };
    let summary = format!(
        "{what} (Nagle's algorithm), in {} of {}; measured with an ACK delay of {} ms (Linux: 40 ms)",
        held().count(),
        count(seen.len(), "request"),
        delay.as_millis()
    );
    let values = RequestNagle { stall_ms: Some(ms(stall)), delay_ms: Some(ms(delay)), ..values };
    Judged::new(verdict, summary, values)
        .costing(ms(cost))
        .with_evidence(stalled.first().map(|it| evidence(it)).unwrap_or_default())
}

/// Whether another run may tell more: something waited, or seemed to, and it is not settled.
fn is_open(runs: &[Observed]) -> bool {
    judge(runs).reason == Some(Reason::Limit)
}

/// How a request arrived.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Shape {
    /// It asked for a 100 (Continue): its pieces wait for that.
    Expects,
    /// At once, although ACKs were delayed.
    OnePiece,
    /// Its ACKs were not delayed, or not by us.
    Prompt,
    /// A piece came although the ones before were not acknowledged.
    Free,
    /// The next piece followed our delayed ACK.
    Held,
    /// The next piece came later than that.
    Late,
}

fn shape(request: &Request) -> Shape {
    if request.expects {
        return Shape::Expects;
    }
    let Some(delay) = request.delay.filter(|it| !it.is_zero()) else { return Shape::Prompt };
    if request.steps.iter().filter_map(arrival).count() < 2 {
        return Shape::OnePiece;
    }
    let late = || after_delayed_ack(request, delay);
    match late().next() {
        None => Shape::Free,
        Some(_) if late().all(|gap| gap <= FOLLOWS) => Shape::Held,
        Some(_) => Shape::Late,
    }
}

/// How long after each ACK that was delayed in full the next piece came.
fn after_delayed_ack(request: &Request, delay: Duration) -> impl Iterator<Item = Duration> {
    let full = delay.mul_f64(0.9);
    request.steps.windows(3).filter_map(move |steps| match steps {
        [
            Step::Arrived { at: before, .. },
            Step::Acknowledged { at: acked },
            Step::Arrived { at: next, .. },
        ] if acked.saturating_sub(*before) >= full => Some(next.saturating_sub(*acked)),
        _ => None,
    })
}

/// The longest time between two pieces.
fn pause(request: &Request) -> Duration {
    let arrivals: Vec<_> = request.steps.iter().filter_map(arrival).collect();
    let gaps = arrivals.windows(2).map(|two| two[1].saturating_sub(two[0]));
    gaps.max().unwrap_or_default()
}

fn arrival(step: &Step) -> Option<Duration> {
    match step {
        Step::Arrived { at, .. } => Some(*at),
        Step::Acknowledged { .. } => None,
    }
}

const FIRST: &str = "the kernel decides when the first bytes of a connection are acknowledged: let COMMAND send several \
                     requests on one connection, or leave out --host-network";
const MORE: &str =
    "too few requests to tell whether they waited for an ACK: let COMMAND send at least three";

/// The cost is told for a delay up to that of Linux (`TCP_DELACK_MIN`), if it was measured.
const COMMON_DELAY: Duration = Duration::from_millis(40);

/// As for servers.
const FAILS: Duration = Duration::from_millis(10);

/// Runs of one check, if requests of the first seemed to wait. Our choice: three requests have three ACK delays.
const MOST_RUNS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::observed::sample::{connection, get, ms, run};

    /// A POST in two pieces: the second after `gap`, our ACK after `delay` unless the second was earlier and ended
    /// the wait.
    fn post(delay: u64, gap: u64) -> Request {
        let ack = Step::Acknowledged { at: ms(delay) };
        let pieces = [0, gap].map(|at| Step::Arrived { at: ms(at), bytes: 100 });
        let steps = match gap < delay || delay == 0 {
            true => vec![pieces[0], pieces[1], ack],
            false => vec![pieces[0], ack, pieces[1]],
        };
        Request { content: Content::Length(100), delay: Some(ms(delay)), steps, ..get(0) }
    }

    fn verdict(requests: Vec<Request>) -> Judged {
        judge(&[run(vec![connection(0, requests)])])
    }

    #[test]
    fn an_end_that_follows_two_different_acks_was_held() {
        let found = verdict(vec![post(120, 120), post(40, 41), post(0, 0)]);
        assert_eq!((found.verdict, found.cost_ms), (Verdict::Fail, Some(41.0)));
        assert_eq!(found.evidence[1], "0.040000 < ACK");
        // The kernel's sockets, which may have delayed the ACK of the first request.
        let first = Request { delay: None, ..post(40, 41) };
        let found = verdict(vec![first, post(30, 30), post(15, 15), post(0, 0)]);
        assert_eq!((found.verdict, found.cost_ms), (Verdict::Fail, Some(30.0)));
    }

    #[test]
    fn what_can_be_something_else_is_not_accused() {
        let expects = || Request { expects: true, ..post(40, 40) };
        for (requests, expected, why) in [
            (vec![get(0), get(1)], Verdict::NotApplicable, "no content"),
            (vec![expects(), expects()], Verdict::NotApplicable, "it waits for the 100"),
            (vec![post(120, 0), post(40, 0)], Verdict::Pass, "pieces that do not wait"),
            (vec![post(120, 60), post(40, 60), post(0, 60)], Verdict::Pass, "it thinks for 60 ms"),
            (vec![post(120, 200), post(40, 200)], Verdict::Pass, "it thinks for 200 ms"),
            (vec![post(120, 40), post(40, 40), post(0, 40)], Verdict::Pass, "it thinks as long"),
            (vec![post(120, 120), post(40, 120), post(0, 120)], Verdict::Pass, "it thinks longer"),
            (vec![post(120, 40), post(40, 40)], Verdict::Unknown, "nothing to compare with"),
            (vec![Request { delay: None, ..post(0, 0) }], Verdict::Unknown, "not our ACK"),
            (vec![post(120, 120)], Verdict::Unknown, "one request"),
            (vec![post(40, 40), post(40, 40), post(0, 0)], Verdict::Unknown, "one delay"),
            (vec![post(120, 120), post(40, 40)], Verdict::Unknown, "nothing to compare with"),
        ] {
            assert_eq!(verdict(requests).verdict, expected, "{why}");
        }
    }

    #[test]
    fn time_that_the_client_takes_anyway_is_no_cost() {
        let found = verdict(vec![post(120, 120), post(40, 42), post(0, 38)]);
        assert_eq!((found.verdict, found.cost_ms), (Verdict::Warn, Some(4.0)));
    }

    #[test]
    fn one_request_asks_for_another_run_only_if_it_waited() {
        let once = |request| is_open(&[run(vec![connection(0, vec![request])])]);
        assert!(once(post(120, 120)));
        assert!(!once(post(120, 3)));
        assert!(!once(get(0)));
    }
}
