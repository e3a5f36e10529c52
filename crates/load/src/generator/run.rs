//! Drives the connections of a run over a transport.
//!
//! Every wait has its bound: a request, and the close after the last one, by [`Load::timeout`]; the open
//! connections by the schedule's slots; what one connection may read before others have their turn by
//! [`READS_PER_EVENT`].

use std::{io, time::Duration};

use super::{
    ConnectError, Failure, Plan, Read, Schedule, Slot, Tally, Transport,
    client_connection::{Answer, ClientConnection, Step},
    schedule::Next,
};

/// What a run does.
#[derive(Clone, Debug)]
pub struct Load {
    /// What each connection says.
    pub plan: Plan,
    /// When they start.
    pub schedule: Schedule,
    /// How long a connection with its first response may take, each further response, and the close.
    pub timeout: Duration,
}

/// When the one who watches a run wants to be called again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum NextCall {
    /// After that time.
    After(Duration),
    /// Not before the end.
    Never,
    /// The run is to stop now; what is open is reset.
    Stop,
}

/// A run that has come to an end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoadResult {
    /// What came of it.
    pub tally: Tally,
    /// From the first start to the last end.
    pub elapsed: Duration,
    /// Why no more connections were started.
    pub ended: EndReason,
    /// Connections that were due in an open loop and were not started.
    pub missed: u64,
}

/// Why a run came to its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum EndReason {
    /// The schedule has come to its end.
    AsPlanned,
    /// Whoever watched stopped it.
    Stopped,
    /// Every local port is taken.
    NoPort,
    /// Every request up to the limit failed; the rest would fail too.
    NothingAnswered,
}

/// Our own system does not let us go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// There are no connections to be had.
    #[error(transparent)]
    Connect(ConnectError),
    /// There is no waiting for them.
    #[error("cannot wait for connections: {0}")]
    Poll(io::Error),
}

/// Makes the connections of `load` and counts what comes of them.
///
/// `watch` is called at the beginning, and again when it has asked for it; between two calls at most one
/// wake-up's work is done.
///
/// # Errors
///
/// If our own system is at fault. What the server does is counted.
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
    /// On the transport's clock; every other time here counts from it.
    began: Duration,
    active: Vec<Option<Active>>,
    free: Vec<Slot>,
    open: usize,
    last_end: Duration,
    swept: Duration,
    /// No port is left: nothing starts any more, and what is open goes on to its end.
    without_port: bool,
    tally: Tally,
    buffer: Vec<u8>,
}

/// A connection.
struct Active {
    connection: ClientConnection,
    /// When the request that is open was due.
    intended: Duration,
    /// Since when something is waited for.
    since: Duration,
}

/// What the schedule has in store.
enum Due {
    At(Duration),
    WhenOneEnds,
    Ended(EndReason),
}

/// What came of a turn.
enum Turn {
    /// Nothing to do until something happens.
    Waits,
    /// Others have their turn; this one has more to do.
    Again,
    /// The connection is gone.
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

    /// Starts what is due.
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
        // Those that have more to do stay for the next round.
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
            return Turn::Gone; // Something that happened to a connection before it was closed.
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
        for _ in 0..READS_PER_EVENT {
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

    fn count(&mut self, Answer { status }: Answer, active: &mut Active) {
        let now = self.now();
        match status {
            400.. => self.tally.count_failure(Failure::Status(status)),
            _ => self.tally.count_answer(now.saturating_sub(active.intended)),
        }
        (active.intended, active.since) = (now, now);
    }

    /// The connection is over.
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
            // The server has closed first: an RST of ours would end its TIME-WAIT.
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

    /// Gives up what has waited too long.
    fn sweep(&mut self) {
        let now = self.now();
        if now < self.swept + SWEEP_INTERVAL {
            return;
        }
        self.swept = now;
        for at in 0..self.active.len() {
            let timeout = self.load.timeout;
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

/// Reads and writes of one connection before the others have their turn.
const READS_PER_EVENT: usize = 64;
/// Most bytes of one read.
const READ_SIZE: usize = 64 * 1024;
/// Interval between searches for connections that have waited too long: they may wait this much longer.
const SWEEP_INTERVAL: Duration = Duration::from_millis(50);
/// A run without any response ends after this number of failures (our choice), but not before two for each
/// slot.
const HOPELESS_AT_LEAST: u64 = 100;
/// After this number of timeouts, two failures for each slot are enough: with one slot, a hundred would take a
/// quarter of an hour.
const HOPELESS_TIMEOUTS: u32 = 3;

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
