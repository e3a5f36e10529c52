//! Connections that do not come about.

use std::io::ErrorKind;
use std::net::SocketAddrV4;
use std::process::Command;
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, ensure};

use super::{Played, Stage, beside, micros};
use crate::dice::Dice;
use crate::failures::client::{Ask, Before, Conn, Done, End, Refusal};
use crate::failures::kind::Kind;
use crate::failures::lab::SECOND;
use crate::failures::server::{Server, Setup};
use crate::failures::truth::{At, Failed};

/// Nobody listens any more, or a firewall answers in the server's place.
pub(super) fn refused(stage: Stage<'_>, dice: &mut Dice, all: &mut Played) -> anyhow::Result<()> {
    let mut server = stage.serve(Setup::default())?;
    beside(stage, dice, all, |_, _| Ok(()))?;
    let firewall = dice.between(0, 3) == 0;
    if firewall {
        let port = stage.port;
        stage.lab.rule(&format!("tcp dport {port} tcp flags syn reject with tcp reset"))?;
    } else {
        server.stop_listening();
    }
    for _ in 0..dice.between(1, 3) {
        let refusal = fails(stage, stage.address(), None)?;
        ensure!(refusal.error == ErrorKind::ConnectionRefused, "refused: {:?}", refusal.error);
        let server = if firewall { At::hidden() } else { At::known() };
        all.fail_connect(Kind::ConnectRefused, &refusal, At::known(), server);
        thread::sleep(micros(dice.scaled(1_000.0, 800_000.0)));
    }
    Ok(())
}

/// SYNs vanish on the path, or behind the server's capture.
pub(super) fn unanswered(
    stage: Stage<'_>,
    dice: &mut Dice,
    all: &mut Played,
) -> anyhow::Result<()> {
    let _server = stage.serve(Setup::default())?;
    beside(stage, dice, all, |_, _| Ok(()))?;
    let rule = format!("tcp dport {} tcp flags syn drop", stage.port);
    let at_server = dice.between(0, 1) == 0;
    if at_server {
        stage.lab.rule_at_server(&rule)?;
    } else {
        stage.lab.rule(&rule)?;
    }
    for _ in 0..dice.between(1, 2) {
        let limit = Duration::from_secs_f64(dice.scaled(1.3, 6.0));
        let refusal = fails(stage, stage.address(), Some(limit))?;
        ensure!(refusal.error == ErrorKind::TimedOut, "unanswered: {:?}", refusal.error);
        let server = if at_server { At::known() } else { At::hidden() };
        all.fail_connect(Kind::ConnectUnanswered, &refusal, At::known(), server);
    }
    Ok(())
}

/// One address refuses or does not answer; the client gives up the next one before its SYN-ACK has come.
pub(super) fn abandoned(stage: Stage<'_>, dice: &mut Dice, all: &mut Played) -> anyhow::Result<()> {
    let second = SocketAddrV4::new(SECOND, stage.port);
    let _server = Server::start(&stage.lab.server, second, Setup::default(), stage.diary)?;
    let drops = dice.between(0, 2) == 0;
    if drops {
        let address = stage.address().ip().to_string();
        stage.lab.rule(&format!("ip daddr {address} tcp dport {} drop", stage.port))?;
    }
    for _ in 0..dice.between(1, 2) {
        let limit = drops.then(|| Duration::from_secs_f64(dice.scaled(1.3, 3.0)));
        let first = fails(stage, stage.address(), limit)?;
        if drops {
            all.fail_connect(Kind::ConnectUnanswered, &first, At::known(), At::hidden());
        } else {
            all.fail_connect(Kind::ConnectRefused, &first, At::known(), At::known());
        }
        let mut patience = stage.rtt.mul_f64(0.2 + 0.6 * dice.unit());
        // The second SYN's time is only known to some 40 ms.
        if dice.between(0, 1) == 0 && stage.rtt > Duration::from_millis(70) {
            // The first SYN is lost, and Linux sends the next one after a second or a little more.
            stage.lab.hold_second(stage.port, HELD)?;
            patience += SECOND_SYN;
        }
        let refusal = fails(stage, second, Some(patience))?;
        ensure!(refusal.error == ErrorKind::TimedOut, "abandoned: {:?}", refusal.error);
        all.fail_connect(Kind::ConnectAbandoned, &refusal, At::known(), At::known());
        stage.settle();
        thread::sleep(micros(dice.scaled(1_000.0, 500_000.0)));
    }
    Ok(())
}

/// A router says that it cannot reach the server.
pub(super) fn unreachable(
    stage: Stage<'_>,
    dice: &mut Dice,
    all: &mut Played,
) -> anyhow::Result<()> {
    let _server = stage.serve(Setup::default())?;
    beside(stage, dice, all, |_, _| Ok(()))?;
    let kinds = ["host-unreachable", "net-unreachable", "admin-prohibited", "port-unreachable"];
    let kind = kinds[dice.between(0, 3) as usize];
    let rule = format!("tcp dport {} tcp flags syn reject with icmp type {kind}", stage.port);
    stage.lab.rule(&rule)?;
    for _ in 0..dice.between(1, 2) {
        let refusal = fails(stage, stage.address(), Some(Duration::from_secs(6)))?;
        let client = At::known().or("unreachable").or("icmp-unreachable");
        all.fail_connect(Kind::ConnectUnreachable, &refusal, client, At::hidden());
        thread::sleep(micros(dice.scaled(1_000.0, 500_000.0)));
    }
    Ok(())
}

/// More clients connect at once than the server's queue holds, which accepts none for a while.
pub(super) fn queue_full(
    stage: Stage<'_>,
    dice: &mut Dice,
    all: &mut Played,
) -> anyhow::Result<()> {
    let backlog = i32::try_from(dice.between(0, 4))?;
    let deaf = Duration::from_secs_f64(dice.scaled(1.5, 4.0));
    let setup = Setup { backlog: Some(backlog), deaf, ..Setup::default() };
    let server = stage.serve(setup)?;
    // One after the other would find the queue full when they come, and get no SYN-ACK.
    let clients = backlog + 2 + i32::try_from(dice.between(0, 3))?;
    let patience = deaf + Duration::from_millis(300);
    let results: anyhow::Result<Vec<Result<Done, Refusal>>> = thread::scope(|scope| {
        let one = |_| {
            scope.spawn(move || -> anyhow::Result<_> {
                let before = Before { within: Some(patience), ..Before::default() };
                let mut conn = match Conn::attempt(stage.address(), before, stage.diary)? {
                    Ok(it) => it,
                    Err(refusal) => return Ok(Err(refusal)),
                };
                let mut done = conn.ask(&Ask::get("size=100").within(patience));
                done.ended = conn.close();
                Ok(Ok(done))
            })
        };
        let threads: Vec<_> = (0..clients).map(one).collect();
        threads.into_iter().map(|it| it.join().map_err(|_| anyhow!("a client panicked"))?).collect()
    });
    thread::sleep(Duration::from_secs(1));
    for result in results? {
        match result {
            Ok(done) if done.end.is_answered() => all.answered += 1,
            // It was in the queue, and its time was over before the response. What the server takes later was not.
            Ok(done) if server.of(done.port, 0).first.is_some_and(|it| it <= done.ended) => {
                all.fail(Kind::Abandoned, &done, At::known(), At::known());
            }
            Ok(done) => {
                ensure!(matches!(done.end, End::TimedOut(0)), "queue full: {:?}", done.end);
                let server = At::known();
                all.fail(Kind::AcceptQueueFull, &done, At::hidden().or("silent"), server);
            }
            // The server's kernel dropped the SYN for the same reason.
            Err(refusal) => {
                let server = At::hidden().or("accept-queue-full");
                all.fail_connect(Kind::ConnectUnanswered, &refusal, At::known(), server);
            }
        }
    }
    Ok(())
}

/// A client uses its port again while the server remembers the last connection from there. Python sets the sequence
/// number, as another host behind the same NAT would have another one.
pub(super) fn time_wait(stage: Stage<'_>, dice: &mut Dice, all: &mut Played) -> anyhow::Result<()> {
    let _server = stage.serve(Setup::default())?;
    for _ in 0..dice.between(1, 2) {
        let back = dice.between(100_000, 1_000_000_000);
        let pause = stage.rtt.as_secs_f64() * 3.0 + dice.scaled(0.02, 3.0);
        let address = stage.address();
        let mut python = Command::new("python3");
        python.args(["-c", TIME_WAIT, &address.ip().to_string(), &address.port().to_string()]);
        let output = python.args([back.to_string(), pause.to_string()]).output();
        let output = output.context("cannot start python3")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "python3: {said}");
        stage.diary.note("client", 0, text.clone());
        let fields: Vec<u64> = text.split_whitespace().filter_map(|it| it.parse().ok()).collect();
        let [port, began, ended] = fields[..] else { return Err(anyhow!("python3: {text}")) };
        // Two exchanges, one on each connection.
        all.answered += 2;
        // Linux sends the SYN again soon after its RST, so this is less than a timeout.
        let least = 2 * stage.delay() + 5_000_000;
        ensure!(ended - began > least, "the server had forgotten: {}", text.trim());
        let client = At::known().lasted(began, ended);
        all.failed.push(Failed {
            kind: Kind::TimeWaitCollision,
            port: u16::try_from(port)?,
            number: None,
            client,
            server: At::known(),
        });
    }
    Ok(())
}

/// Connects with a chosen sequence number, has the server close first, and connects from the same port with an older
/// number. Prints the port, and from when until when the second connect took, by CLOCK_MONOTONIC.
const TIME_WAIT: &str = r#"
import random, socket, sys, time
host, port, back, pause = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
def connect(own, seq):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("0.0.0.0", own))
    s.setsockopt(6, 19, 1)
    s.setsockopt(6, 20, 2)
    s.setsockopt(6, 21, seq)
    s.setsockopt(6, 19, 0)
    s.connect((host, port))
    return s
def ask(s, script):
    s.sendall(b"GET /0 HTTP/1.1\r\nHost: server\r\nX-Do: %s\r\n\r\n" % script)
    data = b""
    while b"yyy" not in data:
        data += s.recv(4096)
first = random.randrange(1 << 30, 1 << 31)
s = connect(0, first)
own = s.getsockname()[1]
ask(s, b"size=3 then=fin")
while s.recv(4096): pass
s.close()
time.sleep(pause)
began = time.monotonic_ns()
s = connect(own, first - back)
ended = time.monotonic_ns()
ask(s, b"size=3")
s.close()
print(own, began, ended)
"#;

/// Longer than until the first SYN is in the middle, and shorter than until the second one is sent.
const HELD: Duration = Duration::from_millis(600);
const SECOND_SYN: Duration = Duration::from_millis(1_040);

fn fails(stage: Stage<'_>, to: SocketAddrV4, within: Option<Duration>) -> anyhow::Result<Refusal> {
    let before = Before { within, ..Before::default() };
    match Conn::attempt(to, before, stage.diary)? {
        Ok(_) => Err(anyhow!("the connection to {to} came about")),
        Err(refusal) => Ok(refusal),
    }
}
