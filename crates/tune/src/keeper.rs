//! A process that undoes a run when its input ends: a pipe that the kernel closes when the run is gone,
//! also after `SIGKILL`.
//!
//! If the keeper is killed too, the journal is left for [`undo`](fn@crate::undo), which a unit's `ExecStopPost`
//! can call.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    ops::ControlFlow,
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, atomic::AtomicBool},
};

use ackwise_linux::confine::Confinement;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::{
    Line, Pacing, TuneError,
    journal::{Content, remove_unfinished},
    undo::undo_one,
};

/// The process, and this end of its input.
#[derive(Debug)]
pub struct Keeper {
    process: Child,
}

impl Keeper {
    /// Starts `program` with `arguments` and the journal's path; the program calls [`keep`].
    ///
    /// # Errors
    ///
    /// If it does not start.
    pub fn start(program: &Path, arguments: &[String], journal: &Path) -> Result<Self, TuneError> {
        let mut command = Command::new(program);
        command.args(arguments).arg(journal);
        // A group of its own, so that it does not get Ctrl-C.
        command.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut process = command.spawn().map_err(TuneError::Keeper)?;
        // It is ready when it ignores signals.
        let mut ready = String::new();
        if let Some(stdout) = process.stdout.take() {
            BufReader::new(stdout.take(16)).read_line(&mut ready).map_err(TuneError::Keeper)?;
        }
        match ready.trim() {
            READY => Ok(Self { process }),
            _ => Err(TuneError::Keeper(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

impl Drop for Keeper {
    /// Ends it. It has nothing to do if the journal is gone.
    fn drop(&mut self) {
        self.process.stdin = None;
        let _ = self.process.wait();
    }
}

/// Waits until standard input ends, then gives back what is in the journal, if it is still there. `pacing` is
/// what the run does: it decides which capabilities this process keeps.
///
/// # Errors
///
/// If the journal cannot be read or written.
pub fn keep(journal: &Path, pacing: Pacing) -> Result<(), TuneError> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let ignored = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal, ignored).map_err(TuneError::Keeper)?;
    }
    pacing.keep_privileges().map_err(TuneError::Keeper)?;
    // Without it, the kernel has no filters: the values are given back nevertheless.
    let _ = Confinement::StartsNothing.apply();
    // Nobody may read it any more.
    let mut stdout = io::stdout();
    let _ = writeln!(stdout, "{READY}").and_then(|()| stdout.flush());
    let _ = io::copy(&mut io::stdin(), &mut io::sink());
    if !journal.exists() {
        remove_unfinished(journal.parent().unwrap_or(journal));
        return Ok(());
    }
    let silent = |_: &Line| ControlFlow::Continue(());
    undo_one(journal, Content::read(journal)?, silent).map(drop)
}

const READY: &str = "ready";
