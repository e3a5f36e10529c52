//! `response-pause`: does the server pause in the middle of its responses, although we acknowledge at once?
//!
//! A program that thinks between head and body does, and a proxy that passes on what a stalled server behind it sends.

use std::time::Duration;

use super::{
    Facts, NoVerdict, ProbeResult, follow, ms,
    prompt::{self, DELAYED_ACK, are_of_delayed_acks},
};
use crate::{
    card::{Reason, ResponsePause, Verdict},
    http_client::{Client, Exchange, Stall},
};

/// Looks at responses that are acknowledged at once.
pub(super) fn probe(client: &mut Client, facts: &mut Facts) -> Result<ProbeResult, NoVerdict> {
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
        return Ok(ProbeResult::new(Verdict::Pass, summary, values));
    };
    let what = format!(
        "{} of {responses} responses pause for {:.0} ms after {} bytes, whatever the client does",
        paused.len(),
        ms(stall.length()),
        stall.before
    );
    if facts.corked {
        let summary = format!("{what}: see cork-timer");
        return Ok(ProbeResult::new(Verdict::Pass, summary, values));
    }
    // A machine that is busy now and then makes a few of them pause.
    if free > responses / 4 && !are_of_delayed_acks(paused.iter().map(length)) {
        let summary = format!("{what}: too few to be the server's rule");
        return Ok(ProbeResult::new(Verdict::Pass, summary, values));
    }
    let hint = match DELAYED_ACK.contains(&stall.length()) {
        true => "; about 40 ms: check the server behind the proxy, if there is one",
        false => "",
    };
    let found = ProbeResult::new(Verdict::Warn, format!("{what}{hint}"), values);
    Ok(found.costing(pause).shown_by(Some(shown)))
}

/// The longest pause, if it is longer than our ACK can explain: a window, or Nagle's algorithm, waits for that.
fn longest_pause(exchange: &Exchange, rtt: Duration) -> Option<Stall> {
    exchange.longest_stall().filter(|stall| stall.length() > follow::latest(rtt))
}

/// Fewer responses say nothing about most of them. Our choice.
const ANSWERS_MIN: usize = 8;
