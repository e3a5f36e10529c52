//! Drives the connections of a run over a transport.
//!
//! Everything is bounded: a request, and the close after the last one, by [`Load::timeout`]; open
//! connections by the schedule's slots; reads of one connection before the next one's turn by
//! [`READS_PER_EVENT`].

mod failed;

use std::{collections::VecDeque, io, time::Duration};

use ackwise_http::EncodeError;
use ackwise_net::{ConnectError, Read, Slot, Transport};

use failed::Repeat;

use super::{
    Failure, Plan, Schedule, Tally,
    content::{Content, ContentCheck},
    failure::Progress,
    known_response::KnownResponse,
    planned_connection::{Answer, PlannedConnection, Step},
    schedule::{AfterAnswer, Next, Start},
    users::{Think, Users},
};

/// Configuration of a run.
#[derive(Clone, Debug)]
pub struct Load {
    /// What is asked for.
    pub plan: Plan,
    /// When it is asked for.
    pub schedule: Schedule,
    /// Timeout of the connection setup with the first response, of each further response, and of
    /// the close.
    pub timeout: Duration,
    /// Requests that are due before this time are not counted.
    pub warm_up: Duration,
    /// What the content of the responses must be.
    pub content: ContentCheck,
    /// How long the users of a closed loop think; without it, not at all.
    pub think: Option<Think>,
    /// Whether a request that crossed the server's close is sent again, on a new connection, if its method is idempotent.
    pub repeats_crossed: bool,
}

impl Load {
    /// Without a warm-up, think times or repetitions, and with any content.
    #[must_use]
    pub const fn new(plan: Plan, schedule: Schedule, timeout: Duration) -> Self {
        let (warm_up, content) = (Duration::ZERO, ContentCheck::Any);
        Self { plan, schedule, timeout, warm_up, content, think: None, repeats_crossed: false }
    }
}

/// When to call the `watch` function again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum NextCall {
    /// After this time.
    After(Duration),
    /// Never.
    Never,
    /// Stop the run now, and reset open connections.
    Stop,
}

/// Result of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadResult {
    /// Counts and latencies.
    pub tally: Tally,
    /// Time from the first start, or from the end of the warm-up, to the last end.
    pub elapsed: Duration,
    /// Why no more requests were started.
    pub ended: EndReason,
    /// Requests that were due in an open loop and were not started.
    pub missed: u64,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum EndReason {
    /// The schedule is complete.
    AsPlanned,
    /// The `watch` function stopped it.
    Stopped,
    /// All local ports are in use.
    NoPort,
    /// No request was answered within the limits, so the rest would fail too.
    NothingAnswered,
}

/// The local system is at fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Connections cannot be opened.
    #[error(transparent)]
    Connect(ConnectError),
    /// Connections cannot be polled.
    #[error("cannot wait for connections: {0}")]
    Poll(io::Error),
    /// A name, path or field is not allowed in a request.
    #[error(transparent)]
    Request(EncodeError),
}

/// Makes the connections of `load` and counts the results.
///
/// `watch` is called at the start, and then whenever its last return value requests; at most one
/// wake-up's work is done between two calls.
///
/// # Errors
///
/// If the local system is at fault. Failures of the server are counted instead.
pub fn run<T: Transport>(
    transport: &mut T,
    load: Load,
    mut watch: impl FnMut(&mut T, &Tally) -> NextCall,
) -> Result<LoadResult, RunError> {
    let mut run = Run::new(transport, load);
    let mut ready = Vec::new();
    let mut now = run.now();
    let mut due = Some(now);
    loop {
        if due.is_some_and(|due| due <= now) {
            due = match watch(run.transport, &run.tally) {
                NextCall::After(span) => Some(run.now() + span),
                NextCall::Never => None,
                NextCall::Stop => return Ok(run.stop(EndReason::Stopped)),
            };
        }
        let wake = match run.start_due(now)? {
            Due::Ended(ended) if run.open == 0 || ended == EndReason::NothingAnswered => {
                return Ok(run.stop(ended));
            }
            Due::Ended(_) | Due::WhenOneEnds => now + SWEEP_INTERVAL,
            Due::At(at) => at.min(now + SWEEP_INTERVAL),
        };
        let wake = run.users.next_due().map_or(wake, |due| due.min(wake));
        let wake = if ready.is_empty() { due.map_or(wake, |due| due.min(wake)) } else { now };
        run.transport.poll(run.began + wake, &mut ready).map_err(RunError::Poll)?;
        run.serve_all(&mut ready);
        now = run.now();
        run.resume(now);
        run.sweep(now);
    }
}

struct Run<'t, T> {
    transport: &'t mut T,
    load: Load,
    content: Content,
    known: KnownResponse,
    /// Start on the transport's clock; every other time is relative to it.
    began: Duration,
    active: Vec<Option<Active>>,
    free: Vec<Slot>,
    /// Connections without a request, in the order in which they are used again: the one that has
    /// waited longest first (our choice: all stay in use, as with wrk2).
    idle: VecDeque<Slot>,
    /// Requests to be sent again.
    repeats: VecDeque<Repeat>,
    open: usize,
    users: Users,
    last_end: Duration,
    swept: Duration,
    /// No local port is left: no connection starts any more, and open ones continue to their end.
    without_port: bool,
    tally: Tally,
    buffer: Vec<u8>,
}

/// A connection.
struct Active {
    connection: PlannedConnection,
    /// Requests that may follow.
    left: u64,
    /// Whether it takes a slot of the schedule, which an idle connection of an open loop does not.
    is_busy: bool,
    /// When the outstanding request was due.
    intended: Duration,
    /// When the last response arrived.
    answered: Duration,
    /// Start of the current wait.
    since: Duration,
    /// Until when its user thinks after the last response.
    resumes: Duration,
}

/// What the schedule allows next.
enum Due {
    At(Duration),
    WhenOneEnds,
    Ended(EndReason),
}

/// Result of a turn.
enum Turn {
    /// Nothing to do until the next event.
    Waits,
    /// More to do after the other connections' turns.
    Again,
    /// The connection is closed.
    Gone,
}

impl<'t, T: Transport> Run<'t, T> {
    fn new(transport: &'t mut T, load: Load) -> Self {
        let slots = load.schedule.slots();
        let users = match load.schedule.is_open_loop() {
            true => Users::open_loop(),
            false => Users::new(slots),
        };
        Self {
            began: transport.now(),
            transport,
            content: Content::new(load.content, load.plan.len()),
            known: KnownResponse::default(),
            users: users.thinking(load.think.clone()),
            load,
            active: std::iter::repeat_with(|| None).take(slots).collect(),
            free: (0..slots).rev().map(Slot).collect(),
            idle: VecDeque::new(),
            repeats: VecDeque::new(),
            open: 0,
            last_end: Duration::ZERO,
            swept: Duration::ZERO,
            without_port: false,
            tally: Tally::new(),
            buffer: vec![0; READ_SIZE],
        }
    }

    fn now(&self) -> Duration {
        self.transport.now().saturating_sub(self.began)
    }

    /// Starts the requests that are due.
    fn start_due(&mut self, mut now: Duration) -> Result<Due, RunError> {
        loop {
            if self.is_hopeless(now) {
                return Ok(Due::Ended(EndReason::NothingAnswered));
            }
            while let Some(Repeat { slot, request, start }) = self.repeats.pop_front() {
                self.connect(slot, start, Some(request), now)?;
            }
            if self.without_port {
                self.dismiss_idle();
                return Ok(Due::Ended(EndReason::NoPort));
            }
            match self.load.schedule.next(now) {
                Next::Start(start) => {
                    self.start(start, now)?;
                    now = self.now();
                }
                Next::At(at) => return Ok(Due::At(at)),
                Next::WhenOneEnds => return Ok(Due::WhenOneEnds),
                Next::Over => {
                    self.dismiss_idle();
                    return Ok(Due::Ended(EndReason::AsPlanned));
                }
            }
        }
    }

    /// Starts a request on an idle connection, or on a new one.
    fn start(&mut self, start: Start, now: Duration) -> Result<(), RunError> {
        self.tally.count_start(now, start.due, start.free_since);
        while let Some(slot) = self.idle.pop_front() {
            let mut active = self.active[slot.0].take().expect("an idle connection is open");
            if !self.is_usable(slot, &mut active, now) {
                self.end(slot, &active);
                continue;
            }
            active.is_busy = true;
            self.ask(slot, &mut active, start.due, now);
            self.active[slot.0] = Some(active);
            self.serve(slot);
            return Ok(());
        }
        let slot = self.free.pop().expect("the schedule has as many slots");
        self.connect(slot, start, None, now)
    }

    /// Sends a request on a new connection: this one of the plan, or the next.
    fn connect(
        &mut self,
        slot: Slot,
        start: Start,
        request: Option<usize>,
        now: Duration,
    ) -> Result<(), RunError> {
        match self.transport.connect(slot) {
            Ok(()) => self.open(slot, start, request, now),
            Err(ConnectError::Failed(broken)) => {
                self.tally.count_connection();
                let failure = Failure::from(broken);
                self.count_failure(failure, failure.fault(&Progress::UNKNOWN), start.due, now);
                self.free.push(slot);
                self.release(start.requests.saturating_sub(1), now);
            }
            Err(ConnectError::NoPort) => {
                self.without_port = true;
                self.free.push(slot);
                self.release(0, now);
            }
            Err(error @ ConnectError::System(_)) => return Err(RunError::Connect(error)),
        }
        Ok(())
    }

    fn open(&mut self, slot: Slot, start: Start, request: Option<usize>, now: Duration) {
        self.tally.count_connection();
        if request.is_some() && start.due >= self.load.warm_up {
            self.tally.count_repeat();
        }
        let mut active = Active {
            connection: PlannedConnection::new(),
            left: start.requests,
            is_busy: true,
            intended: start.due,
            answered: now,
            since: now,
            resumes: now,
        };
        match request {
            None => self.ask(slot, &mut active, start.due, now),
            Some(request) => self.ask_for(request, &mut active, start.due, now),
        }
        self.active[slot.0] = Some(active);
        self.open += 1;
        self.serve(slot);
    }

    /// Starts the next request of the plan on an idle connection.
    fn ask(&mut self, slot: Slot, active: &mut Active, due: Duration, now: Duration) {
        let next = self.users.next_request(slot, &self.load.plan);
        self.ask_for(next, active, due, now);
    }

    fn ask_for(&self, request: usize, active: &mut Active, due: Duration, now: Duration) {
        active.left = active.left.saturating_sub(1);
        (active.intended, active.since) = (due, now);
        active.connection.ask(request, active.left, &self.load.plan);
    }

    /// Whether an idle connection may carry another request: a close that is there already is not ignored.
    fn is_usable(&mut self, slot: Slot, active: &mut Active, now: Duration) -> bool {
        if !self.transport.may_have_ended(slot, self.began + now) {
            return true;
        }
        let read = self.transport.read(slot, &mut self.buffer);
        if read == Ok(Read::Nothing) {
            return true;
        }
        let ended = active.connection.handle_end(&self.load.plan);
        assert_eq!(ended, Ok(None), "an idle connection waits for no response");
        false
    }

    /// Starts the requests of users who have thought.
    fn resume(&mut self, now: Duration) {
        while let Some((due, slot)) = self.users.poll(now) {
            let Some(mut active) = self.active[slot.0].take() else { continue };
            if !self.is_usable(slot, &mut active, now) {
                self.end(slot, &active);
                continue;
            }
            self.tally.count_start(now, due, due);
            self.ask(slot, &mut active, due, now);
            self.active[slot.0] = Some(active);
            self.serve(slot);
        }
    }

    /// Closes the idle connections, for which no request is left.
    fn dismiss_idle(&mut self) {
        while let Some(slot) = self.idle.pop_front() {
            let now = self.now();
            let Some(active) = &mut self.active[slot.0] else { continue };
            active.connection.finish(&self.load.plan);
            active.since = now;
            self.tally.count_dismissed();
            self.serve(slot);
        }
    }

    fn serve_all(&mut self, ready: &mut Vec<Slot>) {
        // Connections with more to do stay for the next round.
        let mut kept = 0;
        for at in 0..ready.len() {
            let slot = ready[at];
            if matches!(self.serve(slot), Turn::Again) {
                ready[kept] = slot;
                kept += 1;
            }
        }
        ready.truncate(kept);
    }

    /// Gives the connection in `slot` a turn.
    fn serve(&mut self, slot: Slot) -> Turn {
        let Some(mut active) = self.active.get_mut(slot.0).and_then(Option::take) else {
            return Turn::Gone; // A late event of a connection that is closed.
        };
        match self.turn(slot, &mut active) {
            Ok(Turn::Gone) => self.end(slot, &active),
            Ok(turn) => {
                self.active[slot.0] = Some(active);
                return turn;
            }
            Err(failure) => self.fail(slot, &active, failure),
        }
        Turn::Gone
    }

    fn turn(&mut self, slot: Slot, active: &mut Active) -> Result<Turn, Failure> {
        for count in 0..READS_PER_EVENT {
            // A response that is there is read, however late; an endless one ends with its time.
            if count % READS_PER_LOOK == READS_PER_LOOK - 1 && self.is_late(active) {
                return Err(Failure::TimedOut);
            }
            match active.connection.step(&self.load.plan) {
                Step::Write(bytes, follows) => match self.transport.write(slot, bytes, follows)? {
                    0 => return Ok(Turn::Waits),
                    written => active.connection.handle_written(written, &self.load.plan),
                },
                Step::Read => {
                    let answer = match self.transport.read(slot, &mut self.buffer)? {
                        Read::Nothing => return Ok(Turn::Waits),
                        Read::End => active.connection.handle_end(&self.load.plan)?,
                        Read::ByteCount(bytes) => {
                            self.tally.count_bytes(bytes);
                            let bytes = &self.buffer[..bytes];
                            let known = &mut self.known;
                            active.connection.handle_bytes(bytes, &self.load.plan, known)?
                        }
                    };
                    if let Some(answer) = answer {
                        self.handle_answer(slot, &answer, active);
                    }
                }
                Step::HalfClose => {
                    self.transport.half_close(slot);
                    active.connection.handle_half_closed();
                }
                Step::Close => return Ok(Turn::Gone),
            }
        }
        Ok(Turn::Again)
    }

    fn is_late(&self, active: &Active) -> bool {
        self.now() >= active.since + self.load.timeout
    }

    /// Counts a response, and decides what the connection does next.
    fn handle_answer(&mut self, slot: Slot, answer: &Answer, active: &mut Active) {
        let now = self.now();
        let message = active.connection.message();
        let failure = match answer.status {
            status @ 400.. => Some(Failure::Status(status)),
            _ => self.content.check(message, answer, &self.load.plan),
        };
        if active.intended < self.load.warm_up {
            self.tally.count_warm_up(Some(now), failure.as_ref());
        } else {
            self.tally.count_response(now, answer.status);
            let latency = now.saturating_sub(active.intended);
            match failure {
                Some(failure) => {
                    let fault = failure.fault(&Progress::UNKNOWN);
                    self.tally.count_failure(failure, fault, latency);
                }
                None => self.tally.count_answer(latency),
            }
        }
        (active.since, active.answered) = (now, now);
        active.resumes = now.saturating_add(self.users.think(slot));
        if !active.connection.is_idle() || !self.is_usable(slot, active, now) {
            return;
        }
        match self.load.schedule.after_answer(active.resumes, now) {
            AfterAnswer::Ask { due, .. } if due > now => self.users.wait(slot, due),
            AfterAnswer::Ask { due, free_since } => {
                self.tally.count_start(now, due, free_since);
                self.ask(slot, active, due, now);
            }
            AfterAnswer::Idle => {
                active.is_busy = false;
                self.idle.push_back(slot);
            }
            AfterAnswer::Close => {
                active.connection.finish(&self.load.plan);
                self.tally.count_dismissed();
            }
        }
    }

    /// Closes and counts the connection.
    fn end(&mut self, slot: Slot, active: &Active) {
        if active.connection.was_cut_short() {
            self.tally.count_cut_short();
        }
        if active.connection.was_forestalled() {
            self.tally.count_forestalled();
        }
        self.transport.close(slot);
        self.retire(slot, active);
    }

    fn retire(&mut self, slot: Slot, active: &Active) {
        self.open -= 1;
        self.free.push(slot);
        self.users.forget(slot, active.resumes);
        if active.is_busy {
            self.release(active.left, active.resumes);
        } else {
            self.last_end = self.now();
            self.idle.retain(|idle| *idle != slot);
        }
    }

    /// Gives a slot back to the schedule, when its user has thought, and the requests that its connection
    /// did not make.
    fn release(&mut self, unused: u64, resumes: Duration) {
        self.last_end = self.now();
        self.load.schedule.end_one(self.last_end.max(resumes), unused);
    }

    /// Aborts connections that have timed out.
    fn sweep(&mut self, now: Duration) {
        if now < self.swept + SWEEP_INTERVAL {
            return;
        }
        self.swept = now;
        let timeout = self.load.timeout;
        for at in 0..self.active.len() {
            let late = self.active[at]
                .take_if(|active| !active.connection.is_idle() && now >= active.since + timeout);
            if let Some(active) = late {
                self.fail(Slot(at), &active, Failure::TimedOut);
            }
        }
    }

    /// Whether the rest would fail, too: so many requests have failed since the last response, or
    /// since the start.
    fn is_hopeless(&self, now: Duration) -> bool {
        let (last_response, in_vain) = self.tally.silence();
        let enough = 2 * self.active.len() as u64;
        let silence = now.saturating_sub(last_response);
        if silence >= self.load.timeout.saturating_mul(HOPELESS_TIMEOUTS) {
            return in_vain >= enough;
        }
        !self.tally.has_response() && in_vain >= enough.max(HOPELESS_AT_LEAST)
    }

    fn stop(mut self, ended: EndReason) -> LoadResult {
        for at in 0..self.active.len() {
            let Some(active) = self.active[at].take() else { continue };
            if active.connection.is_idle() {
                self.tally.count_dismissed();
                self.transport.close(Slot(at));
            } else {
                self.tally.count_unfinished();
                self.transport.abort(Slot(at));
            }
            self.last_end = self.now();
        }
        let missed = if ended == EndReason::AsPlanned { self.load.schedule.missed() } else { 0 };
        let elapsed = self.last_end.saturating_sub(self.load.warm_up);
        LoadResult { tally: self.tally, elapsed, ended, missed }
    }
}

/// Reads and writes of one connection per turn (our choice).
const READS_PER_EVENT: usize = 64;
/// Of these, after how many the clock is looked at (our choice): half a megabyte.
const READS_PER_LOOK: usize = 8;
/// Maximum size of one read in bytes (our choice).
const READ_SIZE: usize = 64 * 1024;
/// Interval of the timeout checks, and so the maximum error of a timeout (our choice).
const SWEEP_INTERVAL: Duration = Duration::from_millis(50);
/// Failures before the first response after which a run is aborted, and at least twice the slots
/// (our choice).
const HOPELESS_AT_LEAST: u64 = 100;
/// After this many timeouts without a response, twice the slots suffice (our choice): a hundred
/// failures might take a quarter of an hour.
const HOPELESS_TIMEOUTS: u32 = 3;

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
