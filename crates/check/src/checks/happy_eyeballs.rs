//! `happy-eyeballs`: a name with an IPv6 address that does not answer and an IPv4 address that does. RFC 8305, section 8:
//! the next address is tried after the Connection Attempt Delay, for which 250 ms are recommended, and 2 s at most.

use ackwise_cause::Remedy;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, client_check::ClientCheck, judged::Judged},
    client::{ListenError, counting::count32, observed::Observed, runs::Runs, script::Script},
    milliseconds::ms,
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "happy-eyeballs",
        "how long a client waits for an IPv6 address that does not answer before it tries IPv4",
    ),
    is_stall: true,
    remedies: &[&[Remedy::new(
        "try the next address of a name after 250 ms (RFC 8305, section 8)",
    )]],
    run: Run::Client(ClientCheck { run, judge_any: None }),
};

/// Values of `happy-eyeballs`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct HappyEyeballs {
    /// SYNs to the IPv6 address, which were not answered.
    pub syns: Option<u32>,
    /// How long after the first of them the client connected over IPv4; null if it never did.
    pub wait_ms: Option<f64>,
}

fn run(runs: &mut Runs<'_>) -> Result<Judged, ListenError> {
    match runs.name() {
        Ok(name) => Ok(judge(&runs.run_by_name(name, Script::Plain)?)),
        Err(why) => Ok(Judged::unknown(Reason::Stack, why)),
    }
}

fn judge(run: &Observed) -> Judged {
    let Some(first) = run.unanswered_syns.first() else {
        let why = match run.connections.is_empty() {
            true => "the client tried no address of the name",
            false => "the client tried IPv4 first",
        };
        return Judged::not_applicable(why);
    };
    let syns = Some(count32(run.unanswered_syns.len()));
    // What came before is another attempt's.
    let Some(connection) = run.connections.iter().find(|it| it.opened >= *first) else {
        let waited = run.lasted.saturating_sub(*first);
        if run.exit.is_none() && ms(waited) < LONGEST_MS {
            return Judged::unknown(
                Reason::Limit,
                "the limit of time came before an attempt over IPv4",
            );
        }
        let values = HappyEyeballs { syns, wait_ms: None };
        let summary =
            "never tries IPv4 after an IPv6 address that does not answer, within the limit of time";
        return Judged::new(Verdict::Warn, summary, values);
    };
    let wait = connection.opened.saturating_sub(*first);
    let values = HappyEyeballs { syns, wait_ms: Some(ms(wait)) };
    let summary =
        format!("tries IPv4 {:.0} ms after an IPv6 address that does not answer", ms(wait));
    if ms(wait) <= LONGEST_MS {
        return Judged::new(Verdict::Pass, summary, values);
    }
    Judged::new(Verdict::Warn, summary, values).costing(ms(wait))
}

/// RFC 8305, section 8: the recommended Maximum Connection Attempt Delay.
const LONGEST_MS: f64 = 2_000.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::observed::sample::{connection, get, ms, run};

    #[test]
    fn the_wait_for_the_second_address_counts() {
        let seen = |syns: &[u64], opened: Option<u64>| Observed {
            unanswered_syns: syns.iter().map(|at| ms(*at)).collect(),
            ..run(opened.into_iter().map(|at| connection(at, vec![get(at)])).collect())
        };
        for (syns, opened, verdict, cost) in [
            (&[][..], Some(5), Verdict::NotApplicable, None),
            (&[], None, Verdict::NotApplicable, None),
            (&[5], Some(255), Verdict::Pass, None),
            (&[5, 1005, 3005], Some(4005), Verdict::Warn, Some(4000.0)),
            (&[5, 1005], None, Verdict::Warn, None),
        ] {
            let found = judge(&seen(syns, opened));
            assert_eq!((found.verdict, found.cost_ms), (verdict, cost), "{syns:?} {opened:?}");
        }
        let cut_off = Observed { exit: None, lasted: ms(1_000), ..seen(&[5], None) };
        assert_eq!(judge(&cut_off).verdict, Verdict::Unknown);
    }
}
