//! A few paths of `cargo xtask bench kernel`, with bands so wide that a busy machine stays within them: they
//! fail if a mechanism of the preset is missing, not if a figure has moved.

use std::process::Command;

use ackwise_linux::Namespace;
use ackwise_testing::{inconclusive, skip};
use serde_json::Value;

const NAME: &str = "the_preset_behaves_like_this_kernel";

#[test]
fn the_preset_behaves_like_this_kernel() {
    if let Err(missing) = Namespace::create() {
        return skip(NAME, missing);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackwise-bench"));
    let output = command.args(["kernel", "--seed", "3", "--paths", PATHS, "--json"]).output();
    let output = output.expect("the benchmark starts");
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("cannot trace TCP") || said.contains("no congestion control") {
        return skip(NAME, said.lines().last().unwrap_or_default());
    }
    assert!(output.status.success(), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("it prints JSON");
    let paths = report["paths"].as_array().expect("a list of paths");
    let mut ratios = Vec::new();
    for path in paths.iter().filter(|path| path["doubt"].is_null()) {
        ratios.push(path["ratio"].as_f64().expect("a ratio"));
        let burst = |world: &str| path[world]["burst_segments"].as_f64().expect("a burst");
        assert!(burst("simulated") <= burst("kernel").max(10.0) * 2.0, "{path:#}");
    }
    let decided = ratios.len();
    if decided < paths.len() / 2 {
        return inconclusive(NAME, format!("only {decided} of {} were not disturbed", paths.len()));
    }
    let beyond = ratios.iter().filter(|it| !(LEAST_RATIO..=MOST_RATIO).contains(*it)).count();
    assert!(beyond <= MOST_BEYOND, "{ratios:?}");
}

/// Our choice: CUBIC, Reno and BBR with and without faults, in about 40 s.
const PATHS: &str = "12";
/// Our choice: without HyStart, RACK-TLP or BBR, ratios up to 2 and more were measured.
const LEAST_RATIO: f64 = 0.8;
const MOST_RATIO: f64 = 1.25;
/// Our choice: on a small queue, one segment decides whether a transfer ends with a timeout.
const MOST_BEYOND: usize = 3;
