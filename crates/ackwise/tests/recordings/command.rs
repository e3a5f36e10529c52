//! The options of `ackwise run` that record.

use std::{fs, process::Command};

use crate::Temporary;

fn ackwise_run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackwise"));
    let output = command.arg("run").args(arguments).output().unwrap();
    let [out, err] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    (output.status.code(), out, err)
}

#[test]
fn one_case_leaves_its_files_and_its_row() {
    let (pcap, csv) = (Temporary::new("run.pcap"), Temporary::new("run.csv"));
    let files = [&pcap, &csv].map(|file| file.0.to_str().unwrap());
    let (code, out, err) = ackwise_run(&[
        "stalls",
        "--case",
        "1",
        "--pcap",
        files[0],
        "--vantage",
        "server",
        "--snap-length",
        "128",
        "--time-sequence",
        files[1],
    ]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert!(out.contains("web.documents"), "{out}");
    assert!(fs::read(&pcap.0).unwrap().starts_with(&0xa1b2_3c4d_u32.to_le_bytes()));
    let rows = fs::read_to_string(&csv.0).unwrap();
    let mut rows = rows.lines();
    assert!(rows.next().unwrap().starts_with("time_s,connection,event,from,"));
    let mut seen: Vec<Vec<_>> = rows.map(|row| row.split(',').skip(2).take(2).collect()).collect();
    seen.sort();
    seen.dedup();
    assert_eq!(seen, [["received", "client"], ["sent", "server"]], "what the server sees");
}

#[test]
fn a_time_sequence_alone_can_be_that_of_one_host() {
    let csv = Temporary::new("host.csv");
    let path = csv.0.to_str().unwrap();
    let rows = |vantage: &[&str]| {
        let one = ["stalls", "--case", "1", "--time-sequence", path];
        let (code, out, err) = ackwise_run(&[&one[..], vantage].concat());
        assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
        fs::read_to_string(&csv.0).unwrap().lines().count() - 1
    };
    let [client, server] = ["client", "server"].map(|host| rows(&["--vantage", host]));
    assert_eq!(rows(&[]), client + server, "nothing is dropped");
}

#[test]
fn what_is_not_one_case_is_refused_before_anything_runs() {
    let file = Temporary::new("never.pcap");
    let path = file.0.to_str().unwrap();
    for (arguments, reason) in [
        (
            &["stalls", "--pcap", path][..],
            "cannot record 3 cases: a recording holds one run (expected --case N",
        ),
        (
            &["stalls", "--pcap", path, "--case", "4"],
            "cannot record case 4: the experiment has 3 cases (see --list)",
        ),
        (&["stalls", "--case", "1"], "--pcap <FILE>|--time-sequence <FILE>"),
        (&["stalls", "--vantage", "client"], "--pcap <FILE>|--time-sequence <FILE>"),
        (&["stalls", "--pcap", path, "--case", "1", "--store", "none"], "cannot be used with"),
        (
            &["stalls", "--pcap", path, "--case", "1", "--vantage", "nobody"],
            "unknown host \"nobody\" (expected one of client, server)",
        ),
    ] {
        let (code, _, err) = ackwise_run(arguments);
        assert_eq!(code, Some(2), "{arguments:?}");
        assert!(err.contains(reason), "{arguments:?}: {err}");
        assert!(!file.0.exists(), "{arguments:?}");
    }
}
