//! Two captures of the same, one at each end, by clocks that differ.

use std::{fs, path::Path, process::Command, thread};

use ackwise_testing::skip;
use serde_json::Value;

use crate::{
    lab::{self, Lab},
    program::{PORT, SETTLE, curl, missing, nginx},
    tap::Tap,
};

#[test]
fn captures_at_both_ends_are_one_report_and_the_clocks_are_compared() {
    /// Error of the server's clock, in seconds.
    const AHEAD: u32 = 7;
    let name = "captures_at_both_ends";
    if let Some(missing) = lab::missing().or_else(|| missing(&["nginx", "curl", "setpriv"])) {
        return skip(name, missing);
    }
    let Lab { client, server, .. } = &Lab::with_cable();
    let _nginx = nginx(&server.namespace, name);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let taps = [("client", client), ("server", server)]
        .map(|(end, host)| Tap::at(host, &folder.join(format!("{name}.{end}.pcap"))));
    let url = |path| format!("http://{}:{PORT}/{path}", server.address);
    curl(&client.namespace, &[&url("small?[1-10]"), &url("large?[1-3]")]);
    thread::sleep(SETTLE);
    let [ours, theirs] = taps.map(Tap::stop);
    set_clock(&theirs, AHEAD);
    let report = explain(&["--pair".as_ref(), &ours, &theirs]);
    let alone = explain(&[&ours]);

    let joined = &report["joined"];
    let number = |value: &Value| value.as_f64().unwrap();
    let wrong = number(&joined["clock_offset_ms"]) - f64::from(AHEAD) * 1e3;
    assert!(wrong.abs() <= number(&joined["uncertainty_ms"]), "{joined}");
    assert!(number(&joined["uncertainty_ms"]) < 1.0, "{joined}");
    assert_eq!((&joined["connections"], &joined["exchanges"]), (&1.into(), &13.into()), "{joined}");
    assert_eq!(report["connections"][0]["vantage"], "both");
    let exchanges = report["exchanges"].as_array().unwrap();
    for (exchange, alone) in exchanges.iter().zip(alone["exchanges"].as_array().unwrap()) {
        assert_eq!(exchange["duration_ms"], alone["duration_ms"]);
        let causes = exchange["causes"].as_array().unwrap();
        let sum: f64 = causes.iter().map(|it| number(&it["ms"])).sum();
        assert!((sum - number(&exchange["duration_ms"])).abs() < 1e-6, "{exchange}");
    }
    let stalls = [&report, &alone].map(|it| {
        let totals = it["totals"].as_array().unwrap().iter();
        let stalls = totals.filter(|it| it["over"] == "all" && it["cause"] == "nagle-delayed-ack");
        stalls.map(|it| number(&it["ms"])).sum::<f64>()
    });
    // On a busy machine the one vantage point may not be sure of a stall of which the other is.
    let differ = (stalls[0] - stalls[1]).abs() / stalls[0];
    assert!(stalls[0] > 160.0 && differ < 0.25, "{stalls:?}");

    let swapped = run(&["--pair".as_ref(), &theirs, &ours]);
    assert_eq!(swapped.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&swapped.stderr).contains("the wrong order"));
}

/// Adds seconds to every time in a pcap file of this machine's byte order.
fn set_clock(file: &Path, ahead: u32) {
    let mut bytes = fs::read(file).unwrap();
    let field = |bytes: &[u8], at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    // The header of the file, then a header before each packet: seconds, nanoseconds, length.
    let mut at = 24;
    while at < bytes.len() {
        let (seconds, length) = (field(&bytes, at), field(&bytes, at + 8));
        bytes[at..at + 4].copy_from_slice(&(seconds + ahead).to_ne_bytes());
        at += 16 + length as usize;
    }
    fs::write(file, bytes).unwrap();
}

fn run(arguments: &[&Path]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackwise"));
    command.args(["explain", "--json"]).args(arguments).output().unwrap()
}

fn explain(arguments: &[&Path]) -> Value {
    let output = run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}
