//! The meaning of each check in one sentence, and the place of all names in the documentation.

use crate::FindingId;

/// The documentation page with a section for each name, relative to the root of the repository.
pub const PAGE: &str = "docs/stalls.md";

impl FindingId {
    /// What is checked, in one sentence, without a full stop.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::SplitHead => "the response head is sent in its own segment",
            Self::ShortInitialSegment => {
                "the response begins with a short segment, and the rest waits for a delayed ACK"
            }
            Self::NagleDelayedAck => "the last segment of a response waits for a delayed ACK",
            Self::CorkTimer => "the last segment of a response waits for the cork timer",
            Self::FirstByte => "how long the server takes to begin its responses",
            Self::ResponsePause => "whether the server pauses in the middle of its responses",
            Self::InitialWindow => "how many segments the server sends before the first ACK",
            Self::IdleRestart => {
                "the congestion window is smaller after an idle period than before it"
            }
            Self::SendBuffer => "what limits the data in flight",
            Self::KeepAlive => {
                "whether connections persist, for how long, and for how many requests"
            }
            Self::Pipelining => "whether two requests in one segment are answered in order",
            Self::Close => {
                "which end closes first, which end holds TIME-WAIT, and whether an RST ends it"
            }
            Self::RequestSegments => {
                "the server takes longer to answer a request that is split across two segments"
            }
            Self::EarlyResponse => {
                "the server answers before the end of a request (413), and resets the connection with the rest unread"
            }
            Self::H2FlowControl => {
                "how much a client may send before HTTP/2's windows make it wait for a round trip"
            }
            Self::H2Streams => {
                "how many requests may be under way on an HTTP/2 connection, and whether PING is answered"
            }
            Self::RequestNagle => {
                "the end of a client's request waits for the server's delayed ACK"
            }
            Self::ExpectContinue => {
                "how long a client that sends `Expect: 100-continue` waits for a 100 (Continue) that does not come"
            }
            Self::ConnectionReuse => "whether a client sends several requests on one connection",
            Self::CloseRace => {
                "whether a client sends a request again that met the server's close of an idle connection"
            }
            Self::FirstClose => "which end closes a connection that the server would keep, and how",
            Self::RefusedUpload => {
                "whether a client stops an upload that the server has answered before its end (413)"
            }
            Self::HappyEyeballs => {
                "how long a client waits for an IPv6 address that does not answer before it tries IPv4"
            }
            Self::WindowUpdates => {
                "how much of a response a client lets be under way: its receive windows, of TCP and of HTTP/2"
            }
            Self::StreamFirstEvent => "how long the first event of a stream takes",
            Self::StreamGaps => "how far apart the events of a stream arrive",
            Self::StreamHeld => "events of a stream wait for an ACK, a timer, or a full buffer",
            Self::StreamGzip => "events of a stream come later if the client accepts gzip",
            Self::AcceptQueueFull => "connections do not fit into the server's accept queue",
        }
    }
}
