//! `cargo xtask bench kernel --short`: short exchanges, with the same packets lost in both worlds.
//!
//! A response of a few segments waits for timers if one is lost, and these count ticks: each play of the kernel
//! begins at the same time after a tick, and the simulator's clock stands where the kernel's did.

mod case;
mod judge;
mod keep;
mod play;
mod ticks;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::{Context, anyhow, ensure};
use xtask::process;

use self::case::Case;
use self::judge::Judged;
use self::play::Play;
use self::ticks::Ticks;
use super::Settings;
use crate::progress::Progress;

/// Compares both worlds in every case; the report.
///
/// # Errors
///
/// If the kernel cannot be measured here, or a case fails.
pub(super) fn run(settings: &Settings) -> anyhow::Result<String> {
    eprintln!("{}", case::RANGES);
    let numbers: Vec<u64> = match settings.only {
        Some(number) => vec![number],
        None => (0..settings.cases()).collect(),
    };
    let ticks = settings.kept.is_none().then(Ticks::find).transpose()?;
    let all = judge_all(settings, &numbers, ticks.as_ref())?;
    Ok(match settings.json {
        true => format!("{:#}\n", judge::json(settings.seed, &all)),
        false => judge::text(settings.seed, &all),
    })
}

/// Several at a time, because an exchange mostly waits.
fn judge_all(
    settings: &Settings,
    numbers: &[u64],
    ticks: Option<&Ticks>,
) -> anyhow::Result<Vec<Judged>> {
    let next = AtomicU64::new(0);
    let done = Mutex::new((Vec::new(), Progress::new(numbers.len() as u64)));
    let work = || -> anyhow::Result<()> {
        loop {
            let place = usize::try_from(next.fetch_add(1, Ordering::Relaxed))?;
            let Some(&number) = numbers.get(place) else { return Ok(()) };
            ensure!(!process::interrupted(), "interrupted");
            let case = Case::draw(settings.seed, number);
            let judged = judge(&case, settings, ticks).inspect_err(|_| {
                // The other threads begin no further case.
                next.store(numbers.len() as u64, Ordering::Relaxed);
            });
            let judged = judged.with_context(|| format!("case {number}, {case}"))?;
            let mut done = done.lock().expect("nobody panics with it");
            done.1.step(&judge::line(&judged));
            done.0.push(judged);
        }
    };
    let results: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..PARALLEL).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(thread::ScopedJoinHandle::join).collect()
    });
    for result in results {
        result.map_err(|_| anyhow!("a comparison panicked"))??;
    }
    let (mut all, _) = done.into_inner().map_err(|_| anyhow!("a comparison panicked"))?;
    all.sort_by_key(|it| it.case.number);
    Ok(all)
}

fn judge(case: &Case, settings: &Settings, ticks: Option<&Ticks>) -> anyhow::Result<Judged> {
    let plays = match (&settings.kept, ticks) {
        (Some(folder), _) => keep::kept(folder, case.number)?,
        (None, Some(ticks)) => plays(case, ticks)?,
        (None, None) => return Err(anyhow!("the ticks are not known")),
    };
    let mut times = Vec::new();
    for (nth, play) in (0..).zip(&plays) {
        let flow = play::simulated(case, play.phase)?;
        if let Some(folder) = &settings.keep {
            keep::keep(folder, case, nth, play, &flow)?;
        }
        let time = |flow, world| {
            play::time(case, flow).with_context(|| format!("{world} did not deliver everything"))
        };
        times.push([time(&play.flow, "the kernel")?, time(&flow, "the simulator")?]);
    }
    Ok(Judged { case: case.clone(), times })
}

/// Three undisturbed ones, or as many as there are.
fn plays(case: &Case, ticks: &Ticks) -> anyhow::Result<Vec<Play>> {
    let (mut plays, mut disturbed) = (Vec::new(), Vec::new());
    for _ in 0..PLAYS + MOST_REPEATS {
        ensure!(!process::interrupted(), "interrupted");
        match play::on_kernel(case, ticks)? {
            (play, None) => plays.push(play),
            (play, Some(_)) => disturbed.push(play),
        }
        if plays.len() == PLAYS {
            break;
        }
    }
    let missing = PLAYS - plays.len();
    plays.extend(disturbed.into_iter().take(missing));
    Ok(plays)
}

/// Plays of a case on the kernel.
const PLAYS: usize = 3;
/// More of them if some are disturbed (our choice).
const MOST_REPEATS: usize = 2;
/// Our choice, from how often a play was disturbed.
const PARALLEL: usize = 4;
