//! A signal that ends sleeps.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

/// Raised once, when the server is to stop.
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

    /// Sleeps for `span`; false if the signal ended it.
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
