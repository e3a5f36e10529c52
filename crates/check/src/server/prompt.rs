//! Responses that are acknowledged at once, in several series, each after a silence.
//!
//! What they wait for is not our ACK. A proxy's TCP that delays an ACK of its own, to a server behind it, does not
//! do so for the first data after a silence: Linux acknowledges at once what comes longer than an RTO after other
//! data (`tcp_event_data_recv`). So a response after a silence shows what the others would take without that delay.

use std::{ops::Range, rc::Rc, time::Duration};

use ackwise_http::ConnectionOption;

use super::{
    Facts,
    facts::{Series, end},
};
use crate::{
    http_client::{Client, Exchange, ExchangeError, ReusedConnection},
    no_verdict::NoVerdict,
    stack::{Acknowledge, Receiver},
};

/// Asks for the page, unless a check has done so before.
pub(crate) fn series(client: &mut Client, facts: &mut Facts) -> Result<Series, NoVerdict> {
    if let Some(known) = &facts.prompt {
        return Ok(Rc::clone(known));
    }
    let mut all = Vec::new();
    for _ in 0..SERIES {
        let mut series = Vec::new();
        let asked = ask(client, facts, &mut series);
        all.push(series);
        let answers: usize = all.iter().map(Vec::len).sum();
        match asked {
            // A few answers are enough.
            Err(ExchangeError::LimitReached(_)) if answers >= ANSWERS_MIN => break,
            asked => asked?,
        }
    }
    all.iter().flatten().try_for_each(end)?;
    Ok(Rc::clone(facts.prompt.insert(Rc::new(all))))
}

/// Whether `delays`, which are worth a word, are those of a delayed ACK behind a proxy: what a busy machine adds is not
/// as much alike.
pub(crate) fn are_of_delayed_acks(delays: impl Iterator<Item = Duration>) -> bool {
    let (all, alike) = delays.fold((0, 0), |(all, alike), delay| {
        (all + 1, alike + usize::from(DELAYED_ACK.contains(&delay)))
    });
    alike >= ALIKE && alike * 4 >= all * 3
}

/// One series, on one connection as long as that lasts.
fn ask(
    client: &mut Client,
    facts: &mut Facts,
    series: &mut Vec<Exchange>,
) -> Result<(), ExchangeError> {
    let request = client.ask_for(&facts.page_to_its_end(), Some(ConnectionOption::KeepAlive))?;
    let mut reused = ReusedConnection::new(Receiver::ETHERNET);
    client.rest(SILENCE);
    for _ in 0..REQUESTS {
        let exchange = reused.request(&request, Acknowledge::Promptly, client)?;
        facts.note(&exchange);
        let complete = exchange.complete;
        series.push(exchange);
        if !complete {
            break;
        }
    }
    Ok(())
}

/// Longer than the RTO of a server and a proxy that are close to each other: 200 ms on Linux (`TCP_RTO_MIN`).
pub(crate) const SILENCE: Duration = Duration::from_millis(300);

/// Within two ticks of 4 ms and what a busy machine adds, how long Linux delays an ACK (`TCP_DELACK_MIN`, 40 ms).
pub(crate) const DELAYED_ACK: Range<Duration> =
    Duration::from_millis(38)..Duration::from_millis(56);

/// As many delays are no accident. Our choice.
const ALIKE: usize = 4;

/// Two series, so that one of which the beginning was disturbed does not decide; enough requests in each that the first
/// is one of few. Our choice.
const SERIES: usize = 2;
const REQUESTS: usize = 8;

/// Answers after which a limit does not make the whole check unknown.
const ANSWERS_MIN: usize = 3;
