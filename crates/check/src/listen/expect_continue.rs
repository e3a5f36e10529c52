//! `expect-continue`: how long a client that sends `Expect: 100-continue` waits for a 100 (Continue) that does not come.
//!
//! RFC 9110, section 10.1.1: a client "MAY proceed to send the content even if it has not yet received a
//! response", and "SHOULD NOT wait for an indefinite period before sending the content".

use super::{
    judged::{count, count32, judged, median, ms, not_applicable, unknown},
    observed::{Content, Observed, Request},
    script::PATIENCE,
};
use crate::card::{ExpectContinue, Finding, FindingId, Reason, Verdict};

const ID: FindingId = FindingId::ExpectContinue;

pub(super) fn judge(run: &Observed) -> Finding {
    let asked: Vec<_> =
        run.requests().filter(|it| it.expects && it.content != Content::None).collect();
    if asked.is_empty() {
        let why = match run.requests().any(|it| it.content != Content::None) {
            true => "no request had Expect: 100-continue",
            false => "needs a request with content and Expect: 100-continue",
        };
        return not_applicable(ID, why);
    }
    let number = Some(count32(asked.len()));
    let waits = asked.iter().filter(|it| it.continued_at.is_none());
    let waits: Vec<_> =
        waits.filter_map(|it| Some(it.content_at?.saturating_sub(it.head_at))).collect();
    let Some(wait) = median(waits) else {
        let waited = |it: &&&Request| run.lasted >= it.head_at + PATIENCE;
        if run.exit.is_none() && asked.iter().filter(waited).count() == 0 {
            return unknown(ID, Reason::Limit, "the limit of time (--timeout) ended the wait");
        }
        let values = ExpectContinue { asked: number, wait_ms: None };
        let seconds = PATIENCE.as_secs();
        let summary = format!(
            "did not send the content of {} within {seconds} s without a 100 (Continue)",
            count(asked.len(), "request")
        );
        return judged(ID, Verdict::Warn, summary, values);
    };
    let values = ExpectContinue { asked: number, wait_ms: Some(ms(wait)) };
    if ms(wait) < WAITS_MS {
        let summary = "sends the content at once, although it asks for a 100 (Continue)";
        return judged(ID, Verdict::Pass, summary, values);
    }
    let summary = format!(
        "waits {:.0} ms for a 100 (Continue) before it sends the content: lost at servers that do not send one",
        ms(wait)
    );
    Finding { cost_ms: Some(ms(wait)), ..judged(ID, Verdict::Warn, summary, values) }
}

/// A shorter wait is not worth a word; as for stalls.
const WAITS_MS: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen::observed::{
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
