//! What of a connection's bytes has to stay, so that its conversation reads the same.

use std::{collections::VecDeque, hash::RandomState};

use ackwise_cause::Direction;
use ackwise_http::Framing;

use super::mask::{self, Chunks};

/// Bytes at a place of a stream. They are nobody's: what was there is masked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Kept {
    pub(crate) direction: Direction,
    pub(crate) at: u64,
    pub(crate) bytes: Vec<u8>,
}

/// Collects what readers of a connection have looked at. What it holds is as much as one call's
/// bytes; who asks for it drains it after each.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    kept: VecDeque<Kept>,
    key: RandomState,
    /// The chunked bodies that are under way.
    chunks: [Option<Chunks>; 2],
}

impl Outline {
    /// Names are made with `key`.
    pub(crate) const fn new(key: RandomState) -> Self {
        Self { kept: VecDeque::new(), key, chunks: [None; 2] }
    }

    pub(crate) fn keep(&mut self, direction: Direction, at: u64, bytes: Vec<u8>) {
        self.kept.push_back(Kept { direction, at, bytes });
    }

    pub(crate) fn pop(&mut self) -> Option<Kept> {
        self.kept.pop_front()
    }

    /// Keeps the head of an HTTP/1 message, or its beginning.
    pub(crate) fn head(&mut self, direction: Direction, at: u64, head: &[u8]) {
        self.keep(direction, at, mask::head(head, &self.key));
    }

    /// Says how the body is delimited that comes next; `None`: that no body comes.
    pub(crate) fn follow(&mut self, direction: Direction, framing: Option<Framing>) {
        self.chunks[direction as usize] = (framing == Some(Framing::Chunked)).then(Chunks::default);
    }

    /// Keeps what delimits messages in bytes that are no head.
    pub(crate) fn pass(&mut self, direction: Direction, at: u64, bytes: &[u8], unseen: u64) {
        let Some(mut chunks) = self.chunks[direction as usize] else {
            return self.pass_between(direction, at, bytes);
        };
        chunks.pass(bytes, |place, framing| self.keep(direction, at + place as u64, framing));
        chunks.skip(unseen);
        self.chunks[direction as usize] = Some(chunks).filter(|it| !it.is_over());
    }

    /// Keeps empty lines, which may stand before a message; of others, that they begin none.
    fn pass_between(&mut self, direction: Direction, at: u64, bytes: &[u8]) {
        let ends = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        let lines: Vec<u8> = ends.copied().collect();
        match (lines.is_empty(), bytes.is_empty()) {
            (_, true) => {}
            (true, false) => self.keep(direction, at, vec![0]),
            (false, false) => self.keep(direction, at, lines),
        }
    }

    /// Keeps a frame of HTTP/2 with a field block, after its header, of which so much is known.
    pub(crate) fn block(
        &mut self,
        direction: Direction,
        at: u64,
        length: usize,
        (method, path, status): (Option<&str>, Option<&str>, Option<u16>),
    ) {
        self.keep(direction, at, mask::block(length, method, path, status, &self.key));
    }
}
