//! Which flow-control window of HTTP/2 held data, and how its receiver enlarges it.
//!
//! Both windows are 65,535 bytes by default, and each has a setting of its own. RFC 9113, section 6.9.2: "A SETTINGS
//! frame cannot alter the connection flow-control window."

use crate::Party;

/// The windows that held DATA. RFC 9113, section 6.9: "Flow control operates at two levels: on each individual stream and
/// on the entire connection."
///
/// Not `non_exhaustive`: there are no other windows.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum H2Window {
    /// That of the stream.
    Stream,
    /// That of the connection.
    Connection,
    /// Each of them alone would have held the data nearly as long.
    Both,
}

impl H2Window {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Stream, Self::Connection, Self::Both];

    /// In reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Connection => "connection",
            Self::Both => "both",
        }
    }

    /// What its receiver did, after its name.
    #[must_use]
    pub const fn deed(self) -> &'static str {
        match self {
            Self::Stream => "kept an HTTP/2 stream's flow-control window closed",
            Self::Connection => "kept the HTTP/2 connection's flow-control window closed",
            Self::Both => {
                "kept the HTTP/2 flow-control windows of both stream and connection closed"
            }
        }
    }

    /// The windows of two waits.
    ///
    /// ```
    /// use ackwise_cause::H2Window::{Both, Connection, Stream};
    ///
    /// assert_eq!(Stream.and(Stream), Stream);
    /// assert_eq!(Stream.and(Connection), Both);
    /// ```
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Stream, Self::Stream) => Self::Stream,
            (Self::Connection, Self::Connection) => Self::Connection,
            _ => Self::Both,
        }
    }

    /// What to change at `receiver`, with the names of the settings in common software. Each is in the documentation or the
    /// source of that software.
    #[must_use]
    pub const fn remedy(self, receiver: Party) -> &'static str {
        match (self, receiver) {
            (Self::Stream, Party::Server) => STREAM_AT_SERVER,
            (Self::Stream, _) => STREAM_AT_CLIENT,
            (Self::Connection, Party::Server) => CONNECTION_AT_SERVER,
            (Self::Connection, _) => CONNECTION_AT_CLIENT,
            (Self::Both, Party::Server) => BOTH_AT_SERVER,
            (Self::Both, _) => BOTH_AT_CLIENT,
        }
    }
}

const STREAM_AT_CLIENT: &str = "raise the stream's window at the client (SETTINGS_INITIAL_WINDOW_SIZE): grpc-go \
    WithInitialWindowSize, grpc-java flowControlWindow, gRPC for C++ and Python grpc.http2.lookahead_bytes, Netty \
    Http2Settings.initialWindowSize, hyper initial_stream_window_size, Go HTTP2Config.MaxReceiveBufferPerStream, nghttp \
    --window-bits, Envoy initial_stream_window_size, JDK -Djdk.httpclient.windowsize, Node settings.initialWindowSize";

const STREAM_AT_SERVER: &str = "raise the stream's window at the server (SETTINGS_INITIAL_WINDOW_SIZE): grpc-go \
    InitialWindowSize, grpc-java flowControlWindow, gRPC for C++ and Python grpc.http2.lookahead_bytes, Netty \
    Http2Settings.initialWindowSize, hyper initial_stream_window_size, Go HTTP2Config.MaxReceiveBufferPerStream, nghttpd \
    --window-bits, Envoy initial_stream_window_size, nginx http2_body_preread_size, Node settings.initialWindowSize";

const CONNECTION_AT_CLIENT: &str = "raise the connection's window at the client (WINDOW_UPDATE on stream 0; \
    SETTINGS_INITIAL_WINDOW_SIZE does not change it): grpc-go WithInitialConnWindowSize, grpc-java flowControlWindow, Netty \
    Http2LocalFlowController.incrementWindowSize, hyper initial_connection_window_size, Go \
    HTTP2Config.MaxReceiveBufferPerConnection, nghttp --connection-window-bits, Envoy initial_connection_window_size, JDK \
    -Djdk.httpclient.connectionWindowSize, Node session.setLocalWindowSize";

const CONNECTION_AT_SERVER: &str = "raise the connection's window at the server (WINDOW_UPDATE on stream 0; \
    SETTINGS_INITIAL_WINDOW_SIZE does not change it): grpc-go InitialConnWindowSize, grpc-java flowControlWindow, Netty \
    Http2LocalFlowController.incrementWindowSize, hyper initial_connection_window_size, Go \
    HTTP2Config.MaxReceiveBufferPerConnection, nghttpd --connection-window-bits, Envoy initial_connection_window_size, Node \
    session.setLocalWindowSize";

const BOTH_AT_CLIENT: &str = "raise both windows at the client, since one alone changes next to nothing: the stream's \
    (SETTINGS_INITIAL_WINDOW_SIZE) and the connection's (WINDOW_UPDATE on stream 0): grpc-go WithInitialWindowSize and \
    WithInitialConnWindowSize, grpc-java flowControlWindow, Netty Http2Settings.initialWindowSize and \
    Http2LocalFlowController.incrementWindowSize, hyper initial_stream_window_size and initial_connection_window_size, Go \
    HTTP2Config.MaxReceiveBufferPerStream and MaxReceiveBufferPerConnection, nghttp --window-bits and \
    --connection-window-bits, Envoy initial_stream_window_size and initial_connection_window_size, JDK \
    -Djdk.httpclient.windowsize and -Djdk.httpclient.connectionWindowSize, Node settings.initialWindowSize and session.setLocalWindowSize";

const BOTH_AT_SERVER: &str = "raise both windows at the server, since one alone changes next to nothing: the stream's \
    (SETTINGS_INITIAL_WINDOW_SIZE) and the connection's (WINDOW_UPDATE on stream 0): grpc-go InitialWindowSize and \
    InitialConnWindowSize, grpc-java flowControlWindow, Netty Http2Settings.initialWindowSize and \
    Http2LocalFlowController.incrementWindowSize, hyper initial_stream_window_size and initial_connection_window_size, Go \
    HTTP2Config.MaxReceiveBufferPerStream and MaxReceiveBufferPerConnection, nghttpd --window-bits and \
    --connection-window-bits, Envoy initial_stream_window_size and initial_connection_window_size, Node \
    settings.initialWindowSize and session.setLocalWindowSize";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_window_is_in_the_list_once() {
        for (place, window) in H2Window::ALL.into_iter().enumerate() {
            assert_eq!(window as usize, place, "{}", window.name());
        }
    }

    #[test]
    fn the_setting_of_streams_is_no_remedy_for_the_connection() {
        for receiver in [Party::Client, Party::Server] {
            let texts = H2Window::ALL.map(|it| it.remedy(receiver));
            let [stream, connection, both] = texts;
            assert!(!stream.contains("onnection"), "{stream}");
            assert!(connection.contains("SETTINGS_INITIAL_WINDOW_SIZE does not change it"));
            assert!(!connection.contains("InitialWindowSize"), "{connection}");
            assert!(both.contains("InitialWindowSize") && both.contains("InitialConnWindowSize"));
            for text in texts {
                assert!(text.contains(receiver.name()), "{text}");
            }
        }
    }
}
