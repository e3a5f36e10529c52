//! What removes a cause, in a sentence.

use ackwise_cause::{Cause, Direction};

/// What whoever can change something should change; `None` where nobody at the ends can.
#[must_use]
pub(super) const fn remedy(cause: Cause, direction: Direction) -> Option<&'static str> {
    Some(match (cause, direction) {
        (Cause::NagleDelayedAck | Cause::NagleRtt, Direction::ToClient) => {
            "set TCP_NODELAY at the server, or write head and body (and each last piece) in one call"
        }
        (Cause::NagleDelayedAck | Cause::NagleRtt, Direction::ToServer) => {
            "set TCP_NODELAY at the client, or write the request in one call"
        }
        (Cause::ShortInitialSegment, _) => {
            "let the sender begin with a larger window, or write head and body in one call"
        }
        (Cause::CorkTimer, _) => {
            "end the message without MSG_MORE, or clear TCP_CORK, with the last write"
        }
        (Cause::SillyWindow | Cause::ReceiveWindow, Direction::ToClient) => {
            "let the client read sooner, or give it a larger receive buffer"
        }
        (Cause::SillyWindow | Cause::ReceiveWindow, Direction::ToServer) => {
            "let the server read sooner, or give it a larger receive buffer"
        }
        (Cause::SendBuffer, _) => {
            "give the sender a larger send buffer: do not set SO_SNDBUF, or set it to rate times \
             round trip"
        }
        (Cause::SlowStart, _) => {
            "keep connections, and their windows, for the next request; or begin with 10 segments"
        }
        (Cause::IdleRestart, _) => {
            "set net.ipv4.tcp_slow_start_after_idle=0 at the sender, or pace after idle times"
        }
        (Cause::Handshake | Cause::TlsHandshake, _) => "keep connections for the next request",
        (Cause::HeadOfLine, _) => "ask for it on another connection, or with HTTP/2 or HTTP/3",
        (Cause::H2FlowControl, _) => {
            "let the receiver give a larger HTTP/2 window (SETTINGS_INITIAL_WINDOW_SIZE)"
        }
        (Cause::RetransmissionTimeout, _) => {
            "look for the loss; losses at the end of a message cost a time-out unless the sender \
             probes for them (RFC 8985)"
        }
        (Cause::ApplicationLimited, Direction::ToClient) => {
            "look into the server's program: it had begun the response and wrote no more"
        }
        (Cause::ApplicationLimited, Direction::ToServer) => {
            "look into the client's program: it had begun the request and wrote no more"
        }
        (Cause::ServerThink, _) => {
            "look into the server's program: it had the whole request, or a head that expects 100 \
             (Continue)"
        }
        (
            Cause::RequestUpload
            | Cause::Propagation
            | Cause::Transmission
            | Cause::CongestionWindow
            | Cause::Pacing
            | Cause::LossRecovery
            | Cause::Unknown,
            _,
        ) => return None,
    })
}
