//! Messages within a stream that is no exchange: where each begins and ends, and nothing of what they say.
//!
//! | module | its one idea |
//! | --- | --- |
//! | `websocket` | the frames of a WebSocket |
//! | `lines` | events of a stream of text, by their lines or chunks |
//! | `prefixed` | the messages of gRPC |
//!
//! A reader looks at one direction. What it finds in a piece of data, it only counts: a segment may hold thousands of
//! messages.

mod lines;
mod prefixed;
mod websocket;

use ackwise_cause::Direction;

use super::{ExchangeId, MessageNews, log::Log, span::Span, token::Tokens};

use lines::{Chunks, Lines};
use websocket::Frames;

pub(super) use lines::EventEnd;
pub(super) use prefixed::{Boundary, Prefixed};

/// Reads the messages of one direction.
#[derive(Clone, Debug)]
pub(super) enum MessageReader {
    WebSocket(Frames),
    /// They cannot be divided.
    Lost,
}

impl MessageReader {
    /// Takes all of `span`; what it holds. Syntax that it reads goes to `tokens`.
    pub(super) fn read(&mut self, span: &mut Span<'_>, tokens: &mut Tokens<'_>) -> MessageNews {
        let mut news = MessageNews { continues: self.is_within(), ..MessageNews::default() };
        let result = match self {
            Self::WebSocket(frames) => frames.read(span, tokens, &mut news),
            Self::Lost => Ok(()),
        };
        if result.is_err() {
            (*self, news.lost) = (Self::Lost, true);
        }
        span.take_all();
        news
    }

    /// Whether a message is under way.
    const fn is_within(&self) -> bool {
        match self {
            Self::WebSocket(frames) => frames.is_within(),
            Self::Lost => false,
        }
    }

    /// Bytes that were seen and are not understood yet.
    pub(super) const fn undecided(&self) -> u64 {
        match self {
            Self::WebSocket(frames) => frames.header_bytes(),
            Self::Lost => 0,
        }
    }
}

/// A connection that is a WebSocket from the response to `exchange` on.
#[derive(Clone, Debug)]
pub(super) struct WebSocket {
    exchange: ExchangeId,
    /// By direction.
    readers: [MessageReader; 2],
}

impl WebSocket {
    pub(super) const fn new(exchange: ExchangeId) -> Self {
        let readers = [
            MessageReader::WebSocket(Frames::new(Direction::ToServer)),
            MessageReader::WebSocket(Frames::new(Direction::ToClient)),
        ];
        Self { exchange, readers }
    }

    pub(super) fn handle(&mut self, direction: Direction, span: &mut Span<'_>, log: &mut Log) {
        let reader = &mut self.readers[direction as usize];
        let news = reader.read(span, &mut log.tokens(direction));
        if news != MessageNews::default() {
            log.push_messages(self.exchange, direction, news);
        }
    }

    /// Bytes of a header that is under way.
    pub(super) const fn undecided(&self, direction: Direction) -> u64 {
        self.readers[direction as usize].undecided()
    }
}

/// These bytes are no messages of the kind, or cannot be seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unreadable;

/// What a body holds of events, without the framing around them.
#[derive(Clone, Debug)]
pub(super) enum Events {
    Lines(Lines),
    /// They are compressed, and each is a chunk.
    Chunks(Chunks),
    /// They cannot be divided.
    Lost,
}

impl Events {
    /// Of a body with events that end so; or `compressed`, in chunks or not.
    pub(super) fn new(ends: EventEnd, coding: Coding) -> Self {
        match coding {
            Coding::Plain => Self::Lines(Lines::new(ends)),
            Coding::CompressedChunks => Self::Chunks(Chunks::default()),
            Coding::Compressed => Self::Lost,
        }
    }

    /// Whether they can be divided, so far.
    pub(super) const fn are_readable(&self) -> bool {
        !matches!(self, Self::Lost)
    }

    /// What a piece of data begins with.
    pub(super) fn news(&self) -> MessageNews {
        let continues = match self {
            Self::Lines(lines) => lines.is_within(),
            Self::Chunks(chunks) => chunks.is_within(),
            Self::Lost => false,
        };
        MessageNews { continues, ..MessageNews::default() }
    }

    /// Takes content that was captured, from `at` on.
    pub(super) fn read(
        &mut self,
        at: u64,
        content: &[u8],
        tokens: &mut Tokens<'_>,
        news: &mut MessageNews,
    ) {
        match self {
            Self::Lines(lines) => lines.read(at, content, tokens, news),
            Self::Chunks(chunks) if !content.is_empty() => chunks.begin(news),
            Self::Chunks(_) | Self::Lost => {}
        }
    }

    /// A line of the framing ends, and with it perhaps a chunk.
    pub(super) const fn end_chunk(&mut self, news: &mut MessageNews) {
        if let Self::Chunks(chunks) = self {
            chunks.end(news);
        }
    }

    /// Content is missing: only of a chunk that does not matter.
    pub(super) fn skip(&mut self, bytes: u64, news: &mut MessageNews) {
        match self {
            Self::Chunks(chunks) if bytes > 0 => chunks.begin(news),
            Self::Lines(_) if bytes > 0 => self.lose(news),
            _ => {}
        }
    }

    /// Where events begin is unknown from here on.
    pub(super) fn lose(&mut self, news: &mut MessageNews) {
        news.lost |= !matches!(self, Self::Lost);
        *self = Self::Lost;
    }
}

/// How events are coded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Coding {
    Plain,
    CompressedChunks,
    Compressed,
}
