//! `tune --compare URL`: what `check` and `load` say before, and while the options are set.
//!
//! Both run as processes of their own, since `check` moves its process into a private network.

use std::{
    collections::BTreeMap,
    env,
    io::Read,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ackwise_tune::Line;
use ackwise_units::statistics::{Ratio, median};
use serde_json::Value;

use crate::cli::{interrupt::Stop, outcome::Failure};

/// What a server does at one time.
pub(super) struct Measurement {
    /// The verdict of each check, and its cost in milliseconds; by version of HTTP and name.
    checks: BTreeMap<String, (String, Option<f64>)>,
    /// What each run of `load` measured.
    rounds: Vec<Round>,
}

type Measure = fn(&Round) -> f64;

struct Round {
    p50_ms: f64,
    p99_ms: f64,
    rate_per_s: f64,
}

/// Measures the server at `url`. `None` if it was interrupted.
pub(super) fn measure(url: &str, stop: &Stop) -> Result<Option<Measurement>, Failure> {
    let Some(card) = ask(&["check", "--quick", "--json", url], stop)? else {
        return Ok(None);
    };
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let load = ["load", "--json", "--duration", ROUND, "--concurrency", "1"];
        let load = [&load[..], &["--requests-per-connection", "unlimited", url]].concat();
        let Some(report) = ask(&load, stop)? else { return Ok(None) };
        rounds.extend(Round::of(&report));
    }
    Ok(Some(Measurement { checks: verdicts(&card), rounds }))
}

/// One line for each check whose verdict differs, and for each measure of the load.
pub(super) fn compare(before: &Measurement, with: &Measurement, at: Duration) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut unchanged = 0;
    for (name, old) in &before.checks {
        match with.checks.get(name) {
            Some(new) if new.0 != old.0 => {
                let text = format!("{name}: {} before, {} with it", shown(old), shown(new));
                lines.push(text);
            }
            _ => unchanged += 1,
        }
    }
    lines.push(format!("other checks with the same verdict: {unchanged}"));
    let measures: [(&str, Measure); 3] = [
        ("median latency (ms)", |it| it.p50_ms),
        ("99th percentile (ms)", |it| it.p99_ms),
        ("responses per second", |it| it.rate_per_s),
    ];
    let measured = measures.iter().filter_map(|(name, value)| {
        let pairs = before.rounds.iter().zip(&with.rounds);
        let ratio = Ratio::of(pairs.map(|(old, new)| value(new) / value(old)))?;
        let [old, new] = [before, with].map(|it| median(it.rounds.iter().map(value)));
        let (old, new, confidence) = (old?, new?, 100.0 * ratio.confidence);
        let [middle, lower, upper] = [ratio.median, ratio.lower, ratio.upper];
        Some(format!(
            "{name}: {old:.3} before, {new:.3} with it, {middle:.4} times as much ({lower:.4} to {upper:.4} with \
             {confidence:.1} % confidence, {} rounds)",
            ratio.pairs
        ))
    });
    lines.extend(measured);
    lines.into_iter().map(|text| Line::compared(at, text)).collect()
}

/// Waits until the options are set and buffers have their sizes, or the run has ended.
pub(super) fn settle(has_ended: impl Fn() -> bool) {
    let until = Instant::now() + SETTLE;
    while Instant::now() < until && !has_ended() {
        thread::sleep(STEP);
    }
}

impl Round {
    /// `None` if nothing was answered.
    fn of(report: &Value) -> Option<Self> {
        let latency = &report["latency_ms"];
        Some(Self {
            p50_ms: latency["p50"].as_f64()?,
            p99_ms: latency["p99"].as_f64()?,
            rate_per_s: report["rate_per_s"].as_f64()?,
        })
    }
}

fn verdicts(card: &Value) -> BTreeMap<String, (String, Option<f64>)> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut found = BTreeMap::new();
    for result in list(&card["results"]) {
        let protocol = result["protocol"].as_str().unwrap_or_default();
        for finding in list(&result["findings"]) {
            if let (Some(id), Some(verdict)) = (finding["id"].as_str(), finding["verdict"].as_str())
            {
                let value = (verdict.to_owned(), finding["cost_ms"].as_f64());
                found.insert(format!("{id} ({protocol})"), value);
            }
        }
    }
    found
}

fn shown((verdict, cost): &(String, Option<f64>)) -> String {
    match cost {
        Some(cost) => format!("{verdict} ({cost:.1} ms)"),
        None => verdict.clone(),
    }
}

/// The JSON that this program prints for these arguments. `None` if it was interrupted.
fn ask(arguments: &[&str], stop: &Stop) -> Result<Option<Value>, Failure> {
    let failed = |why: String| Failure::Usage(format!("cannot compare: {why}"));
    let program = env::current_exe().map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| failed(error.to_string()))?;
    let mut output = child.stdout.take().expect("it is piped");
    let reader = thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).map(|_| text)
    });
    let is_over = wait(&mut child, stop);
    let text = reader.join().expect("it does not panic").unwrap_or_default();
    if stop.is_asked() {
        return Ok(None);
    }
    let name = arguments[0];
    if !is_over {
        return Err(failed(format!("{name} took longer than {} s", LIMIT.as_secs())));
    }
    let document: Value = serde_json::from_str(&text)
        .map_err(|_| failed(format!("{name} printed no report (expected JSON)")))?;
    if let Some(error) = document["error"].as_str() {
        return Err(failed(format!("{name}: {error}")));
    }
    Ok(Some(document))
}

/// Whether it ended by itself in time. Otherwise it is killed.
fn wait(child: &mut Child, stop: &Stop) -> bool {
    let until = Instant::now() + LIMIT;
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < until && !stop.is_asked() => thread::sleep(STEP),
            Ok(None) | Err(_) => {
                let _ = child.kill().and_then(|()| child.wait());
                return false;
            }
            Ok(Some(_)) => return true,
        }
    }
}

/// Our choice, as for `load --against`: the interval of ten pairs leaves out one at each end.
const ROUNDS: usize = 10;
/// Our choice: some ten responses even of a server that stalls for 40 ms in each.
const ROUND: &str = "500ms";
/// Our choice: buffers are sized every 2 s.
const SETTLE: Duration = Duration::from_millis(2_500);
/// More than `check --quick` takes in both versions of HTTP, and each round of a server that hangs.
const LIMIT: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(20);
