//! `send-buffer`: what bounds the flight when we acknowledge promptly and advertise a large window?

use ackwise_cause::Cause;
use ackwise_http::ConnectionOption;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::Client,
    no_verdict::NoVerdict,
    server::{
        Facts,
        flight::{Flight, View},
        may_keep_open,
    },
    stack::{Acknowledge, Receiver},
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Cause(Cause::SendBuffer),
    is_stall: false,
    remedies: &[],
    run: Run::Server(ServerCheck::new(9, [4, 4], 0.4, run).of_large_responses()),
};

/// Values of `send-buffer`.
#[derive(Clone, Copy, Debug, Default, Eq, JsonSchema, PartialEq, Serialize)]
pub struct SendBuffer {
    /// What limits the data in flight.
    pub bound: Option<Bound>,
    /// The larger of two measurements of the data in flight.
    pub flight_bytes: Option<u64>,
}

/// What limits the data in flight.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The size of the response.
    Response,
    /// The client's receive window.
    Window,
    /// The server's congestion window, which was still growing.
    CongestionWindow,
    /// The server's send buffer or write pattern.
    SendBuffer,
}

/// One connection: the window grows under prompt ACKs, then a flight is counted; twice.
fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
    let page = facts.at_least_to_its_end(LARGE)?;
    may_keep_open(client)?;
    let view = match View::of(client, facts)? {
        view @ View::Withholding(_) => view,
        View::Bursts(_) => {
            return Err(NoVerdict::unknown(Reason::Stack, "needs --stack ackwise"));
        }
    };
    let request = client.ask_for(&page, Some(ConnectionOption::KeepAlive))?;
    let mut connection =
        client.open(Receiver { window: WINDOW, sack: facts.is_far(), ..Receiver::ETHERNET })?;
    let mut flights = Vec::new();
    let mut shown = None;
    for _ in 0..2 {
        for acknowledge in [Acknowledge::Promptly, view.acknowledge()] {
            if connection.requests() > 0 && !connection.accepts_requests() {
                return Err(NoVerdict::not_applicable("the server closes the connection"));
            }
            connection.set_acknowledge(acknowledge);
            shown = Some(connection.request(&request, &mut client.budget)?);
        }
        flights.extend(shown.as_ref().and_then(|exchange| view.first_flight(exchange)));
    }
    let [first, second] = flights[..] else {
        return Err(NoVerdict::not_applicable("the response is empty"));
    };
    Ok(report(first, second).shown_by(shown.as_ref()))
}

fn report(first: Flight, second: Flight) -> Judged {
    let bound = bound(first, second);
    let bytes = first.bytes.max(second.bytes);
    let values = SendBuffer { flight_bytes: Some(bytes), bound: Some(bound) };
    let why = match bound {
        Bound::Response => "the size of the response",
        Bound::Window => "the client's window",
        Bound::CongestionWindow => "the congestion window (it was still growing)",
        Bound::SendBuffer => {
            "the send buffer, or the server's write pattern (it does not grow with more ACKs)"
        }
    };
    let summary = format!("{} KB in flight, limited by {why}", bytes / 1000);
    Judged::new(Verdict::Pass, summary, values)
}

fn bound(first: Flight, second: Flight) -> Bound {
    if second.is_all {
        return Bound::Response;
    }
    if second.bytes + 2 * second.mss >= u64::from(WINDOW) {
        return Bound::Window;
    }
    if second.bytes > first.bytes + first.bytes / 10 {
        return Bound::CongestionWindow;
    }
    Bound::SendBuffer
}

/// Larger than what servers buffer (600-800 KB on Linux).
const WINDOW: u32 = 4 << 20;

/// A smaller response says nothing about buffers.
const LARGE: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_named_by_how_the_flight_grows() {
        let flight = |bytes, is_all| Flight {
            bytes,
            segments: bytes / 1448,
            mss: 1448,
            full_seen: true,
            ends_short: false,
            is_all,
        };
        #[rustfmt::skip]
        let table = [
            (flight(50_000, false),    flight(50_000, true),     Bound::Response),
            (flight(4_194_000, false), flight(4_193_500, false), Bound::Window),
            (flight(50_000, false),    flight(100_000, false),   Bound::CongestionWindow),
            (flight(87_000, false),    flight(87_000, false),    Bound::SendBuffer),
        ];
        for (first, second, expected) in table {
            assert_eq!(bound(first, second), expected, "{first:?} {second:?}");
        }
    }
}
