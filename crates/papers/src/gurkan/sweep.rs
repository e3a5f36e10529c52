//! Runs the thesis' cases, each with several seeds, and keeps what the tables show.

use std::{collections::BTreeMap, time::Duration};

use ackwise_lab::{
    experiment::{CaseValue, Experiment, Labels},
    run::Estimate,
};
use ackwise_link::Seed;
use ackwise_sim::{Measures, Nobody, Scenario};

use super::plan::{Load, Plan};
use crate::{
    Effort, ReproduceError,
    file::{File, experiment_file},
    runner::side_by_side,
};

/// What is taken of a run.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Quantity {
    /// The mean over pages of bytes / retrieval time, in bytes a second.
    RateMean,
    /// All bytes / the sum of all retrieval times, in bytes a second: the thesis' words.
    RateSum,
    /// Of the bottleneck towards the clients, in percent.
    Utilization,
    /// Of what was offered to the bottleneck towards the clients, in percent.
    Drop,
    /// Full segments of those with data, in percent.
    Filled,
    /// Connections for each page.
    Connections,
    /// The most connections at once, summed over the servers.
    MostOpen,
    /// What the FTP clients received, in bytes a second.
    Ftp,
    /// Retrieval time of a page, the mean, in milliseconds.
    PageMs,
}

impl Quantity {
    const ALL: [Self; 9] = [
        Self::RateMean,
        Self::RateSum,
        Self::Utilization,
        Self::Drop,
        Self::Filled,
        Self::Connections,
        Self::MostOpen,
        Self::Ftp,
        Self::PageMs,
    ];

    #[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^53 of anything")]
    fn of(self, measures: &Measures) -> Option<f64> {
        let web = measures.applications.get("web")?;
        let to_clients = measures.links.get("bottleneck")?[1];
        match self {
            Self::RateMean => web.rate_mean,
            Self::RateSum => web.rate_sum,
            Self::Utilization => to_clients.utilization.map(|share| share * 100.0),
            Self::Drop => Some(to_clients.drop_rate * 100.0),
            Self::Filled => {
                let segments = measures.segments;
                (segments.all > 0).then(|| 100.0 * segments.full as f64 / segments.all as f64)
            }
            Self::Connections => {
                (web.documents > 0).then(|| web.connections_opened as f64 / web.documents as f64)
            }
            Self::MostOpen => {
                let hosts = measures.hosts.iter();
                let servers = hosts.filter(|(name, _)| name.starts_with("server"));
                Some(servers.map(|(_, host)| host.most_open as f64).sum())
            }
            Self::Ftp => measures.applications.get("ftp").map(|ftp| ftp.goodput),
            Self::PageMs => {
                let total: Duration = web.times.iter().sum();
                (!web.times.is_empty()).then(|| total.as_secs_f64() * 1e3 / web.times.len() as f64)
            }
        }
    }
}

/// Which cases are run.
pub(super) type Wanted<'a> = &'a dyn Fn(Plan, Load) -> bool;

/// What one initial window gave, case by case.
#[derive(Clone, Debug)]
pub(super) struct Sweep {
    /// In segments.
    pub(super) window: u32,
    /// The hash of what was run.
    pub(super) experiment: String,
    cells: BTreeMap<(Plan, Load, Quantity), Estimate>,
}

impl Sweep {
    /// The mean over the seeds.
    ///
    /// # Errors
    ///
    /// If the case was not run, or has no such value.
    pub(super) fn mean(
        &self,
        plan: Plan,
        load: Load,
        quantity: Quantity,
    ) -> Result<f64, ReproduceError> {
        let estimate = self.estimate(plan, load, quantity);
        let case = || format!("{} {load:?} {quantity:?}", plan.name());
        estimate
            .map(|estimate| estimate.mean)
            .ok_or_else(|| ReproduceError::NoCase { case: case() })
    }

    /// Mean and spread, if the case was run.
    pub(super) fn estimate(&self, plan: Plan, load: Load, quantity: Quantity) -> Option<Estimate> {
        self.cells.get(&(plan, load, quantity)).copied()
    }
}

/// Runs the cases of `experiment` that are `wanted`, with an initial window of this number of
/// segments.
///
/// # Errors
///
/// If a run fails.
pub(super) fn run(
    experiment: &Experiment,
    window: u32,
    wanted: Wanted,
    effort: Effort,
) -> Result<Sweep, ReproduceError> {
    let experiment = experiment.with_set(&format!("tcp.initial_window={window}"))?;
    let seeds = match effort {
        Effort::Full => experiment.seeds(),
        Effort::Quick => &experiment.seeds()[..experiment.seeds().len().min(QUICK_SEEDS)],
    };
    let cases = experiment.cases().iter().filter_map(|case| {
        let (plan, load) = place(&case.labels)?;
        wanted(plan, load).then_some((plan, load, &case.scenario))
    });
    let rows: Vec<_> = cases.flat_map(|case| seeds.iter().map(move |&seed| (case, seed))).collect();
    let measured = side_by_side(&rows, |&((_, _, scenario), seed)| {
        let scenario = Scenario { seed: Seed(seed), ..scenario.clone() };
        let measures = ackwise_sim::run(&scenario, &mut Nobody)?;
        Ok(Quantity::ALL.map(|quantity| quantity.of(&measures)))
    });
    let mut values: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for (&((plan, load, _), _), row) in rows.iter().zip(measured) {
        let failed = |source| ReproduceError::Run { experiment: TABLES.name.to_owned(), source };
        let row = row.map_err(failed)?;
        for (quantity, value) in Quantity::ALL.into_iter().zip(row) {
            values.entry((plan, load, quantity)).or_default().extend(value);
        }
    }
    let cells = values.into_iter().filter_map(|(key, values)| Some((key, Estimate::of(&values)?)));
    let experiment = experiment.hash().to_owned();
    Ok(Sweep { window, experiment, cells: cells.collect() })
}

/// The experiment with another limit on the sizes of serial and parallel pages: above `most` bytes
/// they have 500.
///
/// # Errors
///
/// If the file is no experiment.
pub(super) fn with_sizes(most: u32) -> Result<Experiment, ReproduceError> {
    // Of 10,000 files: those that a Pareto distribution from 1,000 bytes on puts above the limit.
    let above = |shape: f64| (10_000.0 * (1_000.0 / f64::from(most)).powf(shape)).round();
    let mut text = TABLES.text.replace("\"30000 B\"", &format!("\"{most} B\""));
    for (shape, small, others) in [(0.91, "453", "9_547"), (1.24, "147", "9_853")] {
        let above = above(shape);
        text = text.replace(&format!("weight = {small},"), &format!("weight = {above:.0},"));
        let rest = 10_000.0 - above;
        text = text.replace(&format!("weight = {others},"), &format!("weight = {rest:.0},"));
    }
    Ok(Experiment::parse(TABLES.name, &text)?)
}

/// Which case of the file it is.
fn place(labels: &Labels) -> Option<(Plan, Load)> {
    let count = |name| u32::try_from(labels.get(name).and_then(CaseValue::as_integer)?).ok();
    let plan = Plan::named(&labels.get("plan")?.to_string())?;
    Some((plan, Load { web: count("web_clients")?, ftp: count("ftp_clients")? }))
}

pub(super) const TABLES: File = experiment_file!("gurkan_tables.toml");

/// Of a quick run: enough that one odd draw does not decide.
const QUICK_SEEDS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_sizes_change_what_is_drawn_and_the_printed_limit_does_not() {
        let hash = |most| with_sizes(most).unwrap().hash().to_owned();
        let file = Experiment::parse(TABLES.name, TABLES.text).unwrap();
        assert_eq!(hash(30_000), file.hash());
        assert_ne!(hash(15_000), file.hash());
        for weight in ["weight = 453,", "weight = 9_547,", "weight = 147,", "weight = 9_853,"] {
            assert!(TABLES.text.contains(weight), "{weight}");
        }
    }
}
