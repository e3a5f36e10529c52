//! `idle-restart`: the window before and after an idle pause longer than the RTO.
//!
//! RFC 5681, section 4.1: a sender that has been idle for longer than its RTO SHOULD start again with
//! no more than the restart window. Whoever serves pages on kept connections pays for it in round
//! trips.

use std::time::Duration;

use ackwise_cause::Cause;
use ackwise_http::ConnectionOption;
use ackwise_tcp::policy::round_trips_saved;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::Client,
    milliseconds::rounded,
    no_verdict::NoVerdict,
    server::{
        Facts,
        flight::{Flight, View},
        may_keep_open,
    },
    stack::{Acknowledge, Receiver},
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Cause(Cause::IdleRestart),
    is_stall: false,
    remedies: &[],
    run: Run::Server(ServerCheck::new(10, [3, 3], 0.5, run).of_large_responses()),
};

/// Values of `idle-restart`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct IdleRestart {
    /// Segments sent before the first ACK, after the idle period.
    pub after: Option<u64>,
    /// Segments sent before the first ACK, before the idle period.
    pub before: Option<u64>,
    /// Length of the idle period.
    pub idle_s: Option<f64>,
    /// What pacing would save at least in a response of `before` segments after such a period: slow
    /// start from `after` against spreading it over one round trip. Only if the window falls.
    pub paced_saves_ms: Option<f64>,
}

/// One connection: grow the window, count a flight, pause, count a flight.
fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
    let pause = if facts.thorough { LONG_PAUSE } else { PAUSE } + 4 * facts.rtt;
    let page = facts.at_least_to_its_end(LARGE)?;
    let view = View::of(client, facts)?;
    may_keep_open(client)?;
    let request = client.ask_for(&page, Some(ConnectionOption::KeepAlive))?;
    let mut connection = client.open(Receiver { sack: facts.is_far(), ..Receiver::ETHERNET })?;
    connection.request(&request, &mut client.budget)?;
    connection.set_acknowledge(view.acknowledge());
    let busy = connection.request(&request, &mut client.budget)?;
    connection.set_acknowledge(Acknowledge::Promptly);
    connection.observe_until(client.budget.cap(client.now() + pause));
    if !connection.accepts_requests() {
        let why = "the server closes the connection during the pause";
        return Err(NoVerdict::not_applicable(why));
    }
    connection.set_acknowledge(view.acknowledge());
    let rested = connection.request(&request, &mut client.budget)?;
    let flights = view.first_flight(&busy).zip(view.first_flight(&rested));
    let (before, after) =
        flights.ok_or_else(|| NoVerdict::not_applicable("the response is empty"))?;
    if before.is_all && matches!(view, View::Bursts(_)) {
        let why = "cannot separate flights on this path";
        return Err(NoVerdict::unknown(Reason::Stack, why));
    }
    Ok(report(before, after, pause, facts.rtt).shown_by(Some(&rested)))
}

fn report(before: Flight, after: Flight, pause: Duration, rtt: Duration) -> Judged {
    let values = IdleRestart {
        before: Some(before.segments),
        after: Some(after.segments),
        idle_s: Some(rounded(pause.as_secs_f64())),
        paced_saves_ms: None,
    };
    let (from, to, secs) = (before.segments, after.segments, pause.as_secs_f64());
    if to * 2 <= from {
        let segments = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let saved_ms = (rtt * round_trips_saved(segments(from), segments(to))).as_secs_f64() * 1e3;
        let values = IdleRestart { paced_saves_ms: Some(rounded(saved_ms)), ..values };
        let mut summary = format!(
            "after {secs:.1} s idle, the congestion window falls from {from} to {to} segments: the next large response takes more round trips"
        );
        if saved_ms >= SHOWN_FROM_MS {
            summary += &format!(
                " (with the window kept and paced, {from} segments would take at least {saved_ms:.0} ms less)"
            );
        }
        return Judged::new(Verdict::Warn, summary, values);
    }
    if before.is_all {
        let summary = format!(
            "the congestion window is at least {to} segments before and after {secs:.1} s idle"
        );
        return Judged::new(Verdict::Pass, summary, values);
    }
    let summary = format!(
        "the congestion window survives {secs:.1} s idle: {from} segments before, {to} after"
    );
    Judged::new(Verdict::Pass, summary, values)
}

/// Longer than Linux's and BSD's RTO on a short path.
const PAUSE: Duration = Duration::from_millis(1_200);

/// Less is not worth a sentence; our choice.
const SHOWN_FROM_MS: f64 = 1.0;

/// With `--thorough`: several RTOs of a slow path.
const LONG_PAUSE: Duration = Duration::from_secs(4);

/// A smaller response does not fill the windows that are compared.
const LARGE: u64 = 40 * 1460;
