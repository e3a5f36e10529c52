//! Runs of the paper's simulation, and what is kept of them.

use std::{collections::BTreeMap, time::Duration};

use ackwise_link::Seed;
use ackwise_sim::{
    Nobody, Scenario,
    measure::{ApplicationMeasures, ProxyMeasures, Response},
};

use crate::{
    Effort, ReproduceError,
    file::{File, experiment_file},
    runner::side_by_side,
};
use ackwise_lab::experiment::{CaseValue, Experiment, Labels};

/// Numbers of clients, as printed.
pub(super) const CLIENTS: [u32; 4] = [50, 100, 200, 500];

/// The paper's schemes.
pub(crate) const SCHEMES: [&str; 4] = ["1", "2", "3", "4"];

/// All that the file compares.
pub(super) const ALL: [&str; 6] = ["1", "2", "3", "4", "no-persistence", "no-proxy"];

/// Below which size a class of documents ends, in bytes; the last has no end. Ours: half decades.
pub(crate) const CLASSES: [(u64, &str); 8] = [
    (3_000, "lt_3k"),
    (10_000, "lt_10k"),
    (30_000, "lt_30k"),
    (100_000, "lt_100k"),
    (300_000, "lt_300k"),
    (1_000_000, "lt_1m"),
    (3_000_000, "lt_3m"),
    (u64::MAX, "from_3m"),
];

/// What is kept of one run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) proxy: ProxyMeasures,
    pub(crate) documents: f64,
    pub(crate) median_ms: Option<f64>,
    /// Documents of each class of sizes: the mean response time in milliseconds, and how many.
    pub(crate) times: [Option<(f64, u32)>; CLASSES.len()],
    /// The same with documents that were still waited for, which count with the time waited so far.
    pub(super) at_least: [Option<(f64, u32)>; CLASSES.len()],
    /// By client: bytes a second of all its documents.
    pub(super) rates: Vec<Option<f64>>,
}

impl Run {
    /// Figure 4: "the total size of the documents transferred in both directions".
    #[expect(clippy::cast_precision_loss, reason = "a run moves fewer than 2^53 bytes")]
    pub(crate) fn bytes_both(&self) -> f64 {
        (self.proxy.bytes_to_clients + self.proxy.bytes_from_servers) as f64
    }

    /// Clients that received a document.
    #[cfg(target_os = "linux")]
    pub(crate) fn clients_served(&self) -> f64 {
        f64::from(u32::try_from(self.rates.iter().flatten().count()).unwrap_or(u32::MAX))
    }

    fn of(measures: &ApplicationMeasures, clients: usize) -> Option<Self> {
        let run = Self::of_proxy(measures.proxy.as_deref()?.clone(), clients);
        let median_ms = measures.percentile(0.5).map(millis);
        let documents = f64::from(u32::try_from(measures.documents).unwrap_or(u32::MAX));
        Some(Self { documents, median_ms, ..run })
    }

    /// The same of a proxy's measures alone, which are all that the kernel's runs have.
    pub(crate) fn of_proxy(mut proxy: ProxyMeasures, clients: usize) -> Self {
        let mut sorted: Vec<f64> = proxy.responses.iter().map(|it| millis(it.time)).collect();
        sorted.sort_by(f64::total_cmp);
        let median_ms = sorted.get(sorted.len() / 2).copied();
        let whole = proxy.responses.iter().map(|it| (it.bytes, it.time));
        let waiting = proxy.unfinished.iter().map(|it| (it.bytes, it.waited));
        let (times, at_least) = (by_class(whole.clone()), by_class(whole.chain(waiting)));
        let rates = rates(&proxy.responses, clients);
        let documents = f64::from(u32::try_from(proxy.responses.len()).unwrap_or(u32::MAX));
        proxy.responses = Vec::new();
        Self { proxy, documents, median_ms, times, at_least, rates }
    }
}

fn by_class(
    documents: impl Iterator<Item = (u64, Duration)>,
) -> [Option<(f64, u32)>; CLASSES.len()] {
    let mut sums = [(0.0, 0); CLASSES.len()];
    for (bytes, time) in documents {
        let class = CLASSES.iter().position(|(below, _)| bytes < *below);
        let (sum, count) = &mut sums[class.unwrap_or(CLASSES.len() - 1)];
        *sum += millis(time);
        *count += 1;
    }
    sums.map(|(sum, count)| (count > 0).then(|| (sum / f64::from(count), count)))
}

#[expect(clippy::cast_precision_loss, reason = "a run moves fewer than 2^53 bytes")]
fn rates(responses: &[Response], clients: usize) -> Vec<Option<f64>> {
    let mut sums = vec![(0, Duration::ZERO); clients];
    for response in responses {
        if let Some((bytes, time)) = sums.get_mut(response.client as usize) {
            *bytes += response.bytes;
            *time += response.time;
        }
    }
    let rate = |(bytes, time): (u64, Duration)| {
        (!time.is_zero()).then(|| bytes as f64 / time.as_secs_f64())
    };
    sums.into_iter().map(rate).collect()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Runs by number of clients and by scheme, one for each seed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sweep {
    runs: BTreeMap<(u32, String), Vec<Run>>,
}

impl Sweep {
    /// One for each seed, in order.
    pub(crate) fn runs(&self, clients: u32, scheme: &str) -> &[Run] {
        self.runs.get(&(clients, scheme.to_owned())).map_or(&[], Vec::as_slice)
    }

    /// Adds a run.
    #[cfg(target_os = "linux")]
    pub(crate) fn push(&mut self, clients: u32, scheme: &str, run: Run) {
        self.runs.entry((clients, scheme.to_owned())).or_default().push(run);
    }

    /// Every combination that was run, in order.
    pub(super) fn cases(&self) -> impl Iterator<Item = (u32, &str)> {
        let schemes = |clients| ALL.into_iter().map(move |scheme| (clients, scheme));
        let cases = CLIENTS.into_iter().flat_map(schemes);
        cases.filter(|(clients, scheme)| !self.runs(*clients, scheme).is_empty())
    }
}

/// Everything that the file has.
pub(super) fn all(seeds: usize) -> Result<Sweep, ReproduceError> {
    run(&[], seeds, &|_, _| true)
}

/// The cases of the paper's simulation that are `wanted`, with other settings.
pub(super) fn run(
    settings: &[&str],
    seeds: usize,
    wanted: &dyn Fn(u32, &str) -> bool,
) -> Result<Sweep, ReproduceError> {
    let experiment = Experiment::parse(FILE.name, FILE.text)?;
    let experiment = experiment.with_all_set(settings.iter().copied())?;
    let seeds = &experiment.seeds()[..experiment.seeds().len().min(seeds)];
    let cases = experiment.cases().iter().filter_map(|case| {
        let place = place(&case.labels)?;
        wanted(place.0, &place.1).then_some((place, &case.scenario))
    });
    let rows = cases.flat_map(|case| seeds.iter().map(move |&seed| (case.clone(), seed)));
    let rows: Vec<_> = rows.collect();
    let measured = side_by_side(&rows, |((place, scenario), seed)| {
        let scenario = Scenario { seed: Seed(*seed), ..(*scenario).clone() };
        let measures = ackwise_sim::run(&scenario, &mut Nobody)?;
        Ok(Run::of(&measures.applications["web"], place.0 as usize))
    });
    let mut sweep = Sweep::default();
    for (((place, _), _), run) in rows.iter().zip(measured) {
        let failed = |source| ReproduceError::Run { experiment: FILE.name.to_owned(), source };
        sweep.runs.entry(place.clone()).or_default().extend(run.map_err(failed)?);
    }
    Ok(sweep)
}

/// Runs of another file, by the name of each case.
pub(super) fn run_file(file: File, label: &str) -> Result<BTreeMap<String, Run>, ReproduceError> {
    let experiment = Experiment::parse(file.name, file.text)?;
    let mut runs = BTreeMap::new();
    for case in experiment.cases() {
        let scenario = Scenario { seed: Seed(1), ..case.scenario.clone() };
        let failed = |source| ReproduceError::Run { experiment: file.name.to_owned(), source };
        let measures = ackwise_sim::run(&scenario, &mut Nobody).map_err(failed)?;
        let name = case.labels.get(label).map(ToString::to_string).unwrap_or_default();
        runs.extend(Run::of(&measures.applications["web"], 2).map(|run| (name, run)));
    }
    Ok(runs)
}

/// Which case of the file it is.
fn place(labels: &Labels) -> Option<(u32, String)> {
    let clients = u32::try_from(labels.get("clients").and_then(CaseValue::as_integer)?).ok()?;
    Some((clients, labels.get("scheme")?.to_string()))
}

pub(super) const fn seeds(effort: Effort) -> usize {
    match effort {
        Effort::Full => usize::MAX,
        Effort::Quick => 3,
    }
}

pub(crate) const FILE: File = experiment_file!("okamoto.toml");
