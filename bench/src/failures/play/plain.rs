//! Traffic of sockets of ours in which nothing fails.

use std::io::{Read, Write};
use std::net::{Ipv6Addr, Shutdown, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use ackwise_linux::Namespace;
use anyhow::{anyhow, ensure};

use super::{Played, Stage, fine, micros, whole};
use crate::dice::Dice;
use crate::failures::client::{Ask, Conn, End};
use crate::failures::kind::Plain;
use crate::failures::lab::SECOND;
use crate::failures::server::{Server, Setup};
use crate::tap::Tap;

/// Several clients at once.
pub(super) fn play(
    plain: Plain,
    stage: Stage<'_>,
    dice: &mut Dice,
    all: &mut Played,
) -> anyhow::Result<()> {
    if plain == Plain::Localhost {
        return localhost(stage, dice, all);
    }
    let idle = match plain {
        Plain::IdleCloses => Some(Duration::from_secs_f64(dice.scaled(0.2, 3.0))),
        _ => None,
    };
    let setup = Setup { idle, ..Setup::default() };
    let _server = stage.serve(setup)?;
    let second = SocketAddrV4::new(SECOND, stage.port);
    let _other = Server::start(&stage.lab.server, second, setup, stage.diary)?;
    let clients: Vec<Dice> = (0..CLIENTS).map(|it| dice.of("client", it)).collect();
    let results: Vec<anyhow::Result<Played>> = thread::scope(|scope| {
        let one = |mut dice: Dice| {
            scope.spawn(move || {
                let mut played = Played::default();
                thread::sleep(micros(dice.scaled(100.0, 1e6)));
                for _ in 0..dice.between(2, 4) {
                    client(plain, stage, idle, &mut dice, &mut played)?;
                    thread::sleep(micros(dice.scaled(10.0, 200_000.0)));
                }
                Ok(played)
            })
        };
        let threads: Vec<_> = clients.into_iter().map(one).collect();
        let end = |it: thread::ScopedJoinHandle<'_, _>| {
            it.join().unwrap_or_else(|_| Err(anyhow!("a client panicked")))
        };
        threads.into_iter().map(end).collect()
    });
    for played in results {
        all.add(played?);
    }
    Ok(())
}

/// What one client does with one connection, or with some at once.
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn client(
    plain: Plain,
    stage: Stage<'_>,
    idle: Option<Duration>,
    dice: &mut Dice,
    all: &mut Played,
) -> anyhow::Result<()> {
    let count = dice.between(2, 6);
    match plain {
        Plain::Preconnects => {
            let unused: Vec<Conn<'_>> =
                (0..dice.between(1, 3)).map(|_| stage.open()).collect::<anyhow::Result<_>>()?;
            let mut conn = stage.open()?;
            all.some(&mut conn, count, dice)?;
            for it in unused {
                if dice.between(0, 2) == 0 {
                    it.reset()
                } else {
                    it.close()
                };
            }
            conn.close();
        }
        Plain::HealthChecks => {
            for _ in 0..dice.between(1, 3) {
                let check = stage.open()?;
                if dice.between(0, 3) > 0 {
                    check.reset()
                } else {
                    check.close()
                };
                thread::sleep(micros(dice.scaled(1_000.0, 200_000.0)));
            }
            let mut conn = stage.open()?;
            all.some(&mut conn, count, dice)?;
            conn.close();
        }
        Plain::HalfClose => {
            for _ in 0..count {
                let mut conn = stage.open()?;
                let before = dice.between(0, 1);
                all.some(&mut conn, before, dice)?;
                let think = whole(dice.scaled(10.0, 300_000.0));
                let size = whole(dice.scaled(1.0, 30_000.0));
                let script = format!("size={size} think={think}");
                all.well(&mut conn, &Ask { shut: true, ..super::asking(dice, &script, 9_000.0) })?;
                conn.close();
            }
        }
        Plain::ResetAfter => {
            let mut conn = stage.open()?;
            all.some(&mut conn, count, dice)?;
            if dice.between(0, 1) == 0 {
                let pause = whole(dice.scaled(1.0, 300_000.0));
                all.well(&mut conn, &Ask::get(format!("size=50 pause={pause} then=rst")))?;
                thread::sleep(micros(pause as f64));
                stage.settle();
            } else {
                thread::sleep(micros(dice.scaled(1.0, 300_000.0)));
            }
            conn.reset();
        }
        Plain::IdleCloses => {
            let mut conn = stage.open()?;
            for _ in 0..count {
                all.well(&mut conn, &Ask::get(format!("size={}", dice.between(1, 20_000))))?;
            }
            if dice.between(0, 1) == 0 {
                conn.is_closed_within(idle.unwrap_or_default() * 3);
                thread::sleep(micros(dice.scaled(10.0, 1e6)));
            }
            conn.close();
        }
        Plain::CloseDelimited => {
            for _ in 0..count {
                let mut conn = stage.open()?;
                let before = dice.between(0, 1);
                all.some(&mut conn, before, dice)?;
                let size = whole(dice.scaled(1.0, 200_000.0));
                let pause = whole(dice.scaled(1.0, 400_000.0));
                let script = format!("framing=close size={size} pause={pause} then=fin");
                all.well(&mut conn, &Ask::get(script))?;
                conn.close();
            }
        }
        Plain::NoBody => {
            let mut conn = stage.open()?;
            for _ in 0..count * 2 {
                let ask = match dice.between(0, 3) {
                    0 => Ask { method: "HEAD", ..Ask::get("size=5000 sent=0") },
                    1 => Ask { method: "HEAD", ..Ask::get("framing=none") },
                    2 => Ask::get("status=304 framing=none"),
                    _ => Ask { method: "DELETE", ..Ask::get("status=204 framing=none") },
                };
                all.well(&mut conn, &ask)?;
                thread::sleep(micros(dice.scaled(10.0, 50_000.0)));
            }
            conn.close();
        }
        Plain::Events => events(stage, dice, all)?,
        Plain::Eyeballs => eyeballs(stage, dice, all)?,
        Plain::EarlyKept => {
            let mut conn = stage.open()?;
            for _ in 0..count {
                let status = [401, 417, 403][dice.between(0, 2) as usize];
                let script = format!("early status={status} size={}", dice.between(0, 500));
                let body = whole(dice.scaled(100.0, 100_000.0));
                all.well(&mut conn, &Ask { apart: true, ..Ask::post(script, body) })?;
                all.well(&mut conn, &fine(dice))?;
            }
            conn.close();
        }
        _ => {
            let mut conn = stage.open()?;
            for _ in 0..count * 2 {
                all.well(&mut conn, &fine(dice))?;
                let pause = if dice.between(0, 9) == 0 { 2e6 } else { 100_000.0 };
                thread::sleep(micros(dice.scaled(10.0, pause)));
            }
            conn.close();
        }
    }
    Ok(())
}

/// A stream that its client has seen enough of.
fn events(stage: Stage<'_>, dice: &mut Dice, all: &mut Played) -> anyhow::Result<()> {
    for _ in 0..3 {
        let mut conn = stage.open()?;
        let before = dice.between(0, 2);
        all.some(&mut conn, before, dice)?;
        let every = whole(dice.scaled(1_000.0, 200_000.0));
        let patience = stage.rtt * 2 + micros(dice.scaled(50_000.0, 1.5e6));
        let ask = Ask::get(format!("framing=events every={every}")).within(patience);
        let done = conn.ask(&ask);
        ensure!(matches!(done.end, End::TimedOut(bytes) if bytes > 0), "events: {:?}", done.end);
        all.answered += 1;
        if dice.between(0, 3) == 0 {
            conn.reset()
        } else {
            conn.close()
        };
        stage.settle();
    }
    Ok(())
}

/// A second address is tried as well; what comes second is not used.
fn eyeballs(stage: Stage<'_>, dice: &mut Dice, all: &mut Played) -> anyhow::Result<()> {
    for _ in 0..4 {
        let second = SocketAddrV4::new(SECOND, stage.port);
        let pause = micros(dice.scaled(10.0, 30_000.0));
        let resets = dice.between(0, 1) == 0;
        let late = thread::scope(|scope| {
            let late = scope.spawn(move || {
                thread::sleep(pause);
                Conn::open(second, stage.diary)
            });
            let mut conn = stage.open()?;
            let count = dice.between(1, 4);
            all.some(&mut conn, count, dice)?;
            conn.close();
            late.join().map_err(|_| anyhow!("a client panicked"))?
        })?;
        if resets {
            late.reset()
        } else {
            late.close()
        };
    }
    Ok(())
}

/// On one host, with a capture of its loopback interface: `client.pcap`.
fn localhost(stage: Stage<'_>, dice: &mut Dice, all: &mut Played) -> anyhow::Result<()> {
    let host = Namespace::create()?;
    let path = stage.folder.join("client.pcap");
    let port = stage.port;
    let listener = host.run(|| TcpListener::bind(("127.0.0.1", port)))??;
    let tap = Tap::at(&host, "lo", &path)?;
    drop(thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            while let Ok(1..) = stream.read(&mut [0; 4_096]) {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
            }
        }
    }));
    let inside = host.enter()?;
    for _ in 0..60 {
        let six = SocketAddr::from((Ipv6Addr::LOCALHOST, port));
        ensure!(TcpStream::connect(six).is_err(), "::1 answers");
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")?;
        let mut got = Vec::new();
        while !got.ends_with(b"ok") {
            let mut some = [0; 100];
            let len = stream.read(&mut some)?;
            ensure!(len > 0, "no response on 127.0.0.1");
            got.extend(&some[..len]);
        }
        all.answered += 1;
        stream.shutdown(Shutdown::Both)?;
        thread::sleep(micros(dice.scaled(10.0, 100_000.0)));
    }
    drop(inside);
    thread::sleep(Duration::from_millis(100));
    tap.stop()
}

/// Of each case.
const CLIENTS: u64 = 6;
