//! `cargo xtask bench truth`: compares what `explain` says with what connections really waited for.
//!
//! Truth is recorded before a capture is analysed, from what the ends know: see `docs/decisions/truth-bench.md`.
//!
//! | module | its one idea |
//! | --- | --- |
//! | `options` | the command line |
//! | `case` | captures and truth of one run, as files |
//! | `kernel` | cases from the kernel |
//! | `ordinary` | ordinary traffic, against the clocks of its programs |
//! | `sim` | cases from the simulator |
//! | `started` | programs of others |
//! | `reading` | what the analyser says of a case, at each place |
//! | `damage` | what a capture may lack |
//! | `remove` | what one missing packet changes |
//! | `amounts` | captures of others, of which only sums are known |
//! | `compare` | truth and statements of one exchange, gap by gap |
//! | `score` | which statements are right, added up |
//! | `results` | all of that, case after case |
//! | `reach` | what must be reached |
//! | `limits` | what a subset must reach in CI |
//! | `rules` | what each rule decides, and what switching it off costs |
//! | `golden` | what rules say of a few cases, kept as a file |
//! | `wrong` | what is said to be a cause and is not, and the other way round |
//! | `table`, `show`, `json`, `markdown` | the results, printed |

mod amounts;
pub(crate) mod case;
mod compare;
mod damage;
#[cfg(test)]
mod golden;
mod json;
mod kernel;
mod limits;
mod markdown;
mod options;
mod ordinary;
mod reach;
mod reading;
mod remove;
mod results;
mod rules;
mod score;
mod show;
mod sim;
mod started;
mod table;
mod wrong;

use std::fs;
use std::io::{ErrorKind, Write as _, stdout};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, ensure};
use xtask::process;

use self::case::{Recorded, World};
use self::results::Results;
use crate::dice::Dice;
use crate::progress::Progress;

use self::options::{Format, Set};
pub(crate) use self::options::{HELP, Settings, parse};

/// Its name in `cargo xtask bench NAME`.
pub(super) const NAME: &str = "truth";

/// The question that it answers.
pub(super) const QUESTION: &str = "is what `explain` says true?";

/// Records cases or reads them, and prints how much of what is reported about them is true.
///
/// # Errors
///
/// If cases cannot be recorded or read.
pub(super) fn run(settings: &Settings) -> anyhow::Result<ExitCode> {
    if let Some(name) = &settings.show {
        return show(settings, name);
    }
    if settings.rules {
        let mut worth = rules::Worth::default();
        each_case(settings, |recorded| worth.add(recorded))?;
        print(&worth.text())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut results = Results::default();
    each_case(settings, |recorded| {
        // Streams of their own: a case is read in the same way, whichever others there are.
        let dice = Dice::new(recorded.case.seed).of(&recorded.case.name, 0);
        results.add(recorded, settings.removals, dice)
    })?;
    match (settings.format, settings.wrong) {
        (Format::Text, Some(wrong)) => print(&wrong::text(&results, wrong))?,
        (Format::Text, None) => {
            print(&table::text(&results))?;
            if settings.worst > 0 {
                print(&remove::worst(&results.removals, settings.worst))?;
            }
        }
        (Format::Json, _) => print(&format!("{:#}\n", json::json(&results)))?,
        (Format::Markdown, _) => markdown::update(&results)?,
    }
    let mut held = true;
    if settings.subset.is_some() {
        let (text, within) = limits::check(&results)?;
        print(&text)?;
        held = within;
    }
    Ok(if held { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Prints on standard output; a reader that has gone has seen enough.
fn print(text: &str) -> anyhow::Result<()> {
    match stdout().write_all(text.as_bytes()) {
        Err(why) if why.kind() != ErrorKind::BrokenPipe => Err(why).context("cannot print"),
        _ => Ok(()),
    }
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
            handle(&readable(Recorded::read(folder)?, settings))?;
            progress.step(&folder.display().to_string());
        }
        return Ok(());
    }
    let work = Folder::new(settings)?;
    for (&world, deadline) in settings.worlds.iter().zip(deadlines(settings)) {
        let mut progress = Progress::new(settings.runs);
        let mut number = 0;
        while number < settings.runs && deadline.is_none_or(|it| Instant::now() < it) {
            let batch = if settings.set == Set::Ordinary { 1 } else { batch(world) };
            let end = settings.runs.min(number + batch);
            for recorded in record(settings, world, number..end, deadline, &work.path)? {
                ensure!(!process::interrupted(), "interrupted");
                let recorded = readable(recorded, settings);
                handle(&recorded)?;
                progress.step(&recorded.case.name);
                work.forget(&recorded.folder)?;
            }
            number = end;
        }
    }
    Ok(())
}

/// A case as it is to be read: without its secrets, or with them.
fn readable(mut recorded: Recorded, settings: &Settings) -> Recorded {
    let has_use = settings.keys || ordinary::phases::needs_keys(&recorded.case);
    recorded.case.captures.keys.take_if(|_| !has_use);
    recorded
}

/// When the subset of each world ends: all have the same time.
fn deadlines(settings: &Settings) -> impl Iterator<Item = Option<Instant>> {
    let (began, subset) = (Instant::now(), settings.subset);
    let worlds = u32::try_from(settings.worlds.len()).expect("two worlds");
    (1..=worlds).map(move |number| subset.map(|limit| began + limit * number / worlds))
}

/// Cases that are recorded before they are read. Runs on the kernel mostly wait, and go on at the same
/// time; reading would disturb them. Our choice.
const fn batch(world: World) -> u64 {
    match world {
        World::Sim => 1,
        World::Kernel => 40,
    }
}

fn record(
    settings: &Settings,
    world: World,
    numbers: Range<u64>,
    deadline: Option<Instant>,
    folder: &Path,
) -> anyhow::Result<Vec<Recorded>> {
    if settings.set == Set::Ordinary {
        let clients =
            if settings.tls { ordinary::Clients::InPhases } else { ordinary::Clients::All };
        return ordinary::record_all(clients, settings.seed, numbers, folder);
    }
    match world {
        World::Kernel => {
            let options = kernel::Options {
                set: settings.set,
                seed: settings.seed,
                tls: settings.tls,
                h2: settings.h2,
                numbers,
                deadline,
                folder,
            };
            kernel::record(&options)?.iter().map(|it| Recorded::read(it)).collect()
        }
        World::Sim => {
            numbers.map(|it| sim::record(settings.set, settings.seed, it, folder)).collect()
        }
    }
}

/// Prints one case.
fn show(settings: &Settings, name: &str) -> anyhow::Result<ExitCode> {
    if let Some(folder) = &settings.from {
        print(&show::show(&readable(Recorded::read(&folder.join(name))?, settings))?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let known = World::ALL.into_iter().find_map(|world| {
        let number = name.strip_prefix(world.name())?.strip_prefix('-')?;
        Some((world, number.parse::<u64>().ok()?))
    });
    let expected = "a name such as sim-0017, or --from FOLDER";
    let (world, number) =
        known.with_context(|| format!("no case `{name}` (expected {expected})"))?;
    let work = Folder::new(settings)?;
    for recorded in record(settings, world, number..number + 1, None, &work.path)? {
        print(&show::show(&recorded)?)?;
    }
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
