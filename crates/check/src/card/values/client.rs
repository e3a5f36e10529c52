//! The facts of the findings about clients.

use schemars::JsonSchema;
use serde::Serialize;

/// Values of `request-nagle`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct RequestNagle {
    /// Requests whose end waited for the ACK of their beginning.
    pub held: Option<u32>,
    /// Requests that came in several pieces, so that their end could have waited.
    pub in_pieces: Option<u32>,
    /// Requests in all.
    pub requests: Option<u32>,
    /// How long the end of a request waited, with an ACK delay of `delay_ms`.
    pub stall_ms: Option<f64>,
    /// The ACK delay with which `stall_ms` was measured.
    pub delay_ms: Option<f64>,
}

/// Values of `expect-continue`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct ExpectContinue {
    /// Requests with `Expect: 100-continue`.
    pub asked: Option<u32>,
    /// Median time until the client sent its content without having got a 100 (Continue).
    pub wait_ms: Option<f64>,
}

/// Values of `connection-reuse`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct ConnectionReuse {
    /// Connections with a request.
    pub connections: Option<u32>,
    /// Requests in all.
    pub requests: Option<u32>,
    /// Requests on a connection that had carried one before.
    pub reused: Option<u32>,
}

/// Values of `close-race`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct CloseRace {
    /// The method of the request that met the close.
    pub method: Option<&'static str>,
    /// Whether it was sent again on another connection.
    pub sent_again: Option<bool>,
    /// Whether the client sent a request on a connection long after the server's GOAWAY; null in HTTP/1.1.
    pub after_goaway: Option<bool>,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// By a FIN.
    Fin,
    /// By an RST.
    Reset,
    /// It was still open when the command had ended.
    Open,
}

/// Values of `first-close`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct FirstClose {
    /// Connections with a response that the server would have kept.
    pub connections: Option<u32>,
    /// How the client ended most of them.
    pub ending: Option<Ending>,
    /// Median time from the end of the last response to the client's FIN or RST.
    pub after_ms: Option<f64>,
}

/// Values of `refused-upload`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct RefusedUpload {
    /// Bytes of content that the client announced; null if it announced none.
    pub announced: Option<u64>,
    /// Bytes of content that it sent all the same.
    pub sent: Option<u64>,
    /// Whether it ended its connection without sending the rest.
    pub stopped: Option<bool>,
}

/// Values of `happy-eyeballs`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct HappyEyeballs {
    /// SYNs to the IPv6 address, which were not answered.
    pub syns: Option<u32>,
    /// How long after the first of them the client connected over IPv4; null if it never did.
    pub wait_ms: Option<f64>,
}

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
