//! How far apart segments were seen, and whether a link has kept them so.

use super::Nanos;

/// How far apart two segments were seen that the sender had ready at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spacing {
    pub bytes: u64,
    pub span: Nanos,
    /// How long after an acknowledgement between them the later one might have been seen at the
    /// earliest, if it had waited for that.
    pub after_ack: Option<Nanos>,
}

impl Spacing {
    /// Whether the link has kept the segments apart, and not the acknowledgement between them. That
    /// one would have come long before; or it comes at other times while the spacing stays the same.
    pub(super) fn is_of_link(&self, before: Option<Self>) -> bool {
        /// A segment that follows an acknowledgement so many times sooner than it follows the one
        /// before it has probably waited for that. Ours.
        const SOONER: u64 = 4;
        /// Spacings are the same if they differ by one part in so many. Ours.
        const SAME: u64 = 64;
        let Some(after_ack) = self.after_ack else { return true };
        if after_ack * SOONER >= self.span {
            return true;
        }
        before.filter(|it| it.bytes == self.bytes).is_some_and(|before| {
            let same = self.span.abs_diff(before.span) <= self.span / SAME;
            let moved = before.after_ack.is_none_or(|it| it.abs_diff(after_ack) > self.span / SAME);
            same && moved
        })
    }
}
