//! Events of a stream of text: those of `text/event-stream` (HTML, section 9.2.5), which end with an empty line, and those
//! of newline-delimited JSON, which are lines.

use super::super::{
    MessageNews,
    token::{TokenKind, Tokens},
};

/// Follows the lines of one stream.
#[derive(Clone, Debug)]
pub(in super::super) struct Lines {
    ends: EventEnd,
    /// Where the current line is.
    line: Line,
    /// What the lines of the current event were.
    event: Event,
}

/// What ends an event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in super::super) enum EventEnd {
    EmptyLine,
    AnyLine,
}

impl EventEnd {
    /// Of a `Content-Type` that is a stream of events.
    pub(in super::super) fn of_content_type(value: &[u8]) -> Option<Self> {
        let media_type = value.split(|byte| *byte == b';').next()?.trim_ascii();
        let is = |name: &str| media_type.eq_ignore_ascii_case(name.as_bytes());
        match () {
            () if is("text/event-stream") => Some(Self::EmptyLine),
            // Neither is registered; both are in use.
            () if is("application/x-ndjson") || is("application/ndjson") => Some(Self::AnyLine),
            () => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Line {
    Begins,
    /// A CR ended the line before; an LF belongs to it.
    BehindCr,
    Within,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Event {
    Nothing,
    /// Lines that begin with a colon, which mean nothing: they keep the connection alive.
    Comment,
    Message,
}

impl Lines {
    pub(in super::super) const fn new(ends: EventEnd) -> Self {
        Self { ends, line: Line::Begins, event: Event::Nothing }
    }

    /// Whether a message is under way.
    pub(super) fn is_within(&self) -> bool {
        self.event == Event::Message
    }

    /// Takes content that was captured.
    pub(super) fn read(
        &mut self,
        at: u64,
        bytes: &[u8],
        tokens: &mut Tokens<'_>,
        news: &mut MessageNews,
    ) {
        for (at, &byte) in (at..).zip(bytes) {
            let before = self.line;
            match (byte, before) {
                (b'\n', Line::BehindCr) => self.line = Line::Begins,
                (b'\n' | b'\r', _) => {
                    self.end_line(before, news);
                    self.line = if byte == b'\r' { Line::BehindCr } else { Line::Begins };
                }
                (_, Line::Within) => continue,
                _ => {
                    self.begin_line(byte, news);
                    self.line = Line::Within;
                }
            }
            if matches!(byte, b'\n' | b'\r') || (byte == b':' && before != Line::Within) {
                tokens.push(at, || TokenKind::Framing(vec![byte]));
            }
        }
    }

    fn begin_line(&mut self, first: u8, news: &mut MessageNews) {
        match self.event {
            Event::Nothing | Event::Comment
                if first == b':' && self.ends == EventEnd::EmptyLine =>
            {
                self.event = Event::Comment;
            }
            Event::Nothing | Event::Comment => {
                self.event = Event::Message;
                news.begun = news.begun.saturating_add(1);
            }
            Event::Message => {}
        }
    }

    fn end_line(&mut self, line: Line, news: &mut MessageNews) {
        let is_end = match self.ends {
            EventEnd::EmptyLine => line != Line::Within,
            EventEnd::AnyLine => true,
        };
        if !is_end {
            return;
        }
        match std::mem::replace(&mut self.event, Event::Nothing) {
            Event::Nothing => {}
            Event::Comment => news.control = news.control.saturating_add(1),
            Event::Message => news.ended = news.ended.saturating_add(1),
        }
    }
}

/// Follows chunks whose content is compressed: a server flushes each event, which then is a chunk.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Chunks {
    within: bool,
}

impl Chunks {
    pub(super) const fn is_within(self) -> bool {
        self.within
    }

    /// Some content was captured.
    pub(super) const fn begin(&mut self, news: &mut MessageNews) {
        if !self.within {
            self.within = true;
            news.begun = news.begun.saturating_add(1);
        }
    }

    /// The chunk is over.
    pub(super) const fn end(&mut self, news: &mut MessageNews) {
        if self.within {
            self.within = false;
            news.ended = news.ended.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use ackwise_cause::Direction::ToClient;

    use super::*;

    fn read(ends: EventEnd, text: &str, size: usize) -> [u32; 3] {
        let (mut lines, mut news, mut at) = (Lines::new(ends), MessageNews::default(), 0);
        for piece in text.as_bytes().chunks(size) {
            lines.read(at, piece, &mut Tokens::new(ToClient, None), &mut news);
            at += piece.len() as u64;
        }
        [news.begun, news.ended, news.control]
    }

    #[test]
    fn an_empty_line_ends_an_event_and_comments_are_none() {
        for (text, expected) in [
            ("data: a\n\ndata: b\n\n", [2, 2, 0]),
            ("data: a\r\n\r\ndata: b\r\n\r\n", [2, 2, 0]),
            ("data: a\r\rdata: b\r\r", [2, 2, 0]),
            ("event: x\ndata: a\ndata: b\n\ndata", [2, 1, 0]),
            (": ping\n\n: ping\n\ndata: a\n\n", [1, 1, 2]),
            (": why\ndata: a\n\n", [1, 1, 0]),
            ("data: a:b\n\n\n\n", [1, 1, 0]),
            ("", [0, 0, 0]),
        ] {
            for size in [1, 2, 3, 100] {
                assert_eq!(read(EventEnd::EmptyLine, text, size), expected, "{text:?} by {size}");
            }
        }
        assert_eq!(read(EventEnd::AnyLine, "{}\n{\"a\":1}\r\n\n:1\n{", 2), [4, 3, 0]);
    }

    #[test]
    fn line_ends_and_colons_that_begin_lines_are_all_that_is_read() {
        let mut queue = VecDeque::new();
        let mut news = MessageNews::default();
        let mut lines = Lines::new(EventEnd::EmptyLine);
        let text = b":a\nb:c\r\n\n";
        lines.read(7, text, &mut Tokens::new(ToClient, Some(&mut queue)), &mut news);
        let places: Vec<_> = queue.iter().map(|it| it.at - 7).collect();
        assert_eq!(places, [0, 2, 6, 7, 8]);
    }
}
