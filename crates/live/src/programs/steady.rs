//! Clients who transfer files one after the other, and connections that arrive whatever becomes of the
//! earlier ones.

use std::time::Duration;

use ackwise_link::Stream;
use ackwise_sim::{
    Scenario,
    measure::{Document, Progress},
    scenario::{ApplicationKind, Arrivals, Bulk, BulkSender},
    user::{Ask, PAUSE_AFTER_FAILURE},
};

use super::{Due, Programs, client::Owner, transport::Ending};
use crate::agreed::{ENDLESS, Exchange};

/// One bulk client.
#[derive(Debug)]
pub(super) struct BulkClient {
    application: u32,
    left: Option<u32>,
    has_file: bool,
    /// Its open connection.
    name: Option<u64>,
    /// When the transfer of the present file began.
    began: Duration,
    stream: Stream,
}

/// An application that opens connections.
#[derive(Debug)]
pub(super) struct Source {
    application: u32,
    left: Option<u32>,
    progress: Progress,
    stream: Stream,
}

impl BulkClient {
    pub(super) fn new(application: u32, bulk: &Bulk, start: Duration, stream: Stream) -> Self {
        let left = bulk.files.map(u32::from);
        Self { application, left, has_file: false, name: None, began: start, stream }
    }

    pub(super) fn progress(&self, scenario: &Scenario, end: Duration) -> (u32, Progress) {
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

impl Source {
    pub(super) fn new(application: u32, arrivals: &Arrivals, stream: Stream) -> Self {
        let left = arrivals.limit.map(u32::from);
        Self { application, left, progress: Progress::NotStarted, stream }
    }

    pub(super) const fn progress(&self) -> (u32, Progress) {
        (self.application, self.progress)
    }
}

impl<'a> Programs<'a> {
    fn bulk(&self, client: usize) -> &'a Bulk {
        match &self.application(self.bulk_clients[client].application).kind {
            ApplicationKind::Bulk(bulk) => bulk,
            kind => unreachable!("a bulk client has its own settings, not {kind:?}"),
        }
    }

    /// A client begins with a file.
    pub(super) fn bulk_client_is_due(&mut self, client: usize) {
        let now = self.now;
        let state = &mut self.bulk_clients[client];
        state.began = now;
        let (application, known) = (state.application, state.name.take());
        let stale = known.filter(|&name| self.is_stale(name));
        if let Some(name) = stale {
            self.client_ends(name, Ending::Close);
        }
        let known = known.filter(|_| stale.is_none());
        let opened = known.or_else(|| self.open(Owner::Bulk(client), application));
        let Some(name) = opened else {
            return self.after(PAUSE_AFTER_FAILURE, Due::Bulk(client));
        };
        let &Bulk { request, file, sender, .. } = self.bulk(client);
        let file = file.map_or(ENDLESS, |bytes| bytes.0);
        let (request, body) = match sender {
            BulkSender::Server => (request.0, file),
            BulkSender::Client => (file, 0),
        };
        if sender == BulkSender::Server {
            self.bulk_clients[client].name = Some(name);
        } else if let Some(end) = self.clients.get_mut(&name) {
            // The end of the connection is the end of the file.
            end.closes = true;
        }
        self.ask(name, Ask::of_a_file(request, body));
    }

    /// A file has wholly arrived at whoever receives it.
    pub(super) fn bulk_client_has_file(
        &mut self,
        client: usize,
        name: u64,
        bytes: u64,
        closes: bool,
    ) {
        let bulk = self.bulk(client);
        let now = self.now;
        let state = &mut self.bulk_clients[client];
        let time = now.saturating_sub(state.began);
        state.has_file = true;
        state.left = state.left.map(|left| left - 1);
        let (application, finished) = (state.application, state.left == Some(0));
        self.document(application, Document { files: 1, bytes, time });
        if finished || closes || bulk.sender == BulkSender::Client {
            self.bulk_clients[client].name = None;
            self.client_ends(name, Ending::Close);
        }
        if finished {
            return self.one_is_done();
        }
        let state = &mut self.bulk_clients[client];
        let span = bulk.pause.draw(&mut state.stream);
        self.after(span, Due::Bulk(client));
    }

    /// A client's connection has lost its request.
    pub(super) fn bulk_client_repeats(&mut self, client: usize, immediately: bool) {
        let state = &mut self.bulk_clients[client];
        state.name = None;
        let application = state.application;
        self.tally(application, |tally| tally.measures.requests_repeated += 1);
        let pause = if immediately { Duration::ZERO } else { PAUSE_AFTER_FAILURE };
        self.after(pause, Due::Bulk(client));
    }

    /// A connection is of no use to a client any more.
    pub(super) fn bulk_client_forgets(&mut self, client: usize, name: u64) {
        self.bulk_clients[client].name.take_if(|kept| *kept == name);
    }

    fn arrivals(&self, source: usize) -> &'a Arrivals {
        match &self.application(self.sources[source].application).kind {
            ApplicationKind::Arrivals(arrivals) => arrivals,
            kind => unreachable!("a source of connections has its own settings, not {kind:?}"),
        }
    }

    /// The next connection arrives.
    pub(super) fn connection_arrives(&mut self, source: usize, at: Duration) {
        let Arrivals { request, response, interarrival, .. } = self.arrivals(source);
        let state = &mut self.sources[source];
        let application = state.application;
        if state.progress == Progress::NotStarted {
            state.progress = Progress::NoDocument;
        }
        state.left = state.left.map(|left| left - 1);
        if state.left == Some(0) {
            self.one_is_done();
        } else {
            // From when it was due: a late thread does not slow the arrivals down.
            let span = interarrival.draw(&mut self.sources[source].stream);
            self.at(at + span, Due::Source(source));
        }
        // Without a port for it, it has failed.
        let Some(name) = self.open(Owner::Arrival(source), application) else {
            return self.tally(application, |tally| tally.measures.connections_failed += 1);
        };
        self.ask(name, Ask::of_a_file(request.0, response.0));
    }

    pub(super) fn arrival_has_response(&mut self, source: usize, name: u64, exchange: Exchange) {
        let Some(end) = self.clients.get(&name) else { return };
        let time = self.now.saturating_sub(end.opened);
        let application = self.sources[source].application;
        self.sources[source].progress = Progress::Documents;
        self.document(application, Document { files: exchange.files, bytes: exchange.body, time });
        let span = self.arrivals(source).hold.draw(&mut self.sources[source].stream);
        if span.is_zero() {
            self.client_ends(name, Ending::Close);
        } else {
            self.close_after(name, span);
        }
    }
}
