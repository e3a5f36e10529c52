//! `cork-timer`: is something held, but released by time (about 200 ms) whatever we do?
//!
//! `TCP_CORK` and `MSG_MORE` hold a last short segment for more data; if the server forgets that
//! there will be none, the kernel's timer sends it. An application that sleeps for as long looks the
//! same, except when the connection closes: that sends at once what a cork holds.

use std::time::Duration;

use ackwise_cause::Cause;
use ackwise_http::ConnectionOption;
use ackwise_text::words::counted;
use ackwise_units::statistics::middle;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::{Client, Exchange, ExchangeError, Page, ReusedConnection},
    milliseconds::ms,
    no_verdict::NoVerdict,
    server::{Facts, end, follow},
    stack::{Acknowledge, Receiver},
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Cause(Cause::CorkTimer),
    is_stall: true,
    remedies: &[],
    run: Run::Server(ServerCheck::new(2, [4, 8], 0.3, run)),
};

/// Values of `cork-timer`.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct CorkTimer {
    /// Sizes of the tested responses; null if there were none.
    pub sizes: Option<Vec<u64>>,
    /// How long the segment was held.
    pub stall_ms: Option<f64>,
}

/// One look at each size; where something takes as long as the timer does, more.
fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
    facts.has_message()?;
    let mut reused = ReusedConnection::new(Receiver::ETHERNET);
    let mut sizes = Vec::new();
    for page in facts.sizes() {
        let first = look(&page, ConnectionOption::KeepAlive, &mut reused, client)?;
        sizes.push(first.content);
        facts.note(&first);
        end(&first)?;
        if !follow::may_be_cork_timer(pause(&first), facts.rtt) {
            continue;
        }
        let mut kept = vec![pause(&first)];
        for _ in 1..TRIALS {
            let again = look(&page, ConnectionOption::KeepAlive, &mut reused, client)?;
            kept.push(pause(&again));
        }
        reused.close(); // One connection at a time.
        let mut closing = ReusedConnection::new(Receiver::ETHERNET);
        let mut closed = Vec::new();
        for _ in 0..CLOSED_TRIALS {
            let exchange = look(&page, ConnectionOption::Close, &mut closing, client)?;
            if exchange.persists()
                && decide(&kept, &[pause(&exchange)], facts.rtt) == Judgement::Think
            {
                return Err(does_not_close(&kept));
            }
            closed.push(pause(&exchange));
        }
        let judgement = decide(&kept, &closed, facts.rtt);
        facts.corked |= judgement == Judgement::Cork;
        if judgement != Judgement::Neither {
            return Ok(report(judgement, &kept, sizes, &first));
        }
    }
    let tried = counted(sizes.len() as u64, "size");
    let values = CorkTimer { stall_ms: None, sizes: Some(sizes) };
    Ok(Judged::new(Verdict::Pass, format!("no response waits for a timer ({tried} tried)"), values))
}

fn look(
    page: &Page,
    connection: ConnectionOption,
    reused: &mut ReusedConnection,
    client: &mut Client,
) -> Result<Exchange, ExchangeError> {
    let request = client.ask_for(page, Some(connection))?;
    reused.request(&request, Acknowledge::Promptly, client)
}

/// The longest pause: before the response or inside it.
fn pause(exchange: &Exchange) -> Duration {
    let inside = exchange.longest_stall().map(|stall| stall.length());
    inside.max(exchange.first_byte()).unwrap_or_default()
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Judgement {
    /// Closing the connection ends the pause.
    Cork,
    /// It does not: the application takes its time.
    Think,
    /// The pause is not always there.
    Neither,
}

fn decide(kept: &[Duration], closed: &[Duration], rtt: Duration) -> Judgement {
    if !kept.iter().all(|pause| follow::may_be_cork_timer(*pause, rtt)) {
        return Judgement::Neither;
    }
    // Load makes a pause longer, never shorter: the shortest one tells.
    match closed.iter().min() {
        Some(shortest) if *shortest < follow::CORK_TIMER / 2 => Judgement::Cork,
        _ => Judgement::Think,
    }
}

/// A cork and a program that takes its time look the same if the connection does not close.
fn does_not_close(kept: &[Duration]) -> NoVerdict {
    let stall = middle(kept.iter().copied()).map(ms).unwrap_or_default();
    let why = format!(
        "responses take {stall:.0} ms, about as long as the cork timer; whether closing the connection ends that \
         cannot be seen, because the server ignores Connection: close"
    );
    NoVerdict::unknown(Reason::NoAnswer, why)
}

fn report(judgement: Judgement, kept: &[Duration], sizes: Vec<u64>, shown: &Exchange) -> Judged {
    let stall = middle(kept.iter().copied()).map(ms);
    let bytes = shown.content;
    if judgement == Judgement::Cork {
        let values = CorkTimer { stall_ms: stall, sizes: Some(sizes) };
        let summary = format!(
            "the last segment of a response with a {bytes}-byte body waits {:.0} ms for a timer, unless \
             the connection closes: the cork is never cleared",
            stall.unwrap_or_default()
        );
        return Judged::new(Verdict::Warn, summary, values).costing(stall).shown_by(Some(shown));
    }
    let values = CorkTimer { stall_ms: None, sizes: Some(sizes) };
    let summary = format!(
        "a response with a {bytes}-byte body takes {:.0} ms, about as long as the cork timer, but \
         also when the connection closes: the application takes that time",
        stall.unwrap_or_default()
    );
    Judged::new(Verdict::Pass, summary, values).shown_by(Some(shown))
}

/// Pauses that must all be as long as the timer.
const TRIALS: usize = 3;

/// Answers before a close that are compared.
const CLOSED_TRIALS: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cork_lets_go_when_the_connection_closes_and_a_think_time_does_not() {
        let ms = |table: &[u64]| -> Vec<_> {
            table.iter().copied().map(Duration::from_millis).collect()
        };
        #[rustfmt::skip]
        let table: &[(&[u64], &[u64], Judgement)] = &[
            (&[204, 208, 206], &[0, 1],     Judgement::Cork),
            (&[204, 208, 250], &[150, 3],   Judgement::Cork),
            (&[204, 204, 204], &[204, 204], Judgement::Think),
            (&[204, 5, 204],   &[0, 0],     Judgement::Neither),
            (&[150, 150, 150], &[0, 0],     Judgement::Neither),
            (&[400, 400, 400], &[0, 0],     Judgement::Neither),
        ];
        for (kept, closed, expected) in table {
            let judged = decide(&ms(kept), &ms(closed), Duration::from_micros(50));
            assert_eq!(judged, *expected, "{kept:?} {closed:?}");
        }
    }
}
