//! `send-buffer`: what bounds the flight when we acknowledge promptly and advertise a large window?

use ackwise_cause::Cause;
use ackwise_http::ConnectionOption;
use serde_json::json;

use super::{
    Facts, Found,
    flight::{Flight, View},
};
use crate::{
    card::Verdict,
    conversation::{Client, Trouble},
    stack::{Acknowledge, Receiver},
};

/// One connection: the window grows under prompt ACKs, then a flight is counted; twice.
pub(super) fn probe(client: &mut Client, facts: &Facts) -> Result<Found, Trouble> {
    let unknown = |summary: String| {
        let values = json!({ "flight_bytes": null, "bound": null });
        Ok(Found::new(Verdict::Unknown, summary, values))
    };
    let view = match View::of(client, facts) {
        Ok(view @ View::Withholding(_)) => view,
        Ok(View::Bursts(_)) => return unknown("needs --stack ackwise".to_owned()),
        Err(reason) => return unknown(reason),
    };
    let (page, bytes) = facts.largest();
    if bytes < LARGE {
        return unknown(format!(
            "needs a response of {LARGE} bytes, the largest known has {bytes}: add a larger page \
             with --paths"
        ));
    }
    let ask = client.get(&page, Some(ConnectionOption::KeepAlive))?;
    let mut conversation = client.open(Receiver { window: WINDOW, ..Receiver::ETHERNET })?;
    let mut flights = Vec::new();
    let mut shown = None;
    for _ in 0..2 {
        for acknowledge in [Acknowledge::Promptly, view.acknowledge()] {
            if conversation.requests() > 0 && !conversation.takes_more() {
                return unknown("the server closes the connection".to_owned());
            }
            conversation.set_acknowledge(acknowledge);
            shown = Some(conversation.ask(&ask, &mut client.budget)?);
        }
        flights.extend(shown.as_ref().and_then(|exchange| view.first_flight(exchange)));
    }
    let [first, second] = flights[..] else { return unknown("the response is empty".to_owned()) };
    Ok(report(first, second).shown_by(shown.as_ref()))
}

fn report(first: Flight, second: Flight) -> Found {
    let bound = bound(first, second);
    let bytes = first.bytes.max(second.bytes);
    let values = json!({ "flight_bytes": bytes, "bound": bound });
    let why = match bound {
        "response" => "the response size (all of it fits)",
        "window" => "our window",
        CONGESTION_WINDOW => "the congestion window (it was still growing)",
        _ => "the send buffer, or the server's write pattern (it does not grow with more ACKs)",
    };
    let summary = format!("a flight of {} KB, limited by {why}", bytes / 1000);
    Found::new(Verdict::Pass, summary, values)
}

fn bound(first: Flight, second: Flight) -> &'static str {
    if second.is_all {
        return "response";
    }
    if second.bytes + 2 * second.mss >= u64::from(WINDOW) {
        return "window";
    }
    if second.bytes > first.bytes + first.bytes / 10 {
        return CONGESTION_WINDOW;
    }
    SEND_BUFFER
}

const CONGESTION_WINDOW: &str = Cause::CongestionWindow.name();
const SEND_BUFFER: &str = Cause::SendBuffer.name();

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
            (flight(50_000, false),    flight(50_000, true),     "response"),
            (flight(4_194_000, false), flight(4_193_500, false), "window"),
            (flight(50_000, false),    flight(100_000, false),   "congestion-window"),
            (flight(87_000, false),    flight(87_000, false),    "send-buffer"),
        ];
        for (first, second, expected) in table {
            assert_eq!(bound(first, second), expected, "{first:?} {second:?}");
        }
    }
}
