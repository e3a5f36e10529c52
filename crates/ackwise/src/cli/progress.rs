//! One line on standard error that says what is going on, for as long as it goes on.

use std::io::{self, IsTerminal, Write};

use ackwise_text::printable;

/// Rewrites its line with every message; erases it when dropped. Silent unless somebody watches.
#[derive(Debug)]
pub(crate) struct ProgressLine {
    watched: bool,
}

impl ProgressLine {
    pub(crate) fn new() -> Self {
        // A terminal that is `dumb` erases no line.
        let dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
        Self { watched: io::stderr().is_terminal() && !dumb }
    }

    pub(crate) fn show(&self, message: &str) {
        if self.watched {
            let columns = terminal_size::terminal_size_of(io::stderr());
            let columns = columns.map_or(80, |(width, _)| usize::from(width.0));
            // A line that wraps could not be erased.
            let shown = printable(message);
            let shown: String = shown.chars().take(columns.saturating_sub(1)).collect();
            write(&format!("{ERASE}{shown}"));
        }
    }

    /// Prints a line that stays, whoever watches.
    pub(crate) fn say(&self, message: &str) {
        let erase = if self.watched { ERASE } else { "" };
        write(&format!("{erase}{}\n", printable(message)));
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.watched {
            write(ERASE);
        }
    }
}

/// Progress that cannot be shown is no reason to stop.
fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

/// Back to the first column, and nothing after it (ECMA-48, EL).
const ERASE: &str = "\r\x1b[K";
