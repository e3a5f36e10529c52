//! Where the messages of one direction begin and end, and where their heads are.

use std::borrow::Cow;

use ackwise_http::{BodyEnd, ChunkSyntax, Framing};

use super::super::{
    MessageNews,
    guess::Guess,
    messages::Events,
    span::{Edge, Span, Start},
    token::{TokenKind, Tokens},
};

/// Follows one direction of an HTTP/1 connection from message to message.
///
/// ```text
///            first byte            empty line             last byte
///  Between ──────────────▶ Head ──────────────────▶ Body ──────────────▶ Between
///                            │ cut, lost              │ cut, lost
///                            ▼                        ▼       the other side's turn
///                           Turn ◀────────────────── Turn ─────────────────────────▶ Resting
///
///  Turn, Resting ── a start line at the beginning of a segment ──▶ Head
/// ```
#[derive(Clone, Debug)]
pub(super) struct Reader {
    stage: Stage,
    /// Whether bytes begin a message of this direction.
    start_line: fn(&[u8]) -> Guess,
}

#[derive(Clone, Debug)]
enum Stage {
    /// The next byte begins a message.
    Between,
    /// What was captured of a head, from `start` on.
    Head { start: u64, bytes: Vec<u8> },
    /// A body whose end is known, or will be seen.
    Body(BodyEnd),
    /// A body of events.
    Events(Box<EventBody>),
    /// The body that only the end of the connection ends, which has come to here.
    UntilClose { end: u64 },
    /// A message that has come to `end`, and nobody knows how much is to come.
    Turn { end: u64 },
    /// Between messages, or in what is left of one.
    Resting,
}

/// A body that is a stream of events.
#[derive(Clone, Debug)]
struct EventBody {
    body: BodyEnd,
    events: Events,
    /// Where it has ended.
    ended: Option<u64>,
    /// Where it has come to, if only the end of the connection ends it.
    until_close: Option<u64>,
}

/// What the next bytes of the stream turned out to be.
#[derive(Debug)]
pub(super) enum Step<'a> {
    /// All bytes were taken.
    NeedsMore,
    /// A message begins; its head follows.
    Begins(Edge),
    /// A whole head, from `start` to `end`. Who reads on says what follows, by
    /// [`follow`](Reader::follow).
    Head { start: u64, end: u64, bytes: Cow<'a, [u8]> },
    /// As much of a head as was captured.
    CutHead { bytes: Cow<'a, [u8]> },
    /// The body is a stream of events, and the next piece of it holds these.
    Messages(MessageNews),
    /// The message has ended.
    Ends(Edge),
    /// These bytes from `start` on are not HTTP.
    Broken { start: u64 },
}

impl Reader {
    /// Begins where a message begins, or where nobody knows.
    pub(super) const fn new(start_line: fn(&[u8]) -> Guess, start: Start) -> Self {
        let stage = match start {
            Start::Beginning => Stage::Between,
            Start::Middle => Stage::Resting,
        };
        Self { stage, start_line }
    }

    /// Bytes of a head that are held.
    pub(super) fn held(&self) -> usize {
        match &self.stage {
            Stage::Head { bytes, .. } => bytes.len(),
            _ => 0,
        }
    }

    /// Says how the body after the head just read is delimited.
    pub(super) fn follow(&mut self, framing: Framing, end: u64) {
        self.stage = match framing {
            Framing::UntilClose => Stage::UntilClose { end },
            framing => Stage::Body(BodyEnd::new(framing)),
        };
    }

    /// The same of a body that is a stream of events.
    pub(super) fn follow_events(&mut self, framing: Framing, events: Events, end: u64) {
        let body = BodyEnd::new(framing);
        let until_close = (framing == Framing::UntilClose).then_some(end);
        let events = EventBody { body, events, ended: None, until_close };
        self.stage = Stage::Events(Box::new(events));
    }

    /// Says that the body after the head just read has an end that the head does not tell.
    pub(super) fn follow_turn(&mut self, end: u64) {
        self.stage = Stage::Turn { end };
    }

    /// Says that another message begins after the head just read.
    pub(super) fn follow_nothing(&mut self) {
        self.stage = Stage::Between;
    }

    /// Whether the end of the current message is known, or there is none: then a gap within it hides no
    /// other message.
    pub(super) const fn knows_end(&self) -> bool {
        matches!(
            self.stage,
            Stage::Between | Stage::Body(_) | Stage::Events(_) | Stage::UntilClose { .. }
        )
    }

    /// Where the head begins that is under way.
    pub(super) const fn head_start(&self) -> Option<u64> {
        match self.stage {
            Stage::Head { start, .. } => Some(start),
            _ => None,
        }
    }

    /// Where the message has come to, of which only a turn shows the end.
    pub(super) const fn turn(&self) -> Option<u64> {
        match self.stage {
            Stage::Turn { end } => Some(end),
            _ => None,
        }
    }

    /// Ends such a message, or skips one that the capture lacks.
    pub(super) fn end_turn(&mut self) {
        self.stage = Stage::Resting;
    }

    /// Where the message that is under way ends when the connection does, and whether that is a
    /// proper end; `None` if that leaves it incomplete.
    pub(super) fn end_at_close(&self) -> Option<Edge> {
        match &self.stage {
            Stage::UntilClose { end } => Some(Edge::exact(*end)),
            Stage::Turn { end } => Some(Edge::guessed(*end)),
            Stage::Events(body) => body.until_close.map(Edge::exact),
            Stage::Between | Stage::Head { .. } | Stage::Body(_) | Stage::Resting => None,
        }
    }

    /// Whether a segment is of the middle of a body.
    pub(super) fn would_pass(&self, span: &Span<'_>) -> bool {
        match &self.stage {
            Stage::Body(body) => body.continues_after(span.len()),
            Stage::Turn { .. } => (self.start_line)(span.bytes()) != Guess::Yes,
            Stage::UntilClose { .. } => true,
            Stage::Between | Stage::Head { .. } | Stage::Events(_) | Stage::Resting => false,
        }
    }

    /// Takes a segment whole that [would pass](Self::would_pass).
    pub(super) fn pass(&mut self, span: &Span<'_>) {
        match &mut self.stage {
            Stage::Body(body) => {
                body.pass(span.len());
            }
            Stage::Turn { end } | Stage::UntilClose { end } => *end = span.end(),
            Stage::Between | Stage::Head { .. } | Stage::Events(_) | Stage::Resting => {}
        }
    }

    /// Takes bytes off the front of `span` up to what is worth telling; what it reads goes to `tokens`.
    pub(super) fn advance<'a>(&mut self, span: &mut Span<'a>, tokens: &mut Tokens<'_>) -> Step<'a> {
        if span.is_empty() && !matches!(self.stage, Stage::Body(_) | Stage::Events(_)) {
            return Step::NeedsMore;
        }
        match &mut self.stage {
            Stage::Between => self.begin(span, tokens),
            Stage::Head { .. } => self.read_head(span, tokens),
            Stage::Body(_) => self.read_body(span, tokens),
            Stage::Events(_) => self.read_events(span, tokens),
            Stage::UntilClose { end } => {
                span.take_all();
                *end = span.end();
                Step::NeedsMore
            }
            Stage::Turn { end } => {
                let at = *end;
                *end = span.end();
                if self.resynchronises(span) {
                    self.stage = Stage::Resting;
                    return Step::Ends(Edge::guessed(at));
                }
                pass_unreadable(span, tokens);
                Step::NeedsMore
            }
            Stage::Resting => self.rest(span, tokens),
        }
    }

    fn begin<'a>(&mut self, span: &mut Span<'a>, tokens: &mut Tokens<'_>) -> Step<'a> {
        // RFC 9112, section 2.2: a recipient "SHOULD ignore at least one empty line (CRLF) received
        // prior to the request-line". Some servers send one after a body, too.
        let empty = span.bytes().iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let at = span.at();
        let lines = span.take(empty as u64);
        if empty > 0 {
            tokens.push(at, || TokenKind::EmptyLines(lines.to_vec()));
        }
        if span.is_empty() {
            return Step::NeedsMore;
        }
        self.stage = Stage::Head { start: span.at(), bytes: Vec::new() };
        Step::Begins(Edge::exact(span.at()))
    }

    /// A message begins with a segment: one that shows a start line, or shows nothing.
    fn rest<'a>(&mut self, span: &mut Span<'a>, tokens: &mut Tokens<'_>) -> Step<'a> {
        let begins = match (self.start_line)(span.bytes()) {
            Guess::Yes => true,
            Guess::Maybe => span.is_cut(),
            Guess::No => false,
        };
        if !begins || !span.begins_segment() {
            pass_unreadable(span, tokens);
            return Step::NeedsMore;
        }
        self.stage = Stage::Head { start: span.at(), bytes: Vec::new() };
        Step::Begins(Edge { at: span.at(), exact: !span.bytes().is_empty() })
    }

    fn resynchronises(&self, span: &Span<'_>) -> bool {
        span.begins_segment() && (self.start_line)(span.bytes()) == Guess::Yes
    }

    fn read_head<'a>(&mut self, span: &mut Span<'a>, tokens: &mut Tokens<'_>) -> Step<'a> {
        match &self.stage {
            Stage::Head { start, bytes } if bytes.is_empty() => {
                self.begin_head(*start, span, tokens)
            }
            Stage::Head { start, .. } => self.go_on_with_head(*start, span, tokens),
            _ => Step::NeedsMore,
        }
    }

    /// Reads the first bytes of a head: mostly all of it, or all that was captured.
    fn begin_head<'a>(
        &mut self,
        start: u64,
        span: &mut Span<'a>,
        tokens: &mut Tokens<'_>,
    ) -> Step<'a> {
        if (self.start_line)(span.bytes()) == Guess::No {
            tokens.push(start, || TokenKind::Unreadable(0));
            return Step::Broken { start };
        }
        let is_cut = span.is_cut() || span.bytes().len() >= HEAD_LIMIT;
        let shown = &span.bytes()[..HEAD_LIMIT.min(span.bytes().len())];
        if let Some(end) = end_of_head(shown, 0) {
            let bytes = span.take(end as u64);
            tokens.push(start, || TokenKind::Head(bytes.to_vec()));
            return Step::Head { start, end: span.at(), bytes: Cow::Borrowed(bytes) };
        }
        span.take_all();
        if is_cut {
            tokens.push(start, || TokenKind::Head(shown.to_vec()));
            self.stage = Stage::Turn { end: span.end() };
            return Step::CutHead { bytes: Cow::Borrowed(shown) };
        }
        self.stage = Stage::Head { start, bytes: shown.to_vec() };
        Step::NeedsMore
    }

    fn go_on_with_head<'a>(
        &mut self,
        start: u64,
        span: &mut Span<'a>,
        tokens: &mut Tokens<'_>,
    ) -> Step<'a> {
        let Stage::Head { bytes, .. } = &mut self.stage else { return Step::NeedsMore };
        let seen = bytes.len();
        let room = HEAD_LIMIT - seen;
        let is_cut = span.is_cut() || span.bytes().len() >= room;
        bytes.extend_from_slice(&span.bytes()[..room.min(span.bytes().len())]);
        if let Some(end) = end_of_head(bytes, seen.saturating_sub(3)) {
            span.take((end - seen) as u64);
            bytes.truncate(end);
            tokens.push(start, || TokenKind::Head(bytes.clone()));
            let bytes = Cow::Owned(std::mem::take(bytes));
            return Step::Head { start, end: span.at(), bytes };
        }
        if (self.start_line)(bytes) == Guess::No {
            tokens.push(start, || TokenKind::Unreadable(0));
            return Step::Broken { start };
        }
        span.take_all();
        if is_cut {
            tokens.push(start, || TokenKind::Head(bytes.clone()));
            let bytes = Cow::Owned(std::mem::take(bytes));
            self.stage = Stage::Turn { end: span.end() };
            return Step::CutHead { bytes };
        }
        Step::NeedsMore
    }

    fn read_body<'a>(&mut self, span: &mut Span<'a>, tokens: &mut Tokens<'_>) -> Step<'a> {
        let Stage::Body(body) = &mut self.stage else { return Step::NeedsMore };
        let mut shown = span.bytes();
        let ended = if tokens.are_wanted() {
            let at = span.at();
            body.advance_reporting(&mut shown, |syntax, offset, bytes| {
                tokens.push(at + offset as u64, || TokenKind::Chunk(syntax, bytes.to_vec()));
            })
        } else {
            body.advance(&mut shown)
        };
        span.take((span.bytes().len() - shown.len()) as u64);
        let unseen = span.end() - span.at();
        let passed = match ended {
            Ok(true) => return self.end_body(span.at()),
            Ok(false) => body.skip(unseen),
            Err(_) => None,
        };
        let Some(passed) = passed else {
            pass_unreadable(span, tokens);
            self.stage = Stage::Turn { end: span.end() };
            return Step::NeedsMore;
        };
        span.take(passed);
        match body.advance(&mut &[][..]) {
            Ok(true) => self.end_body(span.at()),
            _ => Step::NeedsMore,
        }
    }

    fn read_events<'a>(&mut self, span: &mut Span<'a>, tokens: &mut Tokens<'_>) -> Step<'a> {
        let Stage::Events(body) = &mut self.stage else { return Step::NeedsMore };
        if let Some(at) = body.ended {
            return self.end_body(at);
        }
        if span.is_empty() {
            return Step::NeedsMore;
        }
        let (news, is_readable) = body.read(span, tokens);
        body.until_close = body.until_close.map(|_| span.end());
        if !is_readable {
            self.stage = Stage::Turn { end: span.end() };
            span.take_all();
        }
        Step::Messages(news)
    }

    fn end_body<'a>(&mut self, at: u64) -> Step<'a> {
        self.stage = Stage::Between;
        Step::Ends(Edge::exact(at))
    }
}

impl EventBody {
    /// Takes what is next of the body; what it holds of events, and whether its end can still be found.
    fn read(&mut self, span: &mut Span<'_>, tokens: &mut Tokens<'_>) -> (MessageNews, bool) {
        let Self { body, events, ended, until_close: _ } = self;
        let mut news = events.news();
        let (at, all) = (span.at(), span.bytes());
        let (mut shown, mut from) = (all, 0);
        let result = body.advance_reporting(&mut shown, |syntax, offset, bytes| {
            events.read(at + from as u64, &all[from..offset], tokens, &mut news);
            from = offset + bytes.len();
            if syntax == ChunkSyntax::LineEnd {
                events.end_chunk(&mut news);
            }
            tokens.push(at + offset as u64, || TokenKind::Chunk(syntax, bytes.to_vec()));
        });
        let read = all.len() - shown.len();
        events.read(at + from as u64, &all[from.min(read)..read], tokens, &mut news);
        span.take(read as u64);
        let is_readable = match result {
            Ok(true) => {
                *ended = Some(span.at());
                return (news, true);
            }
            Ok(false) => {
                let unseen = span.len();
                events.skip(unseen, &mut news);
                body.skip(unseen) == Some(unseen)
            }
            Err(_) => false,
        };
        if !is_readable {
            events.lose(&mut news);
        }
        span.take_all();
        (news, is_readable)
    }
}

/// Takes all of `span`, which nothing in it delimits.
fn pass_unreadable(span: &mut Span<'_>, tokens: &mut Tokens<'_>) {
    if let Some(&first) = span.bytes().first() {
        tokens.push(span.at(), || TokenKind::Unreadable(first));
    }
    span.take_all();
}

/// Where the empty line ends that ends a head, if it is after `from`.
///
/// RFC 9112, section 2.2: "a recipient MAY recognize a single LF as a line terminator and ignore
/// any preceding CR".
fn end_of_head(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(line) = next_line(&bytes[at..]) {
        at += line;
        match &bytes[at..] {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
    None
}

/// Where the next line begins. Looks at eight bytes at a time: a head has few lines, and each packet with one
/// is looked through.
fn next_line(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let (words, rest) = bytes.as_chunks::<8>();
    for (word, start) in words.iter().zip((0..).step_by(8)) {
        let differs = u64::from_le_bytes(*word) ^ (ONES * b'\n' as u64);
        // The lowest of these bits is in the first byte that is 0.
        let found = differs.wrapping_sub(ONES) & !differs & HIGH;
        if found > 0 {
            return Some(start + found.trailing_zeros() as usize / 8 + 1);
        }
    }
    let start = bytes.len() - rest.len();
    rest.iter().position(|&byte| byte == b'\n').map(|place| start + place + 1)
}

/// Most bytes of a head that are kept until its end is seen; nginx reads 32 KiB of a request.
pub(super) const HEAD_LIMIT: usize = 32 * 1024;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_next_line_begins_behind_the_first_line_feed(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\x0b'), any::<u8>()], 0..40),
            quiet in 0_usize..40,
        ) {
            let bytes = [vec![b'\x8a'; quiet], bytes].concat();
            let place = bytes.iter().position(|byte| *byte == b'\n');
            prop_assert_eq!(next_line(&bytes), place.map(|it| it + 1));
        }
    }
}
