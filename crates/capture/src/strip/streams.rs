//! The streams of a connection, by where their bytes stand: nothing is asked about time here.

use std::ops::Range;

use ackwise_cause::Direction;
use ackwise_tcp::{Instant, Segment};

use crate::flow::ObservedStream;

/// Both streams, as far as they were captured.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// By the direction of their data.
    streams: [ObservedStream; 2],
    /// Where they end.
    fins: [Option<u64>; 2],
    /// An RST was seen.
    pub(super) reset: bool,
}

impl Streams {
    /// Whether both ends have closed, and know it of each other.
    pub(super) fn is_over(&self) -> bool {
        let mut ends = self.streams.iter().zip(self.fins);
        self.reset || ends.all(|(stream, fin)| fin.is_some_and(|end| stream.acked() > end))
    }

    /// Whether one end has closed.
    pub(super) fn is_closing(&self) -> bool {
        self.reset || self.fins.iter().any(Option::is_some)
    }

    /// Where a stream begins if its SYN was not seen.
    pub(super) const fn middle(&self, direction: Direction) -> Option<u64> {
        self.streams[direction as usize].middle()
    }

    /// Takes a header; up to where it acknowledges what the capture does not have, of the other direction.
    pub(super) fn handle_header(&mut self, segment: &Segment, direction: Direction) -> Option<u64> {
        if segment.flags.syn {
            self.streams[direction as usize].place(segment);
        }
        let acked = &mut self.streams[direction.opposite() as usize];
        let progress = acked.acknowledge(segment, None)?;
        progress.unseen.then_some(progress.acked)
    }

    /// Where a segment's data stands; `None` if it is not of this stream, or a keep-alive.
    pub(super) fn handle_data(
        &mut self,
        segment: &Segment,
        direction: Direction,
    ) -> Option<Range<u64>> {
        let stream = &mut self.streams[direction as usize];
        let bytes = stream.place(segment)?;
        if stream.is_keep_alive(&bytes) {
            return None;
        }
        // When holes were opened does not matter.
        stream.see(&bytes, Instant::EPOCH);
        Some(bytes)
    }

    /// A FIN, perhaps again; where its stream ends.
    pub(super) fn handle_fin(&mut self, segment: &Segment, direction: Direction) -> Option<u64> {
        let fin = &mut self.fins[direction as usize];
        if fin.is_none() {
            *fin = self.streams[direction as usize].place(segment).map(|bytes| bytes.end);
        }
        *fin
    }
}
