//! What of HTTP/1 has to stay: heads without their contents, and what delimits chunks.

use ackwise_cause::Direction;

use super::{
    super::span::Span,
    reader::{Reader, Step},
};
use crate::strip::Outline;

/// Notes what `reader` has taken off `before`, up to the position `to`, and made of it.
pub(super) fn note(
    outline: &mut Outline,
    direction: Direction,
    reader: &Reader,
    mut before: Span<'_>,
    to: u64,
    step: &Step<'_>,
) {
    match step {
        Step::Head { start, bytes, .. } | Step::CutHead { start, bytes } => {
            outline.head(direction, *start, bytes);
            outline.follow(direction, None);
        }
        Step::Broken { start } => note_broken(outline, direction, *start),
        Step::NeedsMore if reader.head_start().is_some() => {}
        Step::NeedsMore | Step::Begins { .. } | Step::Ends { .. } => {
            let (at, bytes) = (before.at(), before.take(to.saturating_sub(before.at())));
            outline.pass(direction, at, bytes, to - at - bytes.len() as u64);
            if matches!(step, Step::Ends { .. }) {
                outline.follow(direction, None);
            }
        }
    }
}

/// Notes that the bytes from `start` on are not HTTP: zero begins no line of it.
pub(super) fn note_broken(outline: &mut Outline, direction: Direction, start: u64) {
    outline.keep(direction, start, vec![0]);
}
