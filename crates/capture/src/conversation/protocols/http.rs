//! HTTP: [`http1`](super::super::http1), [`http2`](super::super::http2), and WebSocket, which it opens.

use super::{
    super::{Tunnel, guess},
    Judged, KnownProtocol, Magic, Protocol,
};

pub(super) const HTTP1: KnownProtocol = KnownProtocol {
    sign: "a client's request line with a target of HTTP, or a status line",
    judged: Judged::Exchanges,
    client: Magic::Any(guess::request_line),
    server: Magic::Any(guess::status_line),
    ..KnownProtocol::new(Protocol::Http1, "http1", "HTTP/1")
};

pub(super) const HTTP2: KnownProtocol = KnownProtocol {
    sign: "the client's preface, or a server's SETTINGS",
    judged: Judged::Exchanges,
    client: Magic::Any(guess::http2_preface),
    server: Magic::First(guess::http2_settings),
    ..KnownProtocol::new(Protocol::Http2, "http2", "HTTP/2")
};

pub(super) const WEBSOCKET: KnownProtocol = KnownProtocol {
    sign: "a 101 response, or an extended CONNECT",
    judged: Judged::NotDivided(Tunnel::WebSocket),
    ..KnownProtocol::new(Protocol::WebSocket, "websocket", "WebSocket")
};
