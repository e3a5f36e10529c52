//! Section 2.4's remedy: rate-based pacing after an idle time.
//!
//! | file | one idea |
//! | --- | --- |
//! | `region` | which policy wins by window, buffer and reply |
//! | `links` | how often following a link slow-starts |
//! | `claims` | what the papers say of it |

mod claims;
mod links;
mod region;

use ackwise_sim::observe::Nobody;

use crate::{
    ReproduceError,
    file::{File, experiment_file},
    runner::{self, Outcome},
    study::{self, Measure},
    table::ComparisonTable,
};
pub(super) use claims::claims;
use links::Links;
use region::Region;
pub(super) use region::figure;

/// What the experiments gave.
pub(super) struct Pacing {
    region: Region,
    links: Vec<Outcome<Links>>,
    policies: Vec<Outcome<Nobody>>,
    starts: Vec<Outcome<Nobody>>,
    stale: Vec<Outcome<Nobody>>,
    competing: Vec<Outcome<Nobody>>,
    requests: Vec<Outcome<Nobody>>,
    tables: Vec<ComparisonTable>,
}

impl Pacing {
    /// The longest queue with a policy of `restart_policies.toml`, whose buffer holds every burst.
    pub(super) fn most_queued(&self, policy: &str) -> Result<f64, ReproduceError> {
        value(&self.policies, most_queued, &[("buffer", "40"), ("policy", policy)])
    }

    pub(super) fn into_tables(self) -> impl Iterator<Item = ComparisonTable> {
        self.tables.into_iter()
    }
}

pub(super) fn run() -> Result<Pacing, ReproduceError> {
    let region = Region::run()?;
    let policies = runner::run(POLICIES, |_| Nobody)?;
    let stale = runner::run(STALE, |_| Nobody)?;
    let competing = runner::run(COMPETING, |_| Nobody)?;
    let requests = runner::run(REQUESTS, |_| Nobody)?;
    let starts = runner::run(STARTS, |_| Nobody)?;
    let links = runner::run(LINKS, |_| Links::default())?;
    let tables = vec![
        region.table(),
        study::table(
            ("restart_policies", "Every policy for the window after an idle time"),
            POLICIES,
            PATH,
            &policies,
        ),
        study::table(
            ("restart_stale", "The path changes while the connection is idle"),
            STALE,
            PATH,
            &stale,
        ),
        study::table(
            ("restart_competing", "Ten users and a long transfer, all with the same policy"),
            COMPETING,
            SHARED,
            &competing,
        ),
        study::table(
            ("restart_request", "A request that arrives while the server paces"),
            REQUESTS,
            PATH,
            &requests,
        ),
        study::table(
            ("paced_start", "The first window of a new connection, at once and paced"),
            STARTS,
            PATH,
            &starts,
        ),
        study::table(
            ("restart_links", "Links that begin with a window that was cut while the user read"),
            LINKS,
            &[("followed", followed), ("cut_pct", cut_pct)],
            &links,
        ),
    ];
    Ok(Pacing { region, links, policies, starts, stale, competing, requests, tables })
}

const POLICIES: File = experiment_file!("restart_policies.toml");
const STALE: File = experiment_file!("restart_stale.toml");
const COMPETING: File = experiment_file!("restart_competing.toml");
const REQUESTS: File = experiment_file!("restart_request.toml");
const STARTS: File = experiment_file!("paced_start.toml");
const LINKS: File = experiment_file!("restart_links.toml");

const PATH: &[Measure<Nobody>] =
    &[("page_ms", page_ms), ("drop_pct", drop_pct), ("most_queued", most_queued)];
const SHARED: &[Measure<Nobody>] = &[
    ("page_ms", page_ms),
    ("transfer_kbps", transfer_kbps),
    ("drop_pct", drop_pct),
    ("most_queued", most_queued),
];

/// The mean time of a page, in milliseconds.
fn page_ms<O>(outcome: &Outcome<O>) -> Option<f64> {
    let time = outcome.measures.applications.get("web")?.mean_time()?;
    Some(time.as_secs_f64() * 1e3)
}

/// What the long transfer gets, in kilobits a second.
fn transfer_kbps<O>(outcome: &Outcome<O>) -> Option<f64> {
    Some(outcome.measures.applications.get("ftp")?.goodput * 8.0 / 1e3)
}

/// Drops at the bottleneck towards the clients, in percent.
fn drop_pct<O>(outcome: &Outcome<O>) -> Option<f64> {
    bottleneck(outcome).map(|there| there.drop_rate * 100.0)
}

/// The longest queue there, in packets.
#[expect(clippy::cast_precision_loss, reason = "a queue has not 2^53 packets")]
fn most_queued<O>(outcome: &Outcome<O>) -> Option<f64> {
    bottleneck(outcome).map(|there| there.most_queued as f64)
}

fn bottleneck<O>(outcome: &Outcome<O>) -> Option<&ackwise_sim::measure::DirectionMeasures> {
    let links = &outcome.measures.links;
    links.get("bottleneck").or_else(|| links.get("path")).map(|[_, back]| back)
}

#[expect(clippy::cast_precision_loss, reason = "there are not 2^53 links")]
fn followed(outcome: &Outcome<Links>) -> Option<f64> {
    Some(outcome.seen.followed as f64)
}

fn cut_pct(outcome: &Outcome<Links>) -> Option<f64> {
    outcome.seen.cut_pct()
}

/// The value of `measure` in the case with these names and values.
fn value<O>(
    outcomes: &[Outcome<O>],
    measure: fn(&Outcome<O>) -> Option<f64>,
    labels: &[(&str, &str)],
) -> Result<f64, ReproduceError> {
    let found = outcomes.iter().find(|outcome| outcome.matches(labels)).and_then(measure);
    found.ok_or_else(|| ReproduceError::NoCase { case: format!("{labels:?}") })
}
