//! Reads responses out of the bytes that became readable, and notes where their parts end.

use std::{
    collections::VecDeque,
    hash::{DefaultHasher, Hasher},
    time::{Duration, Instant},
};

use ackwise_http::{Method, ResponseEvent, ResponseHead, ResponseParser};

use super::{Acked, Arrived, Exchange, ExchangeError, exchange::HeadEnd, plain::Plain};

/// The responses of one connection.
pub(super) struct Reader {
    parser: ResponseParser,
    /// What the parser has not read. It is emptied before anything more is fed, except while
    /// nobody expects a response.
    unread: VecDeque<Plain>,
    /// The first bytes of the response under way, for messages.
    sample: Vec<u8>,
}

/// What has been read of one response.
#[derive(Default)]
pub(super) struct PartialResponse {
    start: Option<u64>,
    head: Option<(ResponseHead, HeadEnd)>,
    content: u64,
    /// The first bytes of the content, and how many of them are kept.
    beginning: Vec<u8>,
    kept: usize,
    digest: DefaultHasher,
    end: Option<u64>,
    complete: bool,
}

impl Reader {
    pub(super) fn new() -> Self {
        let parser = ResponseParser::new();
        Self { parser, unread: VecDeque::new(), sample: Vec::new() }
    }

    pub(super) fn expect(&mut self, method: Method) {
        self.parser.expect(method);
    }

    pub(super) fn feed(&mut self, plain: Plain) {
        self.unread.push_back(plain);
    }

    /// Whether more lies here than a response that nobody asked for deserves.
    pub(super) fn is_full(&self) -> bool {
        self.unread.iter().map(|plain| plain.bytes.len()).sum::<usize>() > UNREAD_LIMIT
    }

    /// Reads on; whether the response has ended.
    pub(super) fn advance(&mut self, draft: &mut PartialResponse) -> Result<bool, ExchangeError> {
        while let Some(plain) = self.unread.pop_front() {
            let skip = usize::try_from(self.parser.offset().saturating_sub(plain.offset))
                .map_or(plain.bytes.len(), |skip| skip.min(plain.bytes.len()));
            let mut rest = &plain.bytes[skip..];
            if draft.start.is_none() {
                draft.start = Some(plain.start_on_wire(plain.offset + skip as u64));
                self.sample.clear();
            }
            let shown = rest.len().min(SAMPLE.saturating_sub(self.sample.len()));
            self.sample.extend_from_slice(&rest[..shown]);
            loop {
                match self.parser.advance(&mut rest) {
                    Err(error) => return Err(ExchangeError::Http { error, sample: self.sample() }),
                    Ok(None) => break,
                    Ok(Some(event)) => draft.note(event, &plain),
                }
                if draft.complete {
                    if !rest.is_empty() {
                        self.unread.push_front(plain);
                    }
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The server has closed: whether that ended the response.
    pub(super) fn close(&mut self, draft: &mut PartialResponse) -> Result<bool, ExchangeError> {
        match self.parser.handle_close() {
            Ok(ended) => {
                draft.complete = ended.is_some();
                Ok(draft.complete)
            }
            Err(error) => Err(ExchangeError::Http { error, sample: self.sample() }),
        }
    }

    /// The error of a response whose head has not ended after `waited`.
    pub(super) fn unanswered(&self, waited: Duration) -> ExchangeError {
        if self.parser.is_within_response() {
            let (bytes, sample) = (self.parser.offset(), self.sample());
            ExchangeError::EndlessHead { bytes, waited, sample }
        } else {
            ExchangeError::Silent(waited)
        }
    }

    fn sample(&self) -> String {
        self.sample.escape_ascii().to_string()
    }
}

impl PartialResponse {
    /// One that keeps the first `kept` bytes of its content.
    pub(super) fn keeping(kept: usize) -> Self {
        Self { kept, ..Self::default() }
    }

    /// Where the response begins in TCP's stream.
    pub(super) fn start(&self) -> Option<u64> {
        self.start
    }

    pub(super) fn content(&self) -> u64 {
        self.content
    }

    pub(super) fn has_head(&self) -> bool {
        self.head.is_some()
    }

    /// Where the response ends in TCP's stream, if anything but the close says so.
    pub(super) fn end(&self) -> Option<u64> {
        self.end
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
            digest: self.digest.finish(),
            arrivals,
            acks,
        })
    }

    fn note(&mut self, event: ResponseEvent<'_>, plain: &Plain) {
        match event {
            ResponseEvent::Head(head) => {
                let end = HeadEnd {
                    offset: plain.end_on_wire(head.end),
                    separable: plain.can_end_at(head.end),
                };
                self.head = Some((head.clone(), end));
            }
            ResponseEvent::Content(content) => {
                self.content += content.len() as u64;
                let more = self.kept.saturating_sub(self.beginning.len()).min(content.len());
                self.beginning.extend_from_slice(&content[..more]);
                self.digest.write(content);
            }
            ResponseEvent::End(response) => {
                self.end = Some(plain.end_on_wire(response.end));
                self.complete = true;
            }
            _ => {} // Interim responses are part of what precedes the head.
        }
    }
}

/// Bytes that may lie unread while no response is expected.
const UNREAD_LIMIT: usize = 1 << 20;

/// Bytes that a message shows of an answer.
const SAMPLE: usize = 48;
