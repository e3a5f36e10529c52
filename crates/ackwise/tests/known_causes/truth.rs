//! What the programs know of the time that they wasted.

use std::{
    sync::Mutex,
    time::{Duration, Instant},
};

use ackwise_cause::{Cause, Direction};

/// Time that was wasted on purpose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Injected {
    /// The exchange, counted from 0.
    pub exchange: usize,
    pub cause: Cause,
    pub direction: Direction,
    pub span: Duration,
}

/// What client and server have told so far.
#[derive(Debug, Default)]
pub(crate) struct Truth(Mutex<Vec<Injected>>);

impl Truth {
    pub(crate) fn tell(&self, exchange: usize, (cause, direction): Blame, span: Duration) {
        let injected = Injected { exchange, cause, direction, span };
        self.0.lock().expect("nobody panics with it").push(injected);
    }

    /// All the time that `work` takes is wasted.
    pub(crate) fn measure<T>(&self, exchange: usize, blame: Blame, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = work();
        self.tell(exchange, blame, begun.elapsed());
        result
    }

    pub(crate) fn into_inner(self) -> Vec<Injected> {
        self.0.into_inner().expect("nobody panics with it")
    }
}

/// A cause, and which way the data goes that is late.
pub(crate) type Blame = (Cause, Direction);
