//! `split-head`: does the response head leave in a segment of its own?

use ackwise_http::ConnectionOption;

use super::{Facts, ProbeResult, follow::Delays};
use crate::{
    card::{SplitHead, Verdict},
    http_client::{Client, ExchangeError, ReusedConnection},
    stack::{AckRule, Acknowledge, Receiver},
};

/// Looks at the ends of segments, or of reads: two segments may merge into one read, never the other
/// way, so two sightings show a split and only several merged reads speak against it.
pub(super) fn probe(client: &mut Client, facts: &mut Facts) -> Result<ProbeResult, ExchangeError> {
    // Behind Nagle's algorithm the content comes after our ACK: withheld, it makes the cut plain.
    let withheld = Delays::within(client.capabilities())
        .map_or(Acknowledge::Promptly, |delays| Acknowledge::Delayed(AckRule::Linux, delays.short));
    let request = client.ask_for(&facts.page, Some(ConnectionOption::KeepAlive))?;
    let mut reused = ReusedConnection::new(Receiver::ETHERNET);
    let both = [withheld, Acknowledge::Promptly];
    // Where segments are seen as they are, one more answer, on a used connection, is enough.
    let looks = if client.capabilities().segments { 1 } else { LOOKS };
    for acknowledge in both.into_iter().cycle().take(looks) {
        if !facts.splits_heads(client.capabilities().segments) {
            facts.note(&reused.request(&request, acknowledge, client)?);
        }
    }
    Ok(decide(facts, client.capabilities().segments))
}

fn decide(facts: &Facts, exact: bool) -> ProbeResult {
    let first = &facts.first;
    let head_bytes = first.head.end - first.head.start;
    let values = |split: Option<bool>| SplitHead { split, head_bytes: Some(head_bytes) };
    if first.content == 0 {
        let summary = "the response has no body, so it cannot be split";
        return ProbeResult::new(Verdict::Unknown, summary, values(None));
    }
    match &facts.split_seen {
        Some(exchange) if facts.splits_heads(exact) => {
            let summary = format!(
                "the {head_bytes}-byte head is sent in its own segment: this costs one more packet per response, and Nagle's algorithm can hold the body"
            );
            ProbeResult::new(Verdict::Warn, summary, values(Some(true))).shown_by(Some(exchange))
        }
        _ => {
            let how = if exact { "" } else { ", as far as socket reads show" };
            let summary = format!("head and body share segments{how}");
            ProbeResult::new(Verdict::Pass, summary, values(Some(false))).shown_by(Some(first))
        }
    }
}

/// Answers looked at where reads may merge segments.
const LOOKS: usize = 6;
