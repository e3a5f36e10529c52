//! What a conversation tells, and what that means for the exchanges of its connection.

use ackwise_cause::{Direction, Outcome, Party};
use ackwise_tcp::Instant;

use super::ObservedConnection;
use crate::{
    attribution::{
        sender::Departure,
        think::{Asked, LEAST_TIMEOUT},
    },
    closing::RequestKind,
    conversation::{Event, ExchangeId, Protocol, Tunnel},
    flow::{
        exchange::{AbruptEnd, OpenExchange},
        lingering::Lingering,
        tunnels::TunnelTimes,
    },
    outcome::{CloseOrder, ConnectionEnd, Deadline, Ending, Progress},
    results::{Results, SeenGoaway},
};

impl ObservedConnection {
    #[inline]
    pub(super) fn handle_events(&mut self, now: Instant, packet: u64, results: &mut Results) {
        while let Some(event) = self.conversation.poll_event() {
            self.handle_event(event, now, packet, results);
        }
    }

    #[inline(never)]
    #[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
    pub(super) fn handle_event(
        &mut self,
        event: Event,
        now: Instant,
        packet: u64,
        results: &mut Results,
    ) {
        match event {
            Event::Protocol(protocol) => {
                self.protocol = Some(protocol);
                if matches!(protocol, Protocol::Http1 | Protocol::Http2) {
                    self.tunnels.look_into();
                }
                if protocol == Protocol::Tls {
                    self.setup.begin_tls();
                }
                if protocol.is_greeted() {
                    // Behind the handshake, the client waits for the server: nobody asked for that.
                    self.setup.forget();
                }
            }
            Event::TlsFlight(flight) => {
                self.setup.handle_flight(&flight, now, packet, &self.ends.distances);
            }
            Event::RequestBegins { exchange, stream, position, exact } => {
                if !self.work.begin_request(&mut results.reserve, packet) {
                    return self.divide_nothing_more();
                }
                let arrival = self.reassembly[Direction::ToServer as usize].arrival(position);
                let late = self.began_at(Direction::ToServer, position, packet);
                let late = late.map(|it| it.departure);
                let (now, packet) = match (&late, arrival) {
                    (Some(first), _) => (first.seen, first.packet),
                    (None, Some(it)) => (it.at, it.packet),
                    (None, None) => (now, packet),
                };
                let last = || self.ends.half(Direction::ToServer).sender.last();
                let first = late.as_ref().or_else(last);
                let account = match first.filter(|_| self.exchanges == 0) {
                    Some(first) => self.setup.begin_exchange(first, &self.ends.distances),
                    None => self.setup.new_account(now),
                };
                self.note_held_request(position, exact);
                self.exchanges += 1;
                let open = OpenExchange::new(exchange, stream, account, position);
                let mut open = open.behind(&self.earlier_end);
                let acked = || self.ends.half(Direction::ToClient).stream.acked();
                open.acks = (arrival.is_none() && late.is_none()).then(acked);
                open.without = self.ends.half(Direction::ToServer).sender.without;
                (open.exact, open.request_exact, open.first_packet) = (exact, exact, packet);
                open.taken = self.deferred.len();
                self.open.push(open);
                if let Some(first) = late {
                    self.divide_again(exchange, Direction::ToServer, first.sent);
                }
            }
            Event::RequestHead { exchange, head } => {
                let [method, path] = [&head.method, &head.path].map(|it| it.as_deref());
                self.closing.handle_request(RequestKind::of(method, path));
                let timeout = head.grpc.and_then(|it| it.timeout);
                self.with(exchange, |it| {
                    it.deadline = timeout.map(|timeout| Deadline::new(timeout, now));
                    it.head = Some(head);
                });
            }
            Event::RequestEnds { exchange, position, exact } => {
                let last = self.last_sent(Direction::ToServer);
                let way = last.map(|(last, free_at)| last.way(free_at));
                let in_hole = self.fell_into_hole(Direction::ToServer, position.saturating_sub(1));
                self.with(exchange, |it| {
                    it.request[1] = position;
                    it.exact &= exact;
                    it.request_exact &= exact;
                    if let Some(way) = way {
                        it.request_sent(way);
                    }
                    if in_hole {
                        it.fall_into_hole();
                    }
                });
            }
            Event::ResponseBegins { exchange, position, exact } => {
                self.answered_from = position;
                let late = self.began_at(Direction::ToClient, position, packet);
                let last = self.last_sent(Direction::ToClient).map(|it| *it.0);
                let last = late.as_ref().map(|it| it.departure).or(last);
                let in_hole = self.fell_into_hole(Direction::ToClient, position);
                let heard = late.as_ref().map_or(self.heard_by_server, |it| it.heard_by_server);
                let round_trip = self.ends.distances.whole();
                let queued =
                    last.and_then(|it| it.queued.or_else(|| it.held_for())).unwrap_or_default();
                // A packet may bring several responses, and shows once what its path does.
                let is_first = last.map(|it| it.packet) != Some(self.answered_in);
                if is_first && queued > round_trip / 8 {
                    self.ends.distances.note_queued();
                }
                let delays = self.ends.distances.path_delays(Direction::ToClient);
                let (is_near, way) = (delays.is_next_to_sender(), delays.sender);
                let asked_last = self.last_sent(Direction::ToServer).map(|it| it.0.asks());
                let is_far = self.ends.distances.round_trip(Direction::ToServer).is_some();
                let lacks_acks = self.ends.half(Direction::ToClient).lacks_pure_acks();
                if is_first {
                    self.habits.note_held(queued);
                }
                self.answered_in = last.map_or(0, |it| it.packet);
                let mut habits = self.habits;
                let behind_hole = self.behind_hole.as_deref().copied();
                // A program behind HTTP/1 works on one request at a time; a database has answered the commands that came
                // together before it writes.
                let answers_at_once = self.protocol.is_some_and(Protocol::is_in_order);
                if let (Some(first), true) = (last, answers_at_once)
                    && let Some(it) = self.open.get_mut(exchange)
                {
                    it.catch_up(&self.deferred, &self.earlier_end.outside(first.packet));
                }
                self.with(exchange, |it| {
                    it.response = [position, position];
                    it.exact &= exact;
                    it.learn_way(asked_last, way, is_far);
                    if in_hole {
                        it.fall_into_hole();
                    }
                    if let Some(first) = &it.first_of(behind_hole, last) {
                        let asked = it.asked(heard, way, round_trip);
                        habits.acks_at_once |= asked == Asked::Known && it.waits_for_response();
                        let asked = match asked {
                            Asked::Unheard if is_near && !lacks_acks => Asked::Here,
                            _ if is_near => Asked::Known,
                            // The request was not sent again: it was late by less than a timeout.
                            Asked::Unheard if lacks_acks => Asked::Late(LEAST_TIMEOUT),
                            asked => asked,
                        };
                        it.begin_response(first, asked, Some(round_trip), habits);
                    }
                });
                self.habits = habits;
                if let Some(first) = late {
                    self.divide_again(exchange, Direction::ToClient, first.departure.sent);
                }
            }
            Event::ResponseHead { exchange, head } => {
                self.with(exchange, |it| it.status = head.status);
            }
            Event::GrpcStatus { exchange, status } => {
                self.with(exchange, |it| it.grpc_status = Some(status));
                self.tunnels.note_status(exchange, status);
            }
            Event::FirstMessage { exchange, position } => self.first_message(exchange, position),
            Event::ResponseEnds { exchange, position, exact } => {
                self.response_ended(exchange, position, exact, now, results);
            }
            Event::Abandoned { exchange, stream } => {
                let end = self.abrupt_end();
                if let Some(mut open) = self.take(exchange) {
                    open.ending = match stream {
                        Some(end) if self.is_told(&open) => {
                            let over = open.deadline.and_then(|it| it.over(now));
                            Some(Ending::of_stream(end, open.progress(), over))
                        }
                        Some(_) => None,
                        None => self.ending(&open),
                    };
                    open.abandon(&end, now);
                    self.exchange_abandoned(open, results);
                }
            }
            Event::Lost { exchange } => {
                if let Some(mut open) = self.take(exchange) {
                    open.lose(now);
                    self.exchange_over(open, false, results);
                }
            }
            Event::Unjudged { exchange } => {
                if self.take(exchange).is_some() {
                    self.exchanges = self.exchanges.saturating_sub(1);
                }
            }
            Event::TunnelBegins { exchange, tunnel } => {
                if tunnel == Tunnel::Startup {
                    // Nobody divides it, so the first exchange begins with its request.
                    self.setup.forget();
                }
                let open = self.open.get_mut(exchange);
                let asked = open.as_ref().map_or(now, |open| open.account.from());
                let answered = open.as_ref().and_then(|open| open.first_message.as_ref());
                let times = TunnelTimes { asked, answered: answered.map(|it| it.at), begun: now };
                let opener = open.map_or((0, packet), |open| (open.stream, open.first_packet));
                self.tunnels.begin(exchange, tunnel, opener, times);
                self.departure = None;
            }
            Event::TunnelEnds { exchange } => self.tunnels.end(exchange, now),
            Event::Messages { exchange, direction, news } => {
                let departure = self.departure.as_deref().filter(|it| it.direction == direction);
                self.tunnels.note_messages(exchange, direction, news, departure, now);
            }
            Event::Multiplexed { exchange } => self.with(exchange, |it| it.multiplexed = true),
            Event::Interim { exchange, .. } => self.interim(exchange),
            Event::Goaway(says) => SeenGoaway::note(&mut self.goaway, says, now),
            Event::FlowControlBlocked { exchange, window, direction, position: _ } => {
                self.flow_control[direction as usize].close(exchange, window);
            }
            Event::FlowControlUnseen { least } => {
                for direction in [Direction::ToServer, Direction::ToClient] {
                    let acked = self.ends.half(direction.opposite()).stream.acked();
                    // Of what is missing, the next data may be the first that hears.
                    let is_new = self.fell_into_hole(direction.opposite(), acked.saturating_sub(1));
                    let heard = if is_new { 0 } else { acked };
                    let least = least[direction as usize];
                    self.flow_control[direction as usize].lose(least, heard);
                }
            }
            Event::SealedCredit { position, window } => self.note_sealed_credit(position, window),
            Event::FlowControlReopened { exchange, direction, position: _ } => {
                self.flow_control[direction as usize].reopen(exchange);
            }
        }
    }

    /// A request begins at `position`. The first of a connection waits for its setup.
    fn note_held_request(&mut self, position: u64, exact: bool) {
        if let Some(all) = &mut self.multiplexed {
            all.begin_request(position);
        }
        let is_later = exact && self.exchanges > 0;
        let held = self.held_segment.filter(|_| is_later).and_then(|it| it.request_at(position));
        match (held, &mut self.held_requests) {
            (Some(held), Some(all)) => all.add(&held),
            (Some(held), all) => *all = Some(Box::new(held)),
            (None, _) => {}
        }
    }

    /// Whether this byte was delivered but not captured.
    fn fell_into_hole(&self, direction: Direction, position: u64) -> bool {
        self.ends.half(direction).stream.unseen().contains(position)
    }

    /// What may turn out to be the first message of a stream has ended. If what is before it may still be sent again, when
    /// it ended is not known.
    fn first_message(&mut self, exchange: ExchangeId, position: u64) {
        let last = self.last_new(Direction::ToClient);
        if let (Some((last, free_at)), true) =
            (last, self.unsettled[Direction::ToClient as usize].is_empty())
        {
            let mut held = 0;
            self.with(exchange, |it| {
                let before = it.held_beside();
                it.end_first_message(position, free_at, &last);
                held = it.held_beside() - before;
            });
            self.held_beside += held;
        }
    }

    fn interim(&mut self, exchange: ExchangeId) {
        let request = &self.ends.half(Direction::ToServer).sender;
        let answered = self.ends.half(Direction::ToClient).sender.last().copied();
        let (free_at, last) = (request.free_at(), request.last().copied());
        let (heard, round_trip) = (self.heard_by_server, self.ends.distances.whole());
        let delays = self.ends.distances.path_delays(Direction::ToClient);
        let (is_near, way) = (delays.is_next_to_sender(), delays.sender);
        let habits = self.habits;
        if let (Some(last), Some(interim)) = (last, answered) {
            self.with(exchange, |it| {
                let asked = if is_near { Asked::Known } else { it.asked(heard, way, round_trip) };
                it.think_until_interim(&interim, asked, round_trip, habits);
                it.handle_interim(free_at, &last, &interim);
            });
        }
    }

    fn response_ended(
        &mut self,
        exchange: ExchangeId,
        position: u64,
        exact: bool,
        now: Instant,
        results: &mut Results,
    ) {
        let Some(mut open) = self.take(exchange) else { return };
        match open.first_message.take().filter(|it| it.ends_at(position)) {
            Some(first) => return self.exchange_over(first.waited, true, results),
            // When the first message ended, is not known.
            None if self.tunnels.is_call(exchange) => {
                self.exchanges = self.exchanges.saturating_sub(1);
                return;
            }
            None => {}
        }
        open.response[1] = position;
        open.exact &= exact;
        for gap in self.unsettled[Direction::ToClient as usize].take_needed() {
            self.divide(&gap, Direction::ToClient);
            open.handle_gap(&gap, Direction::ToClient);
        }
        self.linger_no_more(None, results);
        // A body without a length: before the FIN, the client does not have all of it (RFC 9112, section 6.3).
        if exact && self.ends_now == Some((Some(Party::Server), false)) {
            if let Some((last, free_at)) = self.last_new(Direction::ToClient) {
                open.end_response(free_at, &last);
            }
            open.abandon(&self.abrupt_end(), now);
            return self.exchange_over(open, true, results);
        }
        if let Some(sent) = self.may_be_lost(&open) {
            self.lingering = Some(Box::new(Lingering::new(open, position, sent)));
            return;
        }
        if let Some((last, free_at)) = self.last_new(Direction::ToClient) {
            open.end_response(free_at, &last);
            if open.stream == 0 {
                self.catch_up();
                self.earlier_end.note(last.sent, last.packet);
            }
        }
        self.exchange_over(open, true, results);
    }

    /// The last of a response that can still get lost behind the vantage point, if it is the only one.
    pub(super) fn may_be_lost(&self, open: &OpenExchange) -> Option<(Departure, Instant)> {
        let half = self.ends.half(Direction::ToClient);
        let behind = self.ends.distances.vantage().is_before_client();
        let alone = open.stream == 0 && self.open.is_empty() && half.stream.flight() > 0;
        self.last_new(Direction::ToClient).filter(|_| behind && alone)
    }

    #[inline(never)]
    pub(super) fn linger_no_more(&mut self, acked: Option<Instant>, results: &mut Results) {
        let Some(lingering) = self.lingering.take() else { return };
        let to_client = self.ends.distances.round_trip(Direction::ToClient);
        let mut open = lingering.settle(acked, to_client.unwrap_or_default());
        open.acknowledged = acked;
        self.exchange_over(open, true, results);
    }

    /// What is known of its end, or that of the capture.
    pub(super) fn abrupt_end(&self) -> AbruptEnd {
        let last_way = |direction| {
            let sender = &self.ends.half(direction).sender;
            sender.last().map(|last| last.way(sender.free_at()))
        };
        let is_heard = self.ends.half(Direction::ToServer).stream.flight() == 0;
        AbruptEnd {
            closed: self.closed_at,
            asked: last_way(Direction::ToServer),
            last: last_way(Direction::ToClient),
            given_up: self.ends.reset && self.closed_first == Some(Party::Client) && is_heard,
        }
    }

    /// How an exchange ended of which nothing more comes: now, or with the capture. Where the capture lacks data, or
    /// only turns show where the response ends, that may have been complete. A request that the capture cut is taken for
    /// whole.
    pub(super) fn ending(&self, open: &OpenExchange) -> Option<Ending> {
        let (by, by_rst) = self.ends_now?;
        let head = open.head.as_deref()?;
        let progress = match open.progress() {
            Progress::Asking if head.end.is_none() => Progress::Waiting,
            progress => progress,
        };
        if !(open.exact || progress != Progress::Answering) || !self.is_told(open) {
            return None;
        }
        let fin = self.ends.fin(Direction::ToClient);
        let close =
            fin.zip(self.server_closed).zip(open.acks).and_then(|((fin, (_, heard)), acks)| {
                let crossed = (heard <= open.request[0]).then_some(CloseOrder::Crossed);
                if acks > fin { Some(CloseOrder::Ignored) } else { crossed }
            });
        let unheard = self.ends.unheard(Direction::ToServer);
        let unheard = unheard.filter(|it| it.0 < open.request[1] || progress == Progress::Asking);
        let end = ConnectionEnd {
            by,
            by_rst,
            closed_first: self.closed_first,
            close,
            unheard: unheard.is_some(),
        };
        Some(Ending { sent_again: unheard.map(|it| it.1), ..end.ending(progress) })
    }

    /// Whether the capture has all that tells how an exchange ended.
    fn is_told(&self, open: &OpenExchange) -> bool {
        let is_clear = matches!(self.protocol, Some(Protocol::Http1 | Protocol::Http2));
        is_clear && !open.is_in_hole() && self.ends.are_whole() && !self.work.is_spent()
    }

    /// Nothing more comes of an exchange. A CLIENT_CLOSE is none: its answer is the server's FIN.
    pub(super) fn exchange_abandoned(&mut self, open: Box<OpenExchange>, results: &mut Results) {
        let head = open.head.as_deref();
        let kind = head.map(|it| RequestKind::of(it.method.as_deref(), it.path.as_deref()));
        if kind == Some(RequestKind::ClientClose) && open.waits_for_response() {
            self.exchanges = self.exchanges.saturating_sub(1);
        } else {
            self.exchange_over(open, false, results);
        }
    }

    pub(super) fn exchange_over(
        &self,
        mut open: Box<OpenExchange>,
        complete: bool,
        results: &mut Results,
    ) {
        let is_clear = matches!(self.protocol, Some(Protocol::Http1 | Protocol::Http2));
        // Streams of HTTP/2 may go both ways at once.
        let is_early = open.is_early() && self.protocol == Some(Protocol::Http1);
        // That a response came early, its end does not decide, which the snap length may hide.
        let is_known = open.exact || is_early && open.request_exact;
        if complete && is_clear && is_known {
            let outcome = if is_early { Outcome::AnsweredEarly } else { Outcome::Answered };
            open.ending = Some(Ending {
                outcome,
                by: None,
                close: None,
                code: None,
                sent_again: None,
                deadline: None,
            });
        }
        open.may_be_several = self.conversation.may_be_multiplexed();
        if open.multiplexed || self.work.is_spent() {
            open.forget_causes();
        }
        results.add_exchange(open.into_result(self.id, complete, self.ends.distances.whole()));
    }

    fn with(&mut self, id: ExchangeId, change: impl FnOnce(&mut OpenExchange)) {
        if let Some(open) = self.open.get_mut(id) {
            open.catch_up(&self.deferred, &self.earlier_end);
            change(open);
        }
    }

    fn take(&mut self, id: ExchangeId) -> Option<Box<OpenExchange>> {
        let mut open = self.open.take(id)?;
        self.flow_control.iter_mut().for_each(|it| it.end(id));
        self.held_beside = self.held_beside.saturating_sub(open.held_beside());
        open.catch_up(&self.deferred, &self.earlier_end);
        Some(open)
    }
}
