//! Runs the programs of a case, and collects what failed by what they did and saw.
//!
//! | module | what it provokes |
//! | --- | --- |
//! | `idle` | connections that are used when they are no more |
//! | `exchanges` | requests that the other end does not answer, or not completely |
//! | `connects` | connections that do not come about |
//! | `paths` | packets that vanish |
//! | `tls` | handshakes that fail |
//! | `plain` | nothing: sockets of ours |
//! | `programs` | nothing: programs of others |

mod connects;
mod exchanges;
mod idle;
mod paths;
mod plain;
mod programs;
mod tls;

use std::net::SocketAddrV4;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use ackwise_linux::emulator::Scheduling;
use anyhow::{anyhow, ensure};

use super::client::{Ask, Conn, Done, Refusal};
use super::kind::{Family, Kind, Plain};
use super::lab::Lab;
use super::server::{Server, Setup};
use super::truth::{At, Diary, Failed};
use crate::dice::Dice;
use crate::witness::clock::Nanos;

/// Where a case is played: from a thread in the client's namespace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stage<'a> {
    pub(super) lab: &'a Lab,
    pub(super) port: u16,
    pub(super) rtt: Duration,
    pub(super) diary: &'a Arc<Diary>,
    /// For files of programs.
    pub(super) folder: &'a Path,
}

/// What became of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Played {
    pub(super) answered: u32,
    pub(super) failed: Vec<Failed>,
}

/// Runs a case.
///
/// # Errors
///
/// If what it provokes did not come about: it is no case then.
pub(super) fn play(family: Family, stage: Stage<'_>, mut dice: Dice) -> anyhow::Result<Played> {
    let _scheduling = Scheduling::prefer_round_robin();
    let (mut played, dice) = (Played::default(), &mut dice);
    let all = &mut played;
    match family {
        Family::Fails(kind) => match kind {
            Kind::CloseRace => idle::close_race(stage, dice, all),
            Kind::IgnoredClose => idle::ignored_close(stage, dice, all),
            Kind::IdleFlowDropped => idle::flow_dropped(stage, dice, all),
            Kind::EarlyResponseReset => exchanges::early_reset(stage, dice, all),
            Kind::ClosedUnanswered | Kind::Reset => exchanges::unanswered(kind, stage, dice, all),
            Kind::Truncated => exchanges::truncated(stage, dice, all),
            Kind::RequestCutOff => exchanges::cut_off(stage, dice, all),
            Kind::Abandoned => exchanges::abandoned(stage, dice, all),
            Kind::Silent => paths::silent(stage, dice, all),
            Kind::ConnectRefused => connects::refused(stage, dice, all),
            Kind::ConnectUnanswered => connects::unanswered(stage, dice, all),
            Kind::ConnectAbandoned => connects::abandoned(stage, dice, all),
            Kind::ConnectUnreachable => connects::unreachable(stage, dice, all),
            Kind::AcceptQueueFull => connects::queue_full(stage, dice, all),
            Kind::PathMtuBlackHole => paths::black_hole(stage, dice, all),
            Kind::TimeWaitCollision => connects::time_wait(stage, dice, all),
            Kind::TlsAlert => tls::alert(stage, dice, all),
            Kind::TlsUnfinished => tls::unfinished(stage, dice, all),
        },
        Family::Plain(plain) => match plain {
            Plain::Goaway | Plain::Curl | Plain::Pools | Plain::Proxied => {
                programs::play(plain, stage, dice, all)
            }
            _ => plain::play(plain, stage, dice, all),
        },
    }?;
    // Packets that are on their way belong to the case.
    stage.settle();
    Ok(played)
}

impl<'a> Stage<'a> {
    pub(super) fn address(&self) -> SocketAddrV4 {
        self.lab.server_at(self.port)
    }

    /// One way, in nanoseconds.
    pub(super) fn delay(&self) -> Nanos {
        u64::try_from(self.rtt.as_nanos() / 2).expect("a short path")
    }

    pub(super) fn serve(&self, setup: Setup) -> anyhow::Result<Server> {
        Server::start(&self.lab.server, self.address(), setup, self.diary)
    }

    pub(super) fn open(&self) -> anyhow::Result<Conn<'a>> {
        Conn::open(self.address(), self.diary)
    }

    /// Waits until what was sent has come, and its answer.
    pub(super) fn settle(&self) {
        thread::sleep(self.rtt * 3 / 2 + SETTLE);
    }

    pub(super) fn sleep_until(&self, at: Nanos) {
        thread::sleep(Duration::from_nanos(at.saturating_sub(self.diary.clock.now())));
    }
}

impl Played {
    /// An exchange that has to end well.
    fn well(&mut self, conn: &mut Conn<'_>, ask: &Ask) -> anyhow::Result<Done> {
        let done = conn.ask(ask);
        ensure!(done.end.is_answered(), "{} {}: {:?}", ask.method, ask.script, done.end);
        self.answered += 1;
        Ok(done)
    }

    /// Some of them, with short pauses.
    fn some(&mut self, conn: &mut Conn<'_>, count: u32, dice: &mut Dice) -> anyhow::Result<()> {
        for _ in 0..count {
            self.well(conn, &fine(dice))?;
            thread::sleep(micros(dice.scaled(10.0, 60_000.0)));
        }
        Ok(())
    }

    fn fail(&mut self, kind: Kind, done: &Done, client: At, server: At) {
        let client = client.lasted(done.start(), done.ended);
        let number = Some(done.number);
        self.failed.push(Failed { kind, port: done.port, number, client, server });
    }

    fn fail_connect(&mut self, kind: Kind, refusal: &Refusal, client: At, server: At) {
        let client = client.lasted(refusal.began, refusal.ended);
        self.failed.push(Failed { kind, port: refusal.port, number: None, client, server });
    }

    fn add(&mut self, other: Self) {
        self.answered += other.answered;
        self.failed.extend(other.failed);
    }
}

/// Runs `fails` while up to two other clients have what they ask for.
fn beside<'a>(
    stage: Stage<'a>,
    dice: &mut Dice,
    all: &mut Played,
    mut fails: impl FnMut(&mut Dice, &mut Played) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let others: Vec<Dice> =
        (0..dice.between(0, 2)).map(|it| dice.of("beside", it.into())).collect();
    thread::scope(|scope| {
        let one = |mut dice: Dice| {
            move || -> anyhow::Result<Played> {
                let mut played = Played::default();
                thread::sleep(micros(dice.scaled(100.0, 500_000.0)));
                let mut conn = stage.open()?;
                let count = dice.between(1, 8);
                played.some(&mut conn, count, &mut dice)?;
                conn.close();
                Ok(played)
            }
        };
        let others: Vec<_> = others.into_iter().map(|it| scope.spawn(one(it))).collect();
        let result = fails(dice, all);
        for other in others {
            all.add(other.join().map_err(|_| anyhow!("a client panicked"))??);
        }
        result
    })
}

/// A request that is answered.
fn fine(dice: &mut Dice) -> Ask {
    let size = whole(dice.scaled(1.0, 60_000.0));
    let think = whole(dice.scaled(1.0, 20_000.0));
    let framing = ["length", "length", "chunked"][dice.between(0, 2) as usize];
    let apart = ["", " apart"][dice.between(0, 1) as usize];
    let script = format!("size={size} think={think} framing={framing}{apart}");
    match dice.between(0, 3) {
        0 => Ask {
            apart: dice.between(0, 1) == 0,
            ..Ask::post(script, whole(dice.scaled(1.0, 30_000.0)))
        },
        1 => Ask { method: "PUT", ..Ask::post(script, whole(dice.scaled(1.0, 3_000.0))) },
        _ => Ask::get(script),
    }
}

/// GET without a body, or another method with one.
fn asking(dice: &mut Dice, script: &str, most: f64) -> Ask {
    let body = whole(dice.scaled(1.0, most));
    match dice.between(0, 4) {
        0 => Ask { apart: true, ..Ask::post(script, body) },
        1 => Ask::post(script, body),
        2 => Ask { method: "PUT", ..Ask::post(script, body) },
        3 => Ask { method: "DELETE", ..Ask::get(script) },
        _ => Ask::get(script),
    }
}

fn micros(count: f64) -> Duration {
    Duration::from_secs_f64(count / 1e6)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "drawn, and small")]
fn whole(value: f64) -> usize {
    value as usize
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time")]
fn nanos(span: Duration, share: f64) -> Nanos {
    (span.as_secs_f64() * share * 1e9) as u64
}

/// For threads that are late. Our choice.
const SETTLE: Duration = Duration::from_millis(60);
