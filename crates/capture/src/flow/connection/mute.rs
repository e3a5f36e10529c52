//! Segments that nobody waits for.

use crate::{conversation::Protocol, flow::packet::Packet};

/// Whether nobody waits for a segment, and it for nobody. A change_cipher_spec alone: TLS 1.3 sends it for middleboxes
/// (RFC 8446, appendix D.4), and in TLS 1.2 nothing happens before what follows it. The acknowledgement of settings
/// alone (RFC 9113, section 6.5.3). Updates of HTTP/2's windows alone, if none of the other end's is used up (it
/// `flows`).
pub(super) fn answers_nothing(protocol: Option<Protocol>, seen: &Packet<'_>, flows: bool) -> bool {
    const CHANGE_CIPHER_SPEC: u32 = 6;
    const SETTINGS_ACK: [u8; 9] = [0, 0, 0, 4, 1, 0, 0, 0, 0];
    match protocol {
        Some(Protocol::Tls) => {
            matches!(seen.payload, [20, 3, _, 0, 1, ..]) && seen.segment.len == CHANGE_CIPHER_SPEC
        }
        Some(Protocol::Http2) => {
            seen.payload == SETTINGS_ACK || (flows && updates_windows(seen.payload))
        }
        _ => false,
    }
}

/// Whether there is nothing but WINDOW_UPDATE frames (RFC 9113, section 6.9), whole ones.
fn updates_windows(payload: &[u8]) -> bool {
    const FRAME: usize = 13;
    let mut frames = payload.chunks(FRAME);
    !payload.is_empty()
        && frames.all(|frame| frame.len() == FRAME && frame.starts_with(&[0, 0, 4, 8, 0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_updates_of_windows_answer_nothing() {
        let update: &[u8] = &[0, 0, 4, 8, 0, 0, 0, 0, 1, 0, 1, 0, 0];
        let data: &[u8] = &[0, 0, 4, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0];
        for (payload, expected) in [
            (update.to_vec(), true),
            ([update, update].concat(), true),
            ([update, data].concat(), false),
            ([update, &[0]].concat(), false),
            (Vec::new(), false),
        ] {
            assert_eq!(updates_windows(&payload), expected, "{payload:?}");
        }
    }

    #[test]
    fn nobody_waits_for_a_cipher_change_or_an_acknowledgement_of_settings() {
        const CHANGE: &[u8] = &[20, 3, 3, 0, 1, 1];
        const SETTINGS: &[u8] = &[0, 0, 0, 4, 1, 0, 0, 0, 0];
        const UPDATE: &[u8] = &[0, 0, 4, 8, 0, 0, 0, 0, 1, 0, 1, 0, 0];
        for (protocol, payload, len, flows, nothing) in [
            (Protocol::Tls, CHANGE, 6, false, true),
            (Protocol::Tls, CHANGE, 7, false, false),
            (Protocol::Tls, &[20, 3, 3, 0, 2, 1], 6, false, false),
            (Protocol::Tls, &[21, 3, 3, 0, 1, 1], 6, false, false),
            (Protocol::Tls, SETTINGS, 9, true, false),
            (Protocol::Http2, SETTINGS, 9, false, true),
            (Protocol::Http2, &SETTINGS[1..], 8, true, false),
            (Protocol::Http2, UPDATE, 13, true, true),
            (Protocol::Http2, UPDATE, 13, false, false),
            (Protocol::Http2, CHANGE, 6, true, false),
            (Protocol::Http1, UPDATE, 13, true, false),
        ] {
            let segment = ackwise_tcp::Segment { len, ..Default::default() };
            let seen = Packet {
                number: 1,
                at: ackwise_tcp::Instant::EPOCH,
                interface: 0,
                identification: 0,
                hop_limit: 64,
                segment: &segment,
                payload,
            };
            let found = answers_nothing(Some(protocol), &seen, flows);
            assert_eq!(found, nothing, "{protocol:?} {payload:?} {len} {flows}");
            assert!(!answers_nothing(None, &seen, flows));
        }
    }
}
