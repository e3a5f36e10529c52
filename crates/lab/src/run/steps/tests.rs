//! A run in steps is the run; and RFC 5681 from outside is RFC 5681.

use std::{sync::Arc, time::Duration};

use super::*;
use crate::{
    experiment::{Experiment, built_in},
    run::{Options, run_all},
};

/// A flow that loses packets to its queue and to the path, at times a whole flight.
const LOSSY: &str = r#"
duration = "60 s"

[tcp]
preset = "rfc"

[host]
client = {}
server = { tcp = { congestion = "sack" } }

[link.wire]
ends = ["client", "server"]
rate = "4 Mb/s"
delay = "20 ms"
queue = "12 packets"
loss = "3 %"

[application.flow]
kind = "bulk"
client = "client"
server = "server"
"#;

fn experiment(text: &str, settings: &[&str]) -> Experiment {
    let read = Experiment::parse("lossy.toml", text).unwrap();
    read.with_all_set(settings.iter().copied()).unwrap()
}

fn row(experiment: &Experiment) -> Row {
    let (row, _) = run_one(experiment, 0, 0, &mut ackwise_sim::Nobody).unwrap();
    row
}

fn begin(experiment: &Experiment) -> Steps {
    Steps::begin(Arc::new(experiment.clone()), 0, 0).unwrap()
}

fn wait<T>(answer: Receiver<Result<T, StepError>>) -> Result<T, StepError> {
    answer.recv_timeout(Duration::from_secs(60)).expect("an answer within a minute")
}

/// RFC 5681, and RFC 6582 without a scoreboard.
#[derive(Debug, Default)]
struct Reno {
    window: u64,
    threshold: u64,
    acked: u64,
    recovers: bool,
    has_scoreboard: bool,
}

impl Reno {
    fn hear(&mut self, event: &CongestionStep) {
        let mss = u64::from(event.segment_bytes);
        let (flight, acked) = (u64::from(event.in_flight_bytes), u64::from(event.acked_bytes));
        match event.kind {
            "established" => {
                (self.window, self.threshold) = (event.window_bytes, event.threshold_bytes);
            }
            "ack" if !event.window_limited => {}
            "ack" if self.window < self.threshold => self.window += acked.min(mss),
            "ack" => {
                self.acked += acked;
                if self.acked >= self.window {
                    self.acked = (self.acked - self.window).min(self.window);
                    self.window += mss;
                }
            }
            "loss" => {
                self.threshold = (flight.min(self.window) / 2).max(2 * mss);
                self.window = self.threshold + if self.has_scoreboard { 0 } else { 3 * mss };
                (self.acked, self.recovers) = (0, true);
            }
            "timeout" | "timeout-again" => {
                if event.kind == "timeout" {
                    self.threshold = (flight / 2).max(2 * mss);
                }
                (self.window, self.acked, self.recovers) = (mss, 0, false);
            }
            "duplicate-ack" if self.recovers && !self.has_scoreboard => self.window += mss,
            "partial-ack" if !self.has_scoreboard => {
                self.window = self.window.saturating_sub(acked).max(mss);
                self.window += if acked >= mss { mss } else { 0 };
            }
            "recovered" => {
                if !self.has_scoreboard {
                    self.window = self.threshold.min(flight.max(mss) + mss);
                }
                self.recovers = false;
            }
            _ => {}
        }
    }
}

/// The row of a run whose windows are Reno's, and how often it has heard of each kind of event.
fn by_reno(
    experiment: &Experiment,
    mut reno: Reno,
) -> (Row, std::collections::BTreeMap<&'static str, u32>) {
    let run = begin(experiment);
    let mut kinds = std::collections::BTreeMap::new();
    while let Some(event) = wait(run.step(None)).unwrap() {
        *kinds.entry(event.kind).or_insert(0) += 1;
        assert_eq!(event.host, "server");
        reno.hear(&event);
        wait(run.set_windows(event.connection, None, reno.window, reno.threshold)).unwrap();
    }
    (wait(run.finish()).unwrap(), kinds)
}

#[test]
fn the_windows_of_rfc_5681_set_from_outside_give_the_same_trace() {
    for (sack, seed, loss) in
        [(true, 1, 3), (true, 2, 10), (true, 3, 1), (false, 4, 3), (false, 5, 10)]
    {
        let settings = [
            format!("tcp.sack={sack}"),
            format!("seeds=[{seed}]"),
            format!("link.wire.loss={loss} %"),
        ];
        let mut settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let built_in = row(&experiment(LOSSY, &settings));
        settings.push("host.server.tcp.congestion=external");
        let (outside, kinds) = by_reno(
            &experiment(LOSSY, &settings),
            Reno { has_scoreboard: sack, ..Reno::default() },
        );
        assert_eq!(outside.trace, built_in.trace, "{settings:?} {kinds:?}");
        assert_eq!(outside.measures, built_in.measures, "{settings:?}");
        for kind in ["ack", "duplicate-ack", "loss", "partial-ack", "recovered", "timeout"] {
            assert!(kinds.contains_key(kind), "no {kind} at {settings:?}: {kinds:?}");
        }
    }
}

#[test]
fn a_run_in_pieces_is_the_run() {
    let text = built_in("stalls").unwrap();
    let experiment = experiment(text, &["duration=5 s"]);
    let whole = run_all(&experiment, &Options::default(), &mut |_| {}).unwrap();
    let run = Steps::begin(Arc::new(experiment), 1, 0).unwrap();
    for step in 1..=20 {
        let until = Duration::from_millis(step * 300);
        assert_eq!(wait(run.step(Some(until))).unwrap(), None);
        let state = wait(run.state()).unwrap();
        #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
        let time = (step * 300).min(5_000) as f64;
        assert!((state.time_ms - time).abs() < 1e-6, "{} ms", state.time_ms);
        assert_eq!(state.ended, step * 300 > 5_000);
        assert_eq!(state.hosts.keys().collect::<Vec<_>>(), ["client", "server"]);
    }
    // A time that has passed.
    assert_eq!(wait(run.step(Some(Duration::ZERO))).unwrap(), None);
    let row = wait(run.finish()).unwrap();
    assert_eq!(row, whole[1]);
    assert_eq!(wait(run.finish()).unwrap(), row, "once more");
    assert!(wait(run.state()).unwrap().ended);
    assert!(matches!(wait(run.set_windows(0, None, 1, 1)), Err(StepError::Over)));
}

#[test]
fn only_external_windows_are_set_and_only_in_steps() {
    let external = experiment(LOSSY, &["host.server.tcp.congestion=external"]);
    let refused = run_all(&external, &Options::default(), &mut |_| {}).unwrap_err().to_string();
    assert!(
        refused.contains("host \"server\"") && refused.contains("ackwise.Simulation"),
        "{refused}"
    );

    let run = begin(&external);
    wait(run.step(Some(Duration::from_millis(50)))).unwrap();
    let early = wait(run.set_windows(0, None, 1, 1));
    let expected = StepError::NotSet { connection: 0, error: NotSet::NotEstablished };
    assert_eq!(early.unwrap_err().to_string(), expected.to_string());
    let opened = wait(run.step(None)).unwrap().unwrap();
    assert_eq!((opened.kind, opened.connection), ("established", 0));
    wait(run.set_windows(0, Some("server".to_owned()), 1, 1)).unwrap();
    let ends = wait(run.state()).unwrap().connections.remove(0);
    assert_eq!(ends.server.window_bytes, u64::from(opened.segment_bytes), "a segment at least");
    assert!(ends.client.window_bytes > ends.server.window_bytes, "the client's is its own");
    for (connection, host) in [(0, Some("client")), (0, Some("nobody")), (1, None)] {
        let set = wait(run.set_windows(connection, host.map(str::to_owned), 1, 1));
        assert!(matches!(set, Err(StepError::NotSet { .. })), "{connection} {host:?}");
    }
    drop(run);

    let both =
        experiment(LOSSY, &["tcp.congestion=external", "host.server.tcp.congestion=external"]);
    let run = begin(&both);
    wait(run.step(None)).unwrap();
    let which = wait(run.set_windows(0, None, 1, 1));
    assert!(matches!(which, Err(StepError::WhichEnd { connection: 0 })), "{which:?}");
}

#[test]
fn a_window_that_is_set_at_a_time_is_used_at_once() {
    let external = experiment(
        LOSSY,
        &["host.server.tcp.congestion=external", "link.wire.loss=0 %", "tcp.initial_window=1"],
    );
    let sent = |set: bool| {
        let run = begin(&external);
        // The request is there, the first segment is on its way.
        let until = Some(Duration::from_millis(75));
        while wait(run.step(until)).unwrap().is_some() {}
        if set {
            wait(run.set_windows(0, None, 10_000, 20_000)).unwrap();
        }
        assert!(wait(run.step(Some(Duration::from_millis(76)))).unwrap().is_none());
        wait(run.state()).unwrap().connections[0].server.in_flight_bytes
    };
    let [kept, set] = [false, true].map(sent);
    assert!(kept < 2_000 && (8_000..=10_000).contains(&set), "{kept} and {set} bytes");
}

#[test]
fn a_run_that_fails_says_why_to_whoever_asks() {
    let run =
        begin(&experiment(LOSSY, &["max_events=1000", "link.wire.loss=0 %", "duration=900 s"]));
    let error = wait(run.step(None)).unwrap_err().to_string();
    assert!(error.contains("more than 1000 events"), "{error}");
    assert_eq!(wait(run.finish()).unwrap_err().to_string(), error);
    assert_eq!(wait(run.state()).unwrap_err().to_string(), error);
}

#[test]
fn a_run_that_is_stopped_ends() {
    let run = begin(&experiment(LOSSY, &["duration=1000000 s", "link.wire.loss=0 %"]));
    let answer = run.step(None);
    run.stop();
    assert!(wait(answer).unwrap_err().to_string().ends_with("stopped"));
}

#[test]
fn a_run_that_is_stopped_between_two_steps_goes_no_further() {
    let stopped = || {
        let run = begin(&experiment(LOSSY, &["host.server.tcp.congestion=external"]));
        wait(run.step(None)).unwrap();
        run.stop();
        run
    };
    let until = Some(Duration::from_secs(1));
    let answers = [
        wait(stopped().step(until)).map(drop),
        wait(stopped().state()).map(drop),
        wait(stopped().set_windows(0, None, 1, 1)),
        wait(stopped().finish()).map(drop),
    ];
    for answer in answers {
        assert!(answer.unwrap_err().to_string().ends_with("stopped"));
    }
}
