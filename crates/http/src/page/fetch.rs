//! Carries a plan out, step by step.
//!
//! A plan is two things: a list of exchanges, and how many of them may be unanswered at once. The
//! rest is the same for all plans.

use alloc::boxed::Box;

use super::{
    FirstConnection, Page, Pause, Step, Transfer,
    exchange::{Exchange, Progress, exchanges},
};
use crate::ConnectionOption;

/// One page on its way.
#[derive(Clone, Debug)]
pub struct PageFetch {
    transfer: Transfer,
    exchanges: Box<[Exchange]>,
    /// All exchanges before this one are answered.
    answered: usize,
    /// No exchange before this one is yet to be asked.
    asked: usize,
    /// How many are asked and not answered.
    unanswered: u32,
    /// How many connections there have been, a kept one included.
    connections: u32,
    /// The connection that the next request is for.
    next_on: Option<u32>,
    /// The connection that carried a response last.
    proven: Option<u32>,
    /// What comes before the next step.
    pause: Pause,
    failed: bool,
}

impl PageFetch {
    /// Begins to fetch `page`, but for the files of which `cached` is true; 0 is the primary.
    #[must_use]
    pub fn new(
        transfer: Transfer,
        page: &Page,
        first: FirstConnection,
        cached: impl FnMut(usize) -> bool,
    ) -> Self {
        let (connections, kept) = match first {
            FirstConnection::New => (0, None),
            FirstConnection::Kept => (1, Some(0)),
        };
        Self {
            transfer,
            exchanges: exchanges(transfer, page, cached),
            answered: 0,
            asked: 0,
            unanswered: 0,
            connections,
            next_on: kept,
            proven: kept,
            pause: Pause::Document,
            failed: false,
        }
    }

    /// What may be done now. Polled again after each step and each `on_*` call, until it has nothing.
    #[must_use]
    pub fn poll(&mut self) -> Option<Step> {
        if self.failed || self.unanswered >= self.unanswered_at_once() {
            return None;
        }
        while self.exchanges.get(self.asked)?.progress != Progress::Planned {
            self.asked += 1;
        }
        let pause = core::mem::replace(&mut self.pause, Pause::None);
        Some(match self.next_on {
            None => self.open(pause),
            Some(connection) => self.request(connection, pause),
        })
    }

    /// A response is complete: of those awaited on `connection`, the one asked for first.
    pub fn on_response(&mut self, connection: u32) {
        let awaited = &mut self.exchanges[self.answered..self.asked];
        let progress = Progress::AskedOn(connection);
        let Some(exchange) = awaited.iter_mut().find(|exchange| exchange.progress == progress)
        else {
            return; // Nobody asked for it.
        };
        exchange.progress = Progress::Answered;
        let leading = awaited.iter().take_while(|exchange| exchange.progress == Progress::Answered);
        self.answered += leading.count();
        self.unanswered -= 1;
        self.proven = Some(connection);
        self.pause = Pause::File;
    }

    /// The server has closed or reset `connection`; what it owes is asked for on another one.
    ///
    /// RFC 9112, section 9.3.1: "When an inbound connection is closed prematurely, a client MAY open
    /// a new connection and automatically retransmit an aborted sequence of requests if all of those
    /// requests have idempotent methods". As in browsers, only if it has carried a response before:
    /// so each response is worth one connection more at most, and a server that closes every
    /// connection unanswered makes the page [fail](Self::has_failed).
    pub fn on_close(&mut self, connection: u32) {
        if self.next_on == Some(connection) {
            self.next_on = None;
        }
        let progress = Progress::AskedOn(connection);
        for at in (self.answered..self.asked).rev() {
            if self.exchanges[at].progress == progress {
                self.exchanges[at].progress = Progress::Planned;
                self.asked = at;
                self.unanswered -= 1;
                self.failed |= self.proven != Some(connection);
            }
        }
    }

    /// Whether every response is complete.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.answered == self.exchanges.len()
    }

    /// Whether the page cannot be completed, so that there are no more steps.
    #[must_use]
    pub const fn has_failed(&self) -> bool {
        self.failed
    }

    /// The inlines are known when the primary is there.
    fn unanswered_at_once(&self) -> u32 {
        match self.exchanges.first() {
            Some(first) if first.files.start == 0 && first.progress != Progress::Answered => 1,
            _ => self.transfer.unanswered_at_once(),
        }
    }

    fn open(&mut self, pause: Pause) -> Step {
        let connection = self.connections;
        self.connections += 1;
        self.next_on = Some(connection);
        Step::Open { connection, pause }
    }

    fn request(&mut self, connection: u32, pause: Pause) -> Step {
        let exchange = &mut self.exchanges[self.asked];
        exchange.progress = Progress::AskedOn(connection);
        self.asked += 1;
        self.unanswered += 1;
        let option = if self.transfer.closes_after_response() {
            self.next_on = None;
            self.pause = Pause::OpenGap;
            ConnectionOption::Close
        } else {
            ConnectionOption::KeepAlive
        };
        let (files, response) = (exchange.files.clone(), exchange.response);
        Step::Request { connection, files, response, option, pause }
    }
}
