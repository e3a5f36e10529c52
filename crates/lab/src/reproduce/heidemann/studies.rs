//! Experiments about what the papers claim: one file and one table each.

use ackwise_sim::observe::Side;

use crate::{
    experiment_file,
    reproduce::{
        ReproduceError,
        lab::Outcome,
        stalls::Stalls,
        study::{
            Measure, Studied, Study, application, mean, nagle_delayed_ack_ms, page_ms,
            short_initial_segment_ms, stalls_per_page, times_ms,
        },
        table::ComparisonTable,
    },
};

/// What they gave.
pub(super) struct Studies {
    pub(super) readings: Studied,
    pub(super) receivers: Studied,
    pub(super) pipelining: Studied,
    pub(super) ftp: Studied,
    pub(super) buffers: Studied,
    pub(super) sharing: Studied,
    pub(super) restart: Studied,
}

impl Studies {
    pub(super) fn into_tables(self) -> impl Iterator<Item = ComparisonTable> {
        let Self { readings, receivers, pipelining, ftp, buffers, sharing, restart } = self;
        [readings, receivers, pipelining, ftp, buffers, sharing, restart]
            .into_iter()
            .map(|studied| studied.table)
    }
}

pub(super) fn run() -> Result<Studies, ReproduceError> {
    Ok(Studies {
        readings: READINGS.run()?,
        receivers: RECEIVERS.run()?,
        pipelining: PIPELINING.run()?,
        ftp: FTP.run()?,
        buffers: BUFFERS.run()?,
        sharing: SHARING.run()?,
        restart: RESTART.run()?,
    })
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
    mean(times_ms(outcome).get(1..)?)
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
