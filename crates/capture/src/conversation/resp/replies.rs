//! Where replies begin and end, in RESP2 and RESP3.
//!
//! Not here: streamed strings and aggregates, which no server sends.

use super::{
    super::{
        span::Span,
        token::{TokenKind, Tokens},
    },
    line::{Piece, Read},
};

/// Follows what the server sends.
#[derive(Clone, Debug)]
pub(super) struct Replies {
    stage: Stage,
    piece: Piece,
    /// The aggregates around the next value, the innermost last.
    around: Vec<Aggregate>,
    /// What is under way is a push.
    is_push: bool,
    /// The reply that is under way has begun.
    has_begun: bool,
}

#[derive(Clone, Copy, Debug)]
struct Aggregate {
    left: u64,
    /// It is a value itself; attributes are not: they are about the one behind them.
    counts: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    /// The next byte is a value's type.
    Value,
    /// In the line of a value with a length.
    Length,
    /// In the line of any other value.
    Line,
    /// In a string, or the line end behind it, of which so much is left.
    Skip(u64),
    /// In a reply that the capture has cut, which has come to here.
    Turn(u64),
    Resting,
}

/// What the next bytes turned out to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Step {
    NeedsMore,
    Begins {
        at: u64,
    },
    Ends {
        at: u64,
    },
    /// The capture has cut it.
    Cut,
    /// It is not a reply, or one of more levels than are read.
    Broken,
}

impl Replies {
    /// Levels of aggregates that are read; hiredis reads 9. Our choice.
    const NESTING: usize = 32;
    /// The most values of an aggregate: Redis counts them in 32 bits.
    const VALUES: i64 = 1 << 32;

    pub(super) const fn new() -> Self {
        Self {
            stage: Stage::Value,
            piece: Piece::new(),
            around: Vec::new(),
            is_push: false,
            has_begun: false,
        }
    }

    pub(super) fn cost(&self) -> usize {
        self.around.capacity() * size_of::<Aggregate>()
    }

    /// Where bytes begin that have to be read together with later ones.
    pub(super) fn undecided(&self) -> Option<u64> {
        self.piece.start()
    }

    /// Where the reply has come to of which only the next request shows the end.
    pub(super) const fn turn(&self) -> Option<u64> {
        if let Stage::Turn(end) = self.stage { Some(end) } else { None }
    }

    /// Nothing is known until [`resume`](Self::resume) is called.
    pub(super) fn rest(&mut self) {
        *self = Self { stage: Stage::Resting, ..Self::new() };
    }

    /// The next segment begins with a reply.
    pub(super) fn resume(&mut self) {
        *self = Self::new();
    }

    /// Takes all that is left, of a reply whose end nothing but the next request shows.
    pub(super) fn follow_turn(&mut self, span: &mut Span<'_>) {
        span.take_all();
        self.rest();
        self.stage = Stage::Turn(span.end());
    }

    /// Takes bytes off the front of `span` up to what is worth telling.
    pub(super) fn advance(&mut self, span: &mut Span<'_>, tokens: &mut Tokens<'_>) -> Step {
        loop {
            if span.is_empty() {
                return Step::NeedsMore;
            }
            let step = match self.stage {
                Stage::Value => self.begin(span, tokens),
                Stage::Length => self.read_length(span, tokens),
                Stage::Line => self.read_line(span, tokens),
                Stage::Skip(left) => self.skip(left, span),
                Stage::Turn(_) => {
                    span.take_all();
                    self.stage = Stage::Turn(span.end());
                    None
                }
                Stage::Resting => {
                    span.take_all();
                    None
                }
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn begin(&mut self, span: &mut Span<'_>, tokens: &mut Tokens<'_>) -> Option<Step> {
        let Some(&kind) = span.bytes().first() else { return Some(Step::Cut) };
        if self.around.is_empty() && !self.has_begun && !self.is_push {
            // RESP3, "Pushes": before or after any other value, never within one, and no answer to anything.
            self.is_push = kind == b'>';
            if !self.is_push && KINDS.contains(&kind) {
                self.has_begun = true;
                tokens.push(span.at(), || TokenKind::Framing(vec![kind]));
                return Some(Step::Begins { at: span.at() });
            }
        }
        match kind {
            b'$' | b'=' | b'!' | b'*' | b'~' | b'%' | b'|' => self.stage = Stage::Length,
            b'>' if self.is_push && self.around.is_empty() => self.stage = Stage::Length,
            b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => {
                tokens.push(span.at(), || TokenKind::Framing(vec![kind]));
                span.take(1);
                self.stage = Stage::Line;
            }
            _ => return Some(Step::Broken),
        }
        None
    }

    /// Reads a line whose content says nothing.
    fn read_line(&mut self, span: &mut Span<'_>, tokens: &mut Tokens<'_>) -> Option<Step> {
        let shown = span.bytes();
        let Some(end) = shown.iter().position(|&byte| byte == b'\n') else {
            if span.is_cut() {
                return Some(Step::Cut);
            }
            pass_content(span, shown.len(), tokens);
            return None;
        };
        pass_content(span, end, tokens);
        tokens.push(span.at(), || TokenKind::Framing(b"\n".to_vec()));
        span.take(1);
        self.end_value(span.at())
    }

    fn read_length(&mut self, span: &mut Span<'_>, tokens: &mut Tokens<'_>) -> Option<Step> {
        match self.piece.read_line(span) {
            Read::NeedsMore => return None,
            Read::Cut => return Some(Step::Cut),
            Read::TooLong => return Some(Step::Broken),
            Read::Whole => {}
        }
        let kind = self.piece.bytes().first().copied().unwrap_or_default();
        let Some(number) = self.piece.number() else { return Some(Step::Broken) };
        if let (Some(start), true) = (self.piece.start(), tokens.are_wanted()) {
            tokens.push(start, || TokenKind::Framing(self.piece.bytes().to_vec()));
        }
        self.piece.clear();
        if matches!(kind, b'$' | b'=' | b'!') {
            const LINE_END: u64 = 2;
            let Ok(length) = u64::try_from(number) else { return self.end_value(span.at()) };
            self.stage = Stage::Skip(length + LINE_END);
            return None;
        }
        if number > Self::VALUES || self.around.len() >= Self::NESTING {
            return Some(Step::Broken);
        }
        let counts = kind != b'|';
        let each = if matches!(kind, b'%' | b'|') { 2 } else { 1 };
        self.stage = Stage::Value;
        match u64::try_from(number) {
            // A null, or an empty one.
            Ok(0) | Err(_) if counts => return self.end_value(span.at()),
            Ok(0) | Err(_) => {}
            Ok(count) => self.around.push(Aggregate { left: count * each, counts }),
        }
        None
    }

    fn skip(&mut self, left: u64, span: &mut Span<'_>) -> Option<Step> {
        let before = span.len();
        span.take(left);
        let left = left - (before - span.len());
        self.stage = Stage::Skip(left);
        if left > 0 { None } else { self.end_value(span.at()) }
    }

    /// A value ends at `at`, and perhaps what it is the last of.
    fn end_value(&mut self, at: u64) -> Option<Step> {
        self.stage = Stage::Value;
        while let Some(around) = self.around.last_mut() {
            around.left -= 1;
            if around.left > 0 {
                return None;
            }
            let counts = around.counts;
            self.around.pop();
            if !counts {
                return None;
            }
        }
        self.has_begun = false;
        if std::mem::take(&mut self.is_push) { None } else { Some(Step::Ends { at }) }
    }
}

/// Passes over a number of bytes whose values mean nothing.
fn pass_content(span: &mut Span<'_>, count: usize, tokens: &mut Tokens<'_>) {
    tokens.push(span.at(), || TokenKind::Framing(vec![b'x'; count]));
    span.take(count as u64);
}

/// The types of values that a reply may be.
const KINDS: &[u8] = b"$=!*~%|+-:_,#(";
