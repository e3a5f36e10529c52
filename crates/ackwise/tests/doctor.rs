#![cfg(target_os = "linux")]
//! `ackwise doctor` and `ackwise --version --verbose`: what works here, and how the program was built.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod schema;

use std::process::{Command, Output};

fn ackwise(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackwise"));
    command.args(arguments);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn row<'a>(report: &'a serde_json::Value, commands: &str) -> &'a serde_json::Value {
    let rows = report["rows"].as_array().unwrap();
    rows.iter().find(|it| it["commands"].as_str().unwrap().contains(commands)).unwrap()
}

#[test]
fn each_row_that_does_not_work_has_a_remedy_and_the_exit_code_says_if_one_is_missing() {
    let output = ackwise(&["doctor", "--json"]).output().unwrap();
    let report = schema::keeping_to("doctor", &output.stdout);
    let rows = report["rows"].as_array().unwrap();
    let mut is_missing = false;
    for row in rows {
        let works = row["state"] == "works";
        assert_eq!((row["missing"].is_null(), row["remedy"].is_null()), (works, works), "{row}");
        is_missing |= row["state"] == "missing";
    }
    assert_eq!(output.status.code(), Some(i32::from(is_missing)));
}

#[test]
fn without_root_certificates_the_ways_to_give_some_are_named() {
    let without = |arguments: &[&str]| -> Output {
        let mut command = ackwise(arguments);
        command.env("SSL_CERT_FILE", "/dev/null").env_remove("SSL_CERT_DIR").output().unwrap()
    };
    let output = without(&["doctor", "--json"]);
    let report = schema::keeping_to("doctor", &output.stdout);
    assert_eq!(row(&report, "https")["state"], "missing");
    assert_eq!(output.status.code(), Some(1));
    // Nothing listens there: the certificates are looked for first.
    for command in ["check", "load"] {
        let output = without(&[command, "https://127.0.0.1:9/"]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains("--ca-file") && message.contains("SSL_CERT_FILE"), "{message}");
    }
}

#[test]
fn version_says_which_features_are_built_in() {
    let output = ackwise(&["--version", "--verbose"]).output().unwrap();
    let said = text(&output.stdout);
    let sign = if cfg!(feature = "ebpf") { "+" } else { "-" };
    assert!(said.contains(&format!("\n{sign}ebpf (")) && said.contains("linked "), "{said}");
    assert_eq!(text(&ackwise(&["--version"]).output().unwrap().stdout).lines().count(), 1);
    let report = ackwise(&["doctor", "--json"]).output().unwrap();
    let report = schema::keeping_to("doctor", &report.stdout);
    let is_built = row(&report, "--pace")["state"] != "not-built";
    assert_eq!(is_built, cfg!(feature = "ebpf"));
}
