//! Does the server serve one connection at a time? Then each that is kept open keeps everybody else waiting.

use std::time::Duration;

use ackwise_http::ConnectionOption;

use crate::{
    http_client::{Client, ExchangeError},
    server::Facts,
    stack::Receiver,
};

/// Whether a second connection is answered only after the first, which is idle, has been closed: each time.
///
/// One that is answered in time acquits: a busy machine makes answers late, never early.
pub(super) fn serves_one_at_a_time(client: &mut Client, facts: &Facts) -> bool {
    facts.first.persists() && (0..TRIALS).all(|_| second_waits(client, facts).unwrap_or(false))
}

fn second_waits(client: &mut Client, facts: &Facts) -> Result<bool, ExchangeError> {
    let request = client.ask_for(&facts.page_to_its_end(), Some(ConnectionOption::KeepAlive))?;
    let mut idle = client.open(Receiver::ETHERNET)?;
    let usual = idle.request(&request, &mut client.budget)?.duration().unwrap_or_default();
    if !idle.accepts_requests() {
        return Ok(false);
    }
    let mut second = client.open(Receiver::ETHERNET)?;
    let sent = second.send(std::slice::from_ref(&request), &mut client.budget)?;
    let patience = client.budget.lend(0, PATIENCE + 2 * usual, client.now());
    if second.receive(sent, &patience).is_ok() {
        return Ok(false);
    }
    drop(idle);
    Ok(second.receive(sent, &client.budget).is_ok())
}

/// Our choice: others wait for as long, so it is short; twice, so that a machine that pauses does not decide.
const PATIENCE: Duration = Duration::from_millis(80);
const TRIALS: usize = 2;
