//! Executes a plan step by step.
//!
//! A plan consists of a list of exchanges and the number of them that may be outstanding. The rest
//! is the same for all plans.

use alloc::{boxed::Box, vec::Vec};

use super::{
    Connections, LocalCopy, Page, Pause, Step, Transfer,
    exchange::{Exchange, Progress, exchanges},
};
use crate::ConnectionOption;

/// The transfer of one page.
#[derive(Clone, Debug)]
pub struct PageFetch {
    exchanges: Box<[Exchange]>,
    /// Connections free for the next requests, the most recently used last.
    free: Vec<Free>,
    transfer: Transfer,
    /// All exchanges before this one are answered.
    answered: u32,
    /// All exchanges before this one are requested.
    next: u32,
    /// No exchange from this one on has been requested.
    asked: u32,
    /// Number of requested, unanswered exchanges.
    unanswered: u32,
    /// Number of connections so far, kept ones included.
    connections: u32,
    /// Whether each connection is closed after its response.
    closes: bool,
    /// The pause before the next step.
    pause: Pause,
    failed: bool,
}

/// A connection that a request may be sent on.
#[derive(Clone, Copy, Debug)]
struct Free {
    connection: u32,
    /// Whether it has carried a response before.
    proven: bool,
}

impl PageFetch {
    /// Starts the transfer of `page`, of whose files the client may have copies: `cached` is asked about
    /// each; 0 is the primary. A [`bool`] is [`LocalCopy::Fresh`] or [`LocalCopy::None`].
    #[must_use]
    pub fn new<C: Into<LocalCopy>>(
        transfer: Transfer,
        page: &Page,
        connections: Connections,
        mut cached: impl FnMut(usize) -> C,
    ) -> Self {
        let cached = |file| cached(file).into();
        let (open, kept) = match connections {
            Connections::OfThePage => (0, false),
            Connections::Kept { open } => (open, true),
        };
        Self {
            exchanges: exchanges(transfer, page, cached),
            free: (0..open).map(|connection| Free { connection, proven: true }).collect(),
            transfer,
            answered: 0,
            next: 0,
            asked: 0,
            unanswered: 0,
            connections: open,
            closes: transfer.has_a_connection_for_each_file() && !kept,
            pause: Pause::Document,
            failed: false,
        }
    }

    /// The next step that is possible now. Poll after each step and each `on_*` call until it
    /// returns `None`.
    #[must_use]
    pub fn poll(&mut self) -> Option<Step> {
        if self.failed || self.unanswered >= self.unanswered_at_once() {
            return None;
        }
        while self.exchanges.get(self.next as usize)?.progress != Progress::Planned {
            self.next += 1;
        }
        let pause = core::mem::replace(&mut self.pause, Pause::None);
        Some(match self.free.last() {
            None => self.open(pause),
            // No connection is opened, so no `OpenGap`.
            Some(&free) if pause == Pause::OpenGap => self.request(free, Pause::None),
            Some(&free) => self.request(free, pause),
        })
    }

    /// Handles the complete response to the oldest outstanding request on `connection`.
    pub fn on_response(&mut self, connection: u32) {
        let mut awaited = self.awaited().filter(|exchange| exchange.is_asked_on(connection));
        let Some(exchange) = awaited.next() else {
            return; // Unsolicited.
        };
        exchange.progress = Progress::Answered;
        for other in awaited {
            other.progress = Progress::AskedOn { connection, proven: true };
        }
        let leading = self.awaited().take_while(|it| it.progress == Progress::Answered).count();
        self.answered += u32::try_from(leading).unwrap_or(u32::MAX);
        self.unanswered -= 1;
        self.pause = Pause::File;
        if !self.closes {
            self.free.retain(|free| free.connection != connection);
            self.free.push(Free { connection, proven: true });
        }
    }

    /// Handles a close or reset of `connection` by the server, or its announcement. Outstanding
    /// requests are repeated on another connection.
    ///
    /// RFC 9112, section 9.3.1: "When an inbound connection is closed prematurely, a client MAY
    /// open a new connection and automatically retransmit an aborted sequence of requests if all of
    /// those requests have idempotent methods". As in browsers, only if it has carried a response
    /// before. Each response therefore allows at most one more connection, and a page
    /// [fails](Self::has_failed) if the server closes every connection without a response.
    pub fn on_close(&mut self, connection: u32) {
        self.free.retain(|free| free.connection != connection);
        for at in self.answered..self.asked {
            let exchange = &mut self.exchanges[at as usize];
            if let Progress::AskedOn { connection: on, proven } = exchange.progress
                && on == connection
            {
                exchange.progress = Progress::Planned;
                self.next = self.next.min(at);
                self.unanswered -= 1;
                self.failed |= !proven;
            }
        }
    }

    /// Whether every response is complete.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.answered as usize == self.exchanges.len()
    }

    /// Whether the page cannot be completed. There are no more steps then.
    #[must_use]
    pub const fn has_failed(&self) -> bool {
        self.failed
    }

    /// The exchanges from the first unanswered to the last requested one.
    fn awaited(&mut self) -> impl Iterator<Item = &mut Exchange> {
        self.exchanges[self.answered as usize..self.asked as usize].iter_mut()
    }

    /// The inlines are known once the primary is complete.
    fn unanswered_at_once(&self) -> u32 {
        match self.exchanges.first() {
            Some(first) if first.files.start == 0 && first.progress != Progress::Answered => 1,
            _ => self.transfer.unanswered_at_once(),
        }
    }

    fn open(&mut self, pause: Pause) -> Step {
        let connection = self.connections;
        self.connections += 1;
        self.free.push(Free { connection, proven: false });
        Step::Open { connection, pause }
    }

    fn request(&mut self, Free { connection, proven }: Free, pause: Pause) -> Step {
        let exchange = &mut self.exchanges[self.next as usize];
        exchange.progress = Progress::AskedOn { connection, proven };
        self.next += 1;
        self.asked = self.asked.max(self.next);
        self.unanswered += 1;
        if self.transfer != Transfer::Pipelined {
            self.free.pop();
        }
        if self.transfer.has_a_connection_for_each_file() && !proven {
            self.pause = Pause::OpenGap;
        }
        let option =
            if self.closes { ConnectionOption::Close } else { ConnectionOption::KeepAlive };
        let (files, response) = (exchange.files.clone(), exchange.response);
        Step::Request { connection, files, response, option, pause }
    }
}
