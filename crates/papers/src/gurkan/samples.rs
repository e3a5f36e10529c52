//! Tables 4.1, 4.3, 4.5 and 4.7: when one client's requests arrive, and how long the files are.

use ackwise_sim::{
    Observer,
    observe::{Message, Side},
};
use ackwise_tcp::Instant;

use super::plan::Plan;
use crate::{
    ReproduceError,
    file::{File, experiment_file},
    published::Published,
    runner::{self, Outcome},
    table::{Case, CaseValue, ComparisonTable, Row},
};

/// The four tables, each beside a run of ours.
pub(super) fn tables() -> Result<Vec<ComparisonTable>, ReproduceError> {
    let outcomes = runner::run(FILE, |_| Requests::default())?;
    Plan::PRINTED.into_iter().map(|plan| table(plan, &outcomes)).collect()
}

fn table(plan: Plan, outcomes: &[Outcome<Requests>]) -> Result<ComparisonTable, ReproduceError> {
    let published = Published::named(id(plan))?;
    let outcome = outcomes.iter().find(|outcome| outcome.matches(&[("plan", plan.name())]));
    let outcome = outcome.ok_or_else(|| ReproduceError::NoCase { case: plan.name().to_owned() })?;
    let rows = (0..published.rows.len()).flat_map(|place| rows(&published, place, &outcome.seen));
    Ok(ComparisonTable {
        id: published.id.to_owned(),
        title: published.title.to_owned(),
        rows: rows.collect(),
        notes: vec![DRAWS.to_owned()],
    })
}

fn rows(published: &Published, place: usize, seen: &Requests) -> [Row; 3] {
    let kind = published.cell(place, "kind").unwrap_or_default();
    #[expect(clippy::cast_precision_loss, reason = "there are 16 rows")]
    let number = (place + 1) as f64;
    let case = Case(vec![
        ("request".to_owned(), CaseValue::Number(number)),
        ("kind".to_owned(), CaseValue::from(kind)),
    ]);
    let ours = seen.0.get(place);
    let before = place.checked_sub(1);
    let printed_gap = before.and_then(|before| {
        let at = |row| published.number(row, "request_time_s");
        Some((at(place)? - at(before)?) * 1e3)
    });
    let our_gap = before.and_then(|before| Some((ours?.at_s - seen.0.get(before)?.at_s) * 1e3));
    let row = |measure: &str, published, ours| Row {
        case: case.clone(),
        measure: measure.to_owned(),
        published,
        ours,
        ..Row::default()
    };
    [
        row("request_time_s", published.number(place, "request_time_s"), ours.map(|it| it.at_s)),
        row("gap_ms", printed_gap, our_gap),
        row("length_bytes", published.number(place, "length_bytes"), ours.map(|it| it.bytes)),
    ]
}

pub(super) const fn id(plan: Plan) -> &'static str {
    match plan {
        Plan::Parallel => "gurkan1998_table_4_3",
        Plan::Pipelined => "gurkan1998_table_4_5",
        Plan::SegmentFilled => "gurkan1998_table_4_7",
        _ => "gurkan1998_table_4_1",
    }
}

/// The web client's requests, in the order in which the server begins to answer.
#[derive(Clone, Debug, Default)]
struct Requests(Vec<Request>);

#[derive(Clone, Copy, Debug)]
struct Request {
    at_s: f64,
    bytes: f64,
}

impl Observer for Requests {
    #[expect(clippy::cast_precision_loss, reason = "times and lengths are below 2^53")]
    fn on_message(&mut self, message: &Message, now: Instant) {
        if message.from == Side::Server && message.body != FTP_FILE {
            let at_s = now.as_nanos() as f64 / 1e9;
            self.0.push(Request { at_s, bytes: message.body as f64 });
        }
    }
}

/// What the FTP client fetches: no web file is as large.
pub(super) const FTP_FILE: u64 = 1_000_000;

pub(super) const FILE: File = experiment_file!("gurkan_samples.toml");

const DRAWS: &str = "Lengths and think times are drawn, and our draws are others: only the gaps \
                     within a page can be compared, where the files are of like length.";
