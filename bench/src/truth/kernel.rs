//! The kernel's half: real programs over emulated links, and what they waited for, from witnesses that no
//! capture has.
//!
//! | module | its one idea |
//! | --- | --- |
//! | `families` | what is drawn by seed: the first set |
//! | `axes` | the second set, which varies what the first holds fixed |
//! | `second` | the last set, drawn up when the rules had been made with the others |
//! | `plan` | a run as data |
//! | `paths` | its links |
//! | `lab` | three namespaces and two links |
//! | `route` | a route with timestamps in microseconds |
//! | `play` | the programs, one thread for each end |
//! | `asyncio` | a server in Python |
//! | `front` | nginx or HAProxy in front of ours |
//! | `secrets` | what opens the records of TLS |
//! | `channel` | what they read and write: the connection, or what TLS makes of it |
//! | `wire`, `h2` | how their messages look |
//! | `line` | witness: a program's diary of its socket |
//! | `journeys` | witness: each packet's way, from the emulators' logs |
//! | `steps` | values over time |
//! | `view` | one direction of a connection, from all witnesses |
//! | `waits` | why a message waits at a moment |
//! | `judge` | the time of each exchange |
//! | `disturbed` | times that the machine disturbed |

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ackwise_cause::Direction;
use anyhow::{Context, anyhow, ensure};
use serde_json::json;

use self::disturbed::Disturbed;
use self::judge::{Span, judge};
use self::lab::{Lab, Links};
use self::plan::Plan;
use self::play::Played;
use self::secrets::Secrets;
use self::view::Records;
use super::case::{Captures, Case, Connection, Interval, OneWay, Peer, Recorded, Truth, World};
use super::options::Set;
use crate::tap::Tap;
use crate::witness::clock::{Clock, RealTime};
use crate::witness::trace::{Event, Tracer};
use xtask::process;

mod asyncio;
mod axes;
mod channel;
mod disturbed;
mod families;
mod front;
mod h2;
mod journeys;
mod judge;
mod lab;
mod line;
mod paths;
mod plan;
mod play;
mod route;
mod second;
mod secrets;
mod steps;
#[cfg(test)]
mod tests;
mod view;
mod waits;
mod wire;

/// What to record.
#[derive(Clone, Debug)]
pub(crate) struct Options<'a> {
    pub(crate) set: Set,
    pub(crate) seed: u64,
    /// TLS 1.3 instead of HTTP/1 in the clear.
    pub(crate) tls: bool,
    /// HTTP/2 instead of HTTP/1.
    pub(crate) h2: bool,
    /// The runs; the families take turns.
    pub(crate) numbers: Range<u64>,
    /// No run begins later.
    pub(crate) deadline: Option<Instant>,
    /// The cases' directories are made here.
    pub(crate) folder: &'a Path,
}

/// Records the runs, and returns the directories of the cases, in order. A run that fails is left out,
/// and said on standard error.
///
/// # Errors
///
/// If something is missing on this machine, or too many runs failed.
pub(crate) fn record(options: &Options<'_>) -> anyhow::Result<Vec<PathBuf>> {
    Tracer::prepare()?;
    let next = AtomicU64::new(options.numbers.start);
    let outcome = Mutex::new((Vec::new(), Vec::new()));
    let families = match options.set {
        Set::Axes => axes::FAMILIES,
        Set::Second => second::FAMILIES,
        Set::First | Set::Ordinary => families::FAMILIES,
    };
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let late = options.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if number >= options.numbers.end || late || process::interrupted() {
                return;
            }
            let mut plan = families::draw(families, options.seed, number);
            if options.h2 {
                plan.multiplex(number, options.tls);
            }
            if options.tls {
                plan.seal(number);
            }
            let case = run(&plan, number, options.folder)
                .with_context(|| format!("kernel case {number}, {}", plan.family));
            let mut outcome = outcome.lock().expect("nobody panics with it");
            match case {
                Ok(folder) => outcome.0.push(folder),
                Err(error) => {
                    eprintln!("left out: {error:#}");
                    outcome.1.push(error);
                    if outcome.1.len() > MOST_FAILURES {
                        next.store(options.numbers.end, Ordering::Relaxed);
                    }
                }
            }
        }
    };
    thread::scope(|scope| (0..PARALLEL_RUNS).for_each(|_| drop(scope.spawn(work))));
    ensure!(!process::interrupted(), "interrupted");
    let (mut cases, mut errors) = outcome.into_inner().map_err(|_| anyhow!("a run panicked"))?;
    if errors.len() > MOST_FAILURES
        && let Some(error) = errors.pop()
    {
        return Err(error.context(format!("more than {MOST_FAILURES} runs failed")));
    }
    cases.sort();
    Ok(cases)
}

/// One run: builds the lab, plays, judges and writes.
fn run(plan: &Plan, number: u64, folder: &Path) -> anyhow::Result<PathBuf> {
    let name = format!("kernel-{number:04}");
    let folder = folder.join(&name);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let clock = Clock::start();
    let lab = Lab::build(plan)?;
    let taps = lab.tap(plan, &folder)?;
    // Each run has its own ports, by which the tracers tell them apart.
    let port = FIRST_PORT + 2 * u16::try_from(number % 20_000)?;
    let tracer = Tracer::start(port)?;
    let secrets = Secrets::default();
    let played = play::play(plan, &lab, (port, &secrets), clock)?;
    secrets.write(&folder.join(KEYS))?;
    Lab::settle(plan);
    let events = tracer.stop()?;
    taps.into_iter().try_for_each(Tap::stop)?;
    let links = lab.stop()?;
    let real = clock.stop();
    let (truth, share) = truth(plan, &played, &links, &events, clock, real);
    let case = case(plan, name, &links, real, share);
    Recorded { truth, case, folder: folder.clone() }.write()?;
    Ok(folder)
}

/// What is true, and the share of the time in which the machine disturbed nothing.
fn truth(
    plan: &Plan,
    played: &[Played],
    links: &Links,
    events: &[Event],
    clock: Clock,
    real: RealTime,
) -> (Truth, f64) {
    let journeys = journeys::join(&links.near, &links.far, clock);
    let records = Records { journeys: &journeys, events, plan };
    let disturbed = Disturbed::of(plan, &journeys, links, clock);
    let of_connection = |played: &Played| {
        let (client, server) = (played.client_address, played.server_address);
        let connection = Connection { client: client.into(), server: server.into() };
        let (spans, share) = disturbed.cut(judge(records, played));
        let intervals = spans.into_iter().filter_map(|span| interval(span, connection, real));
        (intervals.collect::<Vec<_>>(), share)
    };
    let (intervals, shares): (Vec<_>, Vec<f64>) = played.iter().map(of_connection).unzip();
    #[expect(clippy::cast_precision_loss, reason = "there are few connections")]
    let share = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
    (Truth { intervals: intervals.concat(), ..Truth::default() }, share)
}

/// `None` if nobody knows.
fn interval(span: Span, connection: Connection, real: RealTime) -> Option<Interval> {
    let causes = span.reasons;
    (!causes.is_empty()).then(|| Interval {
        connection,
        exchange: u32::try_from(span.exchange).ok(),
        from_ns: real.of(span.from),
        until_ns: real.of(span.until),
        at: match span.direction {
            Direction::ToServer => Peer::Client,
            Direction::ToClient => Peer::Server,
        },
        direction: span.direction,
        causes,
        witness: span.witness.to_owned(),
    })
}

fn case(plan: &Plan, name: String, links: &Links, real: RealTime, share: f64) -> Case {
    let mut parameters = plan.parameters.clone();
    parameters.insert("undisturbed".to_owned(), json!(share));
    let mut why: Vec<String> = links.dropped.iter().map(ToString::to_string).collect();
    if share < LEAST_UNDISTURBED {
        let percent = 100.0 * (1.0 - share);
        why.push(format!("processors paused or packets were late in {percent:.0} % of the time"));
    }
    if real.drift().abs() > MAX_DRIFT {
        why.push(format!("the clocks drifted apart by {} us", real.drift() / 1_000));
    }
    let millis = |delay: Duration| delay.as_secs_f64() * 1e3;
    let [near, far] = &plan.links;
    let one_way_ms = match plan.one_host {
        true => OneWay::default(),
        false => OneWay {
            client_to_middle: millis(near.to_server.delay),
            middle_to_server: millis(far.to_server.delay),
            server_to_middle: millis(far.to_client.delay),
            middle_to_client: millis(near.to_client.delay),
        },
    };
    Case {
        name,
        world: World::Kernel,
        family: plan.family.to_owned(),
        seed: plan.seed,
        parameters,
        captures: captures(plan),
        one_way_ms,
        disturbed: (!why.is_empty()).then(|| why.join("; ")),
    }
}

/// One host has one capture, which is read as the server's: what is known there is how long the server had
/// a request.
fn captures(plan: &Plan) -> Captures {
    let file = |name: &str| Some(name.to_owned());
    let keys = file(KEYS).filter(|_| plan.protocol.is_sealed());
    if plan.one_host {
        return Captures { server: file("host.pcap"), keys, ..Captures::default() };
    }
    let [client, server, middle] = ["client.pcap", "server.pcap", "middle.pcap"].map(file);
    Captures { client, server, middle, keys }
}

/// Runs of one batch that may fail, for example because another program took a processor away for
/// longer than a connection waits. Our choice.
const MOST_FAILURES: usize = 2;
/// Runs are mostly waiting (our choice, from how often a run was disturbed).
const PARALLEL_RUNS: usize = 3;
/// Our choice: with less, what is left may be typical of nothing.
const LEAST_UNDISTURBED: f64 = 0.2;
const FIRST_PORT: u16 = 20_000;
/// The file with the secrets of a case.
const KEYS: &str = "keys.txt";
/// In nanoseconds (our choice): more than the clock's usual correction within a run.
const MAX_DRIFT: i128 = 500_000;
