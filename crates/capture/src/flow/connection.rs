//! One connection of a capture: both ends, what they say to each other, and what that takes.

mod begin;
mod cost;
mod divide;
mod end;
mod events;
mod flow_controlled;
mod multiplexed;
mod mute;
mod run_on;
mod shutdown;
mod undecided;

use std::{net::SocketAddr, ops::Range};

use ackwise_cause::{Direction, Party};
use ackwise_tcp::{Instant, Segment, SeqNumber, Wait};

use self::{
    divide::DeferredGap, mute::answers_nothing, shutdown::HeldShutdown, undecided::Undecided,
};
use super::{
    again_elsewhere::AgainElsewhere,
    closed::{Closed, Swap},
    ends::{Ends, Lost},
    exchange::{EarlierEnd, OpenExchange},
    flow_control::FlowControl,
    heard::HeardByServer,
    held_segment::HeldSegment,
    lingering::Lingering,
    measures::Measures,
    message_hold::MessageDeparture,
    multiplexed::Multiplexed,
    open::OpenExchanges,
    packet::{Packet, begins},
    reassembly::{Arrival, Piece, Reassembly},
    setup::Setup,
    tunnels::Tunnels,
    unsettled::Unsettled,
};
use crate::{
    attribution::{
        Nanos, Stall,
        gap::{Gap, Missing},
        later::Resolution,
        sender::Departure,
        think::{Asked, SHORT_ACK_DELAY, ServerHabits},
    },
    closing::Closing,
    conversation::{ExchangeReader, Protocol},
    held_requests::HeldRequests,
    hop_limits::HopLimits,
    results::{Here, Results, SeenGoaway},
    series::{Point, Series},
    work::Work,
};

/// A connection that is judged, and not over.
#[derive(Debug)]
pub(crate) struct ObservedConnection {
    id: u32,
    client: SocketAddr,
    server: SocketAddr,
    /// It is the lesser of both ends.
    client_is_first: bool,
    ends: Ends,
    /// If somebody asks for them.
    measures: Option<Box<Measures>>,
    reassembly: [Reassembly; 2],
    conversation: ExchangeReader,
    setup: Setup,
    open: OpenExchanges,
    /// Gaps that not all of them have taken.
    deferred: Vec<DeferredGap>,
    /// What those of `open` that wait have to be told before anything else.
    earlier_end: EarlierEnd,
    /// When the server sent the current packet, if it closed the connection with it.
    closed_at: Option<Instant>,
    protocol: Option<Protocol>,
    tunnels: Tunnels,
    /// By the direction of the data that it holds.
    flow_control: [FlowControl; 2],
    /// How the current segment left, if there may be messages in it.
    departure: Option<Box<MessageDeparture>>,
    /// The client's last segment, if Nagle's algorithm held it, and the requests that began with such ones.
    held_segment: Option<HeldSegment>,
    held_requests: Option<Box<HeldRequests>>,
    goaway: Option<Box<SeenGoaway>>,
    /// What shows that it joins the requests of several users.
    multiplexed: Option<Box<Multiplexed>>,
    /// What its exchanges have shown so far.
    habits: ServerHabits,
    /// Gaps whose cause is not known yet, by the direction of the data.
    unsettled: [Unsettled; 2],
    /// Data of TLS that may turn out to begin something, by direction.
    undecided: [Option<Box<Undecided>>; 2],
    /// The server's first data after a hole: its response has begun.
    behind_hole: Option<Box<Departure>>,
    /// Up to where the server had acknowledged before the current packet.
    heard_by_server: HeardByServer,
    /// Packets whose data was captured only in part, by direction.
    cut: [u32; 2],
    /// The client's initial sequence number, if its SYN was seen.
    initial: Option<SeqNumber>,
    lingering: Option<Box<Lingering>>,
    /// What may close TLS, by direction, and which ends have closed, by the direction of their data.
    shutdowns: [Option<Box<HeldShutdown>>; 2],
    closed_ends: [bool; 2],
    exchanges: u32,
    closed_first: Option<Party>,
    /// When the server closed in order, and up to where it had acknowledged the client's stream then.
    server_closed: Option<(Instant, u64)>,
    /// When the client closed, or reset.
    client_closed: Option<Instant>,
    /// Where the last response began.
    answered_from: u64,
    /// The packet in which it did.
    answered_in: u64,
    /// The current packet ends the connection, or the capture does: who has sent it, and whether it is an RST.
    ends_now: Option<(Option<Party>, bool)>,
    closing: Closing,
    first_seen: Instant,
    here: Option<Here>,
    last_seen: Instant,
    clock_steps: u32,
    again_elsewhere: AgainElsewhere,
    hop_limits: [HopLimits; 2],
    /// What a report draws of it, if one is wanted.
    series: Option<Box<Series>>,
    /// If it is spent, the time of its exchanges is unknown.
    work: Work,
    /// Bytes that `open` takes beside what every exchange does.
    held_beside: usize,
    /// The segment of the capture that it was seen in last.
    pub(super) touched: u64,
    /// What it costs, as its shard counts it.
    pub(super) charged: usize,
    /// It was seen to be used when memory was short.
    pub(super) spared: bool,
}

impl ObservedConnection {
    /// Remembers what a report draws of it: of each exchange, at most so many stretches.
    pub(crate) fn keep_series(&mut self, stretches: usize) {
        self.series.get_or_insert_default();
        self.setup.stretches = Some(stretches);
    }

    /// Measures it.
    pub(crate) fn keep_measures(&mut self) {
        self.measures.get_or_insert_default();
    }

    /// Its number in the capture.
    pub(crate) const fn id(&self) -> u32 {
        self.id
    }

    /// Client and server.
    pub(crate) const fn both_ends(&self) -> [SocketAddr; 2] {
        [self.client, self.server]
    }

    /// Which way a segment from `source` goes.
    pub(crate) fn direction(&self, source: SocketAddr) -> Direction {
        if source == self.client { Direction::ToServer } else { Direction::ToClient }
    }

    /// The same if the lesser or the greater of both ends has sent it.
    pub(crate) const fn direction_in_order(&self, in_order: bool) -> Direction {
        if in_order == self.client_is_first { Direction::ToServer } else { Direction::ToClient }
    }

    /// Whether both ends have closed, and know it of each other.
    pub(crate) fn is_over(&self) -> bool {
        self.ends.is_over()
    }

    /// Whether this SYN begins another connection between the same ports, as
    /// [`Newcomer::is_reused_by`](super::newcomer::Newcomer::is_reused_by); so does any if it is closing.
    pub(crate) fn is_reused_by(&self, segment: &Segment) -> bool {
        let other = self.initial.is_some_and(|initial| initial != segment.seq);
        begins(segment) && (other || self.ends.is_closing())
    }

    /// Takes a segment that was captured.
    pub(crate) fn handle(
        &mut self,
        packet: &Packet<'_>,
        direction: Direction,
        results: &mut Results,
    ) {
        self.again_elsewhere.note(packet);
        let flags = packet.segment.flags;
        HopLimits::note(&mut self.hop_limits, direction, flags, packet.hop_limit);
        if !self.run_on(packet, direction, results) {
            self.handle_in_detail(packet, direction, results);
        }
    }

    /// The same, whatever the segment is.
    fn handle_in_detail(
        &mut self,
        packet: &Packet<'_>,
        direction: Direction,
        results: &mut Results,
    ) {
        self.closing.handle_segment(packet.segment, direction);
        if begins(packet.segment) {
            self.initial = Some(packet.segment.seq);
        }
        self.judge(packet, direction, results);
    }

    fn judge(&mut self, seen: &Packet<'_>, direction: Direction, results: &mut Results) {
        // Files that were joined may go back in time, and so may the clock.
        let (before, now) = (self.last_seen, seen.at.max(self.last_seen));
        self.clock_steps += u32::from(Nanos::between(seen.at, now) > CLOCK_STEP);
        self.last_seen = now;
        let segment = seen.segment;
        let closes = direction == Direction::ToClient && (segment.flags.fin || segment.flags.rst);
        let way = self.ends.distances.path_delays(direction).sender;
        self.closed_at = closes.then(|| (now - way).max(self.first_seen));
        let is_cut = seen.payload.len() < segment.len as usize;
        self.cut[direction as usize] += u32::from(is_cut);
        if segment.flags.syn {
            self.setup.handle_syn(direction, &Packet { at: now, ..*seen }, &self.ends.distances);
        } else if direction == Direction::ToServer {
            let is_first = self.ends.is_next(segment, direction);
            let (has_data, distances) = (segment.len > 0, &mut self.ends.distances);
            self.setup.handle_opening(now, seen.number, is_first, has_data, distances);
        }
        self.heard_by_server.note(self.ends.half(Direction::ToServer).stream.acked(), before);
        if direction == Direction::ToServer && self.ends.shows_unseen_answer(segment) {
            self.doubt_response_begin();
        }
        self.ends.number(seen, direction);
        if let Some(lost) = self.ends.handle_header(segment, direction, now, seen.number) {
            self.pass_over(lost, now, seen.number, results);
        }
        if let Some(measures) = &mut self.measures {
            measures.handle_header(segment, direction, now, &self.ends);
        }
        let sender = direction.opposite();
        if let Some(resolution) = self.ends.halves[sender as usize].again.take() {
            if !self.arrived_before(sender, resolution, now) && self.may_look_at_waiting(sender) {
                self.unsettled[sender as usize].resolve_last_again(resolution);
            }
            self.setup.resolve(sender, resolution);
            if let Some(lingering) =
                self.lingering.as_mut().filter(|_| sender == Direction::ToClient)
            {
                lingering.resolve(resolution);
            }
        }
        let repairs = self.ends.half(direction).repeated;
        let acked = self.ends.half(Direction::ToClient).stream.acked();
        if self.lingering.as_ref().is_some_and(|it| it.is_over(acked)) {
            self.linger_no_more(Some(now), results);
        }
        if segment.len > 0 {
            self.handle_data(seen, direction, [before, now], results);
        }
        if self.series.is_some() {
            let again = self.ends.half(direction).repeated > repairs;
            self.draw(seen, direction, again, results);
        }
        if segment.flags.fin || segment.flags.rst {
            self.handle_end(segment, direction, now, seen.number, results);
        }
    }

    /// Remembers a segment for the plot.
    #[inline(never)]
    fn draw(
        &mut self,
        seen: &Packet<'_>,
        direction: Direction,
        again: bool,
        results: &mut Results,
    ) {
        let bytes = self.ends.half(direction).stream.find(seen.segment);
        let other = &self.ends.half(direction.opposite()).stream;
        let point = Point {
            at: self.last_seen,
            packet: seen.number,
            direction,
            bytes: bytes.map_or([0, 0], |it| [it.start, it.end]),
            ack: seen.segment.ack.map(|_| other.acked()),
            edge: other.edge(),
            flags: seen.segment.flags,
            again,
            segments: 1,
        };
        if let (Some(series), Some(budget)) = (&mut self.series, &mut results.budget) {
            series.push(point, budget);
        }
    }

    /// The capture does not have what was sent before this.
    #[inline(never)]
    fn pass_over(&mut self, lost: Lost, now: Instant, packet: u64, results: &mut Results) {
        let Lost { direction, position } = lost;
        self.departure = None;
        self.unsettled[direction as usize].resolve(Resolution::LostByCapture);
        if direction == Direction::ToClient && self.behind_hole.is_some() {
            self.doubt_response_begin();
        }
        if !self.ends.half(direction).stream.has_holes() {
            self.divide_unsettled(direction);
        }
        let conversation = &mut self.conversation;
        self.reassembly[direction as usize]
            .give_up_to(position, &mut |piece| tell(conversation, direction, piece));
        self.handle_events(now, packet, results);
    }

    #[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
    fn handle_data(
        &mut self,
        seen: &Packet<'_>,
        direction: Direction,
        [last_seen, now]: [Instant; 2],
        results: &mut Results,
    ) {
        let reserve = &mut results.reserve;
        self.work.grant(seen.payload.len(), self.open.len(), reserve, seen.number);
        let shutdown = self.shutdown_in(seen, direction);
        self.decide_shutdowns(seen, direction, shutdown, results);
        if direction == Direction::ToServer
            && self.conversation.is_sealed()
            && self.is_new(seen, direction)
        {
            // Before its time is divided.
            self.conversation.expect_request(seen.payload);
            self.handle_events(now, seen.number, results);
        }
        let before = self.ends.last_data;
        let before_segment = self.before_segment(direction);
        let sent_before = shutdown.and_then(|_| self.ends.half(direction).sender.last_new());
        let sent_last = self.sent_last(direction);
        let mut data = self.ends.handle_data(seen.segment, direction, now, seen.number);
        let Some(data) = &mut data else { return };
        let flows = self.flow_control[direction.opposite() as usize].is_open();
        let is_mute = shutdown.is_some() || answers_nothing(self.protocol, seen, flows);
        if is_mute {
            self.ends.last_data = before;
        }
        if let Some(measures) = &mut self.measures {
            measures.handle_data(data, direction, now);
        }
        if direction == Direction::ToClient
            && data.new
            && self.unsettled[Direction::ToServer as usize].is_again()
        {
            // The server answers: whatever of the request was sent again has arrived.
            self.divide_unsettled(Direction::ToServer);
        }
        if self.protocol.is_some_and(Protocol::asks_for_arrivals) {
            let heard = self.ends.half(direction.opposite()).stream.acked();
            self.conversation.handle_arrival(direction.opposite(), heard);
            self.handle_events(now, seen.number, results);
        }
        if let (Some(before), true) = (&before_segment, data.new) {
            let place = (seen.number, now);
            self.note_segment(before, data.bytes.clone(), data.gap.as_ref(), place);
        }
        if let Some(resolution) = data.resolution {
            self.unsettled[direction as usize].resolve(resolution);
        }
        if let Some(kind) = shutdown {
            let place = (direction, data.bytes.start);
            return self.hold_shutdown(kind, seen, place, data.gap, sent_before);
        }
        if self.tunnels.are_open() {
            let quiet = Nanos::between(last_seen, now);
            self.departure = MessageDeparture::of(data, sent_last, (seen, direction), quiet);
        }
        if let Some(gap) = &mut data.gap {
            self.blame_flow_control(gap, direction, data.bytes.end);
            if direction == Direction::ToServer {
                self.held_segment = HeldSegment::of(gap, data.bytes.start);
            }
            if self.exchanges == 0 && !is_mute {
                let other = self.ends.half(direction.opposite()).sender.last();
                let answered = other.filter(|_| before.is_some_and(|it| it.0 != direction));
                self.setup.handle_gap(gap, direction, answered);
            }
            if direction == Direction::ToClient && gap.hold.wait == Wait::Cork {
                self.habits.corks = true;
            }
            self.settle(gap, direction, data.new);
        }
        if direction == Direction::ToClient && data.missing == Missing::JustBefore {
            let last = || self.ends.half(direction).sender.last().copied().map(Box::new);
            self.behind_hole = self.behind_hole.take().or_else(last);
        }
        if data.repairs && direction == Direction::ToServer {
            self.request_sent_again();
        }
        if direction == Direction::ToClient && before.is_some_and(|it| it.0 != direction) {
            self.notice_silence();
        }
        if self.conversation.is_sealed() {
            self.note_undecided(direction, data.bytes.clone());
        }
        let conversation = &mut self.conversation;
        let reassembly = &mut self.reassembly[direction as usize];
        if let Some(middle) = self.ends.half(direction).stream.middle() {
            reassembly.give_up_to(middle, &mut |piece| tell(conversation, direction, piece));
        }
        let arrival = Arrival::new(data.bytes.start, now, seen.number);
        reassembly.insert(arrival, seen.segment.len, seen.payload, |piece| {
            tell(conversation, direction, piece);
        });
        self.handle_events(now, seen.number, results);
        self.decide(direction);
    }

    /// When the last data of a direction left, if messages may be in the next.
    #[inline]
    fn sent_last(&self, direction: Direction) -> Option<Instant> {
        let is_asked = self.tunnels.are_open();
        is_asked.then(|| self.ends.half(direction).sender.last().map(|it| it.sent)).flatten()
    }

    /// The server has sent data after the client's.
    fn notice_silence(&mut self) {
        /// A busy server needs less for its part of a handshake. Our choice.
        const LONG: Nanos = Nanos::from_millis(50);
        let [asked, answered] = self.ends.halves.each_ref().map(|it| it.sender.last());
        let silent = asked.zip(answered).map(|(it, next)| Nanos::between(it.arrives, next.sent));
        if silent > Some(LONG) {
            self.conversation.handle_silence();
        }
    }

    /// Divides the time before data. What the capture has seen already is sent again for a reason if
    /// more of the response follows; after its last byte it costs the exchange nothing.
    fn settle(&mut self, gap: &Gap, direction: Direction, new: bool) {
        if !new
            && direction == Direction::ToClient
            && let Some(lingering) = &mut self.lingering
            && let Some(again) = self.ends.half(direction).sender.last_with_link()
        {
            return lingering.handle_repair(gap, again);
        }
        let again = !new;
        if new {
            let soon = self.ends.distances.whole() * 3 / 4;
            self.unsettled[direction as usize].follow(gap, soon);
        }
        let late = gap.stall == Stall::OrTimeout;
        if self.work.is_spent() {
            return;
        }
        let waits = again || late || gap.missing != Missing::Nothing;
        if waits && self.unsettled[direction as usize].put_off(gap, again) {
            return;
        }
        if self.behind_hole.is_some() || !self.unsettled[direction as usize].is_empty() {
            self.divide_unsettled(direction);
        }
        match waits {
            // More would be known later, and there was no room to wait for it.
            true => self.divide(&gap.in_doubt(), direction),
            false => self.divide(gap, direction),
        }
    }

    /// The response has begun, and the capture does not show when.
    #[inline(never)]
    fn doubt_response_begin(&mut self) {
        if let Some(exchange) = self.oldest().filter(|it| it.waits_for_response()) {
            exchange.fall_into_hole();
        }
    }

    fn divide_unsettled(&mut self, direction: Direction) {
        if direction == Direction::ToClient
            && let Some(first) = self.behind_hole.take()
            && let Some(exchange) = self.open.front_mut()
        {
            exchange.catch_up(&self.deferred, &self.earlier_end);
            if exchange.waits_for_response() {
                // The missing data before it was sent even earlier.
                let round_trip = Some(self.ends.distances.whole());
                exchange.begin_response(&first, Asked::Known, round_trip, self.habits);
            }
        }
        for gap in self.unsettled[direction as usize].take() {
            self.divide(&gap, direction);
        }
    }

    /// Whether a request that was sent again had arrived, as the capture shows: then the server has had it since, and
    /// what made the client send it again has delayed nothing. At the server, no captured copy was lost before.
    #[inline(never)]
    fn arrived_before(
        &mut self,
        direction: Direction,
        resolution: Resolution,
        now: Instant,
    ) -> bool {
        let is_near = self.ends.distances.path_delays(direction).is_next_to_receiver();
        // Later, an acknowledgement of the first copy would have come, or the path held that.
        let soon = self.ends.distances.whole() + SHORT_ACK_DELAY;
        let arrived = match resolution {
            Resolution::AnswerLost => true,
            Resolution::AckLost => {
                let mut waiting = self.open.iter().filter(|it| it.waits_for_response());
                is_near || waiting.all(|it| it.was_sent_after(now - soon))
            }
            Resolution::Spurious => is_near,
            _ => false,
        };
        if !arrived || direction != Direction::ToServer || !self.may_look_at_all() {
            return false;
        }
        self.catch_up();
        let mut waited = false;
        for exchange in self.open.iter_mut().filter(|it| it.waits_for_response()) {
            waited |= exchange.forget_again(is_near);
        }
        if waited {
            self.unsettled[direction as usize].forget_again(is_near);
        }
        waited
    }

    #[inline(never)]
    fn request_sent_again(&mut self) {
        if !self.may_look_at_all() {
            return;
        }
        self.catch_up();
        let sender = &self.ends.half(Direction::ToServer).sender;
        let Some(last) = sender.last() else { return };
        for exchange in self.open.iter_mut().filter(|it| it.waits_for_response()) {
            exchange.handle_earlier_end(&self.earlier_end);
            exchange.sent_again(last.way(sender.free_at()));
        }
        self.held_beside = self.open.iter().map(|it| it.held_beside()).sum();
    }

    /// What hands TIME-WAIT over, once both ends have closed.
    fn swap(&self) -> Option<Swap> {
        let second = match self.closed_first? {
            Party::Client => Direction::ToClient,
            Party::Server | Party::Path => Direction::ToServer,
        };
        let seq = self.ends.swap(second)?;
        Some(Swap { from: self.end(second.sender()), seq })
    }

    const fn end(&self, party: Party) -> SocketAddr {
        match party {
            Party::Client => self.client,
            Party::Server | Party::Path => self.server,
        }
    }
}

/// Packets that several processors capture are less out of order than this. Our choice.
const CLOCK_STEP: Nanos = Nanos::from_millis(1);

/// Hands on what is next of a stream.
#[inline]
pub(crate) fn tell(conversation: &mut ExchangeReader, direction: Direction, piece: Piece<'_>) {
    match piece {
        Piece::Data(position, len, bytes) => {
            conversation.handle_data(direction, position, len, bytes);
        }
        Piece::Gap(Range { start, end }) => conversation.handle_gap(direction, start, end),
    }
}

#[cfg(test)]
mod tests;
