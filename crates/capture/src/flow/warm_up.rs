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

#[cfg(test)]
mod tests {
    use ackwise_tcp::Flags;

    use super::*;

    /// Adds a segment of `bytes` bytes, `millis` milliseconds after the first.
    fn add(warm_up: &mut WarmUp, millis: u64, bytes: usize, flags: Flags) -> bool {
        let payload = vec![0; bytes];
        let len = u32::try_from(bytes).unwrap();
        let packet = Packet {
            number: 1,
            at: Instant::EPOCH + Duration::from_millis(millis),
            interface: 0,
            identification: 0,
            hop_limit: 64,
            segment: &Segment { flags, len, ..Segment::default() },
            payload: &payload,
        };
        warm_up.add(&packet, Direction::ToServer)
    }

    #[test]
    fn segments_are_put_off_up_to_each_bound() {
        for (why, segments, bytes, last, flags, is_known) in [
            ("39 segments", 39, 0, 0, Flags::NONE, false),
            ("40 segments", 40, 0, 0, Flags::NONE, true),
            ("64 KB", 1, WarmUp::BYTES, 0, Flags::NONE, false),
            ("a byte more", 1, WarmUp::BYTES + 1, 0, Flags::NONE, true),
            ("two seconds", 2, 0, 2_000, Flags::NONE, false),
            ("longer", 2, 0, 2_001, Flags::NONE, true),
            ("FIN", 2, 0, 0, Flags::FIN, true),
            ("RST", 2, 0, 0, Flags::RST, true),
        ] {
            let mut warm_up = WarmUp::default();
            for _ in 1..segments {
                assert!(!add(&mut warm_up, 0, 0, Flags::NONE), "{why}");
            }
            assert_eq!(add(&mut warm_up, last, bytes, flags), is_known, "{why}");
        }
    }

    #[test]
    fn a_usual_connection_has_room_for_twelve_segments_and_a_kilobyte() {
        let mut warm_up = WarmUp::default();
        assert!(warm_up.has_room(1_024) && !warm_up.has_room(1_025));
        for number in 0..12 {
            assert!(warm_up.has_room(0), "{number}");
            add(&mut warm_up, 0, 0, Flags::NONE);
        }
        assert!(!warm_up.has_room(0));
        let usual = warm_up.held();
        (0..20).for_each(|_| _ = add(&mut warm_up, 0, 100, Flags::NONE));
        assert!(warm_up.held() > usual);
        warm_up.clear();
        assert!(warm_up.held() <= usual, "memory is given back");
        assert!(!warm_up.is_mutual());
    }
}
