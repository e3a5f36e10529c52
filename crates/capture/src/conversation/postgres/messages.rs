//! Where the messages of one direction begin and end: a type, and a length that counts itself (PostgreSQL, "Message
//! Formats").

use super::super::{
    span::Span,
    token::{TokenKind, Tokens},
};

/// Follows one direction from message to message.
#[derive(Clone, Debug)]
pub(super) struct Messages {
    stage: Stage,
    /// What was read of a header.
    header: [u8; Self::LONGEST],
    length: usize,
    start: u64,
    /// The first message has a code instead of a type.
    is_untyped: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    Header,
    /// In the message of this type, of which so much is left.
    Body(Kind, u64),
    /// In a unit that the capture has cut, which has come to here.
    Turn(u64),
    Resting,
}

/// What a message is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Typed(u8),
    /// With a code: [`STARTUP`], [`SSL`], [`GSS`], [`CANCEL`].
    Coded(u32),
}

/// What the next bytes turned out to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Step {
    NeedsMore,
    /// A message begins at `at`.
    Begins {
        at: u64,
        kind: Kind,
    },
    /// It ends before `at`.
    Ends {
        at: u64,
        kind: Kind,
    },
    Cut,
    Broken,
}

impl Messages {
    /// The longest header: length and code.
    const LONGEST: usize = 8;
    /// Type and length.
    const TYPED: usize = 5;
    /// PostgreSQL's `PQ_LARGE_MESSAGE_LIMIT`.
    const MOST: u32 = 0x3fff_fffe;

    pub(super) const fn typed() -> Self {
        Self {
            stage: Stage::Header,
            header: [0; Self::LONGEST],
            length: 0,
            start: 0,
            is_untyped: false,
        }
    }

    /// The first has no type.
    pub(super) const fn untyped() -> Self {
        Self { is_untyped: true, ..Self::typed() }
    }

    pub(super) const fn resting() -> Self {
        Self { stage: Stage::Resting, ..Self::typed() }
    }

    /// Where bytes begin that have to be read together with later ones.
    pub(super) fn undecided(&self) -> Option<u64> {
        (self.length > 0).then_some(self.start)
    }

    pub(super) const fn is_resting(&self) -> bool {
        matches!(self.stage, Stage::Resting)
    }

    /// Where the unit has come to of which only a turn shows the end.
    pub(super) const fn turn(&self) -> Option<u64> {
        if let Stage::Turn(end) = self.stage { Some(end) } else { None }
    }

    /// Takes all that is left, of a unit whose end nothing but a turn shows.
    pub(super) fn follow_turn(&mut self, span: &mut Span<'_>) {
        span.take_all();
        *self = Self { stage: Stage::Turn(span.end()), ..Self::typed() };
    }

    /// Takes bytes off the front of `span` up to what is worth telling.
    pub(super) fn advance(&mut self, span: &mut Span<'_>, tokens: &mut Tokens<'_>) -> Step {
        if let Stage::Body(kind, 0) = self.stage {
            self.stage = Stage::Header;
            return Step::Ends { at: span.at(), kind };
        }
        if span.is_empty() {
            return Step::NeedsMore;
        }
        match self.stage {
            Stage::Header => self.read_header(span, tokens),
            Stage::Body(kind, left) => {
                let before = span.len();
                span.take(left);
                let left = left - (before - span.len());
                self.stage = Stage::Body(kind, left);
                if left > 0 {
                    return Step::NeedsMore;
                }
                self.stage = Stage::Header;
                Step::Ends { at: span.at(), kind }
            }
            Stage::Turn(_) => {
                span.take_all();
                self.stage = Stage::Turn(span.end());
                Step::NeedsMore
            }
            Stage::Resting => {
                span.take_all();
                Step::NeedsMore
            }
        }
    }

    fn read_header(&mut self, span: &mut Span<'_>, tokens: &mut Tokens<'_>) -> Step {
        let whole = if self.is_untyped { Self::LONGEST } else { Self::TYPED };
        let count = (whole - self.length).min(span.bytes().len());
        if self.length + count < whole && span.is_cut() {
            return Step::Cut;
        }
        if self.length == 0 {
            self.start = span.at();
        }
        let taken = span.take(count as u64);
        self.header[self.length..][..count].copy_from_slice(taken);
        self.length += count;
        if self.length < whole {
            return Step::NeedsMore;
        }
        self.length = 0;
        tokens.push(self.start, || TokenKind::Framing(self.header[..whole].to_vec()));
        let [a, b, c, d, e, f, g, h] = self.header;
        let (kind, length, counted) = match self.is_untyped {
            true => (Kind::Coded(u32::from_be_bytes([e, f, g, h])), [a, b, c, d], 8),
            false => (Kind::Typed(a), [b, c, d, e], 4),
        };
        let length = u32::from_be_bytes(length);
        if length < counted || length > Self::MOST {
            return Step::Broken;
        }
        self.is_untyped = false;
        self.stage = Stage::Body(kind, (length - counted).into());
        Step::Begins { at: self.start, kind }
    }
}

/// Codes of the messages that begin a connection; the protocol's version is that of the first.
pub(super) const STARTUP: core::ops::RangeInclusive<u32> = 0x0003_0000..=0x0003_0063;
pub(super) const SSL: u32 = 80_877_103;
pub(super) const GSS: u32 = 80_877_104;
pub(super) const CANCEL: u32 = 80_877_102;
