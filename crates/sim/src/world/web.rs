//! Users who fetch pages: a plan from `ackwise-http` says what comes next, the user adds the pauses.

use std::time::Duration;

use ackwise_http::{
    ConnectionOption,
    page::{self, LocalCopy, Page, PageFetch, Pause, Step, Transfer},
};
use ackwise_link::Stream;
use ackwise_tcp::{Instant, State};

use super::{
    Event, START, World,
    client::{Ask, PAUSE_AFTER_FAILURE},
    open::NotOpened,
    standstill::Standstill,
};
use crate::{
    connection::{Closing, Exchange, Owner},
    measure::{Document, Progress},
    observe::{ConnectionId, Observer, Side},
    scenario::{Application, ApplicationKind, Closer, Connections, ThinkScope, Web},
};

/// One user.
#[derive(Clone, Debug)]
pub(crate) struct User {
    application: u32,
    stream: Stream,
    left: Option<u32>,
    /// Pages and think times drawn so far.
    pages: usize,
    thinks: usize,
    has_document: bool,
    /// The page on its way.
    fetch: Option<PageFetch>,
    /// What comes after a pause, and when.
    waiting: Option<Waiting>,
    due: Instant,
    /// The open connections of this page, the one that was used last at the end.
    open: Vec<Open>,
    document: Document,
    /// When the user last began to wait for something; none while it thinks.
    waits_since: Option<Instant>,
}

/// What a user does after a pause.
#[derive(Clone, Debug)]
enum Waiting {
    Step(Step),
    /// Looks at a page that needs no request: all of it is cached.
    CachedPage,
}

/// An open connection.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// The plan's number of it.
    slot: u32,
    id: ConnectionId,
    place: u32,
}

impl User {
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
            Some(replay) => replay.page(nth),
            None => web.workload.draw(&mut self.stream),
        }
    }

    fn next_think(&mut self, web: &Web) -> Duration {
        let nth = self.thinks;
        self.thinks += 1;
        match &web.replay {
            Some(replay) => replay.think(nth),
            None => web.think.draw(&mut self.stream),
        }
    }

    /// The user begins to wait, unless it waits.
    fn waits(&mut self, now: Instant) {
        self.waits_since.get_or_insert(now);
    }

    /// The user thinks: what it has waited counts, what comes now does not.
    fn thinks(&mut self, now: Instant) {
        if let Some(since) = self.waits_since.take() {
            self.document.time += now.since(since);
        }
    }
}

impl<'a, O: Observer> World<'a, O> {
    pub(super) fn add_users(&mut self, place: u32, application: &Application, web: &Web) {
        for _ in 0..web.users.get() {
            let mut stream = self.stream(application);
            let due = START + application.start.draw(&mut stream);
            let user = u32::try_from(self.users.len()).expect("counted in 32 bits");
            self.users.push(User {
                application: place,
                stream,
                left: web.pages.map(u32::from),
                pages: 0,
                thinks: 0,
                has_document: false,
                fetch: None,
                waiting: None,
                due,
                open: Vec::new(),
                document: Document::default(),
                waits_since: None,
            });
            self.unfinished += 1;
            self.queue.push(due, Event::User(user));
        }
    }

    /// The settings outlive the world's state: what they say may be read while it changes.
    fn web(&self, user: u32) -> &'a Web {
        let application = self.users[user as usize].application;
        match &self.scenario.applications[application as usize].kind {
            ApplicationKind::Web(web) => web,
            kind => unreachable!("a user has a web application's settings, not {kind:?}"),
        }
    }

    /// A user has thought, or begins.
    pub(super) fn user_is_due(&mut self, user: u32) {
        let state = &mut self.users[user as usize];
        if state.due != self.now {
            return;
        }
        if state.fetch.is_none() {
            self.draw_page(user);
            // The first page of all begins when the application does.
            let first = self.users[user as usize].fetch.as_mut().and_then(PageFetch::poll);
            self.users[user as usize].waiting = first.map(Waiting::Step);
        }
        if let Some(Waiting::Step(step)) = self.users[user as usize].waiting.take() {
            self.perform(user, step);
        }
        self.run_due_steps(user);
    }

    fn draw_page(&mut self, user: u32) {
        let web = self.web(user);
        let connections = self.kept_connections(user);
        let state = &mut self.users[user as usize];
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

    /// A kept connection is good for another page while nobody has begun to close it.
    fn kept_connections(&mut self, user: u32) -> page::Connections {
        let mut open = std::mem::take(&mut self.users[user as usize].open);
        if self.web(user).connections == Connections::PerDocument {
            return page::Connections::OfThePage;
        }
        open.retain(|open| {
            let connection = &self.connections[open.place as usize];
            connection.end(Side::Client).endpoint.state() == State::Established
        });
        for (slot, open) in (0..).zip(&mut open) {
            open.slot = slot;
            self.connections[open.place as usize].owner = Owner::User { user, slot };
        }
        let count = u32::try_from(open.len()).expect("below max_connections");
        self.users[user as usize].open = open;
        page::Connections::Kept { open: count }
    }

    /// Does what the plan allows, until a pause or a response has to be waited for.
    fn run_due_steps(&mut self, user: u32) {
        while self.users[user as usize].waiting.is_none() && self.failure.is_none() {
            let Some(fetch) = &mut self.users[user as usize].fetch else { return };
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
    fn pauses(&mut self, user: u32, step: &Step) -> bool {
        let web = self.web(user);
        let (Step::Open { pause, .. } | Step::Request { pause, .. }) = step;
        let state = &mut self.users[user as usize];
        let span = match pause {
            Pause::None => return false,
            Pause::File if web.think_scope == ThinkScope::Document => return false,
            Pause::Document | Pause::File => {
                state.thinks(self.now);
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

    /// Has a user do something after a pause.
    fn pause_before(&mut self, user: u32, waiting: Waiting, span: Duration) {
        let state = &mut self.users[user as usize];
        state.waiting = Some(waiting);
        state.due = self.now + span;
        self.queue.push(state.due, Event::User(user));
    }

    fn perform(&mut self, user: u32, step: Step) {
        let state = &mut self.users[user as usize];
        state.waits(self.now);
        let application = state.application;
        match step {
            Step::Open { connection: slot, .. } => {
                let place = match self.open(Owner::User { user, slot }, application) {
                    Ok(place) => place,
                    Err(NotOpened::NoMemory) => {
                        let again = Step::Open { connection: slot, pause: Pause::None };
                        return self.pause_before(user, Waiting::Step(again), PAUSE_AFTER_FAILURE);
                    }
                    Err(NotOpened::RunEnds) => return,
                };
                let id = self.connections[place as usize].id;
                self.users[user as usize].open.push(Open { slot, id, place });
            }
            Step::Request { connection, files, response, option, .. } => {
                let open = self.users[user as usize].open.iter().find(|it| it.slot == connection);
                // Gone already: the plan was told when it was lost, and asks again.
                let Some(&Open { place, id, .. }) = open else { return };
                if self.is_stale(place) {
                    self.client_closes(place);
                    self.user_loses(user, id, 0);
                    return;
                }
                if option == ConnectionOption::Close {
                    self.have_server_close(place);
                }
                let ask = self.ask_for(user, files.start, files.end - files.start, response);
                self.ask(place, ask);
            }
        }
    }

    fn ask_for(&mut self, user: u32, first_file: u32, files: u32, body: u64) -> Ask {
        let web = self.web(user);
        let stream = &mut self.users[user as usize].stream;
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
        Ask { request: web.request.0, head, body, files, first_file, parse, delay }
    }

    pub(super) fn user_has_response(&mut self, user: u32, slot: u32, exchange: Exchange) {
        let state = &mut self.users[user as usize];
        state.document.files += exchange.files;
        state.document.bytes += exchange.body;
        if let Some(fetch) = &mut state.fetch {
            fetch.on_response(slot);
        }
        if let Some(at) = state.open.iter().position(|open| open.slot == slot) {
            state.open[at..].rotate_left(1);
            if exchange.closes {
                // It goes on when it has another one.
                let last = state.open.len() - 1;
                let place = state.open[last].place;
                return self.client_lets_go(place);
            }
        }
        self.run_due_steps(user);
    }

    fn finish_document(&mut self, user: u32) {
        let state = &mut self.users[user as usize];
        state.thinks(self.now);
        state.has_document = true;
        self.collector.document(state.application, state.document);
        self.next_document(user);
    }

    fn next_document(&mut self, user: u32) {
        let web = self.web(user);
        let state = &mut self.users[user as usize];
        state.left = state.left.map(|left| left - 1);
        let finished = state.left == Some(0);
        if finished || web.connections == Connections::PerDocument {
            self.close_all(user);
        }
        if finished {
            self.users[user as usize].fetch = None;
            self.unfinished -= 1;
            return;
        }
        self.draw_page(user);
        if self.users[user as usize].fetch.as_ref().is_some_and(PageFetch::is_complete) {
            self.takes_steps(Standstill::PAGE);
            let span = self.users[user as usize].next_think(web);
            if !span.is_zero() {
                self.pause_before(user, Waiting::CachedPage, span);
            }
        }
    }

    /// Closes what the server leaves open.
    fn close_all(&mut self, user: u32) {
        for open in std::mem::take(&mut self.users[user as usize].open) {
            let server = &self.connections[open.place as usize].server;
            let web = self.web(user);
            match web.closer {
                _ if server.closing == Closing::AfterAnswer => {}
                Closer::Client => {
                    self.client_says(open.place, web.client_close);
                    self.client_closes(open.place);
                }
                Closer::ClientByReset => {
                    self.client_aborts(open.place);
                    self.forget_if_over(open.place);
                }
                Closer::Server => {
                    self.have_server_close(open.place);
                    self.act(open.place, Side::Server);
                }
            }
        }
    }

    /// A connection can no longer be used, and `asked` requests were under way on it. The plan decides whether
    /// to try another connection.
    pub(super) fn user_lost_connection(&mut self, user: u32, id: ConnectionId, asked: u32) {
        if self.user_loses(user, id, asked) {
            self.run_due_steps(user);
        }
    }

    /// The plan hears of a connection that is lost; false if it was none of the page's.
    fn user_loses(&mut self, user: u32, id: ConnectionId, asked: u32) -> bool {
        let state = &mut self.users[user as usize];
        let Some(at) = state.open.iter().position(|open| open.id == id) else { return false };
        let Open { slot, .. } = state.open.remove(at);
        if let Some(fetch) = &mut state.fetch {
            fetch.on_close(slot);
            if !fetch.has_failed() {
                self.collector.repeated(state.application, asked);
            }
        }
        true
    }

    fn abandon_document(&mut self, user: u32) {
        for open in std::mem::take(&mut self.users[user as usize].open) {
            self.client_aborts(open.place);
            self.forget_if_over(open.place);
        }
        self.users[user as usize].thinks(self.now);
        self.next_document(user);
    }

    /// Nothing is left of a connection that was the user's.
    pub(super) fn user_forgets(&mut self, user: u32, id: ConnectionId) {
        self.users[user as usize].open.retain(|open| open.id != id);
    }
}
