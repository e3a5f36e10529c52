//! One connection of a capture: both ends, what they say to each other, and what that takes.

use std::{collections::VecDeque, net::SocketAddr, ops::Range, time::Duration};

use ackwise_http::cause::{Direction, Party};
use ackwise_tcp::{Instant, Segment};

use super::{
    exchange::Open,
    reassembly::{Piece, Reassembly},
    setup::Setup,
    stream::{Novelty, Stream},
};
use crate::{
    analysis::{ConnectionResult, ExchangeResult, Results},
    attribution::{
        Account, Distances, Loss,
        sender::{Acknowledgement, Sender, Sighting},
    },
    conversation::{Conversation, Event, ExchangeId, Protocol},
    decode::Seen,
};

/// A connection that is not over.
#[derive(Debug)]
pub(crate) struct Connection {
    id: u32,
    client: SocketAddr,
    server: SocketAddr,
    /// By the direction of their data.
    halves: [Half; 2],
    distances: Distances,
    conversation: Conversation,
    setup: Setup,
    open: VecDeque<Open>,
    protocol: Option<Protocol>,
    exchanges: u32,
    closed_first: Option<Party>,
    first_seen: Instant,
    last_seen: Instant,
    reset: bool,
}

#[derive(Debug, Default)]
struct Half {
    stream: Stream,
    sender: Sender,
    reassembly: Reassembly,
    mss: Option<u16>,
    timestamps: bool,
    fin: Option<u64>,
    repeated: u32,
    lost_by_capture: u64,
    packets: u64,
}

impl Connection {
    pub(crate) fn new(id: u32, client: SocketAddr, server: SocketAddr, now: Instant) -> Self {
        Self {
            id,
            client,
            server,
            halves: Default::default(),
            distances: Distances::default(),
            conversation: Conversation::new(),
            setup: Setup::default(),
            open: VecDeque::new(),
            protocol: None,
            exchanges: 0,
            closed_first: None,
            first_seen: now,
            last_seen: now,
            reset: false,
        }
    }

    /// Its number in the capture.
    pub(crate) const fn id(&self) -> u32 {
        self.id
    }

    /// Which way a segment from `source` goes.
    pub(crate) fn direction(&self, source: SocketAddr) -> Direction {
        if source == self.client { Direction::ToServer } else { Direction::ToClient }
    }

    /// Whether both ends have closed, and know it of each other.
    pub(crate) fn is_over(&self) -> bool {
        self.reset
            || self.halves.iter().all(|it| it.fin.is_some_and(|end| it.stream.acked() > end))
    }

    /// Whether this SYN begins another connection between the same ports.
    pub(crate) fn is_reused_by(&self, segment: &Segment) -> bool {
        segment.flags.syn
            && segment.ack.is_none()
            && (self.reset || self.halves.iter().any(|it| it.fin.is_some()))
    }

    /// Takes a segment that was captured.
    pub(crate) fn handle(&mut self, seen: &Seen<'_>, results: &mut Results) {
        let direction = self.direction(seen.source);
        // Files that were joined may go back in time.
        let now = seen.at.max(self.last_seen);
        self.last_seen = now;
        self.halves[direction as usize].packets += 1;
        let segment = &seen.segment;
        if segment.flags.syn {
            self.handle_syn(segment, direction, now, seen.number);
        } else if direction == Direction::ToServer {
            self.setup.handle_opening(now, seen.number, &mut self.distances);
        }
        self.handle_ack(segment, direction, now, seen.number, results);
        if segment.len > 0 {
            self.handle_data(seen, direction, now, results);
        }
        self.handle_end(segment, direction, now, seen.number, results);
    }

    fn handle_syn(&mut self, segment: &Segment, direction: Direction, now: Instant, packet: u64) {
        self.setup.handle_syn(direction, now, packet);
        let half = &mut self.halves[direction as usize];
        half.stream.place(segment);
        half.mss = segment.options.mss;
        half.timestamps = segment.options.timestamps.is_some();
        let [a, b] = &mut self.halves;
        if let (Some(one), Some(other)) = (a.mss, b.mss) {
            /// RFC 7323, appendix A: the MSS option counts no options; timestamps take 12 octets.
            const TIMESTAMPS: u16 = 12;
            let options = if a.timestamps && b.timestamps { TIMESTAMPS } else { 0 };
            let full = u32::from(one.min(other).saturating_sub(options));
            a.stream.agree(full);
            b.stream.agree(full);
            // RFC 7323, section 2.2: only if both offer it.
        }
    }

    fn handle_ack(
        &mut self,
        segment: &Segment,
        direction: Direction,
        now: Instant,
        packet: u64,
        results: &mut Results,
    ) {
        let shift = self.halves[direction as usize].stream.shift();
        let acked = opposite(direction);
        let half = &mut self.halves[acked as usize];
        let flying = half.stream.flight() > 0;
        let Some(progress) = half.stream.acknowledge(segment, shift) else { return };
        if progress.unseen {
            self.lose(acked, progress.acked, now, packet, results);
        }
        if progress.newly == 0 && progress.opened == 0 && (segment.len > 0 || !flying) {
            return;
        }
        let half = &mut self.halves[acked as usize];
        let edge = half.stream.edge();
        let ack = Acknowledgement { packet, seen: now, acked: progress.acked, edge };
        half.sender.handle_ack(ack, acked, &mut self.distances);
    }

    /// The capture does not have what was sent in `direction` up to `position`.
    fn lose(
        &mut self,
        direction: Direction,
        position: u64,
        now: Instant,
        packet: u64,
        results: &mut Results,
    ) {
        let half = &mut self.halves[direction as usize];
        half.lost_by_capture += 1;
        half.stream.forget_holes(position);
        half.sender.skip(position);
        let conversation = &mut self.conversation;
        half.reassembly.give_up_to(position, &mut |piece| tell(conversation, direction, piece));
        self.handle_events(now, packet, results);
    }

    fn handle_data(
        &mut self,
        seen: &Seen<'_>,
        direction: Direction,
        now: Instant,
        results: &mut Results,
    ) {
        let half = &mut self.halves[direction as usize];
        let Some(octets) = half.stream.place(&seen.segment) else { return };
        if is_keep_alive(&octets, &half.stream) {
            return;
        }
        let holes = half.stream.has_holes();
        let novelty = half.stream.see(&octets, now);
        let loss = self.loss(direction, novelty, holes);
        let half = &mut self.halves[direction as usize];
        half.repeated += u32::from(loss == Some(Loss::Repairs));
        let sighting = Sighting {
            packet: seen.number,
            seen: now,
            octets: octets.clone(),
            full: u64::from(half.stream.segment_size()),
            pushed: seen.segment.flags.psh,
            loss,
        };
        let gap = half.sender.handle_data(&sighting, direction, &self.distances);
        if let Some(gap) = &gap {
            if self.exchanges == 0 {
                self.setup.handle_gap(gap, direction);
            }
            for exchange in &mut self.open {
                exchange.handle_gap(gap, direction);
            }
        }
        if loss == Some(Loss::Repairs) && direction == Direction::ToServer {
            self.request_sent_again();
        }
        let conversation = &mut self.conversation;
        let Half { reassembly, stream, .. } = &mut self.halves[direction as usize];
        if let Some(middle) = stream.middle() {
            reassembly.give_up_to(middle, &mut |piece| tell(conversation, direction, piece));
        }
        reassembly.insert(octets.start, seen.segment.len, seen.payload, |piece| {
            tell(conversation, direction, piece);
        });
        self.handle_events(now, seen.number, results);
    }

    fn loss(&self, direction: Direction, novelty: Novelty, holes: bool) -> Option<Loss> {
        match novelty {
            Novelty::New => holes.then_some(Loss::Missing),
            Novelty::Again => Some(Loss::Repairs),
            Novelty::Fills(since) if since < self.reordering() => {
                let _ = direction;
                None
            }
            Novelty::Fills(_) => Some(Loss::Repairs),
        }
    }

    /// What comes that much later was not merely overtaken: a repair needs a round trip.
    fn reordering(&self) -> Duration {
        const UNKNOWN: Duration = Duration::from_millis(3);
        match self.distances.whole() {
            Duration::ZERO => UNKNOWN,
            whole => whole * 3 / 4,
        }
    }

    fn request_sent_again(&mut self) {
        let sender = &self.halves[Direction::ToServer as usize].sender;
        let Some(last) = sender.last() else { return };
        for exchange in self.open.iter_mut().filter(|it| it.waits_for_response()) {
            exchange.request_sent(sender.free_at(), last);
        }
    }

    fn handle_end(
        &mut self,
        segment: &Segment,
        direction: Direction,
        now: Instant,
        packet: u64,
        results: &mut Results,
    ) {
        if !segment.flags.fin && !segment.flags.rst {
            return;
        }
        if self.closed_first.is_none() {
            self.closed_first = Some(direction.sender());
        }
        let half = &mut self.halves[direction as usize];
        if segment.flags.rst {
            self.reset = true;
            self.conversation.handle_abort();
        } else if half.fin.is_none()
            && let Some(octets) = half.stream.place(segment)
        {
            half.fin = Some(octets.end);
            if half.reassembly.next() >= octets.end {
                self.conversation.handle_end(direction);
            }
        }
        self.handle_events(now, packet, results);
    }

    /// The capture is over, or the connection.
    pub(crate) fn finish(mut self, results: &mut Results) {
        self.conversation.handle_abort();
        self.handle_events(self.last_seen, 0, results);
        while let Some(mut exchange) = self.open.pop_front() {
            exchange.abandon(self.last_seen);
            self.exchange_over(exchange, false, results);
        }
        let [to_server, to_client] = &self.halves;
        results.add_connection(ConnectionResult {
            id: self.id,
            client: self.client,
            server: self.server,
            protocol: self.protocol,
            exchanges: self.exchanges,
            closed_first: self.closed_first,
            reset: self.reset,
            initial_window: to_client.sender.initial_window(),
            delayed_ack: to_client.sender.delayed_ack(),
            vantage: self.distances.vantage(),
            round_trip: self.distances.whole(),
            repeated: [to_server.repeated, to_client.repeated],
            lost_by_capture: to_server.lost_by_capture + to_client.lost_by_capture,
            packets: [to_server.packets, to_client.packets],
            octets: [to_server.stream.highest(), to_client.stream.highest()],
            first_seen: self.first_seen,
            last_seen: self.last_seen,
        });
    }

    fn handle_events(&mut self, now: Instant, packet: u64, results: &mut Results) {
        while let Some(event) = self.conversation.poll_event() {
            self.handle_event(event, now, packet, results);
        }
    }

    fn handle_event(&mut self, event: Event, now: Instant, packet: u64, results: &mut Results) {
        match event {
            Event::Protocol(protocol) => {
                self.protocol = Some(protocol);
                if protocol == Protocol::Tls {
                    self.setup.begin_tls();
                }
            }
            Event::TlsFlight(flight) => self.setup.handle_flight(flight.direction, now, packet),
            Event::RequestBegins { exchange, stream, position, exact } => {
                let account = match self.exchanges {
                    0 => self.setup.begin_exchange(now, packet),
                    _ => Account::new(now),
                };
                self.exchanges += 1;
                let mut open = Open::new(exchange, stream, account, position);
                (open.exact, open.first_packet) = (exact, packet);
                self.open.push_back(open);
            }
            Event::RequestHead { exchange, head } => {
                self.with(exchange, |it| it.head = Some(head));
            }
            Event::RequestEnds { exchange, position, exact } => {
                let sender = &self.halves[Direction::ToServer as usize].sender;
                let (free_at, last) = (sender.free_at(), sender.last().copied());
                self.with(exchange, |it| {
                    it.request[1] = position;
                    it.exact &= exact;
                    if let Some(last) = &last {
                        it.request_sent(free_at, last);
                    }
                });
            }
            Event::ResponseBegins { exchange, position, exact } => {
                let last = self.halves[Direction::ToClient as usize].sender.last().copied();
                self.with(exchange, |it| {
                    it.response = [position, position];
                    it.exact &= exact;
                    if let Some(first) = &last {
                        it.begin_response(first);
                    }
                });
            }
            Event::ResponseHead { exchange, head } => {
                self.with(exchange, |it| it.status = head.status);
            }
            Event::ResponseEnds { exchange, position, exact } => {
                self.response_ended(exchange, position, exact, results);
            }
            Event::Abandoned { exchange } => {
                if let Some(mut open) = self.take(exchange) {
                    open.abandon(now);
                    self.exchange_over(open, false, results);
                }
            }
            Event::Multiplexed { exchange } => self.with(exchange, |it| it.multiplexed = true),
            Event::Interim { .. }
            | Event::FlowControlBlocked { .. }
            | Event::FlowControlReopened { .. } => {}
        }
    }

    fn response_ended(
        &mut self,
        exchange: ExchangeId,
        position: u64,
        exact: bool,
        results: &mut Results,
    ) {
        let Some(mut open) = self.take(exchange) else { return };
        open.response[1] = position;
        open.exact &= exact;
        let sender = &self.halves[Direction::ToClient as usize].sender;
        if let Some(last) = sender.last() {
            open.end_response(sender.free_at(), last);
            if open.stream == 0 {
                for later in &mut self.open {
                    later.handle_earlier_end(last.sent, last.packet);
                }
            }
        }
        self.exchange_over(open, true, results);
    }

    fn exchange_over(&self, open: Open, complete: bool, results: &mut Results) {
        results.add_exchange(ExchangeResult::new(self.id, open, complete));
    }

    fn with(&mut self, id: ExchangeId, change: impl FnOnce(&mut Open)) {
        if let Some(open) = self.open.iter_mut().find(|it| it.id == id) {
            change(open);
        }
    }

    fn take(&mut self, id: ExchangeId) -> Option<Open> {
        let place = self.open.iter().position(|it| it.id == id)?;
        self.open.remove(place)
    }
}

fn tell(conversation: &mut Conversation, direction: Direction, piece: Piece<'_>) {
    match piece {
        Piece::Data(position, len, octets) => {
            conversation.handle_data(direction, position, len, octets);
        }
        Piece::Gap(Range { start, end }) => conversation.handle_gap(direction, start, end),
    }
}

/// RFC 9293, section 3.8.4: a keep-alive has one octet at most, which was acknowledged before.
const fn is_keep_alive(octets: &Range<u64>, stream: &Stream) -> bool {
    octets.end - octets.start <= 1 && octets.end <= stream.acked()
}

const fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::ToServer => Direction::ToClient,
        Direction::ToClient => Direction::ToServer,
    }
}
