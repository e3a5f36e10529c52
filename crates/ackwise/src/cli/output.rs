//! Results go to standard output, whole or not at all.

use std::io::{self, Write};

use super::outcome::{Failure, Outcome};

/// Prints `document` in one go, in colour where colour is wanted.
///
/// A reader that has seen enough (`| head`) is a success, whatever the document says.
pub(crate) fn print(document: &str, outcome: Outcome) -> Result<Outcome, Failure> {
    let mut stdout = anstream::stdout().lock();
    let printed = stdout.write_all(document.as_bytes()).and_then(|()| stdout.flush());
    judge(printed, outcome)
}

/// Lets `write` print a document without colours piece by piece.
pub(crate) fn write(
    write: impl FnOnce(io::StdoutLock<'_>) -> io::Result<()>,
    outcome: Outcome,
) -> Result<Outcome, Failure> {
    judge(write(io::stdout().lock()), outcome)
}

fn judge(printed: io::Result<()>, outcome: Outcome) -> Result<Outcome, Failure> {
    match printed {
        Ok(()) => Ok(outcome),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Outcome::Good),
        Err(error) => Err(Failure::Output(error)),
    }
}

/// The columns of the terminal, if standard output is one.
pub(crate) fn columns() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
    Some(usize::from(width.0))
}
