//! Clients who transfer files one after the other, and connections that arrive whatever becomes of the
//! earlier ones: the simulator's [`BulkClient`] and [`Source`](arrivals::Source) say what comes next,
//! their programs do it.

use std::time::Duration;

use ackwise_link::Stream;
use ackwise_sim::{
    arrivals,
    bulk::BulkClient,
    measure::{Document, Progress},
    scenario::{Arrivals, Bulk, BulkSender},
    user::{PAUSE_AFTER_FAILURE, Repeat},
};

use super::{Due, Programs, client::Owner, instant, transport::Ending};
use crate::agreed::Exchange;

/// A client of an application, who knows its connections by their names.
#[derive(Debug)]
pub(super) struct FileClient<'a> {
    application: u32,
    client: BulkClient<'a, u64>,
}

/// An application that opens connections.
#[derive(Debug)]
pub(super) struct Opener<'a> {
    application: u32,
    source: arrivals::Source<'a>,
}

impl<'a> FileClient<'a> {
    pub(super) fn new(application: u32, bulk: &'a Bulk, stream: Stream, start: Duration) -> Self {
        Self { application, client: BulkClient::new(bulk, stream, instant(start)) }
    }

    /// Its application, and how far it came until `end`.
    pub(super) fn progress(&self, end: Duration) -> (u32, Progress) {
        (self.application, self.client.progress(instant(end)))
    }
}

impl<'a> Opener<'a> {
    pub(super) fn new(application: u32, arrivals: &'a Arrivals, stream: Stream) -> Self {
        Self { application, source: arrivals::Source::new(arrivals, stream) }
    }

    /// Its application, and how far it has come.
    pub(super) const fn progress(&self) -> (u32, Progress) {
        (self.application, self.source.progress())
    }
}

impl Programs<'_> {
    /// A client begins with a file.
    pub(super) fn bulk_client_is_due(&mut self, client: usize) {
        let now = instant(self.now);
        let FileClient { application, client: state } = &mut self.file_clients[client];
        let (application, kept) = (*application, state.begin_file(now));
        let stale = kept.filter(|&name| self.is_stale(name));
        if let Some(name) = stale {
            self.client_ends(name, Ending::Close);
        }
        let usable = kept.filter(|_| stale.is_none());
        let opened = usable.or_else(|| self.open(Owner::Bulk(client), application));
        let Some(name) = opened else {
            return self.after(PAUSE_AFTER_FAILURE, Due::Bulk(client));
        };
        let state = &mut self.file_clients[client].client;
        let ask = state.ask(name);
        if state.bulk().sender == BulkSender::Client
            && let Some(end) = self.clients.get_mut(&name)
        {
            end.closes = true;
        }
        self.ask(name, ask);
    }

    /// A file has wholly arrived at whoever receives it.
    #[expect(clippy::fn_params_excessive_bools, reason = "what the server has said")]
    pub(super) fn bulk_client_has_file(
        &mut self,
        client: usize,
        name: u64,
        bytes: u64,
        closes: bool,
    ) {
        let now = instant(self.now);
        let FileClient { application, client: state } = &mut self.file_clients[client];
        let (application, uploads) = (*application, state.bulk().sender == BulkSender::Client);
        let (document, pause) = (state.handle_file(bytes, now), state.next_pause());
        self.document(application, document);
        if pause.is_none() || closes || uploads {
            self.bulk_client_forgets(client, name);
            self.client_ends(name, Ending::Close);
        }
        match pause {
            None => self.one_is_done(),
            Some(span) => self.after(span, Due::Bulk(client)),
        }
    }

    /// A client's connection has lost its request.
    pub(super) fn bulk_client_repeats(&mut self, client: usize, name: u64, repeat: Repeat) {
        self.bulk_client_forgets(client, name);
        let application = self.file_clients[client].application;
        self.tally(application, |tally| tally.measures.requests_repeated += 1);
        self.after(repeat.pause(), Due::Bulk(client));
    }

    /// A connection is of no use to a client any more.
    pub(super) fn bulk_client_forgets(&mut self, client: usize, name: u64) {
        self.file_clients[client].client.handle_gone(name);
    }

    /// The next connection arrives.
    pub(super) fn connection_arrives(&mut self, source: usize, at: Duration) {
        let Opener { application, source: state } = &mut self.openers[source];
        let (application, ask) = (*application, state.ask());
        match state.handle_arrival() {
            None => self.one_is_done(),
            // From when it was due: a late thread does not slow the arrivals down.
            Some(span) => self.at(at + span, Due::Source(source)),
        }
        // Without a port for it, it has failed.
        let Some(name) = self.open(Owner::Arrival(source), application) else {
            return self.tally(application, |tally| tally.measures.connections_failed += 1);
        };
        self.ask(name, ask);
    }

    pub(super) fn arrival_has_response(&mut self, source: usize, name: u64, exchange: Exchange) {
        let Some(end) = self.clients.get(&name) else { return };
        let time = self.now.saturating_sub(end.opened);
        let Opener { application, source: state } = &mut self.openers[source];
        let (application, span) = (*application, state.handle_response());
        self.document(application, Document { files: exchange.files, bytes: exchange.body, time });
        if span.is_zero() {
            self.client_ends(name, Ending::Close);
        } else {
            self.close_after(name, span);
        }
    }
}
