//! Who reads the captures.

use std::path::{Path, PathBuf};
use std::process::Command;

use xtask::install::needs::Package;

pub(super) const PACKAGES: &[Package] =
    &[Package { name: "tcptrace", purpose: "the analyser to compare with", service: None }];

/// A program with the options that it is given.
#[derive(Clone, Debug)]
pub(super) enum Reader {
    /// Ours, where it was built: everything that it always does.
    Ackwise(PathBuf),
    /// As it is started by default: a line for each connection.
    Tcptrace,
    /// With its long output and round-trip times: for information.
    TcptraceLong,
}

impl Reader {
    /// What the table calls it.
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
