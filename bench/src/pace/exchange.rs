//! One run: nginx and a client in namespaces of their own, one connection, some responses.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::path::Path as File;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

use ackwise_link::{LinkConfig, Queue, Rate, RateChange};
use ackwise_linux::emulator::{Disturbance, EmulatorOptions, Report, Scheduling};
use ackwise_linux::foreign::{ForeignSocket, Holders};
use ackwise_linux::sockets::{Query, SocketTable};
use ackwise_linux::{Emulator, Namespace};
use ackwise_tcp::State;
use anyhow::{Context, ensure};

use super::{Case, Path, Restart};
use crate::load::nginx::Nginx;

/// The responses of a run that count.
#[derive(Clone, Debug)]
pub(super) struct Ran {
    /// From the request to the last byte.
    pub(super) times: Vec<Duration>,
    /// Packets that the path's queue dropped during each.
    pub(super) drops: Vec<usize>,
    /// Why the times may be wrong.
    pub(super) disturbed: Vec<Disturbance>,
}

/// Runs one case.
///
/// # Errors
///
/// If a program does not start, or a response is not complete.
pub(super) fn run(ackwise: &File, case: Case) -> anyhow::Result<Ran> {
    let [client, server] = [Namespace::create()?, Namespace::create()?];
    let emulator = Emulator::between(&client, &server, &options(case.path))?;
    let began = Instant::now();
    server.run(|| configure(case.restart))??;
    let address = SocketAddrV4::new(emulator.server_address(), PORT);
    fs::create_dir_all(format!("{DIRECTORY}/pages"))?;
    fs::write(format!("{DIRECTORY}/pages/{SIZE}"), vec![b'x'; SIZE])?;
    let running = {
        let _inside = server.enter()?;
        match case.restart {
            Restart::Program => Server::BuiltIn { _server: Program::serve(ackwise, address)? },
            _ => Server::Nginx(Nginx::start_on(address.into(), File::new(DIRECTORY))?),
        }
    };
    control(&server, case.control)?;
    let _tuning = match (case.restart, &running) {
        (Restart::Paced, Server::Nginx(nginx)) => Some(Program::tune(ackwise, nginx.process())?),
        _ => None,
    };
    let stream = client.run(|| TcpStream::connect(address))??;
    let exchanges = thread::scope(|scope| {
        scope.spawn(|| exchanges(stream, case.path, began)).join().expect("it does not panic")
    })?;
    let report = emulator.stop()?;
    Ok(counted(case.path, &exchanges, &report))
}

fn options(path: Path) -> EmulatorOptions {
    let link = LinkConfig {
        rate: Rate::bits_per_second(RATE),
        delay: ONE_WAY,
        queue: Queue::bytes(QUEUE),
        ..LinkConfig::IDEAL
    };
    let mut options = EmulatorOptions::symmetric(link);
    options.to_client.rate_change = Rate::bits_per_second(RATE / 2)
        .filter(|_| path == Path::Halved)
        .map(|rate| RateChange { at: ackwise_tcp::Instant::EPOCH + CHANGE, rate });
    options.congestion_control = None;
    options.log = true;
    options
}

fn configure(restart: Restart) -> anyhow::Result<()> {
    let cuts = match restart {
        Restart::None | Restart::Program => "0",
        Restart::Kernel | Restart::Paced => "1",
    };
    let settings = [("tcp_no_metrics_save", "1"), ("tcp_slow_start_after_idle", cuts)];
    settings.iter().try_for_each(|(name, value)| {
        let file = format!("/proc/sys/net/ipv4/{name}");
        fs::write(&file, value).with_context(|| format!("cannot write {file}"))
    })
}

/// nginx has no directive for it, and the default may be BBR.
fn control(server: &Namespace, name: &str) -> anyhow::Result<()> {
    let mut found = None;
    let query = Query::local_port(PORT).in_states(&[State::Listen]);
    SocketTable::of(server)?.each(query, |socket| found = Some(*socket))?;
    let listener = found.context("the server does not listen")?;
    let holders = Holders::of(&BTreeSet::from([listener.inode]));
    let copy = ForeignSocket::copy(holders.of_inode(listener.inode), listener.cookie)?;
    copy.set_congestion(name).with_context(|| format!("the kernel has no {name}"))
}

/// When each response was asked for, and when its last byte was there.
fn exchanges(
    mut stream: TcpStream,
    path: Path,
    began: Instant,
) -> anyhow::Result<Vec<[Instant; 2]>> {
    let _ = Scheduling::prefer_round_robin();
    stream.set_read_timeout(Some(LIMIT))?;
    let mut exchanges = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    for nth in 0..RESPONSES {
        if nth > 0 {
            thread::sleep(IDLE);
        }
        if nth + 1 == RESPONSES && path == Path::Halved {
            thread::sleep((CHANGE + SETTLE).saturating_sub(began.elapsed()));
        }
        let asked = Instant::now();
        stream.write_all(format!("GET /{SIZE} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())?;
        let (mut head, mut body) = (Vec::new(), 0);
        while body < SIZE {
            let count = stream.read(&mut buffer)?;
            ensure!(count > 0, "the server closed the connection");
            if body > 0 {
                body += count;
                continue;
            }
            head.extend_from_slice(&buffer[..count]);
            let end = head.windows(4).position(|it| it == b"\r\n\r\n");
            body = end.map_or(0, |end| head.len() - end - 4);
        }
        exchanges.push([asked, Instant::now()]);
    }
    Ok(exchanges)
}

fn counted(path: Path, exchanges: &[[Instant; 2]], report: &Report) -> Ran {
    let first = if path == Path::Halved { RESPONSES - 1 } else { 1 };
    let counted = &exchanges[first..];
    let dropped = |[from, until]: &[Instant; 2]| {
        let within = |at: Instant| (*from..*until).contains(&at);
        report.packets.iter().filter(|it| it.sent.is_err() && within(it.offered)).count()
    };
    Ran {
        times: counted.iter().map(|[from, until]| *until - *from).collect(),
        drops: counted.iter().map(dropped).collect(),
        disturbed: report.disturbances(),
    }
}

/// Ended when dropped.
enum Server {
    Nginx(Nginx),
    BuiltIn { _server: Program },
}

/// A command of `ackwise`, until it is dropped.
struct Program {
    child: Child,
}

impl Program {
    fn serve(ackwise: &File, address: SocketAddrV4) -> anyhow::Result<Self> {
        let mut command = Command::new(ackwise);
        command.args(["serve", "--pace", "--listen", &address.to_string()]);
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot start ackwise")?;
        let stderr = child.stderr.take().context("it has a pipe")?;
        let mut line = String::new();
        BufReader::new(stderr).read_line(&mut line)?;
        let program = Self { child };
        ensure!(line.starts_with("Serving"), "ackwise serve does not listen: {line}");
        Ok(program)
    }

    fn tune(ackwise: &File, process: u32) -> anyhow::Result<Self> {
        let mut command = Command::new(ackwise);
        command.args(["tune", "--pace", "--apply", "--port", &PORT.to_string()]);
        command.args(["--pid", &process.to_string()]);
        let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start ackwise")?;
        let mut line = String::new();
        let stdout = child.stdout.take().context("it has a pipe")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let program = Self { child };
        ensure!(line.contains(" set "), "ackwise tune did not set it: {line}");
        Ok(program)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        use nix::sys::signal::{Signal, kill};
        use nix::unistd::Pid;
        if let Ok(id) = i32::try_from(self.child.id()) {
            let _ = kill(Pid::from_raw(id), Signal::SIGINT);
        }
        let _ = self.child.wait();
    }
}

/// The experiment that the restart of other kernels was measured with: bits per second, one way, bytes.
const RATE: u64 = 20_000_000;
const ONE_WAY: Duration = Duration::from_millis(40);
const QUEUE: u64 = 60_000;
const SIZE: usize = 200_000;
const IDLE: Duration = Duration::from_secs(2);
/// The first, and those that count.
const RESPONSES: usize = 6;
/// Our choice: after the last response but one, on a busy machine too.
const CHANGE: Duration = Duration::from_secs(18);
/// Our choice.
const SETTLE: Duration = Duration::from_millis(500);
/// Our choice: longer than any response takes.
const LIMIT: Duration = Duration::from_secs(20);
const PORT: u16 = 8080;
const DIRECTORY: &str = "target/bench/pace";
