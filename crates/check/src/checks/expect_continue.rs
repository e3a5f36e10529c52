//! `expect-continue`: how long a client that sends `Expect: 100-continue` waits for a 100 (Continue) that does not come.
//!
//! RFC 9110, section 10.1.1: a client "MAY proceed to send the content even if it has not yet received a
//! response", and "SHOULD NOT wait for an indefinite period before sending the content".

use ackwise_cause::Remedy;
use ackwise_units::statistics::middle;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, client_check::ClientCheck, judged::Judged},
    client::{
        ListenError,
        counting::{count, count32},
        observed::{Content, Observed, Request},
        runs::Runs,
        script::{PATIENCE, Script},
    },
    milliseconds::ms,
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "expect-continue",
        "how long a client that sends `Expect: 100-continue` waits for a 100 (Continue) that does not come",
    ),
    is_stall: true,
    remedies: &[&[Remedy::new(
        "send the content without `Expect: 100-continue` (curl: -H 'Expect:'), or wait a \
             shorter time for the answer",
    )]],
    run: Run::Client(ClientCheck { run, judge_any: None }),
};

/// Values of `expect-continue`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct ExpectContinue {
    /// Requests with `Expect: 100-continue`.
    pub asked: Option<u32>,
    /// Median time until the client sent its content without having got a 100 (Continue).
    pub wait_ms: Option<f64>,
}

fn run(runs: &mut Runs<'_>) -> Result<Judged, ListenError> {
    Ok(judge(&runs.run(Script::WithholdsContinue, 0)?))
}

fn judge(run: &Observed) -> Judged {
    let asked: Vec<_> =
        run.requests().filter(|it| it.expects && it.content != Content::None).collect();
    if asked.is_empty() {
        let why = match run.requests().any(|it| it.content != Content::None) {
            true => "no request had Expect: 100-continue",
            false => "needs a request with content and Expect: 100-continue",
        };
        return Judged::not_applicable(why);
    }
    let number = Some(count32(asked.len()));
    let waits = asked.iter().filter(|it| it.continued_at.is_none());
    let waits: Vec<_> =
        waits.filter_map(|it| Some(it.content_at?.saturating_sub(it.head_at))).collect();
    let Some(wait) = middle(waits) else {
        let waited = |it: &&&Request| run.lasted >= it.head_at + PATIENCE;
        if run.exit.is_none() && asked.iter().filter(waited).count() == 0 {
            return Judged::unknown(Reason::Limit, "the limit of time (--timeout) ended the wait");
        }
        let values = ExpectContinue { asked: number, wait_ms: None };
        let seconds = PATIENCE.as_secs();
        let summary = format!(
            "did not send the content of {} within {seconds} s without a 100 (Continue)",
            count(asked.len(), "request")
        );
        return Judged::new(Verdict::Warn, summary, values);
    };
    let values = ExpectContinue { asked: number, wait_ms: Some(ms(wait)) };
    if ms(wait) < WAITS_MS {
        let summary = "sends the content at once, although it asks for a 100 (Continue)";
        return Judged::new(Verdict::Pass, summary, values);
    }
    let summary = format!(
        "waits {:.0} ms for a 100 (Continue) before it sends the content: lost at servers that do not send one",
        ms(wait)
    );
    Judged::new(Verdict::Warn, summary, values).costing(ms(wait))
}

/// A shorter wait is not worth a word; as for stalls.
const WAITS_MS: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::observed::{
        Request,
        sample::{connection, get, ms, run},
    };

    fn post(content_at: Option<u64>) -> Request {
        let content = Content::Length(9);
        Request { expects: true, content, content_at: content_at.map(ms), ..get(0) }
    }

    #[test]
    fn the_wait_is_what_counts() {
        let continued = Request { continued_at: Some(ms(5000)), ..post(Some(5001)) };
        let plain = Request { expects: false, ..post(Some(0)) };
        for (request, verdict, cost) in [
            (get(0), Verdict::NotApplicable, None),
            (plain, Verdict::NotApplicable, None),
            (post(Some(0)), Verdict::Pass, None),
            (post(Some(1000)), Verdict::Warn, Some(1000.0)),
            (continued, Verdict::Warn, None),
            (post(None), Verdict::Warn, None),
        ] {
            let found = judge(&run(vec![connection(0, vec![request.clone()])]));
            assert_eq!((found.verdict, found.cost_ms), (verdict, cost), "{request:?}");
        }
    }
}
