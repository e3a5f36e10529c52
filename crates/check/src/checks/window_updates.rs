//! `window-updates`: the receive windows that a client gives a response. No more than a window is under way in a round
//! trip, so that a small one limits a large response on a long path, on any path.
//!
//! TCP's window is the kernel's, and opens with the response unless the client sets a receive buffer (SO_RCVBUF).
//! HTTP/2 adds one for the stream and one for the connection, 65,535 bytes each unless the client says more (RFC 9113,
//! section 6.9.2). The largest that was seen counts: a busy client opens its window late, not further.

use std::time::Duration;

use ackwise_cause::Remedy;
use ackwise_text::words::grouped;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, client_check::ClientCheck, judged::Judged},
    client::{
        ListenError,
        observed::{Download, Observed},
        runs::Runs,
        script::Script,
    },
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact(
        "window-updates",
        "how much of a response a client allows in flight: its TCP and HTTP/2 receive windows",
    ),
    is_stall: false,
    remedies: &[&[Remedy::new(
        "do not set SO_RCVBUF; in HTTP/2, announce a larger SETTINGS_INITIAL_WINDOW_SIZE, and open \
             the connection's window with WINDOW_UPDATE",
    )]],
    run: Run::Client(ClientCheck { run, judge_any: None }),
};

/// Values of `window-updates`, in bytes: the largest that were seen.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct WindowUpdates {
    /// TCP's receive window.
    pub tcp: Option<u64>,
    /// HTTP/2's window of the stream; null in HTTP/1.1.
    pub stream: Option<u64>,
    /// HTTP/2's window of the connection; null in HTTP/1.1.
    pub connection: Option<u64>,
}

fn run(runs: &mut Runs<'_>) -> Result<Judged, ListenError> {
    Ok(match runs.run_far(RTT, Script::SendsLarge)? {
        Some(seen) => judge(&seen),
        None => Judged::unknown(Reason::Stack, "needs a path of 80 ms (leave out --host-network)"),
    })
}

fn judge(run: &Observed) -> Judged {
    let Some(download) = run.connections.iter().find_map(|it| it.download) else {
        return Judged::not_applicable("needs a request other than HEAD");
    };
    let Download { tcp, http2, delivered } = download;
    let (stream, connection) = http2.unzip();
    let values = WindowUpdates { tcp: Some(tcp), stream, connection };
    let seen = [(Some(tcp), TCP), (stream, STREAM), (connection, CONNECTION)];
    let seen = seen.into_iter().filter_map(|(bytes, whose)| Some((bytes?, whose)));
    let (least, whose) = seen.min_by_key(|(bytes, _)| *bytes).unwrap_or((tcp, TCP));
    // Overhead of frames and records is in it, below 1 %.
    let shown = format!("about {} kB ({whose})", grouped(least.div_ceil(1000)));
    if least >= NEEDED {
        let summary = format!("gives a response a window of {shown}");
        return Judged::new(Verdict::Pass, summary, values);
    }
    if delivered < ENOUGH {
        let why = format!(
            "the client took {} bytes of a response of 2 MB, too few to see how far its window opens",
            grouped(delivered)
        );
        return Judged::unknown(Reason::Limit, why);
    }
    let seconds = RTT.as_secs_f64();
    let rate = least as f64 / seconds;
    let cost = 1e6 / rate - 1e6 / BYTES_PER_SECOND;
    let summary = format!(
        "gives a response a window of {shown}: at most {:.1} MB/s with a round trip of {} ms, on any path",
        rate / 1e6,
        RTT.as_millis()
    );
    let remedy = if whose == TCP { SET_NO_BUFFER } else { SET_WINDOW };
    Judged::new(Verdict::Warn, summary, values)
        .costing((cost * 1e3).round())
        .remedied_by(Remedy::new(remedy))
}

const TCP: &str = "of TCP";
const STREAM: &str = "of the HTTP/2 stream";
const CONNECTION: &str = "of the HTTP/2 connection";

const SET_NO_BUFFER: &str =
    "do not set SO_RCVBUF, so that the kernel opens the window as far as the path needs";
const SET_WINDOW: &str = "announce a larger SETTINGS_INITIAL_WINDOW_SIZE, and open the connection's window with WINDOW_UPDATE: \
                          1 MB or more";

/// The path of the check, and what it is compared with: 20 Mb/s over 80 ms. Our choice: an ordinary user far away, as
/// in the examples of `--rtt`.
pub(super) const RTT: Duration = Duration::from_millis(80);
const BYTES_PER_SECOND: f64 = 2_500_000.0;

/// The bandwidth-delay product of that path.
const NEEDED: u64 = 200_000;

/// With so much of a response, a window that opens at all has opened to [`NEEDED`]. Our choice: half of the response.
const ENOUGH: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::observed::{
        Connection,
        sample::{connection, get, run},
    };

    #[test]
    fn the_smallest_of_the_windows_counts_once_a_response_could_open_it() {
        let seen = |tcp, http2, delivered| {
            let download = Some(Download { tcp, http2, delivered });
            run(vec![Connection { download, ..connection(0, vec![get(1)]) }])
        };
        let all = 2_000_000;
        for (run, verdict, cost) in [
            (run(vec![connection(0, vec![get(1)])]), Verdict::NotApplicable, None),
            (seen(3_000_000, None, all), Verdict::Pass, None),
            (seen(3_000_000, Some((1 << 20, 1 << 20)), all), Verdict::Pass, None),
            (seen(3_000_000, Some((65_535, 1 << 20)), all), Verdict::Warn, Some(821.0)),
            (seen(3_000_000, Some((1 << 20, 65_535)), all), Verdict::Warn, Some(821.0)),
            (seen(64_000, None, all), Verdict::Warn, Some(850.0)),
            (seen(64_000, None, 100_000), Verdict::Unknown, None),
        ] {
            let found = judge(&run);
            assert_eq!((found.verdict, found.cost_ms), (verdict, cost), "{run:?}");
        }
    }
}
