//! Users who fetch pages: a plan from `ackwise-http` says what comes next, the user adds the pauses.

use std::time::Duration;

use ackwise_http::{
    ConnectionOption,
    page::{self, LocalCopy, Page, PageFetch, Pause, Step, Transfer},
};
use ackwise_link::Stream;
use ackwise_sim::scenario::{ApplicationKind, Closer, Connections, Replay, ThinkScope, Web};

use super::{
    Due, Programs,
    client::{Answered, Ask, Ending, Owner},
};
use ackwise_sim::measure::{Document, Progress};

/// One user.
#[derive(Debug)]
pub(super) struct User {
    application: u32,
    stream: Stream,
    left: Option<u32>,
    /// Pages and think times drawn so far.
    pages: usize,
    thinks: usize,
    has_document: bool,
    fetch: Option<PageFetch>,
    /// What comes after a pause, and when.
    waiting: Option<Waiting>,
    due: Duration,
    /// The open connections of this page, the one that was used last at the end.
    open: Vec<Open>,
    document: Document,
    /// When the user last began to wait for something; none while it thinks.
    waits_since: Option<Duration>,
}

#[derive(Clone, Debug)]
enum Waiting {
    Step(Step),
    /// Looks at a page that needs no request: all of it is cached.
    CachedPage,
}

/// An open connection, by the plan's number and by ours.
#[derive(Clone, Copy, Debug)]
struct Open {
    slot: u32,
    name: u64,
}

impl User {
    pub(super) fn new(application: u32, web: &Web, stream: Stream) -> Self {
        Self {
            application,
            stream,
            left: web.pages.map(u32::from),
            pages: 0,
            thinks: 0,
            has_document: false,
            fetch: None,
            waiting: None,
            due: Duration::MAX,
            open: Vec::new(),
            document: Document::default(),
            waits_since: None,
        }
    }

    /// Its application, and how far it came.
    pub(super) const fn progress(&self) -> (u32, Progress) {
        let progress = match (&self.fetch, self.has_document) {
            (_, true) => Progress::Documents,
            (None, false) if !matches!(self.left, Some(0)) => Progress::NotStarted,
            (_, false) => Progress::NoDocument,
        };
        (self.application, progress)
    }

    fn next_page(&mut self, web: &Web) -> Page {
        let nth = self.pages;
        self.pages += 1;
        match &web.replay {
            Some(Replay { pages, .. }) => pages[nth % pages.len()].clone(),
            None => web.workload.draw(&mut self.stream),
        }
    }

    fn next_think(&mut self, web: &Web) -> Duration {
        let nth = self.thinks;
        self.thinks += 1;
        match &web.replay {
            Some(Replay { think, .. }) => think[nth % think.len()],
            None => web.think.draw(&mut self.stream),
        }
    }

    /// The user thinks: what it has waited counts, what comes now does not.
    fn thinks(&mut self, now: Duration) {
        if let Some(since) = self.waits_since.take() {
            self.document.time += now.saturating_sub(since);
        }
    }
}

impl<'a> Programs<'a> {
    fn web(&self, user: usize) -> &'a Web {
        match &self.application(self.users[user].application).kind {
            ApplicationKind::Web(web) => web,
            kind => unreachable!("a user has a web application's settings, not {kind:?}"),
        }
    }

    /// A user has thought, or begins.
    pub(super) fn user_is_due(&mut self, user: usize, at: Duration) {
        if self.users[user].fetch.is_none() {
            self.draw_page(user);
            // The first page of all begins when the application does.
            let first = self.users[user].fetch.as_mut().and_then(PageFetch::poll);
            self.users[user].waiting = first.map(Waiting::Step);
        } else if self.users[user].due != at {
            return;
        }
        if let Some(Waiting::Step(step)) = self.users[user].waiting.take() {
            self.perform(user, step);
        }
        self.run_due_steps(user);
    }

    fn draw_page(&mut self, user: usize) {
        let web = self.web(user);
        let connections = self.kept_connections(user);
        let state = &mut self.users[user];
        let page = state.next_page(web);
        let stream = &mut state.stream;
        let copy = if web.not_modified.is_some() { LocalCopy::Validated } else { LocalCopy::Fresh };
        let cached = |_| match stream.below(1_000_000) < u64::from(web.cached_per_million) {
            true => copy,
            false => LocalCopy::None,
        };
        state.fetch = Some(match web.cached_per_million {
            0 => PageFetch::new(web.transfer, &page, connections, |_| false),
            _ => PageFetch::new(web.transfer, &page, connections, cached),
        });
        state.document = Document::default();
    }

    /// A kept connection is good for another page while nobody has closed it.
    fn kept_connections(&mut self, user: usize) -> page::Connections {
        let mut open = std::mem::take(&mut self.users[user].open);
        if self.web(user).connections == Connections::PerDocument {
            return page::Connections::OfThePage;
        }
        open.retain(|open| self.clients.contains_key(&open.name));
        for (slot, open) in (0..).zip(&mut open) {
            open.slot = slot;
            if let Some(end) = self.clients.get_mut(&open.name) {
                end.owner = Owner::User { user, slot };
            }
        }
        let count = u32::try_from(open.len()).unwrap_or(u32::MAX);
        self.users[user].open = open;
        page::Connections::Kept { open: count }
    }

    /// Does what the plan allows, until a pause or a response has to be waited for.
    fn run_due_steps(&mut self, user: usize) {
        while self.users[user].waiting.is_none() && self.failure.is_none() {
            let Some(fetch) = &mut self.users[user].fetch else { return };
            if fetch.is_complete() {
                self.finish_document(user);
            } else if fetch.has_failed() {
                self.abandon_document(user);
            } else if let Some(step) = fetch.poll() {
                if !self.pauses(user, &step) {
                    self.perform(user, step);
                }
            } else {
                return;
            }
        }
    }

    /// Lets the pause before a step begin; false if there is none.
    fn pauses(&mut self, user: usize, step: &Step) -> bool {
        let web = self.web(user);
        let (Step::Open { pause, .. } | Step::Request { pause, .. }) = step;
        let now = self.now;
        let state = &mut self.users[user];
        let span = match pause {
            Pause::None => return false,
            Pause::File if web.think_scope == ThinkScope::Document => return false,
            Pause::Document | Pause::File => {
                state.thinks(now);
                state.next_think(web)
            }
            Pause::OpenGap => web.open_gap.draw(&mut state.stream),
        };
        if span.is_zero() {
            return false;
        }
        self.pause_before(user, Waiting::Step(step.clone()), span);
        true
    }

    fn pause_before(&mut self, user: usize, waiting: Waiting, span: Duration) {
        let due = self.now + span;
        let state = &mut self.users[user];
        (state.waiting, state.due) = (Some(waiting), due);
        self.at(due, Due::User(user));
    }

    fn perform(&mut self, user: usize, step: Step) {
        let now = self.now;
        let state = &mut self.users[user];
        state.waits_since.get_or_insert(now);
        let application = state.application;
        match step {
            Step::Open { connection: slot, .. } => {
                match self.open(Owner::User { user, slot }, application) {
                    Some(name) => self.users[user].open.push(Open { slot, name }),
                    None => {
                        let again = Step::Open { connection: slot, pause: Pause::None };
                        self.pause_before(user, Waiting::Step(again), PAUSE_AFTER_FAILURE);
                    }
                }
            }
            Step::Request { connection, files, response, option, .. } => {
                let open = self.users[user].open.iter().find(|it| it.slot == connection);
                // Gone already: the plan was told when it was lost, and asks again.
                let Some(&Open { name, .. }) = open else { return };
                if self.is_stale(name) {
                    self.client_ends(name, Ending::Close);
                    self.user_loses(user, name, 0);
                    return;
                }
                if option == ConnectionOption::Close {
                    self.mark_last(name);
                }
                let ask = self.ask_for(user, files.end - files.start, response);
                self.ask(name, ask);
            }
        }
    }

    fn ask_for(&mut self, user: usize, files: u32, body: u64) -> Ask {
        let web = self.web(user);
        let stream = &mut self.users[user].stream;
        let parse = match web.transfer {
            Transfer::GetWeb => web.parse.draw(stream),
            _ => Duration::ZERO,
        };
        let head = match web.not_modified {
            Some(not_modified) if body == 0 => not_modified,
            _ => web.response_head,
        };
        let head = u32::try_from(head.0).unwrap_or(u32::MAX);
        let delay = web.client_delay.draw(stream);
        Ask { request: web.request.0, head, body, files, parse, delay }
    }

    pub(super) fn user_has_response(&mut self, user: usize, slot: u32, answered: Answered) {
        let Answered { exchange, closes } = answered;
        let state = &mut self.users[user];
        state.document.files += exchange.files;
        state.document.bytes += exchange.body;
        if let Some(fetch) = &mut state.fetch {
            fetch.on_response(slot);
        }
        if let Some(at) = state.open.iter().position(|open| open.slot == slot) {
            state.open[at..].rotate_left(1);
            if closes {
                // It goes on when it has another one.
                let last = state.open.len() - 1;
                let name = state.open[last].name;
                return self.client_loses(name, Ending::Close);
            }
        }
        self.run_due_steps(user);
    }

    fn finish_document(&mut self, user: usize) {
        let now = self.now;
        let state = &mut self.users[user];
        state.thinks(now);
        state.has_document = true;
        let (application, document) = (state.application, state.document);
        self.document(application, document);
        self.next_document(user);
    }

    fn next_document(&mut self, user: usize) {
        let web = self.web(user);
        let state = &mut self.users[user];
        state.left = state.left.map(|left| left - 1);
        let finished = state.left == Some(0);
        if finished || web.connections == Connections::PerDocument {
            self.close_all(user);
        }
        if finished {
            self.users[user].fetch = None;
            return self.one_is_done();
        }
        self.draw_page(user);
        if self.users[user].fetch.as_ref().is_some_and(PageFetch::is_complete) {
            let span = self.users[user].next_think(web).max(LEAST_THINK);
            self.pause_before(user, Waiting::CachedPage, span);
        }
    }

    /// Closes what the server leaves open.
    fn close_all(&mut self, user: usize) {
        let web = self.web(user);
        for Open { name, .. } in std::mem::take(&mut self.users[user].open) {
            match web.closer {
                _ if self.is_last(name) => {}
                Closer::Client => {
                    self.client_says(name, web.client_close.0);
                    self.client_ends(name, Ending::Close);
                }
                Closer::ClientByReset => self.client_ends(name, Ending::Reset),
                Closer::Server => self.have_server_close(name),
            }
        }
    }

    /// A connection can no longer be used, and `asked` requests were under way on it.
    pub(super) fn user_lost_connection(&mut self, user: usize, name: u64, asked: u32) {
        if self.user_loses(user, name, asked) {
            self.run_due_steps(user);
        }
    }

    /// The plan hears of a connection that is lost; false if it was none of the page's.
    fn user_loses(&mut self, user: usize, name: u64, asked: u32) -> bool {
        let state = &mut self.users[user];
        let Some(at) = state.open.iter().position(|open| open.name == name) else { return false };
        let Open { slot, .. } = state.open.remove(at);
        let application = state.application;
        if let Some(fetch) = &mut state.fetch {
            fetch.on_close(slot);
            if !fetch.has_failed() {
                let asked = u64::from(asked);
                self.tally(application, |tally| tally.measures.requests_repeated += asked);
            }
        }
        true
    }

    fn abandon_document(&mut self, user: usize) {
        for Open { name, .. } in std::mem::take(&mut self.users[user].open) {
            self.client_ends(name, Ending::Reset);
        }
        let now = self.now;
        self.users[user].thinks(now);
        self.next_document(user);
    }
}

/// Before a connection is tried again that could not be opened; as in the simulator.
pub(super) const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(1);
/// Before a page that is wholly cached: a user who takes no time would be busy for ever (our choice).
const LEAST_THINK: Duration = Duration::from_millis(1);
