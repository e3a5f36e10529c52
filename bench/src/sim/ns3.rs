//! ns-3: programs of this benchmark, built against Debian's library.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::ensure;

use super::SCRIPTS;
use super::simulator::{Simulator, Watch, parse_counts};
use super::work::{Counts, Seconds, Work};
use xtask::install::needs::Package;
use xtask::process::{self, End, Output};

/// The built programs.
#[derive(Debug)]
pub(super) struct Ns3 {
    directory: PathBuf,
}

impl Ns3 {
    pub(super) const PACKAGES: &[Package] = &[
        Package { name: "libns3-dev", purpose: "the simulator to compare with", service: None },
        Package { name: "g++", purpose: "builds the programs for ns-3", service: None },
    ];

    /// Builds the programs in `directory`.
    ///
    /// # Errors
    ///
    /// If a program does not compile.
    pub(super) fn build(directory: PathBuf) -> anyhow::Result<Self> {
        fs::create_dir_all(&directory)?;
        let simulator = Self { directory };
        for work in Work::ALL {
            let mut compiler = Command::new("g++");
            compiler.args(["-std=c++17", "-O2", "-o"]).arg(simulator.program(work));
            compiler.arg(format!("{SCRIPTS}/{}.cc", work.name()));
            // In dependency order.
            compiler.args(MODULES.iter().map(|module| format!("-lns3-{module}")));
            let end = process::run(&mut compiler, Output::Inherit, BUILD_LIMIT)?;
            ensure!(end == End::Succeeded, "{}.cc does not compile", work.name());
        }
        Ok(simulator)
    }

    fn program(&self, work: Work) -> PathBuf {
        self.directory.join(work.name())
    }
}

impl Simulator for Ns3 {
    fn name(&self) -> &'static str {
        "ns-3"
    }

    fn command(&self, work: Work, seconds: Seconds, watch: Watch) -> Command {
        let mut command = Command::new(self.program(work));
        command.arg(format!("--seconds={seconds}"));
        if watch == Watch::Count {
            command.arg("--count");
        }
        command
    }

    fn counts(&self, _work: Work, output: &str) -> Option<Counts> {
        parse_counts(output)
    }

    /// A sixth and a fifth of the work: ns-3 takes about fifty times as long.
    fn seconds(&self, work: Work) -> Seconds {
        match work {
            Work::Dumbbell => Seconds(10),
            Work::Connections => Seconds(1),
        }
    }
}

const MODULES: &[&str] = &[
    "applications",
    "nix-vector-routing",
    "point-to-point",
    "internet",
    "traffic-control",
    "network",
    "core",
];

const BUILD_LIMIT: Duration = Duration::from_secs(300);
