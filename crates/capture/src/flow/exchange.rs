//! One exchange while it goes on.

mod earlier;
mod ended;
mod result;

pub(crate) use earlier::EarlierEnd;

use ackwise_cause::{Cause, Direction, GrpcStatus, Phase};
use ackwise_tcp::{Instant, Wait};

use super::heard::HeardByServer;
use crate::{
    attribution::{
        Account, Confidence, Evidence, Nanos, Rule, Stall, Verdict,
        gap::{self, Gap, LastWay},
        sender::{Asks, Departure},
        think::{Asked, ServerHabits, ThinkFacts, Thought},
    },
    conversation::{ExchangeId, RequestHead},
    outcome::{Deadline, Ending},
};

/// An exchange that is not over.
#[derive(Clone, Debug)]
pub(crate) struct OpenExchange {
    pub id: ExchangeId,
    pub stream: u32,
    pub account: Account,
    state: State,
    /// The earlier ways of a request that was sent again, oldest first.
    ways: Vec<LastWay>,
    /// The client no longer waits for 100 (Continue), if it ever did.
    continue_settled: bool,
    pub head: Option<Box<RequestHead>>,
    pub status: Option<u16>,
    pub grpc_status: Option<GrpcStatus>,
    pub deadline: Option<Deadline>,
    pub request: [u64; 2],
    pub response: [u64; 2],
    pub exact: bool,
    /// The protocol's framing gives the ends of the request.
    pub request_exact: bool,
    pub multiplexed: bool,
    /// It may be several, or a part of one, which turns of sealed HTTP/2 do not show.
    pub may_be_several: bool,
    pub first_packet: u64,
    /// Those in which the response begins and ends; 0 if unknown.
    answered_in: [u64; 2],
    /// When the first of them was seen.
    answered_at: Option<Instant>,
    /// The least round trip that was known then.
    round_trip: Nanos,
    /// The capture lacks the end of the request or the beginning of the response.
    fell_into_hole: bool,
    /// The response has begun before the request had ended.
    still_asks: bool,
    /// How far the server is, something has shown.
    knows_way: bool,
    /// The packet of the last interim response that came after the request; 0 if none did.
    interim: u64,
    /// How many it has taken of the gaps that its connection has put off.
    pub taken: usize,
    /// How many of the connection's responses had ended when this exchange was last looked at.
    after: u64,
    /// When the last byte of the response was acknowledged, if that was waited for.
    pub acknowledged: Option<Instant>,
    /// Up to where the client had acknowledged the server's stream in the packet in which the request begins.
    pub acks: Option<u64>,
    pub ending: Option<Ending>,
    /// A rule that is switched off.
    pub without: Option<Rule>,
    /// What it is if it turns out to be a stream of messages.
    pub first_message: Option<FirstMessage>,
}

/// An exchange that ended with the first message of the response.
#[derive(Clone, Debug)]
pub(crate) struct FirstMessage {
    pub at: Instant,
    pub waited: Box<OpenExchange>,
}

impl FirstMessage {
    /// Whether the message ends before the byte at `position`.
    pub(crate) const fn ends_at(&self, position: u64) -> bool {
        self.waited.response[1] == position
    }
}

/// How a connection ended, or the capture of it, with exchanges that were not over.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AbruptEnd {
    /// When the server closed the connection, if it did.
    pub closed: Option<Instant>,
    /// The way of the client's last data, and of the server's.
    pub asked: Option<LastWay>,
    pub last: Option<LastWay>,
    /// The client reset the connection although the server had acknowledged all that it had sent: it had waited.
    pub given_up: bool,
}

/// How far an exchange is.
#[derive(Clone, Copy, Debug)]
enum State {
    Request,
    /// The request has left.
    Think(LastWay),
    Response,
}

impl OpenExchange {
    pub(crate) const fn new(id: ExchangeId, stream: u32, account: Account, position: u64) -> Self {
        Self {
            id,
            stream,
            account,
            state: State::Request,
            ways: Vec::new(),
            continue_settled: false,
            head: None,
            status: None,
            grpc_status: None,
            deadline: None,
            request: [position, position],
            response: [0, 0],
            exact: true,
            request_exact: true,
            multiplexed: false,
            may_be_several: false,
            first_packet: 0,
            answered_in: [0; 2],
            answered_at: None,
            round_trip: Nanos::ZERO,
            fell_into_hole: false,
            still_asks: false,
            knows_way: true,
            interim: 0,
            taken: 0,
            after: 0,
            acknowledged: None,
            acks: None,
            ending: None,
            without: None,
            first_message: None,
        }
    }

    /// The exchange begins behind this.
    pub(crate) fn behind(self, earlier: &EarlierEnd) -> Self {
        Self { after: earlier.count, ..self }
    }

    /// Data has left in `direction`; what did the exchange wait for until then?
    pub(crate) fn handle_gap(&mut self, gap: &Gap, direction: Direction) {
        self.handle_gap_by(gap, direction, |phase, account| gap.divide(phase, account));
    }

    /// The same, with what the gap adds to an account in the phase of that `direction`: it is the same for all
    /// exchanges.
    pub(crate) fn handle_shared_gap(
        &mut self,
        gap: &Gap,
        direction: Direction,
        pieces: &[(Instant, Verdict)],
    ) {
        self.handle_gap_by(gap, direction, |_, account| account.add_all(pieces));
    }

    #[inline(always)]
    fn handle_gap_by(
        &mut self,
        gap: &Gap,
        direction: Direction,
        divide: impl FnOnce(Phase, &mut Account),
    ) {
        match (self.state, direction) {
            (State::Request, Direction::ToServer) if self.awaits_continue() => {
                self.send_without_continue(gap)
            }
            (State::Request, Direction::ToServer) => divide(Phase::Request, &mut self.account),
            // The server may have waited for the rest of the request, as in a stream of messages both ways.
            (State::Response, Direction::ToClient) if self.still_asks => {
                let mut gap = *gap;
                gap.hold.confidence = gap.hold.confidence.min(Confidence::Medium);
                gap.divide(Phase::Response, &mut self.account);
            }
            (State::Response, Direction::ToClient) => divide(Phase::Response, &mut self.account),
            // The request is sent again: it had not arrived.
            (State::Think(_), Direction::ToServer) if gap.sends_again() => {
                divide(Phase::Request, &mut self.account);
            }
            _ => {}
        }
    }

    fn awaits_continue(&self) -> bool {
        !self.continue_settled && self.head.as_ref().is_some_and(|head| head.expects_continue)
    }

    /// The client sends what follows the head although nobody has asked it to. RFC 9110, section
    /// 10.1.1: to such a head a server "MUST send either" a final status or 100 (Continue).
    fn send_without_continue(&mut self, gap: &Gap) {
        self.continue_settled = true;
        if gap.capture_lost_data || gap.hold.wait != Wait::Application {
            return gap.divide(Phase::Request, &mut self.account);
        }
        let packet = gap.evidence.packets().next().unwrap_or_default();
        let Gap { free_at, train, held, arrived: arrives, .. } = *gap;
        let way = LastWay { free_at, train, held, arrives, packet };
        gap::arrive(Phase::Request, way.until(gap.until), &mut self.account);
        self.account.add(
            gap.until,
            Self::verdict(Rule::Thinks, Cause::ServerThink, Direction::ToClient, gap.evidence),
        );
    }

    /// How long the `way` to the server takes may not have been known when the last of the request, `asked`, left;
    /// or still `is_known` to nobody.
    pub(crate) fn learn_way(&mut self, asked: Option<Asks>, way: Nanos, is_known: bool) {
        self.knows_way = is_known;
        if let (State::Think(last), Some(asked)) = (&mut self.state, asked)
            && last.packet == asked.packet
        {
            last.arrives = last.arrives.max(asked.seen + way);
        }
    }

    /// All of the request has left, the last of it on this `way`, or a part of it again.
    pub(crate) const fn request_sent(&mut self, way: LastWay) {
        self.still_asks = false;
        if matches!(self.state, State::Request | State::Think(_)) {
            self.state = State::Think(way);
        }
    }

    /// The same, and the server did not have it yet, for all that is known.
    pub(crate) fn sent_again(&mut self, again: LastWay) {
        /// Linux gives a connection up after 15 (`tcp_retries2`).
        const MOST: usize = 16;
        if let State::Think(way) = self.state
            && self.ways.len() < MOST
        {
            self.ways.push(way);
        }
        self.request_sent(again);
    }

    /// Bytes that it takes in memory for being sent again, or for being a stream, perhaps.
    pub(crate) fn held_beside(&self) -> usize {
        let first_message = self.first_message.as_ref().map_or(0, |_| 2 * size_of::<Self>());
        self.ways.capacity() * size_of::<LastWay>() + first_message
    }

    /// Whether the copy of the request before the last arrived after that.
    pub(crate) fn was_sent_after(&self, at: Instant) -> bool {
        self.ways.last().is_some_and(|way| way.arrives >= at)
    }

    /// The last copy of the request was in vain, or `all` but the first were; whether there was another one.
    pub(crate) fn forget_again(&mut self, all: bool) -> bool {
        let first = if all { 0 } else { self.ways.len().saturating_sub(1) };
        let Some(&way) = self.ways.get(first) else { return false };
        self.ways.truncate(first);
        self.state = State::Think(way);
        true
    }

    /// The capture lacks the end of the request or the beginning of the response, so the server's time
    /// is unknown.
    pub(crate) const fn fall_into_hole(&mut self) {
        self.fell_into_hole = true;
    }

    /// The response is under way, and the request is not.
    pub(crate) const fn is_answered(&self) -> bool {
        matches!(self.state, State::Response) && !self.still_asks
    }

    /// The request is on its way or with the server.
    pub(crate) const fn waits_for_response(&self) -> bool {
        matches!(self.state, State::Think(_))
    }

    /// An interim response left in `interim`: the client had waited for it with what follows of the
    /// request, the last of which had left in `last`.
    pub(crate) fn handle_interim(
        &mut self,
        free_at: Instant,
        last: &Departure,
        interim: &Departure,
    ) {
        if !matches!(self.state, State::Request) {
            return;
        }
        self.continue_settled = true;
        let way = last.way(free_at).until(interim.sent);
        gap::arrive(Phase::Request, way, &mut self.account);
        let evidence = Evidence::of([last.packet, interim.packet, 0]);
        let of = |rule, cause| Self::verdict(rule, cause, Direction::ToClient, evidence);
        self.account.add(interim.sent, of(Rule::Thinks, Cause::ServerThink));
        self.account.add(interim.arrives, of(Rule::OnItsWay, Cause::Propagation));
    }

    /// The same if the server has the whole request: what it does then has an account of its own, because nothing can
    /// have held the response before.
    pub(crate) fn think_until_interim(
        &mut self,
        interim: &Departure,
        asked: Asked,
        round_trip: Nanos,
        habits: ServerHabits,
    ) {
        if self.waits_for_response() {
            self.think(interim, asked, Some(round_trip), habits);
            self.interim = interim.packet;
        }
    }

    /// Nothing tells this exchange from others that overlap with it.
    pub(crate) fn forget_causes(&mut self) {
        let until = self.account.cursor();
        self.account = self.account.emptied();
        self.doubt(until, Direction::ToClient, Evidence::default());
    }

    /// Earlier responses on the connection have ended, the last at `until`. That has to be said before
    /// anything else happens to the exchange, and costs nothing until then: there may be a thousand
    /// requests behind each response.
    #[inline]
    pub(crate) fn handle_earlier_end(&mut self, earlier: &EarlierEnd) {
        if std::mem::replace(&mut self.after, earlier.count) < earlier.count
            && self.waits_for_response()
        {
            self.wait_behind(earlier);
        }
    }

    #[inline(never)]
    fn wait_behind(&mut self, &EarlierEnd { until, packet, .. }: &EarlierEnd) {
        self.arrive_at_server(until);
        let evidence = Evidence::of([packet, 0, 0]);
        let (rule, cause) = (Rule::InOrder, Cause::HeadOfLine);
        self.account.add(until, Self::verdict(rule, cause, Direction::ToClient, evidence));
    }

    /// Where the response begins: with `behind_hole`, which came before what it is behind, if it answers the request.
    pub(crate) fn first_of(
        &self,
        behind_hole: Option<Departure>,
        last: Option<Departure>,
    ) -> Option<Departure> {
        let State::Think(way) = self.state else { return last };
        behind_hole.filter(|it| it.packet > way.packet).or(last)
    }

    /// Whether an acknowledgement showed that the server had the request, and came at once: it is captured `way` after
    /// it left.
    pub(crate) fn asked(&self, heard: HeardByServer, way: Nanos, round_trip: Nanos) -> Asked {
        let State::Think(LastWay { arrives, .. }) = self.state else { return Asked::Known };
        if heard.position < self.request[1] {
            return Asked::Unheard;
        }
        // What varies without a queue, or a busy host. Our choice.
        let promptly = arrives + (way + (round_trip / 8).max(Nanos::from_millis(1)));
        match heard.at <= promptly {
            true => Asked::Known,
            false => Asked::Late(Nanos::between(arrives + way, heard.at)),
        }
    }

    /// What the server did until `first` of the response was sent.
    /// Where `round_trip` is known, a long silence may be that of the path, and a short beginning may
    /// have been corked.
    fn think(
        &mut self,
        first: &Departure,
        asked: Asked,
        round_trip: Option<Nanos>,
        habits: ServerHabits,
    ) {
        let State::Think(LastWay { packet, .. }) = self.state else { return };
        let queued = first.queued.unwrap_or_default();
        let sent = first.sent - queued;
        self.arrive_at_server(sent);
        let since = Nanos::between(self.account.cursor(), sent);
        // An acknowledgement of its own, behind the request, released it.
        let before = packet.max(self.interim);
        let released = first.released.filter(|it| it.ack > before);
        let thought = ThinkFacts {
            since,
            round_trip,
            left: first.left,
            queued: first.queued.is_some(),
            released,
            after_interim: self.interim > 0,
            takes_silly_window: first.takes_silly_window,
            lost_before: first.lost_before,
            seems_lost_before: first.seems_lost_before,
            small: first.small,
            asked,
            knows_way: self.knows_way,
            habits,
            without: self.without,
        }
        .decide();
        let from = if released.is_some() { before } else { packet };
        let evidence = Evidence::of([from, first.packet, 0]);
        let held = released.filter(|it| it.cause == thought.cause).and_then(|it| it.acknowledged);
        if let Some([since, arrived, until]) = held {
            let as_cause = |cause| Thought { cause, ..thought };
            let written = Thought { rival: Some(thought.cause), ..as_cause(Cause::ServerThink) };
            self.wait_for_answer(since.min(sent), written, evidence);
            // The way there and back is nobody's delay.
            self.wait_for_answer(arrived.min(sent), as_cause(Cause::NagleRtt), evidence);
            self.wait_for_answer(until.min(sent), as_cause(Cause::NagleDelayedAck), evidence);
            self.wait_for_answer(sent, as_cause(Cause::NagleRtt), evidence);
        }
        self.wait_for_answer(sent, thought, evidence);
        let stalls = round_trip.is_some_and(|it| queued > Stall::least(it));
        let rival = if stalls { Cause::PathStall } else { Cause::ServerThink };
        let queued = Thought {
            cause: Cause::Queueing,
            rival: Some(rival),
            confidence: Confidence::Medium,
            rule: Rule::HeldByPath,
            doubt: None,
        };
        self.wait_for_answer(first.sent, queued, evidence);
    }

    /// The first data of the response is sent in `first`.
    pub(crate) fn begin_response(
        &mut self,
        first: &Departure,
        asked: Asked,
        round_trip: Option<Nanos>,
        habits: ServerHabits,
    ) {
        self.think(first, asked, round_trip, habits);
        if matches!(self.state, State::Request) {
            self.begin_early(first, round_trip);
        }
        if self.answered_in[0] == 0 {
            self.answered_in[0] = first.packet;
            self.answered_at = Some(first.seen);
            self.round_trip = round_trip.unwrap_or_default();
        }
        self.state = State::Response;
    }

    /// The response begins although the request has not ended: which part of that the server waited for, nothing
    /// shows.
    fn begin_early(&mut self, first: &Departure, round_trip: Option<Nanos>) {
        self.still_asks = true;
        let evidence = Evidence::of([first.packet, 0, 0]);
        let arrives = self.account.cursor() + round_trip.unwrap_or_default() / 2;
        let on_its_way =
            Self::verdict(Rule::OnItsWay, Cause::Propagation, Direction::ToServer, evidence);
        let (at, doubt) = (arrives.min(first.sent), Rule::RequestEnd);
        self.account.add(at, on_its_way.doubted(doubt, Cause::ServerThink));
        let thought = Thought {
            cause: Cause::ServerThink,
            rival: Some(Cause::ApplicationLimited),
            confidence: Confidence::Medium,
            rule: Rule::Thinks,
            doubt: Some(doubt),
        };
        self.wait_for_answer(first.sent, thought, evidence);
    }

    /// The last of the response was seen in `last`.
    pub(crate) fn end_response(&mut self, free_at: Instant, last: &Departure) {
        if !matches!(self.state, State::Response) {
            self.begin_response(last, Asked::Known, None, ServerHabits::default());
        }
        self.answered_in[1] = last.packet;
        let way = LastWay { arrives: last.seen, ..last.way(free_at) };
        gap::arrive(Phase::Response, way, &mut self.account);
    }

    /// The first message of the response ends in `last`.
    pub(crate) fn end_first_message(&mut self, position: u64, free_at: Instant, last: &Departure) {
        let mut waited = Box::new(self.clone());
        waited.response[1] = position;
        waited.end_response(free_at, last);
        self.first_message = Some(FirstMessage { at: last.seen, waited });
    }

    /// Attributes the time before the response, unless the capture lacks what would show why.
    fn wait_for_answer(&mut self, until: Instant, thought: Thought, evidence: Evidence) {
        let direction = Direction::ToClient;
        if self.fell_into_hole {
            return self.doubt(until, direction, evidence);
        }
        let Thought { cause, rival, confidence, rule, doubt } = thought;
        let verdict = Verdict::new(rule, cause, direction, evidence, confidence);
        self.account.add(until, Verdict { rival, doubt, ..verdict });
    }

    /// Its response cannot be identified, because the capture lacks some responses.
    pub(crate) fn lose(&mut self, now: Instant) {
        self.arrive_at_server(now);
        self.doubt(now, Direction::ToClient, Evidence::default());
    }

    /// Nothing more will come; it was left alone at `now`.
    pub(crate) fn abandon(&mut self, end: &AbruptEnd, now: Instant) {
        let &AbruptEnd { closed, asked, last, given_up } = end;
        // Only the protocol's framing would show whether the request was complete.
        let is_guess = matches!(self.state, State::Request) && !self.exact;
        if let (true, Some(way)) = (is_guess, asked) {
            gap::arrive(Phase::Request, way.until(now), &mut self.account);
            if given_up {
                self.state = State::Think(way);
            }
        }
        let left = closed.filter(|_| !matches!(self.state, State::Request)).unwrap_or(now);
        let packet = match self.state {
            State::Think(way) => way.packet,
            State::Request | State::Response => last.map_or(self.first_packet, |it| it.packet),
        };
        let (cause, direction) = match self.state {
            State::Request if is_guess => {
                let evidence = Evidence::of([asked.map_or(0, |it| it.packet), 0, 0]);
                return self.doubt(now, Direction::ToServer, evidence);
            }
            State::Think(_) if self.fell_into_hole => return self.lose(now),
            State::Request => (Cause::ApplicationLimited, Direction::ToServer),
            State::Think(_) => {
                self.arrive_at_server(left);
                (Cause::ServerThink, Direction::ToClient)
            }
            State::Response => {
                if let Some(way) = last {
                    gap::arrive(Phase::Response, way.until(now), &mut self.account);
                }
                (Cause::ApplicationLimited, Direction::ToClient)
            }
        };
        // Why the rest does not come, nothing shows before it has come.
        let evidence = Evidence::of([packet, 0, 0]);
        let verdict = Self::verdict(Rule::Unanswered, cause, direction, evidence);
        let rival = match closed {
            Some(_) => None,
            None if is_guess => Some(Cause::ApplicationLimited),
            None => Some(Cause::PathStall),
        };
        self.account.add(left, rival.map_or(verdict, |rival| verdict.or(rival)));
        let (rule, cause) = (Rule::OnItsWay, Cause::Propagation);
        self.account.add(now, Self::verdict(rule, cause, direction, Evidence::default()));
    }

    /// What of the time up to `limit` the request was on its way.
    fn arrive_at_server(&mut self, limit: Instant) {
        if let State::Think(way) = self.state {
            gap::arrive(Phase::Request, way.until(limit), &mut self.account);
        }
    }

    fn doubt(&mut self, until: Instant, direction: Direction, evidence: Evidence) {
        let (cause, confidence) = (Cause::Unknown, Confidence::Low);
        let verdict = Verdict::new(Rule::CaptureGap, cause, direction, evidence, confidence);
        self.account.add(until, verdict);
    }

    const fn verdict(
        rule: Rule,
        cause: Cause,
        direction: Direction,
        evidence: Evidence,
    ) -> Verdict {
        Verdict::new(rule, cause, direction, evidence, Confidence::High)
    }
}

#[cfg(test)]
mod tests;
