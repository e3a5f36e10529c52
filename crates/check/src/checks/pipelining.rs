//! `pipelining`: two requests in one segment: right order, right bodies?

use std::time::Duration;

use ackwise_cause::Remedy;
use ackwise_http::ConnectionOption;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::{Client, Exchange, ExchangeError, Page, Protocol, Request, ReusedConnection},
    no_verdict::NoVerdict,
    server::{Facts, end},
    stack::{Acknowledge, Receiver},
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "pipelining",
        "whether two requests in one segment are answered in order",
    ),
    is_stall: false,
    remedies: &[&[Remedy::new(
        "after each request, parse what is left in the buffer, and \
             answer requests in order (RFC 9112, section 9.3.2)",
    )]],
    run: Run::Server(ServerCheck::new(6, [4, 6], 0.3, run)),
};

/// Values of `pipelining`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Pipelining {
    /// Whether both requests were answered in order.
    pub ok: Option<bool>,
}

/// Asks for two pages one after the other, then for both at once, and compares. Where they differ it
/// asks once more one by one: a page that is never the same twice cannot be compared.
fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
    // On streams, nothing waits for the response before (RFC 9113, section 5).
    if !facts.asks_by_get && client.protocol() == Protocol::Http1 {
        let method = client.template().method.as_str();
        let why = format!("{method} requests are not pipelined (RFC 9112, section 9.3.2)");
        return Err(NoVerdict::not_applicable(why));
    }
    let pages = two_pages(facts);
    let which = if pages[0] == pages[1] { Pages::Same } else { Pages::Different };
    let option = Some(ConnectionOption::KeepAlive);
    let requests = [client.ask_for(&pages[0], option)?, client.ask_for(&pages[1], option)?];
    let mut reused = ReusedConnection::new(Receiver::ETHERNET);
    let alone = one_by_one(&requests, which, &mut reused, client)?;
    alone.iter().try_for_each(end)?;
    if !alone[0].persists() {
        let summary = "the server closes after each response, so requests cannot be pipelined";
        return Ok(Judged::new(Verdict::Pass, summary, Pipelining { ok: Some(false) }));
    }
    reused.close(); // One connection at a time.
    let mut connection = client.open(Receiver::ETHERNET)?;
    let sent = connection.send(&requests, &mut client.budget)?;
    let first = connection.receive(sent, &client.budget)?;
    facts.note(&first);
    if !first.complete {
        return Err(unfinished());
    }
    let answered = client.now();
    let second = match connection.receive(sent, &client.budget) {
        Ok(second) => second,
        Err(error) => {
            let closed = connection.closed().is_some() || !first.persists();
            let waited = client.now().saturating_duration_since(answered);
            return Ok(
                first_only(error, (!closed).then_some(waited), &alone)?.shown_by(Some(&first))
            );
        }
    };
    let together = [first, second];
    if !together[1].complete {
        return Err(unfinished());
    }
    let found = if alike(&together, &alone) {
        right(which, client.protocol())
    } else {
        drop(connection);
        let again = one_by_one(&requests, which, &mut reused, client)?;
        otherwise(&together, &alone, &again)?
    };
    Ok(found.shown_by(Some(&together[0])))
}

/// The pages that are asked for at once.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Pages {
    Different,
    Same,
}

fn one_by_one(
    requests: &[Request; 2],
    pages: Pages,
    reused: &mut ReusedConnection,
    client: &mut Client,
) -> Result<[Exchange; 2], ExchangeError> {
    let first = reused.request(&requests[0], Acknowledge::Promptly, client)?;
    let second = match pages {
        Pages::Different => reused.request(&requests[1], Acknowledge::Promptly, client)?,
        Pages::Same => first.clone(),
    };
    Ok([first, second])
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

fn same(one: &Exchange, other: &Exchange) -> bool {
    (one.head.status, one.content, one.digest) == (other.head.status, other.content, other.digest)
}

fn alike(these: &[Exchange; 2], those: &[Exchange; 2]) -> bool {
    these.iter().zip(those).all(|(one, other)| same(one, other))
}

fn right(pages: Pages, protocol: Protocol) -> Judged {
    let order = match (protocol, pages) {
        (Protocol::Http2, _) => "on their streams",
        (Protocol::Http1, Pages::Different) => "in order",
        (Protocol::Http1, Pages::Same) => {
            "(both for the same page, so their order cannot be checked)"
        }
    };
    let summary = format!("two requests in one segment both get correct responses {order}");
    Judged::new(Verdict::Pass, summary, Pipelining { ok: Some(true) })
}

fn unfinished() -> NoVerdict {
    let why = "the responses to two requests in one segment did not end in time";
    NoVerdict::unknown(Reason::NoAnswer, why)
}

/// Both answers came, and not as they came one by one, neither the first time nor `again`.
fn otherwise(
    together: &[Exchange; 2],
    alone: &[Exchange; 2],
    again: &[Exchange; 2],
) -> Result<Judged, NoVerdict> {
    if alike(alone, again) {
        let swapped = same(&together[0], &alone[1]) && same(&together[1], &alone[0]);
        let what = if swapped {
            "in the wrong order"
        } else {
            "with different content than when sent separately"
        };
        let summary = format!("two requests in one segment get responses {what}");
        return Ok(Judged::new(Verdict::Fail, summary, Pipelining { ok: Some(false) }));
    }
    let statuses = |these: &[Exchange; 2]| [these[0].head.status, these[1].head.status];
    if statuses(alone) != statuses(again) {
        let why = "repeated requests get different statuses";
        return Err(NoVerdict::unknown(Reason::Disturbed, why));
    }
    if statuses(together) != statuses(alone) {
        let summary =
            "two requests in one segment get a different status than when sent separately";
        return Ok(Judged::new(Verdict::Fail, summary, Pipelining { ok: Some(false) }));
    }
    let summary = "two requests in one segment both get the correct status; the page changes each time, so its content was not compared";
    Ok(Judged::new(Verdict::Pass, summary, Pipelining { ok: Some(true) }))
}

/// Only one response came, and then `error`, after `waited`; `None` if the server closes.
fn first_only(
    error: ExchangeError,
    waited: Option<Duration>,
    alone: &[Exchange; 2],
) -> Result<Judged, NoVerdict> {
    let only = "only the first of two requests in one segment gets";
    let no = Pipelining { ok: Some(false) };
    if let ExchangeError::Http { .. } = error {
        let summary = format!("{only} a correct response: {error}");
        return Ok(Judged::new(Verdict::Fail, summary, no));
    }
    // RFC 9112, section 9.6: a server may close, and the client asks again on another connection.
    let Some(waited) = waited else {
        let summary = format!("{only} a response, then the server closes");
        return Ok(Judged::new(Verdict::Warn, summary, no));
    };
    let usual = alone.iter().filter_map(Exchange::duration).max().unwrap_or_default();
    if waited < FOLLOW_UP.max(2 * usual) {
        return Err(error.into());
    }
    let secs = waited.as_secs_f64();
    let summary = format!(
        "{only} a response: no second one within {secs:.1} s, although the connection stays open"
    );
    Ok(Judged::new(Verdict::Fail, summary, no))
}

/// A second answer that comes later than this after the first, or than twice what one takes alone, does
/// not come.
const FOLLOW_UP: Duration = Duration::from_secs(1);
