//! `early-response`: a request that is larger than the server takes. If it answers (413) and closes without reading the
//! rest, its TCP resets the connection, and the client may lose the answer.
//!
//! Only with `--data`: nobody else wants bytes to be sent. Few are, whatever the head announces.

use std::time::{Duration, Instant};

use ackwise_cause::Remedy;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::{Client, ExchangeError, HttpConnection},
    no_verdict::NoVerdict,
    server::{self, Facts, needs_http1},
    stack::{Receiver, TransportError},
    verdict::Verdict,
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "early-response",
        "the server answers before the end of a request (413), and resets the connection without reading the rest",
    ),
    is_stall: false,
    remedies: &[&[Remedy::new(
        "after an early response, shut down the sending direction, then read and discard the \
             client's data for some seconds (lingering close) before closing the socket",
    )]],
    run: Run::Server(ServerCheck::new(11, [1, 1], 0.5, run).only_if(|client, facts| {
        client.template().content.is_some() && server::is_http1(client, facts)
    })),
};

/// Values of `early-response`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct EarlyResponse {
    /// Whether the server reset the connection.
    pub reset: Option<bool>,
    /// The status of the response before the end of the request; null if there was none.
    pub status: Option<u16>,
}

/// Announces [`ANNOUNCED`] bytes, sends [`PART`] of them, and as many again after a response: one that has
/// closed its socket answers these with an RST, one that reads on does not.
fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
    needs_http1(client, "HTTP/2 resets the stream of an early response, not the connection")?;
    let Some(content) = client.template().content.as_ref().filter(|it| !it.is_empty()) else {
        let why = "a large request is sent only with --data";
        return Err(NoVerdict::not_applicable(why));
    };
    let part: Vec<u8> = content.iter().copied().cycle().take(PART).collect();
    let request = client.announce(&facts.page, ANNOUNCED)?;
    let mut connection = client.open(Receiver::ETHERNET)?;
    let sent = connection.send(std::slice::from_ref(&request), &mut client.budget)?;
    let mut reset = is_refused(&connection.transmit(&part));
    let patience = PATIENCE + 2 * facts.first.duration().unwrap_or_default();
    let budget = client.budget.lend(0, patience, client.now());
    let answer = match connection.receive(sent, &budget) {
        Ok(answer) => Some(answer),
        Err(ExchangeError::ClosedUnanswered(Some(TransportError::Reset))) => None,
        // The kernel tells an RST once.
        Err(ExchangeError::ClosedUnanswered(None)) if reset => None,
        Err(ExchangeError::Silent(_) | ExchangeError::LimitReached(_)) => {
            // Then it was not waited for.
            client.budget.check_time(client.now()).map_err(ExchangeError::from)?;
            connection.abort();
            let summary = "no response before the end of a large request";
            let values = EarlyResponse { reset: None, status: None };
            return Ok(Judged::new(Verdict::Pass, summary, values));
        }
        Err(error) => return Err(error.into()),
    };
    let until = client.budget.cap(client.now() + patience);
    reset |= answer.is_none()
        || is_refused(&connection.transmit(&part))
        || is_reset(&mut connection, until);
    connection.abort();
    let status = answer.as_ref().map(|it| it.head.status);
    let found = report(EarlyResponse { reset: Some(reset), status });
    Ok(found.shown_by(answer.as_ref()))
}

/// Whether bytes could not be sent because the server had reset the connection.
fn is_refused(sent: &Result<(), ExchangeError>) -> bool {
    matches!(sent, Err(ExchangeError::Transport(TransportError::Reset)))
}

fn is_reset(connection: &mut HttpConnection, until: Instant) -> bool {
    connection.observe_until(until);
    match connection.closed() {
        Some(closed) => closed.error.is_some() || connection.is_reset_by(until),
        None => false,
    }
}

fn report(values: EarlyResponse) -> Judged {
    let (verdict, summary) = match (values.status, values.reset) {
        (Some(status), Some(true)) => (
            Verdict::Warn,
            format!(
                "the server answers {status} before the end of a large request, and resets the \
                 connection with the rest unread: a client that is still sending may never read \
                 the response"
            ),
        ),
        (Some(status), _) => (
            Verdict::Pass,
            format!(
                "the server answers {status} before the end of a large request, and reads on, so \
                 that the client can read the response"
            ),
        ),
        (None, _) => (
            Verdict::Warn,
            "the server resets the connection before the end of a large request, and no response \
             could be read"
                .to_owned(),
        ),
    };
    Judged::new(verdict, summary, values)
}

/// More than servers take unless told otherwise: Apache's limit, the largest known, is 1 GiB (`LimitRequestBody`).
const ANNOUNCED: u64 = (1 << 30) + 1;

/// What is sent of it before a response, and again after it. Our choice: it fits into socket buffers.
const PART: usize = 32 << 10;

/// A server that answers by what the head announces does so within this time and twice that of its first response, and an
/// RST follows within it. Our choice.
const PATIENCE: Duration = Duration::from_millis(800);
