//! Measures what captures that were made to cost much cost `ackwise explain`: memory and processor
//! time, for each attack and each form of the report, beside the limits.

#[path = "../../../crates/capture/tests/hostile/attacks/mod.rs"]
mod attacks;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::Duration,
};

use anyhow::ensure;

use self::attacks::Attack;
use super::peak::{self, Peak};
use super::{program, verdict};
use xtask::install;
use xtask::process::{self, End, Output};

/// Its name in `cargo xtask bench NAME`.
pub(super) const NAME: &str = "hostile";

/// The question that it answers.
pub(super) const QUESTION: &str =
    "what do captures that were made to cost much cost, in memory and time?";

/// Measures and prints everything.
///
/// # Errors
///
/// If Ackwise does not build, or an attack cannot be written.
pub(super) fn run() -> anyhow::Result<ExitCode> {
    println!("{NAME}: {QUESTION}");
    install::provide_packages(peak::PACKAGES)?;
    let program = program::build()?;
    let directory = Path::new(DIRECTORY);
    let peak = Peak::new(directory)?;
    println!(
        "captures of {} MB; limits: {} MB resident, {} s of processor time\n",
        BYTES / 1_000_000,
        MOST_MEMORY / 1_000_000,
        MOST_TIME.as_secs()
    );
    println!("{:<28} {:<16} {:>8} {:>7}", "attack", "output", "MB", "cpu s");
    let mut missed = 0;
    for attack in attacks::all() {
        let file = directory.join(attack.name).with_extension("pcap");
        fs::write(&file, (attack.make)(BYTES))?;
        for form in FORMS {
            let cost = measure(&program, &attack, form, &file, &peak)?;
            missed += u32::from(!cost.is_within_limits());
            println!(
                "{:<28} {:<16} {:>8.0} {:>7.2}  {}",
                attack.name,
                form.name,
                cost.memory as f64 / 1e6,
                cost.cpu.as_secs_f64(),
                verdict(cost.is_within_limits())
            );
        }
        fs::remove_file(&file)?;
    }
    println!("\n{missed} beyond a limit");
    Ok(ExitCode::from(u8::from(missed > 0)))
}

/// A form of the report, or of the input.
#[derive(Clone, Copy, Debug)]
struct Form {
    name: &'static str,
    /// `FILE` stands for an output.
    options: &'static [&'static str],
}

const FORMS: &[Form] = &[
    Form { name: "text", options: &[] },
    Form { name: "json", options: &["--json"] },
    Form { name: "markdown", options: &["--markdown"] },
    Form { name: "html", options: &["--html", "FILE"] },
    Form { name: "save-stripped", options: &["--save-stripped", "FILE"] },
    Form { name: "by-path", options: &["--by", "path", "--connections"] },
    Form { name: "one-thread", options: &["--threads", "1"] },
    Form { name: "filter", options: &["--filter", "tcp and not port 81"] },
];

#[derive(Clone, Copy, Debug)]
struct Cost {
    memory: u64,
    cpu: Duration,
}

impl Cost {
    fn is_within_limits(self) -> bool {
        self.memory <= MOST_MEMORY && self.cpu <= MOST_TIME
    }
}

fn measure(
    program: &PathBuf,
    attack: &Attack,
    form: &Form,
    file: &Path,
    peak: &Peak,
) -> anyhow::Result<Cost> {
    let output = Path::new(DIRECTORY).join("output");
    let mut explain = Command::new(program);
    explain.arg("explain").args(form.options.iter().map(|it| match *it {
        "FILE" => output.as_os_str(),
        option => option.as_ref(),
    }));
    explain.arg(file);
    let before = process::children_cpu_time()?;
    let end = process::run(&mut peak.watch(&explain), Output::Discard, TIME_LIMIT)?;
    // Exit code 2: there is nothing in it that can be reported.
    let ended = matches!(end, End::Succeeded | End::Failed(_));
    ensure!(ended, "{} {}: {end:?}", attack.name, form.name);
    let cpu = process::children_cpu_time()?.saturating_sub(before);
    Ok(Cost { memory: peak.last_bytes()?, cpu })
}

/// What each attack may grow to: just below what the limits are promised for.
const BYTES: usize = 49_900_000;

/// 512 MB resident for any input below 50 MB after decompression.
const MOST_MEMORY: u64 = 512_000_000;

/// 5 s of processor time for the same.
const MOST_TIME: Duration = Duration::from_secs(5);

/// Time limit of one run (our choice).
const TIME_LIMIT: Duration = Duration::from_secs(300);

/// Directory of the captures, relative to the root of the repository.
const DIRECTORY: &str = "target/bench/hostile";
