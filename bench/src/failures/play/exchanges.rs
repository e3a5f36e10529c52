//! Requests that the other end does not answer, or not completely.

use std::io::ErrorKind;
use std::thread;
use std::time::Duration;

use anyhow::ensure;

use super::{Played, Stage, asking, beside, micros, nanos, programs, whole};
use crate::dice::Dice;
use crate::failures::client::{Ask, Conn, Done, End};
use crate::failures::kind::Kind;
use crate::failures::server::{Server, Setup};
use crate::failures::truth::At;
use crate::witness::clock::Nanos;

/// The server reads the request, and then closes or resets the connection.
pub(super) fn unanswered(
    kind: Kind,
    stage: Stage<'_>,
    dice: &mut Dice,
    all: &mut Played,
) -> anyhow::Result<()> {
    let server = stage.serve(Setup::default())?;
    beside(stage, dice, all, |dice, all| {
        for _ in 0..dice.between(1, 3) {
            let think = whole(dice.scaled(10.0, 800_000.0));
            let how = if kind == Kind::Reset { "rst" } else { "fin" };
            let script = format!("end=none think={think} then={how}");
            if dice.between(0, 3) == 0 {
                let code = if kind == Kind::Reset { 56 } else { 52 };
                by_curl(kind, stage, dice, all, &script, code)?;
                continue;
            }
            let mut conn = used(stage, dice, all)?;
            let done = conn.ask(&asking(dice, &script, 40_000.0));
            let as_meant = match kind {
                Kind::Reset => matches!(done.end, End::Error(ErrorKind::ConnectionReset, 0)),
                _ => done.end == End::Eof(0),
            };
            ensure!(as_meant, "{kind:?}: {:?}", done.end);
            at_both(kind, stage, &server, all, &done);
            next(dice, conn);
        }
        Ok(())
    })
}

/// The response breaks off, by a FIN or an RST.
pub(super) fn truncated(stage: Stage<'_>, dice: &mut Dice, all: &mut Played) -> anyhow::Result<()> {
    let server = stage.serve(Setup::default())?;
    beside(stage, dice, all, |dice, all| {
        for _ in 0..dice.between(1, 3) {
            let size = whole(dice.scaled(100.0, 200_000.0));
            let sent = whole(dice.unit() * size as f64 * 0.98);
            let framing = ["length", "length", "chunked"][dice.between(0, 2) as usize];
            let how = ["fin", "rst"][dice.between(0, 1) as usize];
            let [think, pause] = [200_000.0, 300_000.0].map(|it| whole(dice.scaled(1.0, it)));
            let script = format!(
                "size={size} sent={sent} framing={framing} think={think} pause={pause} then={how}"
            );
            if how == "fin" && framing == "length" && dice.between(0, 2) == 0 {
                by_curl(Kind::Truncated, stage, dice, all, &script, 18)?;
                continue;
            }
            let mut conn = used(stage, dice, all)?;
            let done = conn.ask(&asking(dice, &script, 10_000.0));
            ensure!(matches!(done.end, End::Eof(_) | End::Error(..)), "truncated: {:?}", done.end);
            at_both(Kind::Truncated, stage, &server, all, &done);
            next(dice, conn);
        }
        Ok(())
    })
}

/// One end gives up within the request.
pub(super) fn cut_off(stage: Stage<'_>, dice: &mut Dice, all: &mut Played) -> anyhow::Result<()> {
    let server = stage.serve(Setup::default())?;
    beside(stage, dice, all, |dice, all| {
        for _ in 0..dice.between(1, 2) {
            let body = whole(dice.scaled(500.0, 60_000.0));
            let part = 1 + whole(dice.unit() * body as f64 * 0.9);
            let think = whole(dice.scaled(10.0, 500_000.0));
            let mut conn = used(stage, dice, all)?;
            let apart = dice.between(0, 1) == 0;
            let by = dice.between(0, 3);
            if by < 2 {
                // By the client, which has waited for its own source of data.
                let ask = Ask { only: Some(part), apart, ..Ask::post("size=10", body) };
                let patience = stage.rtt + micros(dice.scaled(1_000.0, 800_000.0));
                let mut done = conn.ask(&ask.within(patience));
                ensure!(matches!(done.end, End::TimedOut(0)), "cut off: {:?}", done.end);
                done.ended = if by == 0 { conn.close() } else { conn.reset() };
                stage.settle();
                at_both(Kind::RequestCutOff, stage, &server, all, &done);
                continue;
            }
            // By the server, which has read all that is there.
            let how = if by == 2 { "fin" } else { "rst" };
            let script = format!("read={part} end=none think={think} then={how}");
            let ask = Ask { only: Some(part), apart, ..Ask::post(script, body) };
            let done = conn.ask(&ask);
            ensure!(!done.end.is_answered(), "cut off: {:?}", done.end);
            at_both(Kind::RequestCutOff, stage, &server, all, &done);
            next(dice, conn);
        }
        Ok(())
    })
}

/// The client loses patience before the response begins.
pub(super) fn abandoned(stage: Stage<'_>, dice: &mut Dice, all: &mut Played) -> anyhow::Result<()> {
    let server = stage.serve(Setup::default())?;
    beside(stage, dice, all, |dice, all| {
        for _ in 0..dice.between(1, 3) {
            let patience = stage.rtt + Duration::from_secs_f64(dice.scaled(0.02, 4.0));
            let late = patience + stage.rtt + Duration::from_secs_f64(dice.scaled(0.01, 1.0));
            let answers = dice.between(0, 1) == 0;
            let script = match answers {
                true => format!("size=300 think={}", late.as_micros()),
                false => "end=none then=hang".to_owned(),
            };
            if dice.between(0, 3) == 0 {
                // curl counts from before its connect.
                let body = whole(dice.scaled(1.0, 2_000.0));
                let (code, done) =
                    programs::curl(stage, &script, Some(patience + stage.rtt), body)?;
                ensure!(code == 28, "curl ended with {code} (expected 28)");
                all.fail(Kind::Abandoned, &done, At::known(), At::known());
                if answers {
                    thread::sleep(late.saturating_sub(patience) + stage.rtt);
                }
                continue;
            }
            let mut conn = used(stage, dice, all)?;
            let mut done = conn.ask(&asking(dice, &script, 10_000.0).within(patience));
            ensure!(done.end == End::TimedOut(0), "abandoned: {:?}", done.end);
            done.ended = if dice.between(0, 3) > 0 { conn.close() } else { conn.reset() };
            // The server's program may not look: its kernel knows one way later.
            let first = arrived(stage, &server, &done).unwrap_or_default();
            let gone = done.ended + stage.delay();
            all.fail(Kind::Abandoned, &done, At::known(), At::known().lasted(first, gone));
            if answers {
                thread::sleep(late.saturating_sub(patience) + stage.rtt);
            }
        }
        Ok(())
    })
}

/// The server answers before it has read the request, and closes: its kernel resets.
pub(super) fn early_reset(
    stage: Stage<'_>,
    dice: &mut Dice,
    all: &mut Played,
) -> anyhow::Result<()> {
    let server = stage.serve(Setup::default())?;
    beside(stage, dice, all, |dice, all| {
        for _ in 0..dice.between(1, 2) {
            // More than a server's kernel takes that does not read.
            let body = whole(dice.scaled(2e6, 6e6));
            let status = [413, 401, 403, 503][dice.between(0, 3) as usize];
            let size = whole(dice.scaled(1.0, 900.0));
            let pause = whole(dice.scaled(1.0, 30_000.0));
            let script = format!("early read=0 status={status} size={size} pause={pause} then=fin");
            let mut conn = used(stage, dice, all)?;
            let apart = dice.between(0, 1) == 0;
            let done = conn.ask(&Ask { apart, ..Ask::post(script, body) });
            at_both(Kind::EarlyResponseReset, stage, &server, all, &done);
            next(dice, conn);
        }
        Ok(())
    })
}

/// A connection with none to three exchanges.
fn used<'a>(stage: Stage<'a>, dice: &mut Dice, all: &mut Played) -> anyhow::Result<Conn<'a>> {
    let mut conn = stage.open()?;
    let count = dice.between(0, 3);
    all.some(&mut conn, count, dice)?;
    Ok(conn)
}

/// Known at both ends; at the server, from the first byte to its own end of it.
fn at_both(kind: Kind, stage: Stage<'_>, server: &Server, all: &mut Played, done: &Done) {
    stage.settle();
    let served = server.of(done.port, done.number);
    let at = match (arrived(stage, server, done), served.over) {
        (Some(first), Some(over)) => At::known().lasted(first, over),
        _ => At::known(),
    };
    all.fail(kind, done, At::known(), at);
}

/// curl's exit code is the client's truth, and its time.
fn by_curl(
    kind: Kind,
    stage: Stage<'_>,
    dice: &mut Dice,
    all: &mut Played,
    script: &str,
    expected: i32,
) -> anyhow::Result<()> {
    let body = if dice.between(0, 1) == 0 { 0 } else { whole(dice.scaled(1.0, 5_000.0)) };
    let (code, done) = programs::curl(stage, script, None, body)?;
    ensure!(code == expected, "curl ended with {code} (expected {expected})");
    all.fail(kind, &done, At::known(), At::known());
    Ok(())
}

/// When the request began to arrive, or the connection that was opened for it.
fn arrived(stage: Stage<'_>, server: &Server, done: &Done) -> Option<Nanos> {
    match done.number {
        0 => Some(done.opened + stage.delay()),
        number => server.of(done.port, number).first,
    }
}

/// The connection is closed now or a little later.
fn next(dice: &mut Dice, conn: Conn<'_>) {
    thread::sleep(Duration::from_nanos(nanos(Duration::from_millis(200), dice.unit())));
    conn.close();
}
