//! Command-line arguments.

use std::{error::Error, str::FromStr, time::Duration};

use ackwise_link::{LinkConfig, Pick, Probability, Queue, Rate, Seed};
use ackwise_linux::emulator::EmulatorOptions;
use lexopt::{Arg, Parser, ValueExt};

pub(crate) struct Arguments {
    pub(crate) options: EmulatorOptions,
    pub(crate) server: Option<String>,
    pub(crate) command: Vec<String>,
}

const HELP: &str = "\
emulate [OPTION…] [--server COMMAND] -- COMMAND…

Runs COMMAND against a server over an emulated link; the link's report goes to standard error.
Both find their addresses and devices in ACKWISE_SERVER, ACKWISE_CLIENT, ACKWISE_SERVER_DEVICE
and ACKWISE_CLIENT_DEVICE.

In each direction:
  --delay 20ms            propagation (us, ms, s)
  --rate 10mbit           bits per second (kbit, mbit, gbit)
  --queue 100             packets that may wait
  --loss 1%               lost at random
In one:
  --drop-to-server 3,7    the 3rd and the 7th packet are lost, and none at random
  --drop-to-client 3,7
And:
  --seed 1                of the random losses
  --congestion cubic      congestion control of both sides, or `kernel` for the kernel's own
  --server COMMAND        runs at the other end, by `sh -c`; waited for until it listens";

pub(crate) fn parse() -> Result<Arguments, Box<dyn Error>> {
    let mut parser = Parser::from_env();
    let mut link = LinkConfig::IDEAL;
    let mut options = EmulatorOptions::default();
    let (mut to_server, mut to_client) = (None, None);
    let (mut server, mut command) = (None, Vec::new());
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("delay") => link.delay = parser.value()?.parse_with(delay)?,
            Arg::Long("rate") => link.rate = Some(parser.value()?.parse_with(rate)?),
            Arg::Long("queue") => link.queue = parser.value()?.parse_with(queue)?,
            Arg::Long("loss") => link.faults.loss = parser.value()?.parse_with(loss)?,
            Arg::Long("drop-to-server") => to_server = Some(parser.value()?.parse_with(numbers)?),
            Arg::Long("drop-to-client") => to_client = Some(parser.value()?.parse_with(numbers)?),
            Arg::Long("seed") => options.seed = Seed(parser.value()?.parse()?),
            Arg::Long("congestion") => {
                options.congestion_control =
                    Some(parser.value()?.string()?).filter(|name| name != "kernel");
            }
            Arg::Long("server") => server = Some(parser.value()?.string()?),
            Arg::Long("help") | Arg::Short('h') => {
                println!("{HELP}");
                std::process::exit(0);
            }
            Arg::Value(program) => {
                command.push(program.string()?);
                for argument in parser.raw_args()? {
                    command.push(argument.string()?);
                }
            }
            other => return Err(other.unexpected().into()),
        }
    }
    options.to_server = hit(&link, to_server);
    options.to_client = hit(&link, to_client);
    if command.is_empty() {
        return Err("no command after `--`; see --help".into());
    }
    Ok(Arguments { options, server, command })
}

fn hit(link: &LinkConfig, losses: Option<Pick>) -> LinkConfig {
    let mut link = link.clone();
    link.faults.loss = losses.unwrap_or(link.faults.loss);
    link
}

fn delay(text: &str) -> Result<Duration, String> {
    let seconds = scaled(text, &[("us", 1e-6), ("ms", 1e-3), ("s", 1.0)])?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

fn rate(text: &str) -> Result<Rate, String> {
    let bits = scaled(text, &[("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9)])?;
    #[expect(clippy::cast_possible_truncation, reason = "`as` ends at the type's limits")]
    Rate::bits_per_second(bits as u64).ok_or_else(|| "a link that carries nothing".to_owned())
}

fn queue(text: &str) -> Result<Queue, String> {
    let packets = text.parse().map_err(|error| format!("{error}"))?;
    Queue::packets(packets).ok_or_else(|| "a queue that lets nothing pass".to_owned())
}

fn loss(text: &str) -> Result<Pick, String> {
    let millionths = (scaled(text, &[("%", 1e4)])?).round();
    #[expect(clippy::cast_possible_truncation, reason = "`as` ends at the type's limits")]
    let probability = Probability::per_million(millionths as u32);
    probability.map(Pick::Random).ok_or_else(|| "more than 100 %".to_owned())
}

fn numbers(text: &str) -> Result<Pick, String> {
    let numbers: Result<Vec<u64>, _> = text.split(',').map(u64::from_str).collect();
    numbers.map(Pick::Nth).map_err(|error| error.to_string())
}

/// Parses a non-negative number with one of these units, and scales it by the unit's factor.
fn scaled(text: &str, units: &[(&str, f64)]) -> Result<f64, String> {
    let found = units.iter().find_map(|(unit, scale)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number * scale)
    });
    found.ok_or_else(|| {
        let units: Vec<_> = units.iter().map(|(unit, _)| *unit).collect();
        format!("expected a number and one of {}", units.join(", "))
    })
}
