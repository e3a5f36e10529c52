//! `initial-window`: segments sent before the first ACK.

use ackwise_cause::Remedy;
use ackwise_http::ConnectionOption;
use ackwise_text::words::counted;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::Client,
    no_verdict::NoVerdict,
    server::{Facts, flight::View},
    stack::Receiver,
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "initial-window",
        "how many segments the server sends before the first ACK",
    ),
    is_stall: false,
    remedies: &[&[Remedy::new("on Linux: ip route change ROUTE initcwnd 10")]],
    run: Run::Server(ServerCheck::new(8, [1, 1], 0.3, run).of_large_responses()),
};

/// Values of `initial-window`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct InitialWindow {
    /// Lower bound of `segments`, if that is unknown.
    pub at_least: Option<u64>,
    /// Bytes sent before the first ACK.
    pub bytes: Option<u64>,
    /// Size of the largest segment of the response.
    pub mss: Option<u64>,
    /// Segments sent before the first ACK.
    pub segments: Option<u64>,
}

/// A new connection whose first flight is counted.
fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
    let view = View::of(client, facts)?;
    let (page, _) = facts.largest();
    let request = client.ask_for(&page, Some(ConnectionOption::Close))?;
    let receiver = Receiver { acknowledge: view.acknowledge(), ..Receiver::ETHERNET };
    let mut connection = client.open(receiver)?;
    let exchange = connection.request_first_flight(&request, BEGINNING, &mut client.budget)?;
    facts.note(&exchange);
    if !exchange.complete && exchange.content < BEGINNING {
        let (bytes, said) = (exchange.content, exchange.head.content_length);
        let of = said.map_or_else(String::new, |said| format!(" of {said}"));
        let why = format!("the response stops after {bytes}{of} bytes of its body");
        return Err(NoVerdict::unknown(Reason::NoAnswer, why));
    }
    let flight = view
        .first_flight(&exchange)
        .ok_or_else(|| NoVerdict::not_applicable("the response is empty"))?;
    let segments = flight.segments;
    let mss = flight.full_seen.then_some(flight.mss);
    let values = |segments: Option<u64>, at_least: Option<u64>| InitialWindow {
        segments,
        mss,
        bytes: Some(flight.bytes),
        at_least,
    };
    if flight.ends_short {
        let summary = format!(
            "at least {segments}: the server paused after a segment that was not full, so the \
             window may not be the limit"
        );
        return Ok(Judged::new(Verdict::NotApplicable, summary, values(None, Some(segments)))
            .shown_by(Some(&exchange)));
    }
    // Bursts that are not told apart look like one.
    let uncertain = segments < RFC_6928 || matches!(view, View::Bursts(_));
    if flight.is_all && uncertain {
        let summary = format!(
            "at least {segments}: the whole response arrived before the client's first ACK: add a larger \
             page with --paths"
        );
        return Ok(Judged::new(Verdict::NotApplicable, summary, values(None, Some(segments)))
            .shown_by(Some(&exchange)));
    }
    let (verdict, note) = match segments {
        RFC_6928.. => (Verdict::Pass, "as RFC 6928 allows"),
        4.. => (Verdict::Pass, "fewer than the 10 that RFC 6928 allows"),
        _ => (Verdict::Warn, "small: RFC 6928 allows 10, and each doubling costs a round trip"),
    };
    let counted = counted(segments, "segment");
    let summary = format!("{counted} before the first ACK, {note}");
    Ok(Judged::new(verdict, summary, values(Some(segments), None)).shown_by(Some(&exchange)))
}

/// RFC 6928, section 2: the initial window is at most 10 segments.
const RFC_6928: u64 = 10;

/// More than any initial window; the rest of a large page need not be waited for.
const BEGINNING: u64 = 64 << 10;
