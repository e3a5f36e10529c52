//! `pipelining`: two requests in one segment: right order, right bodies?

use ackwise_http::ConnectionOption;
use serde_json::json;

use super::{Facts, Found};
use crate::check::{
    card::Verdict,
    conversation::{Client, Exchange, Line, Page, Trouble},
    stack::{Acknowledge, Receiver},
};

/// Asks for two pages one after the other, then for both at once, and compares.
pub(super) fn probe(client: &mut Client, facts: &mut Facts) -> Result<Found, Trouble> {
    let pages = two_pages(facts);
    let distinct = pages[0] != pages[1];
    let option = Some(ConnectionOption::KeepAlive);
    let asks = [client.get(&pages[0], option)?, client.get(&pages[1], option)?];
    let mut line = Line::new(Receiver::ETHERNET);
    let mut alone = Vec::new();
    for ask in asks.iter().take(if distinct { 2 } else { 1 }) {
        alone.push(line.ask(ask, Acknowledge::Promptly, client)?);
    }
    if !distinct {
        alone.push(alone[0].clone());
    }
    if alone.iter().any(|exchange| !exchange.complete) {
        let summary = "the response is too large to be compared";
        return Ok(Found::new(Verdict::Unknown, summary, json!({ "ok": null })));
    }
    if !alone[0].persists() {
        let summary = "the server closes after each response, so nothing can be pipelined";
        return Ok(Found::new(Verdict::Pass, summary, json!({ "ok": false })));
    }
    let mut together = client.open(Receiver::ETHERNET)?;
    let sent = together.send(&asks, &mut client.budget)?;
    let first = together.receive(sent, &client.budget)?;
    let second = match together.receive(sent, &client.budget.briefly()) {
        Err(Trouble::OutOf(out)) => return Err(out.into()),
        second => second,
    };
    facts.note(&first);
    Ok(report(&alone, &first, second, distinct).shown_by(Some(&first)))
}

/// Two pages whose responses differ, if the server has such.
fn two_pages(facts: &Facts) -> [Page; 2] {
    let whole = facts.page.clone();
    if facts.takes_ranges() && facts.length() >= 2 {
        return [whole.range(0, 0), whole.range(0, 1)];
    }
    let other = facts.others.iter().map(|(page, _)| page.clone()).find(|page| *page != whole);
    [whole.clone(), other.unwrap_or(whole)]
}

fn report(
    alone: &[Exchange],
    first: &Exchange,
    second: Result<Exchange, Trouble>,
    distinct: bool,
) -> Found {
    let ok = |ok: bool| json!({ "ok": ok });
    let second = match second {
        Ok(second) => second,
        Err(trouble) => {
            let summary =
                format!("of two requests in one segment only the first is answered: {trouble}");
            return Found::new(Verdict::Warn, summary, ok(false));
        }
    };
    let same = |one: &Exchange, other: &Exchange| {
        (one.head.status, one.content, one.digest)
            == (other.head.status, other.content, other.digest)
    };
    if same(first, &alone[0]) && same(&second, &alone[1]) {
        let order =
            if distinct { "in order" } else { "(two of the same page: no order to be seen)" };
        let summary = format!("two requests in one segment are both answered rightly {order}");
        return Found::new(Verdict::Pass, summary, ok(true));
    }
    let swapped = same(first, &alone[1]) && same(&second, &alone[0]);
    let what = if swapped { "in the wrong order" } else { "otherwise than one by one" };
    Found::new(Verdict::Warn, format!("two requests in one segment are answered {what}"), ok(false))
}
