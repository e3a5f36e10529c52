//! The path on the kernel: the experiment, played as by `ackwise run --on kernel`, and a tracer beside it.

use std::net::SocketAddrV4;
use std::time::Duration;

use ackwise_live::{Limits, Played, World, play};
use anyhow::Context;

use super::experiment;
use super::flow::{End, Flow, OnWire};
use crate::witness::clock::Clock;
use crate::witness::trace::{Event, Tracer, What};

/// One run, and why it may be wrong.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) flow: Flow,
    /// What disturbed it; `None` if nothing did.
    pub(super) disturbed: Option<String>,
}

/// Runs an experiment of one connection, with the server on `port`, which no other run uses at the same time.
pub(super) fn run(toml: &str, port: u16) -> anyhow::Result<Ran> {
    let scenario = experiment::scenario(toml, REAL, 0)?;
    let clock = Clock::start();
    let tracer = Tracer::start(port)?;
    let played =
        play(&scenario, World::Kernel, &Limits { record: true, port, ..Limits::default() })?;
    let events = tracer.stop()?;
    let flow = flow(&played, &events, port, clock)?;
    Ok(Ran { flow, disturbed: played.disturbed })
}

pub(super) fn flow(
    played: &Played,
    events: &[Event],
    port: u16,
    clock: Clock,
) -> anyhow::Result<Flow> {
    let at = |since: Duration| clock.nanos(played.began + since);
    let segments = || {
        played.recorded.iter().map(|record| {
            let from = if record.from.port() == port { End::Server } else { End::Client };
            let (syn, seq, ack, len) = (record.syn, record.seq, record.ack, record.data);
            (record, OnWire { from, syn, seq, ack, len })
        })
    };
    let mut flow = Flow::default();
    let mut server = None;
    for (record, packet) in segments().filter(|(_, packet)| packet.syn) {
        flow.note(&packet);
        server =
            server.or_else(|| [record.from, record.to].into_iter().find(|it| it.port() == port));
    }
    let server: SocketAddrV4 = server.context("the client sent no SYN")?;
    let (mut sent, mut arrived, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
    for (record, packet) in segments() {
        sent.push(flow.packet(&packet, at(record.at)));
        arrived.extend(record.delivered.map(|since| flow.packet(&packet, at(since))));
        if record.dropped {
            dropped.push(flow.packet(&packet, at(record.at)));
        }
    }
    arrived.sort_by_key(|packet| packet.at);
    let windows = events.iter().filter_map(|event| match event.what {
        What::Probe { snd_cwnd, ssthresh } if event.local == server => {
            Some(((event.at, snd_cwnd), (event.at, ssthresh)))
        }
        _ => None,
    });
    (flow.sent, flow.arrived, flow.dropped) = (sent, arrived, dropped);
    (flow.windows, flow.thresholds) = windows.unzip();
    Ok(flow)
}

/// A real program takes time without being told to, and a transfer that hangs should not keep the others
/// waiting (our choice: longer than any transfer drawn takes).
const REAL: &[&str] = &["application.web.behaviour.think=\"0 ms\"", "duration=\"30 s\""];
