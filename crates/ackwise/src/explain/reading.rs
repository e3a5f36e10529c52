//! A capture, read until it ends or nobody wants more.

use std::{
    fmt,
    io::{self, Write},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use ackwise_capture::{
    analysis::{Analyser, Analysis},
    decode::{LeftOut, decode},
    read::{Drops, Frame, ReadError, Source},
    strip::Stripper,
};

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

    /// What the capture itself has lost, as far as that is known by now. Asked for each packet.
    fn drops(&self) -> Drops;
}

impl Frames for Source {
    type Error = ReadError;

    fn next(&mut self) -> Result<Option<Frame<'_>>, ReadError> {
        self.next()
    }

    fn drops(&self) -> Drops {
        self.drops()
    }
}

/// A capture that is being read, by one thread while another may end it.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    // Locked for each packet, but not while waiting for one: whoever ends it need not wait.
    state: Arc<Mutex<State>>,
    packets: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct State {
    /// `None` once it was ended.
    analyser: Option<Analyser>,
    left_out: LeftOut,
    drops: Drops,
    troubles: Vec<String>,
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
    /// What the capture itself has lost.
    pub drops: Drops,
    /// What could not be read on, and where.
    pub troubles: Vec<String>,
    /// Why the stripped capture was not saved that was asked for.
    pub not_saved: Option<io::Error>,
}

impl Reading {
    /// More troubles than this are only counted by their effect: as many as a terminal shows. Ours.
    const MAX_TROUBLES: usize = 20;

    /// Nothing was read yet.
    #[must_use]
    pub fn new() -> Self {
        let reading = Self::default();
        reading.lock().analyser = Some(Analyser::default());
        reading
    }

    /// Nothing was read yet; what a report draws is to be kept, too.
    #[must_use]
    pub fn with_series() -> Self {
        let reading = Self::default();
        reading.lock().analyser = Some(Analyser::default().with_series());
        reading
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
        loop {
            let step = frames.next();
            let mut state = self.lock();
            if state.analyser.is_none() {
                return;
            }
            let over = matches!(step, Ok(None));
            match step {
                Ok(Some(frame)) => {
                    self.packets.fetch_add(1, Ordering::Relaxed);
                    state.handle(&frame);
                }
                Ok(None) => {}
                Err(trouble) if state.troubles.len() < Self::MAX_TROUBLES => {
                    state.troubles.push(trouble.to_string());
                }
                Err(_) => {}
            }
            // Now and not at the end, which whoever ends the reading does not wait for.
            state.drops = frames.drops();
            if over {
                return;
            }
        }
    }

    /// How many packets were read so far.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.packets.load(Ordering::Relaxed)
    }

    /// Ends it: what was read until now is all there is. `None` if it was ended before.
    #[must_use]
    pub fn end(&self) -> Option<Explained> {
        let mut state = self.lock();
        let analysis = state.analyser.take()?.finish();
        let (stripper, drops) = (state.stripper.take(), state.drops);
        if let Some(Err(error)) = stripper.map(|it| it.finish(drops)) {
            state.not_saved = Some(error);
        }
        Some(Explained {
            analysis,
            packets: self.packets(),
            left_out: state.left_out,
            drops: state.drops,
            troubles: std::mem::take(&mut state.troubles),
            not_saved: state.not_saved.take(),
        })
    }

    /// The state is sound after each packet, so a panic elsewhere does no harm.
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn handle(&mut self, frame: &Frame<'_>) {
        match (decode(frame), &mut self.analyser) {
            (Ok(seen), Some(analyser)) => analyser.handle(&seen),
            (Err(why), _) => self.left_out.count(why),
            (Ok(_), None) => {}
        }
        // What is broken is not written on; the report is worth having nevertheless.
        if let Some(Err(error)) = self.stripper.as_mut().map(|it| it.handle(frame)) {
            self.stripper = None;
            self.not_saved = Some(error);
        }
    }
}
