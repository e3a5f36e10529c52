//! What a reader should know beyond the numbers, and what to do about it.

use std::time::Duration;

use ackwise_serve::load::{Ended, Loaded, Tally, local_ports};

use super::LoadReport;
use crate::load::{CloseMode, Held, LoadOptions, StackMode, TimeWait, explain::grouped};

pub(super) fn notes(report: &LoadReport, options: &LoadOptions, loaded: &Loaded) -> Vec<String> {
    let tally = &loaded.tally;
    let mut notes = Vec::new();
    notes.extend(ended(report));
    notes.extend(unknown("server", &report.time_wait.server));
    notes.extend(unknown("clients", &report.time_wait.client));
    notes.extend(ports(report));
    notes.extend(lateness(options, tally));
    notes.extend(reuse(report, tally));
    let mut count = |count: u64, what: &str| {
        if count > 0 {
            notes.push(format!("{} connections {what}", grouped(count)));
        }
    };
    count(loaded.missed, "were due and never started: the server does not keep up with --rate");
    count(tally.cut_short(), "were closed by the server before their last request");
    count(tally.unclean(), "were reset, or not closed in time, after their last response");
    count(tally.unfinished(), "were open when the run was stopped, and were reset");
    if report.elapsed > TIME_WAIT {
        notes.push("TIME-WAIT lasts 60 s on Linux: that of earlier connections is over".to_owned());
    }
    if report.stack == StackMode::Ackwise && report.time_wait.client.known() > Some(0) {
        notes.push("TIME-WAIT of our own TCP ends with this program".to_owned());
    }
    notes
}

fn ended(report: &LoadReport) -> Option<String> {
    match report.ended {
        Ended::NoPort => {
            let advice = match report.stack {
                StackMode::Kernel => {
                    "give more addresses with --source, more requests to each connection, or fewer \
                     connections a minute (--rate)"
                }
                StackMode::Ackwise => {
                    "make fewer connections a minute (--rate), or more requests on each"
                }
            };
            Some(format!(
                "stopped after {} connections: every local port towards {} is in use or in \
                 TIME-WAIT; {advice}",
                grouped(report.connections),
                report.server
            ))
        }
        Ended::Stopped => Some("interrupted: this is what was measured until then".to_owned()),
        Ended::NothingAnswered => Some("given up: no request was answered".to_owned()),
        _ => None,
    }
}

fn unknown(end: &str, held: &Held) -> Option<String> {
    match held {
        Held::Known(_) => None,
        Held::Unknown(why) => Some(format!("TIME-WAIT at the {end} is not known: {why}")),
    }
}

/// What clients that wait have to pay with.
fn ports(report: &LoadReport) -> Option<String> {
    let held = report.time_wait.client.known().filter(|held| *held > 0)?;
    let ports = match report.stack {
        StackMode::Kernel => local_ports().len() as u64,
        StackMode::Ackwise => OUR_PORTS,
    };
    #[expect(clippy::cast_precision_loss, reason = "both are far below 2^53")]
    let percent = 100.0 * held as f64 / ports as f64;
    let swap = match report.close {
        CloseMode::Swap => "; a swap moves the cost here, where it spreads over many clients",
        _ => "",
    };
    Some(format!(
        "the clients' TIME-WAIT takes {} ports for a minute, {percent:.1} % of the {} that one address \
         has towards {}{swap}",
        grouped(held),
        grouped(ports),
        report.server
    ))
}

/// Where fewer wait than have closed.
fn reuse(report: &LoadReport, tally: &Tally) -> Option<String> {
    let TimeWait { server, client, .. } = &report.time_wait;
    let held = server.known()? + client.known()?;
    let ended = report.connections.saturating_sub(report.failed + tally.unfinished());
    (held > 0 && held < ended && report.elapsed < TIME_WAIT).then(|| {
        format!(
            "{} connections are in TIME-WAIT nowhere: it ends when their ports are used again, and by an \
             RST, which a repeated FIN draws when the client's socket is gone",
            grouped(ended - held)
        )
    })
}

fn lateness(options: &LoadOptions, tally: &Tally) -> Option<String> {
    let late = tally.latest_start();
    (options.rate.is_some() && late > LATE).then(|| {
        format!(
            "connections started up to {:.1} ms late: all {} were in use (--concurrency), or this \
             host was busy; latencies count from when they were due",
            late.as_secs_f64() * 1e3,
            options.concurrency
        )
    })
}

/// Of our own TCP, which takes the upper half.
const OUR_PORTS: u64 = 32_768;
/// A start may be as late as a timer is coarse.
const LATE: Duration = Duration::from_millis(10);
const TIME_WAIT: Duration = Duration::from_secs(60);
