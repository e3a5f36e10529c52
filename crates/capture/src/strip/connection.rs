//! A connection as the analyser reads it, asked what it looks at.

use std::{collections::VecDeque, hash::RandomState, net::SocketAddr, ops::Range};

use ackwise_cause::Direction;
use ackwise_tcp::Segment;

use super::{held::Held, mask::mask, streams::Streams};
use crate::{
    conversation::{ExchangeReader, Token},
    decode::Seen,
    flow::{Arrival, Reassembly, tell},
    limits::{Limit, Reached, STRIPPED_SEGMENTS},
};

/// A connection that is not over.
#[derive(Debug)]
pub(super) struct FollowedConnection {
    client: SocketAddr,
    streams: Streams,
    reassembly: [Reassembly; 2],
    conversation: ExchangeReader,
    key: RandomState,
    /// Packets of which it is not decided what stays, in their order, and their places.
    waiting: [Queue; 2],
    /// When it was used last, as the [`Stripper`](super::Stripper) counts.
    pub(super) touched: u64,
    /// What it costs, as the stripper counts it.
    pub(super) charged: usize,
}

/// Packets of one direction.
#[derive(Debug, Default)]
struct Queue {
    /// By where their data begins, then by number.
    packets: VecDeque<Waiting>,
    /// Bytes of the longest of them.
    longest: u64,
    /// Up to where all have been let go of.
    decided: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    number: u64,
    start: u64,
    length: u64,
}

impl FollowedConnection {
    pub(super) fn new(client: SocketAddr, key: RandomState) -> Self {
        Self {
            client,
            streams: Streams::default(),
            reassembly: Default::default(),
            conversation: ExchangeReader::with_tokens(),
            key,
            waiting: Default::default(),
            touched: 0,
            charged: 0,
        }
    }

    /// Bytes that it takes in memory, about.
    pub(super) fn cost(&self) -> usize {
        let waiting: usize = self.waiting.iter().map(|it| it.packets.capacity()).sum();
        let held: usize = self.reassembly.iter().map(Reassembly::held).sum();
        size_of::<Self>() + held + waiting * size_of::<Waiting>() + self.conversation.cost()
    }

    /// Whether both ends have closed, and know it of each other.
    pub(super) fn is_over(&self) -> bool {
        self.streams.is_over()
    }

    /// Whether this SYN begins another connection between the same ports.
    pub(super) fn is_reused_by(&self, segment: &Segment) -> bool {
        segment.flags.syn && segment.ack.is_none() && self.streams.is_closing()
    }

    /// Takes the packet `number`.
    pub(super) fn handle(
        &mut self,
        seen: &Seen<'_>,
        number: u64,
        held: &mut Held,
        reached: &mut Reached,
    ) {
        let to_server = seen.source == self.client;
        let direction = if to_server { Direction::ToServer } else { Direction::ToClient };
        if let Some(acked) = self.streams.handle_header(&seen.segment, direction) {
            self.pass_over(direction.opposite(), acked);
        }
        match seen.segment.len {
            0 => held.decide(number),
            _ => self.handle_data(seen, direction, number, held, reached),
        }
        self.handle_end(&seen.segment, direction);
        while let Some(token) = self.conversation.poll_token() {
            self.keep(token, held);
        }
        for direction in [Direction::ToServer, Direction::ToClient] {
            self.decide(direction, held);
        }
    }

    fn handle_data(
        &mut self,
        seen: &Seen<'_>,
        direction: Direction,
        number: u64,
        held: &mut Held,
        reached: &mut Reached,
    ) {
        let Some(bytes) = self.streams.handle_data(&seen.segment, direction) else {
            return held.decide(number);
        };
        self.waiting[direction as usize].push(&bytes, number, held, reached);
        let conversation = &mut self.conversation;
        let reassembly = &mut self.reassembly[direction as usize];
        if let Some(middle) = self.streams.middle(direction) {
            reassembly.give_up_to(middle, &mut |piece| tell(conversation, direction, piece));
        }
        let arrival = Arrival::new(bytes.start, seen.at, seen.number);
        reassembly.insert(arrival, seen.segment.len, seen.payload, |piece| {
            tell(conversation, direction, piece);
        });
    }

    /// The capture does not have what was sent before `position`.
    fn pass_over(&mut self, direction: Direction, position: u64) {
        let conversation = &mut self.conversation;
        self.reassembly[direction as usize]
            .give_up_to(position, &mut |piece| tell(conversation, direction, piece));
    }

    fn handle_end(&mut self, segment: &Segment, direction: Direction) {
        if segment.flags.rst {
            self.conversation.handle_abort();
        } else if segment.flags.fin
            && self.streams.handle_fin(segment, direction)
                <= Some(self.reassembly[direction as usize].next())
        {
            self.conversation.handle_end(direction);
        }
        self.streams.reset |= segment.flags.rst;
    }

    /// Puts what stands for a token where that stood.
    fn keep(&self, Token { direction, at, kind }: Token, held: &mut Held) {
        let masked = mask(kind, &self.key);
        let end = at + masked.len() as u64;
        for (number, bytes) in self.waiting[direction as usize].overlap(at..end) {
            let (from, to) = (bytes.start.max(at), bytes.end.min(end));
            let piece = &masked[distance(at, from)..distance(at, to)];
            held.keep(number, distance(bytes.start, from), piece);
        }
    }

    /// Nothing more will be found in what waits.
    pub(super) fn let_go(&mut self, held: &mut Held) {
        self.waiting.iter_mut().for_each(|it| it.decide(u64::MAX, held));
    }

    /// Lets go of packets whose bytes have all been read.
    fn decide(&mut self, direction: Direction, held: &mut Held) {
        let read = self.reassembly[direction as usize].next();
        let decided = self.conversation.decided(direction).min(read);
        let decided = if self.is_over() { u64::MAX } else { decided };
        self.waiting[direction as usize].decide(decided, held);
    }
}

impl Queue {
    /// Adds a packet, unless one with the same bytes is there: of what is sent again before it could be
    /// read, the first is read.
    fn push(&mut self, bytes: &Range<u64>, number: u64, held: &mut Held, reached: &mut Reached) {
        let (start, length) = (bytes.start, bytes.end - bytes.start);
        let behind = match self.packets.back() {
            Some(last) if last.start > start => {
                self.packets.partition_point(|it| it.start <= start)
            }
            _ => self.packets.len(),
        };
        let mut there = self.packets.range(..behind).rev().take_while(|it| it.start == start);
        if bytes.end <= self.decided || there.any(|it| it.length >= length) {
            return held.decide(number);
        }
        let mut place = behind;
        if self.packets.len() >= STRIPPED_SEGMENTS
            && let Some(first) = self.packets.pop_front()
        {
            held.decide(first.number);
            reached.count(Limit::StrippedSegments, 1);
            place = behind.saturating_sub(1);
        }
        self.packets.insert(place, Waiting { number, start, length });
        self.longest = self.longest.max(length);
    }

    /// Packets with some of these bytes.
    fn overlap(&self, bytes: Range<u64>) -> impl Iterator<Item = (u64, Range<u64>)> {
        let from = bytes.start.saturating_sub(self.longest);
        let first = self.packets.partition_point(|it| it.start < from);
        let near = self.packets.range(first..).take_while(move |it| it.start < bytes.end);
        near.map(|it| (it.number, it.start..it.start + it.length))
            .filter(move |(_, it)| it.start.max(bytes.start) < it.end.min(bytes.end))
    }

    /// Lets go of packets whose bytes are before `position`.
    fn decide(&mut self, position: u64, held: &mut Held) {
        if position == self.decided {
            return;
        }
        self.decided = position;
        while let Some(first) = self.packets.front() {
            if first.start >= position || first.start + first.length > position {
                break;
            }
            held.decide(first.number);
            self.packets.pop_front();
        }
        if self.packets.is_empty() {
            self.longest = 0;
        }
    }
}

/// From one position to a later one of the same packet or head, which are in memory.
fn distance(from: u64, to: u64) -> usize {
    usize::try_from(to - from).unwrap_or(usize::MAX)
}
