//! Requests that failed: how they are counted, and which of them are sent again.

use std::time::Duration;

use super::{Active, Run};
use crate::generator::{Failure, Fault, failure::Progress, plan::Message, schedule::Start};
use ackwise_net::{Slot, Transport};

/// A request that crossed the server's close, in the slot of its connection, which is gone.
pub(super) struct Repeat {
    pub(super) slot: Slot,
    /// Its index in the plan.
    pub(super) request: usize,
    pub(super) start: Start,
}

impl<T: Transport> Run<'_, T> {
    /// Counts what the failure costs, and ends the connection.
    pub(super) fn fail(&mut self, slot: Slot, active: &Active, failure: Failure) {
        let mut repeats = false;
        if active.connection.is_asking() {
            let now = self.now();
            let fault = failure.fault(&Progress {
                idle: active.connection.has_answered().then(|| now.saturating_sub(active.answered)),
                heard: self.transport.heard(slot),
                ..active.connection.progress()
            });
            repeats = fault.is_crossed_close() && self.may_repeat(active);
            if !repeats || active.intended >= self.load.warm_up {
                self.count_failure(failure, fault, active.intended, now);
            }
        } else if active.connection.is_idle() {
            // Some servers say 408 before they close an idle connection, others reset it.
            self.tally.count_cut_short();
        } else {
            self.tally.count_unclean();
        }
        match failure {
            // The server has closed first: an RST would end its TIME-WAIT.
            Failure::Closed | Failure::ShortBody(_) => self.transport.close(slot),
            _ => self.transport.abort(slot),
        }
        match active.connection.message() {
            Message::Request(request) | Message::LastRequest(request) if repeats => {
                let requests = active.left.saturating_add(1);
                let start = Start { due: active.intended, requests, free_since: active.since };
                self.repeats.push_back(Repeat { slot, request, start });
                self.open -= 1;
            }
            _ => self.retire(slot, active),
        }
    }

    fn may_repeat(&self, active: &Active) -> bool {
        let method = self.load.plan.method(active.connection.message());
        self.load.repeats_crossed && method.is_idempotent() && !self.without_port
    }

    /// Counts a request without a response.
    pub(super) fn count_failure(
        &mut self,
        failure: Failure,
        fault: Fault,
        intended: Duration,
        now: Duration,
    ) {
        if intended < self.load.warm_up {
            self.tally.count_warm_up(None, Some(&failure));
        } else {
            self.tally.count_failure(failure, fault, now.saturating_sub(intended));
        }
    }
}
