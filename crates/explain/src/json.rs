//! The report for programs.

use std::{collections::BTreeMap, time::Duration};

use ackwise_capture::{
    analysis::{ConnectionResult, ExchangeResult},
    attribution::Share,
};
use ackwise_cause::{Direction, Party};
use ackwise_report::format::{self, Format};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::{
    reading::Explained,
    sentence::sentence,
    servers::{Ends, Server},
    text::ReportOptions,
    totals::{Total, Totals},
};

/// What `ackwise explain --json` prints.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Document {
    /// The conclusion, in one sentence.
    summary: String,
    /// Packets read.
    packets: u64,
    /// TCP segments among them.
    segments: u64,
    /// Packets that the capture itself lost.
    lost_by_capture: u64,
    /// Packets that were not analysed, by reason.
    left_out: BTreeMap<&'static str, u64>,
    /// How the two captures of `--pair` fit together.
    joined: Option<Joined>,
    /// What was wrong with the capture.
    warnings: Vec<String>,
    /// Each server, that with the most connections first.
    servers: Vec<ServerFacts>,
    /// Each connection.
    connections: Vec<ConnectionRow>,
    /// Each exchange of a request and a response.
    exchanges: Vec<ExchangeRow>,
    /// The time of several exchanges by cause.
    totals: Vec<CauseTotal>,
}

impl format::Document for Document {
    const FORMAT: Format = Format::first("ackwise-explain");
    const ABOUT: &'static str =
        "What `ackwise explain --json` prints: where each millisecond of each exchange went.";
}

/// Two captures of the same connections.
#[derive(Debug, JsonSchema, Serialize)]
struct Joined {
    /// How far the server's clock is ahead of the client's.
    clock_offset_ms: f64,
    /// How far that may be wrong.
    uncertainty_ms: f64,
    /// How much the clocks drifted apart during the capture.
    drift_ms: f64,
    /// Packets in both captures, to the server and to the client.
    packets: [u64; 2],
    /// Connections in both.
    connections: u64,
    /// Exchanges explained from both.
    exchanges: u64,
    /// Exchanges explained from the client's capture alone.
    alone: u64,
}

/// All connections to one server.
#[derive(Debug, JsonSchema, Serialize)]
struct ServerFacts {
    /// Its address and port.
    server: String,
    /// How many there are.
    connections: u64,
    /// Exchanges on them.
    exchanges: u64,
    /// Which end sent the first FIN or RST.
    closed_first: Ends,
    /// Which end held TIME-WAIT.
    time_wait: Ends,
    /// Connections that an RST ended.
    reset: u64,
    /// Connections that were idle for a second or more when the capture ended.
    idle_open: u64,
    /// The longest such time.
    idle_open_ms: f64,
    /// Connections that were closed after being idle for a second or more.
    idle_closed: u64,
    /// The longest such time.
    idle_closed_ms: f64,
}

/// One connection.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Connection")]
struct ConnectionRow {
    /// From 0, in the order of their first packets.
    id: u32,
    /// Address and port.
    client: String,
    /// Address and port.
    server: String,
    /// The protocol over TCP; null if it was not recognised.
    protocol: Option<String>,
    /// Exchanges on it.
    exchanges: u32,
    /// The end that sent the first FIN or RST.
    #[schemars(schema_with = "parties")]
    closed_first: Option<&'static str>,
    /// The end that held TIME-WAIT.
    #[schemars(schema_with = "parties")]
    time_wait: Option<&'static str>,
    /// Whether an RST ended it.
    reset: bool,
    /// Segments of the server's first flight, if its window limited it.
    initial_window_segments: Option<u32>,
    /// The client's delay of ACKs: the median of the last few that the server waited for.
    delayed_ack_ms: Option<f64>,
    /// Where it was captured.
    vantage: &'static str,
    /// The round-trip time.
    round_trip_ms: f64,
    /// Segments sent again, by both ends.
    retransmitted: u32,
    /// Packets of it that the capture lost.
    lost_by_capture: u64,
}

/// One request and its response.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Exchange")]
struct ExchangeRow {
    /// The `id` of its connection.
    connection: u32,
    /// Its HTTP/2 stream.
    stream: u32,
    /// Seconds since the first packet of the capture.
    start: f64,
    /// From its first byte to its last.
    duration_ms: f64,
    /// Method and path, without the query, if they were seen.
    request: Option<String>,
    /// The status code, if it was seen.
    status: Option<u16>,
    /// Bytes of the request.
    request_bytes: u64,
    /// Bytes of the response.
    response_bytes: u64,
    /// Whether the response was seen to its end.
    complete: bool,
    /// Whether its ends come from the protocol's framing, not from turns.
    exact: bool,
    /// The number of the packet that it begins with.
    packet: u64,
    /// The parts of its duration.
    causes: Vec<Cause>,
}

/// What an exchange owes to one cause in one direction.
#[derive(Debug, JsonSchema, Serialize)]
struct Cause {
    /// The cause.
    #[schemars(schema_with = "causes")]
    cause: &'static str,
    /// The direction of the data that was waited for.
    #[schemars(schema_with = "directions")]
    direction: &'static str,
    /// Who can change something; null if nobody can.
    #[schemars(schema_with = "parties")]
    party: Option<&'static str>,
    /// Its time.
    ms: f64,
    /// How many waits that was.
    times: u32,
    /// The longest of them.
    longest_ms: f64,
    /// How sure that is.
    confidence: &'static str,
    /// The numbers of the packets that show the longest.
    packets: Vec<u64>,
}

/// What several exchanges owe to one cause in one direction.
#[derive(Debug, JsonSchema, Serialize)]
struct CauseTotal {
    /// Which exchanges: `all`, the slowest (`p95`), `slower-than-100ms`.
    over: String,
    /// How many those are.
    of_exchanges: usize,
    /// The cause.
    #[schemars(schema_with = "causes")]
    cause: &'static str,
    /// How many of them owe something to it.
    exchanges: usize,
    /// How many waits that was.
    times: u64,
    /// The direction of the data that was waited for.
    #[schemars(schema_with = "directions")]
    direction: &'static str,
    /// Who can change something; null if nobody can.
    #[schemars(schema_with = "parties")]
    party: Option<&'static str>,
    /// Its time in all of them.
    ms: f64,
}

fn causes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ackwise_cause::Cause::ALL.map(|cause| cause.name()) })
}

fn directions(_: &mut SchemaGenerator) -> Schema {
    let names = [Direction::ToServer, Direction::ToClient].map(Direction::name);
    json_schema!({ "type": "string", "enum": names })
}

fn parties(_: &mut SchemaGenerator) -> Schema {
    let [client, server, path] = [Party::Client, Party::Server, Party::Path].map(Party::name);
    json_schema!({ "type": ["string", "null"], "enum": [client, server, path, null] })
}

/// Everything that is known, as one JSON document. `start` is in seconds since the first packet.
#[must_use]
pub fn json(explained: &Explained, options: &ReportOptions) -> String {
    let analysis = &explained.analysis;
    let document = Document {
        summary: sentence(analysis),
        packets: explained.packets,
        segments: analysis.segments,
        lost_by_capture: explained.drops.packets(),
        left_out: explained.left_out.iter().map(|(why, count)| (why.name(), count)).collect(),
        joined: explained.joined.as_ref().map(joined),
        warnings: explained.warnings.clone(),
        servers: Server::all(analysis).iter().map(server).collect(),
        connections: analysis.connections.iter().map(connection).collect(),
        exchanges: analysis.exchanges.iter().map(|it| exchange(explained, it)).collect(),
        totals: options.totals(explained).iter().flat_map(totals).collect(),
    };
    format::to_json(&document)
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

fn connection(it: &ConnectionResult) -> ConnectionRow {
    ConnectionRow {
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

fn exchange(explained: &Explained, it: &ExchangeResult) -> ExchangeRow {
    ExchangeRow {
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
        over: totals.scope.name(),
        of_exchanges: totals.exchanges,
        cause: total.cause.name(),
        exchanges: total.exchanges,
        times: total.times,
        direction: total.direction.name(),
        party: total.party().map(Party::name),
        ms: millis(total.span),
    };
    totals.causes.iter().map(one).collect()
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
