//! Packets that are decoded before any of them is judged.

use std::ops::Range;

use super::endpoint_pair::EndpointPair;
use crate::decode::Seen;

/// Segments in the order of the capture, with what was captured of their data.
///
/// A batch is filled, handed to [`Analyser::handle_batch`](crate::analysis::Analyser::handle_batch), and
/// comes back empty.
#[derive(Debug, Default)]
pub struct Batch {
    packets: Vec<Packet>,
    bytes: Vec<u8>,
    /// The number of its first segment among all those of the capture.
    first: u64,
    /// Which of them belong to which part of all connections.
    places: Vec<Vec<u32>>,
}

#[derive(Debug)]
struct Packet {
    /// Without its payload.
    seen: Seen<'static>,
    payload: Range<usize>,
    pair: EndpointPair,
}

/// Where a segment stands in the capture, and whose it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located {
    /// Segments before it.
    pub ordinal: u64,
    pub pair: EndpointPair,
}

impl Batch {
    /// The most segments of a batch: some milliseconds of work. Our choice.
    const MAX_PACKETS: usize = 1 << 11;
    /// The most data of a batch, with one segment more. Our choice.
    const MAX_BYTES: usize = 1 << 20;

    /// Adds the next segment of the capture.
    pub fn push(&mut self, seen: &Seen<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(seen.payload);
        let pair = EndpointPair::of(seen.source, seen.destination);
        let payload = start..self.bytes.len();
        self.packets.push(Packet { seen: Seen { payload: &[], ..*seen }, payload, pair });
    }

    /// Whether it should be handed on before another segment is added.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.packets.len() >= Self::MAX_PACKETS || self.bytes.len() >= Self::MAX_BYTES
    }

    /// Whether it holds no segment.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Says how many segments of the capture came before it.
    pub(crate) const fn follow(&mut self, segments: u64) {
        self.first = segments;
    }

    /// Its segments without their data.
    pub(crate) fn headers(&self) -> impl Iterator<Item = &Seen<'static>> {
        self.packets.iter().map(|it| &it.seen)
    }

    /// Divides it by connections into so many parts.
    pub(crate) fn divide(&mut self, parts: usize) {
        self.places.resize(parts, Vec::new());
        for (place, packet) in (0..).zip(&self.packets) {
            self.places[packet.pair.part(parts)].push(place);
        }
    }

    /// Where the segments of a part are.
    pub(crate) fn places(&self, part: usize) -> &[u32] {
        &self.places[part]
    }

    pub(crate) fn segments(&self) -> impl Iterator<Item = (Located, Seen<'_>)> {
        (0..).zip(&self.packets).map(|(place, _)| self.get(place))
    }

    pub(crate) fn get(&self, place: u32) -> (Located, Seen<'_>) {
        let Packet { seen, payload, pair } = &self.packets[place as usize];
        let located = Located { ordinal: self.first + u64::from(place), pair: *pair };
        (located, Seen { payload: &self.bytes[payload.clone()], ..*seen })
    }

    pub(crate) fn clear(&mut self) {
        self.packets.clear();
        self.bytes.clear();
        self.places.iter_mut().for_each(Vec::clear);
    }
}
