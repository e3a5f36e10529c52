//! What the thesis says in words, section by section. Rates are means over pages (`rate_mean`), which
//! come nearest in most tables.

mod http10;
mod http11;
mod proposals;
mod windows;

use super::{
    Runs,
    plan::{Load, Plan},
    sweep::{Quantity, Sweep},
};
use crate::reproduce::{ReproduceError, claim::Claim};

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

/// In octets a second.
fn rate(sweep: &Sweep, plan: Plan, load: Load) -> Result<f64, ReproduceError> {
    sweep.mean(plan, load, Quantity::RateMean)
}

/// In percent.
fn drops(sweep: &Sweep, plan: Plan, load: Load) -> Result<f64, ReproduceError> {
    sweep.mean(plan, load, Quantity::Drop)
}

/// For how many of `loads` something is so, and how many loads there are.
fn count(
    loads: impl Iterator<Item = Load>,
    mut is_so: impl FnMut(Load) -> Result<bool, ReproduceError>,
) -> Result<Count, ReproduceError> {
    let mut count = Count { so: 0, of: 0 };
    for load in loads {
        count.of += 1;
        count.so += u32::from(is_so(load)?);
    }
    Ok(count)
}

/// So many of so many.
#[derive(Clone, Copy, Debug)]
struct Count {
    so: u32,
    of: u32,
}

impl Count {
    const fn is_all(self) -> bool {
        self.so == self.of
    }

    fn numbers(self) -> [(&'static str, f64); 2] {
        [("rows_so", self.so.into()), ("rows", self.of.into())]
    }
}
