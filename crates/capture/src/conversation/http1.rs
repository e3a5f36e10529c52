//! HTTP/1: requests in order, responses in the same order.

mod head;
mod pipeline;
mod reader;

use ackwise_cause::Direction;
use head::{Answers, Expected};
use pipeline::{Asked, Pipeline};
use reader::{Reader, Step};

use super::{
    Event, ExchangeId, MessageNews, ResponseHead, Switch, TokenKind, Tunnel, guess,
    log::Log,
    span::{Edge, Span, Start},
    turns::Turns,
};

/// Both directions of an HTTP/1 connection.
#[derive(Clone, Debug)]
pub(super) struct Http1 {
    requests: Reader,
    responses: Reader,
    /// Where the streams have come to.
    asked_to: u64,
    answered_to: u64,
    pipeline: Pipeline,
    asking: Asking,
    reply: Reply,
}

/// The request that is under way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Asking {
    Nothing,
    /// `None` if it is not told of.
    Request(Option<ExchangeId>),
}

/// The response that is under way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Reply {
    Nothing,
    /// It may turn out to be an interim one.
    Head(Edge),
    /// `None` if it answers no request that was reported.
    Body(Option<ExchangeId>),
    /// A stream of events whose first one is waited for, and what came before it.
    FirstEvent(ExchangeId, MessageNews),
    /// A stream of events, behind the exchange that opened it.
    Events(ExchangeId),
}

impl Http1 {
    /// From the first byte of a connection on, or from its middle.
    pub(super) fn new(start: Start) -> Self {
        Self {
            requests: Reader::new(guess::request_line, start),
            responses: Reader::new(guess::status_line, start),
            asked_to: 0,
            answered_to: 0,
            pipeline: Pipeline::default(),
            asking: Asking::Nothing,
            reply: Reply::Nothing,
        }
    }

    /// From the middle of a connection on which `exchange` was asked.
    pub(super) fn resume(exchange: ExchangeId) -> Self {
        let mut http1 = Self::new(Start::Middle);
        http1.pipeline.push(exchange);
        http1
    }

    pub(super) fn handle(
        &mut self,
        direction: Direction,
        span: &mut Span<'_>,
        log: &mut Log,
    ) -> Option<Switch> {
        match direction {
            Direction::ToServer => {
                self.asked_to = span.end();
                self.handle_requests(span, log)
            }
            Direction::ToClient => {
                self.answered_to = span.end();
                self.handle_responses(span, log)
            }
        }
    }

    /// Bytes that it takes in memory, about.
    pub(super) fn cost(&self) -> usize {
        size_of::<Self>()
            + self.requests.held()
            + self.responses.held()
            + self.pipeline.len() * size_of::<Asked>()
    }

    /// Whether a segment is of the middle of a body, and says nothing else: that is nearly all of them.
    pub(super) fn would_pass(&self, direction: Direction, span: &Span<'_>) -> bool {
        match direction {
            Direction::ToServer => self.requests.would_pass(span),
            Direction::ToClient => self.responses.would_pass(span),
        }
    }

    /// Takes one that [would pass](Self::would_pass).
    pub(super) fn pass(&mut self, direction: Direction, span: &Span<'_>) {
        let (reader, position) = match direction {
            Direction::ToServer => (&mut self.requests, &mut self.asked_to),
            Direction::ToClient => (&mut self.responses, &mut self.answered_to),
        };
        reader.pass(span);
        *position = span.end();
    }

    fn handle_requests(&mut self, span: &mut Span<'_>, log: &mut Log) -> Option<Switch> {
        loop {
            match self.requests.advance(span, &mut log.tokens(Direction::ToServer)) {
                Step::NeedsMore => {
                    if span.is_gap() && !self.requests.knows_end() {
                        self.pipeline.push_hole();
                    }
                    return None;
                }
                // The number of requests in a hole is unknown, and so is when they were sent.
                Step::Begins(_) if span.is_gap() => {
                    self.requests.end_turn();
                    self.pipeline.push_hole();
                    span.take_all();
                    return None;
                }
                Step::Begins(edge) => self.begin_request(edge, log),
                Step::Head { start, end, bytes } => {
                    let Some(asks) = head::request(&bytes, end) else {
                        log.token(Direction::ToServer, start, || TokenKind::Unreadable(0));
                        return Some(self.give_up(start, log));
                    };
                    match asks.framing {
                        Some(framing) => self.requests.follow(framing, end),
                        None => self.requests.follow_turn(end),
                    }
                    self.note_request(asks, log);
                }
                Step::CutHead { bytes } => {
                    if let Some(asks) = head::cut_request(&bytes) {
                        self.note_request(asks, log);
                    }
                }
                // A request is none.
                Step::Messages(_) => {}
                Step::Ends(edge) => self.end_request(edge, log),
                Step::Broken { start } => return Some(self.give_up(start, log)),
            }
        }
    }

    /// Where the head begins that is under way.
    pub(super) const fn undecided(&self, direction: Direction) -> Option<u64> {
        match direction {
            Direction::ToServer => self.requests.head_start(),
            Direction::ToClient => self.responses.head_start(),
        }
    }

    fn begin_request(&mut self, edge: Edge, log: &mut Log) {
        // With an unanswered request before this one, the response is more likely to that one.
        if let (Some(end), true) = (self.responses.turn(), self.pipeline.is_empty()) {
            self.responses.end_turn();
            self.end_response(Edge::guessed(end), log);
        }
        let is_within =
            matches!(self.reply, Reply::Body(_) | Reply::FirstEvent(..) | Reply::Events(_));
        if !is_within || !self.responses.knows_end() {
            self.pipeline.pass_hole();
        }
        self.asking = Asking::Request(if self.pipeline.has_room() {
            let exchange = log.begin(0, edge);
            self.pipeline.push(exchange);
            Some(exchange)
        } else {
            self.pipeline.push_untold();
            log.pass_over();
            None
        });
    }

    fn note_request(&mut self, asks: head::Asks, log: &mut Log) {
        self.pipeline.expect(asks.expected);
        if let Asking::Request(Some(exchange)) = self.asking {
            log.push_head(exchange, || asks.head);
        }
    }

    fn end_request(&mut self, edge: Edge, log: &mut Log) {
        if let Asking::Request(Some(exchange)) = self.asking {
            log.push(Event::RequestEnds { exchange, position: edge.at, exact: edge.exact });
        }
        self.asking = Asking::Nothing;
    }

    fn handle_responses(&mut self, span: &mut Span<'_>, log: &mut Log) -> Option<Switch> {
        loop {
            match self.responses.advance(span, &mut log.tokens(Direction::ToClient)) {
                Step::NeedsMore => return None,
                Step::Begins(edge) => {
                    // The hole may contain one response or several.
                    if span.is_gap() && self.pipeline.len() > 1 {
                        self.pipeline.push_hole_first();
                    }
                    self.lose_unpaired(log);
                    self.reply = Reply::Head(edge);
                }
                Step::Head { start, end, bytes } => {
                    let expected = self.expected();
                    let Some(answers) = head::response(&bytes, expected, end) else {
                        log.token(Direction::ToClient, start, || TokenKind::Unreadable(0));
                        return Some(self.give_up(start, log));
                    };
                    if let Some(switch) = self.note_response(answers, expected, end, log) {
                        return Some(switch);
                    }
                }
                Step::CutHead { bytes } => {
                    let answers = head::cut_response(&bytes);
                    if let Some(switch) = self.note_cut_response(answers, span.end(), log) {
                        return Some(switch);
                    }
                }
                Step::Messages(news) => {
                    if news != MessageNews::default() {
                        self.note_events(news, span.at(), log);
                    }
                }
                Step::Ends(edge) => self.end_response(edge, log),
                Step::Broken { start } => return Some(self.give_up(start, log)),
            }
        }
    }

    fn expected(&self) -> Expected {
        self.pipeline.front().map_or(Expected::Ordinary, |asked| asked.expected)
    }

    /// Acts on a whole head: what follows it?
    fn note_response(
        &mut self,
        Answers { head, framing, upgrades_to_websocket, events }: Answers,
        expected: Expected,
        end: u64,
        log: &mut Log,
    ) -> Option<Switch> {
        match (head.status, expected) {
            (Some(101), Expected::Http2) => {
                self.note_interim(101, end, log);
                self.finish_request(log);
                let exchange = self.pipeline.pop()?.exchange;
                self.abandon(log);
                return Some(Switch::Http2 { exchange });
            }
            (Some(status @ (100 | 102..=199)), _) => {
                self.responses.follow_nothing();
                self.note_interim(status, end, log);
                return None;
            }
            _ => self.answer(Some(head), log),
        }
        if let Some(tunnel) = opens(head.status, expected, upgrades_to_websocket) {
            return Some(self.open_tunnel(tunnel, Edge::exact(end), log));
        }
        if let (Reply::Body(Some(exchange)), Some(framing), Some(events)) =
            (self.reply, framing, events)
        {
            // Who asks with GET may listen to what happens, as an EventSource does (HTML, section 9.2).
            if expected == Expected::Events && events.are_readable() {
                self.reply = Reply::FirstEvent(exchange, MessageNews::default());
            } else {
                let waited = Event::ResponseEnds { exchange, position: end, exact: true };
                self.begin_events(exchange, waited, log);
            }
            self.responses.follow_events(framing, events, end);
            return None;
        }
        // What answers a request that the capture lacks, may answer a HEAD: then its length is that of nothing.
        let is_asked = matches!(self.reply, Reply::Body(Some(_)));
        match framing.filter(|_| is_asked) {
            Some(framing) => self.responses.follow(framing, end),
            None => self.responses.follow_turn(end),
        }
        None
    }

    /// What `waited` says ends an exchange that goes on as a stream of events.
    fn begin_events(&mut self, exchange: ExchangeId, waited: Event, log: &mut Log) {
        log.push(Event::TunnelBegins { exchange, tunnel: Tunnel::EventStream });
        log.push(waited);
        if self.asking == Asking::Request(Some(exchange)) {
            self.asking = Asking::Request(None); // What is left of it interests nobody.
        }
        self.reply = Reply::Events(exchange);
    }

    /// Takes what is next of a stream of events, up to `position`.
    fn note_events(&mut self, news: MessageNews, position: u64, log: &mut Log) {
        match &mut self.reply {
            Reply::FirstEvent(exchange, before) => {
                let exchange = *exchange;
                before.add(news);
                let waited = match *before {
                    MessageNews { ended: 1.., .. } => {
                        Event::ResponseEnds { exchange, position, exact: true }
                    }
                    // When the first one ended, is not known.
                    MessageNews { lost: true, .. } => Event::Unjudged { exchange },
                    _ => return,
                };
                let news = *before;
                self.begin_events(exchange, waited, log);
                log.push_messages(exchange, Direction::ToClient, news);
            }
            Reply::Events(exchange) => {
                log.push_messages(*exchange, Direction::ToClient, news);
            }
            Reply::Nothing | Reply::Head { .. } | Reply::Body(_) => {}
        }
    }

    /// The response that ends at `end` is the last message that can be read.
    fn open_tunnel(&mut self, tunnel: Tunnel, end: Edge, log: &mut Log) -> Switch {
        let opener = match self.reply {
            Reply::Body(opener) => opener,
            _ => None,
        };
        if let Some(exchange) = opener {
            log.push(Event::TunnelBegins { exchange, tunnel });
        }
        self.end_response(end, log);
        self.abandon(log);
        match (tunnel, opener) {
            (Tunnel::Connect, _) => Switch::Connect,
            // Of a head that was cut, nobody knows where frames begin.
            (Tunnel::WebSocket, Some(exchange)) if end.exact => Switch::WebSocket(exchange),
            _ => Switch::Tunnel(tunnel),
        }
    }

    /// Acts on what was captured of a head in a segment that ends at `end`.
    fn note_cut_response(
        &mut self,
        answers: Option<Answers>,
        end: u64,
        log: &mut Log,
    ) -> Option<Switch> {
        let expected = self.expected();
        let to_websocket = answers.as_ref().is_some_and(|it| it.upgrades_to_websocket);
        let head = answers.map(|answers| answers.head);
        match head.and_then(|head| head.status) {
            Some(status @ (100 | 102..=199)) => {
                // It has no body, and what comes after it is written later.
                self.responses.end_turn();
                self.note_interim(status, end, log);
            }
            status => {
                self.answer(head, log);
                // Such a head comes alone: what follows it is the other protocol's.
                let tunnel = opens(status, expected, to_websocket)?;
                return Some(self.open_tunnel(tunnel, Edge::guessed(end), log));
            }
        }
        None
    }

    fn note_interim(&mut self, status: u16, end: u64, log: &mut Log) {
        if let (Reply::Head(Edge { at: start, .. }), Some(asked)) =
            (self.reply, self.pipeline.front())
        {
            log.push(Event::Interim { exchange: asked.exchange, status, start, end });
        }
        self.reply = Reply::Nothing;
    }

    /// A final response has begun, with `head` if that can be seen.
    fn answer(&mut self, head: Option<ResponseHead>, log: &mut Log) {
        self.finish_request(log);
        let exchange = self.pipeline.pop().map(|asked| asked.exchange);
        if let (Reply::Head(Edge { at: position, exact }), Some(exchange)) = (self.reply, exchange)
        {
            log.push(Event::ResponseBegins { exchange, position, exact });
            if let Some(head) = head {
                log.push(Event::ResponseHead { exchange, head });
            }
        }
        self.reply = Reply::Body(exchange);
    }

    /// Ends the request that is being answered, if only that shows its end.
    fn finish_request(&mut self, log: &mut Log) {
        let answered = self.pipeline.front().map(|asked| asked.exchange);
        if let (Some(end), true) = (self.requests.turn(), self.asking == Asking::Request(answered))
        {
            self.requests.end_turn();
            self.end_request(Edge::guessed(end), log);
        }
    }

    fn end_response(&mut self, edge: Edge, log: &mut Log) {
        if let Reply::Body(Some(exchange)) | Reply::FirstEvent(exchange, _) = self.reply {
            log.push(Event::ResponseEnds { exchange, position: edge.at, exact: edge.exact });
            if self.asking == Asking::Request(Some(exchange)) {
                self.asking = Asking::Request(None); // What is left of it interests nobody.
            }
        }
        self.end_events(log);
        self.reply = Reply::Nothing;
    }

    /// A stream of events is over, if one is under way.
    fn end_events(&self, log: &mut Log) {
        if let Reply::Events(exchange) = self.reply {
            log.push(Event::TunnelEnds { exchange });
        }
    }

    pub(super) fn handle_end(&mut self, direction: Direction, log: &mut Log) {
        match (direction, self.requests.turn()) {
            (Direction::ToClient, _) => self.handle_abort(log),
            (Direction::ToServer, Some(end)) => {
                self.requests.end_turn();
                self.end_request(Edge::guessed(end), log);
            }
            (Direction::ToServer, None) => {}
        }
    }

    pub(super) fn handle_abort(&mut self, log: &mut Log) {
        match (self.reply, self.responses.end_at_close()) {
            (Reply::Body(_) | Reply::FirstEvent(..), Some(end)) => {
                self.end_response(end, log);
            }
            (Reply::Body(Some(exchange)) | Reply::FirstEvent(exchange, _), None) => {
                log.push(Event::Abandoned { exchange, stream: None })
            }
            _ => self.end_events(log),
        }
        self.reply = Reply::Nothing;
        self.responses.end_turn();
        self.abandon(log);
    }

    /// Gives up requests behind a hole: the next response may answer any of them.
    fn lose_unpaired(&mut self, log: &mut Log) {
        for exchange in self.pipeline.take_unpaired() {
            log.push(Event::Lost { exchange });
            if self.asking == Asking::Request(Some(exchange)) {
                self.asking = Asking::Request(None);
            }
        }
    }

    fn abandon(&mut self, log: &mut Log) {
        self.asking = Asking::Nothing;
        for exchange in self.pipeline.drain() {
            log.push(Event::Abandoned { exchange, stream: None });
        }
    }

    /// The bytes from `start` on are not HTTP: the oldest exchange that is open goes on by turns.
    fn give_up(&mut self, start: u64, log: &mut Log) -> Switch {
        let turns = match (self.reply, self.pipeline.front()) {
            (Reply::Body(Some(exchange)) | Reply::FirstEvent(exchange, _), _) => {
                Turns::Response { exchange, end: self.answered_to }
            }
            (_, Some(asked)) => {
                self.pipeline.pop();
                let exchange = asked.exchange;
                if self.asking == Asking::Request(Some(exchange)) {
                    Turns::Request { exchange, end: self.asked_to }
                } else {
                    Turns::Asked { exchange }
                }
            }
            (_, None) => Turns::Idle,
        };
        self.abandon(log);
        Switch::Turns { turns, start }
    }
}

/// What a response with this status opens.
#[expect(clippy::fn_params_excessive_bools, reason = "a field of the response")]
const fn opens(status: Option<u16>, expected: Expected, to_websocket: bool) -> Option<Tunnel> {
    match (status, expected) {
        (Some(101), Expected::Http2) => None,
        (Some(101), Expected::WebSocket) => Some(Tunnel::WebSocket),
        (Some(101), _) if to_websocket => Some(Tunnel::WebSocket),
        (Some(101), _) => Some(Tunnel::Upgrade),
        (Some(200..=299), Expected::Tunnel) => Some(Tunnel::Connect),
        _ => None,
    }
}
