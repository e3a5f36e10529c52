//! `cargo xtask bench kernel --short`: short exchanges, with the same packets lost in both worlds.
//!
//! A response of a few segments waits for timers if one is lost, and these count ticks: each play of the kernel
//! begins at the same time after a tick, and the simulator's clock stands where the kernel's did.

mod case;
mod judge;
mod keep;
mod play;
mod ticks;

use anyhow::{Context, anyhow, ensure};
use xtask::process;

use self::case::Case;
use self::judge::Judged;
use self::play::Play;
use self::ticks::Ticks;
use super::{Settings, several::measure_all};

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
    let judge = |number| {
        let case = Case::draw(settings.seed, number);
        judge(&case, settings, ticks.as_ref()).with_context(|| format!("case {number}, {case}"))
    };
    let all = measure_all(&numbers, PARALLEL, judge, judge::line)?;
    Ok(match settings.json {
        true => format!("{:#}\n", judge::json(settings.seed, &all)),
        false => judge::text(settings.seed, &all),
    })
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
