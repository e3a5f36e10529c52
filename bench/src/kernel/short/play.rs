//! A case in both worlds.

use std::time::{Duration, Instant};

use ackwise_live::{Limits, World, play};

use super::case::{Case, Ending, REQUEST, START};
use super::ticks::Ticks;
use crate::kernel::flow::{End, Flow, Work};
use crate::kernel::{experiment, free_port, real, simulated};
use crate::witness::clock::Clock;

/// One play of the kernel.
#[derive(Clone, Debug)]
pub(super) struct Play {
    pub(super) flow: Flow,
    /// Where the ticks stood when the run began: the client's SYN leaves [`START`] later.
    pub(super) phase: u64,
}

/// Plays a case on the kernel; with what has disturbed it, if something has.
pub(super) fn on_kernel(case: &Case, ticks: &Ticks) -> anyhow::Result<(Play, Option<String>)> {
    let scenario = experiment::scenario(&case.toml(0), REAL, 0)?;
    let begin = ticks.next(u64::from(case.phase) * 1_000, Instant::now() + SET_UP);
    let port = free_port();
    let limits = Limits { record: true, port, not_before: Some(begin), ..Limits::default() };
    let clock = Clock::start();
    let played = play(&scenario, World::Kernel, &limits)?;
    let flow = real::flow(&played, &[], port, clock)?;
    let start = Duration::from_millis(START.into());
    let syn = flow.sent.first().map_or(0, |syn| syn.at);
    let since = Duration::from_nanos(syn.saturating_sub(clock.nanos(played.began)));
    let phase = ticks.phase((played.began + since).checked_sub(start).unwrap_or(played.began));
    Ok((Play { flow, phase }, played.disturbed))
}

/// Plays it in the simulator, with the kernel's ticks.
pub(super) fn simulated(case: &Case, phase: u64) -> anyhow::Result<Flow> {
    simulated::run(&case.toml(phase), case.number)
}

/// In seconds, summed over the responses: from the SYN or the request to the last byte, or to the FIN if the server
/// closes. `None` if that did not arrive.
pub(super) fn time(case: &Case, flow: &Flow) -> Option<f64> {
    let work = Work {
        request: REQUEST.into(),
        response: case.size.into(),
        transfers: case.responses,
        back_to_back: 0,
    };
    let mut spans = flow.transfers(work)?;
    if case.ending == Ending::ServerCloses {
        let last = spans.last_mut()?;
        let all = u64::from(case.size) * u64::from(case.responses);
        // The client acknowledges the FIN at once.
        last[1] = flow.sent.iter().find(|it| it.from == End::Client && it.ack > all)?.at;
    }
    let nanos = spans.iter().map(|[from, until]| until - from).sum();
    Some(Duration::from_nanos(nanos).as_secs_f64())
}

/// A real program takes time without being told to: for thinking, and from one write to the next (measured: 5 to 100 us).
const REAL: &[&str] = &[
    "application.web.behaviour.think=\"0 ms\"",
    "application.web.behaviour.think_after_head=\"0 ms\"",
];
/// Namespaces and devices are made in this time (our choice; measured: 60 to 150 ms).
const SET_UP: Duration = Duration::from_millis(250);
