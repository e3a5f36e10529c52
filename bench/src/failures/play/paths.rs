//! Packets that vanish on the path.

use std::thread;
use std::time::Duration;

use anyhow::ensure;

use super::{Played, Stage, asking, beside, micros, tls, whole};
use crate::dice::Dice;
use crate::failures::client::{Ask, Before, Conn, End};
use crate::failures::kind::Kind;
use crate::failures::server::Setup;
use crate::failures::truth::At;

/// The server's host goes away, and does not come back.
pub(super) fn silent(stage: Stage<'_>, dice: &mut Dice, all: &mut Played) -> anyhow::Result<()> {
    let _server = stage.serve(Setup::default())?;
    beside(stage, dice, all, |_, _| Ok(()))?;
    let mut conns = Vec::new();
    for _ in 0..dice.between(1, 2) {
        let mut conn = stage.open()?;
        let count = dice.between(1, 3);
        all.some(&mut conn, count, dice)?;
        conns.push(conn);
    }
    stage.settle();
    stage.lab.rule(&format!("tcp dport {} drop", stage.port))?;
    stage.lab.rule(&format!("tcp sport {} drop", stage.port))?;
    thread::sleep(micros(dice.scaled(1_000.0, 2e6)));
    for mut conn in conns {
        let patience = Duration::from_secs_f64(dice.scaled(2.2, 6.0));
        let done = conn.ask(&asking(dice, "size=20", 5_000.0).within(patience));
        ensure!(done.end == End::TimedOut(0), "silent: {:?}", done.end);
        all.fail(Kind::Silent, &done, At::known(), At::hidden());
        conn.close();
    }
    if dice.between(0, 1) == 0 {
        let within = Some(Duration::from_secs_f64(dice.scaled(1.3, 3.0)));
        let before = Before { within, ..Before::default() };
        if let Err(refusal) = Conn::attempt(stage.address(), before, stage.diary)? {
            all.fail_connect(Kind::ConnectUnanswered, &refusal, At::known(), At::hidden());
        }
    }
    Ok(())
}

/// Packets above a size vanish without a message, toward one of the ends.
pub(super) fn black_hole(
    stage: Stage<'_>,
    dice: &mut Dice,
    all: &mut Played,
) -> anyhow::Result<()> {
    let limit = [1_280, 1_400, 1_420, 1_450, 1_492][dice.between(0, 4) as usize];
    let port = stage.port;
    let to_server = format!("tcp dport {port} meta length > {limit} drop");
    let to_client = format!("tcp sport {port} meta length > {limit} drop");
    let patience = Duration::from_secs_f64(dice.scaled(3.5, 8.0));
    let way = dice.between(0, 2);
    if way == 0 {
        stage.lab.rule(&to_client)?;
        return tls::black_hole(stage, dice, all, patience);
    }
    stage.lab.rule(if way == 1 { &to_server } else { &to_client })?;
    let _server = stage.serve(Setup::default())?;
    for _ in 0..dice.between(1, 2) {
        let mut conn = stage.open()?;
        for _ in 0..dice.between(0, 2) {
            all.well(&mut conn, &Ask::get("size=200"))?;
        }
        // Short: the end of it is a smaller packet, and in the first window.
        let is_short = dice.between(0, 2) > 0;
        let size = if is_short { dice.scaled(2_000.0, 13_000.0) } else { dice.scaled(3e4, 3e5) };
        let apart = dice.between(0, 1) == 0;
        let ask = match way {
            1 => Ask { apart, ..Ask::post("size=100", whole(size)) },
            _ if apart => Ask::get(format!("size={} apart", whole(size))),
            _ => Ask::get(format!("size={}", whole(size))),
        };
        let done = conn.ask(&ask.within(patience));
        ensure!(matches!(done.end, End::TimedOut(_)), "black hole: {:?}", done.end);
        // The end that sends knows if anything smaller is acknowledged, and the other one if there is a hole.
        let sends = if is_short || apart { At::known() } else { At::hidden() };
        let receives = if is_short { At::known() } else { At::hidden() };
        let [client, server] = if way == 1 { [sends, receives] } else { [receives, sends] };
        all.fail(Kind::PathMtuBlackHole, &done, client, server);
        conn.close();
    }
    Ok(())
}
