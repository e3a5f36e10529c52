//! `ackwise explain` as a user and a script see it, on captures of simulated servers.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod schema;

use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio, id},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

use ackwise_capture::{
    attribution::{Confidence, Share},
    read::Source,
};
use ackwise_cause::Cause;
use ackwise_explain::{Reading, ReportOptions, html, json, markdown, text as text_of};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

/// A directory with a capture of the server of 1996, removed in the end.
struct Directory(PathBuf);

impl Directory {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("ackwise-explain-{}-{count}", id()));
        fs::create_dir(&path).unwrap();
        let directory = Self(path);
        let experiment = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../papers/experiments/heidemann_table_1.toml");
        let experiment = experiment.to_str().unwrap();
        let made = directory.run(&["run", experiment, "--case", "2", "--pcap", "stalls.pcap"]);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        directory
    }

    fn capture(&self) -> Vec<u8> {
        fs::read(self.0.join("stalls.pcap")).unwrap()
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.0.join(name), bytes).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ackwise"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[&["explain", "--json"], arguments].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        schema::keeping_to("explain", &output.stdout)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn owed(report: &Value, cause: &str) -> f64 {
    let totals = report["totals"].as_array().unwrap();
    let of_all = totals.iter().filter(|it| it["over"] == "all" && it["cause"] == cause);
    of_all.map(|it| it["ms"].as_f64().unwrap()).sum()
}

#[test]
fn the_json_has_what_scripts_look_for_and_causes_add_up() {
    let directory = Directory::new();
    let report = directory.json(&["stalls.pcap"]);
    let exchanges = report["exchanges"].as_array().unwrap();
    assert_eq!(exchanges.len(), 300);
    for exchange in exchanges {
        let causes = exchange["causes"].as_array().unwrap();
        let sum: f64 = causes.iter().map(|it| it["ms"].as_f64().unwrap()).sum();
        let whole = exchange["duration_ms"].as_f64().unwrap();
        assert!((sum - whole).abs() < 1e-6, "{sum} is not {whole}");
        assert!(causes.iter().all(|it| it["party"].is_string() && it["packets"].is_array()));
    }
    let connection = &report["connections"][0];
    assert_eq!(connection["vantage"], "client");
    assert_eq!(connection["closed_first"], "client");
    assert!(connection["delayed_ack_ms"].as_f64().unwrap() > 100.0);
    // What the ends waited for, as the simulator has it: 38,009.6 and 19,257.2 ms.
    assert!((owed(&report, "nagle-delayed-ack") - 38_010.0).abs() < 400.0);
    assert!((owed(&report, "short-initial-segment") - 19_257.0).abs() < 200.0);
}

#[test]
fn the_first_sentence_names_who_waited_for_whom_and_what_to_change() {
    let directory = Directory::new();
    let output = text(&directory.run(&["explain", "--worst", "1", "stalls.pcap"]).stdout);
    let (quality, rest) = output.split_once("\n\n").unwrap();
    assert_eq!(quality, "Capture: both directions, no packets missing.");
    assert!(
        rest.starts_with("10.0.0.2:80 held the last segment of a response (Nagle)"),
        "{output}"
    );
    assert!(output.contains("set TCP_NODELAY on accepted connections"), "{output}");
    assert!(output.lines().all(|line| line.chars().count() <= 120), "{output}");
    let markdown = text(&directory.run(&["explain", "--markdown", "stalls.pcap"]).stdout);
    assert!(markdown.starts_with("Capture: both directions"), "{markdown}");
    assert!(markdown.contains("\n**10.0.0.2:80 held"), "{markdown}");
}

#[test]
fn each_server_has_its_ends_and_each_distance_its_direction() {
    let directory = Directory::new();
    let report = directory.json(&["stalls.pcap"]);
    let [server] = &report["servers"].as_array().unwrap()[..] else { panic!("one server") };
    assert_eq!((&server["connections"], &server["exchanges"]), (&100.into(), &300.into()));
    for key in ["closed_first", "time_wait"] {
        assert_eq!((&server[key]["client"], &server[key]["server"]), (&100.into(), &0.into()));
    }
    assert_eq!((&server["reset"], &server["idle_open"]), (&0.into(), &0.into()));
    let text = text(&directory.run(&["explain", "stalls.pcap"]).stdout);
    for direction in ["to server", "to client"] {
        let row = format!("propagation             {direction}  path");
        assert!(text.contains(&row), "{text}");
    }
    assert!(text.contains("held TIME-WAIT: client 100, server 0"), "{text}");
}

#[test]
fn a_limit_that_is_met_is_exit_1_and_a_wrong_name_lists_the_causes() {
    let directory = Directory::new();
    for (limit, code) in [
        ("nagle-delayed-ack", 1),
        ("nagle-delayed-ack=100ms", 1),
        ("nagle-delayed-ack=1000ms", 0),
        ("cork-timer", 0),
        ("nagle", 2),
        ("cork-timer=-1ms", 2),
        ("cork-timer=1", 2),
        ("failures", 0),
        ("close-race=3", 0),
        ("failures=0.5", 2),
    ] {
        let output = directory.run(&["explain", "--fail-on", limit, "stalls.pcap"]);
        assert_eq!(output.status.code(), Some(code), "{limit}: {}", text(&output.stderr));
    }
    let output = directory.run(&["explain", "--fail-on", "nagle", "stalls.pcap"]);
    assert!(text(&output.stderr).contains("nagle-delayed-ack, nagle-rtt"));
}

#[test]
fn a_limit_that_is_exceeded_is_named_with_the_worst_exchange() {
    let directory = Directory::new();
    let report = directory.json(&["stalls.pcap"]);
    let owed: Vec<f64> = (report["exchanges"].as_array().unwrap().iter())
        .map(|exchange| {
            let causes = exchange["causes"].as_array().unwrap().iter();
            let nagle = causes.filter(|it| it["cause"] == "nagle-delayed-ack");
            nagle.map(|it| it["ms"].as_f64().unwrap()).sum()
        })
        .collect();
    let most = owed.iter().copied().fold(0.0, f64::max);
    let worst = owed.iter().position(|it| *it == most).unwrap();
    let limits = ["--fail-on", "nagle-delayed-ack=10ms", "--fail-on", "cork-timer"];
    let limits = [&limits[..], &["--fail-on", "transmission=0.5ms"]].concat();
    let output = directory.run(&[&["explain"], &limits[..], &["stalls.pcap"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    let [nagle, link] = &said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
    let expected = format!(
        "ackwise: --fail-on nagle-delayed-ack=10ms: exceeded by 200 of 300 exchanges, most by \
         exchange {worst} ({most:.3} ms)"
    );
    assert_eq!(*nagle, expected);
    assert!(link.starts_with("ackwise: --fail-on transmission=0.5ms: exceeded by "), "{link}");
}

#[test]
fn what_is_no_capture_is_said_and_what_is_cut_is_explained_up_to_there() {
    let directory = Directory::new();
    directory.write("notes.txt", b"Nothing to see here, move along.");
    let output = directory.run(&["explain", "notes.txt"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("notes.txt"), "{}", text(&output.stderr));
    assert_eq!(directory.run(&["explain", "missing.pcap"]).status.code(), Some(2));

    let whole = directory.capture();
    directory.write("cut.pcap", &whole[..whole.len() / 2 + 7]);
    let report = directory.json(&["cut.pcap"]);
    assert!(report["warnings"][0].as_str().unwrap().contains("cut.pcap"), "{}", report["warnings"]);
    assert_eq!(report["quality"]["cut_off_files"], 1);
    let report_of_cut = text(&directory.run(&["explain", "cut.pcap"]).stdout);
    assert!(
        report_of_cut
            .starts_with("Capture: 1 file ends early (see the warning below); in what was"),
        "{report_of_cut}"
    );
    let exchanges = report["exchanges"].as_array().unwrap().len();
    assert!((140..=160).contains(&exchanges), "{exchanges}");
    // A broken file takes nothing from the others.
    let both = directory.json(&["notes.txt", "stalls.pcap"]);
    assert_eq!(both["exchanges"].as_array().unwrap().len(), 300);
    assert_eq!(both["quality"]["unread_files"], 1);
}

#[test]
fn a_capture_that_was_begun_is_reported_also_without_a_whole_packet() {
    let directory = Directory::new();
    let whole = directory.capture();
    // The file's header has 24 bytes.
    for (length, code, warnings) in [(24, 0, 0), (30, 0, 1), (45, 0, 1), (20, 2, 0), (0, 2, 0)] {
        directory.write("begun.pcap", &whole[..length]);
        let output = directory.run(&["explain", "begun.pcap"]);
        assert_eq!(output.status.code(), Some(code), "{length}: {}", text(&output.stderr));
        if code == 0 {
            let report = directory.json(&["begun.pcap"]);
            assert_eq!(report["warnings"].as_array().unwrap().len(), warnings, "{length}");
            assert!(text(&output.stdout).contains("The capture has no exchange."));
        }
    }
}

#[test]
fn a_capture_at_the_server_says_which_time_it_does_not_show() {
    let directory = Directory::new();
    let experiment =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../papers/experiments/heidemann_table_1.toml");
    let modem = "link.ethernet.rate=\"28.8 kb/s\"";
    let run = ["run", experiment, "--case", "4", "--set", modem, "--set", "duration=\"900 s\""];
    for (host, shows) in [("server", true), ("client", false)] {
        let made =
            directory.run(&[&run[..], &["--vantage", host, "--pcap", "modem.pcap"]].concat());
        assert!(made.status.success(), "{}", text(&made.stderr));
        let report = directory.json(&["modem.pcap"]);
        assert_eq!(report["connections"][0]["vantage"], host);
        let each = report["exchanges"].as_array().unwrap().iter();
        let sum: f64 = each.filter_map(|it| it["acknowledged_after_ms"].as_f64()).sum();
        match shows {
            true => {
                assert!((sum - report["until_acknowledged_ms"].as_f64().unwrap()).abs() < 1e-6);
                assert!(sum > 1_000.0, "{sum}");
            }
            false => assert!(report["until_acknowledged_ms"].is_null() && sum == 0.0, "{sum}"),
        }
        let said = "Captured at the server: the time until the last bytes of each response arrived";
        for format in [&["--markdown"][..], &["--html", "page.html"]] {
            let output = directory.run(&[&["explain", "modem.pcap"], format].concat());
            assert_eq!(text(&output.stdout).contains(said), shows, "{host} {format:?}");
        }
        let page = fs::read_to_string(directory.0.join("page.html")).unwrap();
        assert_eq!(page.contains(said), shows, "{host}");
    }
}

#[test]
fn a_rival_is_named_where_its_cause_is_and_no_name_is_broken() {
    let directory = Directory::new();
    let reading = Reading::with_series();
    reading.read(&mut Source::open([directory.0.join("stalls.pcap")]));
    let mut explained = reading.end().unwrap();
    for exchange in &mut explained.analysis.exchanges {
        let doubtful = exchange.shares.iter().map(|share| Share {
            confidence: Confidence::Medium,
            rival: Some(Cause::ApplicationLimited),
            ..share
        });
        exchange.shares = doubtful.collect();
    }
    let mut options = ReportOptions::default();
    let report = text_of(&explained, &options);
    let row = "nagle-delayed-ack       to client  server     200        200  medium, rival \
               application-limited\n";
    assert!(report.contains(row), "{report}");
    assert!(report.contains(" (medium confidence, rival application-limited)\n"), "{report}");
    assert!(
        report.contains("(packets: the data before and after the longest wait, and"),
        "{report}"
    );
    let row = "200 | 200 | medium, rival application-limited |";
    assert!(markdown(&explained, &options).contains(row));
    assert!(html(&explained, &options, "x").contains("medium, rival application-limited"));
    let sentence = "medium confidence; the packets also admit application-limited).";
    for columns in 40..130 {
        options.columns = columns;
        let report = text_of(&explained, &options);
        assert!(!report.lines().any(|line| line.ends_with('-')), "{columns}: {report}");
        let joined: Vec<_> = report.split_whitespace().collect();
        assert!(joined.join(" ").contains(sentence), "{report}");
    }
}

#[test]
fn what_an_outsider_writes_does_not_look_like_the_report() {
    let forged =
        "GET /\n# Forged\r\n\u{2028}| a |\u{61c}\u{9b}2J\u{1b}[31m @all ![x](http://evil) `<b>`";
    let directory = Directory::new();
    let whole = directory.capture();
    // The name of a file, in a warning and in an error.
    let name = "x\n# Forged\u{2028}\u{9b}\u{1b}[2J @all <b>.pcap";
    directory.write(name, &whole[..whole.len() / 2 + 7]);
    let mut reports = Vec::new();
    for format in [&["explain"][..], &["explain", "--markdown"], &["explain", "--json"]] {
        reports.push(text(&directory.run(&[format, &[name]].concat()).stdout));
    }
    directory.run(&["explain", "--html", "page.html", name]);
    reports.push(fs::read_to_string(directory.0.join("page.html")).unwrap());
    let missing = format!("missing {name}");
    for arguments in [["explain", &missing], ["explain", "--\u{1b}[2J\nx"]] {
        let output = directory.run(&arguments);
        assert_eq!(output.status.code(), Some(2));
        reports.push(text(&output.stderr));
    }
    // The path of a request.
    let reading = Reading::new();
    reading.read(&mut Source::open([directory.0.join("stalls.pcap")]));
    let mut explained = reading.end().unwrap();
    for exchange in &mut explained.analysis.exchanges {
        exchange.request = Some(forged.into());
    }
    let mut options = ReportOptions::default();
    options.by_path = true;
    let written = [text_of, markdown, json].map(|report| report(&explained, &options));
    reports.extend(written);
    reports.push(html(&explained, &options, forged));
    for report in reports {
        let hidden = ['\u{1b}', '\u{9b}', '\u{2028}', '\u{61c}', '\r'];
        // Our own styles, which a terminal gets.
        let plain = report.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
        assert!(!plain.contains(hidden), "{plain:?}");
        assert!(!plain.lines().any(|line| line.trim_start().starts_with("# Forged")), "{plain}");
        assert!(!plain.starts_with("<!") || !plain.contains("<b>"), "{plain}");
    }
}

#[test]
fn a_pipe_is_read_as_it_comes_and_an_interrupt_prints_what_was_found() {
    let directory = Directory::new();
    let whole = directory.capture();
    let mut command = directory.command(&["explain", "--json", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(&whole[..whole.len() / 2]).unwrap();
    pipe.flush().unwrap();
    // Whenever the signal comes after the program has begun, it gives a report; a busy machine may
    // need long to begin.
    thread::sleep(Duration::from_secs(2));
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(pipe);
    assert_eq!(output.status.code(), Some(0));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["exchanges"].as_array().unwrap().len() > 100, "{}", report["summary"]);
}

#[test]
fn what_is_written_beside_the_report_is_begun_before_a_packet_is_read() {
    let directory = Directory::new();
    let files = || fs::read_dir(&directory.0).unwrap().count();
    let before = files();
    let mut command =
        directory.command(&["explain", "-", "--html", "page", "--save-stripped", "stripped"]);
    let mut explain = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    // Two files under random names.
    let begun = (0..200).any(|_| {
        thread::sleep(Duration::from_millis(20));
        files() == before + 2
    });
    explain.stdin.take().unwrap().write_all(&directory.capture()).unwrap();
    assert!(explain.wait().unwrap().success());
    assert!(begun);
    let whole = |name: &str| fs::read(directory.0.join(name)).unwrap().len() > 1_000;
    assert!(whole("page") && whole("stripped") && files() == before + 2);
}

/// Field `Seccomp` of proc_pid_status(5): 2 is a filter. Every output form is tried with them by the other tests.
#[cfg(target_os = "linux")]
#[test]
fn the_threads_that_read_and_judge_packets_are_confined() {
    let directory = Directory::new();
    let mut command = directory.command(&["explain", "--threads", "3", "-"]);
    let mut explain = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut pipe = explain.stdin.take().unwrap();
    pipe.write_all(&directory.capture()[..2_000]).unwrap();
    let field = |path: &Path, name: &str| {
        let status = fs::read_to_string(path.join("status")).unwrap();
        let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(":\t"));
        value.unwrap().to_owned()
    };
    let mut confined = Vec::new();
    for _ in 0..200 {
        let tasks = fs::read_dir(format!("/proc/{}/task", explain.id())).unwrap().flatten();
        let filtered = tasks.map(|it| it.path()).filter(|it| field(it, "Seccomp") == "2");
        confined = filtered.map(|it| (field(&it, "Name"), field(&it, "NoNewPrivs"))).collect();
        if confined.len() == 3 {
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    drop(pipe);
    assert!(explain.wait().unwrap().success());
    confined.sort();
    let judges = confined.iter().filter(|(name, _)| name == "explain").count();
    assert_eq!((confined.len(), judges), (3, 2), "{confined:?}");
    assert!(confined.iter().all(|(_, kept)| kept == "1"), "{confined:?}");
}

#[test]
fn a_connection_that_is_not_there_is_said() {
    let directory = Directory::new();
    let output = directory.run(&["explain", "--connection", "100", "stalls.pcap"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("has 100 connections, numbered from 0"));
    let output = text(&directory.run(&["explain", "--connection", "7", "stalls.pcap"]).stdout);
    assert_eq!(output.matches("connection 7 (").count(), 3, "{output}");
}

#[cfg(feature = "parquet")]
#[test]
fn the_rows_of_each_exchange_add_up_to_its_duration_in_parquet_too() {
    use parquet::{
        file::reader::{FileReader, SerializedFileReader},
        record::RowAccessor,
    };

    let directory = Directory::new();
    let report = directory.json(&["--parquet", "rows.parquet", "stalls.pcap"]);
    let file = fs::File::open(directory.0.join("rows.parquet")).unwrap();
    let file = SerializedFileReader::new(file).unwrap();
    let rows: Vec<_> = file.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    let column = |name: &str| {
        rows[0].get_column_iter().position(|(found, _)| found == name).expect("the column is there")
    };
    let (number, cause) = (column("exchange"), column("cause"));
    let (duration, ms) = (column("duration_ms"), column("ms"));
    let exchanges = report["exchanges"].as_array().unwrap();
    for (index, exchange) in exchanges.iter().enumerate() {
        let index = i64::try_from(index).unwrap();
        let of_it: Vec<_> =
            rows.iter().filter(|row| row.get_long(number).unwrap() == index).collect();
        let causes: Vec<_> =
            of_it.iter().map(|row| row.get_string(cause).unwrap().as_str()).collect();
        let expected: Vec<_> = exchange["causes"].as_array().unwrap().iter().collect();
        assert!(causes.iter().copied().eq(expected.iter().map(|it| it["cause"].as_str().unwrap())));
        let sum: f64 = of_it.iter().map(|row| row.get_double(ms).unwrap()).sum();
        assert!((sum - of_it[0].get_double(duration).unwrap()).abs() < 1e-6, "{sum}");
    }
    let (outcome, failure) = (column("outcome"), column("failure"));
    assert!(rows.iter().all(|row| row.get_string(outcome).unwrap() == "answered"));
    assert!(rows.iter().all(|row| row.get_string(failure).is_err()), "nothing has failed");
}

#[test]
fn one_exchange_is_exported_and_explained_as_in_the_whole_capture() {
    let directory = Directory::new();
    let whole = directory.json(&["stalls.pcap"]);
    for number in ["0", "151", "299"] {
        let exported = directory.run(&["explain", "--export", number, "one.pcapng", "stalls.pcap"]);
        assert_eq!(exported.status.code(), Some(0), "{}", text(&exported.stderr));
        let one = directory.json(&["one.pcapng"]);
        let (all, found) = (whole["exchanges"].as_array().unwrap(), &one["exchanges"][0]);
        let expected = &all[number.parse::<usize>().unwrap()];
        assert_eq!(expected["id"].to_string(), number);
        for key in ["request", "status", "start_time", "request_bytes", "response_bytes"] {
            assert_eq!(found[key], expected[key], "{number} {key}");
        }
        assert_eq!(one["connections"].as_array().unwrap().len(), 1);
        let packets = one["packets"].as_u64().unwrap();
        assert!((8..20).contains(&packets), "{packets}");
    }
    // The first exchange of a connection has its setup in the file, so nothing is missing.
    let first = directory.run(&["explain", "--export", "0", "one.pcapng", "stalls.pcap"]);
    assert_eq!(first.status.code(), Some(0));
    let one = directory.json(&["one.pcapng"]);
    assert_eq!(one["exchanges"][0]["causes"], whole["exchanges"][0]["causes"]);
}

#[test]
fn what_the_whole_connection_lacks_is_said_of_an_exported_exchange() {
    let directory = Directory::new();
    let whole = directory.run(&["explain", "--export", "0", "one.pcapng", "stalls.pcap"]);
    assert_eq!(text(&whole.stderr), "");
    // Every fourth packet behind the first ones is missing: three of the first connection.
    let capture = directory.capture();
    let (header, mut rest) = capture.split_at(24);
    let mut thinned = header.to_vec();
    for number in 0_u32.. {
        let Some(length) = rest.get(8..12) else { break };
        let length = u32::from_le_bytes(length.try_into().unwrap());
        let (record, behind) = rest.split_at(16 + length as usize);
        if number < 10 || number % 4 > 0 {
            thinned.extend(record);
        }
        rest = behind;
    }
    directory.write("thinned.pcap", &thinned);
    let exported = directory.run(&["explain", "--export", "0", "one.pcapng", "thinned.pcap"]);
    assert_eq!(exported.status.code(), Some(0), "{}", text(&exported.stderr));
    assert!(text(&exported.stderr).contains("confidence"), "{}", text(&exported.stderr));
}

#[test]
fn what_cannot_be_exported_is_said() {
    let directory = Directory::new();
    for (arguments, said) in [
        (
            &["--export", "300", "x.pcapng", "stalls.pcap"][..],
            "300 exchanges, numbered from 0 to 299",
        ),
        (&["--export", "x.pcapng", "1", "stalls.pcap"], "invalid exchange number \"x.pcapng\""),
        (&["--export", "1", "x.pcapng", "-"], "cannot read standard input a second time"),
        (&["--export", "1", "missing/x.pcapng", "stalls.pcap"], "cannot write missing/x.pcapng"),
        (&["--export", "1", "x.pcapng", "--interface", "lo"], "not with --interface"),
    ] {
        let output = directory.run(&[&["explain"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
        assert!(!directory.0.join("x.pcapng").exists());
    }
}

#[test]
fn no_report_takes_the_place_of_a_capture_or_of_another() {
    let directory = Directory::new();
    let before = directory.capture();
    directory.write("other.pcap", &before);
    let same = "cannot write stalls.pcap: it is also an input\n";
    for (arguments, said) in [
        (&["--export", "1", "stalls.pcap", "stalls.pcap"][..], same),
        (&["--save-stripped", "stalls.pcap", "stalls.pcap"], same),
        (&["--html", "stalls.pcap", "other.pcap", "stalls.pcap"], same),
        (
            &["--html", "./stalls.pcap", "--pair", "stalls.pcap", "other.pcap"],
            "cannot write ./stalls.pcap: it is also an input (stalls.pcap)\n",
        ),
        (
            &["--html", "x", "--save-stripped", "x", "stalls.pcap"],
            "cannot write x: it is also another output\n",
        ),
    ] {
        let output = directory.run(&[&["explain"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
        assert!(directory.capture() == before, "{arguments:?} has changed the capture");
    }
    let streams =
        ["explain", "--html", "/dev/stdout", "--save-stripped", "/dev/null", "stalls.pcap"];
    assert_eq!(directory.run(&streams).status.code(), Some(0));
}

#[test]
fn a_filter_chooses_connections_and_a_wrong_one_is_refused_at_its_position() {
    let directory = Directory::new();
    let all = directory.json(&["stalls.pcap"]);
    let port =
        all["connections"][7]["client"].as_str().unwrap().rsplit_once(':').unwrap().1.to_owned();
    for (filter, connections) in [
        (format!("port {port}"), 1),
        (format!("not port {port}"), 99),
        ("host 10.0.0.1 and net 10.0.0.2/32".to_owned(), 100),
        ("udp".to_owned(), 0),
    ] {
        let report = directory.json(&["--filter", &filter, "stalls.pcap"]);
        assert_eq!(report["connections"].as_array().unwrap().len(), connections, "{filter}");
        let excluded = report["left_out"]["filter"].as_u64().unwrap_or(0);
        let segments = report["segments"].as_u64().unwrap();
        assert_eq!(excluded + segments, all["segments"].as_u64().unwrap());
    }
    let output = directory.run(&["explain", "--filter", "port http", "stalls.pcap"]);
    assert_eq!(output.status.code(), Some(2));
    let said = "unexpected \"http\" at character 6 (expected a port between 0 and 65535)";
    assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
}

#[test]
fn paths_and_connections_are_tables_in_each_format() {
    let directory = Directory::new();
    let report = directory.json(&["stalls.pcap"]);
    let paths = report["paths"].as_array().unwrap();
    let names: Vec<_> = paths.iter().map(|it| it["path"].as_str().unwrap()).collect();
    assert_eq!(names, ["/0", "/2", "/1"]);
    assert!(paths.iter().all(|it| it["exchanges"] == 100), "{paths:?}");
    let sum: f64 = paths.iter().map(|it| it["total_ms"].as_f64().unwrap()).sum();
    let exchanges = report["exchanges"].as_array().unwrap();
    let whole: f64 = exchanges.iter().map(|it| it["duration_ms"].as_f64().unwrap()).sum();
    assert!((sum - whole).abs() < 1e-3, "{sum} {whole}");
    assert_eq!(paths[1]["largest"]["cause"], "nagle-delayed-ack");
    let connection = &report["connections"][0];
    let [to_server, to_client] =
        ["server", "client"].map(|it| &connection[format!("round_trips_to_{it}")]);
    assert!(to_server["samples"].as_u64().unwrap() >= 3, "{to_server}");
    // The client delays its ACKs, by 200 ms at most.
    assert!(to_client["p95_ms"].as_f64().unwrap() > 100.0, "{to_client}");
    assert_eq!(connection["client_windows"]["closed"], 0);
    for format in [&["--markdown"][..], &[], &["--html", "page.html"]] {
        let arguments = ["explain", "--by", "path", "--connections", "stalls.pcap"];
        let output = directory.run(&[&arguments[..], format].concat());
        let mut said = text(&output.stdout);
        if format.len() == 2 {
            said = fs::read_to_string(directory.0.join("page.html")).unwrap();
        }
        for part in ["By path", "numbers and IDs in paths are not merged", "Connections", "GET /0"]
        {
            assert!(said.contains(part), "{format:?}: {part}");
        }
        assert!(said.contains("16,383 to 16,384 bytes"), "{said}");
    }
}

#[test]
fn times_are_relative_or_absolute() {
    let directory = Directory::new();
    let relative = text(&directory.run(&["explain", "stalls.pcap"]).stdout);
    assert!(relative.contains("in 401.110 ms, at 0.000000 s\n"), "{relative}");
    let absolute = text(&directory.run(&["explain", "--time", "absolute", "stalls.pcap"]).stdout);
    // The simulator begins one second after the epoch.
    assert!(absolute.contains("in 401.110 ms, at 1970-01-01T00:00:01.000000Z\n"), "{absolute}");
    let report = directory.json(&["stalls.pcap"]);
    assert_eq!(report["first_packet_time"], "1970-01-01T00:00:01.000000Z");
    assert_eq!(report["exchanges"][0]["start"], 0.0);
    assert_eq!(report["exchanges"][0]["start_time"], "1970-01-01T00:00:01.000000Z");
}
