//! Clients who transfer files one after the other: [`BulkClient`] says what each does next, and the world does it.

use ackwise_tcp::Instant;

use super::{Event, START, World, open::NotOpened};
use crate::{
    bulk::BulkClient,
    connection::{Exchange, Owner},
    measure::Progress,
    observe::Observer,
    scenario::{Application, Bulk, BulkSender},
    user::{PAUSE_AFTER_FAILURE, Repeat},
};

/// A client of an application, who knows its connections by their places.
#[derive(Clone, Debug)]
pub(crate) struct FileClient<'a> {
    application: u32,
    client: BulkClient<'a, u32>,
}

impl FileClient<'_> {
    /// Its application, and how far it came until `end`.
    pub(super) fn progress(&self, end: Instant) -> (u32, Progress) {
        (self.application, self.client.progress(end))
    }
}

impl<'a, O: Observer> World<'a, O> {
    pub(super) fn add_bulk_clients(
        &mut self,
        place: u32,
        application: &Application,
        bulk: &'a Bulk,
    ) {
        for _ in 0..bulk.clients.get() {
            let mut stream = self.stream(application);
            let start = START + application.start.draw(&mut stream);
            let number = u32::try_from(self.bulk_clients.len()).expect("counted in 32 bits");
            let client = BulkClient::new(bulk, stream, start);
            self.bulk_clients.push(FileClient { application: place, client });
            self.unfinished += 1;
            self.queue.push(start, Event::Bulk(number));
        }
    }

    fn bulk_client(&mut self, client: u32) -> &mut BulkClient<'a, u32> {
        &mut self.bulk_clients[client as usize].client
    }

    /// A client begins with a file.
    pub(super) fn bulk_client_is_due(&mut self, client: u32) {
        let (now, application) = (self.now, self.bulk_clients[client as usize].application);
        let kept = self.bulk_client(client).begin_file(now);
        let stale = kept.filter(|&place| self.is_stale(place));
        if let Some(place) = stale {
            self.client_closes(place);
        }
        let usable = kept.filter(|_| stale.is_none());
        let opened = usable.map_or_else(|| self.open(Owner::Bulk { client }, application), Ok);
        let place = match opened {
            Ok(place) => place,
            Err(NotOpened::NoMemory) => {
                return self.after(PAUSE_AFTER_FAILURE, Event::Bulk(client));
            }
            Err(NotOpened::RunEnds) => return,
        };
        let ask = self.bulk_client(client).ask(place);
        if self.bulk_client(client).bulk().sender == BulkSender::Client {
            self.connections[place as usize].client.closes = true;
        }
        self.ask(place, ask);
    }

    /// A file has wholly arrived at whoever receives it.
    pub(super) fn bulk_client_has_file(&mut self, client: u32, place: u32, exchange: Exchange) {
        let now = self.now;
        let state = &mut self.bulk_clients[client as usize];
        let bytes = match state.client.bulk().sender {
            BulkSender::Server => exchange.body,
            BulkSender::Client => exchange.request_end,
        };
        let document = state.client.handle_file(bytes, now);
        self.collector.document(state.application, document);
        if exchange.closes {
            self.client_lets_go(place);
        }
        let state = self.bulk_client(client);
        let (kept, pause) = (state.kept(), state.next_pause());
        match pause {
            None => {
                self.unfinished -= 1;
                if kept.is_some() {
                    self.bulk_client(client).handle_gone(place);
                    self.client_closes(place);
                }
            }
            Some(span) if span.is_zero() && kept.is_some() => self.bulk_client_is_due(client),
            Some(span) => self.after(span, Event::Bulk(client)),
        }
    }

    /// A client's connection has lost its request.
    pub(super) fn bulk_client_repeats(&mut self, client: u32, place: u32, repeat: Repeat) {
        self.bulk_client_forgets(client, place);
        let application = self.bulk_clients[client as usize].application;
        self.collector.repeated(application, 1);
        self.after(repeat.pause(), Event::Bulk(client));
    }

    /// A connection is of no use to a client any more.
    pub(super) fn bulk_client_forgets(&mut self, client: u32, place: u32) {
        self.bulk_client(client).handle_gone(place);
    }
}
