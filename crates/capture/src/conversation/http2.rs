//! HTTP/2 without TLS: exchanges by stream, from frame headers.
//!
//! Bytes that the capture does not show may hold frame headers. Frames are found again where a
//! segment begins with one; what ends until then ends with the next request, as in every protocol
//! that cannot be read.

mod blocks;
mod fields;
mod frames;
mod grpc;
mod messages;
mod streams;
mod windows;

use ackwise_cause::{Direction, H2Window};
use ackwise_http::http2::{
    CLIENT_PREFACE, FrameKind,
    frame::{ACK, END_STREAM},
};
use blocks::{Blocks, Fields};
use fields::{Block, ContentType};
use frames::{Found, Frame, Frames};
use grpc::TOO_MANY_PINGS;
use streams::Streams;
use windows::{Credit, Credits, FlowWindow, INITIAL_WINDOW, Whom, initial_window_size};

use super::{
    Event, ExchangeId, Goaway, GrpcRequest, KnownFields, RequestHead, ResponseHead, StreamEnd,
    TokenKind, Tunnel,
    log::Log,
    messages::{Coding, Events},
    span::{Edge, Span},
};

/// Both directions of an HTTP/2 connection.
#[derive(Clone, Debug)]
pub(super) struct Http2 {
    client: Half,
    server: Half,
    streams: Streams,
    /// Where bytes of the client begin that cannot be seen and may hold a request.
    missed_request: Option<u64>,
    /// DATA or credit may be among bytes that cannot be seen: nobody knows what is left of a window.
    windows_unseen: bool,
}

/// What is read of the payload of a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Reads {
    Nothing,
    /// All of it: fields, settings, credit or an error.
    Control,
    /// Where messages begin and end, on this stream.
    Messages(u32),
}

/// One direction.
#[derive(Clone, Debug)]
struct Half {
    frames: Frames,
    /// What is read of the frame that is under way, and of the blocks before it.
    blocks: Blocks,
    reads: Reads,
    /// The least that its SETTINGS give a stream, if they were seen.
    least_initial: Option<i64>,
    /// Of the connection, for DATA in this direction.
    window: FlowWindow,
    /// On its way to the sender of this direction.
    credits: Credits,
    /// How far the stream was seen.
    end: u64,
}

impl Http2 {
    /// From the client's preface on.
    pub(super) fn new() -> Self {
        Self {
            client: Half::new(Frames::of_client()),
            server: Half::new(Frames::of_server()),
            streams: Streams::new(),
            missed_request: None,
            windows_unseen: false,
        }
    }

    /// From the upgrade on to which `exchange` led. The client has asked; RFC 7540, section 3.2:
    /// "the HTTP/1.1 request that is sent prior to upgrade is assigned a stream identifier of 1".
    pub(super) fn upgraded(exchange: ExchangeId) -> Self {
        let mut http2 = Self::new();
        http2.streams.resume(exchange);
        http2
    }

    /// How many field blocks were too long to be read to their end.
    pub(super) const fn long_blocks(&self) -> u64 {
        self.client.blocks.long() + self.server.blocks.long()
    }

    /// Bytes that it takes in memory, about.
    pub(super) fn cost(&self) -> usize {
        let [client, server] = [&self.client, &self.server].map(|it| it.blocks.held());
        size_of::<Self>() + client + server + self.streams.held()
    }

    pub(super) fn handle(&mut self, direction: Direction, span: &mut Span<'_>, log: &mut Log) {
        if direction == Direction::ToServer && self.client.frames.awaits_preface() {
            log.token(direction, span.at(), || TokenKind::Preface(CLIENT_PREFACE));
        }
        self.half(direction).end = span.end();
        while let Some(found) = self.half(direction).frames.advance(span) {
            match found {
                Found::Begins(frame) => self.begin_frame(direction, &frame, log),
                Found::Payload(mut piece) => {
                    let half = self.half(direction);
                    match half.reads {
                        Reads::Nothing => {}
                        Reads::Control => half.blocks.extend(&piece),
                        Reads::Messages(stream) => {
                            self.streams.read_messages(direction, stream, &mut piece, log);
                        }
                    }
                }
                Found::Ends(frame) => self.end_frame(direction, &frame, log),
                Found::Lost { start } => self.lose(direction, start, log),
            }
        }
    }

    /// The sender of the other direction has the bytes of `direction` before `position`.
    pub(super) fn handle_arrival(&mut self, direction: Direction, position: u64, log: &mut Log) {
        let direction = direction.opposite();
        while let Some(credit) = self.half(direction).credits.pop(position) {
            self.grant(direction, credit, log);
        }
    }

    pub(super) fn handle_end(&mut self, direction: Direction, log: &mut Log) {
        if direction == Direction::ToClient {
            self.handle_abort(log);
        }
    }

    pub(super) fn handle_abort(&mut self, log: &mut Log) {
        self.streams.end_turns(self.server.end, log);
        self.streams.abandon(log);
    }

    /// Where the header or the field block begins that is under way.
    pub(super) fn undecided(&self, direction: Direction) -> Option<u64> {
        let half = match direction {
            Direction::ToServer => &self.client,
            Direction::ToClient => &self.server,
        };
        match (half.frames.header_bytes(), half.frames.frame()) {
            (0, Some(frame)) if half.reads == Reads::Control => Some(frame.start),
            (0, _) => None,
            (bytes, _) => Some(half.end.saturating_sub(bytes)),
        }
    }

    const fn half(&mut self, direction: Direction) -> &mut Half {
        match direction {
            Direction::ToServer => &mut self.client,
            Direction::ToClient => &mut self.server,
        }
    }

    fn begin_frame(&mut self, direction: Direction, frame: &Frame, log: &mut Log) {
        log.token(direction, frame.start, || frame.token());
        self.half(direction).reads = match frame.kind {
            FrameKind::Headers | FrameKind::PushPromise | FrameKind::Continuation => Reads::Control,
            FrameKind::Settings
            | FrameKind::WindowUpdate
            | FrameKind::RstStream
            | FrameKind::Goaway => Reads::Control,
            FrameKind::Data => self.streams.reads(direction, frame, self.client.end, log),
            FrameKind::Priority | FrameKind::Ping | FrameKind::Other(_) => Reads::Nothing,
        };
        let asks = direction == Direction::ToServer && frame.kind == FrameKind::Headers;
        if asks && self.streams.is_new(frame.stream) {
            self.streams.end_turns(self.server.end, log);
            self.streams.begin(frame.stream, Edge::exact(frame.start), log);
        }
        let answers = matches!(frame.kind, FrameKind::Headers | FrameKind::Data)
            && !frame.stream.is_multiple_of(2);
        if answers && direction == Direction::ToClient && self.streams.is_new(frame.stream) {
            self.begin_missed(frame.stream, log);
        }
    }

    /// Begins the request on `stream` that must have been among bytes that cannot be seen.
    fn begin_missed(&mut self, stream: u32, log: &mut Log) {
        if let Some(position) = self.missed_request.take() {
            self.streams.begin(stream, Edge::guessed(position), log);
            self.streams.lose_requests();
        }
    }

    fn end_frame(&mut self, direction: Direction, frame: &Frame, log: &mut Log) {
        match frame.kind {
            FrameKind::Data => self.take_data(direction, frame, log),
            FrameKind::Headers | FrameKind::PushPromise | FrameKind::Continuation => {
                let fields = self.half(direction).blocks.handle(frame);
                log.token(direction, frame.payload(), || TokenKind::FieldBlock {
                    length: frame.length,
                    is_promise: frame.kind == FrameKind::PushPromise,
                    fields: fields.as_ref().map(Fields::known).unwrap_or_default(),
                });
                if let Some(fields) =
                    fields.filter(|fields| fields.first.kind == FrameKind::Headers)
                {
                    self.take_fields(direction, fields, frame.end(), log);
                }
            }
            FrameKind::RstStream | FrameKind::Goaway => self.take_error(direction, frame, log),
            FrameKind::Settings if frame.has(ACK) => {
                self.half(direction).blocks.take_payload();
            }
            FrameKind::Settings => {
                let payload = self.half(direction).blocks.take_payload();
                if let Some(bytes) = &payload {
                    log.token(direction, frame.payload(), || TokenKind::Settings(bytes.clone()));
                    let size = initial_window_size(bytes).unwrap_or(INITIAL_WINDOW);
                    let half = self.half(direction);
                    half.least_initial = Some(half.least_initial.map_or(size, |it| it.min(size)));
                } else {
                    self.lose_windows(log);
                }
                if let Some(size) = payload.as_deref().and_then(initial_window_size) {
                    let (whom, position) = (Whom::AllStreams, frame.end());
                    let credit = Credit { whom, bytes: size, position };
                    self.credit(direction.opposite(), credit, log);
                }
            }
            FrameKind::WindowUpdate => self.take_window_update(direction, frame, log),
            FrameKind::Priority | FrameKind::Ping | FrameKind::Other(_) => {}
        }
    }

    fn take_data(&mut self, direction: Direction, frame: &Frame, log: &mut Log) {
        if !self.windows_unseen {
            self.spend(direction, frame, log);
        }
        if direction == Direction::ToClient {
            self.streams.answer(frame.stream, frame.start, self.client.end, log);
        }
        if matches!(self.half(direction).reads, Reads::Messages(_)) {
            self.streams.end_message_frame(direction, frame, log);
        }
        if frame.has(END_STREAM) {
            self.streams.end(direction, frame.stream, frame.end(), log);
        }
    }

    /// Takes DATA off both windows that it must fit.
    fn spend(&mut self, direction: Direction, frame: &Frame, log: &mut Log) {
        let connection = &mut self.half(direction).window;
        let used_up = connection.spend(frame.length, 0);
        let room = connection.room(0);
        let stream = self.streams.spend(direction, frame, room, log);
        if used_up {
            let window = room.holds(H2Window::Connection, stream);
            let position = frame.end();
            log.push(Event::FlowControlBlocked { exchange: None, window, direction, position });
        }
    }

    /// DATA or credit cannot be seen: from now on, windows are not followed.
    fn lose_windows(&mut self, log: &mut Log) {
        if std::mem::replace(&mut self.windows_unseen, true) {
            return;
        }
        let least = [&self.server, &self.client].map(|receiver| {
            let initial = receiver.least_initial.unwrap_or_default();
            u64::try_from(initial.min(INITIAL_WINDOW)).unwrap_or_default()
        });
        log.push(Event::FlowControlUnseen { least });
    }

    /// Takes RST_STREAM or GOAWAY.
    fn take_error(&mut self, direction: Direction, frame: &Frame, log: &mut Log) {
        let payload = self.half(direction).blocks.take_payload();
        let payload = payload.as_deref();
        let number =
            |at: usize| payload?.get(at..)?.first_chunk().map(|it| u32::from_be_bytes(*it));
        let by = direction.sender();
        let length = if frame.kind == FrameKind::Goaway {
            let code = number(4);
            let says_too_many_pings = payload.and_then(|it| it.get(8..)) == Some(TOO_MANY_PINGS);
            // RFC 9113, section 6.8: the streams above have not been processed, and may be asked for again.
            if let (Some(last), Direction::ToClient) = (number(0), direction) {
                log.push(Event::Goaway(Goaway { code, says_too_many_pings }));
                let end = StreamEnd { by, code, is_unprocessed: true };
                self.streams.refuse_above(last & (u32::MAX >> 1), end, log);
            }
            if says_too_many_pings { 8 + TOO_MANY_PINGS.len() } else { 8 }
        } else {
            let end = StreamEnd { by, code: number(0), is_unprocessed: false };
            self.streams.reset(frame.stream, end, log);
            4
        };
        if let Some(bytes) = payload.and_then(|it| it.get(..length)) {
            log.token(direction, frame.payload(), || TokenKind::Error(bytes.into()));
        }
    }

    fn take_window_update(&mut self, direction: Direction, frame: &Frame, log: &mut Log) {
        let payload = self.half(direction).blocks.take_payload();
        if let Some(increment) = payload.as_ref().and_then(|bytes| bytes.first_chunk::<4>()) {
            log.token(direction, frame.payload(), || TokenKind::WindowUpdate(*increment));
        }
        let Some(increment) = payload.as_deref().and_then(<[u8]>::first_chunk) else {
            return self.lose_windows(log);
        };
        let increment = u32::from_be_bytes(*increment);
        let bytes = i64::from(increment & (u32::MAX >> 1));
        let whom = match frame.stream {
            0 => Whom::Connection,
            stream => Whom::Stream(stream),
        };
        let credit = Credit { whom, bytes, position: frame.end() };
        self.credit(direction.opposite(), credit, log);
    }

    /// Credit for DATA in `direction` was seen.
    fn credit(&mut self, direction: Direction, credit: Credit, log: &mut Log) {
        if let Some(there) = self.half(direction).credits.push(credit) {
            self.grant(direction, there, log);
        }
    }

    /// Credit for DATA in `direction` is there.
    fn grant(&mut self, direction: Direction, credit: Credit, log: &mut Log) {
        let Credit { whom, bytes, position } = credit;
        match whom {
            Whom::AllStreams => self.streams.set_window(direction, bytes, position, log),
            Whom::Stream(stream) => self.streams.grant(direction, stream, bytes, position, log),
            Whom::Connection if self.half(direction).window.grant(bytes, 0) => {
                log.push(Event::FlowControlReopened { exchange: None, direction, position });
            }
            Whom::Connection => {}
        }
    }

    fn take_fields(
        &mut self,
        direction: Direction,
        Fields { first, block }: Fields,
        end: u64,
        log: &mut Log,
    ) {
        match direction {
            Direction::ToServer => {
                let tunnel = tunnel(&block);
                self.streams.name(first.stream, &block, || request_head(&block, end), log);
                if let Some(tunnel) = tunnel {
                    self.streams.ask_for_tunnel(first.stream, tunnel, end, log);
                }
            }
            Direction::ToClient => {
                if let Some(status @ 100..=199) = block.status {
                    self.streams.interim(first.stream, status, first.start..end, log);
                } else if self.streams.answer(first.stream, first.start, self.client.end, log) {
                    let head =
                        ResponseHead { status: block.status, end: Some(end), wants_close: false };
                    self.streams.name_response(first.stream, head, log);
                    if matches!(block.status, Some(200..=299)) {
                        self.streams.open_tunnel(first.stream, end, log);
                    }
                    if let (Some(events), false) = (events(&block), first.has(END_STREAM)) {
                        self.streams.begin_events(first.stream, events, end, log);
                    }
                }
            }
        }
        if first.has(END_STREAM) {
            // gRPC's PROTOCOL-HTTP2: the status is in the trailers, or in a response of trailers only.
            if let (Some(status), Direction::ToClient) = (block.grpc_status, direction) {
                self.streams.tell_status(first.stream, status, log);
            }
            self.streams.end(direction, first.stream, end, log);
        }
    }

    /// From `start` on frames of one direction cannot be seen.
    fn lose(&mut self, direction: Direction, start: u64, log: &mut Log) {
        self.half(direction).blocks.lose();
        self.streams.lose_messages(direction, log);
        self.lose_windows(log);
        match direction {
            Direction::ToServer => {
                self.missed_request.get_or_insert(start);
                self.streams.lose_requests();
            }
            Direction::ToClient => {
                if let Some(stream) = self.streams.next_if_none_is_open() {
                    self.begin_missed(stream, log);
                }
                self.streams.lose_responses(start, self.client.end, log);
            }
        }
    }
}

impl Half {
    const fn new(frames: Frames) -> Self {
        Self {
            frames,
            blocks: Blocks::new(),
            reads: Reads::Nothing,
            least_initial: None,
            window: FlowWindow::new(INITIAL_WINDOW),
            credits: Credits::new(),
            end: 0,
        }
    }
}

impl Fields {
    fn known(&self) -> KnownFields {
        let Block { method, path, status, protocol, .. } = &self.block;
        KnownFields {
            method: method.clone(),
            path: path.clone(),
            status: *status,
            protocol: protocol.clone(),
        }
    }
}

/// What a request asks for if it is no request for a response. RFC 8441, section 4: an extended CONNECT
/// says in `:protocol` what it opens.
fn tunnel(block: &Block) -> Option<Tunnel> {
    (block.method.as_deref() == Some("CONNECT")).then_some(match block.protocol.as_deref() {
        Some(name) if name.eq_ignore_ascii_case("websocket") => Tunnel::WebSocket,
        _ => Tunnel::Connect,
    })
}

/// What a response is if it is a stream of events.
fn events(block: &Block) -> Option<Events> {
    let (ContentType::Events(ends), Some(200)) = (block.content_type, block.status) else {
        return None;
    };
    let coding = if block.is_coded { Coding::CompressedChunks } else { Coding::Plain };
    Some(Events::new(ends, coding))
}

fn request_head(block: &Block, end: u64) -> RequestHead {
    RequestHead {
        method: block.method.clone(),
        path: block.path.clone(),
        has_query: block.has_query,
        trace: None,
        end: Some(end),
        expects_continue: false,
        wants_close: false,
        grpc: (block.content_type == ContentType::Grpc || block.grpc_timeout.is_some())
            .then_some(GrpcRequest { timeout: block.grpc_timeout }),
    }
}
