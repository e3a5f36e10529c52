//! Users who fetch pages: [`User`] says what each does next, and the world does it.

use std::time::Duration;

use ackwise_tcp::State;

use super::{Event, START, World, open::NotOpened, standstill::Standstill};
use crate::{
    connection::{Closing, Exchange, Owner},
    observe::{Observer, Side},
    scenario::{Application, Closer, Web},
    user::{Action, Request, User},
};

/// A user of an application.
#[derive(Clone, Debug)]
pub(crate) struct WebUser<'a> {
    pub(super) application: u32,
    /// It knows its connections by their places.
    pub(super) user: User<'a, u32>,
}

impl<'a, O: Observer> World<'a, O> {
    pub(super) fn add_users(&mut self, place: u32, application: &Application, web: &'a Web) {
        for _ in 0..web.users.get() {
            let mut stream = self.stream(application);
            let start = START + application.start.draw(&mut stream);
            let user = u32::try_from(self.users.len()).expect("counted in 32 bits");
            let state = User::new(web, stream, start, Duration::ZERO);
            self.users.push(WebUser { application: place, user: state });
            self.unfinished += 1;
            self.queue.push(start, Event::User(user));
        }
    }

    pub(super) fn user(&mut self, user: u32) -> &mut User<'a, u32> {
        &mut self.users[user as usize].user
    }

    /// A user has thought, or begins.
    pub(super) fn user_is_due(&mut self, user: u32) {
        let now = self.now;
        self.user(user).handle_timeout(now);
        self.user_acts(user);
    }

    /// Does what a user wants, until it has to wait.
    fn user_acts(&mut self, user: u32) {
        while self.failure.is_none() {
            let now = self.now;
            let Some(action) = self.user(user).poll(now) else { return };
            self.perform(user, action);
        }
    }

    fn perform(&mut self, user: u32, action: Action<u32>) {
        let application = self.users[user as usize].application;
        match action {
            Action::Page => self.begin_page(user),
            Action::Open { slot } => self.open_for(user, slot),
            Action::Request(request) => self.send_request(user, &request),
            Action::Wake { at } => self.queue.push(at, Event::User(user)),
            Action::Document(document) => self.collector.document(application, document),
            Action::Close { connection, by } => self.close_for(user, connection, by),
            Action::Reset { connection } => {
                self.client_aborts(connection);
                self.forget_if_over(connection);
            }
            Action::Finished => self.unfinished -= 1,
        }
    }

    fn begin_page(&mut self, user: u32) {
        let connections = &self.connections;
        // A kept connection is good for another page while nobody has begun to close it.
        let usable = |place: u32| {
            let end = connections[place as usize].end(Side::Client);
            end.endpoint.state() == State::Established
        };
        if self.users[user as usize].user.begin_page(usable, self.now) {
            self.takes_steps(Standstill::PAGE);
        }
    }

    fn open_for(&mut self, user: u32, slot: u32) {
        let (now, application) = (self.now, self.users[user as usize].application);
        match self.open(Owner::User { user }, application) {
            Ok(place) => self.user(user).handle_opened(slot, place),
            Err(NotOpened::NoMemory) => self.user(user).handle_not_opened(slot, now),
            Err(NotOpened::RunEnds) => {}
        }
    }

    fn send_request(&mut self, user: u32, request: &Request<u32>) {
        let place = request.connection;
        if self.is_stale(place) {
            self.client_closes(place);
            self.user_loses(user, place, 0);
            return;
        }
        if request.closes {
            self.have_server_close(place);
        }
        let ask = self.user(user).ask(request);
        self.ask(place, ask);
    }

    /// Closes what the server leaves open.
    fn close_for(&mut self, user: u32, place: u32, by: Closer) {
        match by {
            _ if self.connections[place as usize].server.closing == Closing::AfterAnswer => {}
            Closer::Client => {
                let said = self.user(user).web().client_close;
                self.client_says(place, said);
                self.client_closes(place);
            }
            Closer::ClientByReset => {
                self.client_aborts(place);
                self.forget_if_over(place);
            }
            Closer::Server => {
                self.have_server_close(place);
                self.act(place, Side::Server);
            }
        }
    }

    pub(super) fn user_has_response(&mut self, user: u32, place: u32, exchange: Exchange) {
        self.user(user).handle_response(place, exchange.files, exchange.body);
        if exchange.closes {
            // It goes on when it has another one.
            self.client_lets_go(place);
        } else {
            self.user_acts(user);
        }
    }

    /// A connection can no longer be used, and `asked` requests were under way on it. The plan decides whether
    /// to try another connection.
    pub(super) fn user_lost_connection(&mut self, user: u32, place: u32, asked: u32) {
        if self.user_loses(user, place, asked) {
            self.user_acts(user);
        }
    }

    /// False if it was none of the page's.
    fn user_loses(&mut self, user: u32, place: u32, asked: u32) -> bool {
        let Some(repeated) = self.user(user).handle_lost(place, asked) else { return false };
        self.collector.repeated(self.users[user as usize].application, repeated);
        true
    }
}
