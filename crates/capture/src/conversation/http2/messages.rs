//! Messages within HTTP/2 streams: of gRPC, and of streams of events.
//!
//! A call of gRPC is an exchange while each side has sent one message at most. With a second message it has turned out to
//! be a stream: then somebody waited for the first one to the client, if the request was over before that, and nobody
//! knows who waits for the next.

use std::collections::BTreeMap;

use ackwise_cause::Direction;

use super::super::{
    Event, ExchangeId, MessageNews, Tunnel,
    log::Log,
    messages::{Boundary, Events, Prefixed, Unreadable},
    span::Span,
    token::Tokens,
};

/// The streams whose content is read: those that are open, or tunnels.
#[derive(Clone, Debug, Default)]
pub(super) struct Messages {
    by_stream: BTreeMap<u32, StreamMessages>,
}

#[derive(Clone, Debug)]
struct StreamMessages {
    exchange: ExchangeId,
    /// By direction.
    content: [Content; 2],
    shape: Shape,
    /// Where the first message to the client has ended, if the request was over before.
    first: Option<u64>,
    /// What it had of messages before it was known to be a stream, by direction.
    begun: [MessageNews; 2],
}

/// What the content of one direction is.
#[derive(Clone, Debug)]
enum Content {
    Grpc(Prefixed),
    Events(Box<Events>),
    /// It is not read.
    Opaque,
}

/// What is known of a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Shape {
    /// Somebody waits for the first message to the client: no second one has begun, or of events none has ended.
    Call,
    /// Many messages may come.
    Stream,
}

/// An exchange has turned out to be a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct BecameStream {
    pub(super) exchange: ExchangeId,
    pub(super) kind: Tunnel,
    /// Where the first message to the client ended, if somebody waited for that and it can be told.
    pub(super) first: Option<u64>,
}

impl Messages {
    pub(super) const fn new() -> Self {
        Self { by_stream: BTreeMap::new() }
    }

    /// A call of gRPC begins.
    pub(super) fn begin_call(&mut self, stream: u32, exchange: ExchangeId) {
        let content = [(); 2].map(|()| Content::Grpc(Prefixed::default()));
        self.by_stream.insert(stream, StreamMessages::new(exchange, content, Shape::Call));
    }

    /// A response is a stream of events.
    pub(super) fn begin_events(
        &mut self,
        stream: u32,
        exchange: ExchangeId,
        events: Events,
        shape: Shape,
    ) {
        let content = [Content::Opaque, Content::Events(Box::new(events))];
        self.by_stream.insert(stream, StreamMessages::new(exchange, content, shape));
    }

    /// The stream is over, or its content is something else.
    pub(super) fn end(&mut self, stream: u32) {
        self.by_stream.remove(&stream);
    }

    pub(super) fn are_read(&self, stream: u32) -> bool {
        self.by_stream.contains_key(&stream)
    }

    /// Takes content of a stream; whether that shows that it is a stream.
    pub(super) fn read(
        &mut self,
        direction: Direction,
        stream: u32,
        content: &mut Span<'_>,
        has_asked: HasAsked,
        log: &mut Log,
    ) -> Option<BecameStream> {
        let messages = self.by_stream.get_mut(&stream)?;
        let (exchange, before) = (messages.exchange, messages.shape);
        let Ok(news) = messages.read(direction, content, has_asked, log) else {
            return self.lose_stream(direction, stream, log);
        };
        if before == Shape::Stream && news != MessageNews::default() {
            log.push_messages(exchange, direction, news);
        }
        messages.became(before)
    }

    /// Tells of the messages of a stream until now: just after it is known to be one.
    pub(super) fn tell_begun(&mut self, stream: u32, log: &mut Log) {
        let Some(StreamMessages { exchange, begun, .. }) = self.by_stream.get_mut(&stream) else {
            return;
        };
        for direction in [Direction::ToServer, Direction::ToClient] {
            let news = std::mem::take(&mut begun[direction as usize]);
            if news != MessageNews::default() {
                log.push(Event::Messages { exchange: *exchange, direction, news });
            }
        }
    }

    /// A frame of content is over, before the byte at `position`; whether that shows that it is a stream.
    pub(super) fn end_frame(
        &mut self,
        direction: Direction,
        stream: u32,
        position: u64,
        log: &mut Log,
    ) -> Option<BecameStream> {
        let messages = self.by_stream.get_mut(&stream)?;
        let Content::Events(events) = &mut messages.content[direction as usize] else {
            return None;
        };
        let mut news = events.news();
        // A server flushes each event, which then is a frame, if it is compressed.
        events.end_chunk(&mut news);
        let before = messages.shape;
        match before {
            Shape::Call => messages.note_first_event(direction, news, position),
            Shape::Stream if news.ended > 0 => {
                log.push_messages(messages.exchange, direction, news);
            }
            Shape::Stream => {}
        }
        messages.became(before)
    }

    /// Where messages begin on a stream is unknown from here on. An exchange that waits for the first event is a stream all
    /// the same.
    pub(super) fn lose_stream(
        &mut self,
        direction: Direction,
        stream: u32,
        log: &mut Log,
    ) -> Option<BecameStream> {
        let messages = self.by_stream.remove(&stream)?;
        if messages.shape == Shape::Call {
            let became = messages.as_stream();
            return (became.kind == Tunnel::EventStream).then_some(became);
        }
        let news = MessageNews { lost: true, ..MessageNews::default() };
        log.push_messages(messages.exchange, direction, news);
        None
    }

    /// One of the streams.
    pub(super) fn first(&self) -> Option<u32> {
        self.by_stream.first_key_value().map(|it| *it.0)
    }

    /// Bytes that they take, about.
    pub(super) fn held(&self) -> usize {
        self.by_stream.len() * 2 * size_of::<StreamMessages>()
    }
}

/// Whether a request is over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum HasAsked {
    Yes,
    No,
}

impl StreamMessages {
    fn new(exchange: ExchangeId, content: [Content; 2], shape: Shape) -> Self {
        Self { exchange, content, shape, first: None, begun: [MessageNews::default(); 2] }
    }

    /// What it is if it is a stream.
    const fn as_stream(&self) -> BecameStream {
        let kind = match self.content {
            [_, Content::Events(_)] => Tunnel::EventStream,
            _ => Tunnel::GrpcStream,
        };
        BecameStream { exchange: self.exchange, kind, first: self.first }
    }

    /// Whether it has turned out to be one, if it was of this shape.
    fn became(&self, before: Shape) -> Option<BecameStream> {
        ((before, self.shape) == (Shape::Call, Shape::Stream)).then(|| self.as_stream())
    }

    /// Takes all of `span`; what it holds.
    fn read(
        &mut self,
        direction: Direction,
        span: &mut Span<'_>,
        has_asked: HasAsked,
        log: &mut Log,
    ) -> Result<MessageNews, Unreadable> {
        match &mut self.content[direction as usize] {
            Content::Opaque => Ok(MessageNews::default()),
            Content::Events(events) => {
                let mut news = events.news();
                let bytes = span.bytes();
                // What a stripped capture shows of a head does not tell that these are events: no tokens.
                let mut tokens = Tokens::new(direction, None);
                events.read(span.at(), bytes, &mut tokens, &mut news);
                events.skip(span.len() - bytes.len() as u64, &mut news);
                if self.shape == Shape::Call {
                    self.note_first_event(direction, news, span.end());
                }
                Ok(news)
            }
            Content::Grpc(reader) => {
                let mut reader = *reader;
                let mut news =
                    MessageNews { continues: reader.is_within(), ..MessageNews::default() };
                let was_stream = self.shape == Shape::Stream;
                while let Some(boundary) = reader.advance(span)? {
                    match was_stream {
                        true => boundary.count(&mut news),
                        false => self.note_boundary(direction, boundary, has_asked, log),
                    }
                }
                self.content[direction as usize] = Content::Grpc(reader);
                Ok(news)
            }
        }
    }

    /// Takes events up to `position` while somebody waits for the first one.
    fn note_first_event(&mut self, direction: Direction, news: MessageNews, position: u64) {
        let begun = &mut self.begun[direction as usize];
        begun.add(news);
        if begun.ended > 0 {
            (self.shape, self.first) = (Shape::Stream, Some(position));
        }
    }

    /// A message of a call begins or ends.
    fn note_boundary(
        &mut self,
        direction: Direction,
        boundary: Boundary,
        has_asked: HasAsked,
        log: &mut Log,
    ) {
        let begun = &mut self.begun[direction as usize];
        boundary.count(begun);
        match (boundary, direction, has_asked) {
            (Boundary::Begin, ..) if begun.begun > 1 => self.shape = Shape::Stream,
            (Boundary::End(_), Direction::ToClient, HasAsked::No) => self.shape = Shape::Stream,
            (Boundary::End(position), Direction::ToClient, HasAsked::Yes) if begun.ended == 1 => {
                self.first = Some(position);
                log.push(Event::FirstMessage { exchange: self.exchange, position });
            }
            _ => {}
        }
    }
}
