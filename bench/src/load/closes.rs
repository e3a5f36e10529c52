//! Which end holds TIME-WAIT after each way to close, and how many requests a second that allows.
//!
//! Each run has a host of its own (a network namespace), so that no port or socket is left from the run
//! before. Prints the table of docs/load/results.md.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use ackwise_linux::Namespace;
use ackwise_serve::{Config, Server};
use ackwise_text::words::grouped;
use anyhow::{Context, ensure};
use serde_json::Value;

use super::nginx::Nginx;
use super::{DIRECTORY, PACKAGES};
use crate::machine::Load;
use crate::{program, warn_if_busy};
use ackwise_units::statistics::Spread;
use xtask::install;
use xtask::process::{self, End, Output};

/// Measures and prints everything.
///
/// # Errors
///
/// If a server or a run fails, or namespaces are not available.
pub(super) fn run(rounds: Option<NonZeroUsize>) -> anyhow::Result<ExitCode> {
    install::provide_packages(PACKAGES)?;
    let ackwise = program::build()?;
    let rounds = rounds.unwrap_or(ROUNDS);
    println!(
        "load --closes: which end holds TIME-WAIT ({CONNECTIONS} connections, {rounds} runs each)\n"
    );
    println!(
        "| | nginx: TIME-WAIT at server | at client | requests per second | built-in: TIME-WAIT at server | at client | requests per second |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let load = Load::start();
    for row in &ROWS {
        let mut cells = Vec::new();
        for server in [Kind::Nginx, Kind::BuiltIn] {
            let mut runs = Vec::new();
            for _ in 0..rounds.get() {
                ensure!(!process::interrupted(), "interrupted");
                let document = once(&ackwise, server, row);
                runs.push(document.with_context(|| format!("{server:?}, {}", row.name))?);
            }
            cells.extend(["/time_wait/server", "/time_wait/client"].map(|at| counts(&runs, at)));
            cells.push(rates(&runs));
        }
        println!("| {} | {} |", row.name, cells.join(" | "));
    }
    // The servers are among the others.
    let others = load.and_then(|load| load.used_by_others(process::children_cpu_time().ok()?));
    warn_if_busy("while it ran (the servers included)", others);
    Ok(ExitCode::SUCCESS)
}

/// A way to close, and a setting of the server's host.
struct Row {
    name: &'static str,
    arguments: &'static [&'static str],
    ignores_resets: bool,
}

const fn row(name: &'static str, arguments: &'static [&'static str]) -> Row {
    Row { name, arguments, ignores_resets: false }
}

const ROWS: [Row; 8] = [
    row("`--close server`", &["--close", "server"]),
    row("`--close client`", &["--close", "client"]),
    row("`--close client-close`", &["--close", "client-close"]),
    row("`--close client-close --drain plain`", &["--close", "client-close", "--drain", "plain"]),
    row("`--close swap`", &["--close", "swap"]),
    Row { ignores_resets: true, ..row("`--close swap`, `tcp_rfc1337=1`", &["--close", "swap"]) },
    row("`--close server --stack ackwise`", &["--close", "server", "--stack", "ackwise"]),
    row(
        "`--close server --requests-per-connection 10`",
        &["--close", "server", "--requests-per-connection", "10"],
    ),
];

#[derive(Clone, Copy, Debug)]
enum Kind {
    Nginx,
    BuiltIn,
}

/// What is dropped when a run is over.
enum Running {
    Nginx { _server: Nginx },
    BuiltIn { _server: Server },
}

fn once(ackwise: &Path, kind: Kind, row: &Row) -> anyhow::Result<Value> {
    let host = Namespace::create()?;
    let rfc1337 = if row.ignores_resets { "1" } else { "0" };
    host.run(|| fs::write("/proc/sys/net/ipv4/tcp_rfc1337", rfc1337))??;
    let bind = SocketAddr::from(([0, 0, 0, 0], PORT));
    let _running = match kind {
        Kind::Nginx => {
            let _inside = host.enter()?;
            Running::Nginx { _server: Nginx::start_on(bind, Path::new(DIRECTORY))? }
        }
        Kind::BuiltIn => {
            let behaviour = ackwise_http::Behaviour::FIXED;
            let config = Config { bind, client_close: true, ..Config::loopback(behaviour) };
            Running::BuiltIn { _server: host.run(|| Server::start(config))?? }
        }
    };
    let mut command = Command::new(ackwise);
    command.args(["load", "--json", "--connections", CONNECTIONS]).args(row.arguments);
    command.arg(format!("http://127.0.0.1:{PORT}/300"));
    let mut text = String::new();
    let mut take = |line: &str| text.push_str(line);
    let end = host.run(|| process::run(&mut command, Output::Take(&mut take), LIMIT))??;
    ensure!(matches!(end, End::Succeeded | End::Failed(_)), "{end:?}");
    let document: Value = serde_json::from_str(&text).with_context(|| text.clone())?;
    ensure!(document["failed"] == 0, "{text}");
    Ok(document)
}

/// The most frequent count, and how often there were others.
fn counts(runs: &[Value], at: &str) -> String {
    let mut found: BTreeMap<u64, usize> = BTreeMap::new();
    for run in runs {
        if let Some(count) = run.pointer(at).and_then(Value::as_u64) {
            *found.entry(count).or_default() += 1;
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    let mut text = found.first().map_or_else(|| "unknown".to_owned(), |(it, _)| grouped(*it));
    for (count, times) in found.iter().skip(1) {
        let often = if *times == 1 { "once".to_owned() } else { format!("{times} times") };
        text.push_str(&format!(", {often} {}", grouped(*count)));
    }
    text
}

/// Median and range, to hundreds.
fn rates(runs: &[Value]) -> String {
    let rates = || runs.iter().filter_map(|run| run["rate_per_s"].as_f64());
    let hundreds = |rate: f64| match format!("{:.0}", rate / 100.0).parse::<u64>() {
        Ok(hundreds) => grouped(hundreds * 100),
        Err(_) => "none".to_owned(),
    };
    let (least, most) = rates().fold((f64::MAX, 0.0_f64), |(a, b), it| (a.min(it), b.max(it)));
    let median = Spread::of(rates()).median;
    format!("{} ({}-{})", hundreds(median), hundreds(least), hundreds(most))
}

const CONNECTIONS: &str = "10000";
const PORT: u16 = 8080;
const ROUNDS: NonZeroUsize = const { NonZeroUsize::new(5).unwrap() };
/// A run takes a second or two.
const LIMIT: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_usual_count_stands_first_and_others_with_how_often_they_were() {
        let runs = [10_000, 9_970, 10_000].map(|it| json!({"rate_per_s": it, "server": it}));
        assert_eq!(counts(&runs, "/server"), "10,000, once 9,970");
        assert_eq!(counts(&runs, "/client"), "unknown");
        assert_eq!(rates(&runs), "10,000 (10,000-10,000)");
    }
}
