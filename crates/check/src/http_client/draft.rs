//! A response under way.

use std::{
    hash::{DefaultHasher, Hasher},
    time::Instant,
};

use ackwise_http::Fields;

use super::{
    Acked, Arrived, Exchange, ExchangeError,
    exchange::{Head, HeadEnd, Piece},
};

/// What has been read of one response.
#[derive(Clone, Default)]
pub(super) struct PartialResponse {
    start: Option<u64>,
    head: Option<(Head, HeadEnd)>,
    content: u64,
    /// The first bytes of the content, and how many of them are kept.
    beginning: Vec<u8>,
    kept: usize,
    pieces: Vec<Piece>,
    digest: DefaultHasher,
    trailers: Option<Fields>,
    end: Option<u64>,
    complete: bool,
}

impl PartialResponse {
    /// One that keeps the first `kept` bytes of its content.
    pub(super) fn keeping(kept: usize) -> Self {
        Self { kept, ..Self::default() }
    }

    /// Keeps the first `bytes` of the content that is to come.
    pub(super) fn keep(&mut self, bytes: usize) {
        self.kept = bytes;
    }

    /// Where the response begins in TCP's stream.
    pub(super) const fn start(&self) -> Option<u64> {
        self.start
    }

    pub(super) const fn content(&self) -> u64 {
        self.content
    }

    pub(super) const fn has_head(&self) -> bool {
        self.head.is_some()
    }

    /// What the head says.
    pub(super) fn content_length(&self) -> Option<u64> {
        self.head.as_ref()?.0.content_length
    }

    pub(super) const fn is_complete(&self) -> bool {
        self.complete
    }

    /// Where the response ends in TCP's stream, if anything but the close says so.
    pub(super) const fn end(&self) -> Option<u64> {
        self.end
    }

    /// Its first byte stands at `start`, if it has not begun yet.
    pub(super) fn begin(&mut self, start: u64) {
        self.start.get_or_insert(start);
    }

    pub(super) fn take_head(&mut self, head: Head, end: HeadEnd) {
        self.head = Some((head, end));
    }

    /// Takes content that is readable once TCP's stream has arrived up to `wire`.
    pub(super) fn take_content(&mut self, content: &[u8], wire: u64) {
        self.content += content.len() as u64;
        let more = self.kept.saturating_sub(self.beginning.len()).min(content.len());
        self.beginning.extend_from_slice(&content[..more]);
        if more > 0 && self.pieces.len() < PIECES_LIMIT {
            self.pieces.push(Piece { content: self.beginning.len() as u64, wire });
        }
        self.digest.write(content);
    }

    pub(super) fn take_trailers(&mut self, fields: Fields) {
        self.trailers = Some(fields);
    }

    /// It has ended, at `end` in TCP's stream or with that stream.
    pub(super) fn complete(&mut self, end: Option<u64>) {
        self.end = end;
        self.complete = true;
    }

    /// No further response comes on its connection.
    pub(super) fn is_the_last(&mut self) {
        if let Some((head, _)) = &mut self.head {
            head.persists = false;
        }
    }

    pub(super) fn into_exchange(
        self,
        sent: Instant,
        arrivals: Vec<Arrived>,
        acks: Vec<Acked>,
        end: u64,
    ) -> Result<Exchange, ExchangeError> {
        let Some((head, head_end)) = self.head else {
            return Err(ExchangeError::ClosedUnanswered(None));
        };
        Ok(Exchange {
            sent,
            start: self.start.unwrap_or_default(),
            head_end,
            end,
            complete: self.complete,
            head,
            content: self.content,
            beginning: self.beginning,
            pieces: self.pieces,
            digest: self.digest.finish(),
            trailers: self.trailers,
            arrivals,
            acks,
        })
    }
}

/// Pieces of kept content that are distinguished. Our choice.
const PIECES_LIMIT: usize = 1 << 16;
