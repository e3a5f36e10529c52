//! What the steps print: at once while one runs at a time, else each whole when it ends, so that lines
//! of two steps never mix.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// Who else prints.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Console {
    /// Nobody: lines are printed as they come.
    Own,
    /// Another step: lines are kept until the step ends; its start and its failures are said at once.
    Shared,
}

impl Console {
    /// Says that `step` begins.
    pub(crate) fn begin(self, step: &'static str) -> Printer {
        match self {
            Self::Own => print(&format!("\n=== {step}\n")),
            Self::Shared => print(&format!("=== {step}: started\n")),
        }
        Printer { step, kept: (self == Self::Shared).then(Mutex::default) }
    }
}

/// What one step prints.
#[derive(Debug)]
pub(crate) struct Printer {
    step: &'static str,
    kept: Option<Mutex<String>>,
}

impl Printer {
    /// A printer for a chore that is no step of the tests.
    pub(crate) const fn plain() -> Self {
        Self { step: "", kept: None }
    }

    /// A line of the step's output.
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

    /// A test that has failed, said at once although the step's output comes later.
    pub(crate) fn failure(&self, test: &str) {
        if self.kept.is_some() {
            print(&format!("=== {}: FAILED {test}\n", self.step));
        }
    }

    /// Prints what was kept, with how the step ended: a few lines less if it `passed`.
    pub(crate) fn end(self, passed: bool, verdict: &dyn fmt::Display) {
        let Some(kept) = self.kept else { return };
        let kept = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
        let said = if passed { without_progress(&kept) } else { kept };
        print(&format!("\n=== {}: {}\n{said}\n", self.step, verdict));
    }
}

/// Without the lines that only show that cargo is at work.
fn without_progress(said: &str) -> String {
    let is_progress = |line: &&str| {
        let mut words = line.split_whitespace();
        line.starts_with(' ') && words.next().is_some_and(|first| PROGRESS.contains(&first))
    };
    said.lines().filter(|line| !is_progress(line)).map(|line| format!("{line}\n")).collect()
}

/// Whole, and a closed standard output must not stop the tests.
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
        printer.line("one");
        printer.line("two");
        let kept = printer.kept.unwrap().into_inner().unwrap();
        assert_eq!(kept, "one\ntwo\n");
    }
}
