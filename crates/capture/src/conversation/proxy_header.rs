//! What a balancer sends before the client's first byte: the PROXY protocol, version 1 or 2 (HAProxy, "proxy-protocol.txt").
//!
//! Not here: the addresses in it. What comes behind it is what the client speaks; behind LOCAL, a health check, mostly
//! nothing does.

use super::{
    guess::{Guess, begins},
    span::Span,
    token::{TokenKind, Tokens},
};

/// A header that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) enum ProxyHeader {
    /// A line, and the number of its bytes that were read.
    Line(usize),
    /// The fixed part of version 2: how much was read of it, and the length in it.
    Fixed(usize, [u8; 2]),
    /// The rest of version 2, of which so much is left.
    Rest(u16),
}

/// How far it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Read {
    NeedsMore,
    Whole,
    Broken,
}

impl ProxyHeader {
    /// The longest line of version 1, its end included (section 2.1).
    const LONGEST: usize = 107;
    /// Bytes before the addresses of version 2 (section 2.2).
    const FIXED: usize = 16;

    /// Whether these bytes begin one.
    pub(super) fn guess(bytes: &[u8]) -> Guess {
        let starts: [&[u8]; 4] = [SIGNATURE, b"PROXY TCP4 ", b"PROXY TCP6 ", b"PROXY UNKNOWN"];
        let guesses = starts.map(|start| begins(bytes, start));
        [Guess::Yes, Guess::Maybe].into_iter().find(|it| guesses.contains(it)).unwrap_or(Guess::No)
    }

    /// The one that begins with this byte.
    pub(super) const fn new(first: u8) -> Self {
        if first == b'P' { Self::Line(0) } else { Self::Fixed(0, [0; 2]) }
    }

    /// Takes its bytes off the front of `span`.
    pub(super) fn handle(&mut self, span: &mut Span<'_>, tokens: &mut Tokens<'_>) -> Read {
        loop {
            match *self {
                Self::Line(read) => return self.read_line(read, span, tokens),
                Self::Fixed(read, length) if read < Self::FIXED => {
                    let Some(&byte) = span.bytes().first() else {
                        return if span.is_empty() { Read::NeedsMore } else { Read::Broken };
                    };
                    tokens.push(span.at(), || TokenKind::Framing(vec![byte]));
                    span.take(1);
                    let [high, low] = length;
                    let length = if read >= Self::FIXED - 2 { [low, byte] } else { [high, low] };
                    *self = Self::Fixed(read + 1, length);
                }
                Self::Fixed(_, length) => *self = Self::Rest(u16::from_be_bytes(length)),
                Self::Rest(left) => {
                    let taken = span.len().min(left.into());
                    span.take(taken);
                    let left = u64::from(left) - taken;
                    *self = Self::Rest(u16::try_from(left).unwrap_or(0));
                    return if left == 0 { Read::Whole } else { Read::NeedsMore };
                }
            }
        }
    }

    fn read_line(&mut self, read: usize, span: &mut Span<'_>, tokens: &mut Tokens<'_>) -> Read {
        let shown = &span.bytes()[..span.bytes().len().min(Self::LONGEST - read)];
        let end = shown.iter().position(|&byte| byte == b'\n').map(|last| last + 1);
        let count = end.unwrap_or(shown.len());
        tokens.push(span.at(), || {
            let masked = shown[..count].iter().zip(read..).map(|(&byte, place)| match byte {
                b'\r' | b'\n' => byte,
                _ => NOBODY.get(place).copied().unwrap_or(b'x'),
            });
            TokenKind::Framing(masked.collect())
        });
        span.take(count as u64);
        *self = Self::Line(read + count);
        match end {
            Some(_) => Read::Whole,
            None if !span.is_empty() || read + count == Self::LONGEST => Read::Broken,
            None => Read::NeedsMore,
        }
    }
}

/// How version 2 begins.
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// A line about nobody (section 2.1), which anything may follow.
const NOBODY: &[u8] = b"PROXY UNKNOWN ";
