//! A capture, read until it ends or nobody wants more.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use ackwise_capture::{
    analysis::{Analyser, Analysis},
    decode::{LeftOut, decode},
    read::{Drops, Source},
};

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
}

/// What a capture said, and what could not be read of it.
#[derive(Clone, Debug)]
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

    /// Reads the files, `-` being standard input, until they end or the reading is ended.
    pub fn read(&self, files: &[PathBuf]) {
        let mut source = Source::open(files);
        loop {
            let step = source.next();
            let mut state = self.lock();
            let State { analyser: Some(analyser), left_out, troubles, .. } = &mut *state else {
                return;
            };
            match step {
                Ok(Some(frame)) => {
                    self.packets.fetch_add(1, Ordering::Relaxed);
                    match decode(&frame) {
                        Ok(seen) => analyser.handle(&seen),
                        Err(why) => left_out.count(why),
                    }
                }
                Ok(None) => break,
                Err(trouble) if troubles.len() < Self::MAX_TROUBLES => {
                    troubles.push(trouble.to_string());
                }
                Err(_) => {}
            }
        }
        self.lock().drops = source.drops();
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
        Some(Explained {
            analysis,
            packets: self.packets(),
            left_out: state.left_out,
            drops: state.drops,
            troubles: std::mem::take(&mut state.troubles),
        })
    }

    /// The state is sound after each packet, so a panic elsewhere does no harm.
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
