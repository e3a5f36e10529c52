//! Rows do not depend on threads, interruptions or machines.

use std::{
    num::NonZeroUsize,
    sync::{Arc, atomic::Ordering},
};

use super::{
    export::{MeasureFilter, csv, json, table, warnings},
    *,
};
use crate::experiment::Experiment;

const SWEEP: &str = r#"
duration = "5 s"
seeds = 2
show = ["web.documents", "web.page_time_mean_ms"]

[host]
client = {}
server = {}

[link.wire]
ends = ["client", "server"]
rate = "1.5 Mb/s"
delay = "50 ms"
queue = "25 packets"
loss = "1 %"

[application.web]
kind = "web"
client = "client"
server = "server"
users = 2
workload = "heidemann"
transfer = "persistent"
think = { uniform = { from = "100 ms", to = "200 ms" } }

[grid]
"application.web.transfer" = ["serial", "persistent"]
"link.wire.delay" = ["10 ms", "50 ms", "100 ms"]
"#;

fn sweep() -> Experiment {
    Experiment::parse("sweep.toml", SWEEP).unwrap()
}

fn with_threads(threads: usize) -> Options {
    Options { threads: NonZeroUsize::new(threads).unwrap(), ..Options::default() }
}

fn all(experiment: &Experiment, options: &Options) -> Vec<Row> {
    run_all(experiment, options, &mut |_| {}).unwrap()
}

#[test]
fn threads_change_nothing() {
    let one = all(&sweep(), &with_threads(1));
    let two = all(&sweep(), &with_threads(2));
    assert_eq!(one, two);
    assert_eq!(one.len(), 12);
    assert!(one.iter().enumerate().all(|(number, row)| row.row == number && row.of == 12));
    let mut traces: Vec<_> = one.iter().map(|row| row.trace.clone()).collect();
    traces.sort();
    traces.dedup();
    assert_eq!(traces.len(), 12, "cases and seeds differ in what happens");
    assert!(one.iter().all(|row| row.measure("web.documents") > Some(0.0)), "{one:#?}");
}

#[test]
fn a_stop_ends_a_run() {
    let options = with_threads(1);
    let stop = Arc::clone(&options.stop);
    let mut count = 0;
    let stopped = run_all(&sweep(), &options, &mut |step| {
        count += usize::from(matches!(step, Step::Finished(_)));
        stop.store(count >= 5, Ordering::Relaxed);
    });
    let Err(RunAllError::Stopped { finished, of: 12 }) = stopped else { panic!("{stopped:?}") };
    assert!((5..12).contains(&finished), "{finished} rows");
}

#[test]
fn one_row_is_the_same_by_itself() {
    let rows = all(&sweep(), &Options::default());
    let (row, measures) = run_one(&sweep(), 4, 1, &mut ackwise_sim::Nobody).unwrap();
    assert_eq!(row, rows[9]);
    assert_eq!(row.trace, format!("{:016x}", measures.work.trace_hash));
}

#[test]
fn json_has_the_promised_shape() {
    let rows = all(&sweep(), &Options::default());
    let document: serde_json::Value = serde_json::from_str(&json(&rows)).unwrap();
    let row = &document["rows"][3];
    assert_eq!(row["case"]["application.web.transfer"], "serial");
    assert_eq!(row["case"]["link.wire.delay"], "50 ms");
    assert_eq!(row["seed"], 2);
    assert_eq!(row["hash"], sweep().hash());
    let version = concat!(env!("CARGO_PKG_VERSION"), "+", env!("ACKWISE_COMMIT"));
    assert_eq!(row["version"], version);
    assert_eq!(row["measures"]["web.documents"].as_f64(), rows[3].measure("web.documents"));
    let summary = &document["summaries"][1];
    assert_eq!(summary["case"], row["case"]);
    assert_eq!(summary["seeds"], serde_json::json!([1, 2]));
    assert!(summary["measures"]["web.page_time_mean_ms"]["ci95"].as_f64() > Some(0.0));
}

#[test]
fn all_measures_are_known_by_name() {
    let experiment = sweep().with_set("watch_causes=true").unwrap();
    let known = crate::measures::names(&experiment.cases()[0].scenario);
    for name in all(&experiment, &Options::default())[0].measures.keys() {
        assert!(known.contains(name), "{name}");
    }
}

#[test]
fn a_table_shows_what_was_asked_for() {
    let rows = all(&sweep(), &Options::default());
    let text = table(&rows, &MeasureFilter::of(&sweep()));
    let head = text.lines().next().unwrap_or_default();
    let columns: Vec<_> = head.split_whitespace().collect();
    let expected =
        ["application.web.transfer", "link.wire.delay", "web.documents", "web.page_time_mean_ms"];
    assert_eq!(columns, expected);
    assert_eq!(text.lines().count(), 1 + 6 + 2, "{text}");
    assert!(text.contains(" ± "), "{text}");
    let everything = MeasureFilter::patterns(vec!["*".to_owned()]);
    assert!(table(&rows[..1], &everything).contains("work.events"), "one case: a line each");
}

#[test]
fn csv_has_a_line_for_each_row() {
    let rows = all(&sweep(), &Options::default());
    let text = csv(&rows);
    let head = text.lines().next().unwrap_or_default();
    assert!(head.starts_with("application.web.transfer,link.wire.delay,seed,"), "{head}");
    assert!(head.ends_with("experiment,hash,trace,version"), "{head}");
    assert_eq!(text.lines().count(), 13);
}

#[test]
fn a_run_that_gets_nowhere_says_which() {
    // Limits are looked at now and then only.
    let tiny = sweep().with_all_set(["max_events=10", "duration=1000s"]).unwrap();
    let rows = run_all(&tiny, &with_threads(2), &mut |_| {}).map(|rows| rows.len());
    let error = rows.unwrap_err().to_string();
    assert!(error.starts_with("sweep.toml: application.web.transfer = serial, "), "{error}");
    assert!(error.contains("more than 10 events"), "{error}");
}

/// What the sweep's rows are warned of, with these settings.
fn warned<const N: usize>(settings: [&str; N]) -> (Vec<Row>, Vec<String>) {
    let rows = all(&sweep().with_all_set(settings).unwrap(), &Options::default());
    let lines = warnings(&rows);
    (rows, lines)
}

#[test]
fn a_run_with_nothing_to_measure_says_why() {
    const ONE_CASE: &str = r#"grid={ "link.wire.delay" = ["50 ms"] }"#;
    let (rows, lines) = warned([ONE_CASE]);
    assert!(rows[0].warnings.is_empty() && lines.is_empty(), "{lines:?}");
    let case = "link.wire.delay = 50 ms: application \"web\": ";
    for (settings, kind, line) in [
        (
            ["seeds=1", "application.web.start=6s"],
            WarningKind::NeverStarted,
            "2 of 2 users start after the end of the run \
             (expected an earlier start or a longer duration)",
        ),
        (
            ["link.wire.rate=1 kb/s", "seeds=2"],
            WarningKind::NoDocument,
            "2 of 2 users finish no document (expected a longer duration or less to transfer), \
             with 2 of 2 seeds",
        ),
        (
            ["warm_up=4999ms", "application.web.pages=2"],
            WarningKind::NoneMeasured,
            "4 of 4 documents end during the warm-up (expected some after it), with 2 of 2 seeds",
        ),
    ] {
        let (rows, lines) = warned([ONE_CASE, settings[0], settings[1]]);
        assert_eq!(rows[0].measure("web.page_time_mean_ms"), None);
        assert_eq!(rows[0].warnings.iter().map(|it| it.kind).collect::<Vec<_>>(), [kind]);
        assert_eq!(lines, [format!("{case}{line}")]);
        let document: serde_json::Value = serde_json::from_str(&json(&rows)).unwrap();
        assert_eq!(document["rows"][0]["warnings"][0]["application"], "web");
        let read: Row = serde_json::from_value(document["rows"][0].clone()).unwrap();
        assert_eq!(read, rows[0]);
    }
}

#[test]
fn files_without_an_end_and_arrivals_are_warned_of_too() {
    let kind = |text: &str| {
        let application =
            format!("application.other={{ client = \"client\", server = \"server\", {text} }}");
        let (rows, _) =
            warned(["seeds=1", r#"grid={ "link.wire.delay" = ["50 ms"] }"#, &application]);
        rows[0].warnings.iter().map(|it| it.kind).collect::<Vec<_>>()
    };
    assert_eq!(kind("kind = \"bulk\""), [], "it is not meant to end");
    assert_eq!(kind("kind = \"bulk\", start = \"6 s\""), [WarningKind::NeverStarted]);
    assert_eq!(kind("kind = \"bulk\", file = \"10 MB\""), [WarningKind::NoDocument]);
    let arrivals = "kind = \"arrivals\", interarrival = \"1 s\", response =";
    assert_eq!(kind(&format!("{arrivals} \"1 KB\"")), []);
    assert_eq!(kind(&format!("{arrivals} \"10 MB\"")), [WarningKind::NoDocument]);
    assert_eq!(kind(&format!("{arrivals} \"1 KB\", start = \"6 s\"")), [WarningKind::NeverStarted]);
}

#[test]
fn many_warnings_are_cut_short() {
    let delays: Vec<String> = (1..=30).map(|ms| format!("\"{ms} ms\"")).collect();
    let grid = format!("grid={{ \"link.wire.delay\" = [{}] }}", delays.join(", "));
    let (rows, lines) = warned([&grid, "application.web.start=6s", "seeds=1"]);
    assert_eq!((rows.len(), lines.len()), (30, 21));
    assert_eq!(lines[20], "10 more warnings (--json has all of them)");
}
