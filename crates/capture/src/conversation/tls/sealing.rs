//! What TLS 1.3 adds to what a record holds: the type, the tag, and padding (RFC 8446, section 5.2). Each end's Finished shows
//! it, for that is 4 bytes and a hash.

/// The type and a tag of 16 bytes.
pub(super) const USUAL: u64 = 1 + 16;
/// The same with 16 bytes of padding, as Java has it.
const PADDED: u64 = USUAL + 16;
/// The type and a tag of 8 bytes: AES-CCM-8.
const SHORT: u64 = 1 + 8;

/// What is added to a record that may be a Finished alone; `None` if it cannot be one. A hash of 32 bytes with padding is
/// as long as one of 48 without, which is usual.
pub(super) const fn of_finished(length: u64) -> Option<u64> {
    const HASHES: [u64; 2] = [32, 48];
    const fn finished(hash: usize, sealing: u64) -> u64 {
        4 + HASHES[hash] + sealing
    }
    match length {
        it if it == finished(0, SHORT) => Some(SHORT),
        it if it == finished(0, USUAL) || it == finished(1, USUAL) => Some(USUAL),
        it if it == finished(1, PADDED) => Some(PADDED),
        _ => None,
    }
}

/// Whether a record has the length of an alert, whatever its end adds.
pub(super) const fn may_be_alert(length: u64) -> bool {
    matches!(length.saturating_sub(2), SHORT | USUAL | PADDED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finished_shows_what_is_added() {
        for (hash, added, expected) in [
            (32, SHORT, Some(SHORT)),
            (32, USUAL, Some(USUAL)),
            (48, USUAL, Some(USUAL)),
            (48, PADDED, Some(PADDED)),
            // As long as a hash of 48 bytes without padding.
            (32, PADDED, Some(USUAL)),
            // AES-CCM-8 has SHA-256.
            (48, SHORT, None),
            (33, USUAL, None),
        ] {
            assert_eq!(of_finished(4 + hash + added), expected, "{hash} + {added}");
        }
    }
}
