//! Packets that are found before any of them is judged.

use ackwise_tcp::{Instant, Segment};

use super::{endpoint_pair::EndpointPair, packet};
use crate::decode::{RawSegment, Seen, Station, tcp};

/// Segments in the order of the capture, with what was captured of their data.
///
/// Their headers are decoded by whoever judges them. Their bytes are copied ([`push`](Self::push)), or
/// stay in the block of memory that they were read into ([`push_in_place`](Self::push_in_place)): then
/// the batch owns that before it is judged ([`own`](Self::own)).
///
/// A batch is filled, handed to [`Analyser::handle_batch`](crate::analysis::Analyser::handle_batch), and
/// comes back empty.
#[derive(Debug, Default)]
pub struct Batch {
    /// By parts of all connections, which different threads judge.
    parts: [Vec<Packet>; Self::PARTS],
    bytes: Vec<u8>,
    in_place: bool,
    packets: u32,
    /// The number of its first segment among all those of the capture.
    before: u64,
    /// When the first segment was seen, and the latest.
    span: Option<[Instant; 2]>,
    seen_at: SeenAt,
    /// Identifications and sequence numbers of the last packets.
    latest: [u64; Self::LATEST],
    repeats: bool,
}

/// Where a packet was seen: a number of an interface, and what the link header says of it.
pub(super) type Place = (u32, Option<Station>);

/// Where the segments of a batch were seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum SeenAt {
    #[default]
    Nowhere,
    /// All of them; the last one is in this part.
    One(Place, usize),
    Several,
}

#[derive(Debug)]
struct Packet {
    pair: EndpointPair,
    number: u64,
    at: Instant,
    /// Where its TCP header is: in the bytes of the batch, or in memory.
    start: usize,
    captured: u32,
    /// Bytes on the wire, from its TCP header on.
    length: u32,
    interface: u32,
    /// Segments of the batch before it.
    place: u32,
    station: Option<Station>,
    identification: u16,
    hop_limit: u8,
    fragment: bool,
    /// The lesser end of the pair has sent it.
    in_order: bool,
}

/// Where a segment stands in the capture, and whose it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located {
    /// Segments before it.
    pub ordinal: u64,
    pub pair: EndpointPair,
}

/// A segment, without what tells whose it is.
#[derive(Debug)]
pub(super) struct Glance<'a> {
    /// Segments of the capture before it.
    pub ordinal: u64,
    /// The lesser end of the pair has sent it.
    pub in_order: bool,
    pub number: u64,
    pub at: Instant,
    pub interface: u32,
    pub identification: u16,
    pub hop_limit: u8,
    pub segment: Segment,
    pub payload: &'a [u8],
}

impl Glance<'_> {
    /// It as a packet of its connection.
    #[inline(always)]
    pub(super) const fn packet(&self) -> packet::Packet<'_> {
        let Self { number, at, interface, identification, hop_limit, ref segment, payload, .. } =
            *self;
        packet::Packet { number, at, interface, identification, hop_limit, segment, payload }
    }
}

impl Batch {
    /// Parts of all connections: always as many, so that the result is the same for any number of threads.
    /// Our choice.
    pub(crate) const PARTS: usize = 16;
    /// The most copied segments of a batch: some milliseconds of work. Our choice.
    const MAX_PACKETS: u32 = 1 << 12;
    /// The most copied data of a batch, with one segment more. Our choice.
    const MAX_BYTES: usize = 1 << 20;
    /// The size of a block. Our choice, by measurement: with larger ones, threads wait less for each
    /// other; with smaller ones, packets stay in the processor's cache.
    const BLOCK: usize = 1 << 19;
    /// Packets among which a copy is looked for: what a switch sends on before the copy. Our choice.
    const LATEST: usize = 8;

    /// Adds the next segment of the capture.
    pub fn push(&mut self, segment: &RawSegment<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(segment.bytes);
        self.add(segment, start);
    }

    /// Adds the next segment of the capture, without a copy of its bytes.
    #[inline]
    pub fn push_in_place(&mut self, segment: &RawSegment<'_>) {
        self.in_place = true;
        self.add(segment, segment.bytes.as_ptr().addr());
    }

    #[inline(always)]
    fn add(&mut self, segment: &RawSegment<'_>, start: usize) {
        let &RawSegment {
            number,
            at,
            interface,
            addresses,
            ports,
            is_v6,
            bytes,
            length,
            hop_limit,
            identification,
            fragment,
            station,
        } = segment;
        #[expect(clippy::cast_possible_truncation, reason = "no more than `LARGEST_PACKET`")]
        let captured = bytes.len() as u32;
        let (pair, in_order) = EndpointPair::in_order(addresses, ports, is_v6);
        let part = pair.part(Self::PARTS);
        self.parts[part].push(Packet {
            pair,
            number,
            at,
            start,
            captured,
            length,
            interface,
            place: self.packets,
            station,
            identification,
            hop_limit,
            fragment,
            in_order,
        });
        self.packets += 1;
        let [_, latest] = self.span.get_or_insert([at; 2]);
        *latest = at.max(*latest);
        if identification != 0
            && let Some(&[a, b, c, d]) = bytes.get(4..).and_then(<[u8]>::first_chunk)
        {
            let print =
                u64::from(identification) << 32 | u64::from(u32::from_be_bytes([a, b, c, d]));
            self.repeats |= self.latest.contains(&print);
            self.latest[self.packets as usize % Self::LATEST] = print;
        }
        let here = (interface, station);
        self.seen_at = match self.seen_at {
            SeenAt::One(place, _) if place != here => SeenAt::Several,
            SeenAt::Several => SeenAt::Several,
            SeenAt::One(..) | SeenAt::Nowhere => SeenAt::One(here, part),
        };
    }

    /// Memory of a size to read the next block into.
    pub fn take_block(&mut self) -> Vec<u8> {
        let mut block = std::mem::take(&mut self.bytes);
        block.resize(block.len().max(Self::BLOCK), 0);
        block
    }

    /// Gets the block in which all segments are that were added without a copy.
    pub fn own(&mut self, block: Vec<u8>) {
        self.bytes = block;
    }

    /// Whether it should be handed on before another segment is copied into it.
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.packets >= Self::MAX_PACKETS || self.bytes.len() >= Self::MAX_BYTES
    }

    /// Whether it holds no segment.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// How many segments it holds.
    pub(crate) const fn len(&self) -> u32 {
        self.packets
    }

    /// When its first segment was seen, and when the latest.
    pub(crate) const fn span(&self) -> Option<[Instant; 2]> {
        self.span
    }

    /// Says how many segments of the capture came before it.
    pub(crate) const fn follow(&mut self, segments: u64) {
        self.before = segments;
    }

    /// Where its segments were seen, and the last of them, if that was one place.
    pub(super) fn seen_at(&self) -> Option<(Place, Seen<'_>)> {
        let SeenAt::One(place, part) = self.seen_at else { return None };
        let last = self.parts[part].last()?;
        Some((place, self.decode(last)))
    }

    /// Whether a segment looks like one of those just before it.
    pub(super) const fn repeats(&self) -> bool {
        self.repeats
    }

    /// How many segments a part has.
    pub(crate) fn part(&self, part: usize) -> usize {
        self.parts[part].len()
    }

    /// All segments, in the order of the capture.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (Located, Seen<'_>)> {
        let mut packets: Vec<&Packet> = self.parts.iter().flatten().collect();
        packets.sort_unstable_by_key(|it| it.place);
        packets.into_iter().map(|it| (self.locate(it), self.decode(it)))
    }

    /// Between which ends one of a part's segments goes.
    #[inline(always)]
    pub(crate) fn pair(&self, part: usize, index: usize) -> EndpointPair {
        self.parts[part][index].pair
    }

    /// The same for a connection that is known.
    #[inline(always)]
    pub(super) fn glance(&self, part: usize, index: usize) -> Glance<'_> {
        let packet = &self.parts[part][index];
        let &Packet {
            number,
            at,
            interface,
            place,
            identification,
            hop_limit,
            in_order,
            length,
            ..
        } = packet;
        let ordinal = self.before + u64::from(place);
        let tcp::Decoded { segment, payload, .. } = tcp::segment(self.bytes_of(packet), length);
        Glance {
            ordinal,
            in_order,
            number,
            at,
            interface,
            identification,
            hop_limit,
            segment,
            payload,
        }
    }

    /// How many segments of the capture are before one of a part's.
    pub(crate) fn ordinal(&self, part: usize, index: usize) -> u64 {
        self.locate(&self.parts[part][index]).ordinal
    }

    /// One of a part's segments.
    #[inline(always)]
    pub(crate) fn get(&self, part: usize, index: usize) -> (Located, Seen<'_>) {
        let packet = &self.parts[part][index];
        (self.locate(packet), self.decode(packet))
    }

    #[inline(always)]
    fn locate(&self, packet: &Packet) -> Located {
        Located { ordinal: self.before + u64::from(packet.place), pair: packet.pair }
    }

    /// A TCP header, and what was captured of the data.
    #[inline(always)]
    fn bytes_of(&self, packet: &Packet) -> &[u8] {
        let base = if self.in_place { self.bytes.as_ptr().addr() } else { 0 };
        let start = packet.start.wrapping_sub(base);
        let end = start.checked_add(packet.captured as usize);
        let bytes = end.and_then(|end| self.bytes.get(start..end));
        bytes.expect("the batch owns the block in which its segments lie")
    }

    #[inline(always)]
    fn decode(&self, packet: &Packet) -> Seen<'_> {
        let bytes = self.bytes_of(packet);
        let &Packet {
            pair,
            number,
            at,
            start: _,
            captured: _,
            length,
            interface,
            place: _,
            station,
            identification,
            hop_limit,
            fragment,
            in_order,
        } = packet;
        let (addresses, ports, is_v6) = pair.ends(in_order);
        let segment = RawSegment {
            number,
            at,
            interface,
            addresses,
            ports,
            is_v6,
            bytes,
            length,
            hop_limit,
            identification,
            fragment,
            station,
        };
        segment.decode()
    }

    /// Forgets those of its segments that have so many before them in the capture.
    pub(super) fn forget(&mut self, is_gone: impl Fn(u64) -> bool) {
        let before = self.before;
        for part in &mut self.parts {
            part.retain(|it| !is_gone(before + u64::from(it.place)));
        }
    }

    /// Forgets its segments. Where bytes were copied, none are left; a block is kept for the next one.
    pub(crate) fn clear(&mut self) {
        self.parts.iter_mut().for_each(Vec::clear);
        if !std::mem::take(&mut self.in_place) {
            self.bytes.clear();
        }
        self.packets = 0;
        self.span = None;
        self.seen_at = SeenAt::Nowhere;
        self.repeats = false;
    }
}
