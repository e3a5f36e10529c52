//! What TLS 1.3 adds to what a record holds: the type, the tag, and padding (RFC 8446, section 5.2). Each end's Finished shows
//! it, for that is 4 bytes and a hash.

/// The type and a tag of 16 bytes.
pub(super) const USUAL: u64 = 1 + 16;
/// The same with 16 bytes of padding, as Java has it.
const PADDED: u64 = USUAL + 16;
/// The type and a tag of 8 bytes: AES-CCM-8.
const SHORT: u64 = 1 + 8;

/// Bytes of a hash in Finished: SHA-256 or SHA-384, which the cipher suite says (RFC 8446, appendix B.4).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Hash {
    /// The ServerHello was not seen.
    #[default]
    Unknown,
    Bytes(u64),
}

impl Hash {
    pub(super) const fn of_suite(suite: u16) -> Self {
        match suite {
            0x1301 | 0x1303..=0x1305 => Self::Bytes(32),
            0x1302 => Self::Bytes(48),
            _ => Self::Unknown,
        }
    }
}

/// What is added to a record that may be a Finished alone; `None` if it cannot be one. Unless the hash is known, one of 32
/// bytes with padding is as long as one of 48 without, which is usual.
pub(super) const fn of_finished(length: u64, hash: Hash) -> Option<u64> {
    let hashes = match hash {
        Hash::Bytes(bytes) => [bytes; 2],
        Hash::Unknown => [48, 32],
    };
    let mut order = 0;
    while order < hashes.len() {
        let added = length.saturating_sub(4 + hashes[order]);
        // AES-CCM-8 has SHA-256.
        if matches!((added, hashes[order]), (USUAL | PADDED, _) | (SHORT, 32)) {
            return Some(added);
        }
        order += 1;
    }
    None
}

/// The same of a record that may have an empty Certificate before Finished (RFC 8446, section 4.4.2): 4 bytes of
/// header, an empty context, an empty list. Only if the hash is known: else it may be many things.
pub(super) const fn of_finished_without_certificate(length: u64, hash: Hash) -> Option<u64> {
    const EMPTY_CERTIFICATE: u64 = 4 + 1 + 3;
    match hash {
        Hash::Unknown => None,
        hash => of_finished(length.saturating_sub(EMPTY_CERTIFICATE), hash),
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
        for (hash, added, unknown, known) in [
            (32, SHORT, Some(SHORT), Some(SHORT)),
            (32, USUAL, Some(USUAL), Some(USUAL)),
            (48, USUAL, Some(USUAL), Some(USUAL)),
            (48, PADDED, Some(PADDED), Some(PADDED)),
            // As long as a hash of 48 bytes without padding.
            (32, PADDED, Some(USUAL), Some(PADDED)),
            // AES-CCM-8 has SHA-256.
            (48, SHORT, None, None),
            (33, USUAL, None, None),
        ] {
            let length = 4 + hash + added;
            assert_eq!(of_finished(length, Hash::Unknown), unknown, "{hash} + {added}");
            let suite = if hash == 48 { 0x1302 } else { 0x1301 };
            assert_eq!(of_finished(length, Hash::of_suite(suite)), known, "{hash} + {added}");
        }
    }
}
