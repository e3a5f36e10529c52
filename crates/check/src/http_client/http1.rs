//! Responses of HTTP/1.1, read out of the bytes that became readable.

use std::{collections::VecDeque, time::Duration};

use ackwise_http::{
    Method,
    client::{ClientConnection, ClientError, ClientEvent},
};

use super::{ExchangeError, draft::PartialResponse, exchange::HeadEnd, plain::Plain};

/// The responses of one connection.
pub(super) struct Http1 {
    connection: ClientConnection<()>,
    /// What the connection has not read. It is emptied before anything more is fed, except while
    /// nobody expects a response.
    unread: VecDeque<Plain>,
    /// The first bytes of the response under way, for messages.
    sample: Vec<u8>,
    draft: PartialResponse,
}

impl Http1 {
    pub(super) fn new() -> Self {
        let (connection, draft) = (ClientConnection::new(), PartialResponse::default());
        Self { connection, unread: VecDeque::new(), sample: Vec::new(), draft }
    }

    pub(super) fn expect(&mut self, method: Method) {
        self.connection.ask(method, ());
    }

    /// The next response is read from here on; the first `kept` bytes of its content are kept.
    pub(super) fn begin(&mut self, kept: usize) {
        self.draft = PartialResponse::keeping(kept);
    }

    pub(super) fn feed(&mut self, plain: Plain) {
        self.unread.push_back(plain);
    }

    /// Whether more lies here than a response that nobody asked for deserves.
    pub(super) fn is_full(&self) -> bool {
        self.unread.iter().map(|plain| plain.bytes.len()).sum::<usize>() > UNREAD_LIMIT
    }

    /// Reads on; whether the response has ended.
    pub(super) fn advance(&mut self) -> Result<bool, ExchangeError> {
        while let Some(plain) = self.unread.pop_front() {
            let skip =
                usize::try_from(self.connection.parser().offset().saturating_sub(plain.offset))
                    .map_or(plain.bytes.len(), |skip| skip.min(plain.bytes.len()));
            let mut rest = &plain.bytes[skip..];
            if self.draft.start().is_none() {
                self.draft.begin(plain.start_on_wire(plain.offset + skip as u64));
                self.sample.clear();
            }
            let shown = rest.len().min(SAMPLE.saturating_sub(self.sample.len()));
            self.sample.extend_from_slice(&rest[..shown]);
            loop {
                match self.connection.advance(&mut rest) {
                    Err(error) => return Err(self.error(error)),
                    Ok(None) => break,
                    Ok(Some(event)) => {
                        let at = plain.offset + (plain.bytes.len() - rest.len()) as u64;
                        note(&mut self.draft, event, at, &plain);
                    }
                }
                if self.draft.is_complete() {
                    if !rest.is_empty() {
                        self.unread.push_front(plain);
                    }
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    pub(super) const fn draft(&self) -> &PartialResponse {
        &self.draft
    }

    pub(super) fn take_draft(&mut self) -> PartialResponse {
        std::mem::take(&mut self.draft)
    }

    /// The server has closed: whether that ended the response.
    pub(super) fn close(&mut self) -> Result<bool, ExchangeError> {
        match self.connection.handle_close() {
            Ok(None) | Err(ClientError::Unanswered) => Ok(false),
            Ok(Some(_)) => {
                self.draft.complete(None);
                Ok(true)
            }
            Err(error) => Err(self.error(error)),
        }
    }

    fn error(&self, error: ClientError) -> ExchangeError {
        match error {
            ClientError::Response(error) => ExchangeError::Http { error, sample: self.sample() },
            ClientError::Unasked => ExchangeError::TooMuch,
            ClientError::Unanswered => ExchangeError::ClosedUnanswered(None),
        }
    }

    /// The error of a response whose head has not ended after `waited`.
    pub(super) fn unanswered(&self, waited: Duration) -> ExchangeError {
        if self.connection.parser().is_within_response() {
            let (bytes, sample) = (self.connection.parser().offset(), self.sample());
            ExchangeError::EndlessHead { bytes, waited, sample }
        } else {
            ExchangeError::Silent(waited)
        }
    }

    fn sample(&self) -> String {
        self.sample.escape_ascii().to_string()
    }
}

/// Takes note of an event that is over at the offset `at`.
fn note(draft: &mut PartialResponse, event: ClientEvent<'_, ()>, at: u64, plain: &Plain) {
    match event {
        ClientEvent::Head((), head) => {
            let end = HeadEnd {
                offset: plain.end_on_wire(head.end),
                separable: plain.can_end_at(head.end),
            };
            draft.take_head(head.into(), end);
        }
        ClientEvent::Content((), content) => draft.take_content(content, plain.end_on_wire(at)),
        ClientEvent::End((), response) => draft.complete(Some(plain.end_on_wire(response.end))),
        _ => {} // Interim responses are part of what precedes the head.
    }
}

/// Bytes that may lie unread while no response is expected.
const UNREAD_LIMIT: usize = 1 << 20;

/// Bytes that a message shows of an answer.
pub(super) const SAMPLE: usize = 48;
