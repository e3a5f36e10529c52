//! The streams of a connection that carry exchanges.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

use ackwise_cause::{Direction, GrpcStatus, H2Window};
use ackwise_http::http2::frame::{END_STREAM, PADDED};

use super::{
    super::{
        Event, ExchangeId, RequestHead, ResponseHead, StreamEnd, Tunnel,
        log::Log,
        messages::Events,
        span::{Edge, Span},
    },
    Reads,
    fields::{Block, ContentType},
    frames::Frame,
    messages::{BecameStream, HasAsked, Messages, Shape},
    windows::{FlowWindow, INITIAL_WINDOW, Room},
};
use crate::limits::OPEN_REQUESTS;

/// Open streams that a client began, at most [`OPEN_REQUESTS`]: further ones are not told of.
#[derive(Clone, Debug)]
pub(super) struct Streams {
    open: BTreeMap<u32, Stream>,
    /// The server answers none above this one.
    refused: Option<(u32, StreamEnd)>,
    /// Streams that have become tunnels, at most as many: of further ones messages and the end are not told.
    tunnels: BTreeMap<u32, ExchangeId>,
    messages: Messages,
    /// Largest stream that a client began.
    last: u32,
    /// The largest that was told of.
    told: u32,
    /// The size that SETTINGS gives each window, for DATA to the server and to the client.
    initial: [i64; 2],
    /// Open streams with a window that is used up, by what is left of that.
    blocked: [BTreeSet<(i64, u32)>; 2],
    /// Up to which stream it is noted that ends may have been missed: nobody looks at all streams for each byte that the
    /// capture lacks.
    lost: Noted,
}

/// The last streams of which it is noted that their ends may have been missed.
#[derive(Clone, Copy, Debug, Default)]
struct Noted {
    requests_to: u32,
    responses_to: u32,
    /// There may be open ones with such a response.
    some_responses: bool,
}

#[derive(Clone, Copy, Debug)]
struct Stream {
    exchange: ExchangeId,
    request: Request,
    response: Response,
    /// The method is POST: a stream of events is what was asked for. Who asks with GET may listen to what happens, as an
    /// EventSource does (HTML, section 9.2).
    posts: bool,
    /// What a 2xx response makes of it.
    tunnel: Option<Tunnel>,
    /// For DATA to the server and to the client, beside the size that SETTINGS gives.
    windows: [FlowWindow; 2],
    /// That it overlaps with others has been told.
    overlaps: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Request {
    Nameless,
    Body,
    /// Its end may not be captured.
    Lost,
    Ended,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Response {
    Awaited,
    Body,
    /// Its end may not be captured.
    Lost,
}

impl Streams {
    pub(super) const fn new() -> Self {
        Self {
            open: BTreeMap::new(),
            refused: None,
            tunnels: BTreeMap::new(),
            messages: Messages::new(),
            last: 0,
            told: 0,
            initial: [INITIAL_WINDOW; 2],
            blocked: [BTreeSet::new(), BTreeSet::new()],
            lost: Noted { requests_to: 0, responses_to: 0, some_responses: false },
        }
    }

    fn insert(&mut self, id: u32, stream: Stream) {
        self.open.insert(id, stream);
        self.told = id;
    }

    fn remove(&mut self, id: u32) -> Option<Stream> {
        self.messages.end(id);
        self.close(id)
    }

    /// Its exchange is over.
    fn close(&mut self, id: u32) -> Option<Stream> {
        let stream = self.open.remove(&id)?;
        for (blocked, window) in self.blocked.iter_mut().zip(stream.windows) {
            if window.is_blocked() {
                blocked.remove(&(window.left(), id));
            }
        }
        Some(stream)
    }

    /// Goes on with a request that was asked before, in HTTP/1.
    pub(super) fn resume(&mut self, exchange: ExchangeId) {
        self.last = 1;
        self.insert(1, Stream { request: Request::Ended, ..Stream::new(exchange) });
    }

    /// Bytes that the open ones take, about.
    pub(super) fn held(&self) -> usize {
        self.open.len() * 2 * size_of::<Stream>() + self.tunnels.len() * 16 + self.messages.held()
    }

    /// Whether HEADERS of the client on `stream` begin a request, and are not its trailers.
    pub(super) const fn is_new(&self, stream: u32) -> bool {
        stream > self.last
    }

    /// The stream that the client's next request is on, if nothing else is under way.
    pub(super) fn next_if_none_is_open(&self) -> Option<u32> {
        self.open.is_empty().then(|| if self.last == 0 { 1 } else { self.last.saturating_add(2) })
    }

    pub(super) fn begin(&mut self, stream: u32, edge: Edge, log: &mut Log) {
        self.last = stream;
        if self.open.len() < OPEN_REQUESTS {
            let exchange = log.begin(stream, edge);
            self.insert(stream, Stream::new(exchange));
        } else {
            log.pass_over();
        }
    }

    /// Tells what a request asks, unless that has been told.
    pub(super) fn name(
        &mut self,
        id: u32,
        block: &Block,
        head: impl FnOnce() -> RequestHead,
        log: &mut Log,
    ) {
        let Some(stream) = self.open.get_mut(&id) else { return };
        if stream.request == Request::Nameless {
            stream.request = Request::Body;
            stream.posts = block.method.as_deref() == Some("POST");
            log.push_head(stream.exchange, head);
            if block.content_type == ContentType::Grpc {
                self.messages.begin_call(id, stream.exchange);
            }
        }
    }

    pub(super) fn interim(&self, stream: u32, status: u16, at: Range<u64>, log: &mut Log) {
        if let Some(&Stream { exchange, .. }) = self.open.get(&stream) {
            log.push(Event::Interim { exchange, status, start: at.start, end: at.end });
        }
    }

    /// Begins a response, unless it has begun; whether it does. The client's stream has come to
    /// `asked`.
    pub(super) fn answer(&mut self, stream: u32, position: u64, asked: u64, log: &mut Log) -> bool {
        let Some(stream) = self.open.get_mut(&stream) else { return false };
        let begins = stream.response == Response::Awaited;
        if begins {
            stream.response = Response::Body;
            stream.begin_response(Edge::exact(position), asked, log);
        }
        begins
    }

    pub(super) fn name_response(&self, stream: u32, head: ResponseHead, log: &mut Log) {
        if let Some(&Stream { exchange, .. }) = self.open.get(&stream) {
            log.push(Event::ResponseHead { exchange, head });
        }
    }

    /// Tells how a gRPC call ended.
    pub(super) fn tell_status(&self, stream: u32, status: GrpcStatus, log: &mut Log) {
        let open = self.open.get(&stream).map(|it| it.exchange);
        if let Some(exchange) = open.or_else(|| self.tunnels.get(&stream).copied()) {
            log.push(Event::GrpcStatus { exchange, status });
        }
    }

    /// Takes END_STREAM.
    pub(super) fn end(&mut self, direction: Direction, id: u32, position: u64, log: &mut Log) {
        let Some(stream) = self.open.get_mut(&id) else {
            return self.close_tunnel(direction, id, log);
        };
        let exchange = stream.exchange;
        match direction {
            Direction::ToServer if stream.request == Request::Ended => {}
            Direction::ToServer => {
                stream.request = Request::Ended;
                log.push(Event::RequestEnds { exchange, position, exact: true });
            }
            Direction::ToClient => {
                log.push(Event::ResponseEnds { exchange, position, exact: true });
                self.remove(id);
            }
        }
    }

    /// Takes RST_STREAM.
    pub(super) fn reset(&mut self, stream: u32, end: StreamEnd, log: &mut Log) {
        if let Some(Stream { exchange, .. }) = self.remove(stream) {
            log.push(Event::Abandoned { exchange, stream: Some(end) });
        }
        self.close_tunnel(Direction::ToClient, stream, log);
    }

    /// Takes the server's GOAWAY: it answers no stream of the client above `last`.
    pub(super) fn refuse_above(&mut self, last: u32, end: StreamEnd, log: &mut Log) {
        self.refused = Some((last, end));
        let above: Vec<u32> = self.open.range(last.saturating_add(1)..).map(|it| *it.0).collect();
        for stream in above.into_iter().filter(|it| !it.is_multiple_of(2)) {
            self.reset(stream, end, log);
        }
    }

    /// Takes the head of a CONNECT that ends at `position`: it has no body.
    pub(super) fn ask_for_tunnel(
        &mut self,
        stream: u32,
        tunnel: Tunnel,
        position: u64,
        log: &mut Log,
    ) {
        let Some(stream) = self.open.get_mut(&stream) else { return };
        stream.tunnel = Some(tunnel);
        if stream.request != Request::Ended {
            stream.request = Request::Ended;
            let exchange = stream.exchange;
            log.push(Event::RequestEnds { exchange, position, exact: true });
        }
    }

    /// Takes a 2xx response whose head ends at `position`: to a CONNECT, it has no body.
    pub(super) fn open_tunnel(&mut self, id: u32, position: u64, log: &mut Log) {
        if let Some(&Stream { exchange, tunnel: Some(tunnel), .. }) = self.open.get(&id) {
            let waited = Event::ResponseEnds { exchange, position, exact: true };
            self.go_on_as(tunnel, id, waited, log);
        }
    }

    /// Takes a response whose head ends at `position`, and that goes on as a stream of events.
    pub(super) fn begin_events(&mut self, id: u32, events: Events, position: u64, log: &mut Log) {
        let Some(&Stream { exchange, posts, .. }) = self.open.get(&id) else { return };
        let shape = if posts { Shape::Call } else { Shape::Stream };
        self.messages.begin_events(id, exchange, events, shape);
        if !posts {
            let waited = Event::ResponseEnds { exchange, position, exact: true };
            self.go_on_as(Tunnel::EventStream, id, waited, log);
        }
    }

    /// What `waited` says ends the exchange on a stream, which goes on as something else.
    fn go_on_as(&mut self, tunnel: Tunnel, id: u32, waited: Event, log: &mut Log) {
        let Some(&Stream { exchange, .. }) = self.open.get(&id) else { return };
        log.push(Event::TunnelBegins { exchange, tunnel });
        log.push(waited);
        self.close(id);
        if self.tunnels.len() < OPEN_REQUESTS {
            self.tunnels.insert(id, exchange);
        } else {
            self.messages.end(id);
        }
    }

    /// What is read of the payload of DATA. The client's stream has come to `asked`.
    pub(super) fn reads(
        &mut self,
        direction: Direction,
        frame: &Frame,
        asked: u64,
        log: &mut Log,
    ) -> Reads {
        let are_read = self.messages.are_read(frame.stream);
        // A server that sends no HEADERS before it is wrong (RFC 9113, section 8.1), and answers all the same.
        if are_read && direction == Direction::ToClient {
            self.answer(frame.stream, frame.start, asked, log);
        }
        match are_read {
            false => Reads::Nothing,
            true if frame.has(PADDED) => {
                if let Some(became) = self.messages.lose_stream(direction, frame.stream, log) {
                    self.become_stream(frame.stream, became, log);
                }
                Reads::Nothing
            }
            true => Reads::Messages(frame.stream),
        }
    }

    /// Takes the next content of a stream.
    pub(super) fn read_messages(
        &mut self,
        direction: Direction,
        id: u32,
        content: &mut Span<'_>,
        log: &mut Log,
    ) {
        let has_asked = match self.open.get(&id).map(|it| it.request) {
            Some(Request::Nameless | Request::Body) => HasAsked::No,
            Some(Request::Lost | Request::Ended) | None => HasAsked::Yes,
        };
        let became = self.messages.read(direction, id, content, has_asked, log);
        if let Some(became) = became {
            self.become_stream(id, became, log);
        }
    }

    fn become_stream(&mut self, id: u32, became: BecameStream, log: &mut Log) {
        let BecameStream { exchange, kind, first } = became;
        let waited = match first {
            Some(position) => Event::ResponseEnds { exchange, position, exact: true },
            None => Event::Unjudged { exchange },
        };
        self.go_on_as(kind, id, waited, log);
        self.messages.tell_begun(id, log);
    }

    /// DATA is over whose messages are read.
    pub(super) fn end_message_frame(&mut self, direction: Direction, frame: &Frame, log: &mut Log) {
        let became = self.messages.end_frame(direction, frame.stream, frame.end(), log);
        if let Some(became) = became {
            self.become_stream(frame.stream, became, log);
        }
    }

    /// Where messages begin in one direction is unknown from here on.
    pub(super) fn lose_messages(&mut self, direction: Direction, log: &mut Log) {
        while let Some(id) = self.messages.first() {
            if let Some(became) = self.messages.lose_stream(direction, id, log) {
                self.become_stream(id, became, log);
            }
        }
    }

    /// A tunnel is over when its server has closed it; a client may close its half earlier.
    fn close_tunnel(&mut self, direction: Direction, id: u32, log: &mut Log) {
        if direction == Direction::ToClient
            && let Some(exchange) = self.tunnels.remove(&id)
        {
            self.messages.end(id);
            log.push(Event::TunnelEnds { exchange });
        }
    }

    /// Takes the end of the connection.
    pub(super) fn abandon(&mut self, log: &mut Log) {
        self.blocked.iter_mut().for_each(BTreeSet::clear);
        self.messages = Messages::new();
        for (stream, Stream { exchange, .. }) in std::mem::take(&mut self.open) {
            let end = self.refused.filter(|(last, _)| stream > *last).map(|it| it.1);
            log.push(Event::Abandoned { exchange, stream: end });
        }
    }

    /// Takes DATA off a stream's window, and returns what there is of that if more may follow; of the connection's,
    /// there is `connection`.
    pub(super) fn spend(
        &mut self,
        direction: Direction,
        frame: &Frame,
        connection: Room,
        log: &mut Log,
    ) -> Option<Room> {
        let stream = self.open.get_mut(&frame.stream)?;
        let window = &mut stream.windows[direction as usize];
        let blocked = &mut self.blocked[direction as usize];
        if window.is_blocked() {
            blocked.remove(&(window.left(), frame.stream));
        }
        let initial = self.initial[direction as usize];
        let used_up = window.spend(frame.length, initial);
        if window.is_blocked() {
            blocked.insert((window.left(), frame.stream));
        }
        let room = window.room(initial);
        if frame.has(END_STREAM) {
            return None;
        }
        if used_up {
            let (exchange, position) = (Some(stream.exchange), frame.end());
            let window = room.holds(H2Window::Stream, Some(connection));
            log.push(Event::FlowControlBlocked { exchange, window, direction, position });
        }
        Some(room)
    }

    /// Takes credit for DATA in `direction`; `position` is that of the frame which gives it.
    pub(super) fn grant(
        &mut self,
        direction: Direction,
        id: u32,
        bytes: i64,
        position: u64,
        log: &mut Log,
    ) {
        let Some(stream) = self.open.get_mut(&id) else { return };
        let window = &mut stream.windows[direction as usize];
        let blocked = &mut self.blocked[direction as usize];
        if window.is_blocked() {
            blocked.remove(&(window.left(), id));
        }
        if window.grant(bytes, self.initial[direction as usize]) {
            let exchange = Some(stream.exchange);
            log.push(Event::FlowControlReopened { exchange, direction, position });
        }
        if window.is_blocked() {
            blocked.insert((window.left(), id));
        }
    }

    /// Takes SETTINGS_INITIAL_WINDOW_SIZE for DATA in `direction`. It costs what opens by it, however
    /// many streams there are.
    ///
    /// RFC 9113, section 6.9.2: "a receiver MUST adjust the size of all stream flow-control windows
    /// that it maintains by the difference between the new value and the old value".
    pub(super) fn set_window(
        &mut self,
        direction: Direction,
        size: i64,
        position: u64,
        log: &mut Log,
    ) {
        self.initial[direction as usize] = size;
        let blocked = &mut self.blocked[direction as usize];
        while let Some((left, id)) = blocked.pop_last() {
            let Some(stream) = self.open.get_mut(&id) else { continue };
            if !stream.windows[direction as usize].open(size) {
                blocked.insert((left, id));
                return;
            }
            let exchange = Some(stream.exchange);
            log.push(Event::FlowControlReopened { exchange, direction, position });
        }
    }

    /// Says that the ends of requests may have been missed.
    pub(super) fn lose_requests(&mut self) {
        let noted = std::mem::replace(&mut self.lost.requests_to, self.told);
        for (_, stream) in self.open.range_mut(noted.saturating_add(1)..) {
            if stream.request != Request::Ended {
                stream.request = Request::Lost;
            }
        }
    }

    /// Says that the server sent something from `start` on that cannot be seen, when the client's
    /// stream had come to `asked`.
    pub(super) fn lose_responses(&mut self, start: u64, asked: u64, log: &mut Log) {
        let noted = std::mem::replace(&mut self.lost.responses_to, self.told);
        if noted == self.told {
            return;
        }
        self.lost.some_responses = true;
        let overlap = self.open.len() > 1;
        // One that was alone before overlaps with the others now.
        let alone = self.open.range(..=noted).next_back().filter(|it| overlap && !it.1.overlaps);
        let from = alone.map_or_else(|| noted.saturating_add(1), |(id, _)| *id);
        for (_, stream) in self.open.range_mut(from..) {
            let exchange = stream.exchange;
            if overlap && !stream.overlaps {
                stream.overlaps = true;
                log.push(Event::Multiplexed { exchange });
            }
            if stream.response == Response::Awaited {
                stream.begin_response(Edge::guessed(start), asked, log);
            }
            stream.response = Response::Lost;
        }
    }

    /// Ends the responses whose ends may have been missed, the server's stream having come to
    /// `position`.
    pub(super) fn end_turns(&mut self, position: u64, log: &mut Log) {
        if !std::mem::take(&mut self.lost.some_responses) {
            return;
        }
        let lost = |(id, stream): (&u32, &Stream)| {
            (stream.response == Response::Lost).then_some((*id, stream.exchange))
        };
        for (id, exchange) in self.open.iter().filter_map(lost).collect::<Vec<_>>() {
            self.remove(id);
            log.push(Event::ResponseEnds { exchange, position, exact: false });
        }
    }
}

impl Stream {
    const fn new(exchange: ExchangeId) -> Self {
        Self {
            exchange,
            request: Request::Nameless,
            response: Response::Awaited,
            posts: false,
            tunnel: None,
            windows: [FlowWindow::new(0); 2],
            overlaps: false,
        }
    }

    /// Tells of the response, and that the request has ended, if that was missed.
    fn begin_response(&mut self, edge: Edge, asked: u64, log: &mut Log) {
        let exchange = self.exchange;
        if self.request == Request::Lost {
            self.request = Request::Ended;
            log.push(Event::RequestEnds { exchange, position: asked, exact: false });
        }
        log.push(Event::ResponseBegins { exchange, position: edge.at, exact: edge.exact });
    }
}
