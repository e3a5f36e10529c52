//! The report for programs.

use std::{collections::BTreeMap, time::Duration};

use ackwise_capture::{
    analysis::{ConnectionResult, ExchangeResult},
    attribution::Share,
};
use ackwise_cause::Party;
use serde::Serialize;

use super::{
    reading::Explained,
    sentence::sentence,
    servers::{Ends, Server},
    text::Shown,
    totals::{Total, Totals},
};

#[derive(Serialize)]
struct Document {
    summary: String,
    packets: u64,
    segments: u64,
    lost_by_capture: u64,
    /// Packets by why they were left out.
    left_out: BTreeMap<&'static str, u64>,
    joined: Option<Joined>,
    warnings: Vec<String>,
    servers: Vec<ServerFacts>,
    connections: Vec<Connection>,
    exchanges: Vec<Exchange>,
    totals: Vec<CauseTotal>,
}

/// Two captures of the same.
#[derive(Serialize)]
struct Joined {
    clock_offset_ms: f64,
    uncertainty_ms: f64,
    drift_ms: f64,
    packets: [u64; 2],
    connections: u64,
    exchanges: u64,
    alone: u64,
}

#[derive(Serialize)]
struct ServerFacts {
    server: String,
    connections: u64,
    exchanges: u64,
    closed_first: Ends,
    time_wait: Ends,
    reset: u64,
    idle_open: u64,
    idle_open_ms: f64,
    idle_closed: u64,
    idle_closed_ms: f64,
}

#[derive(Serialize)]
struct Connection {
    id: u32,
    client: String,
    server: String,
    protocol: Option<String>,
    exchanges: u32,
    closed_first: Option<&'static str>,
    time_wait: Option<&'static str>,
    reset: bool,
    initial_window_segments: Option<u32>,
    delayed_ack_ms: Option<f64>,
    vantage: &'static str,
    round_trip_ms: f64,
    retransmitted: u32,
    lost_by_capture: u64,
}

#[derive(Serialize)]
struct Exchange {
    connection: u32,
    stream: u32,
    start: f64,
    duration_ms: f64,
    request: Option<String>,
    status: Option<u16>,
    request_bytes: u64,
    response_bytes: u64,
    complete: bool,
    exact: bool,
    packet: u64,
    causes: Vec<Cause>,
}

#[derive(Serialize)]
struct Cause {
    cause: &'static str,
    direction: &'static str,
    party: Option<&'static str>,
    ms: f64,
    times: u32,
    longest_ms: f64,
    confidence: &'static str,
    packets: Vec<u64>,
}

#[derive(Serialize)]
struct CauseTotal {
    over: String,
    of_exchanges: usize,
    #[serde(flatten)]
    total: Total,
    direction: &'static str,
    party: Option<&'static str>,
    ms: f64,
}

/// Everything that is known, as one JSON document. `start` is in seconds since the first packet.
#[must_use]
pub fn json(explained: &Explained, shown: &Shown) -> String {
    let analysis = &explained.analysis;
    let document = Document {
        summary: sentence(analysis),
        packets: explained.packets,
        segments: analysis.segments,
        lost_by_capture: explained.drops.packets(),
        left_out: explained.left_out.iter().map(|(why, count)| (why.name(), count)).collect(),
        joined: explained.joined.as_ref().map(joined),
        warnings: explained.troubles.clone(),
        servers: Server::all(analysis).iter().map(server).collect(),
        connections: analysis.connections.iter().map(connection).collect(),
        exchanges: analysis.exchanges.iter().map(|it| exchange(explained, it)).collect(),
        totals: shown.totals(explained).iter().flat_map(totals).collect(),
    };
    let text = serde_json::to_string_pretty(&document);
    text.expect("the report is strings and finite numbers") + "\n"
}

fn joined(it: &super::Joined) -> Joined {
    let super::Joined { clocks, counts } = it;
    let signed = |nanos: i64| {
        millis(Duration::from_nanos(nanos.unsigned_abs())).copysign(nanos.signum() as f64)
    };
    Joined {
        clock_offset_ms: signed(clocks.ahead),
        uncertainty_ms: millis(clocks.uncertainty),
        drift_ms: signed(clocks.drift),
        packets: clocks.packets,
        connections: counts.connections,
        exchanges: counts.exchanges,
        alone: counts.alone,
    }
}

fn server(it: &Server) -> ServerFacts {
    ServerFacts {
        server: it.address.to_string(),
        connections: it.connections,
        exchanges: it.exchanges,
        closed_first: it.closed_first,
        time_wait: it.time_wait,
        reset: it.reset,
        idle_open: it.idle.open,
        idle_open_ms: millis(it.idle.open_for),
        idle_closed: it.idle.closed,
        idle_closed_ms: millis(it.idle.closed_after),
    }
}

fn connection(it: &ConnectionResult) -> Connection {
    Connection {
        id: it.id,
        client: it.client.to_string(),
        server: it.server.to_string(),
        protocol: it.protocol.map(|protocol| format!("{protocol:?}").to_lowercase()),
        exchanges: it.exchanges,
        closed_first: it.closed_first.map(Party::name),
        time_wait: it.time_wait.map(Party::name),
        reset: it.reset,
        initial_window_segments: it.initial_window,
        delayed_ack_ms: it.delayed_ack.map(millis),
        vantage: it.vantage.name(),
        round_trip_ms: millis(it.round_trip),
        retransmitted: it.repeated.iter().sum(),
        lost_by_capture: it.lost_by_capture,
    }
}

fn exchange(explained: &Explained, it: &ExchangeResult) -> Exchange {
    Exchange {
        connection: it.connection,
        stream: it.stream,
        start: it.start.saturating_since(explained.analysis.first).as_secs_f64(),
        duration_ms: millis(it.duration),
        request: it.request.as_deref().map(str::to_owned),
        status: it.status,
        request_bytes: it.bytes[0],
        response_bytes: it.bytes[1],
        complete: it.complete,
        exact: it.exact,
        packet: it.packet,
        causes: it.shares.iter().map(cause).collect(),
    }
}

fn cause(share: Share) -> Cause {
    Cause {
        cause: share.cause.name(),
        direction: share.direction.name(),
        party: share.cause.party(share.direction).map(Party::name),
        ms: millis(share.span),
        times: share.times,
        longest_ms: millis(share.longest),
        confidence: share.confidence.name(),
        packets: share.evidence.packets().collect(),
    }
}

fn totals(totals: &Totals) -> Vec<CauseTotal> {
    let one = |total: &Total| CauseTotal {
        over: totals.over.name(),
        of_exchanges: totals.exchanges,
        total: *total,
        direction: total.direction.name(),
        party: total.party().map(Party::name),
        ms: millis(total.span),
    };
    totals.causes.iter().map(one).collect()
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
