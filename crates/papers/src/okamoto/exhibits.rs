//! Runs beside the figures, each with a control that could refute what it shows.

use std::collections::BTreeMap;

use super::{
    figures::{interval, row, table},
    ratio::Place,
    sweep::{self, CLASSES, CLIENTS, Run, Sweep},
};
use crate::{
    Effort, ReproduceError,
    file::{File, experiment_file},
    inputs::inputs,
    interval::Interval,
    table::{CaseValue, ComparisonTable, Row},
};

/// All of them.
pub(super) struct Exhibits {
    /// By the name of the cure; one seed, for it happens in any.
    pub(super) deadlock: Vec<(&'static str, Sweep)>,
    /// By the size of the buffers.
    pub(super) two_clients: BTreeMap<String, Run>,
    /// Policies A and B: in the paper's simulation, and where buffers are short and documents long.
    pub(super) policies: Vec<(&'static str, [Sweep; 2])>,
    pub(super) linux: Vec<(&'static str, Sweep)>,
    pub(super) reconcile: Vec<(&'static str, Sweep)>,
}

/// Name and settings.
type Variant = (&'static str, &'static [&'static str]);

/// Fewer seeds do where a difference is large.
const FEW: usize = 3;

/// All clients are at one distance and come at one time, so they have all places before any of them asks
/// for a document; and all first documents miss, so that no scheme finds an idle connection.
const CROWD: &[&str] =
    &["application.web.think=1 s", "application.web.hits=0 %", "link.below.delay=50 ms"];

/// Half of the documents hit, as printed.
const HALF: &str = "application.web.hits=50 %";

const NO_PLACES: &str = "application.web.reserved=0";
const ONE_PLACE: &str = "application.web.reserved=1";

const DEADLOCK: &[Variant] = &[
    ("none, half hit", &[HALF, NO_PLACES]),
    ("none", &[NO_PLACES]),
    ("1 place for servers", &[ONE_PLACE]),
    ("50 places for servers", &[]),
    ("only clients count", &[NO_PLACES, "application.web.counted=downward"]),
    ("misses rejected", &[NO_PLACES, "application.web.refused=reject"]),
];

const SHORT_BUFFERS: &[&str] = &[
    "application.web.size=1 MB",
    "application.web.buffer_memory=800 KiB",
    "application.web.fixed_buffer=4 KiB",
];

const POLICIES: &[Variant] = &[("as printed", &[]), ("1 MB, 800 KiB", SHORT_BUFFERS)];

const POLICY_A: &str = "application.web.send_buffers=utilisation";

const AT_INTERVALS: &str = "application.web.divides=interval";
const FREE: &str = "application.web.idle_memory=free";

const LINUX: &[Variant] = &[
    ("reserved", &[]),
    ("reserved, divided at intervals", &[AT_INTERVALS]),
    ("free (Linux)", &[FREE]),
    ("free (Linux), divided at intervals", &[FREE, AT_INTERVALS]),
];

const LONG_TAIL: &str = "application.web.size={ mixture = [ { weight = 93, size = { log-normal = { mu = \
    9.357, sigma = 1.318, most = \"133000 B\", truncation = \"conditional\" } } }, { weight = 7, size = { \
    pareto = { least = \"133000 B\", shape = 1.1, most = \"1 GB\", truncation = \"clip\" } } } ] }";

const RECONCILE: &[Variant] = &[
    ("as printed", &[]),
    ("tail to 1 GB", &[LONG_TAIL]),
    ("no think time", &["application.web.think=0 s"]),
    ("tail to 1 GB, no think time", &[LONG_TAIL, "application.web.think=0 s"]),
    ("documents of 1 MB", &["application.web.size=1 MB"]),
    ("documents of 10 MB", &["application.web.size=10 MB"]),
];

impl Exhibits {
    pub(super) fn run(
        effort: Effort,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Self, ReproduceError> {
        let seeds = sweep::seeds(effort);
        let [beside, few] = match effort {
            Effort::Full => [seeds, FEW],
            Effort::Quick => [1, 1],
        };
        progress("okamoto: the deadlock");
        let four = |clients, scheme: &str| clients == 500 && sweep::SCHEMES.contains(&scheme);
        let deadlock = each(DEADLOCK, |settings| {
            let crowd: Vec<_> = CROWD.iter().chain(settings).copied().collect();
            sweep::run(&crowd, 1, &four)
        })?;
        progress("okamoto: two clients");
        let two_clients = sweep::run_file(TWO_CLIENTS, "buffers")?;
        progress("okamoto: policies");
        let first = |clients, scheme: &str| clients == 50 && ["1", "2"].contains(&scheme);
        let policies = each(POLICIES, |settings| {
            let with_a: Vec<_> = settings.iter().copied().chain([POLICY_A]).collect();
            Ok([sweep::run(&with_a, seeds, &first)?, sweep::run(settings, seeds, &first)?])
        })?;
        progress("okamoto: Linux");
        let last = |_, scheme: &str| ["3", "4"].contains(&scheme);
        let linux = each(LINUX, |settings| sweep::run(settings, few, &last))?;
        progress("okamoto: gains at 50 clients");
        let fifty = |clients, scheme: &str| clients == 50 && ["1", "2", "4"].contains(&scheme);
        let reconcile = each(RECONCILE, |settings| sweep::run(settings, beside, &fifty))?;
        Ok(Self { deadlock, two_clients, policies, linux, reconcile })
    }

    /// What policy A gives for each that B gives, in Figure 4's measure, and B for each of scheme 1.
    pub(super) fn policy_ratio(&self, which: usize) -> [Option<Interval>; 2] {
        let [a, b] = &self.policies[which].1;
        let place = (50, "2");
        let pairs = a.runs(place.0, place.1).iter().zip(b.runs(place.0, place.1));
        let ratios: Vec<f64> = pairs.map(|(a, b)| a.bytes_both() / b.bytes_both()).collect();
        [Interval::of(&ratios), b.bytes(place, (50, "1"))]
    }

    pub(super) fn into_tables(self) -> [ComparisonTable; 5] {
        [
            self.reconcile_table(),
            self.policies_table(),
            self.deadlock_table(),
            self.linux_table(),
            self.two_clients_table(),
        ]
    }

    fn reconcile_table(&self) -> ComparisonTable {
        let mut rows = Vec::new();
        for (name, sweep) in &self.reconcile {
            let case = [("variant", word(name))];
            let [one, two, four] = ["1", "2", "4"].map(|scheme| (50, scheme));
            let small = |one: Place<'_>, other| classes(sweep, one, other, 0..4);
            let large = |one: Place<'_>, other| classes(sweep, one, other, 6..CLASSES.len());
            rows.extend(interval(&case, "bytes_2_1", sweep.bytes(two, one)));
            rows.extend(interval(&case, "bytes_4_1", sweep.bytes(four, one)));
            let times = [
                ("time_4_1", sweep.times(four, one)),
                ("time_4_1_lt_100k", small(four, one)),
                ("time_4_1_from_1m", large(four, one)),
            ];
            rows.extend(times.map(|(name, it)| row(&case, name, it.map(|it| it.mean))));
        }
        let title = "Figures 4 and 5 (a): which workloads gain at 50 clients";
        table("okamoto2001_gains_at_50", title, vec![ABOUT_RECONCILE.to_owned()], rows)
    }

    fn policies_table(&self) -> ComparisonTable {
        let rows = self.policies.iter().enumerate().flat_map(|(which, (name, _))| {
            let case = [("variant", word(name))];
            let [a_b, b_1] = self.policy_ratio(which);
            let rows = interval(&case, "bytes_a_b", a_b);
            rows.into_iter().chain(interval(&case, "bytes_b_1", b_1)).collect::<Vec<_>>()
        });
        let title = "Section 3.1: policies A and B, scheme 2, 50 clients";
        table("okamoto2001_policies", title, vec![ABOUT_POLICIES.to_owned()], rows.collect())
    }

    fn deadlock_table(&self) -> ComparisonTable {
        let mut rows = Vec::new();
        for (name, sweep) in &self.deadlock {
            for scheme in sweep::SCHEMES {
                let case = [("cure", word(name)), ("scheme", word(scheme))];
                let mean = |of: fn(&Run) -> f64| {
                    sweep.estimate((500, scheme), |run| Some(of(run))).map(|it| it.mean)
                };
                rows.push(row(&case, "documents", mean(|run| run.documents)));
                rows.push(row(&case, "misses_waiting", mean(misses_waiting)));
                rows.push(row(&case, "rejected", mean(rejected)));
                rows.push(row(&case, "most_open", mean(most_open)));
            }
        }
        let title = "Misses that block each other: 500 clients, 200 places";
        table("okamoto2001_deadlock", title, vec![ABOUT_DEADLOCK.to_owned()], rows)
    }

    fn linux_table(&self) -> ComparisonTable {
        let mut rows = Vec::new();
        for (name, sweep) in &self.linux {
            for clients in CLIENTS {
                let clients_value = CaseValue::Number(clients.into());
                let case = [("idle_buffers", word(name)), ("clients", clients_value)];
                let [four, three] = [(clients, "4"), (clients, "3")];
                rows.extend(interval(&case, "bytes_4_3", sweep.bytes(four, three)));
                let times = sweep.times(four, three);
                rows.push(row(&case, "time_4_3", times.map(|it| it.mean)));
            }
        }
        let title = "What is left of scheme 4 where an idle socket reserves no buffer";
        table("okamoto2001_linux", title, vec![ABOUT_LINUX.to_owned()], rows)
    }

    fn two_clients_table(&self) -> ComparisonTable {
        let rows = self.two_clients.iter().flat_map(|(buffers, run)| {
            let case = [("buffers", word(buffers))];
            let rate = |client: usize| run.rates.get(client).copied().flatten();
            let rows: [Row; 2] =
                [row(&case, "a_bytes_s", rate(0)), row(&case, "b_bytes_s", rate(1))];
            rows
        });
        let title = "Section 2.1: a client at 64 kb/s (A) beside one at 100 Mb/s (B)";
        table("okamoto2001_two_clients", title, inputs(TWO_CLIENTS.text), rows.collect())
    }
}

fn each<T>(
    variants: &[Variant],
    run: impl Fn(&[&str]) -> Result<T, ReproduceError>,
) -> Result<Vec<(&'static str, T)>, ReproduceError> {
    variants.iter().map(|(name, settings)| Ok((*name, run(settings)?))).collect()
}

fn word(name: &str) -> CaseValue {
    CaseValue::Word(name.to_owned())
}

/// The ratio of response times in some classes of sizes only.
fn classes(
    sweep: &Sweep,
    one: Place<'_>,
    other: Place<'_>,
    range: std::ops::Range<usize>,
) -> Option<Interval> {
    sweep.ratio(one, other, |one, other| {
        let only = |run: &Run| {
            let mut times = [None; CLASSES.len()];
            times[range.clone()].copy_from_slice(&run.times[range.clone()]);
            times
        };
        super::ratio::geometric_mean(&only(one), &only(other))
    })
}

#[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^53 of anything")]
const fn misses_waiting(run: &Run) -> f64 {
    run.proxy.misses_waiting as f64
}

#[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^53 of anything")]
const fn rejected(run: &Run) -> f64 {
    run.proxy.rejected as f64
}

#[expect(clippy::cast_precision_loss, reason = "a run has fewer than 2^53 of anything")]
const fn most_open(run: &Run) -> f64 {
    run.proxy.most_open as f64
}

const TWO_CLIENTS: File = experiment_file!("okamoto_two_clients.toml");

const ABOUT_RECONCILE: &str = "Scheme 2 and 4 against scheme 1, with 50 clients. `bytes`: Figure 4; `time`: \
    Figure 5, over all sizes, below 100 KB, and from 1 MB on. Where most bytes are in few long documents, \
    bytes can grow while the response time of nearly all documents stays.";

const ABOUT_POLICIES: &str = "`bytes_a_b`: bytes in both directions with policy A (utilisation) for each \
    with policy B (relation known). `bytes_b_1`, the control: scheme 2 with policy B against fixed buffers \
    of the same memory, which shows whether buffers matter in this case at all.";

const ABOUT_DEADLOCK: &str = "500 clients at one distance that come at one time, and documents that all miss (`half \
    hit`: as printed). `misses_waiting`: misses that wait for a place upward at the end; with all 200 places \
    taken by clients whose misses wait, no place is ever given back. One place that only connections to \
    servers take is enough to go on. Rejecting frees the places, and serves nobody in schemes 1 and 2. In the \
    paper's own simulation, clients come one after the other, and connections to servers are open before \
    the limit is reached.";

const ABOUT_LINUX: &str = "Scheme 4 against scheme 3. `reserved`: an idle connection's buffer counts, as the \
    paper assumes. `free`: it does not, in either scheme, so halving it gives nothing to others; if a \
    division does not follow at once, it slows down the first document after a pause.";
