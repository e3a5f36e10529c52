//! `close`: who closes first, and so holds TIME_WAIT? Does the server half-close and read on? Would
//! an exact RST end its TIME_WAIT, so that a client that swaps would hold it instead?

use std::time::Duration;

use ackwise_http::ConnectionOption;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::{Client, Exchange, ExchangeError, HttpConnection},
    no_verdict::NoVerdict,
    server::{self, Facts, end, needs_http1},
    stack::{NotSeen, Receiver},
    verdict::Verdict,
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "close",
        "which end closes first, which end holds TIME-WAIT, and whether an RST ends it",
    ),
    is_stall: false,
    remedies: &[],
    run: Run::Server(
        ServerCheck::new(14, [3, 3], 0.5, run).of_idle_connections().only_if(server::is_http1),
    ),
};

/// Values of `close`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct Close {
    /// The end that closes first after `Connection: close`.
    pub first_on_close: Option<End>,
    /// The end that closed an idle connection first.
    pub first_on_idle: Option<End>,
    /// Whether the server keeps reading after it has closed its direction.
    pub half_close: Option<bool>,
    /// Whether an RST with the exact sequence number ends the server's TIME-WAIT.
    pub rst_ends_time_wait: Option<bool>,
    /// Whether the client can take TIME-WAIT over with an RST.
    pub swap: Option<SwapResult>,
    /// The end that holds TIME-WAIT.
    pub time_wait: Option<End>,
}

/// One end of the connection.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The client.
    Client,
    /// The server.
    Server,
}

/// Whether the client can take TIME-WAIT over from the server with an RST.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SwapResult {
    /// The client holds it anyway.
    NotNeeded,
    /// An RST with the exact sequence number ends the server's.
    #[serde(rename = "accepted")]
    Works,
    /// It does not (RFC 1337): both ends would hold it.
    Refused,
}

/// Asks with `Connection: close`, waits for the FIN, then says one line more: a server that has
/// closed its socket answers that with RST, one that reads on does not.
fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
    needs_http1(client, "HTTP/2 has no Connection: close; keep-alive says when the server closes")?;
    let (mut connection, exchange) = request_close(client, facts)?;
    end(&exchange)?;
    let closed_first = connection.closed().is_some();
    let half_close = match connection.closed() {
        Some(closed) if closed.error.is_none() => {
            Some(reads_after_close(&mut connection, client, facts))
        }
        _ => None,
    };
    drop(connection);
    let swap = if closed_first { try_swap(client, facts)? } else { Swap::NotNeeded };
    let who = if closed_first { End::Server } else { End::Client };
    let on_idle = facts.idle.and_then(|idle| idle.closed_by_server().then_some(End::Server));
    let values = Close {
        first_on_close: Some(who),
        first_on_idle: on_idle,
        time_wait: Some(who),
        half_close,
        rst_ends_time_wait: swap.rst_ends_time_wait(),
        swap: swap.result(),
    };
    let summary = summary(who, half_close, swap);
    Ok(Judged::new(Verdict::Pass, summary, values).shown_by(Some(&exchange)))
}

/// Whether a client could take the server's TIME_WAIT over by a swap (Faber, Touch and Yue 1997): an
/// RST after the last ACK.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Swap {
    /// The client waits anyway.
    NotNeeded,
    /// An exact RST has ended the server's wait.
    Works,
    /// It has not (RFC 1337): both ends would wait.
    Refused,
    /// It could not be determined.
    NotSeen(NotSeen),
}

impl Swap {
    /// For programs; `None` where it is unknown.
    const fn result(self) -> Option<SwapResult> {
        match self {
            Self::NotNeeded => Some(SwapResult::NotNeeded),
            Self::Works => Some(SwapResult::Works),
            Self::Refused => Some(SwapResult::Refused),
            Self::NotSeen(_) => None,
        }
    }

    const fn rst_ends_time_wait(self) -> Option<bool> {
        match self {
            Self::Works => Some(true),
            Self::Refused => Some(false),
            Self::NotNeeded | Self::NotSeen(_) => None,
        }
    }
}

fn try_swap(client: &mut Client, facts: &mut Facts) -> Result<Swap, ExchangeError> {
    if !client.capabilities().crafted_segments {
        return Ok(Swap::NotSeen(NotSeen::NotOurs));
    }
    let mut swap = Swap::NotNeeded;
    for _ in 0..SWAP_ATTEMPTS {
        let (mut connection, _) = request_close(client, facts)?;
        connection.half_close();
        let limit = TIME_WAIT_LIMIT.min(client.budget.time_left(client.now()));
        swap = match connection.exact_reset_ends_time_wait(limit) {
            Ok(true) => Swap::Works,
            Ok(false) => Swap::Refused,
            Err(reason) => Swap::NotSeen(reason),
        };
        if !matches!(swap, Swap::NotSeen(_)) {
            break;
        }
    }
    Ok(swap)
}

fn request_close(
    client: &mut Client,
    facts: &mut Facts,
) -> Result<(HttpConnection, Exchange), ExchangeError> {
    let request = client.ask_for(&facts.page_to_its_end(), Some(ConnectionOption::Close))?;
    let mut connection = client.open(Receiver::ETHERNET)?;
    let exchange = connection.request(&request, &mut client.budget)?;
    facts.note(&exchange);
    let patience = client.now() + CLOSE_WAIT + 2 * facts.rtt;
    connection.observe_until(client.budget.cap(patience));
    Ok((connection, exchange))
}

fn reads_after_close(connection: &mut HttpConnection, client: &Client, facts: &Facts) -> bool {
    if connection.transmit(b"\r\n").is_err() {
        return false;
    }
    let patience = client.now() + RESET_WAIT + 2 * facts.rtt;
    !connection.is_reset_by(client.budget.cap(patience))
}

fn summary(first: End, half_close: Option<bool>, swap: Swap) -> String {
    let who = match first {
        End::Server => "the server closes first on Connection: close, so it holds TIME-WAIT",
        End::Client => "the server lets the client close first, so the client holds TIME-WAIT",
    };
    let swap = match swap {
        Swap::NotNeeded => String::new(),
        Swap::Works => {
            "; an RST with the exact sequence number ends it, so a client can take TIME-WAIT over"
                .to_owned()
        }
        Swap::Refused => {
            "; an RST with the exact sequence number does not end it (RFC 1337), so a client cannot take TIME-WAIT over".to_owned()
        }
        Swap::NotSeen(NotSeen::NotOurs) => {
            "; use --stack ackwise to see whether a client can take TIME-WAIT over".to_owned()
        }
        Swap::NotSeen(reason) => {
            format!("; whether a client can take TIME-WAIT over could not be determined: {reason}")
        }
    };
    let how = match half_close {
        Some(true) => "; it half-closes and keeps reading",
        Some(false) => {
            "; it closes both directions at once, so further bytes from the client trigger an RST"
        }
        None => "",
    };
    format!("{who}{swap}{how}")
}

/// A server that wants to close does so within this time after its last byte.
const CLOSE_WAIT: Duration = Duration::from_millis(800);

/// An RST comes within this time and two round trips. Our choice: a server that lingers keeps others waiting.
const RESET_WAIT: Duration = Duration::from_millis(60);

/// A server that is slow to close, or a lost segment, should not decide. Our choice.
const SWAP_ATTEMPTS: usize = 2;

/// Linux answers for a TIME-WAIT twice a second at most, so that asking takes about a second; the rest
/// is for a path that loses a segment. Our choice.
const TIME_WAIT_LIMIT: Duration = Duration::from_secs(5);
