//! What rate-based pacing after an idle time must reach (`experiments/restart_region.toml`), and what
//! the other experiments on restart show.

use std::collections::BTreeMap;

use ackwise_lab::{
    experiment::Experiment,
    run::{Options, run_all},
};

/// The bandwidth-delay product of `restart_region.toml`, in packets.
const BANDWIDTH_DELAY: u64 = 20;
/// One round trip there, in milliseconds.
const ROUND_TRIP_MS: f64 = 100.0;

/// What a case measured.
#[derive(Clone, Copy, Debug)]
struct Measured {
    page_ms: f64,
    drop_pct: f64,
    most_queued: f64,
}

/// By the values of a case in the order of the grid.
type Cases = BTreeMap<Vec<String>, Measured>;

fn run(name: &str, link: &str) -> Cases {
    let path = format!("{}/experiments/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the repository has it");
    let experiment = Experiment::parse(name, &text).unwrap_or_else(|error| panic!("{error}"));
    let rows = run_all(&experiment, &Options::default(), &mut |_| {});
    let rows = rows.unwrap_or_else(|error| panic!("{error}"));
    let case = |row: &ackwise_lab::run::Row| {
        row.case.iter().map(|(_, value)| value.to_string()).collect::<Vec<_>>()
    };
    let measured = |row: &ackwise_lab::run::Row| Measured {
        page_ms: row.measures["web.page_time_mean_ms"],
        drop_pct: row.measures[&format!("{link}.drop_pct")],
        most_queued: row.measures[&format!("{link}.most_queued")],
    };
    rows.iter().map(|row| (case(row), measured(row))).collect()
}

fn of(cases: &Cases, case: &[&str]) -> Measured {
    let case: Vec<String> = case.iter().map(ToString::to_string).collect();
    *cases.get(&case).unwrap_or_else(|| panic!("no case {case:?}"))
}

/// Pacing with scale 1 keeps what the window is worth and loses what restart loses, wherever the window
/// fits the path and its buffer.
#[test]
fn pacing_is_as_fast_as_keeping_the_window_and_loses_no_more_than_restarting() {
    let cases = run("restart_region.toml", "link.bottleneck.back");
    let mut tried = [0, 0];
    for window in [7, 10, 14, 20, 30] {
        for reply in [20, 60, 120] {
            for buffer in [4, 6, 10, 20, 40] {
                if window > BANDWIDTH_DELAY + buffer || reply < 3 * window {
                    continue;
                }
                let at = |buffer: u64, policy: &str| {
                    let [window, reply, buffer] = [window, reply, buffer].map(|it| it.to_string());
                    of(&cases, &[&window, &reply, &buffer, policy])
                };
                let (paced, restart) = (at(buffer, "paced"), at(buffer, "restart"));
                // What keeping the window takes where nothing is lost.
                let keep = at(2 * BANDWIDTH_DELAY, "keep");
                assert_eq!(keep.drop_pct, 0.0, "{keep:?}");
                let what = format!(
                    "window {window}, reply {reply}, buffer {buffer}: {paced:?}, {restart:?}, \
                     without loss {keep:?}"
                );
                assert!(paced.drop_pct <= restart.drop_pct + 0.1, "{what}");
                assert!(paced.page_ms < restart.page_ms, "{what}");
                if 10 * window >= 7 * BANDWIDTH_DELAY {
                    assert!(paced.page_ms <= 1.1 * keep.page_ms, "{what}");
                    tried[0] += 1;
                } else {
                    assert!(paced.page_ms <= keep.page_ms + ROUND_TRIP_MS, "{what}");
                    tried[1] += 1;
                }
            }
        }
    }
    assert_eq!(tried, [23, 20]);
}

/// A window that has no room on the path and in its buffer is lost from whenever it is kept: congestion
/// avoidance goes beyond it. Pacing still loses less than keeping, and is faster than both.
#[test]
fn pacing_does_not_make_room_for_a_window_that_has_none() {
    let cases = run("restart_region.toml", "link.bottleneck.back");
    for buffer in ["4", "6"] {
        let [keep, restart, paced] =
            ["keep", "restart", "paced"].map(|policy| of(&cases, &["30", "120", buffer, policy]));
        let what = format!("buffer {buffer}: {keep:?}, {restart:?}, {paced:?}");
        assert!(paced.drop_pct > restart.drop_pct + 0.1, "{what}");
        assert!(paced.drop_pct < 0.5 * keep.drop_pct, "{what}");
        assert!(paced.page_ms < keep.page_ms && paced.page_ms < restart.page_ms, "{what}");
    }
}

#[test]
fn a_stale_rate_costs_no_more_than_a_restart() {
    let cases = run("restart_stale.toml", "link.bottleneck.back");
    for rate in ["0.6", "1.2", "2.4", "4.8", "9.6"] {
        for buffer in ["10", "40"] {
            let [keep, restart, paced] =
                ["keep", "restart", "paced"].map(|policy| of(&cases, &[rate, buffer, policy]));
            let what = format!("{rate} Mb/s, buffer {buffer}: {keep:?}, {restart:?}, {paced:?}");
            assert!(paced.page_ms < restart.page_ms, "{what}");
            assert!(paced.drop_pct <= keep.drop_pct, "{what}");
            assert!(paced.most_queued <= keep.most_queued, "{what}");
        }
    }
}

#[test]
fn a_request_that_arrives_ends_the_pacing_of_ns_2_alone() {
    let cases = run("restart_request.toml", "link.path.back");
    for buffer in ["6", "12", "24"] {
        let [keep, arrival, ack] =
            ["keep", "first-arrival", "first-ack"].map(|policy| of(&cases, &[buffer, policy]));
        let what = format!("buffer {buffer}: {keep:?}, {arrival:?}, {ack:?}");
        assert!(ack.drop_pct < arrival.drop_pct && ack.drop_pct < keep.drop_pct, "{what}");
    }
}

/// Stevens' threshold, one round trip: the wait for a delayed ACK is longer, so each segment is the first
/// after an idle time.
#[test]
fn a_threshold_of_one_round_trip_restarts_within_a_reply() {
    let cases = run("restart_policies.toml", "link.bottleneck.back");
    let time = |policy| of(&cases, &["40", policy]).page_ms;
    assert!(time("one-round-trip") > 5.0 * time("one-segment"));
    // 4.4BSD's idle time ends with the request.
    assert_eq!(time("4.4bsd"), time("keep"));
}

/// Pacing spares the buffer where the guess of the first window fits the path; it does not make it fit.
#[test]
fn a_paced_start_helps_where_the_path_has_room_for_the_first_window() {
    let cases = run("paced_start.toml", "link.bottleneck.back");
    let at = |rate, start| of(&cases, &[rate, "20", start]);
    for rate in ["2.4", "9.6"] {
        let [unpaced, paced] = [at(rate, "at-once"), at(rate, "paced")];
        assert!(unpaced.drop_pct > 20.0 && paced.drop_pct == 0.0, "{unpaced:?} {paced:?}");
        assert!(2.0 * paced.page_ms < unpaced.page_ms, "{unpaced:?} {paced:?}");
    }
    for rate in ["0.6", "1.2"] {
        let [unpaced, paced] = [at(rate, "at-once"), at(rate, "paced")];
        assert!(
            paced.drop_pct > 10.0 && paced.drop_pct < unpaced.drop_pct,
            "{unpaced:?} {paced:?}"
        );
    }
}

/// The closed formula that `check` reports is a lower bound of what the simulator saves.
#[test]
fn what_check_says_that_pacing_saves_is_a_lower_bound() {
    let cases = run("restart_region.toml", "link.bottleneck.back");
    for window in [7_u32, 10, 14, 20] {
        let saved = ackwise_tcp::policy::round_trips_saved(window, 1);
        let [restart, paced] = ["restart", "paced"]
            .map(|policy| of(&cases, &[&window.to_string(), "20", "40", policy]).page_ms);
        assert!(saved >= 1, "{window}");
        assert!(restart - paced >= f64::from(saved) * ROUND_TRIP_MS, "{restart} {paced}");
    }
}

/// Simulations name what the sender waits for: its pacer, or a window that was cut.
#[test]
fn pacing_and_a_cut_window_have_names_of_their_own() {
    let text = ackwise_lab::experiment::built_in("idle_restart").expect("it is built in");
    let experiment = Experiment::parse("idle_restart.toml", text).expect("it is one");
    let experiment = experiment.with_all_set(["watch_causes=true", "seeds=1"]).expect("they fit");
    let rows = run_all(&experiment, &Options::default(), &mut |_| {});
    let rows = rows.unwrap_or_else(|error| panic!("{error}"));
    for row in rows {
        let policy = row.case.get("tcp.idle_restart").map(ToString::to_string).unwrap_or_default();
        let time = |cause: &str| row.measure(&format!("cause.{cause}_ms")).unwrap_or(0.0);
        let [pacing, cut] = ["pacing", "idle-restart"].map(time);
        match policy.as_str() {
            "paced" => assert!(pacing > 0.0, "{:?}: {pacing} ms", row.case),
            "since-send" => assert!(cut > 0.0 && pacing == 0.0, "{:?}: {cut} ms", row.case),
            _ => assert_eq!(pacing, 0.0, "{:?}", row.case),
        }
    }
}
