//! The meaning of each name in one sentence, and its place in the documentation.

use crate::{Cause, FindingId};

/// The documentation page with a section for each name, relative to the root of the repository.
pub const PAGE: &str = "docs/stalls.md";

impl Cause {
    /// The meaning in one sentence, without a full stop.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Handshake => "the TCP connection was being set up",
            Self::TlsHandshake => "TLS was being set up",
            Self::RequestUpload => "a link was busy with the request",
            Self::ServerThink => {
                "the server had the whole request, or a head with `Expect: 100-continue`, and had \
                 written nothing"
            }
            Self::Propagation => "all outstanding data was in transit (distance)",
            Self::PathStall => {
                "the path delivered nothing for more than two round trips, although data or its ACK \
                 was in transit, and lost none of it"
            }
            Self::Transmission => "a link was busy with the response",
            Self::Queueing => "the data waited behind packets of other connections",
            Self::ShortInitialSegment => {
                "the message began with a short segment, and the congestion window was then full \
                 until a delayed ACK arrived"
            }
            Self::NagleDelayedAck => "a small segment was held until a delayed ACK arrived",
            Self::NagleRtt => "a small segment was held until an ACK arrived that was not delayed",
            Self::CorkTimer => {
                "a small segment was held until a 200 ms timer expired; no ACK released it"
            }
            Self::SillyWindow => {
                "nothing was in flight, and the receiver's window had room for less than a full \
                 segment, so the sender waited for more room"
            }
            Self::SlowStart => "the congestion window was full during slow start",
            Self::CongestionWindow => "the congestion window was full after slow start",
            Self::IdleRestart => {
                "the congestion window was full because it had been reduced after an idle period"
            }
            Self::Pacing => "segments were spread over time although the windows had room",
            Self::LossRecovery => "a loss was being repaired by fast retransmit",
            Self::RetransmissionTimeout => {
                "a loss was not repaired before the retransmission timer expired"
            }
            Self::ReceiveWindow => "the receiver's window was closed, or full of data in flight",
            Self::SendBuffer => {
                "the send buffer was full: the data in flight stopped growing without loss, and no \
                 window explains it"
            }
            Self::H2FlowControl => "an HTTP/2 flow-control window was exhausted",
            Self::HeadOfLine => "an earlier response on the connection was still being sent",
            Self::ApplicationLimited => {
                "the program paused in the middle of a message, or before the first request on a \
                 connection that it had opened"
            }
            Self::Unknown => {
                "the capture does not show the cause: packets are missing, or exchanges overlap \
                 and cannot be separated"
            }
        }
    }
}

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
        }
    }
}
