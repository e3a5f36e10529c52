//! The programs that read the captures.

use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::install::needs::Package;

pub(super) const PACKAGES: &[Package] =
    &[Package { name: "tcptrace", purpose: "the analyser to compare with", service: None }];

/// A program with its options.
#[derive(Clone, Debug)]
pub(super) enum Reader {
    /// Ackwise at this path, on two threads.
    Ackwise(PathBuf),
    /// The same on one thread, for information.
    AckwiseAlone(PathBuf),
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
            Self::AckwiseAlone(_) => "on one thread",
            Self::Tcptrace => "tcptrace",
            Self::TcptraceLong => "tcptrace -l -r",
        }
    }

    /// The command that reads `file`.
    pub(super) fn command(&self, file: &Path) -> Command {
        let mut command = match self {
            Self::Ackwise(program) | Self::AckwiseAlone(program) => Command::new(program),
            Self::Tcptrace | Self::TcptraceLong => Command::new("tcptrace"),
        };
        match self {
            Self::Ackwise(_) => command.args(["explain", "--threads", "2"]),
            Self::AckwiseAlone(_) => command.args(["explain", "--threads", "1"]),
            Self::Tcptrace => &mut command,
            Self::TcptraceLong => command.args(["-l", "-r"]),
        };
        command.arg(file);
        command
    }
}
