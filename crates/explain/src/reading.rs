//! A capture, read until it ends or nobody wants more.

use std::{
    fmt,
    io::{self, Write},
    num::NonZeroUsize,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use ackwise_capture::{
    analysis::{Analyser, Analysis, Batch},
    decode::{LeftOut, decode},
    filter::Filter,
    limits::Reached,
    read::{Drops, Frame, ReadError, Source},
    strip::Stripper,
};

use super::joined::Joined;

/// Packets as they come, of files or of an interface.
pub trait Frames {
    /// What is wrong with one of them.
    type Error: fmt::Display;

    /// Waits for the next packet; `None` when there are no more.
    ///
    /// # Errors
    ///
    /// If something cannot be read. What was read before is right, and the next call goes on with
    /// what is left.
    fn next(&mut self) -> Result<Option<Frame<'_>>, Self::Error>;

    /// What the capture itself has lost, as far as that is known by now.
    fn drops(&self) -> Drops;

    /// Whether [`next`](Self::next) may wait long: files never do.
    fn may_wait(&self) -> bool {
        true
    }
}

impl Frames for Source {
    type Error = ReadError;

    fn next(&mut self) -> Result<Option<Frame<'_>>, ReadError> {
        self.next()
    }

    fn drops(&self) -> Drops {
        self.drops()
    }

    fn may_wait(&self) -> bool {
        self.may_wait()
    }
}

/// A capture that is being read, by one thread while another may end it.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    // Locked for a packet or a few of them, but not while waiting long: whoever ends it need not.
    state: Arc<Mutex<State>>,
    packets: Arc<AtomicU64>,
    /// Somebody wants to end it: the reader lets go of the state after the packet that it is at.
    ending: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct State {
    /// `None` once it was ended.
    analyser: Option<Analyser>,
    filter: Option<Filter>,
    filtered_out: u64,
    /// Segments that it does not have yet.
    batch: Batch,
    left_out: LeftOut,
    drops: Drops,
    warnings: Vec<String>,
    /// Where to save what can be passed on.
    stripper: Option<Stripper<Box<dyn Write + Send>>>,
    /// Why that is not there.
    not_saved: Option<io::Error>,
}

/// What a capture said, and what could not be read of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explained {
    /// Connections, exchanges, causes.
    pub analysis: Analysis,
    /// Packets read.
    pub packets: u64,
    /// Packets without a TCP segment that could be read, by reason.
    pub left_out: LeftOut,
    /// TCP segments that the filter excluded.
    pub filtered_out: u64,
    /// What the capture itself has lost.
    pub drops: Drops,
    /// What could not be read on, and where.
    pub warnings: Vec<String>,
    /// Why the stripped capture was not saved that was asked for.
    pub not_saved: Option<io::Error>,
    /// The limits that the stripped capture has reached.
    pub stripping: Reached,
    /// What it has in common with a capture at the other end.
    pub joined: Option<Joined>,
}

impl Explained {
    /// The limits that were reached, of the analysis and of the stripped copy.
    #[must_use]
    pub fn reached(&self) -> Reached {
        let mut reached = self.analysis.reached;
        reached.add(&self.stripping);
        reached
    }
}

impl Reading {
    /// Nothing was read yet.
    #[must_use]
    pub fn new() -> Self {
        Self::by(Analyser::default())
    }

    /// Nothing was read yet; what a report draws is to be kept, too.
    #[must_use]
    pub fn with_series() -> Self {
        Self::by(Analyser::default().with_series())
    }

    /// Nothing was read yet; this is to read it.
    #[must_use]
    pub fn by(analyser: Analyser) -> Self {
        let reading = Self::default();
        reading.lock().analyser = Some(analyser);
        reading
    }

    /// Measures every connection, too: round trips, windows and reordering.
    #[must_use]
    pub fn with_measures(self) -> Self {
        let analyser = self.lock().analyser.take();
        self.lock().analyser = analyser.map(Analyser::with_measures);
        self
    }

    /// Analyses, and saves, only what matches.
    pub fn set_filter(&self, filter: Filter) {
        self.lock().filter = Some(filter);
    }

    /// Reads with this many threads. The result is the same for any number.
    #[must_use]
    pub fn with_threads(self, threads: NonZeroUsize) -> Self {
        let analyser = self.lock().analyser.take();
        self.lock().analyser = analyser.map(|it| it.with_threads(threads));
        self
    }

    /// Writes also what can be passed on of the capture, as [`Stripper`] does.
    ///
    /// # Errors
    ///
    /// If `output` takes nothing.
    pub fn save_stripped(&self, output: Box<dyn Write + Send>) -> io::Result<()> {
        self.lock().stripper = Some(Stripper::new(output)?);
        Ok(())
    }

    /// Reads packets until there are no more or the reading is ended.
    pub fn read(&self, frames: &mut impl Frames) {
        while self.read_some(frames) {}
    }

    /// Reads one packet, or of a file as many as are judged together: some milliseconds of work, during
    /// which nobody else has the state. Whether there may be more.
    fn read_some(&self, frames: &mut impl Frames) -> bool {
        /// Packets after which whoever wants to end it gets the state, whatever they were. Our choice.
        const MOST: u64 = 1 << 14;
        let waits = frames.may_wait();
        let mut step = frames.next();
        if self.ending.load(Ordering::Relaxed) {
            return false;
        }
        let mut state = self.lock();
        if state.analyser.is_none() {
            return false;
        }
        let mut read = 0;
        let more = loop {
            match step {
                Ok(Some(frame)) => {
                    state.handle(&frame, waits);
                    read += 1;
                }
                Ok(None) => break false,
                Err(error) => {
                    state.note(&error);
                    break true;
                }
            }
            let is_wanted = self.ending.load(Ordering::Relaxed);
            if waits || is_wanted || read == MOST || state.batch.is_full() {
                break true;
            }
            step = frames.next();
        };
        state.hand_on();
        self.packets.fetch_add(read, Ordering::Relaxed);
        // Now and not at the end, which whoever ends the reading does not wait for.
        state.drops = frames.drops();
        more
    }

    /// How many packets were read so far.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets.load(Ordering::Relaxed)
    }

    /// Ends it: what was read until now is all there is. `None` if it was ended before.
    #[must_use]
    pub fn end(&self) -> Option<Explained> {
        self.ending.store(true, Ordering::Relaxed);
        let mut state = self.lock();
        state.hand_on();
        let analysis = state.analyser.take()?.finish();
        let (stripper, drops) = (state.stripper.take(), state.drops);
        let stripping = stripper.as_ref().map(Stripper::reached).unwrap_or_default();
        if let Some(Err(error)) = stripper.map(|it| it.finish(drops)) {
            state.not_saved = Some(error);
        }
        Some(Explained {
            analysis,
            packets: self.packets(),
            left_out: state.left_out,
            filtered_out: state.filtered_out,
            drops: state.drops,
            warnings: std::mem::take(&mut state.warnings),
            not_saved: state.not_saved.take(),
            stripping,
            joined: None,
        })
    }

    /// The state is sound after each packet, so a panic elsewhere does no harm.
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// More warnings than this are not kept: as many as a terminal shows. Our choice.
    const MAX_WARNINGS: usize = 20;

    fn note(&mut self, error: &impl fmt::Display) {
        if self.warnings.len() < Self::MAX_WARNINGS {
            self.warnings.push(error.to_string());
        }
    }

    /// Lets the analyser have what was read.
    fn hand_on(&mut self) {
        if let Some(analyser) = self.analyser.as_mut().filter(|_| !self.batch.is_empty()) {
            self.batch = analyser.handle_batch(std::mem::take(&mut self.batch));
        }
    }

    /// Takes a packet: `immediately` if the next one may be a long time coming.
    fn handle(&mut self, frame: &Frame<'_>, immediately: bool) {
        match (&decode(frame), &mut self.analyser) {
            (Ok(seen), _) if self.filter.as_ref().is_some_and(|it| !it.matches(seen)) => {
                self.filtered_out += 1;
                return;
            }
            (Ok(seen), Some(analyser)) if immediately => analyser.handle(seen),
            (Ok(seen), _) => self.batch.push(seen),
            (Err(why), _) => self.left_out.count(*why),
        }
        // What is broken is not written on; the report is worth having nevertheless.
        if let Some(Err(error)) = self.stripper.as_mut().map(|it| it.handle(frame)) {
            self.stripper = None;
            self.not_saved = Some(error);
        }
    }
}
