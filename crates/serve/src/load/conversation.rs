//! One connection's client, without I/O: what to do next, and what has arrived.
//!
//! ```text
//! Asking ── last response ──┬─ Close::Server ──────▶ AwaitingClose ── server's FIN ──▶ Over
//!                           ├─ Close::Client ───────────────────────────────────────▶ Over
//!                           └─ Close::ClientClose ─▶ SayingClose ─┬─ Drain::Plain ───▶ Over
//!                                                                 └─ Drain::HalfClose
//!                                        HalfClosing ─▶ Draining ── server's FIN ──▶ Over
//! ```
//!
//! A server may end it earlier, by its own word: then `AwaitingClose` follows what was its last response.

use ackwise_http::{
    Method, Persistence, Response, ResponseError, ResponseErrorKind, ResponseEvent, ResponseParser,
    client_close::ClientSide,
};

use super::{Broken, Close, Drain, Plan, plan::Message};

/// The client's side of one connection.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    side: ClientSide,
    parser: ResponseParser,
    phase: Phase,
    /// What is being said, or was said last.
    message: Message,
    /// How much of it has been written.
    written: usize,
    drained: usize,
    cut_short: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    /// A request is being written, or its response awaited.
    Asking,
    /// The server closes first.
    AwaitingClose,
    /// The CLIENT_CLOSE is being written.
    SayingClose,
    HalfClosing,
    /// Reading what nobody wants, to the server's FIN.
    Draining,
    Over,
}

/// What the driver is to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Step<'p> {
    /// Write, and tell [`Conversation::handle_written`].
    Write(&'p [u8]),
    /// Read, and tell [`Conversation::handle_octets`] or [`Conversation::handle_end`].
    Read,
    /// Close our half, and tell [`Conversation::handle_half_closed`].
    HalfClose,
    /// Close: it is over.
    Close,
}

/// A response that has arrived completely.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Answer {
    pub(super) status: u16,
}

/// Why a request has no response. The server is at fault, or the way there.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The connection broke.
    #[error(transparent)]
    Broken(#[from] Broken),
    /// There was no response, or no connection, within our own time-out.
    #[error("not answered in time")]
    TimedOut,
    /// The server closed instead of answering.
    #[error("closed without a response")]
    Closed,
    /// The connection closed within a response.
    #[error(transparent)]
    ShortBody(ResponseError),
    /// What came is no HTTP.
    #[error(transparent)]
    Malformed(ResponseError),
    /// The response says that the request failed.
    #[error("status {0}")]
    Status(u16),
}

impl Failure {
    /// Its name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Broken(Broken::Refused) => "refused",
            Self::Broken(Broken::Reset) => "reset",
            Self::Broken(Broken::TimedOut) | Self::TimedOut => "timed-out",
            Self::Broken(Broken::Unreachable) => "unreachable",
            Self::Broken(Broken::System(_)) => "system",
            Self::Closed => "closed",
            Self::ShortBody(_) => "short-body",
            Self::Malformed(_) => "malformed",
            Self::Status(400..=499) => "status-4xx",
            Self::Status(_) => "status-5xx",
        }
    }
}

impl From<ResponseError> for Failure {
    fn from(error: ResponseError) -> Self {
        match error.kind {
            ResponseErrorKind::UnexpectedEnd(_) => Self::ShortBody(error),
            _ => Self::Malformed(error),
        }
    }
}

impl Conversation {
    /// A connection that is being opened, with its first request to be written.
    pub(super) fn new(plan: &Plan) -> Self {
        let mut conversation = Self {
            side: ClientSide::NEW,
            parser: ResponseParser::new(),
            phase: Phase::Asking,
            message: Message::Request,
            written: 0,
            drained: 0,
            cut_short: false,
        };
        conversation.ask_or_close(plan);
        conversation
    }

    /// What to do now.
    pub(super) fn step<'p>(&self, plan: &'p Plan) -> Step<'p> {
        match self.phase {
            Phase::Asking | Phase::SayingClose if self.side.sending => {
                Step::Write(&plan.octets(self.message)[self.written..])
            }
            Phase::Asking | Phase::AwaitingClose | Phase::Draining => Step::Read,
            Phase::HalfClosing => Step::HalfClose,
            Phase::SayingClose | Phase::Over => Step::Close,
        }
    }

    /// Whether a request was made that has no response.
    pub(super) fn is_asking(&self) -> bool {
        self.phase == Phase::Asking
    }

    /// The server closed, or said that it would, before the last request.
    pub(super) const fn was_cut_short(&self) -> bool {
        self.cut_short
    }

    /// So many octets of [`Step::Write`] were written.
    pub(super) fn handle_written(&mut self, octets: usize, plan: &Plan) {
        self.written += octets;
        if self.written < plan.octets(self.message).len() {
            return;
        }
        self.side.sending = false;
        if self.phase == Phase::SayingClose {
            self.phase = match plan.close() {
                Close::ClientClose(Drain::HalfClose) => Phase::HalfClosing,
                _ => Phase::Over,
            };
        }
    }

    /// Our half is closed.
    pub(super) fn handle_half_closed(&mut self) {
        self.phase = Phase::Draining;
    }

    /// Octets have arrived. There is one request at a time, so they hold one response at most.
    pub(super) fn handle_octets(
        &mut self,
        mut octets: &[u8],
        plan: &Plan,
    ) -> Result<Option<Answer>, Failure> {
        if self.phase != Phase::Asking {
            self.drain(octets.len());
            return Ok(None);
        }
        while let Some(event) = self.parser.advance(&mut octets)? {
            if let ResponseEvent::End(response) = event {
                // What the server says unasked after it is drained, or met at the next request.
                return Ok(Some(self.answered(&response, plan)));
            }
        }
        Ok(None)
    }

    /// The server has closed its half.
    pub(super) fn handle_end(&mut self, plan: &Plan) -> Result<Option<Answer>, Failure> {
        self.side.server_closed = true;
        if self.phase != Phase::Asking {
            self.phase = Phase::Over;
            return Ok(None);
        }
        let response = self.parser.handle_close()?.ok_or(Failure::Closed)?;
        let answer = self.answered(&response, plan);
        self.phase = Phase::Over;
        Ok(Some(answer))
    }

    fn answered(&mut self, response: &Response, plan: &Plan) -> Answer {
        self.side.answered += 1;
        self.side.last = Some(response.head.persistence);
        self.ask_or_close(plan);
        Answer { status: response.head.status }
    }

    /// The next request, if there is one; or the beginning of the end.
    fn ask_or_close(&mut self, plan: &Plan) {
        let persists = self.side.last.is_none_or(|last| last == Persistence::Persists);
        match plan.message(self.side.sent) {
            Some(request) if persists => {
                self.parser.expect(Method::Get);
                self.side.sent += 1;
                self.say(request);
            }
            more => {
                self.cut_short = more.is_some();
                self.phase = self.closing_phase(plan);
            }
        }
    }

    fn closing_phase(&mut self, plan: &Plan) -> Phase {
        match plan.close() {
            Close::Client => Phase::Over,
            Close::ClientClose(_) if self.side.may_close().is_ok() => {
                self.say(Message::ClientClose);
                Phase::SayingClose
            }
            Close::Server | Close::ClientClose(_) => Phase::AwaitingClose,
        }
    }

    fn say(&mut self, message: Message) {
        (self.message, self.written, self.side.sending) = (message, 0, true);
    }

    fn drain(&mut self, octets: usize) {
        self.drained += octets;
        if self.drained > DRAIN_LIMIT {
            self.phase = Phase::Over;
        }
    }
}

/// Octets that are read and thrown away before we close regardless: an error page is shorter.
const DRAIN_LIMIT: usize = 256 * 1024;
