//! Okamoto et al. 2001: Figures 4 and 5 on the kernel.
//!
//! | module | one idea |
//! | --- | --- |
//! | `claims` | what the paper says of the schemes, and what the manager alone gives |
//! | `proxies` | proxies of others: their configuration, and `ackwise tune` beside them |
//!
//! The reference relay of `ackwise-live` is the only place where all four schemes exist as printed. At a proxy of
//! others, scheme 1 is the proxy as it is, 2 is `tune --buffer-memory`, 3 is `tune`'s manager, 4 is both. Runs are
//! shortened from 300 s to 60 s and nothing is scaled.

mod claims;
mod proxies;

use std::{num::NonZeroU32, path::PathBuf, time::Duration};

use ackwise_lab::experiment::{Case, CaseValue, Experiment, Labels};
use ackwise_link::Seed;
use ackwise_live::proxied::{Relaying, play_proxied};
use ackwise_sim::{Nobody, Scenario};

pub use proxies::Relay;

use super::{KernelClaim, KernelRow, KernelTable};
use crate::{
    Effort, ReproduceError,
    okamoto::sweep::{CLASSES, FILE, Run, SCHEMES, Sweep},
};

/// Which of the paper's points are played. Each takes four schemes of a minute for each run.
#[derive(Clone, Debug)]
pub struct Points {
    /// Who relays.
    pub relays: Vec<Relay>,
    /// Numbers of clients.
    pub clients: Vec<u32>,
    /// Schemes, "1" to "4".
    pub schemes: Vec<&'static str>,
    /// The program whose `tune` makes schemes 2 to 4 of a proxy of others.
    pub ackwise: PathBuf,
}

impl Points {
    /// Schemes that the paper has.
    pub const SCHEMES: [&str; 4] = SCHEMES;

    /// The reference relay at the ends of the figures: what every run has if nobody asks for more.
    #[must_use]
    pub fn few(ackwise: PathBuf) -> Self {
        Self {
            relays: vec![Relay::Reference],
            clients: vec![50, 500],
            schemes: SCHEMES.to_vec(),
            ackwise,
        }
    }
}

/// One number of clients with one scheme, in all worlds.
struct Point {
    clients: u32,
    scheme: &'static str,
    paper: Run,
    linux: Run,
}

/// Plays the points, and simulates them.
pub(super) fn run(
    (effort, repeat): (Effort, Option<NonZeroU32>),
    points: &Points,
    progress: &mut dyn FnMut(&str),
) -> Result<(Vec<KernelTable>, Vec<KernelClaim>), ReproduceError> {
    let (duration, clients): (_, &[u32]) = match effort {
        Effort::Full => ("duration=60 s", &points.clients),
        Effort::Quick => (QUICK, &[QUICK_CLIENTS]),
    };
    let repeat = repeat.map_or(1, NonZeroU32::get);
    let [paper, linux] =
        [experiment(&[duration], effort)?, experiment(&with_linux(duration), effort)?];
    let mut simulated = Vec::new();
    for &clients in clients {
        for &scheme in &points.schemes {
            progress(&format!("okamoto: simulating {clients} clients, scheme {scheme}"));
            let run =
                |experiment: &Experiment| simulate(&case(experiment, clients, scheme)?, clients);
            simulated.push(Point { clients, scheme, paper: run(&paper)?, linux: run(&linux)? });
        }
    }
    let title = format!("Okamoto 2001, Figures 4 and 5: {} of the paper's 300 s", &duration[9..]);
    let mut table = KernelTable { id: "okamoto_figures".into(), title, rows: Vec::new() };
    let mut all = Vec::new();
    for relay in &points.relays {
        let mut sweep = Sweep::default();
        for point in &simulated {
            let case = case(&linux, point.clients, point.scheme)?;
            let mut disturbed = 0;
            for number in 0..repeat {
                let scenario =
                    Scenario { seed: Seed((number + 1).into()), ..case.scenario.clone() };
                let step = format!(
                    "okamoto: {}, scheme {}, {} clients, run {} of {repeat}",
                    relay.name(),
                    point.scheme,
                    point.clients,
                    number + 1
                );
                let played = play(*relay, point, (&scenario, points), &step, progress)?;
                disturbed += u32::from(played.1);
                sweep.push(point.clients, point.scheme, played.0);
            }
            table.rows.extend(rows(
                *relay,
                point,
                sweep.runs(point.clients, point.scheme),
                disturbed,
            ));
        }
        all.extend(claims::claims(relay.name(), &sweep));
    }
    Ok((vec![table], all))
}

/// One run, and whether it was disturbed.
fn play(
    relay: Relay,
    point: &Point,
    (scenario, points): (&Scenario, &Points),
    step: &str,
    progress: &mut dyn FnMut(&str),
) -> Result<(Run, bool), ReproduceError> {
    progress(step);
    let all = scenario.duration.as_secs();
    let mut tell = |at: Duration| progress(&format!("{step}: {} of {all} s", at.as_secs()));
    let managed = relay.managed(point.scheme, &points.ackwise);
    let by = managed.as_ref().map_or(Relaying::Reference, |it| Relaying::Program(it));
    let played = play_proxied(scenario, by, &mut tell)
        .map_err(|source| ReproduceError::Play { experiment: step.to_owned(), source })?;
    let run = Run::of_proxy(played.measures, point.clients as usize);
    Ok((run, played.disturbed.is_some()))
}

/// The paper's file with what makes it short enough, and comparable: a newcomer waits at the proxy for a place, as the
/// kernel has it.
fn experiment(settings: &[&str], effort: Effort) -> Result<Experiment, ReproduceError> {
    let few = "application.web.n_max=6";
    let quick: &[&str] = match effort {
        Effort::Full => &[],
        Effort::Quick => &[few, "application.web.reserved=2", "application.web.think=100 ms"],
    };
    let settings = settings.iter().chain(quick).copied().chain(["application.web.refused=queue"]);
    let text = match effort {
        Effort::Full => FILE.text.to_owned(),
        Effort::Quick => FILE.text.replace("[50, 100, 200, 500]", "[8]"),
    };
    Ok(Experiment::parse(FILE.name, &text)?.with_all_set(settings)?)
}

fn with_linux(duration: &'static str) -> Vec<&'static str> {
    let linux = ["tcp.preset=linux-6", "tcp.congestion=cubic", "tcp.sack=true"];
    linux.into_iter().chain(["tcp.initial_window=rfc-6928", duration]).collect()
}

fn case(experiment: &Experiment, clients: u32, scheme: &str) -> Result<Case, ReproduceError> {
    let is = |labels: &Labels| {
        labels.get("clients").and_then(CaseValue::as_integer) == Some(clients.into())
            && labels.get("scheme").is_some_and(|it| it.to_string() == scheme)
    };
    let found = experiment.cases().iter().find(|case| is(&case.labels)).cloned();
    let case = || format!("clients = {clients}, scheme = {scheme}");
    found.ok_or_else(|| ReproduceError::NoCase { case: case() })
}

fn simulate(case: &Case, clients: u32) -> Result<Run, ReproduceError> {
    let scenario = Scenario { seed: Seed(1), ..case.scenario.clone() };
    let failed = |source| ReproduceError::Run { experiment: FILE.name.to_owned(), source };
    let measures = ackwise_sim::run(&scenario, &mut Nobody).map_err(failed)?;
    let proxy = measures.applications["web"].proxy.as_deref().cloned().unwrap_or_default();
    Ok(Run::of_proxy(proxy, clients as usize))
}

/// A value of a run, by name.
type Measure = (String, Box<dyn Fn(&Run) -> Option<f64>>);

fn rows(relay: Relay, point: &Point, runs: &[Run], disturbed: u32) -> Vec<KernelRow> {
    let labels = [
        ("by", CaseValue::Text(relay.name().to_owned())),
        ("clients", CaseValue::Integer(point.clients.into())),
        ("scheme", CaseValue::Text(point.scheme.to_owned())),
    ];
    let case: Labels = labels.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
    let mut measures: Vec<Measure> = vec![
        ("web.bytes_both".to_owned(), Box::new(|run| Some(run.bytes_both()))),
        ("web.clients_served".to_owned(), Box::new(|run| Some(run.clients_served()))),
        ("web.documents".to_owned(), Box::new(|run| Some(run.documents))),
        ("web.page_time_p50_ms".to_owned(), Box::new(|run| run.median_ms)),
    ];
    for (at, (_, name)) in CLASSES.iter().enumerate() {
        let of = move |run: &Run| run.times[at].map(|(mean, _)| mean);
        measures.push((format!("web.time_ms.{name}"), Box::new(of)));
    }
    let all = u32::try_from(runs.len()).unwrap_or(u32::MAX);
    let row = |(measure, of): Measure| {
        let mut values: Vec<f64> = runs.iter().filter_map(&of).collect();
        values.sort_by(f64::total_cmp);
        KernelRow {
            case: case.clone(),
            measure,
            published: None,
            model: None,
            paper_tcp: of(&point.paper),
            linux_6: of(&point.linux),
            kernel: values.get(values.len() / 2).copied(),
            kernel_range: values.first().copied().zip(values.last().copied()).map(Into::into),
            runs: all - disturbed,
            disturbed,
            drops: true,
            // One seed of heavy-tailed sizes decides no distance.
            within_limit: None,
        }
    };
    measures.into_iter().map(row).collect()
}

/// A short run with few clients and places, for a test.
const QUICK: &str = "duration=4 s";
const QUICK_CLIENTS: u32 = 8;
