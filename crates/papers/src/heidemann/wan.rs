//! Table 1's rows over wide-area paths with small and with large segments, and the model there.

use ackwise_sim::observe::Side;

use crate::{
    ReproduceError,
    analytic::{Acks, of_scenario},
    file::experiment_file,
    runner::Outcome,
    stalls::Stalls,
    study::{Studied, Study, case, page_ms, stalls_per_page},
    table::{ComparisonTable, Row},
};

/// What came out.
pub(super) struct Results {
    pub(super) studied: Studied,
    pub(super) table: ComparisonTable,
    /// The model against the simulator, where it applies.
    pub(super) model: ComparisonTable,
    pub(super) fit: Fit,
}

/// How far the model is from the simulator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fit {
    /// Cases that the model is for.
    pub(super) cases: usize,
    /// Those of them in which it is within 5 % with the paper's way to count ACKs.
    pub(super) within: usize,
    /// Those in which the way to count that fits best is within 5 %.
    pub(super) within_any: usize,
    /// With both fixes: the least that the model is of the simulator's time.
    pub(super) least: f64,
    /// With both fixes: the worst share, with the paper's way to count.
    pub(super) worst_both_fixes: f64,
    /// Simple HTTP: the worst share, with the paper's way to count.
    pub(super) worst_http: f64,
    /// Without the fixes, of which the model knows nothing: the best share.
    pub(super) best_unfixed: f64,
}

pub(super) fn run() -> Result<Results, ReproduceError> {
    let studied = STUDY.run()?;
    let mut model = ComparisonTable {
        id: "heidemann1997_model".to_owned(),
        title: "The analytic model beside the simulator, over wide-area paths".to_owned(),
        notes: WHY.map(str::to_owned).to_vec(),
        rows: Vec::new(),
    };
    let mut fit = Fit { best_unfixed: f64::MAX, least: f64::MAX, ..Fit::default() };
    for outcome in studied.outcomes.iter().filter(|outcome| is_unfixed(outcome)) {
        let [paper, ..] = modelled(outcome).map(|row| row.model_error().unwrap_or(f64::MAX).abs());
        fit.best_unfixed = fit.best_unfixed.min(paper);
    }
    for outcome in studied.outcomes.iter().filter(|outcome| is_modelled(outcome)) {
        let rows = modelled(outcome);
        let errors = rows.each_ref().map(|row| row.model_error().unwrap_or(f64::MAX).abs());
        let worst = if is_http(outcome) { &mut fit.worst_http } else { &mut fit.worst_both_fixes };
        *worst = worst.max(errors[0]);
        if !is_http(outcome) {
            fit.least = fit.least.min(1.0 + rows[0].model_error().unwrap_or_default());
        }
        fit.cases += 1;
        fit.within += usize::from(errors[0] <= NEAR);
        fit.within_any += usize::from(errors.iter().any(|error| *error <= NEAR));
        model.rows.extend(rows);
    }
    Ok(Results { table: studied.table.clone(), studied, model, fit })
}

/// The model has no stalls, so it is for rows without any.
fn is_modelled(outcome: &Outcome<Stalls>) -> bool {
    is_http(outcome) || outcome.matches(&[("row", "p-http both")])
}

fn is_unfixed(outcome: &Outcome<Stalls>) -> bool {
    outcome.matches(&[("row", "p-http none")])
}

fn is_http(outcome: &Outcome<Stalls>) -> bool {
    outcome.matches(&[("row", "http none")])
}

fn modelled(outcome: &Outcome<Stalls>) -> [Row; 3] {
    WAYS.map(|(name, acks)| Row {
        case: case(outcome),
        measure: name.to_owned(),
        ours: page_ms(outcome),
        model: of_scenario(&outcome.scenario, acks).map(|time| time * 1e3),
        ..Row::default()
    })
}

/// Ways to count ACKs; the paper's first.
const WAYS: [(&str, Acks); 3] = [
    ("page_ms", Acks::EverySecond { lone_wait: 0.1 }),
    ("page_ms_odd_acks_merged", Acks::EverySecondCounted { lone_wait: 0.1 }),
    ("page_ms_every_segment_acked", Acks::EverySegment),
];

const WHY: [&str; 3] = [
    "Where the model's own count of ACKs is more than 5 % off, one of the two other columns \
     explains it. It grows the window by half, rounded up, in each round: 2, 3, 5, 8. A receiver \
     that acknowledges every second segment acknowledges the odd one of a round with the next \
     round: 2, 3, 4, 6. A reply of 9 segments of 512 bytes (4109) then takes one more round \
     trip.",
    "Over a modem a segment of 1460 bytes takes more than 200 ms, so the receiver's timer \
     acknowledges each segment separately, before the next one arrives.",
    "Only simple HTTP and P-HTTP with both fixes: the model has neither Nagle nor delayed-ACK \
     stalls.",
];

const NEAR: f64 = 0.05;

const STUDY: Study = Study {
    id: "heidemann1997_wan",
    title: "Table 1's rows over wide-area paths",
    file: experiment_file!("heidemann_wan.toml"),
    sender: |_| Side::Server,
    measures: &[("page_ms", page_ms), ("stalls_per_page", stalls_per_page)],
};
