//! The first segments of a connection, put off until they have shown what the path is like.
//!
//! How far away the ends are and how fast the path is, is known only some segments later than it is
//! first needed. So a connection's first segments are looked at twice.

use std::time::Duration;

use ackwise_cause::Direction;
use ackwise_tcp::{Instant, Segment};

use super::packet::Packet;

/// Segments that wait to be judged.
#[derive(Debug, Default)]
pub(crate) struct WarmUp {
    segments: Vec<Waiting>,
    bytes: Vec<u8>,
    first: Option<Instant>,
}

/// One of them. Many wait at the same time: so it has what will be looked at, and nothing else.
#[derive(Debug)]
struct Waiting {
    number: u64,
    at: Instant,
    segment: Segment,
    interface: u32,
    /// Where its data is in `bytes`, which are few.
    start: u32,
    end: u32,
    identification: u16,
    hop_limit: u8,
    direction: Direction,
}

impl WarmUp {
    /// The first two flights of a large initial window, with their acknowledgements. Our choice.
    const SEGMENTS: usize = 40;
    /// The most data that waits: 44 segments of an Ethernet's size. Our choice.
    const BYTES: usize = 64 * 1024;
    /// Segments and data of a connection with one short exchange. Our choice.
    const USUAL_SEGMENTS: usize = 12;
    const USUAL_BYTES: usize = 1 << 10;
    /// The longest wait until others learn what the path has shown. Our choice.
    const SPAN: Duration = Duration::from_secs(2);

    /// Puts a segment off; whether the path is known as well as it can be.
    pub(crate) fn add(&mut self, packet: &Packet<'_>, direction: Direction) -> bool {
        if self.segments.is_empty() {
            // What a short exchange takes: no memory is asked for again.
            self.segments.reserve(Self::USUAL_SEGMENTS);
            self.bytes.reserve(Self::USUAL_BYTES);
        }
        let &Packet { number, at, interface, identification, hop_limit, segment, payload } = packet;
        let start = self.place();
        self.bytes.extend_from_slice(payload);
        let end = self.place();
        let first = *self.first.get_or_insert(at);
        let segment = *segment;
        let flags = segment.flags;
        self.segments.push(Waiting {
            number,
            at,
            segment,
            interface,
            start,
            end,
            identification,
            hop_limit,
            direction,
        });
        self.segments.len() == Self::SEGMENTS
            || self.bytes.len() > Self::BYTES
            || flags.fin
            || flags.rst
            || at.saturating_since(first) > Self::SPAN
    }

    /// Whether another segment with this much data takes no more memory than a usual connection's.
    pub(crate) const fn has_room(&self, bytes: usize) -> bool {
        self.segments.len() < Self::USUAL_SEGMENTS && self.bytes.len() + bytes <= Self::USUAL_BYTES
    }

    /// Where the next data begins.
    fn place(&self) -> u32 {
        // `BYTES` and one packet.
        u32::try_from(self.bytes.len()).unwrap_or(u32::MAX)
    }

    /// Whether both ends have sent something.
    pub(crate) fn is_mutual(&self) -> bool {
        let first = self.segments.first().map(|it| it.direction);
        self.segments.iter().any(|it| Some(it.direction) != first)
    }

    /// Bytes that it takes in memory, about.
    pub(crate) fn held(&self) -> usize {
        self.segments.capacity() * size_of::<Waiting>() + self.bytes.capacity()
    }

    /// Forgets what waited. Memory for more than a usual connection's is given back.
    pub(crate) fn clear(&mut self) {
        self.segments.clear();
        self.bytes.clear();
        self.segments.shrink_to(Self::USUAL_SEGMENTS);
        self.bytes.shrink_to(Self::USUAL_BYTES);
        self.first = None;
    }

    /// What waits, oldest first.
    pub(crate) fn packets(&self) -> impl Iterator<Item = (Packet<'_>, Direction)> {
        self.segments.iter().map(|waiting| {
            let &Waiting {
                number,
                at,
                ref segment,
                interface,
                start,
                end,
                identification,
                hop_limit,
                direction,
            } = waiting;
            let payload = &self.bytes[start as usize..end as usize];
            (
                Packet { number, at, interface, identification, hop_limit, segment, payload },
                direction,
            )
        })
    }
}
