//! `first-close`: how a client ends a connection that the server would keep. Who closes first holds TIME-WAIT; an RST
//! is an error at the server.

use ackwise_units::statistics::middle;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, client_check::ClientCheck, judged::Judged},
    client::{
        ListenError,
        counting::{count, count32},
        observed::{Connection, Ending, Observed},
        runs::Runs,
    },
    milliseconds::ms,
    verdict::Verdict,
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "first-close",
        "which end closes a connection that the server would keep, and how",
    ),
    is_stall: false,
    remedies: &[],
    run: Run::Client(ClientCheck { run, judge_any: Some(judge) }),
};

/// Values of `first-close`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct FirstClose {
    /// Connections with a response that the server would have kept.
    pub connections: Option<u32>,
    /// How the client ended most of them.
    pub ending: Option<Ending>,
    /// Median time from the end of the last response to the client's FIN or RST.
    pub after_ms: Option<f64>,
}

fn run(runs: &mut Runs<'_>) -> Result<Judged, ListenError> {
    Ok(judge(runs.plain()?))
}

fn judge(run: &Observed) -> Judged {
    let kept: Vec<_> = run.connections.iter().filter(|it| is_kept(it)).collect();
    if kept.is_empty() {
        return Judged::not_applicable("needs a response on a connection that persists");
    }
    let with = |wanted| kept.iter().filter(|it| ending(it) == wanted).count();
    let [resets, open] = [Ending::Reset, Ending::Open].map(with);
    let most = match () {
        () if 2 * resets > kept.len() => Ending::Reset,
        () if 2 * open > kept.len() => Ending::Open,
        () => Ending::Fin,
    };
    let values = FirstClose {
        connections: Some(count32(kept.len())),
        ending: Some(most),
        after_ms: middle(kept.iter().filter_map(|it| after(it))).map(ms),
    };
    let number = count(kept.len(), "connection");
    match most {
        Ending::Reset => Judged::new(
            Verdict::Warn,
            format!("resets {resets} of {number} that the server would keep: an error in its log"),
            values,
        ),
        Ending::Open => {
            Judged::new(Verdict::Pass, format!("leaves {open} of {number} open"), values)
        }
        Ending::Fin => Judged::new(
            Verdict::Pass,
            format!("closes first, and so holds TIME-WAIT ({number})"),
            values,
        ),
    }
}

/// Whether the connection persists after its last request, which was answered.
fn is_kept(connection: &Connection) -> bool {
    connection.requests.last().is_some_and(|it| !it.last && it.answered_at.is_some())
}

fn ending(connection: &Connection) -> Ending {
    connection.ended.map_or(Ending::Open, |(_, ending)| ending)
}

fn after(connection: &Connection) -> Option<std::time::Duration> {
    let answered = connection.requests.last()?.answered_at?;
    Some(connection.ended?.0.saturating_sub(answered))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::observed::{
        Request,
        sample::{connection, get, ms, run},
    };

    #[test]
    fn the_ending_of_most_connections_counts() {
        let ended = |ended| Connection { ended, ..connection(0, vec![get(1)]) };
        let [fin, reset] = [Ending::Fin, Ending::Reset].map(|it| ended(Some((ms(3), it))));
        let last = connection(0, vec![Request { last: true, ..get(1) }]);
        for (connections, verdict) in [
            (vec![], Verdict::NotApplicable),
            (vec![last], Verdict::NotApplicable),
            (vec![fin.clone()], Verdict::Pass),
            (vec![ended(None)], Verdict::Pass),
            (vec![reset.clone()], Verdict::Warn),
            (vec![fin, reset.clone()], Verdict::Pass),
        ] {
            assert_eq!(judge(&run(connections.clone())).verdict, verdict, "{connections:?}");
        }
        assert_eq!(judge(&run(vec![reset])).remedy, None, "whatever reset it is the program's");
    }
}
