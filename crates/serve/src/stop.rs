//! A signal that interrupts sleeps.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

/// Raised once, when the server stops.
#[derive(Debug, Default)]
pub(crate) struct StopSignal {
    raised: Mutex<bool>,
    changed: Condvar,
}

impl StopSignal {
    pub(crate) fn raise(&self) {
        *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Sleeps for `span`; `false` if interrupted by the signal.
    #[must_use]
    pub(crate) fn sleep(&self, span: Duration) -> bool {
        if span.is_zero() {
            return true;
        }
        let raised = self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        let (raised, _) = self
            .changed
            .wait_timeout_while(raised, span, |raised| !*raised)
            .unwrap_or_else(PoisonError::into_inner);
        !*raised
    }
}
