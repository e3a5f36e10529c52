//! Two servers side by side: short runs in turn, so that what disturbs this host affects both, and
//! ratios with intervals.
//!
//! | module | purpose |
//! | --- | --- |
//! | `text`, `json` | the comparison for people and for programs |

mod json;
mod text;

use std::ops::ControlFlow;

use ackwise_net::Target;
use ackwise_units::statistics::median;

use super::{LoadError, LoadOptions, LoadReport, Progress, StackMode, load};
use crate::generator::EndReason;

pub use ackwise_units::statistics::Ratio;
pub use json::{ComparisonDocument, comparison_json};
pub use text::comparison_text;

/// The results of two servers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// The URL of each.
    pub targets: [String; 2],
    /// One run of each in each round.
    pub rounds: Vec<[LoadReport; 2]>,
    /// Whether the user stopped it.
    pub interrupted: bool,
}

/// What is compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Measure {
    /// The mean latency.
    Mean,
    /// The median latency.
    P50,
    /// The 90th percentile of the latencies.
    P90,
    /// The 99th percentile of the latencies.
    P99,
    /// Responses per second.
    Rate,
}

impl Measure {
    /// All of them, in the order of the reports.
    pub const ALL: [Self; 5] = [Self::Mean, Self::P50, Self::P90, Self::P99, Self::Rate];

    /// The name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P99 => "p99",
            Self::Rate => "rate",
        }
    }

    /// The value in a run: milliseconds, or responses per second. `None` if nothing was answered.
    #[must_use]
    pub fn of(self, report: &LoadReport) -> Option<f64> {
        let latency = report.latency?;
        let latency = match self {
            Self::Mean => latency.mean,
            Self::P50 => latency.p50,
            Self::P90 => latency.p90,
            Self::P99 => latency.p99,
            Self::Rate => return Some(report.rate()),
        };
        Some(latency.as_secs_f64() * 1e3)
    }
}

impl Comparison {
    /// The second server's values relative to the first one's; `None` if too few rounds have both.
    #[must_use]
    pub fn ratio(&self, measure: Measure) -> Option<Ratio> {
        let pairs = self.rounds.iter().filter_map(|[first, second]| {
            Some(measure.of(second)? / measure.of(first)?).filter(|ratio| ratio.is_finite())
        });
        Ratio::of(pairs)
    }

    /// The median over the rounds of one server's value.
    #[must_use]
    pub fn median(&self, measure: Measure, server: usize) -> Option<f64> {
        let values = self.rounds.iter().filter_map(|round| measure.of(&round[server]));
        median(values)
    }

    /// Requests of one server: all, and those that failed.
    #[must_use]
    pub fn requests(&self, server: usize) -> (u64, u64) {
        let runs = || self.rounds.iter().map(|round| &round[server]);
        (runs().map(|run| run.requests).sum(), runs().map(|run| run.failed).sum())
    }

    /// Whether every run was complete.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        !self.interrupted && self.rounds.iter().flatten().all(LoadReport::is_complete)
    }
}

/// Loads the server of `options` and that of `other` in turn, ten times each. Limits of
/// requests, connections and time are those of all rounds together, for each server.
///
/// # Errors
///
/// As for [`load`], or if an option does not fit.
pub fn load_against(
    options: &LoadOptions,
    other: &Target,
    watch: &mut dyn FnMut(Progress) -> ControlFlow<()>,
) -> Result<Comparison, LoadError> {
    if options.stack()? != StackMode::Kernel {
        let text = "cannot use --against with the ackwise stack (expected --stack kernel)";
        return Err(LoadError::Options(text.to_owned()));
    }
    if !options.more.is_empty() {
        let text = "cannot use --against with --urls: they belong to one server (expected one URL)";
        return Err(LoadError::Options(text.to_owned()));
    }
    let first = share(options);
    let second = LoadOptions { target: other.clone(), ..first.clone() };
    let mut comparison = Comparison {
        targets: [&first, &second].map(|options| options.target.to_string()),
        rounds: Vec::new(),
        interrupted: false,
    };
    for round in 0..ROUNDS {
        // The order changes, so that drift favours neither.
        let is_second_first = round % 2 == 1;
        let order = if is_second_first { [&second, &first] } else { [&first, &second] };
        let mut reports = Vec::new();
        for options in order {
            let report = load(options, watch)?;
            if report.ended == EndReason::Stopped {
                comparison.interrupted = true;
                return Ok(comparison);
            }
            reports.push(report);
        }
        if is_second_first {
            reports.reverse();
        }
        comparison.rounds.extend(<[LoadReport; 2]>::try_from(reports));
    }
    Ok(comparison)
}

/// The part of each round.
fn share(options: &LoadOptions) -> LoadOptions {
    let part = |all: u64| all.div_ceil(u64::from(ROUNDS));
    LoadOptions {
        connections: options.connections.map(part),
        requests: options.requests.map(part),
        duration: options.duration.map(|all| all / ROUNDS),
        ..options.clone()
    }
}

/// Runs of each server (our choice): the interval of ten pairs leaves out one at each end.
const ROUNDS: u32 = 10;
