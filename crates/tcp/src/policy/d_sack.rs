//! Whether a receiver reports what has arrived twice.

/// Whether a receiver reports what has arrived twice.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum DSackPolicy {
    /// It acknowledges, and says nothing else.
    Off,
    /// D-SACK (RFC 2883), where SACK was negotiated: the first block of the next ACK is the segment that
    /// was here before. The sender learns that it has repaired what was only late.
    Rfc2883,
}
