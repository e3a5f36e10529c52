//! What the thesis says in words, section by section.
//!
//! The thesis defines its rate in words ("the ratio of total bytes retrieved ... to the time of
//! retrieval of those pages", section 4.1: the sum), and prints what is nearer to the mean in most
//! tables. A claim about rates is tried by both, and the thesis' definition comes first.

mod http10;
mod http11;
mod printed;
mod proposals;
mod windows;

use super::{
    Base, Runs,
    plan::{Load, Plan},
    sweep::{Quantity, Sweep},
};
use crate::{
    ReproduceError,
    claim::Claim,
    verdict::{Test, cases},
};

/// All claims, in the order of the thesis. What other values for what was fitted change is no verdict.
pub(super) fn all(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = of(&runs.base)?;
    for (other, base) in &runs.refitted {
        for (claim, refitted) in claims.iter_mut().zip(of(base)?) {
            claim.compare_with(other, &refitted);
        }
    }
    claims.extend(proposals::caches(runs)?);
    claims.push(proposals::transactions(runs)?);
    claims.extend(proposals::overhead(runs)?);
    Ok(claims)
}

fn of(base: &Base) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = http10::claims(&base.usual)?;
    claims.extend(http11::claims(&base.usual)?);
    claims.extend(windows::claims(base)?);
    claims.extend(proposals::claims(&base.usual)?);
    Ok(claims)
}

/// A load: web clients, FTP clients.
const fn load(web: u32, ftp: u32) -> Load {
    Load { web, ftp }
}

/// Both definitions of the rate, the thesis' own first, as everything here that comes in pairs.
const RATES: [Quantity; 2] = [Quantity::RateSum, Quantity::RateMean];

/// Tests by both definitions of the rate.
fn by_rates(
    tests: impl Fn(Quantity) -> Result<Vec<Test>, ReproduceError>,
) -> Result<[Vec<Test>; 2], ReproduceError> {
    Ok([tests(RATES[0])?, tests(RATES[1])?])
}

/// In bytes a second, by both definitions.
fn rates(sweep: &Sweep, plan: Plan, load: Load) -> Result<[f64; 2], ReproduceError> {
    Ok([sweep.mean(plan, load, RATES[0])?, sweep.mean(plan, load, RATES[1])?])
}

/// How much faster one plan is than another, in percent, by one definition.
fn gain(
    sweep: &Sweep,
    [one, other]: [Plan; 2],
    load: Load,
    rate: Quantity,
) -> Result<f64, ReproduceError> {
    Ok((sweep.mean(one, load, rate)? / sweep.mean(other, load, rate)? - 1.0) * 100.0)
}

/// In percent.
fn drops(sweep: &Sweep, plan: Plan, load: Load) -> Result<f64, ReproduceError> {
    sweep.mean(plan, load, Quantity::Drop)
}

/// The test that something is so at every one of `loads`.
fn everywhere(
    measure: &str,
    loads: impl Iterator<Item = Load>,
    is_so: impl Fn(Load) -> Result<bool, ReproduceError>,
) -> Result<Test, ReproduceError> {
    let (so, of) = tally(loads, is_so)?;
    Ok(cases(measure, so, of).every())
}

/// At how many of `loads` something is so, and how many there are.
fn tally(
    loads: impl Iterator<Item = Load>,
    is_so: impl Fn(Load) -> Result<bool, ReproduceError>,
) -> Result<(u32, u32), ReproduceError> {
    let (mut so, mut of) = (0, 0);
    for load in loads {
        of += 1;
        so += u32::from(is_so(load)?);
    }
    Ok((so, of))
}

/// What was fitted to the thesis' own tables.
const SIZES: &str = "the 30,000 bytes above which files of serial and parallel pages have 500, on \
                     the rates of 8/0, 16/0 and 32/0";
const WINDOW: &str = "the maximum window, on the utilizations with one FTP client";
