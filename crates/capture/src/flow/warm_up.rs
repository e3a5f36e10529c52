//! The first segments of a connection, put off until they have shown what the path is like.
//!
//! How far away the ends are and how fast the path is, is known only some segments later than it is
//! first needed. So a connection's first segments are looked at twice.

use std::{ops::Range, time::Duration};

use ackwise_cause::Direction;
use ackwise_tcp::Instant;

use crate::decode::Seen;

/// Segments that wait to be judged.
#[derive(Debug, Default)]
pub(crate) struct WarmUp {
    segments: Vec<(Seen<'static>, Direction, Range<usize>)>,
    bytes: Vec<u8>,
    first: Option<Instant>,
}

impl WarmUp {
    /// The first two flights of a large initial window, with their acknowledgements. Our choice.
    const SEGMENTS: usize = 40;
    /// The most data that waits: 44 segments of an Ethernet's size. Our choice.
    const BYTES: usize = 64 * 1024;
    /// Segments and data of a connection with one short exchange. Our choice.
    const USUAL_SEGMENTS: usize = 12;
    const USUAL_BYTES: usize = 1 << 10;
    /// The longest wait: a live report must go on. Our choice.
    const SPAN: Duration = Duration::from_secs(2);

    /// Puts a segment off; whether all that wait should be judged now.
    pub(crate) fn add(&mut self, seen: &Seen<'_>, direction: Direction) -> bool {
        if self.segments.is_empty() {
            // What a short exchange takes: no memory is asked for again.
            self.segments.reserve(Self::USUAL_SEGMENTS);
            self.bytes.reserve(Self::USUAL_BYTES);
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(seen.payload);
        let first = *self.first.get_or_insert(seen.at);
        let bytes = start..self.bytes.len();
        self.segments.push((Seen { payload: &[], ..*seen }, direction, bytes));
        let flags = seen.segment.flags;
        self.segments.len() == Self::SEGMENTS
            || self.bytes.len() > Self::BYTES
            || flags.fin
            || flags.rst
            || seen.at.saturating_since(first) > Self::SPAN
    }

    /// Whether both ends have sent something.
    pub(crate) fn is_mutual(&self) -> bool {
        let first = self.segments.first().map(|(_, direction, _)| *direction);
        self.segments.iter().any(|(_, direction, _)| Some(*direction) != first)
    }

    /// Bytes that it takes in memory, about.
    pub(crate) fn held(&self) -> usize {
        self.segments.capacity() * size_of::<(Seen<'_>, Direction, Range<usize>)>()
            + self.bytes.capacity()
    }

    /// Forgets what waited. Memory for more than a usual connection's is given back.
    pub(crate) fn clear(&mut self) {
        self.segments.clear();
        self.bytes.clear();
        self.segments.shrink_to(Self::USUAL_SEGMENTS);
        self.bytes.shrink_to(Self::USUAL_BYTES);
        self.first = None;
    }

    /// What waits, without its data, oldest first.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&Seen<'static>, Direction)> {
        self.segments.iter().map(|(seen, direction, _)| (seen, *direction))
    }

    /// What waits, oldest first.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (Seen<'_>, Direction)> {
        self.segments.iter().map(|(seen, direction, bytes)| {
            (Seen { payload: &self.bytes[bytes.clone()], ..*seen }, *direction)
        })
    }
}
