//! `cargo xtask bench failures`: compares the failures that `explain` tells with what programs did and saw.
//!
//! Real programs fail on the kernel over links with a delay, in ways that are drawn from a seed, and write down by
//! their own clocks what they did, which error they saw and when. Packets are captured at both ends and not read for
//! that. The draw does not know the rules of `explain`; kinds that it has no name for yet score badly.
//!
//! | module | its one idea |
//! | --- | --- |
//! | `options` | the command line |
//! | `kind` | what fails, and what only looks so |
//! | `draw` | paths and cases, by seed |
//! | `lab` | three namespaces, a delay, and packets that vanish |
//! | `client`, `server` | programs that write down what they do |
//! | `play` | what they do in each case |
//! | `record` | labs at once, and a folder for each case |
//! | `pcap` | a lab's capture, cut into cases |
//! | `truth` | what the programs wrote |
//! | `said` | what `explain --json` tells |
//! | `score`, `table` | both compared, and printed |

mod client;
mod draw;
mod kind;
mod lab;
mod options;
mod pcap;
mod play;
mod record;
mod said;
mod score;
mod server;
mod table;
mod truth;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, anyhow, ensure};

use self::kind::Family;
use self::said::{Said, Told};
use self::score::{CapturedAt, Score};
use self::truth::Truth;
use crate::program;
use xtask::process;

pub(crate) use self::options::{HELP, Settings, parse};

/// Its name in `cargo xtask bench NAME`.
pub(super) const NAME: &str = "failures";

/// The question that it answers.
pub(super) const QUESTION: &str = "are the failures that `explain` tells those that programs had?";

/// What a run found.
#[derive(Debug, Default)]
struct Results {
    score: Score,
    /// Exchanges of ordinary traffic, by their clients.
    answered: u64,
    /// The same in the reports, of all captures.
    reported: u64,
    /// Failures told of ordinary traffic.
    false_alarms: Vec<String>,
    left_out: Vec<String>,
}

/// Records cases or reads them, and prints how much of what is reported about them is true.
///
/// # Errors
///
/// If cases cannot be recorded or read.
pub(super) fn run(settings: &Settings) -> anyhow::Result<ExitCode> {
    let program =
        settings.program.clone().map_or_else(program::build, |it| Ok(fs::canonicalize(it)?))?;
    let results = Results::default();
    let work = match (&settings.from, &settings.dir) {
        (Some(folder), _) => return finish(settings, &program, folder, results),
        (None, Some(folder)) => folder.clone(),
        (None, None) => PathBuf::from(format!("target/bench-failures/{}", std::process::id())),
    };
    fs::create_dir_all(&work).with_context(|| format!("cannot create {}", work.display()))?;
    let left_out = record::record(settings, &work)?;
    fs::write(work.join(LEFT_OUT), left_out.join("\n"))?;
    let code = finish(settings, &program, &work, results);
    if settings.dir.is_none() {
        fs::remove_dir_all(&work).context("cannot remove the cases")?;
    }
    code
}

fn finish(
    settings: &Settings,
    program: &Path,
    folder: &Path,
    mut results: Results,
) -> anyhow::Result<ExitCode> {
    let left_out = fs::read_to_string(folder.join(LEFT_OUT)).unwrap_or_default();
    results.left_out.extend(left_out.lines().map(str::to_owned));
    let folders = folders(folder, settings.only)?;
    for (truth, place, said) in heard(program, &folders)? {
        match said {
            Ok(said) => results.add(&truth, &place, &said),
            Err(why) => results.left_out.push(format!("{} {place}: {why}", truth.name)),
        }
    }
    match settings.json {
        true => println!("{:#}", table::json(&results)),
        false => print!("{}", table::text(&results)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks about all captures of all cases, on all processors.
fn heard(program: &Path, folders: &[PathBuf]) -> anyhow::Result<Vec<Heard>> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Vec::new());
    let work = || -> anyhow::Result<()> {
        while let Some(folder) = folders.get(next.fetch_add(1, Ordering::Relaxed)) {
            ensure!(!process::interrupted(), "interrupted");
            let truth = Truth::read(folder)?;
            for (name, files) in record::captures(folder, truth.family)? {
                let captures: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
                let said = said::ask(program, &captures)?;
                // Captures that lack something can be made again, and would be most of a folder.
                let is_worth_keeping = said.as_ref().is_ok_and(|it| !it.told.is_empty());
                if !is_worth_keeping && CapturedAt::named(&name).is_none() {
                    files.iter().try_for_each(fs::remove_file)?;
                }
                let mut all = all.lock().map_err(|_| anyhow!("a thread panicked"))?;
                all.push((truth.clone(), name, said));
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads
            .into_iter()
            .try_for_each(|it| it.join().map_err(|_| anyhow!("a thread panicked"))?)
    })?;
    let mut all = all.into_inner().map_err(|_| anyhow!("a thread panicked"))?;
    all.sort_by(|one, other| (&one.0.name, &one.1).cmp(&(&other.0.name, &other.1)));
    Ok(all)
}

/// What is reported of one capture, or of a pair, or why nothing is.
type Heard = (Truth, String, Result<Said, String>);

impl Results {
    /// What is reported of one capture, or of a pair.
    fn add(&mut self, truth: &Truth, name: &str, said: &Said) {
        let place = CapturedAt::named(name);
        if let Some(place) = place {
            self.score.add(&truth.name, place, &truth.failed, &said.told);
        }
        if let Family::Plain(_) = truth.family {
            if place == Some(CapturedAt::Client) {
                self.answered += u64::from(truth.answered);
            }
            self.reported += said.exchanges as u64;
            let alarm = |it: &Told| {
                let Told { kind, confidence, port, number, .. } = it;
                format!(
                    "{} {name}: {kind} ({confidence}), port {port}, exchange {number:?}",
                    truth.name
                )
            };
            self.false_alarms.extend(said.told.iter().map(alarm));
        }
    }
}

/// The cases in a folder, by name.
fn folders(folder: &Path, only: Option<Family>) -> anyhow::Result<Vec<PathBuf>> {
    let cannot = || format!("cannot read {}", folder.display());
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        if path.join(truth::FILE).exists()
            && only.is_none_or(|it| Truth::read(&path).is_ok_and(|truth| truth.family == it))
        {
            folders.push(path);
        }
    }
    ensure!(!folders.is_empty(), "no case in {} (expected */{})", folder.display(), truth::FILE);
    folders.sort();
    Ok(folders)
}

/// Why cases are no cases, one in a line.
const LEFT_OUT: &str = "left-out.txt";
