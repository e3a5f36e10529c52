//! Segments that nobody waits for.

use crate::{conversation::Protocol, flow::packet::Packet};

/// Whether nobody waits for a segment, and it for nobody. A change_cipher_spec alone: TLS 1.3 sends it for middleboxes
/// (RFC 8446, appendix D.4), and in TLS 1.2 nothing happens before what follows it. The acknowledgement of settings
/// alone (RFC 9113, section 6.5.3).
pub(super) fn answers_nothing(protocol: Option<Protocol>, seen: &Packet<'_>) -> bool {
    const CHANGE_CIPHER_SPEC: u32 = 6;
    const SETTINGS_ACK: [u8; 9] = [0, 0, 0, 4, 1, 0, 0, 0, 0];
    match protocol {
        Some(Protocol::Tls) => {
            matches!(seen.payload, [20, 3, _, 0, 1, ..]) && seen.segment.len == CHANGE_CIPHER_SPEC
        }
        Some(Protocol::Http2) => seen.payload == SETTINGS_ACK,
        _ => false,
    }
}
