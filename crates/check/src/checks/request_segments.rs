//! `request-segments`: does the server stall a request that comes in two segments?

use std::time::Duration;

use ackwise_cause::{Cause, Direction, Remedy};
use ackwise_http::ConnectionOption;
use ackwise_units::statistics::middle;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::{Client, Exchange, ExchangeError, HttpConnection},
    milliseconds::ms,
    no_verdict::NoVerdict,
    server::{Facts, follow},
    stack::{Hold, Receiver},
    verdict::Verdict,
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "request-segments",
        "the server takes longer to answer a request that is split across two segments",
    ),
    is_stall: true,
    remedies: &[&[Remedy::new(
        "read again as soon as the socket is readable, not on a \
             timer, until the head is complete",
    )]],
    run: Run::Server(ServerCheck::new(5, [4, 16], 0.3, run)),
};

/// The facts of `request-segments`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct RequestSegments {
    /// How much later a request in two writes is answered if the client's TCP uses Nagle's algorithm: how
    /// long the server delays its ACK. Only with `--data-split`.
    pub nagle_stall_ms: Option<f64>,
    /// How much later a request in two segments is answered than one in one.
    pub stall_ms: Option<f64>,
}

/// Whole requests and cut ones in turn; what counts is the time from the *last* byte of the
/// request to the first of the answer.
fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
    let (mut whole, mut cut) = (Vec::new(), Vec::new());
    let mut shown = None;
    let mut current: Option<HttpConnection> = None;
    for trial in 0..TRIALS_MAX {
        for (form, times) in [(Form::Whole, &mut whole), (Form::InTwo, &mut cut)] {
            let exchange = request(form, &mut current, client, facts)?;
            times.extend(exchange.first_byte());
            if form == Form::InTwo {
                shown = Some(exchange);
            }
        }
        if trial + 1 >= TRIALS_MIN && decide(&whole, &cut) < follow::STALL {
            break; // One quick answer is enough to acquit.
        }
    }
    let stall = decide(&whole, &cut);
    drop(current);
    let held = match client.template().split {
        Some(_) => Some(with_nagle(client, facts)?.saturating_sub(usual(&whole))),
        None => None,
    };
    let values = RequestSegments { nagle_stall_ms: held.map(ms), stall_ms: Some(ms(stall)) };
    let found = if let Some(held) = held.filter(|held| *held >= follow::STALL.max(stall)) {
        let cost = ms(held);
        let summary = format!(
            "a request in two writes is answered {cost:.0} ms later if the client leaves Nagle's algorithm on: \
             its second segment waits for the server's delayed ACK"
        );
        let at_client = Cause::NagleDelayedAck.remedy(Direction::ToServer);
        Judged::new(Verdict::Warn, summary, values).costing(Some(cost)).remedied_by(at_client)
    } else if stall >= follow::STALL {
        let cost = ms(stall);
        let summary = format!(
            "a request in two segments gets its response {cost:.0} ms later than one in a single segment"
        );
        Judged::new(Verdict::Warn, summary, values).costing(Some(cost))
    } else {
        let summary = "a request in two segments gets its response as soon as it is complete";
        Judged::new(Verdict::Pass, summary, values)
    };
    Ok(found.shown_by(shown.as_ref()))
}

/// How long a request takes that a client with Nagle's algorithm writes in two, from the first write on; the
/// median of those after the server's quick-ACK phase.
fn with_nagle(client: &mut Client, facts: &Facts) -> Result<Duration, ExchangeError> {
    let request = client.ask_for(&facts.page, Some(ConnectionOption::KeepAlive))?;
    let receiver = Receiver { hold: Hold::Nagle, ..Receiver::ETHERNET };
    let mut times = Vec::new();
    let mut current: Option<HttpConnection> = None;
    for number in 0..NAGLE_TRIALS {
        let mut connection = match current.take().filter(HttpConnection::accepts_requests) {
            Some(connection) => connection,
            None => client.open(receiver)?,
        };
        let begun = connection.now();
        let sent = connection.send_in_two(&request, Duration::ZERO, &mut client.budget)?;
        let exchange = connection.receive(sent, &client.budget)?;
        let before = sent.saturating_duration_since(begun);
        current = Some(connection);
        if number >= NAGLE_WARM_UP {
            times.extend(exchange.first_byte().map(|took| took + before));
        }
    }
    Ok(usual(&times))
}

fn usual(times: &[Duration]) -> Duration {
    middle(times.iter().copied()).unwrap_or_default()
}

/// The segments of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    Whole,
    InTwo,
}

fn request(
    form: Form,
    current: &mut Option<HttpConnection>,
    client: &mut Client,
    facts: &mut Facts,
) -> Result<Exchange, ExchangeError> {
    let request = client.ask_for(&facts.page, Some(ConnectionOption::KeepAlive))?;
    let mut connection = match current.take().filter(HttpConnection::accepts_requests) {
        Some(connection) => connection,
        None => client.open(Receiver::ETHERNET)?,
    };
    let sent = match form {
        Form::InTwo => connection.send_in_two(&request, PAUSE + facts.rtt, &mut client.budget)?,
        Form::Whole => connection.send(std::slice::from_ref(&request), &mut client.budget)?,
    };
    let exchange = connection.receive(sent, &client.budget)?;
    facts.note(&exchange);
    *current = Some(connection);
    Ok(exchange)
}

/// How much longer the *quickest* answer to a cut request takes than the usual one to a whole one:
/// load makes answers late, never early.
fn decide(whole: &[Duration], cut: &[Duration]) -> Duration {
    let usual = usual(whole);
    cut.iter().min().map_or(Duration::ZERO, |quickest| quickest.saturating_sub(usual))
}

/// Between the two segments: long enough for the server to read the first one by itself.
const PAUSE: Duration = Duration::from_millis(3);

/// Requests of a client with Nagle's algorithm, and those that do not count: Linux acknowledges at once at the
/// start of a connection. Our choice.
const NAGLE_TRIALS: usize = 8;
const NAGLE_WARM_UP: usize = 3;

/// Pairs after which a server may be acquitted.
const TRIALS_MIN: usize = 2;

/// Pairs that it takes to accuse one.
const TRIALS_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quickest_cut_request_decides() {
        #[rustfmt::skip]
        let table: &[(&[u64], &[u64], u64)] = &[
            (&[1, 1, 1],    &[41, 42, 41], 40),
            (&[1, 1, 1],    &[41, 1, 41],  0),
            (&[40, 41, 40], &[40, 44, 41], 0),
            (&[1, 30, 1],   &[2, 60, 60],  1),
            (&[],           &[],           0),
        ];
        let spans =
            |ms: &[u64]| -> Vec<_> { ms.iter().copied().map(Duration::from_millis).collect() };
        for (whole, cut, expected) in table {
            let stall = decide(&spans(whole), &spans(cut));
            assert_eq!(stall, Duration::from_millis(*expected), "{whole:?} {cut:?}");
        }
    }
}
