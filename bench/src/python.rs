//! Measures processor time of the Python package beside that of the command, for the same work.
//!
//! The package is built as a release and installed in a directory of its own, so that `.venv` keeps what the tests use.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};

use super::{Benchmark, Side, child, program};
use xtask::install::{
    self,
    needs::{Need, Package},
};
use xtask::process::{self, End, Output};

/// What both sides do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Work {
    /// Explain captures: one call of `explain_many` into a store, or a call of the command for each.
    Explain,
    /// Simulate: one call of `sweep`, or one of the command.
    Run,
}

/// The benchmark.
#[derive(Debug)]
pub(crate) struct Python {
    work: Work,
    program: PathBuf,
}

impl Python {
    pub(crate) fn new(work: Work) -> Self {
        Self { work, program: PathBuf::new() }
    }

    fn package(&self) -> anyhow::Result<f64> {
        let script = match self.work {
            Work::Explain => EXPLAIN,
            Work::Run => RUN,
        };
        let mut python = Command::new("python");
        python.args(["-c", script]).env("PATH", install::path()).env("PYTHONPATH", SITE);
        cpu(&mut python)
    }

    fn command(&self) -> anyhow::Result<f64> {
        match self.work {
            Work::Explain => captures()
                .map(|capture| cpu(Command::new(&self.program).arg("explain").arg(capture)))
                .sum(),
            Work::Run => cpu(Command::new(&self.program)
                .args(["run", "stalls", "--set", SHORT, "--seeds", SEEDS])),
        }
    }
}

impl Benchmark for Python {
    fn name(&self) -> &'static str {
        match self.work {
            Work::Explain => "python-explain",
            Work::Run => "python-run",
        }
    }

    fn question(&self) -> &'static str {
        match self.work {
            Work::Explain => {
                "what do 2,000 captures cost in Python, and in as many calls of the command?"
            }
            Work::Run => {
                "what do 1,002 short simulations cost in Python, and in a call of the command?"
            }
        }
    }

    fn packages(&self) -> &'static [Package] {
        &[]
    }

    fn label(&self, side: Side) -> &'static str {
        match side {
            Side::Ours => "Python",
            Side::Other => "command",
        }
    }

    fn unit(&self) -> &'static str {
        "s of processor time"
    }

    fn rounds(&self) -> NonZeroUsize {
        const { NonZeroUsize::new(5).unwrap() }
    }

    fn prepare(&mut self) -> anyhow::Result<()> {
        install::provide(Need::PythonPackages)?;
        self.program = program::build_with(&["parquet"])?;
        install_package()?;
        // A hard link is a capture with a path of its own.
        let sample = Path::new(DIRECTORY).join("sample.pcap");
        child::run_unheard(
            Command::new(&self.program).args(["explain", "--save-sample"]).arg(&sample),
        )?;
        let folder = Path::new(DIRECTORY).join("captures");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        captures().try_for_each(|capture| fs::hard_link(&sample, capture))?;
        Ok(())
    }

    fn measure(&mut self, side: Side) -> anyhow::Result<f64> {
        // Python begins with an empty store.
        let _ = fs::remove_dir_all(Path::new(DIRECTORY).join("store"));
        match side {
            Side::Ours => self.package(),
            Side::Other => self.command(),
        }
    }
}

fn captures() -> impl Iterator<Item = PathBuf> {
    (0..CAPTURES).map(|number| Path::new(DIRECTORY).join(format!("captures/{number:04}.pcap")))
}

/// User and system time, in seconds.
fn cpu(command: &mut Command) -> anyhow::Result<f64> {
    let run = child::run_unheard(command)?;
    Ok((run.user + run.system).as_secs_f64())
}

fn install_package() -> anyhow::Result<()> {
    let wheels = format!("{DIRECTORY}/wheels");
    let _ = fs::remove_dir_all(&wheels);
    let manifest = "crates/python/Cargo.toml";
    step("maturin", &["build", "--quiet", "--release", "-m", manifest, "--out", &wheels])?;
    let wheel = fs::read_dir(&wheels)?.next().context("maturin has made no wheel")??.path();
    let wheel = wheel.display().to_string();
    step("pip", &["install", "--quiet", "--no-deps", "--upgrade", "--target", SITE, &wheel])
}

fn step(program: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", install::path());
    let end = process::run(&mut command, Output::Inherit, BUILD_LIMIT)?;
    ensure!(end == End::Succeeded, "{command:?}: {end:?}");
    Ok(())
}

const DIRECTORY: &str = "target/bench/python";
const SITE: &str = "target/bench/python/site";
const CAPTURES: usize = 2_000;
const SHORT: &str = "duration=\"2 s\"";
/// Of each of the three cases.
const SEEDS: &str = "334";
/// Time limit (our choice): five minutes on an idle machine.
const BUILD_LIMIT: Duration = Duration::from_secs(1800);

const EXPLAIN: &str = r#"
import pathlib, ackwise
captures = sorted(pathlib.Path("target/bench/python/captures").iterdir())
explained = ackwise.explain_many(captures, store="target/bench/python/store")
assert len(captures) == 2000 and len(explained) > 2000 and not len(explained.failed)
"#;

const RUN: &str = r#"
import ackwise
result = ackwise.run("stalls", set={"duration": "2 s"}, seeds=334)
assert len(result) == 1002 and str(result)
"#;
