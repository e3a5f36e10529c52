//! Load on every core, for those who ask whether results hold on a busy machine.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// Threads that keep the cores busy until this is dropped.
#[derive(Debug)]
pub struct BusyCores {
    wanted: Arc<AtomicBool>,
}

impl BusyCores {
    /// One for each core; returns when they run.
    #[must_use]
    pub fn start() -> Self {
        let wanted = Arc::new(AtomicBool::new(true));
        let cores = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..cores {
            let wanted = Arc::clone(&wanted);
            thread::spawn(move || while wanted.load(Ordering::Relaxed) {});
        }
        thread::sleep(WARM_UP);
        Self { wanted }
    }
}

impl Drop for BusyCores {
    fn drop(&mut self) {
        self.wanted.store(false, Ordering::Relaxed);
    }
}

/// The load must be there before what it disturbs. Our choice.
const WARM_UP: Duration = Duration::from_millis(200);
