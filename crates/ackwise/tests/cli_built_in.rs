#![cfg(target_os = "linux")] // The stall of 1996 needs a peer that delays ACKs as Linux does.
//! `ackwise check` without a URL: the main job on a fresh machine.

mod schema;

use std::{
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

#[test]
fn without_a_url_both_built_in_servers_come_out_as_expected() {
    let begin = Instant::now();
    let output = Command::new(env!("CARGO_BIN_EXE_ackwise"))
        .args(["check", "--stack", "kernel", "--json"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{complaints}");
    assert_eq!(complaints, "");
    assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", begin.elapsed());

    let document = schema::keeping_to("check", &output.stdout);
    let [paper, fixed] = [0, 1].map(|index| &document["results"][index]);
    assert_eq!([&paper["server"], &fixed["server"]], ["1996", "fixed"]);
    assert_eq!(verdict(paper, "nagle-delayed-ack"), "fail");
    for finding in fixed["findings"].as_array().unwrap() {
        assert_ne!(finding["verdict"], "fail", "{finding}");
    }
    let pages = document["pages"].as_array().unwrap();
    assert_eq!(pages.len(), 4);
    for page in pages {
        let median = page["median_ms"].as_f64().unwrap();
        let stalls = page["server"] == "1996";
        assert_eq!(median > 60.0, stalls, "{page}");
    }
}

fn verdict<'a>(card: &'a Value, id: &str) -> &'a Value {
    let mut findings = card["findings"].as_array().into_iter().flatten();
    findings.find(|finding| finding["id"] == id).map_or(&Value::Null, |it| &it["verdict"])
}
