//! What happened, by cause, as the beginning of a sentence.

use ackwise_cause::{Cause, Direction};

/// What happened during the time of a cause that is not a stall.
pub(super) const fn happened(cause: Cause, direction: Direction) -> &'static str {
    let to_client = matches!(direction, Direction::ToClient);
    match cause {
        Cause::Handshake => "Connections were being opened (TCP handshake)",
        Cause::TlsHandshake => "Connections were being opened (TLS handshake)",
        Cause::RequestUpload => "A link was busy with requests",
        Cause::Transmission => "A link was busy with responses",
        Cause::Queueing => "Data waited behind packets of other connections",
        Cause::PathStall => "The path delivered nothing",
        Cause::Propagation => "Data was in transit (distance)",
        Cause::ServerThink => "The server was working on responses",
        Cause::SlowStart => "The congestion window was full during slow start",
        Cause::CongestionWindow => "The congestion window was full",
        Cause::Pacing => "The sender spread its segments over time",
        Cause::LossRecovery => "Losses were being repaired",
        Cause::ApplicationLimited if to_client => "The server paused in the middle of responses",
        // Before their first byte, or within them.
        Cause::ApplicationLimited => "The client was slow to send its requests",
        Cause::Unknown => "The capture does not show the cause",
        _ => "A stall took most of the time",
    }
}

/// What the party did, after its name.
pub(super) const fn did(cause: Cause, direction: Direction) -> &'static str {
    let to_client = matches!(direction, Direction::ToClient);
    match cause {
        Cause::ShortInitialSegment => "waited for a delayed ACK with its congestion window full",
        Cause::NagleDelayedAck if to_client => {
            "held the last segment of a response (Nagle) until the client's delayed ACK"
        }
        Cause::NagleDelayedAck => {
            "held the last segment of a request (Nagle) until the server's delayed ACK"
        }
        Cause::NagleRtt => "held a small segment (Nagle) for a round trip",
        Cause::CorkTimer => {
            "held a small segment (TCP_CORK or MSG_MORE) until the cork timer expired"
        }
        // A window that is full of data in flight holds it as well as one of 0 bytes.
        Cause::SillyWindow | Cause::ReceiveWindow => {
            "offered too small a receive window, or closed it"
        }
        Cause::IdleRestart => "cut its congestion window after an idle period",
        Cause::SendBuffer => "was limited by its send buffer",
        Cause::H2FlowControl => "kept its HTTP/2 flow-control window closed",
        Cause::HeadOfLine => "waited for earlier responses on the same connection",
        Cause::RetransmissionTimeout => "waited for its retransmission timer after a loss",
        _ => "waited",
    }
}
