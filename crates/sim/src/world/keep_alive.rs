//! Persistent connections: how many requests a server answers on one, how long it waits for the next one,
//! and what a client makes of that.
//!
//! A server says in its last response that it closes (RFC 9112, section 9.6), so a client that waits for
//! each response loses nothing. It loses what it sent behind that request, and a request that crosses the
//! FIN of a server which has waited long enough: both are sent again on another connection (section
//! 9.3.1), for all requests here are idempotent.
//!
//! Not here: a limit on how long a request may take to arrive, which servers have too.

use ackwise_http::behaviour::KeepAlivePolicy;
use ackwise_tcp::Instant;

use super::{Event, START, World};
use crate::{
    connection::{Closing, Connection, Idle},
    observe::{ConnectionEnd, Observer, Side},
    user::Repeat,
};

impl<O: Observer> World<'_, O> {
    fn keep_alive(&self, application: u32) -> Option<KeepAlivePolicy> {
        self.scenario.applications[application as usize].kind.keep_alive()
    }

    /// How many requests a server still answers on a connection.
    pub(super) fn requests_left(&self, connection: &Connection) -> usize {
        let policy = self.keep_alive(connection.application);
        let most = policy.and_then(KeepAlivePolicy::max_requests);
        most.map_or(usize::MAX, |most| (most.get() - connection.server.answers) as usize)
    }

    /// The response that the server has begun is the connection's last one, and says so.
    pub(super) fn announce_close(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        connection.server.closing = Closing::Announced;
        let last = connection.server.begun as usize - 1;
        connection.exchanges[last].closes = true;
    }

    /// The server has begun to answer what it was asked up to `answered_to`.
    pub(super) fn server_works(&mut self, place: u32, answered_to: u64) {
        let application = self.connections[place as usize].application;
        if self.keep_alive(application).and_then(KeepAlivePolicy::idle).is_some() {
            let server = &mut self.connections[place as usize].server;
            let idle = server.idle.get_or_insert_default();
            idle.until = Instant::FAR_FUTURE;
            idle.answered_to = answered_to;
        }
    }

    /// The server has answered all that it was asked, and waits for another request.
    pub(super) fn server_idles(&mut self, place: u32) {
        let connection = &self.connections[place as usize];
        let Some(idle) = &connection.server.idle else { return };
        let working =
            connection.server.closing != Closing::No || part_of_a_request(connection, idle);
        if working || idle.until != Instant::FAR_FUTURE {
            return;
        }
        let policy = self.keep_alive(connection.application);
        let Some(span) = policy.and_then(KeepAlivePolicy::idle) else { return };
        let Some(idle) = &mut self.connections[place as usize].server.idle else { return };
        idle.until = self.now + span;
        // An event that comes earlier asks again.
        if idle.until < idle.armed && idle.until <= START + self.scenario.duration {
            idle.armed = idle.until;
            self.queue.push(idle.until, Event::Idle(place));
        }
    }

    /// The server may have waited long enough.
    pub(super) fn connection_has_idled(&mut self, place: u32) {
        // The connection may be over, and its place another's.
        let Some(connection) = self.connections.get_mut(place as usize) else { return };
        let Some(idle) = connection.server.idle.as_mut().filter(|idle| idle.armed == self.now)
        else {
            return;
        };
        idle.armed = Instant::FAR_FUTURE;
        if idle.until == Instant::FAR_FUTURE {
            return;
        }
        if idle.until > self.now {
            idle.armed = idle.until;
            self.queue.push(idle.until, Event::Idle(place));
            return;
        }
        idle.until = Instant::FAR_FUTURE;
        let idle = *idle.as_ref();
        if connection.server.closing == Closing::No && !part_of_a_request(connection, &idle) {
            connection.server.closing = Closing::Idled;
            connection.end_mut(Side::Server).endpoint.close();
            self.settle(place, Side::Server);
            self.forget_if_over(place);
        }
    }

    /// Whether the server has announced to wait for less long than a connection has been idle.
    pub(super) fn is_stale(&self, place: u32) -> bool {
        let connection = &self.connections[place as usize];
        let policy = self.keep_alive(connection.application);
        let Some(usable) = policy.and_then(KeepAlivePolicy::reusable_for) else { return false };
        let idles = connection.exchanges.is_empty() && connection.client.answered <= self.now;
        idles && self.now.since(connection.client.answered) >= usable
    }

    /// The server will send no more.
    pub(super) fn server_has_closed(&mut self, place: u32) {
        self.client_looks(place);
        self.client_lets_go(place);
        self.connections[place as usize].end_mut(Side::Client).endpoint.close();
    }

    /// The server has closed a connection, or has said that it will.
    pub(super) fn client_lets_go(&mut self, place: u32) {
        let client = &self.connections[place as usize].client;
        if !client.abandoned {
            // RFC 9112, section 9.3.1: not again and again, if connections never carry a response.
            let proven = client.answered != Instant::FAR_FUTURE;
            let repeat = if proven { Repeat::AtOnce } else { Repeat::AfterPause };
            self.client_loses(place, ConnectionEnd::Closed, repeat);
        }
    }
}

/// Whether some bytes of a request have arrived that are not answered.
fn part_of_a_request(connection: &Connection, idle: &Idle) -> bool {
    connection.end(Side::Server).endpoint.received() > idle.answered_to
}
