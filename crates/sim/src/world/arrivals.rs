//! Connections that arrive whatever becomes of the earlier ones: one request, one response, a close.

use ackwise_link::Stream;

use super::{Event, START, World};
use crate::{
    connection::{Exchange, Owner},
    measure::{Document, Progress},
    observe::Observer,
    scenario::{Application, ApplicationKind, Arrivals, SlowReader},
    user::Ask,
};

/// An application that opens connections.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    application: u32,
    left: Option<u32>,
    progress: Progress,
    stream: Stream,
}

impl Source {
    /// Its application, and how far it came.
    pub(super) const fn progress(&self) -> (u32, Progress) {
        (self.application, self.progress)
    }
}

impl<'a, O: Observer> World<'a, O> {
    pub(super) fn add_source(&mut self, place: u32, application: &Application) {
        let ApplicationKind::Arrivals(arrivals) = &application.kind else { return };
        let mut stream = self.stream(application);
        let start = START + application.start.draw(&mut stream);
        let left = arrivals.limit.map(u32::from);
        let source = u32::try_from(self.sources.len()).expect("a few applications");
        let progress = Progress::NotStarted;
        self.sources.push(Source { application: place, left, progress, stream });
        self.unfinished += 1;
        self.queue.push(start, Event::Arrival(source));
    }

    fn arrivals(&self, source: u32) -> &'a Arrivals {
        let application = self.sources[source as usize].application;
        match &self.scenario.applications[application as usize].kind {
            ApplicationKind::Arrivals(arrivals) => arrivals,
            kind => unreachable!("a source of connections has its own settings, not {kind:?}"),
        }
    }

    /// The next connection arrives.
    pub(super) fn connection_arrives(&mut self, source: u32) {
        let Arrivals { request, response, interarrival, .. } = self.arrivals(source);
        let state = &mut self.sources[source as usize];
        let application = state.application;
        if state.progress == Progress::NotStarted {
            state.progress = Progress::NoDocument;
        }
        state.left = state.left.map(|left| left - 1);
        if state.left == Some(0) {
            self.unfinished -= 1;
        } else {
            let span = interarrival.draw(&mut state.stream);
            self.after(span, Event::Arrival(source));
        }
        // Without memory for it, it has failed.
        let Ok(place) = self.open(Owner::Arrival { source }, application) else { return };
        self.ask(place, Ask::of_a_file(request.0, response.0));
    }

    /// Whether TCP answers before the program of a connection hears that it has opened or closed.
    pub(super) fn acks_promptly(&self, place: u32) -> bool {
        let application = self.connections[place as usize].application;
        match &self.scenario.applications[application as usize].kind {
            ApplicationKind::Arrivals(arrivals) => arrivals.prompt_acks,
            ApplicationKind::Web(web) => web.prompt_acks,
            ApplicationKind::Bulk(_) | ApplicationKind::Proxy(_) => false,
        }
    }

    /// How the client's program of an application reads, if not at once.
    pub(super) fn slow_reader(&self, application: u32) -> Option<SlowReader> {
        match &self.scenario.applications[application as usize].kind {
            ApplicationKind::Web(web) => web.slow_reader,
            ApplicationKind::Arrivals(_) | ApplicationKind::Bulk(_) | ApplicationKind::Proxy(_) => {
                None
            }
        }
    }

    pub(super) fn arrival_has_response(&mut self, source: u32, place: u32, exchange: Exchange) {
        let opened = self.connections[place as usize].client.opened;
        let application = self.sources[source as usize].application;
        self.sources[source as usize].progress = Progress::Documents;
        let document =
            Document { files: exchange.files, bytes: exchange.body, time: self.now.since(opened) };
        self.collector.document(application, document);
        let span = self.arrivals(source).hold.draw(&mut self.sources[source as usize].stream);
        if span.is_zero() {
            self.client_closes(place);
        } else {
            self.close_after(place, span);
        }
    }
}
