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
        Cause::NagleDelayedAck if to_client => {
            "held the last segment of a response (Nagle) until the client's delayed ACK"
        }
        Cause::NagleDelayedAck => {
            "held the last segment of a request (Nagle) until the server's delayed ACK"
        }
        _ => match cause.deed() {
            Some(deed) => deed,
            None => "waited",
        },
    }
}
