//! Which claims depend on which parameter that the paper does not give: 50 and 500 clients, three seeds.

use super::{
    figures::{row, share, table},
    ratio::MUCH,
    sweep::{self, Run, SCHEMES, Sweep},
};
use crate::{
    ReproduceError,
    interval::{Interval, LITTLE, Lies},
    paper::{Paper, PaperResults},
    table::{CaseValue, ComparisonTable, Row},
};

/// Name and settings of a variant; the first is the default.
const VARIANTS: &[(&str, &[&str])] = &[
    ("default", &[]),
    ("counted = downward", &["application.web.counted=downward"]),
    ("reserved = 1", &["application.web.reserved=1"]),
    ("reserved = 100", &["application.web.reserved=100"]),
    ("refused = reject", &["application.web.refused=reject"]),
    ("refused = queue", &["application.web.refused=queue"]),
    ("upward = per-client", &["application.web.upward=per-client"]),
    (
        "client timeout 120 s",
        &["application.web.timeouts={ client = \"120 s\", server = \"60 s\" }"],
    ),
    ("client timeout 5 s", &["application.web.timeouts={ client = \"5 s\", server = \"60 s\" }"]),
    ("server timeout 15 s", &["application.web.timeouts={ client = \"15 s\", server = \"15 s\" }"]),
    ("think 1 s", &["application.web.think=1 s"]),
    ("think 0 s", &["application.web.think=0 s"]),
    (
        "think from 5 s",
        &["application.web.think={ pareto = { least = \"5 s\", shape = 1.5, most = \
      \"3600 s\", truncation = \"clip\" } }"],
    ),
    (
        "sizes of 1999",
        &["application.web.size={ mixture = [ { weight = 93, size = { log-normal = { mu = \
      7.881, sigma = 1.339, most = \"10 MB\", truncation = \"conditional\" } } }, { weight = 7, size = { \
      pareto = { least = \"3558 B\", shape = 1.177, most = \"10 MB\", truncation = \"clip\" } } } ] }"],
    ),
    (
        "tail to 1 MB",
        &["application.web.size={ mixture = [ { weight = 93, size = { log-normal = { mu = \
      9.357, sigma = 1.318, most = \"133000 B\", truncation = \"conditional\" } } }, { weight = 7, size = { \
      pareto = { least = \"133000 B\", shape = 1.1, most = \"1 MB\", truncation = \"clip\" } } } ] }"],
    ),
    (
        "tail to 100 MB",
        &["application.web.size={ mixture = [ { weight = 93, size = { log-normal = { mu = \
      9.357, sigma = 1.318, most = \"133000 B\", truncation = \"conditional\" } } }, { weight = 7, size = { \
      pareto = { least = \"133000 B\", shape = 1.1, most = \"100 MB\", truncation = \"clip\" } } } ] }"],
    ),
    ("interval 0.2 s", &["application.web.interval=0.2 s"]),
    ("interval 5 s", &["application.web.interval=5 s"]),
    ("divides = interval", &["application.web.divides=interval"]),
    ("initial buffer 8 KiB", &["application.web.initial_buffer=8 KiB"]),
    ("initial buffer 64 KiB", &["application.web.initial_buffer=64 KiB"]),
    ("before_loss = estimate", &["application.web.before_loss=estimate"]),
    ("sizing = peak", &["application.web.sizing=peak"]),
    ("send_buffers = utilisation", &["application.web.send_buffers=utilisation"]),
    ("receive_buffers = utilisation", &["application.web.receive_buffers=utilisation"]),
    ("spare = proportional", &["application.web.spare=proportional"]),
    ("spare = equal", &["application.web.spare=equal"]),
    ("tcp: Reno", &["tcp.congestion=reno"]),
    ("tcp: BSD timers", &["tcp.timers=bsd"]),
    ("tcp: initial window 10", &["tcp.initial_window=10"]),
    ("tcp: window kept over idle", &["tcp.idle_restart=keep"]),
];

const SEEDS: usize = 3;

/// Runs every variant.
///
/// # Errors
///
/// If an experiment file or a run fails.
pub fn sensitivity(progress: &mut dyn FnMut(&str)) -> Result<PaperResults, ReproduceError> {
    let (mut values, mut verdicts) = (Vec::new(), Vec::new());
    for (name, settings) in VARIANTS {
        progress(&format!("okamoto: sensitivity: {name}"));
        let wanted =
            |clients, scheme: &str| [50, 500].contains(&clients) && SCHEMES.contains(&scheme);
        let sweep = sweep::run(settings, SEEDS, &wanted)?;
        for Short { id, value, holds } in CLAIMS {
            let value = value(&sweep);
            let case = [("variant", CaseValue::Word((*name).to_owned()))];
            values.push(row(&case, id, value.map(|it| it.mean)));
            let holds = value.and_then(holds).map(|it| f64::from(u8::from(it)));
            verdicts.push(row(&case, id, holds));
        }
    }
    let dependent = dependent(&verdicts);
    let tables = vec![
        of(
            "okamoto2001_sensitivity",
            "Which claims depend on which parameter: 1 if it holds",
            vec![ABOUT.to_owned(), dependent],
            verdicts,
        ),
        of("okamoto2001_sensitivity_values", "The same: values", vec![VALUES.to_owned()], values),
    ];
    Ok(PaperResults { paper: Paper::Okamoto, tables, claims: Vec::new() })
}

fn of(id: &str, title: &str, notes: Vec<String>, rows: Vec<Row>) -> ComparisonTable {
    table(id, title, notes, rows)
}

/// Names the claims that hold with some values of the parameters and not with others.
fn dependent(verdicts: &[Row]) -> String {
    let sentences = CLAIMS.iter().map(|Short { id, .. }| {
        let named = |holds: f64| {
            let rows = verdicts.iter().filter(move |row| row.measure == *id);
            let rows = rows.filter(move |row| row.ours == Some(holds));
            let names = rows.filter_map(|row| Some(row.case.0.first()?.1.to_string()));
            names.collect::<Vec<_>>()
        };
        match [named(1.0), named(0.0)] {
            [holds, not] if not.is_empty() => {
                format!("{id} holds in {} of {} variants, and fails in none", holds.len(), all())
            }
            [holds, not] if holds.is_empty() => {
                format!("{id} fails in {} of {} variants, and holds in none", not.len(), all())
            }
            [holds, not] if holds.len() < not.len() => {
                format!("{id} holds only with {}", holds.join(", "))
            }
            [_, not] => format!("{id} fails only with {}", not.join(", ")),
        }
    });
    format!("{}.", sentences.collect::<Vec<_>>().join("; "))
}

const fn all() -> usize {
    VARIANTS.len()
}

/// As a test weighs an interval: `None` if it reaches across the bound.
const fn decided(lies: Lies) -> Option<bool> {
    match lies {
        Lies::Within => Some(true),
        Lies::Without => Some(false),
        Lies::Across => None,
    }
}

fn little(ratio: Interval) -> Option<bool> {
    decided(ratio.near(1.0, LITTLE))
}

/// A claim at 50 or 500 clients, short enough to be tried often.
struct Short {
    id: &'static str,
    value: fn(&Sweep) -> Option<Interval>,
    /// `None` if the interval decides nothing.
    holds: fn(Interval) -> Option<bool>,
}

const CLAIMS: &[Short] = &[
    Short {
        id: "bytes_2_1_50",
        value: |sweep| sweep.bytes((50, "2"), (50, "1")),
        holds: |it| decided(it.more_than_the_other()),
    },
    Short {
        id: "bytes_2_1_500",
        value: |sweep| sweep.bytes((500, "2"), (500, "1")),
        holds: |it| decided(it.more_than_the_other()),
    },
    Short {
        id: "bytes_3_2_500",
        value: |sweep| sweep.bytes((500, "3"), (500, "2")),
        holds: |it| decided(it.above(MUCH)),
    },
    Short {
        id: "bytes_4_3_50",
        value: |sweep| sweep.bytes((50, "4"), (50, "3")),
        holds: |it| decided(it.more_than_the_other()),
    },
    Short {
        id: "bytes_4_3_500",
        value: |sweep| sweep.bytes((500, "4"), (500, "3")),
        holds: little,
    },
    Short { id: "time_4_1_50", value: |sweep| sweep.times((50, "4"), (50, "1")), holds: little },
    Short {
        id: "time_4_1_500",
        value: |sweep| sweep.times((500, "4"), (500, "1")),
        holds: |it| decided(it.below(1.0 / MUCH)),
    },
    Short { id: "time_4_3_500", value: |sweep| sweep.times((500, "4"), (500, "3")), holds: little },
    Short {
        id: "idle_pct_1_500",
        value: |sweep| sweep.estimate((500, "1"), idle),
        holds: |it| decided(it.above(50.0)),
    },
    Short {
        id: "early_pct_4_500",
        value: |sweep| sweep.estimate((500, "4"), early),
        holds: |it| decided(it.above(50.0)),
    },
];

fn idle(run: &Run) -> Option<f64> {
    share(run.proxy.full_idle, run.proxy.full_open)
}

fn early(run: &Run) -> Option<f64> {
    share(run.proxy.closed_before_halving, run.proxy.closed_for_new)
}

const ABOUT: &str = "1: the claim holds, 0: it does not, empty: the interval of three seeds decides \
    nothing. `bytes_2_1_50`: scheme 2 moves more than scheme 1 at 50 clients; `bytes_3_2_500`: \
    by a factor of 1.5; `bytes_4_3_500`, `time_4_1_50`, `time_4_3_500`: within 5 %; `time_4_1_500`: faster \
    by a factor of 1.5; `idle_pct_1_500`: more than half idle; `early_pct_4_500`: more than half closed \
    before the first halving.";

const VALUES: &str = "Means of the ratios, or of the percentages.";
