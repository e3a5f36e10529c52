//! Where commands begin and end, and their names: arrays of bulk strings (RESP, "Sending commands to a Redis server").
//!
//! Not here: inline commands, which a program does not send.

use super::{
    super::{
        guess::{self, Guess},
        in_order::Effect,
        span::{Span, Start},
        token::{TokenKind, Tokens},
    },
    commands::{self, Options},
    line::{Piece, Read},
};

/// Follows what the client sends.
#[derive(Clone, Debug)]
pub(super) struct Requests {
    stage: Stage,
    piece: Piece,
    /// The command that is under way.
    parts: u64,
    part: u64,
    is_named: bool,
    options: Options,
    effect: Effect,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    /// The next byte begins a command.
    Between,
    /// In the line that says how many parts a command has.
    Count,
    /// In the line that says how long the next part is.
    Length,
    /// In a part that is a word worth reading, of this length.
    Word(usize),
    /// In a part, or the line end behind it, of which so much is left.
    Skip(u64),
    /// In a command that the capture has cut, which has come to here.
    Turn(u64),
    /// Nobody knows where.
    Resting,
}

/// What the next bytes turned out to be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Step {
    NeedsMore,
    Begins {
        at: u64,
    },
    /// The command has this name, if it is a known one.
    Named {
        name: Option<&'static str>,
        at: u64,
    },
    Ends {
        at: u64,
        effect: Effect,
    },
    /// It has no parts, and gets no answer.
    Empty,
    /// The capture has cut it: it goes on to here at least.
    Cut,
    /// It is not a command.
    Broken,
}

impl Requests {
    /// From the beginning of a command on, or from nobody knows where.
    pub(super) const fn new(start: Start) -> Self {
        let stage = match start {
            Start::Beginning => Stage::Between,
            Start::Middle => Stage::Resting,
        };
        Self {
            stage,
            piece: Piece::new(),
            parts: 0,
            part: 0,
            is_named: false,
            options: Options::None,
            effect: Effect::Answered,
        }
    }

    /// Where bytes begin that have to be read together with later ones.
    pub(super) fn undecided(&self) -> Option<u64> {
        self.piece.start()
    }

    /// Where the command has come to of which only the answer shows the end.
    pub(super) const fn turn(&self) -> Option<u64> {
        if let Stage::Turn(end) = self.stage { Some(end) } else { None }
    }

    /// What the command that is under way does; `None` if what was read of it does not tell.
    pub(super) fn effect(&self) -> Option<Effect> {
        let is_known = self.is_named && self.options == Options::None;
        is_known.then_some(self.effect)
    }

    /// Nothing is known until a segment begins with a command.
    pub(super) const fn rest(&mut self) {
        self.stage = Stage::Resting;
        self.piece.clear();
    }

    /// Takes bytes off the front of `span` up to what is worth telling.
    pub(super) fn advance(&mut self, span: &mut Span<'_>, tokens: &mut Tokens<'_>) -> Step {
        loop {
            if span.is_empty() {
                return Step::NeedsMore;
            }
            let step = match self.stage {
                Stage::Between => self.begin(span, tokens),
                Stage::Count => self.read_count(span, tokens),
                Stage::Length => self.read_length(span, tokens),
                Stage::Word(length) => self.read_word(length, span, tokens),
                Stage::Skip(left) => self.skip(left, span),
                Stage::Turn(_) if !begins_command(span) => {
                    span.take_all();
                    self.stage = Stage::Turn(span.end());
                    None
                }
                Stage::Turn(_) => Some(Step::Broken),
                Stage::Resting if begins_command(span) => self.begin(span, tokens),
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

    fn begin(&mut self, span: &Span<'_>, tokens: &mut Tokens<'_>) -> Option<Step> {
        match span.bytes().first() {
            None => return Some(Step::Cut),
            Some(b'*') => {}
            Some(_) => return Some(Step::Broken),
        }
        tokens.push(span.at(), || TokenKind::Framing(b"*".to_vec()));
        self.stage = Stage::Count;
        (self.part, self.is_named) = (0, false);
        (self.options, self.effect) = (Options::None, Effect::Answered);
        Some(Step::Begins { at: span.at() })
    }

    fn read_count(&mut self, span: &mut Span<'_>, tokens: &mut Tokens<'_>) -> Option<Step> {
        let parts = match self.read_number(b'*', span, tokens) {
            Ok(number) => number?,
            Err(step) => return Some(step),
        };
        self.stage = if parts > 0 { Stage::Length } else { Stage::Between };
        self.parts = parts.unsigned_abs();
        (parts <= 0).then_some(Step::Empty)
    }

    fn read_length(&mut self, span: &mut Span<'_>, tokens: &mut Tokens<'_>) -> Option<Step> {
        let length = match self.read_number(b'$', span, tokens) {
            Ok(number) => number?,
            Err(step) => return Some(step),
        };
        let Ok(length) = u64::try_from(length) else { return Some(Step::Broken) };
        let is_name = self.part == 0 && length <= Piece::MOST as u64;
        let is_word = is_name || (self.part > 0 && self.options.reads(self.part, length));
        self.stage = match usize::try_from(length) {
            Ok(length) if is_word => Stage::Word(length),
            _ => Stage::Skip(length + LINE_END),
        };
        // Too long for a command's name: that of none.
        let is_unknown = self.part == 0 && !is_name;
        self.is_named |= is_unknown;
        is_unknown.then_some(Step::Named { name: None, at: span.at() })
    }

    /// Reads the rest of a line of this type with a number; nothing if more of it is to come.
    fn read_number(
        &mut self,
        kind: u8,
        span: &mut Span<'_>,
        tokens: &mut Tokens<'_>,
    ) -> Result<Option<i64>, Step> {
        let read = self.piece.read_line(span);
        if self.piece.bytes().first().or_else(|| span.bytes().first()).is_some_and(|it| *it != kind)
        {
            return Err(Step::Broken);
        }
        match read {
            Read::NeedsMore => Ok(None),
            Read::Cut => Err(Step::Cut),
            Read::TooLong => Err(Step::Broken),
            Read::Whole => {
                let number = self.piece.number().ok_or(Step::Broken);
                self.tell(tokens, |line| line.to_vec());
                self.piece.clear();
                number.map(Some)
            }
        }
    }

    fn read_word(
        &mut self,
        length: usize,
        span: &mut Span<'_>,
        tokens: &mut Tokens<'_>,
    ) -> Option<Step> {
        match self.piece.read_word(span, length) {
            Read::NeedsMore => return None,
            Read::Cut | Read::TooLong => return Some(Step::Cut),
            Read::Whole => {}
        }
        self.stage = Stage::Skip(LINE_END);
        let step = if self.part == 0 {
            self.is_named = true;
            let command = commands::find(self.piece.bytes());
            if let Some(command) = command {
                (self.effect, self.options) = (command.effect, command.options);
            }
            self.tell(tokens, |word| match command {
                Some(_) => word.to_vec(),
                None => unknown(word),
            });
            Some(Step::Named { name: command.map(|it| it.name), at: span.at() })
        } else {
            let word = self.piece.bytes();
            let (options, effect, is_known) = self.options.after(self.part, word);
            self.options = options;
            self.effect = effect.unwrap_or(self.effect);
            self.tell(tokens, |word| if is_known { word.to_vec() } else { unknown(word) });
            None
        };
        self.piece.clear();
        step
    }

    /// Passes over a part; at the end of the last one the command ends.
    fn skip(&mut self, left: u64, span: &mut Span<'_>) -> Option<Step> {
        let before = span.len();
        span.take(left);
        let left = left - (before - span.len());
        self.stage = Stage::Skip(left);
        if left > 0 {
            return None;
        }
        self.part += 1;
        let is_over = self.part == self.parts;
        self.stage = if is_over { Stage::Between } else { Stage::Length };
        is_over.then_some(Step::Ends { at: span.at(), effect: self.effect })
    }

    /// Takes all that is left, of a command that the capture has cut.
    pub(super) fn follow_turn(&mut self, span: &mut Span<'_>) {
        span.take_all();
        self.piece.clear();
        self.stage = Stage::Turn(span.end());
    }

    fn tell(&self, tokens: &mut Tokens<'_>, stays: impl FnOnce(&[u8]) -> Vec<u8>) {
        if let (Some(start), true) = (self.piece.start(), tokens.are_wanted()) {
            tokens.push(start, || TokenKind::Framing(stays(self.piece.bytes())));
        }
    }
}

/// Whether a segment begins with a command, beyond doubt.
fn begins_command(span: &Span<'_>) -> bool {
    span.begins_segment() && guess::resp_command(span.bytes()) == Guess::Yes
}

/// Bytes of a line end.
const LINE_END: u64 = 2;

/// What stands for a word that may be anything.
fn unknown(word: &[u8]) -> Vec<u8> {
    vec![b'X'; word.len()]
}
