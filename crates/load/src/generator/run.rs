//! Drives the connections of a run over a transport.
//!
//! Everything is bounded: a request, and the close after the last one, by [`Load::timeout`]; open
//! connections by the schedule's slots; reads of one connection before the next one's turn by
//! [`READS_PER_EVENT`].

use std::{io, time::Duration};

use super::{
    ConnectError, Failure, Plan, Read, Schedule, Slot, Tally, Transport,
    client_connection::{Answer, ClientConnection, Step},
    schedule::Next,
};

/// Configuration of a run.
#[derive(Clone, Debug)]
pub struct Load {
    /// The messages of each connection.
    pub plan: Plan,
    /// When connections start.
    pub schedule: Schedule,
    /// Timeout of the connection setup with the first response, of each further response, and of
    /// the close.
    pub timeout: Duration,
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
    /// Time from the first start to the last end.
    pub elapsed: Duration,
    /// Why no more connections were started.
    pub ended: EndReason,
    /// Connections that were due in an open loop and were not started.
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
    let mut due = Some(run.now());
    loop {
        if due.is_some_and(|due| due <= run.now()) {
            due = match watch(run.transport, &run.tally) {
                NextCall::After(span) => Some(run.now() + span),
                NextCall::Never => None,
                NextCall::Stop => return Ok(run.stop(EndReason::Stopped)),
            };
        }
        let wake = match run.start_due()? {
            Due::Ended(ended) if run.open == 0 || ended == EndReason::NothingAnswered => {
                return Ok(run.stop(ended));
            }
            Due::Ended(_) | Due::WhenOneEnds => run.now() + SWEEP_INTERVAL,
            Due::At(at) => at.min(run.now() + SWEEP_INTERVAL),
        };
        let wake = if ready.is_empty() { due.map_or(wake, |due| due.min(wake)) } else { run.now() };
        run.transport.poll(run.began + wake, &mut ready).map_err(RunError::Poll)?;
        run.serve_all(&mut ready);
        run.sweep();
    }
}

struct Run<'t, T> {
    transport: &'t mut T,
    load: Load,
    /// Start on the transport's clock; every other time is relative to it.
    began: Duration,
    active: Vec<Option<Active>>,
    free: Vec<Slot>,
    open: usize,
    last_end: Duration,
    swept: Duration,
    /// No local port is left: no connection starts any more, and open ones continue to their end.
    without_port: bool,
    tally: Tally,
    buffer: Vec<u8>,
}

/// A connection.
struct Active {
    connection: ClientConnection,
    /// When the outstanding request was due.
    intended: Duration,
    /// Start of the current wait.
    since: Duration,
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
        Self {
            began: transport.now(),
            transport,
            load,
            active: std::iter::repeat_with(|| None).take(slots).collect(),
            free: (0..slots).rev().map(Slot).collect(),
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

    /// Starts the connections that are due.
    fn start_due(&mut self) -> Result<Due, RunError> {
        loop {
            if self.is_hopeless() {
                return Ok(Due::Ended(EndReason::NothingAnswered));
            }
            if self.without_port {
                return Ok(Due::Ended(EndReason::NoPort));
            }
            match self.load.schedule.next(self.now()) {
                Next::Start(intended) => self.start(intended)?,
                Next::At(at) => return Ok(Due::At(at)),
                Next::WhenOneEnds => return Ok(Due::WhenOneEnds),
                Next::Over => return Ok(Due::Ended(EndReason::AsPlanned)),
            }
        }
    }

    fn start(&mut self, intended: Duration) -> Result<(), RunError> {
        let slot = self.free.pop().expect("the schedule has as many slots");
        match self.transport.connect(slot) {
            Ok(()) => self.open(slot, intended),
            Err(ConnectError::Failed(broken)) => {
                self.tally.count_connection(Duration::ZERO);
                self.tally.count_failure(broken.into());
                self.give_back(slot);
            }
            Err(ConnectError::NoPort) => {
                self.without_port = true;
                self.give_back(slot);
            }
            Err(error @ ConnectError::System(_)) => return Err(RunError::Connect(error)),
        }
        Ok(())
    }

    fn open(&mut self, slot: Slot, intended: Duration) {
        let now = self.now();
        self.tally.count_connection(now.saturating_sub(intended));
        let connection = ClientConnection::new(&self.load.plan);
        self.active[slot.0] = Some(Active { connection, intended, since: now });
        self.open += 1;
        self.serve(slot);
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
            if count > 0 && self.is_late(active) {
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
                            active.connection.handle_bytes(bytes, &self.load.plan)?
                        }
                    };
                    if let Some(answer) = answer {
                        self.count(answer, active);
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

    fn count(&mut self, Answer { status }: Answer, active: &mut Active) {
        let now = self.now();
        match status {
            400.. => self.tally.count_failure(Failure::Status(status)),
            _ => self.tally.count_answer(now.saturating_sub(active.intended)),
        }
        (active.intended, active.since) = (now, now);
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
        self.retire(slot);
    }

    fn fail(&mut self, slot: Slot, active: &Active, failure: Failure) {
        if active.connection.is_asking() {
            self.tally.count_failure(failure);
        } else {
            self.tally.count_unclean();
        }
        match failure {
            // The server has closed first: an RST would end its TIME-WAIT.
            Failure::Closed | Failure::ShortBody(_) => self.transport.close(slot),
            _ => self.transport.abort(slot),
        }
        self.retire(slot);
    }

    fn retire(&mut self, slot: Slot) {
        self.open -= 1;
        self.give_back(slot);
    }

    fn give_back(&mut self, slot: Slot) {
        self.last_end = self.now();
        self.free.push(slot);
        self.load.schedule.end_one(self.last_end);
    }

    /// Aborts connections that have timed out.
    fn sweep(&mut self) {
        let now = self.now();
        if now < self.swept + SWEEP_INTERVAL {
            return;
        }
        self.swept = now;
        let timeout = self.load.timeout;
        for at in 0..self.active.len() {
            let late = self.active[at].take_if(|active| now >= active.since + timeout);
            if let Some(active) = late {
                self.fail(Slot(at), &active, Failure::TimedOut);
            }
        }
    }

    fn is_hopeless(&self) -> bool {
        let enough = 2 * self.active.len() as u64;
        let silent = self.now() >= self.load.timeout.saturating_mul(HOPELESS_TIMEOUTS);
        let enough = if silent { enough } else { enough.max(HOPELESS_AT_LEAST) };
        !self.tally.has_response() && self.tally.failed() >= enough
    }

    fn stop(mut self, ended: EndReason) -> LoadResult {
        for at in 0..self.active.len() {
            if self.active[at].take().is_some() {
                self.tally.count_unfinished();
                self.transport.abort(Slot(at));
                self.last_end = self.now();
            }
        }
        let missed = if ended == EndReason::AsPlanned { self.load.schedule.missed() } else { 0 };
        LoadResult { tally: self.tally, elapsed: self.last_end, ended, missed }
    }
}

/// Reads and writes of one connection per turn (our choice).
const READS_PER_EVENT: usize = 64;
/// Maximum size of one read in bytes (our choice).
const READ_SIZE: usize = 64 * 1024;
/// Interval of the timeout checks, and so the maximum error of a timeout (our choice).
const SWEEP_INTERVAL: Duration = Duration::from_millis(50);
/// Failures without any response before a run is aborted, and at least twice the slots (our
/// choice).
const HOPELESS_AT_LEAST: u64 = 100;
/// After this many timeouts, twice the slots suffice (our choice): a hundred failures might take a
/// quarter of an hour.
const HOPELESS_TIMEOUTS: u32 = 3;

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
