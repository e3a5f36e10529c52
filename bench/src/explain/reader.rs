//! The programs that read the captures.

use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::install::needs::Package;

pub(super) const PACKAGES: &[Package] =
    &[Package { name: "tcptrace", purpose: "the analyser to compare with", service: None }];

/// A program with its options.
#[derive(Clone, Debug)]
pub(super) enum Reader {
    /// Ackwise at this path, with default options.
    Ackwise(PathBuf),
    /// Default options: a line for each connection.
    Tcptrace,
    /// Long output with round-trip times, for information.
    TcptraceLong,
}

impl Reader {
    /// Its name in the table.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Ackwise(_) => "ackwise explain",
            Self::Tcptrace => "tcptrace",
            Self::TcptraceLong => "tcptrace -l -r",
        }
    }

    /// The command that reads `file`.
    pub(super) fn command(&self, file: &Path) -> Command {
        let mut command = match self {
            Self::Ackwise(program) => Command::new(program),
            Self::Tcptrace | Self::TcptraceLong => Command::new("tcptrace"),
        };
        match self {
            Self::Ackwise(_) => command.arg("explain"),
            Self::Tcptrace => &mut command,
            Self::TcptraceLong => command.args(["-l", "-r"]),
        };
        command.arg(file);
        command
    }
}
