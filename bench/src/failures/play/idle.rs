//! A connection is idle, and then it is used although an end or the path has given it up.

use std::thread;
use std::time::Duration;

use super::{Played, Stage, asking, beside, micros, nanos, programs};
use crate::dice::Dice;
use crate::failures::client::{Conn, Done};
use crate::failures::kind::Kind;
use crate::failures::server::{Server, Setup};
use crate::failures::truth::At;

/// The request leaves while the server's FIN is on its way, or just before the server closes.
pub(super) fn close_race(
    stage: Stage<'_>,
    dice: &mut Dice,
    all: &mut Played,
) -> anyhow::Result<()> {
    let least = 0.25_f64.max(2.0 * stage.rtt.as_secs_f64());
    let idle = Duration::from_secs_f64(dice.scaled(least, 8.0));
    let server = stage.serve(Setup { idle: Some(idle), ..Setup::default() })?;
    let closes_others = dice.between(0, 1) == 0;
    beside(stage, dice, all, |dice, all| {
        let unused = closes_others.then(|| one_exchange(stage, dice, all)).transpose()?;
        for _ in 0..dice.between(1, 2) {
            let mut conn = one_exchange(stage, dice, all)?;
            let number = u32::try_from(server.served(conn.port).len())? - 1;
            let answered = server.of(conn.port, number).answered.unwrap_or_default();
            // It arrives between the close and one round trip later.
            let when = 0.12 + 0.76 * dice.unit();
            stage.sleep_until(answered + nanos(idle, 1.0) + nanos(stage.rtt, when - 0.5));
            reuse(stage, dice, all, &mut conn, &server)?;
            again(stage, dice, all, conn)?;
        }
        if let Some(conn) = unused {
            conn.is_closed_within(idle * 2);
            conn.close();
        }
        Ok(())
    })
}

/// The client uses a connection that the server closed a while ago.
pub(super) fn ignored_close(
    stage: Stage<'_>,
    dice: &mut Dice,
    all: &mut Played,
) -> anyhow::Result<()> {
    if dice.between(0, 3) == 0 {
        let done = programs::ignored_close(stage, dice)?;
        all.answered += 1;
        all.fail(Kind::IgnoredClose, &done, At::known(), At::known());
        return Ok(());
    }
    let idle = Duration::from_secs_f64(dice.scaled(0.2, 6.0));
    let server = stage.serve(Setup { idle: Some(idle), ..Setup::default() })?;
    beside(stage, dice, all, |dice, all| {
        for _ in 0..dice.between(1, 2) {
            let mut conn = one_exchange(stage, dice, all)?;
            // Long before this it would have closed.
            conn.is_closed_within(Duration::from_secs(20));
            thread::sleep(Duration::from_secs_f64(dice.scaled(0.005, 2.0)));
            reuse(stage, dice, all, &mut conn, &server)?;
            again(stage, dice, all, conn)?;
        }
        Ok(())
    })
}

fn one_exchange<'a>(
    stage: Stage<'a>,
    dice: &mut Dice,
    all: &mut Played,
) -> anyhow::Result<Conn<'a>> {
    let mut conn = stage.open()?;
    for _ in 0..dice.between(0, 2) {
        all.well(&mut conn, &super::fine(dice))?;
    }
    all.well(&mut conn, &super::fine(dice))?;
    Ok(conn)
}

/// Asks once more, and says by both clocks and the path's delay what that was.
fn reuse(
    stage: Stage<'_>,
    dice: &mut Dice,
    all: &mut Played,
    conn: &mut Conn<'_>,
    server: &Server,
) -> anyhow::Result<()> {
    let ask = asking(dice, "size=20", 5_000.0);
    let done = conn.ask(&ask);
    stage.settle();
    if done.end.is_answered() {
        all.answered += 1;
        return Ok(());
    }
    let closed = server.served(conn.port).last().and_then(|it| it.over).unwrap_or_default();
    match crossing(&done, closed, stage.delay()) {
        Crossing::Race => all.fail(Kind::CloseRace, &done, At::known(), At::known()),
        Crossing::Ignored => all.fail(Kind::IgnoredClose, &done, At::known(), At::known()),
        Crossing::Unclear => all.fail(Kind::CloseRace, &done, At::hidden(), At::hidden()),
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Crossing {
    Race,
    Ignored,
    Unclear,
}

fn crossing(done: &Done, closed: u64, delay: u64) -> Crossing {
    let arrives = closed + delay;
    if done.began + CLEAR < arrives && done.began + delay > closed + CLEAR {
        Crossing::Race
    } else if done.began > arrives + 2 * CLEAR {
        Crossing::Ignored
    } else {
        Crossing::Unclear
    }
}

/// Mostly, the client repeats the request on a new connection.
fn again(
    stage: Stage<'_>,
    dice: &mut Dice,
    all: &mut Played,
    conn: Conn<'_>,
) -> anyhow::Result<()> {
    if dice.between(0, 3) > 0 {
        let mut other = stage.open()?;
        all.well(&mut other, &super::fine(dice))?;
        other.close();
    }
    conn.close();
    Ok(())
}

/// The path forgets a flow while it is idle; a new one works.
pub(super) fn flow_dropped(
    stage: Stage<'_>,
    dice: &mut Dice,
    all: &mut Played,
) -> anyhow::Result<()> {
    let _server = stage.serve(Setup::default())?;
    beside(stage, dice, all, |dice, all| {
        let mut conn = one_exchange(stage, dice, all)?;
        thread::sleep(Duration::from_secs_f64(dice.scaled(0.2, 6.0)) / 2);
        let [own, port] = [conn.port, stage.port];
        let ways = dice.between(0, 2);
        if ways != 1 {
            stage.lab.rule(&format!("tcp sport {own} tcp dport {port} drop"))?;
        }
        if ways != 0 {
            stage.lab.rule(&format!("tcp dport {own} tcp sport {port} drop"))?;
        }
        thread::sleep(Duration::from_secs_f64(dice.scaled(0.2, 6.0)) / 2);
        // Enough for two repetitions on any of our paths.
        let patience = Duration::from_secs_f64(dice.scaled(2.2, 7.0));
        let done = conn.ask(&asking(dice, "size=20", 5_000.0).within(patience));
        // At the server, nothing is seen of what was dropped before it.
        all.fail(Kind::IdleFlowDropped, &done, At::known(), At::hidden());
        conn.close();
        thread::sleep(micros(dice.scaled(10.0, 500_000.0)));
        let mut other = stage.open()?;
        all.some(&mut other, 1, dice)?;
        other.close();
        Ok(())
    })
}

/// For a thread's way to the wire. Our choice.
const CLEAR: u64 = 500_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failures::client::End;

    #[test]
    fn a_request_crosses_a_close_for_one_round_trip() {
        let at = |began: u64| {
            let done =
                Done { port: 1, number: 1, opened: 0, began, ended: began, end: End::Eof(0) };
            crossing(&done, 100_000_000, 10_000_000)
        };
        assert_eq!(at(89_000_000), Crossing::Unclear);
        assert_eq!(at(91_000_000), Crossing::Race);
        assert_eq!(at(109_000_000), Crossing::Race);
        assert_eq!(at(109_900_000), Crossing::Unclear);
        assert_eq!(at(112_000_000), Crossing::Ignored);
    }
}
