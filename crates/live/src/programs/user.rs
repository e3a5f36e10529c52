//! Users who fetch pages: the simulator's [`User`] says what each does next, its program does it.

use std::time::Duration;

use ackwise_link::Stream;
use ackwise_sim::{
    measure::Progress,
    scenario::{Closer, Web},
    user::{Action, Request, User},
};
use ackwise_tcp::Instant;

use super::{
    Due, Programs,
    client::{Answered, Owner},
    instant,
    transport::Ending,
};

/// A user of an application, who knows its connections by their names.
#[derive(Debug)]
pub(super) struct WebUser<'a> {
    application: u32,
    user: User<'a, u64>,
}

impl<'a> WebUser<'a> {
    pub(super) fn new(application: u32, web: &'a Web, stream: Stream, start: Duration) -> Self {
        Self { application, user: User::new(web, stream, instant(start), LEAST_THINK) }
    }

    /// Its application, and how far it has come.
    pub(super) const fn progress(&self) -> (u32, Progress) {
        (self.application, self.user.progress())
    }
}

impl Programs<'_> {
    /// A user has thought, or begins.
    pub(super) fn user_is_due(&mut self, user: usize, at: Duration) {
        self.users[user].user.handle_timeout(instant(at));
        self.user_acts(user);
    }

    /// Does what a user wants, until it has to wait.
    fn user_acts(&mut self, user: usize) {
        while self.failure.is_none() {
            let Some(action) = self.users[user].user.poll(instant(self.now)) else { return };
            self.perform(user, action);
        }
    }

    fn perform(&mut self, user: usize, action: Action<u64>) {
        match action {
            Action::Page => {
                // A kept connection is good for another page while nobody has closed it.
                let usable = |name| self.clients.contains_key(&name);
                self.users[user].user.begin_page(usable, instant(self.now));
            }
            Action::Open { slot } => self.open_for(user, slot),
            Action::Request(request) => self.send_request(user, &request),
            Action::Wake { at } => self.at(at.since(Instant::EPOCH), Due::User(user)),
            Action::Document(document) => {
                self.document(self.users[user].application, document);
            }
            Action::Close { connection, by } => self.close_for(user, connection, by),
            Action::Reset { connection } => self.client_ends(connection, Ending::Reset),
            Action::Finished => self.one_is_done(),
        }
    }

    fn open_for(&mut self, user: usize, slot: u32) {
        let opened = self.open(Owner::User(user), self.users[user].application);
        let state = &mut self.users[user].user;
        match opened {
            Some(name) => state.handle_opened(slot, name),
            None => state.handle_not_opened(slot, instant(self.now)),
        }
    }

    fn send_request(&mut self, user: usize, request: &Request<u64>) {
        let name = request.connection;
        if self.is_stale(name) {
            self.client_ends(name, Ending::Close);
            self.user_loses(user, name, 0);
            return;
        }
        if request.closes {
            self.mark_last(name);
        }
        let ask = self.users[user].user.ask(request);
        self.ask(name, ask);
    }

    /// Closes what the server leaves open.
    fn close_for(&mut self, user: usize, name: u64, by: Closer) {
        match by {
            _ if self.is_last(name) => {}
            Closer::Client => {
                self.client_says(name, self.users[user].user.web().client_close.0);
                self.client_ends(name, Ending::Close);
            }
            Closer::ClientByReset => self.client_ends(name, Ending::Reset),
            Closer::Server => self.have_server_close(name),
        }
    }

    pub(super) fn user_has_response(&mut self, user: usize, name: u64, answered: Answered) {
        let Answered { exchange, closes } = answered;
        self.users[user].user.handle_response(name, exchange.files, exchange.body);
        if closes {
            // It goes on when it has another one.
            self.client_loses(name, Ending::Close);
        } else {
            self.user_acts(user);
        }
    }

    /// A connection can no longer be used, and `asked` requests were under way on it.
    pub(super) fn user_lost_connection(&mut self, user: usize, name: u64, asked: u32) {
        if self.user_loses(user, name, asked) {
            self.user_acts(user);
        }
    }

    /// False if it was none of the page's.
    fn user_loses(&mut self, user: usize, name: u64, asked: u32) -> bool {
        let state = &mut self.users[user];
        let Some(repeated) = state.user.handle_lost(name, asked) else { return false };
        let application = state.application;
        self.tally(application, |it| it.measures.requests_repeated += u64::from(repeated));
        true
    }
}

/// Before a page that is wholly cached: a user who takes no time would be busy for ever (our choice).
const LEAST_THINK: Duration = Duration::from_millis(1);
