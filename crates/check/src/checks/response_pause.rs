//! `response-pause`: does the server pause in the middle of its responses, although we acknowledge at once?
//!
//! A program that thinks between head and body does, and a proxy that passes on what a stalled server behind it sends.

use std::time::Duration;

use ackwise_cause::Remedy;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::{Client, Exchange, Stall},
    milliseconds::ms,
    no_verdict::NoVerdict,
    server::{
        Facts, follow,
        prompt::{self, DELAYED_ACK, are_of_delayed_acks},
    },
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "response-pause",
        "whether the server pauses in the middle of its responses",
    ),
    is_stall: true,
    remedies: &[&[Remedy::new(super::first_byte::CHECK_BEHIND)]],
    // Mostly of responses that `first-byte` has asked for.
    run: Run::Server(ServerCheck::new(4, [0, 16], 0.3, run)),
};

/// Values of `response-pause`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct ResponsePause {
    /// Bytes of the response before the pause, the head included; null without a pause.
    pub after_bytes: Option<u64>,
    /// Median pause of those that paused; null without a pause.
    pub pause_ms: Option<f64>,
    /// Responses that paused.
    pub paused: Option<u32>,
    /// Responses in all.
    pub responses: Option<u32>,
}

/// Looks at responses that are acknowledged at once.
fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
    facts.has_message()?;
    let series = prompt::series(client, facts)?;
    let rtt = facts.rtt;
    let mut looks: Vec<(Option<Stall>, &Exchange)> =
        series.iter().flatten().map(|exchange| (longest_pause(exchange, rtt), exchange)).collect();
    if looks.len() < ANSWERS_MIN {
        let why = format!("{} responses, too few to tell", looks.len());
        return Err(NoVerdict::unknown(Reason::Limit, why));
    }
    let length =
        |look: &(Option<Stall>, &Exchange)| look.0.map_or(Duration::ZERO, |it| it.length());
    looks.sort_by_key(length);
    let free = looks.partition_point(|look| length(look) < follow::STALL);
    let (responses, paused) = (looks.len(), &looks[free..]);
    let count = |number: usize| u32::try_from(number).ok();
    // Of those that pause, the middle one.
    let usual = paused.get(paused.len() / 2);
    let stall = usual.and_then(|look| look.0);
    let pause = stall.map(|stall| ms(stall.length()));
    let values = ResponsePause {
        after_bytes: stall.map(|stall| stall.before),
        pause_ms: pause,
        paused: count(paused.len()),
        responses: count(responses),
    };
    let Some((stall, &(_, shown))) = stall.zip(usual) else {
        let summary = match follow::latest(rtt) {
            explained if explained < follow::STALL => "no response pauses".to_owned(),
            explained => format!(
                "no response pauses for longer than an ACK may take on this path ({:.0} ms)",
                ms(explained)
            ),
        };
        return Ok(Judged::new(Verdict::Pass, summary, values));
    };
    let what = format!(
        "{} of {responses} responses pause for {:.0} ms after {} bytes, independent of the client's ACKs",
        paused.len(),
        ms(stall.length()),
        stall.before
    );
    if facts.corked {
        let summary = format!("{what}: see cork-timer");
        return Ok(Judged::new(Verdict::Pass, summary, values));
    }
    // A machine that is busy now and then makes a few of them pause.
    if free > responses / 4 && !are_of_delayed_acks(paused.iter().map(length)) {
        let summary = format!("{what}: too few to show a pattern");
        return Ok(Judged::new(Verdict::Pass, summary, values));
    }
    let hint = match DELAYED_ACK.contains(&stall.length()) {
        true => "; about 40 ms: check the server behind the proxy, if there is one",
        false => "",
    };
    let found = Judged::new(Verdict::Warn, format!("{what}{hint}"), values);
    Ok(found.costing(pause).shown_by(Some(shown)))
}

/// The longest pause, if it is longer than our ACK can explain: a window, or Nagle's algorithm, waits for that.
fn longest_pause(exchange: &Exchange, rtt: Duration) -> Option<Stall> {
    exchange.longest_stall().filter(|stall| stall.length() > follow::latest(rtt))
}

/// Fewer responses say nothing about most of them. Our choice.
const ANSWERS_MIN: usize = 8;
