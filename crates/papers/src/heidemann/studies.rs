//! Experiments about what the papers claim: one file and one table each.

use ackwise_sim::observe::Side;
use ackwise_units::statistics::Moments;

use crate::{
    ReproduceError,
    analytic::{Acks, of_scenario},
    file::experiment_file,
    runner::Outcome,
    stalls::Stalls,
    study::{
        Measure, Studied, Study, application, nagle_delayed_ack_ms, page_ms,
        short_initial_segment_ms, stalls_per_page, times_ms,
    },
    table::ComparisonTable,
};

/// What they gave.
pub(super) struct Studies {
    pub(super) readings: Studied,
    pub(super) receivers: Studied,
    pub(super) pipelining: Studied,
    pub(super) small_files: Studied,
    pub(super) ftp: Studied,
    pub(super) buffers: Studied,
    pub(super) sharing: Studied,
    pub(super) restart: Studied,
    pub(super) synchronised: Studied,
    pub(super) large_mtu: Studied,
    pub(super) idle: Studied,
    pub(super) transactions: Studied,
}

impl Studies {
    pub(super) fn into_tables(self) -> impl Iterator<Item = ComparisonTable> {
        let Self { readings, receivers, pipelining, small_files, ftp, buffers, .. } = self;
        let Self { sharing, restart, synchronised, large_mtu, idle, transactions, .. } = self;
        [readings, receivers, pipelining, small_files, ftp, buffers, sharing, restart]
            .into_iter()
            .chain([synchronised, large_mtu, idle, transactions])
            .map(|studied| studied.table)
    }
}

pub(super) fn run() -> Result<Studies, ReproduceError> {
    Ok(Studies {
        readings: READINGS.run()?,
        receivers: RECEIVERS.run()?,
        pipelining: PIPELINING.run()?,
        small_files: SMALL_FILES.run()?,
        ftp: FTP.run()?,
        buffers: BUFFERS.run()?,
        sharing: SHARING.run()?,
        restart: RESTART.run()?,
        synchronised: SYNCHRONISED.run()?,
        large_mtu: LARGE_MTU.run()?,
        idle: IDLE.run()?,
        transactions: TRANSACTIONS.run()?,
    })
}

/// What the model says, in milliseconds.
fn model_ms(outcome: &Outcome<Stalls>) -> Option<f64> {
    of_scenario(&outcome.scenario, Acks::EverySecond { lone_wait: 0.1 }).map(|time| time * 1e3)
}

/// The most connections in TIME-WAIT at the server.
#[expect(clippy::cast_precision_loss, reason = "there are not 2^53 of them")]
fn most_time_wait(outcome: &Outcome<Stalls>) -> Option<f64> {
    Some(outcome.measures.hosts.get("server")?.most_time_wait as f64)
}

/// Bare ACKs for each segment with data.
#[expect(clippy::cast_precision_loss, reason = "there are not 2^53 of them")]
pub(super) fn acks_per_segment(outcome: &Outcome<Stalls>) -> Option<f64> {
    let segments = outcome.seen.data_segments;
    (segments > 0).then(|| outcome.seen.bare_acks as f64 / segments as f64)
}

/// The longest stall, in milliseconds.
pub(super) fn longest_stall_ms(outcome: &Outcome<Stalls>) -> Option<f64> {
    Some(outcome.seen.longest.as_secs_f64() * 1e3)
}

/// All stalls over their number, in milliseconds.
#[expect(clippy::cast_precision_loss, reason = "there are not 2^53 of them")]
pub(super) fn mean_stall_ms(outcome: &Outcome<Stalls>) -> Option<f64> {
    let count = outcome.seen.count;
    (count > 0).then(|| outcome.seen.time.as_secs_f64() * 1e3 / count as f64)
}

/// Bytes in time, in kilobits a second.
pub(super) fn rate_kbps(outcome: &Outcome<Stalls>) -> Option<f64> {
    application(outcome)?.rate_sum.map(|rate| rate * 8.0 / 1e3)
}

/// The mean retrieval time of all pages but the first, in milliseconds.
pub(super) fn later_page_ms(outcome: &Outcome<Stalls>) -> Option<f64> {
    Some(Moments::of(times_ms(outcome).get(1..)?)?.mean)
}

/// The first page, in milliseconds.
pub(super) fn first_page_ms(outcome: &Outcome<Stalls>) -> Option<f64> {
    times_ms(outcome).first().copied()
}

/// The page after the first that is furthest from a whole number of the client's 200 ms ticks: by how
/// many milliseconds.
pub(super) fn later_off_tick_ms(outcome: &Outcome<Stalls>) -> Option<f64> {
    times_ms(outcome).get(1..)?.iter().map(|time| off_tick_ms(*time)).reduce(f64::max)
}

/// How far a time is from a whole number of 200 ms ticks, in milliseconds.
pub(super) fn off_tick_ms(time: f64) -> f64 {
    (time - (time / TICK_MS).round() * TICK_MS).abs()
}

const TICK_MS: f64 = 200.0;

/// Connections for each page.
#[expect(clippy::cast_precision_loss, reason = "there are not 2^53 of them")]
fn connections_per_page(outcome: &Outcome<Stalls>) -> Option<f64> {
    let measures = application(outcome)?;
    (measures.documents > 0).then(|| measures.connections_opened as f64 / measures.documents as f64)
}

/// The most segments that left at once.
#[expect(clippy::cast_precision_loss, reason = "a window has not 2^53 segments")]
pub(super) fn longest_burst(outcome: &Outcome<Stalls>) -> Option<f64> {
    Some(outcome.seen.longest_burst as f64)
}

/// Packets that were dropped.
#[expect(clippy::cast_precision_loss, reason = "there are not 2^53 of them")]
pub(super) fn drops(outcome: &Outcome<Stalls>) -> Option<f64> {
    Some(outcome.seen.drops as f64)
}

const PAGES: &[Measure] = &[
    ("page_ms", page_ms),
    ("stalls_per_page", stalls_per_page),
    ("short_initial_segment_ms", short_initial_segment_ms),
    ("nagle_delayed_ack_ms", nagle_delayed_ack_ms),
];

const READINGS: Study = Study {
    id: "heidemann1997_readings",
    title: "Table 1 with one connection per page and with one for all pages; only Nagle off",
    file: experiment_file!("heidemann_readings.toml"),
    sender: |_| Side::Server,
    measures: PAGES,
};

const RECEIVERS: Study = Study {
    id: "heidemann1997_receivers",
    title: "Receivers that avoid both stalls, with the original server",
    file: experiment_file!("heidemann_receivers.toml"),
    sender: |_| Side::Server,
    measures: &[
        ("page_ms", page_ms),
        ("stalls_per_page", stalls_per_page),
        ("longest_stall_ms", longest_stall_ms),
        ("acks_per_segment", acks_per_segment),
    ],
};

const PIPELINING: Study = Study {
    id: "heidemann1997_pipelining",
    title: "Pipelined requests with the original and the fixed server",
    file: experiment_file!("heidemann_pipelining.toml"),
    sender: |_| Side::Server,
    measures: PAGES,
};

const SMALL_FILES: Study = Study {
    id: "heidemann1997_small_files",
    title: "A page of four files of 1866 bytes, pipelined and not",
    file: experiment_file!("heidemann_small_files.toml"),
    sender: |_| Side::Server,
    measures: PAGES,
};

const FTP: Study = Study {
    id: "heidemann1997_ftp",
    title: "FTP's data connection, opened by the sender and by the receiver",
    file: experiment_file!("heidemann_ftp.toml"),
    sender: |labels| {
        let opened_by = labels.get("opened_by").map(ToString::to_string);
        if opened_by.as_deref() == Some("sender") { Side::Client } else { Side::Server }
    },
    measures: &[
        ("file_ms", page_ms),
        ("stalls_per_file", stalls_per_page),
        ("mean_stall_ms", mean_stall_ms),
        ("longest_stall_ms", longest_stall_ms),
    ],
};

const BUFFERS: Study = Study {
    id: "heidemann1997_socket_buffers",
    title: "A file of 500,000 bytes with several send buffer sizes",
    file: experiment_file!("heidemann_socket_buffers.toml"),
    sender: |_| Side::Server,
    measures: &[("rate_kbps", rate_kbps)],
};

const SHARING: Study = Study {
    id: "heidemann1997_sharing",
    title: "Serial and parallel connections that share control blocks",
    file: experiment_file!("heidemann_sharing.toml"),
    sender: |_| Side::Server,
    measures: &[("page_ms", page_ms), ("longest_burst", longest_burst)],
};

const RESTART: Study = Study {
    id: "heidemann1997_restart",
    title: "The next page on the same connection, after the user has read one",
    file: experiment_file!("heidemann_restart.toml"),
    sender: |_| Side::Server,
    measures: &[
        ("later_page_ms", later_page_ms),
        ("longest_burst", longest_burst),
        ("drops", drops),
    ],
};

const SYNCHRONISED: Study = Study {
    id: "heidemann1997_synchronised",
    title: "Pages that begin at several phases of the client's 200 ms clock",
    file: experiment_file!("heidemann_synchronised.toml"),
    sender: |_| Side::Server,
    measures: &[
        ("first_page_ms", first_page_ms),
        ("later_page_ms", later_page_ms),
        ("later_off_tick_ms", later_off_tick_ms),
    ],
};

const LARGE_MTU: Study = Study {
    id: "heidemann1997_large_mtu",
    title: "Bulk data in large segments from a small send buffer",
    file: experiment_file!("heidemann_large_mtu.toml"),
    sender: |_| Side::Server,
    measures: &[
        ("rate_kbps", rate_kbps),
        ("stalls_per_file", stalls_per_page),
        ("acks_per_segment", acks_per_segment),
    ],
};

const TRANSACTIONS: Study = Study {
    id: "heidemann1997_transactions",
    title: "A page by every transport, simulated; and by the analytic model",
    file: experiment_file!("heidemann_transactions.toml"),
    sender: |_| Side::Server,
    measures: &[
        ("page_ms", page_ms),
        ("model_ms", model_ms),
        ("most_in_time_wait", most_time_wait),
    ],
};

const IDLE: Study = Study {
    id: "heidemann1997_idle",
    title: "The user reads, then follows a link: restart, and servers that close",
    file: experiment_file!("heidemann_idle.toml"),
    sender: |_| Side::Server,
    measures: &[
        ("later_page_ms", later_page_ms),
        ("longest_burst", longest_burst),
        ("connections_per_page", connections_per_page),
    ],
};
