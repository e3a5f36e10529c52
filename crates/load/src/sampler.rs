//! Samples TIME-WAIT at both ends during a run and after it has settled.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use ackwise_net::Transport;
use ackwise_tcp::TimeWaitReason;

use super::{
    HeldCount, Progress, Sample, TimeWait,
    socket_counter::{Counts, Ends, SocketCounter},
    time_wait::{Held, Series},
};
use crate::generator::{NextCall, Tally};

/// The samples of a run.
pub(super) struct Sampler {
    counter: SocketCounter,
    series: Series,
    began: Instant,
    last: Option<(HeldCount, HeldCount)>,
    /// Whether connections were closing at the last count.
    closing: bool,
}

impl Sampler {
    pub(super) fn new(ends: Ends) -> Self {
        let cost = ends.cost();
        let counter = SocketCounter::new(ends);
        Self {
            counter,
            series: Series::new(cost),
            began: Instant::now(),
            last: None,
            closing: false,
        }
    }

    /// Samples if one is due, and reports progress.
    pub(super) fn sample<T: Transport>(
        &mut self,
        transport: &mut T,
        tally: &Tally,
        tell: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> NextCall {
        if let Some(counts) = self.counter.poll() {
            self.record(counts, transport);
        } else if self.series.is_due(self.began.elapsed()) {
            self.counter.start();
        }
        let nothing = Sample { at: Duration::ZERO, server: None, client: None };
        let progress = Progress::Loading {
            connections: tally.connections(),
            answered: tally.answered(),
            failed: tally.failed(),
            held: self.series.last().copied().unwrap_or(nothing),
        };
        match tell(progress) {
            ControlFlow::Break(()) => NextCall::Stop,
            ControlFlow::Continue(()) => NextCall::After(POLL_INTERVAL),
        }
    }

    /// Lets the last FINs and RSTs arrive: until each of the run's `connections` is in TIME-WAIT, or the
    /// counts are stable, or [`SETTLE_LIMIT`] has passed.
    pub(super) fn settle<T: Transport>(&mut self, transport: &mut T, connections: u64) {
        let deadline = Instant::now() + SETTLE_LIMIT;
        while Instant::now() < deadline {
            let before = self.last.take();
            idle(transport);
            if let Some(counts) = self.counter.wait(SETTLE_LIMIT) {
                self.record(counts, transport);
            }
            // The first count may have been requested earlier: two equal ones are late enough.
            let is_stable =
                self.held() == Some(connections) || (before.is_some() && before == self.last);
            if is_stable && !self.closing && !transport.is_closing() {
                return;
            }
        }
    }

    /// Connections in TIME-WAIT at either end; `None` if one is unknown.
    fn held(&self) -> Option<u64> {
        let (server, client) = self.last.as_ref()?;
        Some(server.known()? + client.known()?)
    }

    pub(super) fn finish<T: Transport>(
        self,
        transport: &mut T,
        server_ignores_resets: Option<bool>,
    ) -> TimeWait {
        let unknown =
            || HeldCount::Unknown("listing the kernel's sockets took too long".to_owned());
        let (server, client) = self.last.unwrap_or_else(|| (unknown(), unknown()));
        TimeWait {
            server,
            client,
            series: self.series.into_samples(),
            server_ignores_resets,
            reasons: transport.time_wait_reasons().unwrap_or_default(),
        }
    }

    fn record<T: Transport>(&mut self, counts: Counts, transport: &mut T) {
        let closing = |count: &Result<Held, String>| count.as_ref().is_ok_and(|it| it.closing > 0);
        self.closing = closing(&counts.server) || counts.clients.as_ref().is_some_and(closing);
        let held = |count: Result<Held, String>| {
            count.map_or_else(HeldCount::Unknown, |held| HeldCount::Known(held.time_wait))
        };
        let server = held(counts.server);
        let client = match (counts.clients, transport.time_wait_reasons()) {
            (Some(count), _) => held(count),
            (None, reasons) => HeldCount::Known(reasons.as_deref().map_or(0, total)),
        };
        let at = counts.at.saturating_duration_since(self.began);
        let sample = Sample { at, server: server.known(), client: client.known() };
        self.series.push(sample, counts.took);
        self.last = Some((server, client));
    }
}

/// Lets the transport finish pending work.
fn idle<T: Transport>(transport: &mut T) {
    let mut ready = Vec::new();
    let until = transport.now() + SETTLE_INTERVAL;
    while transport.now() < until {
        if transport.poll(until, &mut ready).is_err() {
            return;
        }
        ready.clear();
    }
}

fn total(reasons: &[(TimeWaitReason, u64)]) -> u64 {
    reasons.iter().map(|(_, count)| count).sum()
}

/// Interval of the stop checks, and maximum delay of a count (our choice).
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const SETTLE_INTERVAL: Duration = Duration::from_millis(50);
/// A lost FIN is retransmitted within a second (our choice: twice that).
const SETTLE_LIMIT: Duration = Duration::from_secs(2);
