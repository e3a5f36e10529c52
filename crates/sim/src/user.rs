//! A user who fetches pages: what it does next, without a clock or a connection of its own.
//!
//! The plan of `ackwise-http` ([`PageFetch`]) says which request follows which response. The user adds what a plan
//! leaves out: pages and think times, which connections outlive a page, and how the others are closed. The simulator
//! drives it in virtual time, crate `live` with sockets of the kernel. A driver passes in what happens and carries out
//! each [`Action`] that [`poll`](User::poll) returns:
//!
//! ```
//! use std::{num::NonZeroU32, time::Duration};
//!
//! use ackwise_http::{Behaviour, page::Transfer, workload::Pages};
//! use ackwise_link::Seed;
//! use ackwise_sim::{scenario::Web, user::{Action, User}};
//! use ackwise_tcp::Instant;
//!
//! let workload = Pages::Fixed { primary: 5_000, inlines: (&[]).into() };
//! let web = Web {
//!     pages: Some(NonZeroU32::MIN),
//!     ..Web::plain(workload, Transfer::Persistent, Behaviour::FIXED)
//! };
//! let (start, end) = (Instant::EPOCH, Instant::EPOCH + Duration::from_millis(80));
//! let mut user = User::new(&web, Seed(1).stream(), start, Duration::ZERO);
//! user.handle_timeout(start);
//! let mut log = Vec::new();
//! while let Some(action) = user.poll(if log.len() < 3 { start } else { end }) {
//!     log.push(match action {
//!         Action::Page => {
//!             user.begin_page(|_| true, start);
//!             "page"
//!         }
//!         Action::Open { slot } => {
//!             user.handle_opened(slot, "a connection");
//!             "open"
//!         }
//!         Action::Request(request) => {
//!             assert_eq!(user.ask(&request).body, 5_000);
//!             user.handle_response(request.connection, 1, 5_000); // 80 ms later.
//!             "request"
//!         }
//!         Action::Document(document) => {
//!             assert_eq!(document.time, Duration::from_millis(80));
//!             "document"
//!         }
//!         Action::Close { .. } => "close",
//!         Action::Finished => "finished",
//!         Action::Wake { .. } | Action::Reset { .. } => unreachable!("one page, and no failure"),
//!     });
//! }
//! assert_eq!(log, ["page", "open", "request", "document", "close", "finished"]);
//! ```

use std::{collections::VecDeque, time::Duration};

use ackwise_http::{
    ConnectionOption,
    page::{self, LocalCopy, Page, PageFetch, Pause, Step, Transfer},
};
use ackwise_link::Stream;
use ackwise_tcp::Instant;

use crate::{
    measure::{Document, Progress},
    scenario::{Closer, Connections, ThinkScope, Web},
};

/// One user. `C` is the driver's name for a connection.
///
/// The driver's contract: after each `handle_*` call, carry out what [`poll`](Self::poll) returns until it returns
/// `None`, unless the run is over.
#[derive(Clone, Debug)]
pub struct User<'a, C> {
    web: &'a Web,
    stream: Stream,
    /// The shortest pause before a page that needs no request.
    least_pause: Duration,
    /// Pages left; `None` for no limit.
    left: Option<u32>,
    /// Pages and think times drawn so far.
    pages: usize,
    thinks: usize,
    has_document: bool,
    fetch: Option<PageFetch>,
    /// What comes after a pause, and when the pause ends.
    waiting: Option<Waiting>,
    due: Instant,
    /// The open connections of this page, the one that was used last at the end.
    open: Vec<Open<C>>,
    document: Document,
    /// When the user last began to wait for something; none while it thinks.
    waits_since: Option<Instant>,
    /// A step whose pause is over.
    step: Option<Step>,
    /// Decided, and not yet polled.
    actions: VecDeque<Action<C>>,
}

/// What a user does next.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Action<C> {
    /// Draws the next page: call [`User::begin_page`].
    Page,
    /// Opens a connection: call [`User::handle_opened`] or [`User::handle_not_opened`] with the plan's number for it.
    Open {
        /// The plan's number.
        slot: u32,
    },
    /// Sends a request: call [`User::ask`] for it; or close the connection and call [`User::handle_lost`], if its idle
    /// time is over.
    Request(Request<C>),
    /// Has [`User::handle_timeout`] called then.
    Wake {
        /// When the pause ends.
        at: Instant,
    },
    /// Has received all of a document.
    Document(Document),
    /// Has no more use for a connection, which is closed unless its server closes it anyway.
    Close {
        /// The connection.
        connection: C,
        /// Which end closes it.
        by: Closer,
    },
    /// Resets a connection of a page that cannot be completed.
    Reset {
        /// The connection.
        connection: C,
    },
    /// Has fetched all its pages.
    Finished,
}

/// A request that may be sent on a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Request<C> {
    /// Where.
    pub connection: C,
    /// The number of the first file that it asks for; 0 is the primary.
    pub first_file: u32,
    /// How many files it asks for.
    pub files: u32,
    /// Bytes of the response's body.
    pub body: u64,
    /// Whether it asks the server to close after the response.
    pub closes: bool,
}

/// A request to send, and the response that the server will give.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Ask {
    /// Bytes of the request.
    pub request: u64,
    /// Bytes of the response's head.
    pub head: u32,
    /// Bytes of the response's body.
    pub body: u64,
    /// Files that the response carries.
    pub files: u32,
    /// The number of the first file in its document.
    pub first_file: u32,
    /// What the server needs to find out what to answer.
    pub parse: Duration,
    /// How long the client computes before it writes.
    pub delay: Duration,
}

impl Ask {
    /// For one file, whose response's head is not counted apart.
    #[must_use]
    pub fn of_a_file(request: u64, body: u64) -> Self {
        Self { request, body, files: 1, ..Self::default() }
    }
}

/// When a client sends a request again that a connection has lost.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Repeat {
    /// At once: the server has closed in order.
    AtOnce,
    /// When it has waited: the connection failed.
    AfterPause,
}

impl Repeat {
    /// The pause before it.
    #[must_use]
    pub const fn pause(self) -> Duration {
        match self {
            Self::AtOnce => Duration::ZERO,
            Self::AfterPause => PAUSE_AFTER_FAILURE,
        }
    }
}

#[derive(Clone, Debug)]
enum Waiting {
    Start,
    Step(Step),
    /// Looks at a page that needs no request: all of it is cached.
    CachedPage,
}

/// An open connection, by the plan's number and by the driver's name.
#[derive(Clone, Copy, Debug)]
struct Open<C> {
    slot: u32,
    connection: C,
}

impl<'a, C: Copy + PartialEq> User<'a, C> {
    /// A user that begins at `start`: call [`handle_timeout`](Self::handle_timeout) then.
    ///
    /// `least_pause` is its shortest pause before a page that is wholly cached: zero in virtual time, more where a user
    /// who takes no time would keep a processor busy.
    #[must_use]
    pub fn new(web: &'a Web, stream: Stream, start: Instant, least_pause: Duration) -> Self {
        Self {
            web,
            stream,
            least_pause,
            left: web.pages.map(u32::from),
            pages: 0,
            thinks: 0,
            has_document: false,
            fetch: None,
            waiting: Some(Waiting::Start),
            due: start,
            open: Vec::new(),
            document: Document::default(),
            waits_since: None,
            step: None,
            actions: VecDeque::new(),
        }
    }

    /// How far it has come.
    #[must_use]
    pub const fn progress(&self) -> Progress {
        match self.has_document {
            true => Progress::Documents,
            false if self.pages == 0 => Progress::NotStarted,
            false => Progress::NoDocument,
        }
    }

    /// A pause that ends at `due` is over; another time than that of the last [`Action::Wake`] is ignored.
    pub fn handle_timeout(&mut self, due: Instant) {
        if due != self.due {
            return;
        }
        match self.waiting.take() {
            Some(Waiting::Start) => self.actions.push_back(Action::Page),
            Some(Waiting::Step(step)) => self.step = Some(step),
            Some(Waiting::CachedPage) | None => {}
        }
    }

    /// The next thing to do, until a pause, a connection or a response has to be waited for.
    #[must_use]
    pub fn poll(&mut self, now: Instant) -> Option<Action<C>> {
        loop {
            if let Some(action) = self.actions.pop_front() {
                return Some(action);
            }
            if let Some(step) = self.step.take() {
                self.perform(&step, now);
                continue;
            }
            if self.waiting.is_some() {
                return None;
            }
            let fetch = self.fetch.as_mut()?;
            if fetch.is_complete() {
                self.finish_document(now);
            } else if fetch.has_failed() {
                self.abandon_document(now);
            } else {
                let step = fetch.poll()?;
                match self.pause_of(&step, now) {
                    Some(span) => self.pause_before(Waiting::Step(step), span, now),
                    None => self.step = Some(step),
                }
            }
        }
    }

    /// Draws the next page. `usable` says whether a connection that an earlier page has left open can carry a request.
    ///
    /// Returns whether nothing of the page has to be requested, because all is cached.
    pub fn begin_page(&mut self, usable: impl FnMut(C) -> bool, now: Instant) -> bool {
        let first = self.pages == 0;
        self.draw_page(usable);
        let Some(fetch) = &mut self.fetch else { return false };
        let cached = fetch.is_complete();
        if first {
            // It begins when its application does, without a pause.
            self.step = fetch.poll();
        } else if cached {
            let span = self.next_think().max(self.least_pause);
            if !span.is_zero() {
                self.pause_before(Waiting::CachedPage, span, now);
            }
        }
        cached
    }

    /// A connection was opened; its handshake may still be under way.
    pub fn handle_opened(&mut self, slot: u32, connection: C) {
        self.open.push(Open { slot, connection });
    }

    /// A connection could not be opened for want of memory or ports: the user tries again after a pause.
    pub fn handle_not_opened(&mut self, slot: u32, now: Instant) {
        let again = Step::Open { connection: slot, pause: Pause::None };
        self.pause_before(Waiting::Step(again), PAUSE_AFTER_FAILURE, now);
    }

    /// What a request consists of, and its response. It draws random numbers: call it once, when the request is sent.
    pub fn ask(&mut self, request: &Request<C>) -> Ask {
        let &Request { first_file, files, body, .. } = request;
        let web = self.web;
        let parse = match web.transfer {
            Transfer::GetWeb => web.parse.draw(&mut self.stream),
            _ => Duration::ZERO,
        };
        let head = match web.not_modified {
            Some(not_modified) if body == 0 => not_modified,
            _ => web.response_head,
        };
        let head = u32::try_from(head.0).unwrap_or(u32::MAX);
        let delay = web.client_delay.draw(&mut self.stream);
        Ask { request: web.request.0, head, body, files, first_file, parse, delay }
    }

    /// The response to the oldest request on a connection is complete: so many files, with so many bytes of body.
    ///
    /// If it says that the server closes, stop using the connection and call [`handle_lost`](Self::handle_lost) next.
    pub fn handle_response(&mut self, connection: C, files: u32, body: u64) {
        self.document.files += files;
        self.document.bytes += body;
        let Some(at) = self.place_of(connection) else { return };
        let slot = self.open[at].slot;
        self.open[at..].rotate_left(1);
        if let Some(fetch) = &mut self.fetch {
            fetch.on_response(slot);
        }
    }

    /// A connection can no longer be used, and `asked` requests on it have no response.
    ///
    /// Returns how many requests are sent again on another one; `None` if it was none of this page's.
    pub fn handle_lost(&mut self, connection: C, asked: u32) -> Option<u32> {
        let at = self.place_of(connection)?;
        let Open { slot, .. } = self.open.remove(at);
        let Some(fetch) = &mut self.fetch else { return Some(0) };
        fetch.on_close(slot);
        Some(if fetch.has_failed() { 0 } else { asked })
    }

    /// Nothing is left of a connection, and no request was outstanding on it.
    pub fn handle_gone(&mut self, connection: C) {
        self.open.retain(|open| open.connection != connection);
    }

    /// What it was created with.
    #[must_use]
    pub const fn web(&self) -> &'a Web {
        self.web
    }

    fn place_of(&self, connection: C) -> Option<usize> {
        self.open.iter().position(|open| open.connection == connection)
    }

    fn draw_page(&mut self, usable: impl FnMut(C) -> bool) {
        let connections = self.kept_connections(usable);
        let page = self.next_page();
        let (web, stream) = (self.web, &mut self.stream);
        let copy = if web.not_modified.is_some() { LocalCopy::Validated } else { LocalCopy::Fresh };
        let cached = |_| match stream.below(1_000_000) < u64::from(web.cached_per_million) {
            true => copy,
            false => LocalCopy::None,
        };
        self.fetch = Some(match web.cached_per_million {
            0 => PageFetch::new(web.transfer, &page, connections, |_| false),
            _ => PageFetch::new(web.transfer, &page, connections, cached),
        });
        self.document = Document::default();
    }

    /// Gives the connections that are left the plan's new numbers.
    fn kept_connections(&mut self, mut usable: impl FnMut(C) -> bool) -> page::Connections {
        if self.web.connections == Connections::PerDocument {
            self.open.clear();
            return page::Connections::OfThePage;
        }
        self.open.retain(|open| usable(open.connection));
        for (slot, open) in (0..).zip(&mut self.open) {
            open.slot = slot;
        }
        let open = u32::try_from(self.open.len()).expect("fewer connections than ports");
        page::Connections::Kept { open }
    }

    fn next_page(&mut self) -> Page {
        let nth = self.pages;
        self.pages += 1;
        match &self.web.replay {
            Some(replay) => replay.page(nth),
            None => self.web.workload.draw(&mut self.stream),
        }
    }

    fn next_think(&mut self) -> Duration {
        let nth = self.thinks;
        self.thinks += 1;
        match &self.web.replay {
            Some(replay) => replay.think(nth),
            None => self.web.think.draw(&mut self.stream),
        }
    }

    /// The pause before a step, if there is one.
    fn pause_of(&mut self, step: &Step, now: Instant) -> Option<Duration> {
        let (Step::Open { pause, .. } | Step::Request { pause, .. }) = step;
        let span = match pause {
            Pause::None => return None,
            Pause::File if self.web.think_scope == ThinkScope::Document => return None,
            Pause::Document | Pause::File => {
                self.stop_waiting(now);
                self.next_think()
            }
            Pause::OpenGap => self.web.open_gap.draw(&mut self.stream),
        };
        (!span.is_zero()).then_some(span)
    }

    fn pause_before(&mut self, waiting: Waiting, span: Duration, now: Instant) {
        (self.waiting, self.due) = (Some(waiting), now + span);
        self.actions.push_back(Action::Wake { at: self.due });
    }

    /// The time that the user has waited for the document counts; the time that it thinks does not.
    fn stop_waiting(&mut self, now: Instant) {
        if let Some(since) = self.waits_since.take() {
            self.document.time += now.saturating_since(since);
        }
    }

    fn perform(&mut self, step: &Step, now: Instant) {
        self.waits_since.get_or_insert(now);
        match step {
            Step::Open { connection: slot, .. } => {
                self.actions.push_back(Action::Open { slot: *slot });
            }
            Step::Request { connection, files, response, option, .. } => {
                let open = self.open.iter().find(|open| open.slot == *connection);
                // Gone already: the plan was told when it was lost, and asks again.
                let Some(&Open { connection, .. }) = open else { return };
                self.actions.push_back(Action::Request(Request {
                    connection,
                    first_file: files.start,
                    files: files.end - files.start,
                    body: *response,
                    closes: *option == ConnectionOption::Close,
                }));
            }
        }
    }

    fn finish_document(&mut self, now: Instant) {
        self.stop_waiting(now);
        self.has_document = true;
        self.actions.push_back(Action::Document(self.document));
        self.end_page();
    }

    fn abandon_document(&mut self, now: Instant) {
        for Open { connection, .. } in self.open.drain(..) {
            self.actions.push_back(Action::Reset { connection });
        }
        self.stop_waiting(now);
        self.end_page();
    }

    fn end_page(&mut self) {
        self.fetch = None;
        self.left = self.left.map(|left| left - 1);
        let finished = self.left == Some(0);
        if finished || self.web.connections == Connections::PerDocument {
            let by = self.web.closer;
            for Open { connection, .. } in self.open.drain(..) {
                self.actions.push_back(Action::Close { connection, by });
            }
        }
        self.actions.push_back(if finished { Action::Finished } else { Action::Page });
    }
}

/// Before a connection is tried again that could not be opened, and before a request is repeated whose
/// connection has failed (our choice).
pub const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);
