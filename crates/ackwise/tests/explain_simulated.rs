//! What the analyser says of a capture is what the ends of the simulated connections waited for.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

use std::{collections::BTreeMap, fmt::Write as _, time::Duration};

use ackwise::{experiment::Experiment, run::pcap::Capture};
use ackwise_capture::{
    WHOLE_FRAMES,
    analysis::{Analyser, Analysis},
    decode::decode,
    read::Source,
};
use ackwise_http::Cause;
use ackwise_sim::{
    Observer, Scenario,
    observe::{ConnectionId, Message, Sighting},
    run,
    scenario::NodeId,
};
use ackwise_tcp::Instant;

/// Where the time of one connection's exchanges went.
type Bill = BTreeMap<Cause, Duration>;

/// Until when a connection's oldest exchange did not get on, how long, and why.
type Blame = (Instant, Duration, Cause);

/// Of a capture at the client, this share of all milliseconds is under the right name.
const AGREEMENT: f64 = 0.97;

#[test]
fn the_stalls_of_1996_are_found_in_their_captures() {
    agree("heidemann_table_1.toml", &[], AGREEMENT);
}

#[test]
fn stalls_and_slow_paths() {
    agree("stalls.toml", &[], AGREEMENT);
}

#[test]
fn wide_area() {
    agree("heidemann_wan.toml", &[], AGREEMENT);
}

#[test]
fn pipelining() {
    agree("heidemann_pipelining.toml", &[], AGREEMENT);
}

#[test]
fn receivers() {
    agree("heidemann_receivers.toml", &[], AGREEMENT);
}

#[test]
fn idle_restart() {
    agree("idle_restart.toml", &[], AGREEMENT);
}

#[test]
fn socket_buffers() {
    agree("heidemann_socket_buffers.toml", &[], AGREEMENT);
}

/// Runs every case of an experiment, explains a capture taken at its first client, and compares.
fn agree(experiment: &str, settings: &[&str], at_least: f64) {
    let path = format!("{}/../../experiments/{experiment}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let experiment = Experiment::parse(experiment, &text).unwrap();
    let settings = ["watch_causes=true"].iter().chain(settings);
    let experiment = experiment.with_all_set(settings.copied()).unwrap();
    let mut wrong = String::new();
    for (number, case) in experiment.cases().iter().enumerate() {
        let mut scenario = case.scenario.clone();
        scenario.duration = scenario.duration.min(LONGEST);
        let (blamed, analysis) = explain(&scenario, case.scenario.applications[0].client);
        let (truth, found) = (truth(&blamed, &analysis), bills(&analysis));
        let agreement = agreement(&truth, &found);
        let line = format!("{} case {}: {agreement:.4}\n", experiment.name(), number + 1);
        print!("{line}");
        if agreement < at_least {
            wrong += &line;
            wrong += &differences(&truth, &found);
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// As much of each case is enough.
const LONGEST: Duration = Duration::from_secs(60);

fn explain(scenario: &Scenario, vantage: NodeId) -> (Vec<Vec<Blame>>, Analysis) {
    let mut file = Vec::new();
    let capture = Capture::new(&mut file, WHOLE_FRAMES, vantage).unwrap();
    let mut watcher = Watcher { capture, blamed: BTreeMap::new() };
    run(scenario, &mut watcher).unwrap();
    let Watcher { capture, blamed } = watcher;
    capture.finish().unwrap();
    let mut source = Source::of("simulated", std::io::Cursor::new(file));
    let mut analyser = Analyser::default();
    while let Some(frame) = source.next().unwrap() {
        analyser.handle(&decode(&frame).unwrap());
    }
    (blamed.into_values().collect(), analyser.finish())
}

struct Watcher<'a> {
    capture: Capture<&'a mut Vec<u8>>,
    blamed: BTreeMap<ConnectionId, Vec<Blame>>,
}

impl Observer for Watcher<'_> {
    fn on_sent(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.blamed.entry(sighting.connection).or_default();
        self.capture.on_sent(sighting, now);
    }

    fn on_received(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.capture.on_received(sighting, now);
    }

    fn on_message(&mut self, message: &Message, now: Instant) {
        self.capture.on_message(message, now);
    }

    fn on_blame(&mut self, at: ConnectionId, cause: Cause, span: Duration, now: Instant) {
        self.blamed.entry(at).or_default().push((now, span, cause));
    }

    fn on_over(&mut self, connection: ConnectionId, now: Instant) {
        self.capture.on_over(connection, now);
    }

    fn goes_on(&mut self, now: Instant) -> bool {
        self.capture.goes_on(now)
    }
}

/// What the ends waited for while an exchange was to be seen. Before its request leaves nothing is.
fn truth(blamed: &[Vec<Blame>], analysis: &Analysis) -> Vec<Bill> {
    assert_eq!(blamed.len(), analysis.connections.len(), "connections");
    let mut truth = vec![Bill::new(); blamed.len()];
    let mut exchanges = vec![Vec::new(); blamed.len()];
    for exchange in &analysis.exchanges {
        let window = (exchange.start, exchange.start + exchange.duration);
        exchanges[exchange.connection as usize].push(window);
    }
    for ((blamed, exchanges), truth) in blamed.iter().zip(&exchanges).zip(&mut truth) {
        for &(until, span, cause) in blamed {
            let from = until.saturating_sub(span);
            let place = exchanges.partition_point(|&(_, end)| end <= from);
            for &(start, end) in exchanges[place..].iter().take_while(|it| it.0 < until) {
                let seen = until.min(end).saturating_since(from.max(start));
                *truth.entry(cause).or_default() += seen;
            }
        }
    }
    truth
}

fn bills(analysis: &Analysis) -> Vec<Bill> {
    let mut bills = vec![Bill::new(); analysis.connections.len()];
    for exchange in &analysis.exchanges {
        let sum: Duration = exchange.shares.iter().map(|share| share.span).sum();
        assert_eq!(sum, exchange.duration, "{exchange:?}");
        for share in &exchange.shares {
            *bills[exchange.connection as usize].entry(share.cause).or_default() += share.span;
        }
    }
    bills
}

/// What is under the right name, of all that either of the two names.
fn agreement(truth: &[Bill], found: &[Bill]) -> f64 {
    let (mut same, mut all) = (Duration::ZERO, Duration::ZERO);
    for (truth, found) in truth.iter().zip(found) {
        for cause in Cause::ALL {
            let [truth, found] =
                [truth, found].map(|it| it.get(&cause).copied().unwrap_or_default());
            same += truth.min(found);
            all += truth;
        }
    }
    same.as_secs_f64() / all.as_secs_f64()
}

fn differences(truth: &[Bill], found: &[Bill]) -> String {
    let mut out = String::new();
    let total = |bills: &[Bill], cause| -> f64 {
        bills.iter().filter_map(|it| it.get(&cause)).sum::<Duration>().as_secs_f64() * 1e3
    };
    for cause in Cause::ALL {
        let [truth, found] = [total(truth, cause), total(found, cause)];
        if truth + found > 0.0 {
            writeln!(out, "    {cause:24} {truth:12.3} ms, found {found:12.3} ms").unwrap();
        }
    }
    out
}
