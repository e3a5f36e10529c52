//! How a command ends, and the exit code that says so.

use std::{io, path::PathBuf};

use ackwise_check::{CheckError, builtin::BuiltInError};
use ackwise_lab::{
    experiment::{ExperimentError, LoadError},
    run::{RunAllError, record::RecordError},
};
use ackwise_papers::ReproduceError;

/// A command ran to its end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    /// There is nothing to complain about, or nobody wanted to read it to the end.
    Good,
    /// What was looked for was found: a stall, a wrong answer, a surprise.
    Bad,
    /// A question about stalls has no answer, so that neither can be said.
    Unanswered,
}

impl Outcome {
    pub(crate) const fn exit_code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Bad => 1,
            Self::Unanswered => 2,
        }
    }
}

/// A command could not run to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Check(#[from] CheckError),
    #[cfg(unix)]
    #[error(transparent)]
    Listen(#[from] ackwise_check::listen::ListenError),
    #[error(transparent)]
    BuiltIn(#[from] BuiltInError),
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Generator(#[from] ackwise_load::LoadError),
    #[error(transparent)]
    Run(#[from] RunAllError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Reproduce(#[from] ReproduceError),
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Tune(#[from] ackwise_tune::TuneError),
    #[error("cannot write {}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{0}")]
    Usage(String),
    #[error("interrupted after {finished} of {of} rows; {}", resumption(kept.as_ref()))]
    Stopped { signal: u8, finished: usize, of: usize, kept: Option<PathBuf> },
    #[error("cannot write the results: {0}")]
    Output(#[source] io::Error),
    #[error("{error}{}", kept_in(kept.as_ref()))]
    NotExported { error: Box<Self>, kept: Option<PathBuf> },
    #[error("cannot watch for Ctrl-C: {0}")]
    Signals(#[source] io::Error),
    #[error("interrupted")]
    Interrupted { signal: u8 },
}

impl Failure {
    /// Whether something went wrong: an interrupt did not, and what cannot be written is not an error
    /// that could be written.
    pub(crate) const fn is_error(&self) -> bool {
        !matches!(self, Self::Interrupted { .. } | Self::Stopped { .. } | Self::Output(_))
    }

    /// 2, or what a shell expects of a program that a signal has ended.
    pub(crate) const fn exit_code(&self) -> u8 {
        match self {
            Self::Interrupted { signal } | Self::Stopped { signal, .. } => 128 + *signal,
            _ => 2,
        }
    }
}

/// What a result that cannot be written does not cost.
fn kept_in(kept: Option<&PathBuf>) -> String {
    kept.map_or_else(String::new, |path| format!("; all rows are in {}", path.display()))
}

/// Where the finished rows are.
fn resumption(kept: Option<&PathBuf>) -> String {
    match kept {
        Some(path) => {
            let path = path.display();
            format!("they are in {path}, and the same command resumes the run")
        }
        None => "they are lost (--store DIR keeps them)".to_owned(),
    }
}
