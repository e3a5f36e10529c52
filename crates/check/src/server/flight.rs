//! How much a server sends before it needs our ACK.

use std::time::Duration;

use ackwise_tcp::Timestamps;

use super::Facts;
use crate::{
    http_client::{Arrived, Client, Exchange},
    no_verdict::NoVerdict,
    stack::{Acknowledge, Capabilities, Receiver},
    verdict::Reason,
};

/// What came before the server can have had our ACK.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Flight {
    pub(crate) bytes: u64,
    pub(crate) segments: u64,
    /// Bytes of the largest segment of the whole response.
    pub(crate) mss: u64,
    /// That is a full one, as far as can be told: the largest size came more than once.
    pub(crate) full_seen: bool,
    /// Its last segment is not full, and yet more came later: the server had no more to send just
    /// then, or Nagle's algorithm held it. It was not the window.
    pub(crate) ends_short: bool,
    /// The response ended with it: the server may have been ready to send more.
    pub(crate) is_all: bool,
}

/// How a stack sees flights.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum View {
    /// By withholding every ACK for this time.
    Withholding(Duration),
    /// By the pause of one round trip between flights, on a path that is long enough to show it.
    Bursts(Duration),
}

impl View {
    /// How `client` can see flights, if it can.
    pub(crate) fn of(client: &Client, facts: &Facts) -> Result<Self, NoVerdict> {
        let Capabilities { segments, longest_delay, .. } = client.capabilities();
        if segments && longest_delay >= SHORTEST_WITHHOLDING {
            let most =
                if client.hold().is_some() { SHORTEST_WITHHOLDING } else { LONGEST_WITHHOLDING };
            return Ok(Self::Withholding(longest_delay.min(most)));
        }
        if facts.rtt >= SHORTEST_ROUND_TRIP {
            return Ok(Self::Bursts(facts.rtt / 2));
        }
        let why = format!(
            "cannot separate flights: the kernel sends ACKs by itself, and the round trip of \
             {:.2} ms is too short (expected --stack ackwise)",
            facts.rtt.as_secs_f64() * 1e3
        );
        Err(NoVerdict::unknown(Reason::Stack, why))
    }

    pub(crate) fn acknowledge(self) -> Acknowledge {
        match self {
            Self::Withholding(delay) => Acknowledge::After(delay),
            Self::Bursts(_) => Acknowledge::Promptly,
        }
    }

    /// The first flight of `exchange`.
    pub(crate) fn first_flight(self, exchange: &Exchange) -> Option<Flight> {
        let arrivals: Vec<Arrived> = exchange.response().copied().collect();
        let first = arrivals.first()?;
        let mut count = match self {
            Self::Withholding(_) => {
                let acked = exchange.acks.iter().find(|acked| acked.up_to > first.offset);
                arrivals
                    .iter()
                    .take_while(|one| acked.is_none_or(|acked| one.at < acked.at))
                    .count()
            }
            Self::Bursts(pause) => {
                1 + arrivals
                    .windows(2)
                    .take_while(|two| two[1].at.saturating_duration_since(two[0].at) < pause)
                    .count()
            }
        };
        count = count.max(1);
        let bytes = arrivals[count - 1].end() - first.offset;
        let mss = match self {
            Self::Withholding(_) => arrivals.iter().map(|one| one.len).max().unwrap_or(1),
            // A read may hold several segments.
            Self::Bursts(_) => u64::from(Receiver::ETHERNET.mss) - TIMESTAMPS,
        };
        let segments = match self {
            Self::Withholding(_) => count as u64,
            Self::Bursts(_) => bytes.div_ceil(mss),
        };
        let full_seen = match self {
            Self::Withholding(_) => {
                mss >= SMALLEST_FULL && arrivals.iter().filter(|one| one.len == mss).count() > 1
            }
            Self::Bursts(_) => bytes >= mss,
        };
        let last = match self {
            Self::Withholding(_) => arrivals[count - 1].len,
            Self::Bursts(_) => bytes,
        };
        let ends_short = count < arrivals.len() && (last < mss || !full_seen);
        let is_all = count == arrivals.len() && exchange.complete;
        Some(Flight { bytes, segments, mss, full_seen, ends_short, is_all })
    }
}

/// Withheld for less, the ACK might leave before a slow path has brought all of a flight.
const SHORTEST_WITHHOLDING: Duration = Duration::from_millis(100);

/// Withheld for more, Linux's retransmission timer (200 ms and more) joins in.
const LONGEST_WITHHOLDING: Duration = Duration::from_millis(120);

/// On a shorter path the pause between flights drowns in what a busy machine adds.
const SHORTEST_ROUND_TRIP: Duration = Duration::from_millis(10);

/// RFC 9293, section 3.7.1: the default MSS is 536; options take some of it.
const SMALLEST_FULL: u64 = 500;

/// Bytes that the timestamps option takes from each segment.
const TIMESTAMPS: u64 = Timestamps::WIRE_BYTES as u64;
