//! `ackwise reproduce [PAPER…]`: the papers' tables beside ours.

use std::{num::NonZeroU32, path::PathBuf};

use ackwise_papers::{
    Effort, ReproduceError, okamoto,
    paper::Paper,
    report::{Reproduction, html, json, markdown, text},
    reproduce,
};
use clap::{
    Args, ValueEnum,
    builder::{PossibleValuesParser, TypedValueParser},
};

use super::{
    files,
    interrupt::until_interrupted,
    number::whole,
    outcome::{Failure, Outcome},
    output,
    progress::ProgressLine,
    rows,
};

/// Reproduce a paper's experiments and print each published value beside the measured one
///
/// Simulates the experiments behind the tables and figures of each paper, and tests its claims. Some
/// printed tables have no published values: they show the runs that test a claim.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Reproduce {
    /// Reproduce these papers [default: all]
    #[arg(value_parser = paper(), value_name = "PAPER")]
    papers: Vec<Paper>,

    /// Reproduce only the values that are checked against a tolerance, with fewer seeds; takes about two minutes
    #[arg(long)]
    quick: bool,

    /// Show only how claims depend on parameters that the paper does not give (okamoto only)
    #[arg(long, conflicts_with = "quick")]
    sensitivity: bool,

    /// Simulate the experiments, or run them in real time on this machine's kernel (Linux only; about 25 minutes for
    /// all papers, 3 with --quick)
    ///
    /// With `kernel`, also prints two simulated results: with Linux's TCP, and with the TCP of the paper.
    #[arg(long, value_name = "WORLD", value_enum, default_value_t = OnWorld::Sim)]
    on: OnWorld,

    /// With --on kernel, repeat each case until N runs had no late packet, and report the medians
    #[arg(long, value_name = "N", value_parser = whole(NonZeroU32::MIN..=MOST_REPEATS))]
    repeat: Option<NonZeroU32>,

    /// With okamoto --on kernel, test these proxies: the reference relay, or a real proxy that `ackwise tune` manages
    ///
    /// Each number of clients takes about 4.5 minutes (4 schemes of a minute) for each run.
    #[cfg(target_os = "linux")]
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "PROXY", value_delimiter = ',', value_parser = relay())]
    proxies: Vec<ackwise_papers::on_kernel::okamoto::Relay>,

    /// With okamoto --on kernel, run with these numbers of clients, separated by commas [default: 50 and 500]
    #[cfg(target_os = "linux")]
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clients())]
    clients: Vec<u32>,

    /// With okamoto --on kernel, run these schemes of the paper [default: 1 to 4]
    ///
    /// With a real proxy, 1 is the proxy alone, 2 with `tune --buffer-memory`, 3 with `tune` that closes idle connections,
    /// 4 with both.
    #[cfg(target_os = "linux")]
    #[arg(hide_short_help = true)]
    #[arg(long, value_name = "SCHEME", value_delimiter = ',', value_parser = scheme())]
    schemes: Vec<&'static str>,

    /// Print JSON
    #[arg(long, group = "format")]
    json: bool,

    /// Print Markdown, as in docs/findings.md
    #[arg(long, group = "format")]
    markdown: bool,

    /// With --on kernel, also write the results to this file as JSON
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// Also write a self-contained HTML page with tables, claims and figures
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Who plays the experiments.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum OnWorld {
    /// Virtual time: fast and deterministic
    Sim,
    /// Kernel sockets at both ends, in real time
    Kernel,
}

impl Reproduce {
    /// Whether `--json` was given.
    pub(crate) const fn json(&self) -> bool {
        self.json
    }
}

/// Runs, compares, prints.
pub(crate) fn run(arguments: Reproduce) -> Result<Outcome, Failure> {
    files::check([], arguments.html.iter().chain(&arguments.save).map(PathBuf::as_path))?;
    if arguments.on == OnWorld::Kernel {
        return on_kernel(arguments);
    }
    if arguments.repeat.is_some() {
        let text = "--repeat needs --on kernel: a simulation is the same each time";
        return Err(Failure::Usage(text.to_owned()));
    }
    if arguments.save.is_some() {
        let text = "--save needs --on kernel: a simulation can be repeated (expected --json)";
        return Err(Failure::Usage(text.to_owned()));
    }
    let Reproduce {
        papers,
        quick,
        sensitivity,
        on: _,
        repeat: _,
        json: as_json,
        markdown: as_markdown,
        save: _,
        html: page,
        ..
    } = arguments;
    if let Some(paper) = papers.iter().find(|&&paper| sensitivity && paper != Paper::Okamoto) {
        return Err(Failure::Usage(format!(
            "--sensitivity: no such runs for {} (expected okamoto)",
            paper.name()
        )));
    }
    let wanted = |paper: &Paper| papers.is_empty() || papers.contains(paper);
    let papers: Vec<_> = Paper::ALL.into_iter().filter(wanted).collect();
    let effort = if quick { Effort::Quick } else { Effort::Full };
    let with_page = page.is_some();
    let (reproduction, written) = until_interrupted(move |wanted| {
        let line = ProgressLine::new();
        let mut progress = |step: &str| {
            wanted.or_unwind();
            line.show(step);
        };
        let reproduction = if sensitivity {
            Reproduction { papers: vec![okamoto::sensitivity(&mut progress)?] }
        } else {
            reproduce(&papers, effort, &mut progress)?
        };
        let page = with_page.then(|| html(&reproduction, &mut progress)).transpose()?;
        Ok::<_, ReproduceError>((reproduction, page))
    })??;
    if let (Some(path), Some(written)) = (page, written) {
        rows::write(&path, written.as_bytes())?;
    }
    let outcome = if reproduction.outside_limits() == 0 { Outcome::Good } else { Outcome::Bad };
    let document = match (as_json, as_markdown) {
        (true, _) => json(&reproduction),
        (_, true) => markdown(&reproduction),
        _ => text(&reproduction),
    };
    output::print(&document, outcome)
}

/// The same on the kernel. Without root, the process moves into a network of its own first.
#[cfg(target_os = "linux")]
fn on_kernel(arguments: Reproduce) -> Result<Outcome, Failure> {
    use ackwise_papers::on_kernel::{okamoto::Points, report, reproduce};
    let program = std::env::current_exe()
        .map_err(|error| Failure::Usage(format!("cannot find this program for tune: {error}")))?;
    let mut points = Points::few(program);
    if !arguments.proxies.is_empty() {
        points.relays.clone_from(&arguments.proxies);
    }
    if !arguments.clients.is_empty() {
        points.clients.clone_from(&arguments.clients);
    }
    if !arguments.schemes.is_empty() {
        points.schemes.clone_from(&arguments.schemes);
    }
    let Reproduce { papers, quick, sensitivity, repeat, json, markdown, save, html, .. } =
        arguments;
    if sensitivity || html.is_some() {
        let text =
            "--on kernel cannot be combined with --sensitivity or --html (expected --on sim)";
        return Err(Failure::Usage(text.to_owned()));
    }
    ackwise_linux::namespace::enter_private_network()
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let wanted = |paper: &Paper| papers.is_empty() || papers.contains(paper);
    let papers: Vec<_> = Paper::ALL.into_iter().filter(wanted).collect();
    let effort = if quick { Effort::Quick } else { Effort::Full };
    let all = until_interrupted(move |wanted| {
        let line = ProgressLine::new();
        let mut progress = |step: &str| {
            wanted.or_unwind();
            line.show(step);
        };
        reproduce(&papers, (effort, repeat), &points, &mut progress)
    })??;
    if let Some(path) = save {
        rows::write(&path, report::json(&all).as_bytes())?;
    }
    let [outside, _] = all.outside_limits();
    let outcome = if outside == 0 { Outcome::Good } else { Outcome::Bad };
    let document = match (json, markdown) {
        (true, _) => report::json(&all),
        (_, true) => report::markdown(&all),
        _ => report::text(&all),
    };
    output::print(&document, outcome)
}

#[cfg(not(target_os = "linux"))]
fn on_kernel(_: Reproduce) -> Result<Outcome, Failure> {
    Err(Failure::Usage("--on kernel needs Linux (expected --on sim)".to_owned()))
}

/// Our choice.
const MOST_REPEATS: NonZeroU32 = NonZeroU32::new(1_000).expect("more than none");

fn paper() -> impl TypedValueParser<Value = Paper> {
    PossibleValuesParser::new(Paper::ALL.map(Paper::name))
        .map(|name| Paper::named(&name).expect("only names of papers are possible"))
}

#[cfg(target_os = "linux")]
fn relay() -> impl TypedValueParser<Value = ackwise_papers::on_kernel::okamoto::Relay> {
    use ackwise_papers::on_kernel::okamoto::Relay;
    PossibleValuesParser::new(Relay::ALL.map(Relay::name))
        .map(|name| Relay::named(&name).expect("only names of relays are possible"))
}

#[cfg(target_os = "linux")]
fn scheme() -> impl TypedValueParser<Value = &'static str> {
    let all = ackwise_papers::on_kernel::okamoto::Points::SCHEMES;
    PossibleValuesParser::new(all).map(move |name| {
        all.into_iter().find(|it| *it == name).expect("only names of schemes are possible")
    })
}

#[cfg(target_os = "linux")]
fn clients() -> impl TypedValueParser<Value = u32> {
    PossibleValuesParser::new(["50", "100", "200", "500"])
        .map(|number| number.parse().expect("only numbers are possible"))
}

const EXAMPLES: &str = "\
Examples:
  ackwise reproduce heidemann            the tables, figures and claims of Heidemann 1996 and 1997
  ackwise reproduce gurkan --quick       only the values that are checked against a tolerance
  ackwise reproduce faber                TIME-WAIT at busy servers: Faber, Touch and Yue 1997
  ackwise reproduce okamoto --sensitivity
      show which claims depend on parameters that the paper does not give; takes minutes
  ackwise reproduce heidemann --html heidemann.html
      also write an HTML page with the figures
  ackwise reproduce heidemann --on kernel
      run the experiments on this machine's kernel and in the simulator
  ackwise reproduce okamoto --on kernel --proxies relay,nginx --clients 50 --repeat 3
      run the paper's four schemes with kernel sockets: by the reference relay, and by nginx with `ackwise tune` (26 minutes)
  ackwise reproduce --json               all papers, as JSON
  ackwise reproduce --markdown > docs/findings.md

Exit codes:
  0  every checked value is within its tolerance
  1  some values are outside their tolerance; the report marks them
  2  an experiment could not run";
