//! Where something was written, for messages.

use std::{fmt, sync::Arc};

/// Where something was written: in a file, or on the command line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Place {
    /// The file's name, or the option with its value.
    pub source: Arc<str>,
    /// From 1; 0 on the command line.
    pub line: usize,
    /// In characters, from 1; 0 on the command line.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.source),
            line => write!(f, "{}:{line}:{}", self.source, self.column),
        }
    }
}

impl Place {
    /// On the command line.
    pub(crate) fn option(text: &str) -> Self {
        let shown = match text.char_indices().nth(LONGEST_OPTION) {
            Some((end, _)) => format!("{}…", &text[..end]).into(),
            None => text.into(),
        };
        Self { source: shown, line: 0, column: 0 }
    }

    /// Whether a message must name the key too: an option other than `--set` has only one.
    pub(crate) fn needs_path(&self) -> bool {
        self.line > 0 || !self.source.starts_with("--") || self.source.starts_with("--set ")
    }
}

/// Of a longer option, a message shows the beginning only.
const LONGEST_OPTION: usize = 200;
