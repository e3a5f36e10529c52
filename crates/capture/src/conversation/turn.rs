//! What a turn of a client may be, by the bytes with which it begins.

use std::ops::Range;

use super::Tunnel;

/// What a segment is with which a client's turn begins.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Turn {
    /// A request, for all that is known.
    Asks,
    /// Nothing that is answered.
    Unanswered,
    /// It is answered once something happens: not judged.
    Waits(Tunnel),
    /// From here on, the server sends whatever happens.
    Ends(Tunnel),
}

/// The same, and which of the segment's bytes show it.
pub(super) type Shown = (Turn, [Range<usize>; 2]);

/// Every turn is a request.
pub(super) const fn asks(_: &[u8]) -> Shown {
    (Turn::Asks, [0..0, 0..0])
}
