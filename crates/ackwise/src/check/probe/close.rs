//! `close`: who closes first, and so holds TIME_WAIT? Does the server half-close and read on? Would
//! an exact RST end its TIME_WAIT?

use std::time::Duration;

use ackwise_http::ConnectionOption;
use serde_json::json;

use super::{Facts, Found, facts::unended};
use crate::check::{
    card::{FindingId, Verdict},
    conversation::{Client, Conversation, Exchange, Trouble},
    stack::Receiver,
};

/// Asks with `Connection: close`, waits for the FIN, then says one line more: a server that has
/// closed its socket answers that with RST, one that reads on does not.
pub(super) fn probe(client: &mut Client, facts: &mut Facts) -> Result<Found, Trouble> {
    let (mut conversation, exchange) = ask_to_close(client, facts)?;
    if let Some(reason) = unended(&exchange) {
        let values = super::unknown_values(FindingId::Close);
        return Ok(Found::new(Verdict::Unknown, reason, values).shown_by(Some(&exchange)));
    }
    let closed_first = conversation.closed().is_some();
    let half_close = match conversation.closed() {
        Some(closed) if closed.error.is_none() => Some(reads_on(&mut conversation, client, facts)),
        _ => None,
    };
    let rst_ends_time_wait = if closed_first && client.capabilities().crafted_segments {
        let (mut conversation, _) = ask_to_close(client, facts)?;
        conversation.half_close();
        conversation.exact_reset_ends_time_wait(TIME_WAIT_LIMIT)
    } else {
        None
    };
    let who = |server: bool| if server { "server" } else { "client" };
    let on_idle = facts.idle.and_then(|idle| idle.closed_by_server.then_some("server"));
    let values = json!({
        "first_on_close": who(closed_first),
        "first_on_idle": on_idle,
        "half_close": half_close,
        "rst_ends_time_wait": rst_ends_time_wait,
    });
    let summary = summary(closed_first, half_close, rst_ends_time_wait);
    Ok(Found::new(Verdict::Pass, summary, values).shown_by(Some(&exchange)))
}

fn ask_to_close(
    client: &mut Client,
    facts: &mut Facts,
) -> Result<(Conversation, Exchange), Trouble> {
    let ask = client.get(&facts.page, Some(ConnectionOption::Close))?;
    let mut conversation = client.open(Receiver::ETHERNET)?;
    let exchange = conversation.ask(&ask, &mut client.budget)?;
    facts.note(&exchange);
    let patience = client.now() + CLOSE_WAIT + 2 * facts.rtt;
    conversation.listen(client.budget.cap(patience));
    Ok((conversation, exchange))
}

fn reads_on(conversation: &mut Conversation, client: &Client, facts: &Facts) -> bool {
    if conversation.transmit(b"\r\n").is_err() {
        return false;
    }
    let patience = client.now() + RESET_WAIT + 2 * facts.rtt;
    !conversation.is_reset_by(client.budget.cap(patience))
}

fn summary(closed_first: bool, half_close: Option<bool>, rst: Option<bool>) -> String {
    let who = if closed_first {
        "the server closes first on Connection: close, so it holds TIME_WAIT"
    } else {
        "the server leaves it to the client to close first, and to hold TIME_WAIT"
    };
    let how = match half_close {
        Some(true) => "; it half-closes and reads on",
        Some(false) => {
            "; it closes both directions at once, so what the client still sends draws RST"
        }
        None => "",
    };
    let rst = match rst {
        Some(true) => "; an exact RST ends its TIME_WAIT",
        Some(false) => "; not even an exact RST ends its TIME_WAIT",
        None => "",
    };
    format!("{who}{how}{rst}")
}

/// A server that wants to close does so within this time after its last octet.
const CLOSE_WAIT: Duration = Duration::from_millis(800);

/// An RST comes within this time and two round trips.
const RESET_WAIT: Duration = Duration::from_millis(150);

/// Asking a TIME-WAIT twice takes Linux half a second, for it answers no faster.
const TIME_WAIT_LIMIT: Duration = Duration::from_secs(2);
