//! ns-2 as packaged by Debian.

use std::process::Command;

use super::SCRIPTS;
use super::simulator::{Simulator, Watch, parse_counts};
use super::work::{Counts, Seconds, Work};
use xtask::install::needs::Package;

/// The simulator.
#[derive(Debug)]
pub(super) struct Ns2;

impl Ns2 {
    pub(super) const PACKAGES: &[Package] =
        &[Package { name: "ns2", purpose: "the simulator to compare with", service: None }];
}

impl Simulator for Ns2 {
    fn name(&self) -> &'static str {
        "ns-2"
    }

    fn command(&self, work: Work, seconds: Seconds, watch: Watch) -> Command {
        let mut command = Command::new("ns");
        command.arg(format!("{SCRIPTS}/{}.tcl", work.name()));
        command.arg(seconds.to_string()).arg(if watch == Watch::Count { "1" } else { "0" });
        command
    }

    fn counts(&self, _work: Work, output: &str) -> Option<Counts> {
        parse_counts(output)
    }
}
