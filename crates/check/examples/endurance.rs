//! Are the verdicts right when the machine is busy?
//!
//! Checks a good and a bad built-in server again and again while every core is loaded, and counts the
//! verdicts. A good server must never `fail`; a bad one must, in at least 99 of 100 runs.
//!
//! ```sh
//! cargo run --release -p ackwise-check --example endurance -- 300 kernel
//! cargo run --release -p ackwise-check --example endurance -- 300 ackwise
//! ```

use std::{
    collections::BTreeMap,
    env,
    error::Error,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use ackwise_check::{
    Options, StackChoice,
    builtin::Network,
    card::{Card, FindingId, Verdict},
    check,
};
use ackwise_http::Behaviour;
use ackwise_report::Target;
use ackwise_serve::{Config, Server};

/// The questions whose answer may be `fail`.
const QUESTIONS: [FindingId; 5] = [
    FindingId::ShortInitialSegment,
    FindingId::NagleDelayedAck,
    FindingId::CorkTimer,
    FindingId::Pipelining,
    FindingId::RequestSegments,
];

/// Percentage of the runs against the bad server that must fail.
const BAD_PERCENT: usize = 99;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let runs: usize = arguments.next().as_deref().unwrap_or("300").parse()?;
    let stack = match arguments.next().as_deref() {
        None | Some("kernel") => StackChoice::Kernel,
        Some("ackwise") => StackChoice::Ackwise,
        Some(other) => return Err(format!("{other:?} is no stack: kernel or ackwise").into()),
    };
    // Before any thread is started.
    let network = if stack == StackChoice::Kernel { Network::Host } else { Network::private() };

    let busy = Load::on_all_cores();
    let good = judge("fixed", Behaviour::FIXED, network, stack, runs)?;
    let bad = judge("1996", Behaviour::PAPER_1996, network, stack, runs)?;
    drop(busy);

    let right = good == 0 && bad * 100 >= runs * BAD_PERCENT;
    println!("{}", if right { "as it must be" } else { "NOT as it must be" });
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the checks, prints what they said; returns how many failed.
fn judge(
    name: &str,
    behaviour: Behaviour,
    network: Network,
    stack: StackChoice,
    runs: usize,
) -> Result<usize, Box<dyn Error>> {
    let server = Server::start(Config { bind: network.bind(), ..Config::loopback(behaviour) })?;
    let target: Target = format!("http://127.0.0.1:{}/300", server.local_addr().port()).parse()?;
    let options = Options {
        stack,
        only: Some(QUESTIONS.into()),
        paths: vec!["/500".to_owned(), "/6651".to_owned()],
        ..Options::default()
    };
    let mut counts = BTreeMap::new();
    let mut failed = 0;
    let began = Instant::now();
    for run in 1..=runs {
        let card = check(&target, &options, &mut |_| ())?;
        failed += usize::from(fails(&card));
        for finding in &card.findings {
            *counts.entry((finding.id, finding.verdict)).or_insert(0_usize) += 1;
        }
        if run % 25 == 0 {
            eprintln!("{name}: {run} runs, {failed} failed, {:.0?}", began.elapsed());
        }
    }
    println!("{name}: {failed} of {runs} runs failed, {:.1?} a run", began.elapsed() / count(runs));
    for ((id, verdict), count) in counts {
        println!("  {id:<22} {verdict:?}: {count}");
    }
    Ok(failed)
}

fn fails(card: &Card) -> bool {
    card.findings.iter().any(|finding| finding.verdict == Verdict::Fail)
}

fn count(runs: usize) -> u32 {
    u32::try_from(runs).unwrap_or(u32::MAX).max(1)
}

/// Threads that do nothing but keep the cores busy, until this is dropped.
struct Load {
    wanted: Arc<AtomicBool>,
}

impl Load {
    fn on_all_cores() -> Self {
        let wanted = Arc::new(AtomicBool::new(true));
        let cores = thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..cores {
            let wanted = Arc::clone(&wanted);
            thread::spawn(move || while wanted.load(Ordering::Relaxed) {});
        }
        // The load must be there before the first verdict.
        thread::sleep(Duration::from_millis(200));
        Self { wanted }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.wanted.store(false, Ordering::Relaxed);
    }
}
