//! Work on a thread of its own, while Python may be interrupted.

use std::{sync::mpsc, thread, time::Duration};

use pyo3::prelude::*;

use crate::error;

/// How often Python's signal handlers run while this waits. Our choice: Ctrl-C is to be felt within 0.2 s.
const TICK: Duration = Duration::from_millis(20);

/// Runs `work` on another thread without the GIL. If a signal handler raises, as Ctrl-C does, the work is asked to end
/// by `stop`, and this returns at once: what the thread still does then, it does alone.
pub(crate) fn wait<T: Send + 'static>(
    py: Python<'_>,
    stop: impl FnOnce(),
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (send, result) = mpsc::sync_channel(1);
    thread::Builder::new().name("ackwise".to_owned()).spawn(move || {
        // Nobody listens any more after Ctrl-C.
        let _ = send.send(work());
    })?;
    receive(py, stop, result)
}

/// Waits without the GIL for what a thread sends. If a signal handler raises, as Ctrl-C does, that thread is asked to end by
/// `stop`, and this returns at once.
pub(crate) fn receive<T: Send>(
    py: Python<'_>,
    stop: impl FnOnce(),
    mut receive: mpsc::Receiver<T>,
) -> PyResult<T> {
    loop {
        let received = py.detach(|| {
            let received = receive.recv_timeout(TICK);
            (received, receive)
        });
        receive = received.1;
        match received.0 {
            Ok(result) => return Ok(result),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                if let Err(interrupt) = py.check_signals() {
                    stop();
                    return Err(interrupt);
                }
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(error::error(
                    py,
                    "bug in Ackwise: a thread panicked (standard error has its message)",
                ));
            }
        }
    }
}
