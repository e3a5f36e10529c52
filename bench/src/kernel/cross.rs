//! `cargo xtask bench kernel --cross`: pages that share a bottleneck with downloads.
//!
//! Which packets a queue drops depends on microseconds, so no two runs are alike, in the kernel or between the worlds.
//! What is compared is the mean over many runs of each world, with its confidence interval.

mod case;
mod judge;

use std::time::Duration;

use ackwise_live::{Limits, World, play};
use ackwise_sim::{Measures, Nobody, run as simulate};
use anyhow::{Context, ensure};
use xtask::process;

use self::case::{BOTTLENECK, CASES, Case, OTHERS, PAGES};
use self::judge::{Figures, Judged};
use super::{Settings, experiment, free_port, several::measure_all};

/// Compares both worlds in every case; the report.
///
/// # Errors
///
/// If the kernel cannot be measured here, or a run fails.
pub(super) fn run(settings: &Settings) -> anyhow::Result<String> {
    eprintln!("{}", case::RANGES);
    let cases = CASES.len() as u64;
    let numbers: Vec<u64> = (0..cases * settings.runs())
        .filter(|number| settings.only.is_none_or(|only| number % cases == only))
        .collect();
    ensure!(!numbers.is_empty(), "no such case (expected 0 to {})", cases - 1);
    // One run of each case after the other, so that what else the machine does is spread over all.
    let run = |number| pair(of(number), settings.seed * LARGEST_RUN + number / cases);
    let pairs = measure_all(&numbers, PARALLEL, run, Pair::line)?;
    let judged: Vec<Judged> = CASES
        .iter()
        .filter_map(|case| {
            let of_case = || pairs.iter().filter(|pair| pair.case == *case);
            let kernel: Vec<Figures> = of_case().map(|pair| pair.kernel).collect();
            (!kernel.is_empty()).then(|| Judged {
                name: case.name,
                kernel,
                simulated: of_case().flat_map(|pair| pair.simulated.iter().copied()).collect(),
                disturbed: of_case().filter(|pair| pair.disturbed).count(),
            })
        })
        .collect();
    Ok(match settings.json {
        true => format!("{:#}\n", judge::json(settings.seed, &judged)),
        false => judge::text(settings.seed, &judged),
    })
}

/// A run of the kernel, and the simulator's beside it.
struct Pair {
    case: Case,
    kernel: Figures,
    simulated: Vec<Figures>,
    disturbed: bool,
}

impl Pair {
    fn line(&self) -> String {
        format!("{}: {:.0} ms", self.case.name, self.kernel.page_time * 1e3)
    }
}

fn of(number: u64) -> Case {
    CASES[usize::try_from(number).unwrap_or(0) % CASES.len()]
}

fn pair(case: Case, seed: u64) -> anyhow::Result<Pair> {
    let toml = case.toml();
    let mut simulated = Vec::new();
    for nth in 0..SIMULATED {
        // The kernel's users draw what the first one's do.
        let scenario = experiment::scenario(&toml, &[], seed + nth * OTHER_SEED)?;
        simulated.push(figures(&simulate(&scenario, &mut Nobody)?)?);
    }
    let scenario = experiment::scenario(&toml, REAL, seed)?;
    let mut last = None;
    for _ in 0..=MOST_REPEATS {
        ensure!(!process::interrupted(), "interrupted");
        let limits = Limits { port: free_port(), ..Limits::default() };
        let played = play(&scenario, World::Kernel, &limits)?;
        let disturbed = played.disturbed.is_some();
        last = Some((figures(&played.measures)?, disturbed));
        if !disturbed {
            break;
        }
    }
    let (kernel, disturbed) = last.context("a run has been played")?;
    Ok(Pair { case, kernel, simulated, disturbed })
}

fn figures(measures: &Measures) -> anyhow::Result<Figures> {
    let application = |name| measures.applications.get(name).context("an application is missing");
    let pages = application(PAGES)?.mean_time().context("no page was fetched")?;
    let [_, back] = measures.links.get(BOTTLENECK).context("the link is missing")?;
    Ok(Figures {
        page_time: Duration::as_secs_f64(&pages),
        goodput: application(OTHERS)?.goodput,
        drop_rate: back.drop_rate,
    })
}

/// A real program takes time without being told to.
const REAL: &[&str] = &["application.web.behaviour.think=\"0 ms\""];
/// Simulated runs for each of the kernel's (our choice): the interval is then the kernel's.
const SIMULATED: u64 = 4;
/// Seeds of runs are apart by these.
const LARGEST_RUN: u64 = 1_000_000;
const OTHER_SEED: u64 = 1_000_000_000;
/// More plays of a run that was disturbed (our choice).
const MOST_REPEATS: u32 = 1;
/// Our choice, from how often a run was disturbed.
const PARALLEL: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_drops_and_delivers_in_the_simulator() {
        for case in CASES {
            let scenario = experiment::scenario(&case.toml(), &[], 1).unwrap();
            let figures = figures(&simulate(&scenario, &mut Nobody).unwrap()).unwrap();
            assert!(figures.page_time > 0.1 && figures.page_time < 3.0, "{case:?}: {figures:?}");
            assert!(figures.drop_rate > 0.0 && figures.goodput > 1e5, "{case:?}: {figures:?}");
        }
    }
}
