//! Gürkan 1998: four plans behind 1.5 Mb/s, with FTP beside them, and windows of 1 to 3 segments.

use ackwise_lab::experiment::Labels;

use super::{
    KernelClaim, KernelTable,
    claims::{more, value},
    exhibit::{Exhibit, has, none},
};
use crate::{Effort, file::experiment_file, published::Published};

const MEASURES: &[&str] = &["web.page_time_mean_ms", "web.rate_sum"];

pub(super) fn exhibits(effort: Effort) -> Vec<Exhibit> {
    let exhibit = |id, title, shorter, wanted, published| Exhibit {
        id,
        title,
        file: experiment_file!("gurkan_tables.toml"),
        shorter,
        linux: LINUX,
        wanted,
        measures: MEASURES,
        published,
        has_model: none,
        repeat: 1,
    };
    if effort == Effort::Quick {
        let title = "Gürkan 1998: 8 web clients, initial window of 1 segment, 10 s";
        return vec![exhibit("gurkan_quick", title, &["duration=10s"], few, printed)];
    }
    let [one, two, three]: [&'static [&'static str]; 3] = [
        &["duration=20s"],
        &["duration=20s", "tcp.initial_window=2"],
        &["duration=20s", "tcp.initial_window=3"],
    ];
    vec![
        exhibit("gurkan_tables", "Gürkan 1998: initial window of 1 segment", one, wanted, printed),
        exhibit("gurkan_window_2", "Gürkan 1998: 2 segments", two, few, |_, _| None),
        exhibit("gurkan_window_3", "Gürkan 1998: 3 segments", three, few, |_, _| None),
    ]
}

pub(super) fn claims(tables: &[KernelTable]) -> Vec<KernelClaim> {
    let rate = |table: &str, plan: &str, ftp: &str| {
        let case = [("plan", plan), ("web_clients", "8"), ("ftp_clients", ftp)];
        value(tables, table, "web.rate_sum", &case)
    };
    let first =
        |plan: &str| rate("gurkan_tables", plan, "0").or_else(|| rate("gurkan_quick", plan, "0"));
    vec![
        more(
            ("gurkan parallel", "Parallel connections serve pages faster than serial ones."),
            first("parallel"),
            first("serial"),
            1.0,
        ),
        more(
            (
                "gurkan pipelined",
                "One connection that persists serves pages faster than serial ones.",
            ),
            first("pipelined"),
            first("serial"),
            1.0,
        ),
        more(
            (
                "gurkan segment-filled",
                "Filled segments are faster than a response for each request.",
            ),
            first("segment_filled"),
            first("pipelined"),
            1.0,
        ),
        more(
            (
                "gurkan getweb",
                "GETWEB, one request for the whole page, is faster than filled segments.",
            ),
            first("get_web"),
            first("segment_filled"),
            1.0,
        ),
        more(
            (
                "gurkan window",
                "An initial window of 3 segments makes parallel connections faster than one of 1.",
            ),
            rate("gurkan_window_3", "parallel", "0"),
            rate("gurkan_tables", "parallel", "0"),
            1.0,
        ),
        more(
            ("gurkan ftp", "An FTP transfer beside them slows persistent connections down."),
            rate("gurkan_tables", "pipelined", "0"),
            rate("gurkan_tables", "pipelined", "1"),
            1.0,
        ),
    ]
}

/// The file's TCP is ns-2's of 1998; Linux's in its place, with the thesis' windows and buffers.
const LINUX: &[&str] = &[
    "tcp.preset=linux-6",
    "tcp.ack=linux-quick-ack",
    "tcp.congestion=cubic",
    "tcp.idle_restart=decay",
    "tcp.timers=linux",
    "tcp.time_wait=60s",
    "host.server.tcp.hold=minshall",
    "application.web.prompt_acks=true",
];

const PLANS: [&str; 6] =
    ["serial", "parallel", "pipelined", "segment_filled", "true_pipelined", "get_web"];

fn planned(labels: &Labels) -> bool {
    PLANS.iter().any(|plan| has(labels, "plan", plan))
}

/// Without FTP, with one FTP client, and many clients.
fn wanted(labels: &Labels) -> bool {
    let eight = has(labels, "web_clients", "8");
    let [none, one] = ["0", "1"].map(|ftp| has(labels, "ftp_clients", ftp));
    planned(labels) && (eight && (none || one) || has(labels, "web_clients", "64") && none)
}

fn few(labels: &Labels) -> bool {
    planned(labels) && has(labels, "web_clients", "8") && has(labels, "ftp_clients", "0")
}

fn printed(labels: &Labels, measure: &str) -> Option<f64> {
    let tables = [
        ("serial", "gurkan1998_table_4_2"),
        ("parallel", "gurkan1998_table_4_4"),
        ("pipelined", "gurkan1998_table_4_6"),
        ("segment_filled", "gurkan1998_table_4_8"),
    ];
    let (_, id) = tables.into_iter().find(|(plan, _)| has(labels, "plan", plan))?;
    let published = Published::named(id).ok()?;
    let fits = |nth: &usize| {
        ["web_clients", "ftp_clients"]
            .iter()
            .all(|key| published.cell(*nth, key).is_some_and(|cell| has(labels, key, cell)))
    };
    let row = (0..published.rows.len()).find(fits)?;
    (measure == "web.rate_sum").then(|| published.number(row, "effective_rate")).flatten()
}
