//! What every client does with a connection: writes requests when it has worked long enough, sees
//! which responses are whole, closes. Who it does this for is the connection's owner.

use std::{collections::VecDeque, time::Duration};

use ackwise_tcp::{ByteCount, Instant, Nanos};

use super::{Event, World};
use crate::{
    connection::{Closing, Connection, Exchange, Owner},
    observe::{ConnectionEnd, Failure, Message, Observer, Side},
    user::{Ask, Repeat},
};

impl<O: Observer> World<'_, O> {
    /// Has a request sent as soon as the connection is open.
    pub(super) fn ask(&mut self, place: u32, ask: Ask) {
        let connection = &mut self.connections[place as usize];
        let client = &mut connection.client;
        let message = Message {
            connection: connection.id,
            from: Side::Client,
            offset: client.requests_end,
            head: u32::try_from(ask.request).unwrap_or(u32::MAX),
            body: 0,
            file: ask.first_file,
        };
        client.requests_end += ask.request;
        client.responses_end += u64::from(ask.head) + ask.body;
        client.to_write += ask.request;
        client.delay = client.delay.max(Nanos::of(ask.delay));
        connection.exchanges.push_back(Exchange {
            request_end: client.requests_end,
            response_end: client.responses_end,
            head: ask.head,
            body: ask.body,
            files: ask.files,
            first_file: ask.first_file,
            parse: ask.parse,
            closes: false,
        });
        let connected = client.connected;
        self.observer.on_message(&message, self.now);
        self.client_waits(place);
        if connected {
            self.client_works(place);
        }
        self.watch(place);
    }

    pub(super) fn client_is_connected(&mut self, place: u32) {
        let [host, peer] = self.connections[place as usize].ends.each_ref().map(|end| end.host);
        self.hosts[host.0 as usize].knows(peer);
        let client = &mut self.connections[place as usize].client;
        client.connected = true;
        if client.to_write > 0 {
            self.client_works(place);
        }
    }

    /// The client computes, and then writes what it has to write.
    fn client_works(&mut self, place: u32) {
        let client = &mut self.connections[place as usize].client;
        let due = self.now + std::mem::take(&mut client.delay);
        if due > self.now {
            client.due = due;
            self.queue.push(due, Event::Client(place));
        } else {
            self.client_writes(place);
        }
    }

    /// Lets `span` pass and then closes.
    pub(super) fn close_after(&mut self, place: u32, span: Duration) {
        let client = &mut self.connections[place as usize].client;
        client.closes = true;
        client.due = self.now + span;
        self.queue.push(client.due, Event::Client(place));
    }

    /// The client has worked long enough.
    pub(super) fn client_is_due(&mut self, place: u32) {
        // The connection may be over, and its place another's.
        let Some(connection) = self.connections.get_mut(place as usize) else { return };
        if connection.client.due != self.now {
            return;
        }
        connection.client.due = Instant::FAR_FUTURE;
        self.client_writes(place);
        self.forget_if_over(place);
    }

    /// A slow reader reads again.
    pub(super) fn client_reads(&mut self, place: u32) {
        // The connection may be over, and its place another's.
        let Some(connection) = self.connections.get_mut(place as usize) else { return };
        if connection.client.reads != self.now {
            return;
        }
        connection.client.reads = Instant::FAR_FUTURE;
        self.act(place, Side::Client);
        self.forget_if_over(place);
    }

    /// The client waits for a response from now on, or for none.
    fn client_waits(&mut self, place: u32) {
        let application = self.connections[place as usize].application;
        let Some(span) = self.response_timeout(application) else { return };
        let connection = &mut self.connections[place as usize];
        let waits = !connection.exchanges.is_empty();
        connection.client.gives_up = if waits { self.now + span } else { Instant::FAR_FUTURE };
        if waits {
            self.queue.push(self.now + span, Event::GivesUp(place));
        }
    }

    /// The client may have waited long enough for a response.
    pub(super) fn client_has_waited(&mut self, place: u32) {
        // The connection may be over, and its place another's.
        let Some(connection) = self.connections.get_mut(place as usize) else { return };
        if connection.client.gives_up != self.now || connection.client.abandoned {
            return;
        }
        connection.client.gives_up = Instant::FAR_FUTURE;
        self.collector.failed(connection.application);
        // What comes after a CLOSE is answered by an RST anyway: RFC 1122, section 4.2.2.13.
        self.client_aborts(place);
        self.client_loses(place, ConnectionEnd::GivenUp, Repeat::AfterPause);
        self.forget_if_over(place);
    }

    /// Writes what the send buffer takes; closes if nothing is left and that was wanted.
    fn client_writes(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        let left = u32::try_from(connection.client.to_write).unwrap_or(u32::MAX);
        let endpoint = &mut connection.ends[Side::Client as usize].endpoint;
        if left > 0 {
            connection.client.to_write -= u64::from(endpoint.write(left));
            self.settle(place, Side::Client);
        }
        let client = &self.connections[place as usize].client;
        if client.closes && client.to_write == 0 {
            self.client_closes(place);
        }
    }

    /// Has the client say something that the server reads and does not answer; it leaves with what
    /// comes next, as far as the send buffer takes it.
    pub(super) fn client_says(&mut self, place: u32, ByteCount(bytes): ByteCount) {
        let endpoint = &mut self.connections[place as usize].end_mut(Side::Client).endpoint;
        endpoint.write(u32::try_from(bytes).unwrap_or(u32::MAX));
    }

    /// Closes the client's end now.
    pub(super) fn client_closes(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        connection.end_mut(Side::Client).endpoint.close();
        self.settle(place, Side::Client);
    }

    /// Lets go of a connection: nobody is told of it any more, and it is reset.
    pub(super) fn client_aborts(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        connection.client.abandoned = true;
        connection.end_mut(Side::Client).endpoint.abort();
        self.settle(place, Side::Client);
    }

    /// Something has arrived at the client, or has left room to write.
    pub(super) fn client_looks(&mut self, place: u32) {
        if self.connections[place as usize].client_can_write() {
            self.client_writes(place);
        }
        if let Owner::Upward { proxy } = self.connections[place as usize].owner {
            return self.upward_looks(proxy, place);
        }
        while let Some(exchange) = self.take_answered(place) {
            self.answered(place, exchange);
        }
    }

    /// The oldest exchange, if its response has wholly arrived.
    fn take_answered(&mut self, place: u32) -> Option<Exchange> {
        let connection = &mut self.connections[place as usize];
        if !connection.is_answered() {
            return None;
        }
        let exchange = connection.exchanges.pop_front()?;
        if connection.exchanges.is_empty() {
            // Of a million connections that only wait, this is a twentieth of the memory.
            connection.exchanges = VecDeque::new();
        }
        connection.server.begun -= 1;
        (!connection.client.abandoned).then_some(exchange)
    }

    fn answered(&mut self, place: u32, exchange: Exchange) {
        let connection = &mut self.connections[place as usize];
        connection.client.answered = self.now;
        self.observer.on_answered(connection.id, self.now);
        self.client_waits(place);
        let connection = &self.connections[place as usize];
        match connection.owner {
            Owner::User { user } => self.user_has_response(user, place, exchange),
            Owner::Bulk { client } => self.bulk_client_has_file(client, place, exchange),
            Owner::Arrival { source } => self.arrival_has_response(source, place, exchange),
            Owner::Downward { client } | Owner::Direct { client } => {
                self.client_has_document(client, place);
            }
            Owner::Upward { .. } => unreachable!("a proxy reads its answers itself"),
        }
    }

    /// The connection failed.
    pub(super) fn client_gives_up(&mut self, place: u32, end: ConnectionEnd) {
        let connection = &self.connections[place as usize];
        if connection.client.abandoned {
            return;
        }
        if !connection.exchanges.is_empty() {
            self.collector.failed(connection.application);
        }
        self.client_loses(place, end, Repeat::AfterPause);
    }

    /// The client stops using a connection: its owner is told, and sends what was not answered again.
    pub(super) fn client_loses(&mut self, place: u32, end: ConnectionEnd, repeat: Repeat) {
        let connection = &mut self.connections[place as usize];
        let asked = u32::try_from(connection.exchanges.len()).unwrap_or(u32::MAX);
        connection.client.abandoned = true;
        connection.client.to_write = 0;
        connection.exchanges.clear();
        connection.server.begun = 0;
        let (id, owner) = (connection.id, connection.owner);
        if asked > 0 {
            self.observer.on_failure(&Failure { connection: id, unanswered: asked, end }, self.now);
        }
        match owner {
            Owner::User { user } => self.user_lost_connection(user, place, asked),
            Owner::Bulk { client } if asked > 0 => self.bulk_client_repeats(client, place, repeat),
            Owner::Bulk { client } => self.bulk_client_forgets(client, place),
            Owner::Arrival { .. } => {}
            Owner::Downward { client } | Owner::Direct { client } => {
                self.client_lost_connection(client, id, (asked, repeat));
            }
            Owner::Upward { proxy } => self.upward_is_lost(proxy, place, id),
        }
    }

    /// The server closes when it has answered.
    pub(super) fn have_server_close(&mut self, place: u32) {
        let closing = &mut self.connections[place as usize].server.closing;
        if !closing.ignores_requests() {
            *closing = Closing::AfterAnswer;
        }
    }

    /// Nothing is left of a connection.
    pub(super) fn connection_is_over(&mut self, place: u32, connection: &Connection) {
        if let Owner::User { user } = connection.owner {
            self.user(user).handle_gone(place);
        }
    }
}
