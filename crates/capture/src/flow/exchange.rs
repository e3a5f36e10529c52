//! One exchange while it goes on.

use std::num::{NonZeroU32, NonZeroU64};

use ackwise_cause::{Cause, Direction, Phase};
use ackwise_tcp::{Instant, Wait};

use super::heard::HeardByServer;
use crate::{
    attribution::{
        Account, Confidence, CorkHabit, CorkTimer, Evidence, Nanos, Share, Stall, Verdict,
        gap::{self, Gap, LastWay, Released},
        sender::{Departure, Left, Sender},
    },
    conversation::{ExchangeId, RequestHead},
    results::ExchangeResult,
};

/// An exchange that is not over.
#[derive(Clone, Debug)]
pub(crate) struct OpenExchange {
    pub id: ExchangeId,
    pub stream: u32,
    pub account: Account,
    state: State,
    /// The client no longer waits for 100 (Continue), if it ever did.
    continue_settled: bool,
    pub head: Option<Box<RequestHead>>,
    pub status: Option<u16>,
    pub request: [u64; 2],
    pub response: [u64; 2],
    pub exact: bool,
    /// The protocol's framing gives the ends of the request.
    pub request_exact: bool,
    pub multiplexed: bool,
    pub first_packet: u64,
    /// Those in which the response begins and ends; 0 if unknown.
    answered_in: [u64; 2],
    /// The capture lacks the end of the request or the beginning of the response.
    fell_into_hole: bool,
    /// The response has begun before the request had ended.
    still_asks: bool,
    /// How far the server is, something has shown.
    knows_way: bool,
    /// The packet of the last interim response that came after the request; 0 if none did.
    interim: u64,
    /// How many of the connection's responses had ended when this exchange was last looked at.
    after: u64,
    /// When the last byte of the response was acknowledged, if that was waited for.
    pub acknowledged: Option<Instant>,
}

/// The last response on a connection that has ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EarlierEnd {
    /// How many have, this one included.
    pub count: u64,
    pub until: Instant,
    pub packet: u64,
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

/// Whether the server had the request, by what was seen before its response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Asked {
    /// An acknowledgement showed it, or the capture is the server's.
    Known,
    /// An acknowledgement came, so late that it may have been the request which was late; or the capture lacks those
    /// without data.
    Late,
    /// Nothing did.
    Unheard,
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
            continue_settled: false,
            head: None,
            status: None,
            request: [position, position],
            response: [0, 0],
            exact: true,
            request_exact: true,
            multiplexed: false,
            first_packet: 0,
            answered_in: [0; 2],
            fell_into_hole: false,
            still_asks: false,
            knows_way: true,
            interim: 0,
            after: 0,
            acknowledged: None,
        }
    }

    /// The exchange begins behind this.
    pub(crate) fn behind(self, earlier: &EarlierEnd) -> Self {
        Self { after: earlier.count, ..self }
    }

    /// Data has left in `direction`; what did the exchange wait for until then?
    pub(crate) fn handle_gap(&mut self, gap: &Gap, direction: Direction) {
        match (self.state, direction) {
            (State::Request, Direction::ToServer) if self.awaits_continue() => {
                self.send_without_continue(gap)
            }
            (State::Request, Direction::ToServer) => gap.divide(Phase::Request, &mut self.account),
            // The server may have waited for the rest of the request, as in a stream of messages both ways.
            (State::Response, Direction::ToClient) if self.still_asks => {
                let mut gap = *gap;
                gap.hold.confidence = gap.hold.confidence.min(Confidence::Medium);
                gap.divide(Phase::Response, &mut self.account);
            }
            (State::Response, Direction::ToClient) => {
                gap.divide(Phase::Response, &mut self.account)
            }
            // The request is sent again: it had not arrived.
            (State::Think(_), Direction::ToServer) if gap.sends_again() => {
                gap.divide(Phase::Request, &mut self.account);
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
        self.add(gap.until, Cause::ServerThink, Direction::ToClient, gap.evidence);
    }

    /// How long the `way` to the server takes may not have been known when the last of the request, `asked`, left;
    /// or still `is_known` to nobody.
    pub(crate) fn learn_way(&mut self, asked: Option<Departure>, way: Nanos, is_known: bool) {
        self.knows_way = is_known;
        if let (State::Think(last), Some(asked)) = (&mut self.state, asked)
            && last.packet == asked.packet
        {
            last.arrives = last.arrives.max(asked.seen + way);
        }
    }

    /// All of the request has left, in `last`, or a part of it again.
    pub(crate) const fn request_sent(&mut self, free_at: Instant, last: &Departure) {
        self.still_asks = false;
        if matches!(self.state, State::Request | State::Think(_)) {
            self.state = State::Think(last.way(free_at));
        }
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
        self.add(interim.sent, Cause::ServerThink, Direction::ToClient, evidence);
        self.add(interim.arrives, Cause::Propagation, Direction::ToClient, evidence);
    }

    /// The same if the server has the whole request: what it does then has an account of its own, because nothing can
    /// have held the response before.
    pub(crate) fn think_until_interim(
        &mut self,
        interim: &Departure,
        asked: Asked,
        round_trip: Nanos,
    ) {
        if self.waits_for_response() {
            self.think(interim, asked, Some(round_trip), &mut CorkHabit::default());
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
    pub(crate) fn handle_earlier_end(&mut self, &EarlierEnd { count, until, packet }: &EarlierEnd) {
        if std::mem::replace(&mut self.after, count) < count && self.waits_for_response() {
            self.arrive_at_server(until);
            let evidence = Evidence::of([packet, 0, 0]);
            self.add(until, Cause::HeadOfLine, Direction::ToClient, evidence);
        }
    }

    /// A server takes as long for an answer without anybody's fault. Our choice.
    const BRIEF: Nanos = Nanos::from_millis(1);
    /// A server acknowledges a request within this time, whatever it does: of the stacks in use, Windows and
    /// BSD wait longest. RFC 1122, section 4.2.3.2, allows 0.5 s.
    const USUAL_ACK_DELAY: Nanos = Nanos::from_millis(200);
    /// Linux does within 40 ms (`TCP_ATO_MIN`), and its timer is late by a tick or two of 4 ms.
    const SHORT_ACK_DELAY: Nanos = Nanos::from_millis(50);

    /// A request that is not acknowledged is sent again after this time, whatever sends it: RFC 6298, section 2.
    const LEAST_TIMEOUT: Nanos = Nanos::from_millis(1_000);

    /// Whether an acknowledgement showed in time that the server had the request.
    pub(crate) fn asked(&self, heard: HeardByServer, round_trip: Nanos) -> Asked {
        let State::Think(LastWay { arrives, .. }) = self.state else { return Asked::Known };
        if heard.position < self.request[1] {
            return Asked::Unheard;
        }
        let late = Nanos::between(arrives, heard.at);
        if late <= round_trip + Self::SHORT_ACK_DELAY { Asked::Known } else { Asked::Late }
    }

    /// What the server did until `first` of the response was sent.
    /// Where `round_trip` is known, a long silence may be that of the path, and a short beginning may
    /// have been corked.
    fn think(
        &mut self,
        first: &Departure,
        asked: Asked,
        round_trip: Option<Nanos>,
        corks: &mut CorkHabit,
    ) {
        if let State::Think(LastWay { packet, .. }) = self.state {
            let queued = first.queued.unwrap_or_default();
            let sent = first.sent - queued;
            self.arrive_at_server(sent);
            let since = Nanos::between(self.account.cursor(), sent);
            // Longer than any server keeps its ACK: the request was not there. Or the capture lacks the ACK, if
            // the client did not send again.
            let usual = Self::USUAL_ACK_DELAY + Self::BRIEF..=Self::LEAST_TIMEOUT;
            let unheard = asked == Asked::Unheard && usual.contains(&since);
            let asked = asked == Asked::Known || since <= Self::SHORT_ACK_DELAY;
            let short = round_trip.is_none_or(|it| since <= Stall::least(it));
            let shown = first.left == Left::AsSeen || first.queued.is_some();
            let is_brief = round_trip.is_none_or(|it| since <= (it / 8).max(Self::BRIEF));
            let corked =
                first.small && round_trip.is_some_and(|it| CorkTimer::may_have_run(since, it));
            let far = |it| CorkTimer::may_have_run_far_away(since, it);
            let may_be_corked = corked || (first.small && round_trip.is_some_and(far));
            let is_habit = corked
                && first.left != Left::Earlier
                && round_trip.is_some_and(|it| corks.note(since, it));
            // An acknowledgement of its own, behind the request, released it.
            let before = packet.max(self.interim);
            let released = first.released.filter(|it| it.ack > before);
            let from = if released.is_some() { before } else { packet };
            let evidence = Evidence::of([from, first.packet, 0]);
            let (cause, rival) = match first.left {
                _ if let Some(Released { cause, is_sure, .. }) = released => {
                    match is_sure || self.interim > 0 {
                        true => (cause, Some(Cause::ServerThink)),
                        false => (Cause::ServerThink, Some(cause)),
                    }
                }
                // Whether the server had it ready so long, nothing shows.
                _ if first.takes_silly_window && Sender::OVERRIDE.contains(&since) => {
                    (Cause::SillyWindow, Some(Cause::ServerThink))
                }
                _ if first.takes_silly_window && since > *Sender::OVERRIDE.end() => {
                    (Cause::ServerThink, Some(Cause::SillyWindow))
                }
                // Behind the data before, and nothing of the answer came: that is what was lost.
                _ if !short && first.lost_before => {
                    (Cause::RetransmissionTimeout, Some(Cause::ServerThink))
                }
                _ if is_habit => (Cause::CorkTimer, Some(Cause::ServerThink)),
                Left::AsSeen if may_be_corked && !unheard => {
                    (Cause::ServerThink, Some(Cause::CorkTimer))
                }
                _ if short && (is_brief || shown) => (Cause::ServerThink, None),
                _ if short => (Cause::ServerThink, Some(Cause::Queueing)),
                Left::Earlier => (Cause::PathStall, Some(Cause::ServerThink)),
                Left::AsSeen if first.seems_lost_before => {
                    (Cause::RetransmissionTimeout, Some(Cause::ServerThink))
                }
                _ if unheard => (Cause::PathStall, Some(Cause::ServerThink)),
                Left::AsSeen if asked => (Cause::ServerThink, None),
                Left::AsSeen | Left::Unknown => (Cause::ServerThink, Some(Cause::PathStall)),
            };
            let is_way = cause == Cause::ServerThink && !self.knows_way;
            let rival = rival.or_else(|| is_way.then_some(Cause::Propagation));
            let held = released.filter(|it| it.cause == cause).and_then(|it| it.acknowledged);
            if let Some([since, arrived, until]) = held {
                self.wait_for_answer(since.min(sent), Cause::ServerThink, Some(cause), evidence);
                // The way there and back is nobody's delay.
                self.wait_for_answer(arrived.min(sent), Cause::NagleRtt, rival, evidence);
                self.wait_for_answer(until.min(sent), Cause::NagleDelayedAck, rival, evidence);
                self.wait_for_answer(sent, Cause::NagleRtt, rival, evidence);
            }
            self.wait_for_answer(sent, cause, rival, evidence);
            let stalls = round_trip.is_some_and(|it| queued > Stall::least(it));
            let rival = if stalls { Cause::PathStall } else { Cause::ServerThink };
            self.wait_for_answer(first.sent, Cause::Queueing, Some(rival), evidence);
        }
    }

    /// The first data of the response is sent in `first`.
    pub(crate) fn begin_response(
        &mut self,
        first: &Departure,
        asked: Asked,
        round_trip: Option<Nanos>,
        corks: &mut CorkHabit,
    ) {
        self.think(first, asked, round_trip, corks);
        if matches!(self.state, State::Request) {
            self.begin_early(first, round_trip);
        }
        if self.answered_in[0] == 0 {
            self.answered_in[0] = first.packet;
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
            Verdict::new(Cause::Propagation, Direction::ToServer, evidence, Confidence::High);
        self.account.add(arrives.min(first.sent), on_its_way.or(Cause::ServerThink));
        let rival = Some(Cause::ApplicationLimited);
        self.wait_for_answer(first.sent, Cause::ServerThink, rival, evidence);
    }

    /// The last of the response was seen in `last`.
    pub(crate) fn end_response(&mut self, free_at: Instant, last: &Departure) {
        if !matches!(self.state, State::Response) {
            self.begin_response(last, Asked::Known, None, &mut CorkHabit::default());
        }
        self.answered_in[1] = last.packet;
        let way = LastWay { arrives: last.seen, ..last.way(free_at) };
        gap::arrive(Phase::Response, way, &mut self.account);
    }

    /// Attributes the time before the response, unless the capture lacks what would show why.
    fn wait_for_answer(
        &mut self,
        until: Instant,
        cause: Cause,
        rival: Option<Cause>,
        evidence: Evidence,
    ) {
        let (direction, confidence) = (Direction::ToClient, Confidence::High);
        if self.fell_into_hole {
            return self.doubt(until, direction, evidence);
        }
        let verdict = Verdict::new(cause, direction, evidence, confidence);
        let verdict = rival.map_or(verdict, |rival| verdict.or(rival));
        // What is written under a cork and what is written late look the same, if either lasts as long as its timer.
        let verdict = match (cause, rival) {
            (Cause::ServerThink, Some(Cause::CorkTimer)) => {
                Verdict { confidence: Confidence::Low, ..verdict }
            }
            _ => verdict,
        };
        self.account.add(until, verdict);
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
        let verdict = Verdict::new(cause, direction, evidence, Confidence::High);
        let rival = match closed {
            Some(_) => None,
            None if is_guess => Some(Cause::ApplicationLimited),
            None => Some(Cause::PathStall),
        };
        self.account.add(left, rival.map_or(verdict, |rival| verdict.or(rival)));
        self.add(now, Cause::Propagation, direction, Evidence::default());
    }

    /// What of the time up to `limit` the request was on its way.
    fn arrive_at_server(&mut self, limit: Instant) {
        if let State::Think(way) = self.state {
            gap::arrive(Phase::Request, way.until(limit), &mut self.account);
        }
    }

    /// What is known of it, as one of the `connection` with that number.
    pub(crate) fn into_result(
        mut self,
        connection: u32,
        complete: bool,
        round_trip: Nanos,
    ) -> ExchangeResult {
        let stretches = self.account.take_stretches().into();
        // Without framing, two requests look like one with a pause.
        let is_guess = |share: &Share| {
            !self.request_exact
                && (share.cause, share.direction)
                    == (Cause::ApplicationLimited, Direction::ToServer)
        };
        let sure = |share: Share| match is_guess(&share) {
            true => Share { confidence: Confidence::Low, ..share },
            false => share,
        };
        let request = self.head.as_ref().map(|head| {
            let method = head.method.as_deref().unwrap_or("?");
            [method, " ", head.path.as_deref().unwrap_or("?")].concat().into()
        });
        ExchangeResult {
            connection,
            start: self.account.from(),
            duration: self.account.cursor().since(self.account.from()),
            request,
            status: self.status,
            bytes: [self.request, self.response].map(|[from, to]| to.saturating_sub(from)),
            stream: self.stream,
            packet: self.first_packet,
            answered_after: self.answered_in.map(|packet| {
                let after = packet.saturating_sub(self.first_packet);
                NonZeroU32::new(u32::try_from(after).unwrap_or(0))
            }),
            acknowledged_after: self.acknowledged.and_then(|at| {
                let nanos = at.saturating_since(self.account.cursor()).as_nanos();
                NonZeroU64::new(u64::try_from(nanos).unwrap_or(u64::MAX))
            }),
            round_trip: round_trip.into(),
            complete,
            exact: self.exact,
            shares: self.account.shares().map(sure).collect(),
            stretches,
        }
    }

    fn doubt(&mut self, until: Instant, direction: Direction, evidence: Evidence) {
        let (cause, confidence) = (Cause::Unknown, Confidence::Low);
        self.account.add(until, Verdict::new(cause, direction, evidence, confidence));
    }

    fn add(&mut self, until: Instant, cause: Cause, direction: Direction, evidence: Evidence) {
        self.account.add(until, Verdict::new(cause, direction, evidence, Confidence::High));
    }
}
