//! Does `check --rtt` give a program the verdicts that it has over a path?
//!
//! Each program runs on a host of its own (a network namespace). `check --rtt` runs beside it. Then `check` runs on
//! another host, and the link emulator joins the two with the same path. Verdicts on disturbed questions are asked
//! again.

mod host;
mod server;
mod site;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use ackwise_check::{Distance, stack::distance::PathLoss};
use ackwise_linux::emulator::EmulatorOptions;
use ackwise_linux::{Emulator, Namespace};
use ackwise_testing::debian::NotInstalled;
use anyhow::{Context, ensure};
use serde_json::Value;

use self::host::Running;
use self::server::{ALL, Program};
use self::site::PORT;
use self::table::Compared;
use super::{DIRECTORY, NAME};
use crate::machine::Load;
use crate::{program, verdict, warn_if_busy};
use xtask::process::{self, End, Output};

/// Whether there is a program called `name`.
pub(super) fn has(name: &str) -> bool {
    ALL.iter().any(|it| it.name == name)
}

/// Checks the named programs, or all, and prints their verdicts side by side.
///
/// # Errors
///
/// If namespaces, links or the program are not available.
pub(super) fn run(names: &[String], path: Distance) -> anyhow::Result<ExitCode> {
    let ackwise = program::build()?;
    let rate = path.rate.map_or(0.0, |rate| rate.get() as f64 / 1e6);
    println!(
        "{NAME}: --rtt {} ms --link-rate {rate} Mb/s beside the link emulator",
        path.rtt.as_millis()
    );
    let load = Load::start();
    let (mut compared, mut missing) = (Vec::new(), Vec::new());
    for program in ALL.iter().filter(|it| names.is_empty() || names.iter().any(|n| n == it.name)) {
        ensure!(!process::interrupted(), "interrupted");
        match compare(program, &ackwise, &path) {
            Ok(it) => {
                println!("{:<10} {}", program.name, it.summary());
                compared.push(it);
            }
            Err(error) if error.is::<NotInstalled<'static>>() => {
                println!("{:<10} missing: {error}", program.name);
                missing.push(program.name);
            }
            Err(error) => return Err(error.context(program.name)),
        }
    }
    print!("\n{}", table::text(&compared));
    let equal = compared.iter().filter(|it| it.differing().next().is_none()).count();
    println!(
        "\n{equal} of {} programs have the same verdicts; missing: {missing:?}",
        compared.len()
    );
    let others = load.and_then(|load| load.used_by_others(process::children_cpu_time().ok()?));
    warn_if_busy("while it ran (the checked programs included)", others);
    let all = equal == compared.len() && equal > 0;
    println!("{}", verdict(all));
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Both cards of one program.
fn compare(program: &'static Program, ackwise: &Path, path: &Distance) -> anyhow::Result<Compared> {
    let (server, client) = (Namespace::create()?, Namespace::create()?);
    server.run(settle)??;
    let running = Running::start(program, &server)?;
    let check = Check { ackwise, path, program: program.name };
    let beside =
        check.undisturbed("rtt", &server, &["--rtt".to_owned(), ms(path.rtt)], "127.0.0.1")?;
    // Started afresh, so that a cache is as cold as it was.
    drop(running);
    let running = Running::start(program, &server)?;
    let [to_server, to_client] = path.links(PathLoss::Off);
    // The kernel's own, which `settle` has chosen: a route with another one would differ from the TUN device's.
    let options =
        EmulatorOptions { to_server, to_client, congestion_control: None, ..Default::default() };
    let link = Emulator::between(&client, &server, &options)?;
    let address = link.server_address().to_string();
    let over =
        check.undisturbed("emulator", &client, &["--allow-host-changes".to_owned()], &address)?;
    let lateness = link.stop()?.disturbances();
    drop(running);
    Ok(Compared { program: program.name, beside, over, lateness })
}

/// What would differ from one machine to the next on the server's host.
fn settle() -> anyhow::Result<()> {
    for (name, value) in SETTINGS {
        let path = format!("/proc/sys/net/ipv4/{name}");
        fs::write(&path, value).with_context(|| path.clone())?;
    }
    Ok(())
}

/// How a program is checked.
struct Check<'a> {
    ackwise: &'a Path,
    path: &'a Distance,
    program: &'static str,
}

impl Check<'_> {
    /// The card of the last attempt, or of the first without a disturbance. It is kept in a file.
    fn undisturbed(
        &self,
        how: &str,
        host: &Namespace,
        arguments: &[String],
        address: &str,
    ) -> anyhow::Result<Value> {
        let file = PathBuf::from(DIRECTORY).join(format!("{}-{how}.json", self.program));
        let mut card = Value::Null;
        for _ in 0..ATTEMPTS {
            let text = host.run(|| self.once(arguments, address))??;
            fs::create_dir_all(DIRECTORY)?;
            fs::write(&file, &text)?;
            card = serde_json::from_str(&text).with_context(|| text.clone())?;
            ensure!(card.get("error").is_none(), "check, {how}: {}", card["error"]);
            if !is_disturbed(&card) {
                break;
            }
        }
        Ok(card)
    }

    fn once(&self, arguments: &[String], address: &str) -> anyhow::Result<String> {
        let time = TIME + self.path.extra_time();
        let mut command = Command::new(self.ackwise);
        command.args(["check", "--json", "--stack", "ackwise", "--timeout", &ms(time)]);
        command.args(["--max-wait", &ms(WAIT + self.path.extra_time() / 10)]).args(arguments);
        if let (Some(rate), false) = (self.path.rate, arguments.iter().all(|it| it != "--rtt")) {
            command.args(["--link-rate", &format!("{}kb/s", rate.get() as f64 / 1e3)]);
        }
        command.arg(format!("http://{address}:{PORT}/"));
        let mut text = String::new();
        let mut take = |line: &str| {
            text.push_str(line);
            text.push('\n');
        };
        let end = process::run(&mut command, Output::Take(&mut take), 2 * time)?;
        ensure!(matches!(end, End::Succeeded | End::Failed(_)), "check: {end:?}");
        Ok(text)
    }
}

fn is_disturbed(card: &Value) -> bool {
    Compared::findings(card).any(|finding| finding["disturbed"] == true)
}

fn ms(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

/// Times that a card is asked for (our choice).
const ATTEMPTS: usize = 3;

/// As without `--rtt`, with a margin for a busy machine; each grows with the path.
const TIME: Duration = Duration::from_secs(40);
const WAIT: Duration = Duration::from_secs(10);

/// Of the server's host: BBR, a default here and there, paces its first flight, and earlier connections would teach
/// the later ones.
const SETTINGS: [(&str, &str); 3] = [
    ("tcp_congestion_control", "reno"),
    ("tcp_no_metrics_save", "1"),
    ("tcp_slow_start_after_idle", "1"),
];
