//! `h2-flow-control`: how much may a client send before it has to wait for the server's WINDOW_UPDATE?
//!
//! The windows are read, not measured. With `--data`, the request's content is sent and its waits are: nobody else
//! wants bytes to be sent.

use std::time::Duration;

use ackwise_cause::Cause;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::Client,
    milliseconds::ms,
    no_verdict::NoVerdict,
    server::{self, Facts, follow, needs_http2},
    stack::Receiver,
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Cause(Cause::H2FlowControl),
    is_stall: false,
    remedies: &[],
    run: Run::Server(ServerCheck::new(12, [2, 2], 0.5, run).only_if(server::is_http2)),
};

/// Values of `h2-flow-control`: the server's windows, which hold what the client sends.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct H2FlowControl {
    /// Bytes that all streams of a connection may carry before the server grants more.
    pub connection_bytes: Option<u64>,
    /// Bytes of the request's content; null without `--data`.
    pub content_bytes: Option<u64>,
    /// Bytes that one stream may carry before the server grants more.
    pub stream_bytes: Option<u32>,
    /// How long the request waited for room in the windows, in all; null without `--data`.
    pub waited_ms: Option<f64>,
}

fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
    needs_http2(client)?;
    let content = client.template().content.as_ref().map(Vec::len).filter(|bytes| *bytes > 0);
    let mut waits = Vec::new();
    let mut windows = None;
    for _ in 0..if content.is_some() { TRIALS } else { 1 } {
        let mut connection = client.open(Receiver::ETHERNET)?;
        // A client that knows the server's windows from its first request on.
        if !connection.greets(&client.budget) {
            return Err(NoVerdict::unknown(Reason::NoAnswer, "the server's SETTINGS did not come"));
        }
        if content.is_some() {
            let request = client.ask_for(&facts.page, None)?;
            let began = connection.now();
            let sent = connection.send(std::slice::from_ref(&request), &mut client.budget)?;
            connection.receive(sent, &client.budget)?;
            waits.push(sent.saturating_duration_since(began));
        } else {
            // WINDOW_UPDATE for the connection comes behind SETTINGS, often at once.
            connection.observe_until(client.budget.cap(connection.now() + SETTLE + facts.rtt));
        }
        if let Some(http2) = connection.http2() {
            let stream = http2.settings().map_or(0, |it| it.initial_window);
            windows = Some((stream, http2.windows().connection_at_first()));
        }
    }
    let (stream, connection) = windows.unwrap_or_default();
    Ok(decide(Seen { stream, connection, content, waited: waits.into_iter().min() }))
}

/// What was seen of a server's windows.
#[derive(Clone, Copy, Debug)]
struct Seen {
    stream: u32,
    connection: u64,
    /// Bytes of the request's content, and the shortest time that it waited for room.
    content: Option<usize>,
    waited: Option<Duration>,
}

fn decide(seen: Seen) -> Judged {
    let Seen { stream, connection, content, waited } = seen;
    let values = H2FlowControl {
        connection_bytes: Some(connection),
        content_bytes: content.map(|bytes| bytes as u64),
        stream_bytes: Some(stream),
        waited_ms: waited.map(ms),
    };
    let windows = format!(
        "a client may send {stream} bytes on a stream, and {connection} on the connection, before it waits for \
         WINDOW_UPDATE"
    );
    let fits = content.is_none_or(|bytes| bytes as u64 <= connection.min(stream.into()));
    match waited.filter(|waited| !fits && *waited >= follow::STALL) {
        Some(waited) => {
            let cost = ms(waited);
            let bytes = content.unwrap_or_default();
            let summary =
                format!("a request of {bytes} bytes waits for {cost:.1} ms in all: {windows}");
            Judged::new(Verdict::Warn, summary, values).costing(Some(cost))
        }
        None => Judged::new(Verdict::Pass, windows, values),
    }
}

/// The quickest counts: a busy machine makes it wait longer, never less.
const TRIALS: usize = 2;

/// Our choice: servers write SETTINGS and WINDOW_UPDATE together.
const SETTLE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_a_loss_only_where_the_windows_are_too_small() {
        use Verdict::{Pass, Warn};
        let small = (65_535, 65_535);
        for ((stream, connection), content, waited, verdict) in [
            (small, None, None, Pass),
            (small, Some(65_535), Some(90), Pass),
            (small, Some(65_536), Some(90), Warn),
            (small, Some(65_536), Some(9), Pass),
            ((1 << 20, 65_535), Some(65_536), Some(90), Warn),
            ((1 << 20, 1 << 20), Some(65_536), Some(90), Pass),
        ] {
            let waited = waited.map(Duration::from_millis);
            let found = decide(Seen { stream, connection, content, waited });
            assert_eq!(found.verdict, verdict, "{stream} {connection} {content:?} {waited:?}");
            assert_eq!(found.cost_ms.is_some(), verdict == Warn);
        }
    }
}
