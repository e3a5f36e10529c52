//! Are the verdicts of `ackwise check --quick` right when every core is busy?
//!
//! Servers with named patterns of writes are checked again and again, with both stacks. One that stalls must fail
//! in 99 of 100 runs; one that does not, never.

use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    num::NonZeroUsize,
    process::ExitCode,
    time::{Duration, Instant},
};

use ackwise_check::{
    CheckError, Options, StackChoice, Target,
    builtin::Network,
    card::{Card, CheckId, Verdict},
    check,
};
use ackwise_testing::{
    busy::BusyCores,
    pattern::{PatternServer, Stalls, WritePattern},
};
use anyhow::{Context, ensure};
use xtask::process;

use super::{DIRECTORY, NAME};

/// Runs for each pattern and stack. 300 take about half an hour. Our choice.
const RUNS: usize = 20;

/// Congestion controls of the server: while windows are small, they let other responses stall.
const CONGESTION: [&str; 2] = ["bbr", "cubic"];

/// Percentage of the runs against a server that stalls that must fail.
const BAD_PERCENT: usize = 99;

/// Of `--quick`.
const TIME: Duration = Duration::from_secs(4);

/// Checks all patterns with both stacks, and prints the counts.
///
/// # Errors
///
/// If a server or a check does not start.
pub(super) fn run(runs: Option<NonZeroUsize>) -> anyhow::Result<ExitCode> {
    let runs = runs.map_or(RUNS, NonZeroUsize::get);
    println!(
        "{NAME}: do the verdicts of `check --quick` hold when every core is busy? ({runs} runs each)\n"
    );
    println!(
        "{:<8} {:<6} {:<56} {:>14} {:>8}  others",
        "stack", "server", "writes", "failed", "s a run"
    );
    let busy = BusyCores::start();
    let mut right = true;
    for stack in [StackChoice::Kernel, StackChoice::Ackwise] {
        // The kernel's stack comes first: a private network is for good.
        let network = match stack {
            StackChoice::Ackwise => Network::private(),
            _ => Network::Host,
        };
        for pattern in WritePattern::ALL {
            for congestion in CONGESTION {
                right &= judge(pattern, congestion, stack, network, runs)?;
            }
        }
    }
    drop(busy);
    println!("\n{}", crate::verdict(right));
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks one server, prints the counts; whether they are as they must be.
fn judge(
    pattern: WritePattern,
    congestion: &str,
    stack: StackChoice,
    network: Network,
    runs: usize,
) -> anyhow::Result<bool> {
    let server = PatternServer::start_with(network.bind(), pattern, congestion)
        .with_context(|| format!("a server with {congestion} (modprobe tcp_{congestion})"))?;
    let address = SocketAddr::from(([127, 0, 0, 1], server.local_addr().port()));
    let target: Target = format!("http://{address}/").parse()?;
    let options = Options {
        stack,
        only: Some(CheckId::stalls().collect()),
        time: TIME,
        ..Options::default()
    };
    let must_fail = pattern.stalls != Stalls::Never;
    let (mut failed, mut others) = (0, BTreeMap::new());
    let begun = Instant::now();
    let name = if stack == StackChoice::Kernel { "kernel" } else { "ackwise" };
    for run in 0..runs {
        ensure!(!process::interrupted(), "interrupted");
        let card = match check(&target, &options, &mut |_| ()) {
            // A machine without a TUN device can try the kernel's stack alone.
            Err(CheckError::Stack(missing)) => {
                println!("ackwise  not tried: {missing}");
                return Ok(true);
            }
            card => card?,
        };
        failed += usize::from(fails(&card));
        if fails(&card) != must_fail {
            keep(&card, &format!("{name}-{congestion}-{}-{run}", pattern.name))?;
        }
        for it in card.findings.iter().filter(|it| is_other(it.verdict, must_fail)) {
            *others.entry(format!("{} {:?}", it.id, it.verdict)).or_insert(0_usize) += 1;
        }
    }
    let took = begun.elapsed().as_secs_f64() / runs as f64;
    let counted = format!("{failed} of {runs}");
    println!(
        "{name:<8} {congestion:<6} {:<56} {counted:>14} {took:>8.2}  {others:?}",
        pattern.name
    );
    Ok(if must_fail { failed * 100 >= runs * BAD_PERCENT } else { failed == 0 })
}

/// Writes a card with a wrong verdict into a file.
fn keep(card: &Card, name: &str) -> anyhow::Result<()> {
    let name: String =
        name.chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' }).collect();
    fs::create_dir_all(DIRECTORY)?;
    fs::write(format!("{DIRECTORY}/{name}.json"), serde_json::to_string_pretty(card)?)?;
    Ok(())
}

fn fails(card: &Card) -> bool {
    card.findings.iter().any(|finding| finding.verdict == Verdict::Fail)
}

/// What is worth a column of its own: what is not expected.
#[expect(clippy::fn_params_excessive_bools, reason = "what is expected")]
fn is_other(verdict: Verdict, must_fail: bool) -> bool {
    match verdict {
        Verdict::Unknown | Verdict::Warn => true,
        Verdict::Fail => !must_fail,
        Verdict::NotApplicable | Verdict::Pass => false,
    }
}
