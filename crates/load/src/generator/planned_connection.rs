//! What one connection does next by the plan, from its first request to its close. Without I/O.
//!
//! ```text
//! Idle ── request ──▶ Asking ── response ──▶ Idle
//!
//! Asking ── last response ──┬─ Close::Server ──────▶ AwaitingClose ── server's FIN ──▶ Over
//!                           ├─ Close::Client ───────────────────────────────────────▶ Over
//!                           └─ Close::ClientClose ─▶ SayingClose ─┬─ Drain::Plain ───▶ Over
//!                                                                 └─ Drain::HalfClose
//!                                        HalfClosing ─▶ Draining ── server's FIN ──▶ Over
//! ```
//!
//! A server may announce an earlier close: `AwaitingClose` then follows its last response.

use std::fmt;

use ackwise_http::{
    Persistence, Response,
    client::{ClientConnection, ClientEvent},
    client_close::ClientSide,
};
use ackwise_net::AfterWrite;
use ring::digest::{self, SHA256};

use super::{
    Close, Drain, Failure, Plan,
    failure::Progress,
    known_response::{KnownResponse, Recognised},
    plan::Message,
};

/// A connection of a [`Plan`].
#[derive(Clone, Debug)]
pub(super) struct PlannedConnection {
    /// For each request, the hash of the content, if it is wanted.
    http: ClientConnection<Option<Hasher>>,
    phase: Phase,
    /// The current or last message.
    message: Message,
    /// Whether it is the connection's last request.
    is_last: bool,
    /// Whether bytes of the message are left to write.
    is_writing: bool,
    /// Number of its bytes written.
    written: usize,
    drained: usize,
    cut_short: bool,
    forestalled: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Phase {
    /// No request is outstanding, and another one may follow.
    Idle,
    /// A request is being written, or its response awaited.
    Asking,
    /// The server closes first.
    AwaitingClose,
    /// The CLIENT_CLOSE is being written.
    SayingClose,
    HalfClosing,
    /// Reading and discarding up to the server's FIN.
    Draining,
    Over,
}

/// What the driver has to do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Step<'p> {
    /// Write, then call [`PlannedConnection::handle_written`].
    Write(&'p [u8], AfterWrite),
    /// Read, then call [`PlannedConnection::handle_bytes`] or [`PlannedConnection::handle_end`].
    Read,
    /// Close the client's half, then call [`PlannedConnection::handle_half_closed`].
    HalfClose,
    /// Close: the connection is finished.
    Close,
}

/// A complete response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Answer {
    pub(super) status: u16,
    /// Bytes of content.
    pub(super) content: u64,
    /// Its SHA-256, if the plan wants it.
    pub(super) hash: Option<Hash>,
}

/// A SHA-256.
pub(super) type Hash = [u8; digest::SHA256_OUTPUT_LEN];

/// The hash of the content so far.
#[derive(Clone)]
struct Hasher(digest::Context);

impl Hasher {
    fn finish(self) -> Hash {
        let mut bytes = Hash::default();
        bytes.copy_from_slice(self.0.finish().as_ref());
        bytes
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Hasher").finish_non_exhaustive()
    }
}

impl PlannedConnection {
    /// A connection that is being opened.
    pub(super) fn new() -> Self {
        Self {
            http: ClientConnection::new(),
            phase: Phase::Idle,
            message: Message::ClientClose,
            is_last: false,
            is_writing: false,
            written: 0,
            drained: 0,
            cut_short: false,
            forestalled: false,
        }
    }

    /// Starts the plan's request `index` on an idle connection, which ends when none are `left`.
    pub(super) fn ask(&mut self, index: usize, left: u64, plan: &Plan) {
        assert!(self.is_idle(), "a request while another one is outstanding");
        self.is_last = left == 0;
        self.phase = Phase::Asking;
        self.say(plan.message(index, left));
        let hash = plan.is_hashed().then(|| Hasher(digest::Context::new(&SHA256)));
        self.http.ask(plan.method(self.message), hash);
    }

    /// Ends an idle connection, which carries no more requests.
    pub(super) fn finish(&mut self, plan: &Plan) {
        assert!(self.is_idle(), "a close while a request is outstanding");
        self.phase = match plan.close() {
            Close::ClientClose(_) => self.closing_phase(plan),
            // No request is left that could ask the server to close.
            Close::Server | Close::Client => Phase::Over,
        };
    }

    /// The next step.
    pub(super) fn step<'p>(&self, plan: &'p Plan) -> Step<'p> {
        match self.phase {
            Phase::Asking if self.is_writing => Step::Write(self.rest(plan), AfterWrite::Nothing),
            Phase::SayingClose if self.is_writing => {
                Step::Write(self.rest(plan), AfterWrite::Close)
            }
            Phase::Idle | Phase::Asking | Phase::AwaitingClose | Phase::Draining => Step::Read,
            Phase::HalfClosing => Step::HalfClose,
            Phase::SayingClose | Phase::Over => Step::Close,
        }
    }

    fn rest<'p>(&self, plan: &'p Plan) -> &'p [u8] {
        &plan.bytes(self.message)[self.written..]
    }

    /// Whether a request is unanswered.
    pub(super) fn is_asking(&self) -> bool {
        self.phase == Phase::Asking
    }

    /// How far the outstanding request is, as far as this connection knows.
    pub(super) fn progress(&self) -> Progress {
        Progress {
            is_new: self.written == 0 && !self.has_answered(),
            is_asked: !self.is_writing,
            is_answering: !self.http.parser().is_between_responses(),
            ..Progress::UNKNOWN
        }
    }

    /// Whether an earlier request was answered.
    pub(super) const fn has_answered(&self) -> bool {
        self.http.side().answered > 0
    }

    /// Whether a request may be started.
    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// The request that is outstanding, or the last one.
    pub(super) const fn message(&self) -> Message {
        self.message
    }

    /// Whether the server closed, or announced its close, before the last request.
    pub(super) const fn was_cut_short(&self) -> bool {
        self.cut_short
    }

    /// Whether the server announced its close although the client was to close first.
    pub(super) const fn was_forestalled(&self) -> bool {
        self.forestalled
    }

    /// Handles `bytes` bytes of [`Step::Write`] having been written.
    pub(super) fn handle_written(&mut self, bytes: usize, plan: &Plan) {
        self.written += bytes;
        if self.written < plan.bytes(self.message).len() {
            return;
        }
        self.is_writing = false;
        if self.phase == Phase::SayingClose {
            self.phase = match plan.close() {
                Close::ClientClose(Drain::HalfClose) => Phase::HalfClosing,
                _ => Phase::Over,
            };
        }
    }

    /// Handles the close of the client's half.
    pub(super) fn handle_half_closed(&mut self) {
        self.phase = Phase::Draining;
    }

    /// Handles received bytes. Only one request is outstanding, so they hold at most one response.
    pub(super) fn handle_bytes(
        &mut self,
        mut bytes: &[u8],
        plan: &Plan,
        known: &mut KnownResponse,
    ) -> Result<Option<Answer>, Failure> {
        match self.phase {
            Phase::Asking => {}
            Phase::Idle => return Err(Failure::Unasked),
            _ => {
                self.drain(bytes.len());
                return Ok(None);
            }
        }
        let (all, method) = (bytes, plan.method(self.message));
        let is_between = self.http.parser().is_between_responses();
        if is_between && let Some(response) = known.recognise(method, bytes) {
            let Recognised { status, content, persistence } = response;
            let mut hash = self.http.recognised(bytes.len() as u64, persistence);
            if let Some(hash) = &mut hash {
                hash.0.update(content);
            }
            return Ok(Some(self.answered(status, content.len() as u64, hash, plan)));
        }
        while let Some(event) = self.http.advance(&mut bytes)? {
            match event {
                ClientEvent::Content(Some(hash), content) => hash.0.update(content),
                ClientEvent::End(..) if !bytes.is_empty() => return Err(Failure::Unasked),
                ClientEvent::End(hash, response) => {
                    if is_between {
                        known.learn(method, all, &response);
                    }
                    return Ok(Some(self.parsed(hash, &response, plan)));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// Handles the server's close of its half.
    pub(super) fn handle_end(&mut self, plan: &Plan) -> Result<Option<Answer>, Failure> {
        let ended = self.http.handle_close()?;
        // It had more requests to come.
        self.cut_short |= self.phase == Phase::Idle;
        let answer = ended.map(|(hash, response)| self.parsed(hash, &response, plan));
        self.phase = Phase::Over;
        Ok(answer)
    }

    fn parsed(&mut self, hash: Option<Hasher>, response: &Response, plan: &Plan) -> Answer {
        self.answered(response.head.status, response.content, hash, plan)
    }

    fn answered(&mut self, status: u16, content: u64, hash: Option<Hasher>, plan: &Plan) -> Answer {
        if self.persists() && !self.is_last {
            self.phase = Phase::Idle;
        } else {
            self.cut_short = !self.is_last;
            self.phase = self.closing_phase(plan);
        }
        Answer { status, content, hash: hash.map(Hasher::finish) }
    }

    fn persists(&self) -> bool {
        self.http.side().last == Some(Persistence::Persists)
    }

    fn closing_phase(&mut self, plan: &Plan) -> Phase {
        self.forestalled = plan.close() != Close::Server && !self.persists();
        let side = ClientSide { sending: self.is_writing, ..*self.http.side() };
        match plan.close() {
            Close::Client => Phase::Over,
            Close::ClientClose(_) if side.may_close().is_ok() => {
                self.say(Message::ClientClose);
                Phase::SayingClose
            }
            Close::Server | Close::ClientClose(_) => Phase::AwaitingClose,
        }
    }

    fn say(&mut self, message: Message) {
        (self.message, self.written, self.is_writing) = (message, 0, true);
    }

    fn drain(&mut self, bytes: usize) {
        self.drained += bytes;
        if self.drained > DRAIN_LIMIT {
            self.phase = Phase::Over;
        }
    }
}

/// Maximum number of bytes discarded before the client closes anyway (our choice: an error page is
/// shorter).
const DRAIN_LIMIT: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab";
    const LAST: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab";
    const HALF: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na";
    const TO_THE_END: &[u8] = b"HTTP/1.0 200 OK\r\n\r\nab";
    const MISSING: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    const NONSENSE: &[u8] = b"SSH-2.0-OpenSSH\r\n";

    /// A driver that holds all arguments and writes a few bytes at a time.
    struct Driver {
        plan: Plan,
        connection: PlannedConnection,
        known: KnownResponse,
        left: u32,
    }

    impl Driver {
        fn new(close: Close, requests: u32) -> Self {
            let plan = Plan::new("h", "/", close).unwrap();
            let (connection, known) = (PlannedConnection::new(), KnownResponse::default());
            let mut driver = Self { plan, connection, known, left: requests };
            driver.ask_next();
            driver
        }

        /// Asks again if it may.
        fn ask_next(&mut self) {
            if self.connection.is_idle() {
                self.left -= 1;
                self.connection.ask(0, self.left.into(), &self.plan);
            }
        }

        /// All bytes written until the next step that is not a write, and that step.
        fn said(&mut self) -> (String, Step<'_>) {
            let mut said = Vec::new();
            while let Step::Write(bytes, _) = self.connection.step(&self.plan) {
                let piece = bytes.len().min(7);
                said.extend(&bytes[..piece]);
                self.connection.handle_written(piece, &self.plan);
            }
            let line = String::from_utf8(said).unwrap().replace("\r\nHost: h\r\n", "|");
            (line.trim_end().to_owned(), self.connection.step(&self.plan))
        }

        fn hears(&mut self, bytes: &[u8]) -> Result<Option<u16>, Failure> {
            let answer = self.connection.handle_bytes(bytes, &self.plan, &mut self.known);
            self.ask_next();
            answer.map(|answer| answer.map(|answer| answer.status))
        }

        fn hears_the_end(&mut self) -> Result<Option<u16>, Failure> {
            let answer = self.connection.handle_end(&self.plan);
            answer.map(|answer| answer.map(|answer| answer.status))
        }
    }

    fn said(text: &str, step: Step<'static>) -> (String, Step<'static>) {
        (text.to_owned(), step)
    }

    #[test]
    fn the_server_closes_after_the_last_of_several_requests() {
        let mut client = Driver::new(Close::Server, 2);
        assert_eq!(client.said(), said("GET / HTTP/1.1|", Step::Read));
        assert_eq!(client.hears(&KEPT[..20]), Ok(None));
        assert_eq!(client.hears(&KEPT[20..]), Ok(Some(200)));
        assert_eq!(client.said(), said("GET / HTTP/1.1|Connection: close", Step::Read));
        assert_eq!(client.hears(LAST), Ok(Some(200)));
        assert!(!client.connection.is_asking());
        assert_eq!(client.said(), said("", Step::Read), "its FIN is awaited");
        assert_eq!(client.hears_the_end(), Ok(None));
        assert_eq!(client.said(), said("", Step::Close));
        assert!(!client.connection.was_cut_short());
    }

    #[test]
    fn the_client_closes_without_a_word() {
        let mut client = Driver::new(Close::Client, 1);
        assert_eq!(client.said(), said("GET / HTTP/1.1|", Step::Read));
        assert_eq!(client.hears(KEPT), Ok(Some(200)));
        assert_eq!(client.said(), said("", Step::Close));
    }

    #[test]
    fn a_client_close_follows_the_last_response_and_what_it_draws_is_drained() {
        let mut client = Driver::new(Close::ClientClose(Drain::HalfClose), 1);
        client.said();
        assert_eq!(client.hears(KEPT), Ok(Some(200)));
        assert_eq!(client.said(), said("CLIENT_CLOSE * HTTP/1.1|", Step::HalfClose));
        client.connection.handle_half_closed();
        assert_eq!(client.said(), said("", Step::Read));
        assert_eq!(client.hears(b"HTTP/1.1 501 what? or no HTTP at all"), Ok(None));
        assert_eq!(client.hears_the_end(), Ok(None));
        assert_eq!(client.said(), said("", Step::Close));
    }

    #[test]
    fn what_is_drained_has_a_bound() {
        let mut client = Driver::new(Close::ClientClose(Drain::HalfClose), 1);
        client.said();
        client.hears(KEPT).unwrap();
        client.said();
        client.connection.handle_half_closed();
        let page = [0; 4096];
        let pages = (0..1000).take_while(|_| {
            client.hears(&page).unwrap();
            client.said() == said("", Step::Read)
        });
        assert_eq!(pages.count() * page.len(), DRAIN_LIMIT);
    }

    #[test]
    fn a_plain_client_close_closes_at_once() {
        let mut client = Driver::new(Close::ClientClose(Drain::Plain), 1);
        client.said();
        client.hears(KEPT).unwrap();
        let Step::Write(_, follows) = client.connection.step(&client.plan) else { panic!() };
        assert_eq!(follows, AfterWrite::Close);
        assert_eq!(client.said(), said("CLIENT_CLOSE * HTTP/1.1|", Step::Close));
    }

    #[test]
    fn no_client_close_is_said_to_a_server_that_closes_anyway() {
        for response in [LAST, TO_THE_END] {
            let mut client = Driver::new(Close::ClientClose(Drain::HalfClose), 1);
            client.said();
            client.hears(response).unwrap();
            assert_eq!(client.said(), said("", Step::Read));
            client.hears_the_end().unwrap();
            assert!(client.connection.was_forestalled());
            assert_eq!(client.said(), said("", Step::Close));
        }
    }

    #[test]
    fn a_server_may_end_it_early_by_its_word() {
        let mut client = Driver::new(Close::Client, 5);
        client.said();
        assert_eq!(client.hears(LAST), Ok(Some(200)));
        assert!(client.connection.was_cut_short() && !client.connection.is_asking());
    }

    #[test]
    fn each_failure_has_its_name() {
        type Hear = fn(&mut Driver) -> Result<Option<u16>, Failure>;
        let table: [(Hear, &str); 5] = [
            (|client| client.hears_the_end(), "closed-unanswered"),
            (|client| client.hears(HALF).and_then(|_| client.hears_the_end()), "truncated"),
            (|client| client.hears(&HALF[..9]).and_then(|_| client.hears_the_end()), "truncated"),
            (|client| client.hears(NONSENSE), "malformed"),
            (|client| client.hears(&[KEPT, b"c"].concat()), "malformed"),
        ];
        for (hear, name) in table {
            let mut client = Driver::new(Close::Server, 1);
            client.said();
            assert_eq!(hear(&mut client).map_err(Failure::as_str), Err(name));
            assert!(client.connection.is_asking(), "{name}: a request has failed");
        }
        let mut client = Driver::new(Close::Server, 1);
        client.said();
        assert_eq!(client.hears(MISSING), Ok(Some(404)));
    }

    #[test]
    fn a_body_may_end_with_the_connection() {
        let mut client = Driver::new(Close::Server, 1);
        client.said();
        assert_eq!(client.hears(TO_THE_END), Ok(None));
        assert_eq!(client.hears_the_end(), Ok(Some(200)));
        assert_eq!(client.said(), said("", Step::Close));
    }

    #[test]
    fn an_idle_connection_ends_without_another_request() {
        for (close, said_last) in [
            (Close::Server, ""),
            (Close::Client, ""),
            (Close::ClientClose(Drain::Plain), "CLIENT_CLOSE * HTTP/1.1|"),
        ] {
            let mut client = Driver::new(close, 2);
            client.said();
            client.connection.handle_bytes(KEPT, &client.plan, &mut client.known).unwrap();
            client.connection.finish(&client.plan);
            assert_eq!(client.said(), said(said_last, Step::Close), "{close:?}");
            assert!(!client.connection.was_cut_short());
        }
        let mut client = Driver::new(Close::Client, 2);
        client.said();
        client.connection.handle_bytes(KEPT, &client.plan, &mut client.known).unwrap();
        assert_eq!(client.hears_the_end(), Ok(None));
        assert!(client.connection.was_cut_short(), "the server did not wait for the second");
        let mut client = Driver::new(Close::Client, 2);
        client.said();
        client.connection.handle_bytes(KEPT, &client.plan, &mut client.known).unwrap();
        let unasked = client.connection.handle_bytes(b"x", &client.plan, &mut client.known);
        assert_eq!(unasked, Err(Failure::Unasked));
    }

    #[test]
    fn the_hash_is_that_of_the_content_alone() {
        let plan = Plan::new("h", "/", Close::Client).unwrap().hashed();
        let chunked =
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1;x\r\nb\r\n0\r\n\r\n";
        // printf ab | sha256sum
        let expected = "fb8e20fc2e4c3f248c60c39bd652f3c1347298bb977b8b4d5903b85055620603";
        let mut known = KnownResponse::default();
        // The second one is known.
        for response in [KEPT, KEPT, chunked.as_bytes()] {
            let mut connection = PlannedConnection::new();
            connection.ask(0, 1, &plan);
            let answer = connection.handle_bytes(response, &plan, &mut known).unwrap().unwrap();
            let hash = answer.hash.unwrap();
            let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected);
        }
    }
}
