//! Clients who transfer files one after the other: the thesis' FTP, and flows that never end.

use std::time::Duration;

use ackwise_link::Stream;
use ackwise_tcp::Instant;

use super::{Event, START, World, client::Repeat, open::NotOpened};
use crate::{
    connection::{ENDLESS, Exchange, Owner},
    measure::{Document, Progress},
    observe::Observer,
    scenario::{Application, ApplicationKind, Bulk, BulkSender, Scenario},
    user::{Ask, PAUSE_AFTER_FAILURE},
};

/// One client.
#[derive(Clone, Debug)]
pub(crate) struct BulkClient {
    application: u32,
    left: Option<u32>,
    has_file: bool,
    /// Its open connection.
    place: Option<u32>,
    /// When the transfer of the present file began.
    began: Instant,
    stream: Stream,
}

impl BulkClient {
    /// Its application, and how far it came until `end`.
    pub(super) fn progress(&self, scenario: &Scenario, end: Instant) -> (u32, Progress) {
        let kind = &scenario.applications[self.application as usize].kind;
        let endless = matches!(kind, ApplicationKind::Bulk(Bulk { file: None, .. }));
        let progress = match self.has_file {
            false if self.began > end => Progress::NotStarted,
            false if !endless => Progress::NoDocument,
            _ => Progress::Documents,
        };
        (self.application, progress)
    }
}

impl<'a, O: Observer> World<'a, O> {
    pub(super) fn add_bulk_clients(&mut self, place: u32, application: &Application, bulk: &Bulk) {
        for _ in 0..bulk.clients.get() {
            let mut stream = self.stream(application);
            let start = START + application.start.draw(&mut stream);
            let client = u32::try_from(self.bulk_clients.len()).expect("counted in 32 bits");
            self.bulk_clients.push(BulkClient {
                application: place,
                left: bulk.files.map(u32::from),
                has_file: false,
                place: None,
                began: start,
                stream,
            });
            self.unfinished += 1;
            self.queue.push(start, Event::Bulk(client));
        }
    }

    fn bulk(&self, client: u32) -> &'a Bulk {
        let application = self.bulk_clients[client as usize].application;
        match &self.scenario.applications[application as usize].kind {
            ApplicationKind::Bulk(bulk) => bulk,
            kind => unreachable!("a bulk client has its own settings, not {kind:?}"),
        }
    }

    /// A client begins with a file.
    pub(super) fn bulk_client_is_due(&mut self, client: u32) {
        let state = &mut self.bulk_clients[client as usize];
        state.began = self.now;
        let (application, known) = (state.application, state.place);
        let stale = known.filter(|&place| self.is_stale(place));
        if let Some(place) = stale {
            self.client_closes(place);
        }
        let known = known.filter(|_| stale.is_none());
        let opened = known.map_or_else(|| self.open(Owner::Bulk { client }, application), Ok);
        let place = match opened {
            Ok(place) => place,
            Err(NotOpened::NoMemory) => {
                return self.after(PAUSE_AFTER_FAILURE, Event::Bulk(client));
            }
            Err(NotOpened::RunEnds) => return,
        };
        let &Bulk { request, file, sender, .. } = self.bulk(client);
        let file = file.map_or(ENDLESS, |bytes| bytes.0);
        let (request, body) = match sender {
            BulkSender::Server => (request.0, file),
            BulkSender::Client => (file, 0),
        };
        self.bulk_clients[client as usize].place = match sender {
            BulkSender::Server => Some(place),
            // The end of the connection is the end of the file.
            BulkSender::Client => {
                self.connections[place as usize].client.closes = true;
                None
            }
        };
        self.ask(place, Ask::of_a_file(request, body));
    }

    /// A file has wholly arrived at whoever receives it.
    pub(super) fn bulk_client_has_file(&mut self, client: u32, place: u32, exchange: Exchange) {
        let bulk = self.bulk(client);
        let bytes = match bulk.sender {
            BulkSender::Server => exchange.body,
            BulkSender::Client => exchange.request_end,
        };
        let state = &mut self.bulk_clients[client as usize];
        let time = self.now.since(state.began);
        state.has_file = true;
        self.collector.document(state.application, Document { files: 1, bytes, time });
        state.left = state.left.map(|left| left - 1);
        if exchange.closes {
            self.client_lets_go(place);
        }
        let state = &mut self.bulk_clients[client as usize];
        if state.left == Some(0) {
            self.unfinished -= 1;
            if state.place.take().is_some() {
                self.client_closes(place);
            }
            return;
        }
        let span = bulk.pause.draw(&mut state.stream);
        if span.is_zero() && state.place.is_some() {
            self.bulk_client_is_due(client);
        } else {
            self.after(span, Event::Bulk(client));
        }
    }

    /// A client's connection has lost its request.
    pub(super) fn bulk_client_repeats(&mut self, client: u32, repeat: Repeat) {
        let state = &mut self.bulk_clients[client as usize];
        state.place = None;
        self.collector.repeated(state.application, 1);
        let pause = match repeat {
            Repeat::AtOnce => Duration::ZERO,
            Repeat::AfterPause => PAUSE_AFTER_FAILURE,
        };
        self.after(pause, Event::Bulk(client));
    }

    /// A connection is of no use to a client any more.
    pub(super) fn bulk_client_forgets(&mut self, client: u32, place: u32) {
        self.bulk_clients[client as usize].place.take_if(|kept| *kept == place);
    }
}
