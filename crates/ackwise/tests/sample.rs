//! The recording of `ackwise explain --sample`: made by the simulator, small, and worth a first look.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod schema;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn ackwise(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ackwise")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples")
}

/// A file of this test, removed in the end.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        Self(env::temp_dir().join(format!("ackwise-sample-{}-{name}", std::process::id())))
    }

    fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// `ACKWISE_UPDATE=1` writes it again.
#[test]
fn it_is_what_the_simulator_records_of_its_experiment() {
    let fresh = Temporary::new("fresh.pcap");
    let experiment = samples().join("sample.toml");
    let made = ackwise(&["run", experiment.to_str().unwrap(), "--pcap", fresh.name()]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let fresh = fs::read(&fresh.0).unwrap();
    let kept = samples().join("sample.pcap");
    if env::var_os("ACKWISE_UPDATE").is_some() {
        fs::write(&kept, &fresh).unwrap();
    }
    assert!(fresh == fs::read(kept).unwrap(), "ACKWISE_UPDATE=1 writes the recording again");
    assert!(fresh.len() <= 64_000, "{} bytes, and part of each program", fresh.len());
}

#[test]
fn a_stall_a_failure_and_a_healthy_server_are_reported() {
    let output = ackwise(&["explain", "--sample", "--json"]);
    assert_eq!(text(&output.stderr), "");
    let report = schema::keeping_to("explain", &output.stdout);
    let exchanges = report["exchanges"].as_array().unwrap();
    let causes_of = |server: &str| -> Vec<&str> {
        let connections = report["connections"].as_array().unwrap().iter();
        let ours: Vec<_> = connections.filter(|it| it["server"] == server).collect();
        let ours = |id: &serde_json::Value| ours.iter().any(|it| it["id"] == *id);
        let theirs = exchanges.iter().filter(|it| ours(&it["connection"]));
        let causes = theirs.flat_map(|it| it["causes"].as_array().unwrap());
        causes.map(|it| it["cause"].as_str().unwrap()).collect()
    };
    let held = |server| causes_of(server).iter().filter(|it| **it == "nagle-delayed-ack").count();
    assert_eq!(held("10.0.0.2:80"), 12, "each response of the stalling server");
    assert_eq!(held("10.0.0.4:80"), 0, "the healthy one");
    assert!(!causes_of("10.0.0.4:80").is_empty());
    let failures = report["failures"].as_array().unwrap();
    let kinds: Vec<_> = failures.iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["close-race", "close-race"]);
}

#[test]
fn the_saved_recording_gives_the_same_report() {
    let file = Temporary::new("saved.pcap");
    let saved = ackwise(&["explain", "--save-sample", file.name()]);
    assert_eq!((saved.status.code(), text(&saved.stdout)), (Some(0), String::new()));
    let [embedded, read] = ["--sample", file.name()].map(|it| ackwise(&["explain", it]));
    assert_eq!(embedded.status.code(), Some(0));
    assert_eq!(text(&embedded.stdout), text(&read.stdout));
}

#[test]
fn it_is_read_alone() {
    for (others, named) in [
        (&["x.pcap"][..], "cannot combine capture files and --sample"),
        (&["--export", "1", "x.pcapng"], "not with --sample"),
        (&["--save-sample", "x.pcap"], "--save-sample"),
    ] {
        let output = ackwise(&[&["explain", "--sample"], others].concat());
        assert_eq!(output.status.code(), Some(2), "{others:?}");
        assert!(text(&output.stderr).contains(named), "{}", text(&output.stderr));
    }
    let nowhere = ackwise(&["explain", "--save-sample", "/nonexistent/x.pcap"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(text(&nowhere.stderr).contains("/nonexistent/x.pcap"));
}
