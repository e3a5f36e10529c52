//! What the thesis says in words, section by section.
//!
//! The thesis defines its rate in words (the sum), and prints what is nearer to the mean in most
//! tables. A claim about rates is tried by both; where only one of them gives it, that is said.

mod http10;
mod http11;
mod proposals;
mod windows;

use super::{
    Runs,
    plan::{Load, Plan},
    sweep::{Quantity, Sweep},
};
use crate::reproduce::{
    ReproduceError,
    claim::{Claim, Holds},
};

/// All claims, in the order of the thesis.
pub(super) fn all(runs: &Runs) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = http10::claims(&runs.usual)?;
    claims.extend(http11::claims(&runs.usual)?);
    claims.extend(windows::claims(runs)?);
    claims.extend(proposals::claims(&runs.usual)?);
    Ok(claims)
}

/// A load: web clients, FTP clients.
const fn load(web: u32, ftp: u32) -> Load {
    Load { web, ftp }
}

/// Both definitions of the rate, in the order of everything here that comes in pairs.
const RATES: [Quantity; 2] = [Quantity::RateMean, Quantity::RateSum];

/// In bytes a second, by both definitions.
fn rates(sweep: &Sweep, plan: Plan, load: Load) -> Result<[f64; 2], ReproduceError> {
    Ok([sweep.mean(plan, load, RATES[0])?, sweep.mean(plan, load, RATES[1])?])
}

/// How much faster one plan is than another, in percent, by both definitions.
fn gains(sweep: &Sweep, [one, other]: [Plan; 2], load: Load) -> Result<[f64; 2], ReproduceError> {
    let (one, other) = (rates(sweep, one, load)?, rates(sweep, other, load)?);
    Ok([0, 1].map(|rate| (one[rate] / other[rate] - 1.0) * 100.0))
}

/// In percent.
fn drops(sweep: &Sweep, plan: Plan, load: Load) -> Result<f64, ReproduceError> {
    sweep.mean(plan, load, Quantity::Drop)
}

/// For how many of `loads` something is so by each definition of the rate.
fn count(
    loads: impl Iterator<Item = Load>,
    is_so: impl Fn(Quantity, Load) -> Result<bool, ReproduceError>,
) -> Result<Count, ReproduceError> {
    let mut count = Count::default();
    for load in loads {
        count.add([is_so(RATES[0], load)?, is_so(RATES[1], load)?]);
    }
    Ok(count)
}

/// For how many of `loads` something is so that is no matter of rates.
fn tally(
    loads: impl Iterator<Item = Load>,
    is_so: impl Fn(Load) -> Result<bool, ReproduceError>,
) -> Result<Tally, ReproduceError> {
    let mut tally = Tally::default();
    for load in loads {
        tally.of += 1;
        tally.so += u32::from(is_so(load)?);
    }
    Ok(tally)
}

/// `so` cases of `of`.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    so: u32,
    of: u32,
}

impl Tally {
    const fn is_all(self) -> bool {
        self.so == self.of
    }

    fn numbers(self) -> [(&'static str, f64); 2] {
        [("rows_so", self.so.into()), ("rows", self.of.into())]
    }
}

/// `so` cases of `of`, by the mean and by the sum.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    so: [u32; 2],
    of: u32,
}

impl Count {
    fn add(&mut self, is_so: [bool; 2]) {
        self.of += 1;
        for (so, is_so) in self.so.iter_mut().zip(is_so) {
            *so += u32::from(is_so);
        }
    }

    /// Whether it is so everywhere.
    fn is_all(self) -> Holds {
        self.so.map(|so| so == self.of).into()
    }

    fn numbers(self) -> [(&'static str, f64); 3] {
        let [mean, sum] = self.so.map(f64::from);
        [("rows_so_by_mean", mean), ("rows_so_by_sum", sum), ("rows", self.of.into())]
    }
}
