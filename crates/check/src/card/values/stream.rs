//! The facts of the findings about streams of events.

use schemars::JsonSchema;
use serde::Serialize;

/// Values of `stream-first-event`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct StreamFirstEvent {
    /// Time from the request to the first complete event.
    pub first_event_ms: Option<f64>,
    /// Time from the request to the first byte of the response.
    pub first_byte_ms: Option<f64>,
}

/// Values of `stream-gaps`: with every segment acknowledged at once.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct StreamGaps {
    /// Events that were read.
    pub events: Option<u32>,
    /// Median of the events that arrive together.
    pub events_together: Option<u32>,
    /// Longest time between two arrivals of events.
    pub longest_ms: Option<f64>,
    /// Median time between two arrivals of events.
    pub median_ms: Option<f64>,
    /// The 99th percentile; with fewer than 100, the longest.
    pub p99_ms: Option<f64>,
}

/// What holds the events of a stream.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldBy {
    /// Nothing that shows.
    None,
    /// Nagle's algorithm, until the client's ACK.
    Nagle,
    /// A cork, until a segment is full or its timer expires.
    Cork,
    /// A buffer of the program or of a proxy, until it is full.
    Buffer,
    /// The program or a proxy, until the end of the stream.
    End,
}

/// Values of `stream-held`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct StreamHeld {
    /// Size of the buffer, as far as arrivals show it: median of the bytes of content that arrive together.
    pub buffer_bytes: Option<u64>,
    /// Median time between two arrivals of events if the client delays its ACKs by `delay_ms`.
    pub delayed_gap_ms: Option<f64>,
    /// The ACK delay with which `delayed_gap_ms` was measured.
    pub delay_ms: Option<f64>,
    /// Arrivals that followed an ACK which was delayed for longest.
    pub follow_ack: Option<u32>,
    /// Arrivals before such an ACK, which cannot have waited for it.
    pub before_ack: Option<u32>,
    /// What holds the events.
    pub held_by: Option<HeldBy>,
    /// Median time between two arrivals if the client announces an MSS of 128 bytes; null if that was not tried.
    pub small_mss_gap_ms: Option<f64>,
}

/// Values of `stream-gzip`.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct StreamGzip {
    /// The `Content-Encoding` of the response to a request with `Accept-Encoding: gzip`; null if there is none.
    pub content_encoding: Option<String>,
    /// Median time between two arrivals without compression.
    pub plain_gap_ms: Option<f64>,
    /// The same with compression; null if less than three arrivals came.
    pub gzip_gap_ms: Option<f64>,
}
