//! Prints the output of steps: immediately while a single step runs, else when the step ends, so
//! that lines of two steps are never mixed.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// Whether several steps print.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Console {
    /// One step: lines are printed immediately.
    Own,
    /// Several steps: lines are buffered until the step ends; its start and its failures are
    /// printed immediately.
    Shared,
}

impl Console {
    /// Reports the start of `step`.
    pub(crate) fn begin(self, step: &'static str) -> Printer {
        match self {
            Self::Own => print(&format!("\n=== {step}\n")),
            Self::Shared => print(&format!("=== {step}: started\n")),
        }
        Printer { step, kept: (self == Self::Shared).then(Mutex::default) }
    }
}

/// The output of one step.
#[derive(Debug)]
pub(crate) struct Printer {
    step: &'static str,
    kept: Option<Mutex<String>>,
}

impl Printer {
    /// A printer for a subcommand that is not a test step.
    pub(crate) const fn plain() -> Self {
        Self { step: "", kept: None }
    }

    /// A printer for a part of the step that runs beside others.
    pub(crate) fn apart(&self) -> Self {
        Self { step: self.step, kept: Some(Mutex::default()) }
    }

    /// Adds the lines of a part that has ended.
    pub(crate) fn take(&self, part: Self) {
        let kept = part.kept.unwrap_or_default();
        for line in kept.into_inner().unwrap_or_else(PoisonError::into_inner).lines() {
            self.line(line);
        }
    }

    /// Adds a line to the step's output.
    pub(crate) fn line(&self, line: &str) {
        match &self.kept {
            None => print(&format!("{line}\n")),
            Some(kept) => {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push_str(line);
                kept.push('\n');
            }
        }
    }

    /// Reports a failed test immediately, before the rest of the step's output.
    pub(crate) fn failure(&self, test: &str) {
        if self.kept.is_some() {
            print(&format!("=== {}: FAILED {test}\n", self.step));
        }
    }

    /// Prints the buffered output without progress lines, and the verdict on a step that passed.
    pub(crate) fn passed(self, verdict: &dyn fmt::Display) {
        let kept = self.kept.map(|kept| {
            let kept = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
            Mutex::new(without_progress(&kept))
        });
        Self { kept, ..self }.end(verdict);
    }

    /// Prints the buffered output and the verdict.
    pub(crate) fn end(self, verdict: &dyn fmt::Display) {
        let Some(kept) = self.kept else { return };
        let kept = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        print(&format!("\n=== {}: {}\n{kept}\n", self.step, verdict));
    }
}

/// Removes cargo's progress lines.
fn without_progress(said: &str) -> String {
    let is_progress = |line: &&str| {
        let mut words = line.split_whitespace();
        line.starts_with(' ') && words.next().is_some_and(|first| PROGRESS.contains(&first))
    };
    said.lines().filter(|line| !is_progress(line)).map(|line| format!("{line}\n")).collect()
}

/// Prints atomically; a closed standard output must not stop the tests.
fn print(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

const PROGRESS: &[&str] =
    &["Adding", "Checking", "Compiling", "Documenting", "Downloaded", "Executable", "Locking"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passed_is_shown_without_each_crate_that_was_compiled() {
        let said = "   Compiling libc v0.2\n    Checking a v0.1.0\n    Finished `dev` profile\n\
                    Compiling is not this\ntest result: ok. 1 passed\n";
        let shown =
            "    Finished `dev` profile\nCompiling is not this\ntest result: ok. 1 passed\n";
        assert_eq!(without_progress(said), shown);
    }

    #[test]
    fn a_shared_console_keeps_the_lines() {
        let printer = Console::Shared.begin("step");
        let part = printer.apart();
        printer.line("one");
        part.line("two");
        printer.take(part);
        let kept = printer.kept.unwrap().into_inner().unwrap();
        assert_eq!(kept, "one\ntwo\n");
    }
}
