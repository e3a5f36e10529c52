//! `cargo xtask bench truth`: compares what `explain` says with what connections really waited for.
//!
//! Truth is recorded before a capture is analysed, from what the ends know: see `docs/truth.md`.
//!
//! | module | its one idea |
//! | --- | --- |
//! | `options` | the command line |
//! | `case` | captures and truth of one run, as files |
//! | `kernel` | cases from the kernel |
//! | `sim` | cases from the simulator |
//! | `reading` | what the analyser says of a case, at each place |
//! | `damage` | what a capture may lack |
//! | `remove` | what one missing packet changes |
//! | `compare` | truth and statements of one exchange, gap by gap |
//! | `score` | which statements are right, added up |
//! | `results` | all of that, case after case |
//! | `reach` | what must be reached |
//! | `limits` | what a subset must reach in CI |
//! | `table`, `show`, `json`, `markdown` | the results, printed |

pub(crate) mod case;
mod compare;
mod damage;
mod json;
mod kernel;
mod limits;
mod markdown;
mod options;
mod reach;
mod reading;
mod remove;
mod results;
mod score;
mod show;
mod sim;
mod table;

use std::fs;
use std::io::{IsTerminal, stderr};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, ensure};
use xtask::process;

use self::case::{Recorded, World};
use self::results::Results;
use crate::dice::Dice;

use self::options::Format;
pub(crate) use self::options::{HELP, Settings, parse};

/// Its name in `cargo xtask bench NAME`.
pub(super) const NAME: &str = "truth";

/// The question that it answers.
pub(super) const QUESTION: &str = "is what `explain` says true?";

/// Records cases or reads them, and prints how much of what is said of them is true.
///
/// # Errors
///
/// If cases cannot be recorded or read.
pub(super) fn run(settings: &Settings) -> anyhow::Result<ExitCode> {
    if let Some(name) = &settings.show {
        return show(settings, name);
    }
    let mut results = Results::default();
    each_case(settings, |recorded| {
        // Streams of their own: a case is read in the same way, whichever others there are.
        let dice = Dice::new(recorded.case.seed).of(&recorded.case.name, 0);
        results.add(recorded, dice)
    })?;
    match settings.format {
        Format::Text => table::print(&results),
        Format::Json => println!("{:#}", json::json(settings, &results)),
        Format::Markdown => markdown::update(settings, &results)?,
    }
    let held = settings.subset.is_none() || limits::hold(&results)?;
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Hands each case to `handle`, and removes it afterwards if it is not to be kept.
fn each_case(
    settings: &Settings,
    mut handle: impl FnMut(&Recorded) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    if let Some(folder) = &settings.from {
        let folders = folders(folder)?;
        let mut progress = Progress::new(folders.len() as u64);
        for folder in &folders {
            ensure!(!process::interrupted(), "interrupted");
            handle(&Recorded::read(folder)?)?;
            progress.step(&folder.display().to_string());
        }
        return Ok(());
    }
    let work = Folder::new(settings)?;
    let began = Instant::now();
    for &world in &settings.worlds {
        if world == World::Kernel {
            for folder in record_kernel(settings, 0..settings.runs, &work.path)? {
                handle(&Recorded::read(&folder)?)?;
                work.forget(&folder)?;
            }
            continue;
        }
        let mut progress = Progress::new(settings.runs);
        for number in 0..settings.runs {
            ensure!(!process::interrupted(), "interrupted");
            if settings.subset.is_some_and(|limit| began.elapsed() >= limit) {
                break;
            }
            let recorded = record(settings, world, number, &work.path)?;
            handle(&recorded)?;
            progress.step(&recorded.case.name);
            work.forget(&recorded.folder)?;
        }
    }
    Ok(())
}

fn record(
    settings: &Settings,
    world: World,
    number: u64,
    folder: &Path,
) -> anyhow::Result<Recorded> {
    match world {
        World::Kernel => {
            let folders = record_kernel(settings, number..number + 1, folder)?;
            Recorded::read(folders.first().context("interrupted")?)
        }
        World::Sim => sim::record(settings.seed, number, folder),
    }
}

/// Several at once, because they mostly wait. They are read afterwards, which would disturb them.
fn record_kernel(
    settings: &Settings,
    numbers: Range<u64>,
    folder: &Path,
) -> anyhow::Result<Vec<PathBuf>> {
    let worlds = u32::try_from(settings.worlds.len()).unwrap_or(1).max(1);
    let deadline = settings.subset.map(|limit| Instant::now() + limit / worlds);
    kernel::record(&kernel::Options { seed: settings.seed, numbers, deadline, folder })
}

/// Prints one case.
fn show(settings: &Settings, name: &str) -> anyhow::Result<ExitCode> {
    if let Some(folder) = &settings.from {
        show::show(&Recorded::read(&folder.join(name))?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let known = World::ALL.into_iter().find_map(|world| {
        let number = name.strip_prefix(world.name())?.strip_prefix('-')?;
        Some((world, number.parse().ok()?))
    });
    let expected = "a name such as sim-0017, or --from FOLDER";
    let (world, number) =
        known.with_context(|| format!("no case `{name}` (expected {expected})"))?;
    let work = Folder::new(settings)?;
    show::show(&record(settings, world, number, &work.path)?)?;
    Ok(ExitCode::SUCCESS)
}

/// The cases in a folder, by name.
fn folders(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let cannot = || format!("cannot read {}", folder.display());
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if path.join(case::CASE).exists() {
            folders.push(path);
        }
    }
    ensure!(!folders.is_empty(), "no case in {} (expected */{})", folder.display(), case::CASE);
    folders.sort();
    Ok(folders)
}

/// Where cases are recorded; removed at the end if nobody wants to keep them.
struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Folder {
    fn new(settings: &Settings) -> anyhow::Result<Self> {
        let temporary = || PathBuf::from(format!("target/bench-truth/{}", std::process::id()));
        let path = settings.keep.clone().unwrap_or_else(temporary);
        fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Self { path, is_kept: settings.keep.is_some() })
    }

    /// A case that has been handled.
    fn forget(&self, case: &Path) -> anyhow::Result<()> {
        if !self.is_kept {
            fs::remove_dir_all(case).context("cannot remove a case")?;
        }
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept {
            // What remains is in the build's own directory and does no harm.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// A line on a terminal that says how far the run is.
struct Progress {
    done: u64,
    of: u64,
    began: Instant,
}

impl Progress {
    fn new(of: u64) -> Self {
        Self { done: 0, of, began: Instant::now() }
    }

    fn step(&mut self, name: &str) {
        self.done += 1;
        if stderr().is_terminal() {
            let seconds = self.began.elapsed().as_secs();
            eprint!("\r\x1b[K{} of {} after {seconds} s: {name}", self.done, self.of);
            if self.done == self.of {
                eprintln!();
            }
        }
    }
}
