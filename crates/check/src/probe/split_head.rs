//! `split-head`: does the response head leave in a segment of its own?

use ackwise_http::ConnectionOption;

use super::{Facts, NoVerdict, ProbeResult, follow::Delays};
use crate::{
    card::{SplitHead, Verdict},
    http_client::{Client, Exchange, ReusedConnection},
    stack::{AckRule, Acknowledge, Receiver},
};

/// Looks at the ends of segments, or of reads, in responses to requests for the page: two segments may merge into
/// one read, never the other way, so two sightings show a split and only several merged reads speak
/// against it.
pub(super) fn probe(client: &mut Client, facts: &mut Facts) -> Result<ProbeResult, NoVerdict> {
    let exact = client.capabilities().segments;
    // Behind Nagle's algorithm the content comes after our ACK: withheld, it makes the cut plain.
    let withheld = Delays::within(client.capabilities(), client.hold())
        .map_or(Acknowledge::Promptly, |delays| Acknowledge::Delayed(AckRule::Linux, delays.short));
    let request = client.ask_for(&facts.page, Some(ConnectionOption::KeepAlive))?;
    let mut reused = ReusedConnection::new(Receiver::ETHERNET);
    let mut seen = Seen::default();
    seen.look(&facts.first);
    let both = [withheld, Acknowledge::Promptly];
    // Where segments are seen as they are, one more answer, on a used connection, is enough.
    let looks = if exact { LOOKS_EXACT } else { LOOKS };
    for acknowledge in both.into_iter().cycle().take(looks) {
        if !seen.splits(exact) {
            let exchange = reused.request(&request, acknowledge, client)?;
            facts.note(&exchange);
            seen.look(&exchange);
        }
    }
    decide(facts, &seen, exact)
}

/// Responses whose heads arrived by themselves.
#[derive(Debug, Default)]
struct Seen {
    splits: usize,
    shown: Option<Exchange>,
}

impl Seen {
    fn look(&mut self, exchange: &Exchange) {
        if exchange.has_split_head() {
            self.splits += 1;
            self.shown.get_or_insert_with(|| exchange.clone());
        }
    }

    /// A read may end at the head by chance, while the rest is on its way through the kernel: unless segments
    /// are seen, it takes two of them.
    const fn splits(&self, exact: bool) -> bool {
        self.splits >= if exact { 1 } else { 2 }
    }
}

fn decide(facts: &Facts, seen: &Seen, exact: bool) -> Result<ProbeResult, NoVerdict> {
    let first = &facts.first;
    let head_bytes = first.head.bytes;
    let values = |split: bool| SplitHead { split: Some(split), head_bytes: Some(head_bytes) };
    if first.content == 0 {
        return Err(NoVerdict::not_applicable("the response has no body, so it cannot be split"));
    }
    Ok(match &seen.shown {
        Some(exchange) if seen.splits(exact) => {
            let summary = format!(
                "the {head_bytes}-byte head is sent in its own segment: this costs one more packet per response, and Nagle's algorithm can hold the body"
            );
            ProbeResult::new(Verdict::Warn, summary, values(true)).shown_by(Some(exchange))
        }
        _ => {
            let how = if exact { "" } else { ", as far as socket reads show" };
            let summary = format!("head and body share segments{how}");
            ProbeResult::new(Verdict::Pass, summary, values(false)).shown_by(Some(first))
        }
    })
}

/// Answers looked at where reads may merge segments, and where segments are seen: with the ACK withheld and
/// without.
const LOOKS: usize = 6;
const LOOKS_EXACT: usize = 2;
