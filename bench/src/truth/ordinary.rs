//! Ordinary traffic: programs that provoke nothing, over a path that holds and loses nothing.
//!
//! There is no truth by interval here. What the programs' own clocks say of each exchange refutes what a report must
//! not say: that an end of it waited, or is to be changed, which had done its part within a millisecond.
//!
//! | module | its one idea |
//! | --- | --- |
//! | `programs` | servers and clients |
//! | `packages` | pip, cargo and apt |
//! | `clocks` | what they say of their exchanges |
//! | `refute` | what is reported about them, and whether the clocks refute it |
//! | `phases` | clients over TLS that tell when they connected, asked and had read all |
//! | `sums` | how long those say that exchanges took, beside what is reported |
//! | `wire` | how long their packets took |

pub(super) mod clocks;
mod packages;
pub(super) mod phases;
mod programs;
pub(super) mod refute;
pub(super) mod sums;
mod wire;

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use ackwise_link::{Limit, LinkConfig, Queue, Rate};
use ackwise_linux::emulator::{EmulatorOptions, Report};
use ackwise_linux::{Emulator, Namespace};
use anyhow::Context;
use serde_json::{Map, Value};

use self::clocks::Clocks;
use self::programs::{CLIENTS, Running, SERVERS, Session};
use super::case::{Captures, Case, OneWay, Recorded, Truth, World};
use crate::dice::Dice;
use crate::tap::Tap;
use crate::witness::clock::{Clock, RealTime};

/// Which clients there are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Clients {
    /// Programs as they are.
    All,
    /// Those that tell their phases, over TLS.
    InPhases,
}

/// Runs the session that `seed` and `number` draw, and writes it as a case below `folder`.
///
/// # Errors
///
/// If a program is missing or fails.
fn record(clients: Clients, seed: u64, number: u64, folder: &Path) -> anyhow::Result<Recorded> {
    let session = match clients {
        Clients::All => draw(seed, number),
        Clients::InPhases => phases::draw(seed, number),
    };
    let name = format!("ordinary-{number:04}");
    let family = format!("{}-{}", session.server, session.client);
    let folder = folder.join(&name);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    // nginx takes the name of its configuration as one below its prefix.
    let folder = folder.canonicalize().context("cannot find the case's folder")?;
    let clocks = run(&session, &folder).with_context(|| format!("{name}, {family}"))?;
    clocks.write(&folder)?;
    let case = case(name, family, seed, &session, phases::keys(&folder))?;
    let recorded = Recorded { folder, case, truth: Truth::default() };
    recorded.write()?;
    Ok(recorded)
}

/// The same for each of these numbers. A session that fails is left out, and said on standard error.
///
/// # Errors
///
/// None yet: a caller expects them.
pub(super) fn record_all(
    clients: Clients,
    seed: u64,
    numbers: Range<u64>,
    folder: &Path,
) -> anyhow::Result<Vec<Recorded>> {
    let mut sessions = Vec::new();
    for number in numbers {
        match record(clients, seed, number, folder) {
            Ok(it) => sessions.push(it),
            Err(why) => eprintln!("left out: {why:#}"),
        }
    }
    Ok(sessions)
}

/// Round trips from a LAN's to another country's, think times from none to a reader's. All servers meet all clients in
/// turn; a quarter of the sessions is over TLS.
fn draw(seed: u64, number: u64) -> Session {
    let mut dice = Dice::new(seed).of("ordinary", number);
    let place = usize::try_from(number).unwrap_or_default();
    let (server, client) =
        (SERVERS[place % SERVERS.len()], CLIENTS[place / SERVERS.len() % CLIENTS.len()]);
    // The servers that are programs of ours have no page.
    let serves_pages = !matches!(server, "python" | "node");
    let asks_for_pages = client == "chromium" || packages::are_for(client);
    let server = if asks_for_pages && !serves_pages { "nginx" } else { server };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a delay")]
    let delay_us = dice.scaled(200.0, 30_000.0) as u32;
    // wrk asks for as long as it runs: a longer path bounds how often.
    let delay_us = if client == "wrk" { delay_us.max(4_000) } else { delay_us };
    let mut session = Session {
        server,
        client,
        tls: dice.between(0, 3) == 0,
        http2: false,
        server_think: [0, 0, 2, 10][dice.between(0, 3) as usize],
        think: [0, 5, 20, 60][dice.between(0, 3) as usize],
        delay_us,
        seed: dice.between(0, 1_000_000),
        count: None,
    };
    session.http2 = session.tls && dice.between(0, 1) == 0;
    session
}

fn run(session: &Session, folder: &Path) -> anyhow::Result<Clocks> {
    let [client, server] = [Namespace::create()?, Namespace::create()?];
    let link = LinkConfig {
        rate: Rate::bits_per_second(RATE),
        delay: Duration::from_micros(session.delay_us.into()),
        queue: Queue::DropTail(Limit::Packets(QUEUE)),
        ..LinkConfig::IDEAL
    };
    let options = EmulatorOptions { log: true, ..EmulatorOptions::symmetric(link) };
    let clock = Clock::start();
    let emulator = Emulator::between(&client, &server, &options)?;
    let files = folder.join("files");
    fs::create_dir_all(&files)?;
    let address = emulator.server_address();
    let running = Running::start(session, &server, address, &files)?;
    let taps = [
        Tap::at(&client, emulator.client_device(), &folder.join("client.pcap"))?,
        Tap::at(&server, emulator.server_device(), &folder.join("server.pcap"))?,
    ];
    let watching = programs::watch(&server, &files)?;
    let url = session.url(address);
    let command = match session.count {
        Some(count) => phases::client(session, count, &url, &files)?,
        None => programs::client(session, &url, &files)?,
    };
    let asked = programs::ask(session.client, command, &client, &files)?;
    std::thread::sleep(SETTLE);
    taps.into_iter().try_for_each(Tap::stop)?;
    let (served, waited) = (running.stop()?, watching.stop()?);
    let report = emulator.stop()?;
    phases::keep_keys(&files, folder)?;
    fs::remove_dir_all(&files).context("cannot remove the programs' files")?;
    // Each line of a client that tells its phases counts, whatever the server has logged.
    let served = if session.count.is_some() { String::new() } else { served };
    let clocks = Clocks::join(&asked, &served, session.tls);
    Ok(Clocks {
        dropped: dropped(&report),
        ..disturbed(clocks, &report, &waited, clock, clock.stop())
    })
}

fn dropped(report: &Report) -> u64 {
    report.to_server.dropped() + report.to_client.dropped()
}

/// Adds when a processor paused, a program waited for one, or a packet was late: what follows within a delayed ACK's time may be late, too.
fn disturbed(
    clocks: Clocks,
    report: &Report,
    waited: &str,
    clock: Clock,
    real: RealTime,
) -> Clocks {
    let time = |at| real.of(clock.nanos(at));
    let pauses = report.pauses.iter().map(|it| [time(it[0]), time(it[1])]);
    let late = report.packets.iter().filter(|it| it.lateness > LATE);
    let late = late.filter_map(|it| Some([time(it.delivered? - it.lateness), time(it.delivered?)]));
    let nanos = |span: Duration| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    let around = |[from, until]: [u64; 2], after: Duration| {
        [from.saturating_sub(nanos(BEFORE)), until + nanos(after)]
    };
    let waits = waited.lines().filter_map(|line| {
        let (from, until) = line.split_once(' ')?;
        Some(around([from.parse().ok()?, until.parse().ok()?], AFTER_A_WAIT))
    });
    let disturbed_ns = pauses.chain(late).map(|it| around(it, AFTER)).chain(waits).collect();
    Clocks { disturbed_ns, ..clocks }
}

fn case(
    name: String,
    family: String,
    seed: u64,
    session: &Session,
    keys: Option<String>,
) -> anyhow::Result<Case> {
    let parameters = match serde_json::to_value(session)? {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    let delay = f64::from(session.delay_us) / 1e3;
    let file = |name: &str| Some(name.to_owned());
    Ok(Case {
        name,
        world: World::Kernel,
        family,
        seed,
        parameters,
        captures: Captures {
            client: file("client.pcap"),
            server: file("server.pcap"),
            middle: None,
            keys,
        },
        one_way_ms: OneWay {
            client_to_middle: delay,
            middle_to_client: delay,
            ..OneWay::default()
        },
        disturbed: None,
    })
}

/// Fast enough that no queue matters.
const RATE: u64 = 1_000_000_000;
const QUEUE: std::num::NonZeroU32 = std::num::NonZeroU32::new(10_000).expect("not 0");
/// The last packets reach the captures, and servers write their logs.
const SETTLE: Duration = Duration::from_millis(300);
/// As for the kernel's cases.
const LATE: Duration = Duration::from_millis(2);
const BEFORE: Duration = Duration::from_millis(2);
const AFTER: Duration = Duration::from_millis(50);
/// Another program waits no longer than the one that watches, or hardly. Our choice.
const AFTER_A_WAIT: Duration = Duration::from_millis(5);
