//! Connections that arrive whatever becomes of the earlier ones: [`Source`] says when the next one does, and the world
//! opens it.

use std::time::Duration;

use super::{Event, START, World};
use crate::{
    arrivals::Source,
    connection::{Exchange, Owner},
    measure::{Document, Progress},
    observe::Observer,
    scenario::{Application, ApplicationKind, Arrivals, SlowReader},
};

/// An application that opens connections.
#[derive(Clone, Debug)]
pub(crate) struct Opener<'a> {
    application: u32,
    source: Source<'a>,
}

impl Opener<'_> {
    /// Its application, and how far it came.
    pub(super) const fn progress(&self) -> (u32, Progress) {
        (self.application, self.source.progress())
    }
}

impl<'a, O: Observer> World<'a, O> {
    pub(super) fn add_source(
        &mut self,
        place: u32,
        application: &Application,
        arrivals: &'a Arrivals,
    ) {
        let mut stream = self.stream(application);
        let start = START + application.start.draw(&mut stream);
        let number = u32::try_from(self.sources.len()).expect("a few applications");
        let source = Source::new(arrivals, stream);
        self.sources.push(Opener { application: place, source });
        self.unfinished += 1;
        self.queue.push(start, Event::Arrival(number));
    }

    /// The next connection arrives.
    pub(super) fn connection_arrives(&mut self, source: u32) {
        let Opener { application, source: state } = &mut self.sources[source as usize];
        let (application, ask) = (*application, state.ask());
        match state.handle_arrival() {
            None => self.unfinished -= 1,
            Some(span) => self.after(span, Event::Arrival(source)),
        }
        // Without memory for it, it has failed.
        let Ok(place) = self.open(Owner::Arrival { source }, application) else { return };
        self.ask(place, ask);
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

    /// How long the client's program of an application waits for a response, if not as long as TCP does.
    pub(super) fn response_timeout(&self, application: u32) -> Option<Duration> {
        match &self.scenario.applications[application as usize].kind {
            ApplicationKind::Web(web) => web.response_timeout,
            ApplicationKind::Arrivals(_) | ApplicationKind::Bulk(_) | ApplicationKind::Proxy(_) => {
                None
            }
        }
    }

    pub(super) fn arrival_has_response(&mut self, source: u32, place: u32, exchange: Exchange) {
        let opened = self.connections[place as usize].client.opened;
        let Opener { application, source: state } = &mut self.sources[source as usize];
        let (application, span) = (*application, state.handle_response());
        let document =
            Document { files: exchange.files, bytes: exchange.body, time: self.now.since(opened) };
        self.collector.document(application, document);
        if span.is_zero() {
            self.client_closes(place);
        } else {
            self.close_after(place, span);
        }
    }
}
