//! One run in steps, on a thread of its own: it stops at points in virtual time, and at whatever a congestion control that
//! is set from outside hears.
//!
//! Not here: a rule for windows, which whoever takes the steps has.

mod state;
#[cfg(test)]
mod tests;

use std::{
    io,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, Sender, SyncSender},
    },
    thread,
    time::Duration,
};

use ackwise_sim::{
    Observer, Scenario,
    observe::{ConnectionId, Side},
    pause::{NotSet, Pause, PauseReason},
};
use ackwise_tcp::{Instant, congestion::Windows, policy::CongestionPolicy};

use super::{Row, RunAllError, run_one};
use crate::experiment::Experiment;

pub use state::{CongestionStep, ConnectionState, DirectionState, EndState, HostState, RunState};

/// A run that goes on when it is asked to, until it is dropped. What it is asked is answered in order.
///
/// ```
/// use std::{sync::Arc, time::Duration};
///
/// use ackwise_lab::{experiment::Experiment, run::steps::Steps};
///
/// let text = r#"
///     duration = "10 s"
///     host = { client = {}, server = { tcp = { congestion = "external" } } }
///     link.wire = { ends = ["client", "server"], rate = "1 Mb/s", delay = "20 ms" }
///     application.file = { kind = "bulk", client = "client", server = "server", file = "1 MB", files = 1 }
/// "#;
/// let run = Steps::begin(Arc::new(Experiment::parse("steps.toml", text)?), 0, 0)?;
/// let mut window = 0;
/// while let Some(event) = run.step(None).recv()?? {
///     window = window.max(event.window_bytes) + u64::from(event.kind == "ack");
///     run.set_windows(event.connection, None, window, u64::MAX).recv()??;
/// }
/// assert!(run.finish().recv()??.measure("file.documents") == Some(1.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Steps {
    /// At most one for each caller who waits.
    asks: Sender<Ask>,
    stop: Arc<AtomicBool>,
}

/// Why a step, or what is to be set in one, failed.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StepError {
    /// The run does not go on.
    #[error(transparent)]
    Run(Arc<RunAllError>),
    /// No end of a connection that is established has such a host, or an external congestion control.
    #[error("connection {connection}: {error}")]
    NotSet {
        /// Which.
        connection: u64,
        /// Why.
        error: NotSet,
    },
    /// Both ends have an external congestion control.
    #[error(
        "connection {connection}: both ends have an external congestion control (expected a host)"
    )]
    WhichEnd {
        /// Of which.
        connection: u64,
    },
    /// The run is over.
    #[error("the run is over")]
    Over,
}

impl Steps {
    /// Begins a run of one case with one seed, both by their places in the experiment, and pauses at time 0, when all of
    /// that time is done.
    ///
    /// # Errors
    ///
    /// If there is no thread for it. What is wrong with the case, the first step says.
    ///
    /// # Panics
    ///
    /// If the experiment has no such case or no such seed.
    pub fn begin(experiment: Arc<Experiment>, case: usize, seed: usize) -> io::Result<Self> {
        assert!(case < experiment.cases().len() && seed < experiment.seeds().len());
        let (asks, asked) = mpsc::channel();
        let stop = Arc::<AtomicBool>::default();
        let stopped = Arc::clone(&stop);
        let name = "ackwise-steps".to_owned();
        thread::Builder::new().name(name).spawn(move || {
            let scenario = &experiment.cases()[case].scenario;
            let mut stepper = Stepper::new(scenario, &asked, &stopped);
            let outcome = run_one(&experiment, case, seed, &mut stepper);
            let Stepper { under_way, last, .. } = stepper;
            let outcome = outcome.map(|(row, _)| row).map_err(|error| StepError::Run(error.into()));
            under_way.into_iter().for_each(|ask| ask.after(&outcome, last.as_ref()));
            asked.iter().for_each(|ask| ask.after(&outcome, last.as_ref()));
        })?;
        Ok(Self { asks, stop })
    }

    /// Goes on to what a congestion control that is set from outside hears next. `None` if virtual time is `until` before, and
    /// all of that time done, or the run has ended.
    #[must_use]
    pub fn step(
        &self,
        until: Option<Duration>,
    ) -> Receiver<Result<Option<CongestionStep>, StepError>> {
        self.ask(|reply| Ask::Step(until, reply))
    }

    /// How the run stands.
    #[must_use]
    pub fn state(&self) -> Receiver<Result<RunState, StepError>> {
        self.ask(Ask::State)
    }

    /// Sets cwnd and ssthresh, in bytes, of the connection's end whose congestion control is external; `host` says which,
    /// if both are. Less than a segment counts as one, and more than 1 GiB as that.
    #[must_use]
    pub fn set_windows(
        &self,
        connection: u64,
        host: Option<String>,
        congestion: u64,
        threshold: u64,
    ) -> Receiver<Result<(), StepError>> {
        let bytes = |window| u32::try_from(window).unwrap_or(u32::MAX);
        let windows = Windows { congestion: bytes(congestion), threshold: bytes(threshold) };
        self.ask(|reply| Ask::Set { connection, host, windows, reply })
    }

    /// Goes on to the end, with windows that stay as they are. The row is that of [`run_one`].
    #[must_use]
    pub fn finish(&self) -> Receiver<Result<Row, StepError>> {
        self.ask(Ask::Finish)
    }

    /// Ends the run wherever it is.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn ask<T>(
        &self,
        ask: impl FnOnce(SyncSender<Result<T, StepError>>) -> Ask,
    ) -> Receiver<Result<T, StepError>> {
        let (reply, answer) = mpsc::sync_channel(1);
        // If nobody listens, the thread has panicked, and the receiver hears that.
        let _ = self.asks.send(ask(reply));
        answer
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What the run is asked, and where the answer goes. If nobody wants it any more, that is no matter.
#[derive(Debug)]
enum Ask {
    Step(Option<Duration>, SyncSender<Result<Option<CongestionStep>, StepError>>),
    State(SyncSender<Result<RunState, StepError>>),
    Set {
        connection: u64,
        host: Option<String>,
        windows: Windows,
        reply: SyncSender<Result<(), StepError>>,
    },
    Finish(SyncSender<Result<Row, StepError>>),
}

impl Ask {
    /// Answers when there is no run any more.
    fn after(self, outcome: &Result<Row, StepError>, last: Option<&RunState>) {
        let error = |error: &StepError| error.clone();
        match self {
            Self::Step(_, reply) => {
                let _ = reply.send(outcome.as_ref().map(|_| None).map_err(error));
            }
            Self::State(reply) => {
                let state = last.cloned().ok_or(StepError::Over);
                let _ = reply.send(outcome.as_ref().map_err(error).and(state));
            }
            Self::Set { reply, .. } => {
                let over = Err(StepError::Over);
                let _ = reply.send(outcome.as_ref().map_err(error).and(over));
            }
            Self::Finish(reply) => {
                let _ = reply.send(outcome.clone());
            }
        }
    }
}

/// Pauses the run where it was asked to, and answers there.
struct Stepper<'a> {
    scenario: &'a Scenario,
    asked: &'a Receiver<Ask>,
    stop: &'a AtomicBool,
    until: Duration,
    /// What lets it go on, and is answered when it pauses next.
    under_way: Option<Ask>,
    /// How the run stood at its end.
    last: Option<RunState>,
}

impl<'a> Stepper<'a> {
    const fn new(scenario: &'a Scenario, asked: &'a Receiver<Ask>, stop: &'a AtomicBool) -> Self {
        Self { scenario, asked, stop, until: Duration::ZERO, under_way: None, last: None }
    }

    /// Answers until the run is to go on. `news` is what the next step returns at once.
    fn answer(
        &mut self,
        pause: &mut dyn Pause,
        mut news: Option<CongestionStep>,
    ) -> ControlFlow<()> {
        loop {
            // Nobody asks any more when the handle is dropped.
            let Ok(ask) = self.asked.recv() else { return ControlFlow::Break(()) };
            if self.is_stopped(pause) {
                self.under_way = Some(ask);
                return ControlFlow::Break(());
            }
            match ask {
                Ask::State(reply) => {
                    let _ = reply.send(Ok(RunState::of(pause, self.scenario)));
                }
                Ask::Set { connection, host, windows, reply } => {
                    let end = (connection, host.as_deref());
                    let _ = reply.send(Self::set(pause, self.scenario, end, windows));
                }
                Ask::Step(until, reply) => {
                    self.until = until.unwrap_or(Duration::MAX);
                    let goes_on = match pause.reason() {
                        PauseReason::Congestion { .. } => self.until >= pause.time(),
                        PauseReason::Time => self.until > pause.time(),
                        PauseReason::End => false,
                    };
                    if news.is_none() && goes_on {
                        self.under_way = Some(Ask::Step(until, reply));
                        return ControlFlow::Continue(());
                    }
                    let _ = reply.send(Ok(news.take()));
                }
                Ask::Finish(reply) => {
                    self.until = Duration::MAX;
                    return self.finish(pause, Ask::Finish(reply));
                }
            }
        }
    }

    /// Whether the run is to end here. One that is over has its row.
    fn is_stopped(&self, pause: &dyn Pause) -> bool {
        self.stop.load(Ordering::Relaxed) && *pause.reason() != PauseReason::End
    }

    /// Goes on to the end; the row is answered when there is one.
    fn finish(&mut self, pause: &dyn Pause, ask: Ask) -> ControlFlow<()> {
        if *pause.reason() == PauseReason::End {
            self.last = Some(RunState::of(pause, self.scenario));
        }
        self.under_way = Some(ask);
        ControlFlow::Continue(())
    }

    /// Sets the windows of one end.
    fn set(
        pause: &mut dyn Pause,
        scenario: &Scenario,
        (connection, host): (u64, Option<&str>),
        windows: Windows,
    ) -> Result<(), StepError> {
        let id = ConnectionId(connection);
        let not_set = |error| StepError::NotSet { connection, error };
        let open = pause.connection(id).ok_or_else(|| not_set(NotSet::NoConnection))?;
        let is_meant = |side: &Side| {
            let node = &scenario.nodes[open.hosts[*side as usize].0 as usize];
            let control = node.tcp.map(|tcp| tcp.policies.congestion);
            host.is_none_or(|host| host == node.name) && control == Some(CongestionPolicy::External)
        };
        let sides: Vec<Side> = [Side::Client, Side::Server].into_iter().filter(is_meant).collect();
        match sides[..] {
            [side] => pause.set_windows(id, side, windows).map_err(not_set),
            [] => Err(not_set(NotSet::NotExternal)),
            _ => Err(StepError::WhichEnd { connection }),
        }
    }
}

impl Observer for Stepper<'_> {
    fn pauses_at(&self) -> Option<Duration> {
        Some(self.until)
    }

    fn on_pause(&mut self, pause: &mut dyn Pause) -> ControlFlow<()> {
        if self.is_stopped(pause) {
            return ControlFlow::Break(());
        }
        match self.under_way.take() {
            Some(finish @ Ask::Finish(_)) => self.finish(pause, finish),
            under_way => {
                let mut news = CongestionStep::of(pause, self.scenario);
                if let Some(Ask::Step(_, reply)) = under_way {
                    let _ = reply.send(Ok(news.take()));
                }
                self.answer(pause, news)
            }
        }
    }

    fn goes_on(&mut self, _: Instant) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }
}
