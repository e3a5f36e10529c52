//! What the Python package costs beside the command: processor time of short runs and of many captures, and memory for
//! handing over a table of a million exchanges.
//!
//! Wheel and command are built with the release profile and the same features.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};

use super::explain::captures;
use super::{Benchmark, Side, child, program};
use xtask::install::{
    self,
    needs::{Need, Package},
};
use xtask::process::{self, End, Output};

/// What is compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum What {
    /// 1,000 short simulations in one call.
    Runs,
    /// [`CAPTURES`] captures in one call, and each by a call of the command.
    Captures,
    /// The memory that pyarrow, Polars and pandas take for a table, and the table's.
    Handover,
}

/// The benchmark.
#[derive(Debug)]
pub(crate) struct Python {
    what: What,
    program: PathBuf,
    directory: PathBuf,
}

impl Python {
    pub(crate) fn boxed(what: What) -> Box<dyn Benchmark> {
        Box::new(Self { what, program: PathBuf::new(), directory: PathBuf::new() })
    }

    /// Runs a Python script with the package, and returns what it prints.
    fn script(&self, script: &str, argument: &Path) -> anyhow::Result<child::Run> {
        let mut python = Command::new(".venv/bin/python");
        child::run(python.args(["-c", script]).arg(argument))
    }

    /// Processor time of `run`, in seconds.
    fn cost(run: &child::Run) -> f64 {
        (run.user + run.system).as_secs_f64()
    }
}

impl Benchmark for Python {
    fn name(&self) -> &'static str {
        match self.what {
            What::Runs => "python-runs",
            What::Captures => "python-captures",
            What::Handover => "python-handover",
        }
    }

    fn question(&self) -> &'static str {
        match self.what {
            What::Runs => "what do 1,000 short simulations cost from Python, and by `ackwise run`?",
            What::Captures => "what do 2,000 captures cost in `explain_many`, and one by one?",
            What::Handover => "how much memory takes the handover of a million exchanges?",
        }
    }

    fn packages(&self) -> &'static [Package] {
        match self.what {
            What::Runs | What::Captures => &[],
            What::Handover => captures::PACKAGES,
        }
    }

    fn label(&self, side: Side) -> &'static str {
        match (self.what, side) {
            (What::Runs | What::Captures, Side::Ours) => "from Python",
            (What::Runs | What::Captures, Side::Other) => "the command",
            (What::Handover, Side::Ours) => "with handover",
            (What::Handover, Side::Other) => "the table",
        }
    }

    fn unit(&self) -> &'static str {
        match self.what {
            What::Runs | What::Captures => "s of CPU",
            What::Handover => "MB",
        }
    }

    fn rounds(&self) -> NonZeroUsize {
        const { NonZeroUsize::new(5).unwrap() }
    }

    fn prepare(&mut self) -> anyhow::Result<()> {
        install::provide(Need::PythonPackages)?;
        self.program = program::build_with(&["parquet"])?;
        install_wheel()?;
        let directory = Path::new(DIRECTORY).join(self.name());
        fs::create_dir_all(&directory)?;
        match self.what {
            What::Runs => {}
            What::Captures => {
                let one = directory.join("0.pcap");
                let mut record = Command::new(&self.program);
                record.args(["run", "stalls", "--case", "1", "--pcap"]).arg(&one);
                child::run_unheard(&mut record)?;
                for number in 1..CAPTURES {
                    fs::copy(&one, directory.join(format!("{number}.pcap")))?;
                }
            }
            What::Handover => {
                let whole = captures::provide_one(captures::Kind::Kept, &directory)?;
                let parts = directory.join(PARTS);
                let _ = fs::remove_dir_all(&parts);
                fs::create_dir_all(&parts)?;
                // One report lists fewer exchanges (docs/limits.md).
                let mut split = Command::new("editcap");
                split.args(["-c", "200000"]).arg(whole.file).arg(parts.join("part.pcap"));
                child::run_unheard(&mut split)?;
            }
        }
        self.directory = directory;
        Ok(())
    }

    fn measure(&mut self, side: Side) -> anyhow::Result<f64> {
        let directory = &self.directory;
        Ok(match (self.what, side) {
            (What::Runs, Side::Ours) => number(&self.script(RUNS_SCRIPT, directory)?.output)?,
            (What::Runs, Side::Other) => {
                let mut command = Command::new(&self.program);
                command.args(["run", "stalls", "--seeds", "334"]);
                Self::cost(&child::run_unheard(&mut command)?)
            }
            (What::Captures, Side::Ours) => Self::cost(&self.script(CAPTURES_SCRIPT, directory)?),
            (What::Captures, Side::Other) => {
                let mut sum = 0.0;
                for number in 0..CAPTURES {
                    let mut command = Command::new(&self.program);
                    let capture = directory.join(format!("{number}.pcap"));
                    command.args(["explain", "--json", "--threads", "1"]).arg(capture);
                    sum += Self::cost(&child::run_unheard(&mut command)?);
                }
                sum
            }
            (What::Handover, side) => {
                let run = self.script(HANDOVER_SCRIPT, &directory.join(PARTS))?;
                let numbers: Vec<f64> =
                    run.output.split_whitespace().filter_map(|it| it.parse().ok()).collect();
                let [table, grown] = numbers[..] else { anyhow::bail!("{}", run.output) };
                if side == Side::Ours { table + grown } else { table }
            }
        })
    }
}

/// Builds the wheel with the release profile, and installs it where the tests find it.
fn install_wheel() -> anyhow::Result<()> {
    let wheels = Path::new(DIRECTORY).join("wheels");
    // Of an earlier version, perhaps.
    let _ = fs::remove_dir_all(&wheels);
    let run = |program: &str, arguments: &[&str], file: &Path| -> anyhow::Result<()> {
        let mut command = Command::new(program);
        command.args(arguments).arg(file).env("PATH", install::path());
        program::forget_package(&mut command);
        // Its own, because other features would have the program built again each time.
        command.env("CARGO_TARGET_DIR", Path::new(DIRECTORY).join("build"));
        let end = process::run(&mut command, Output::Inherit, BUILD_LIMIT)?;
        ensure!(end == End::Succeeded, "{command:?}: {end:?}");
        Ok(())
    };
    let build = ["build", "--quiet", "--release", "-m", "crates/python/Cargo.toml", "--out"];
    run("maturin", &build, &wheels)?;
    let wheel = fs::read_dir(&wheels)?.next().context("maturin has made no wheel")??.path();
    run("pip", &["install", "--quiet", "--no-deps", "--force-reinstall"], &wheel)
}

fn number(text: &str) -> anyhow::Result<f64> {
    text.trim().parse().with_context(|| format!("not a number: {text}"))
}

/// Three cases with 334 seeds each, as the command runs them. The start of Python, 0.06 s, is not counted.
const RUNS_SCRIPT: &str = "
import time, ackwise
before = time.process_time()
assert len(ackwise.run('stalls', seeds=334)) >= 1_000
print(time.process_time() - before)
";

const CAPTURES_SCRIPT: &str = r#"
import pathlib, sys, ackwise
found = ackwise.explain_many(sorted(pathlib.Path(sys.argv[1]).glob("*.pcap")))
assert len(found) > 0 and len(found.failed) == 0
"#;

/// Prints the size of the table, and by how much the process grew at most, in MB. Every column has the same address
/// everywhere, except that Polars makes views of texts, of 16 bytes each.
const HANDOVER_SCRIPT: &str = r#"
import pathlib, re, sys, ackwise, pandas, polars, pyarrow
def memory(what):
    return int(re.search(what + r":\s+(\d+) kB", open("/proc/self/status").read())[1]) * 1024
# What the libraries load at their first use.
small = pyarrow.table({"a": [1], "b": ["x"]})
small.to_pandas(types_mapper=pandas.ArrowDtype), polars.DataFrame(small)
exchanges = ackwise.explain_many(sorted(pathlib.Path(sys.argv[1]).glob("*.pcap")))
assert len(exchanges) >= 1_000_000, len(exchanges)
# Since then, the largest size (proc_pid_clear_refs(5)).
open("/proc/self/clear_refs", "w").write("5")
before = memory("VmRSS")
table = pyarrow.table(exchanges)
frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
columns = polars.from_arrow(table, rechunk=False)
grown = memory("VmHWM") - before
def addresses(array):
    return [buffer.address for buffer in array.buffers() if buffer is not None and buffer.size > 0]
for name in table.column_names:
    ours = addresses(table[name].chunk(0))
    assert addresses(frame[name].array.__arrow_array__().chunk(0)) == ours, name
    theirs = addresses(columns[name].get_chunks()[0].to_arrow())
    assert theirs == ours or pyarrow.types.is_large_string(table[name].type), name
print(table.nbytes / 1e6, grown / 1e6)
"#;

/// One short capture, so often.
const CAPTURES: usize = 2_000;
/// The capture of a million exchanges, in pieces.
const PARTS: &str = "parts";
const DIRECTORY: &str = "target/bench/python";
/// Time limit (our choice): a cold build takes four minutes on two processors.
const BUILD_LIMIT: Duration = Duration::from_secs(1_800);
