//! The report for programs.

mod exchange_row;
mod failure_row;
mod grpc_row;
mod hop_row;
mod joined;
mod limits;
mod pacing_row;
mod path_row;
mod rows;
mod server_facts;
mod tunnel_row;

use std::{
    collections::BTreeMap,
    io::{self, Write},
    time::Duration,
};

use ackwise_capture::{
    analysis::{
        AdvertisedWindows, Analysis, ConnectionResult, HeldRequests, RoundTripTimes, TimeWaitRule,
    },
    attribution::Confidence,
    quality::DirectionQuality,
};
use ackwise_cause::{Direction, Party};
use ackwise_text::format::{self, Format};
use exchange_row::ExchangeRow;
use failure_row::FailureRow;
use grpc_row::GrpcRow;
use hop_row::HopRow;
use joined::Joined;
use limits::{NotListed, ReachedLimit};
use pacing_row::PacingRow;
use path_row::PathRow;
use rows::Rows;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use server_facts::ServerFacts;
use tunnel_row::TunnelRow;

use super::{
    arrival::Unarrived,
    clock_time::utc,
    connections::{duration, offer},
    decryption,
    failures::{Failure, Key},
    grpc::Statuses,
    hops::{Fronts, Hop},
    paths::PathGroup,
    quality::CaptureQuality,
    reading::Explained,
    sentence::of_totals,
    servers::Server,
    shown::ReportOptions,
    totals::{Total, Totals, TotalsScope},
};

/// What `ackwise explain --json` prints.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Document<'a> {
    /// The summary, as in the text report.
    summary: String,
    /// How much of its connections the capture has.
    quality: CaptureQuality,
    /// When the first TCP segment was captured, in UTC (RFC 3339): `start` counts from then. Null if there
    /// is none.
    first_packet_time: Option<String>,
    /// Number of packets read.
    packets: u64,
    /// Number of TCP segments among them.
    segments: u64,
    /// Number of packets that the capture is missing, as its file (pcapng) or the kernel (live) reports.
    lost_by_capture: u64,
    /// Number of packets that were not analysed, by reason (docs/explain/json.md lists the reasons).
    left_out: BTreeMap<&'static str, u64>,
    /// How the two captures of `--pair` were joined; null without `--pair`.
    joined: Option<Joined>,
    /// Of exchanges captured away from their clients: the sum of their `acknowledged_after_ms`; null if there
    /// are none.
    until_acknowledged_ms: Option<f64>,
    /// Problems with the capture, such as damage or missing packets.
    warnings: Vec<String>,
    /// All servers, those with the most connections first.
    servers: Vec<ServerFacts>,
    /// All connections.
    #[schemars(with = "Vec<ConnectionRow>")]
    connections: Rows<'a, ConnectionRow>,
    /// All exchanges.
    #[schemars(with = "Vec<ExchangeRow>")]
    exchanges: Rows<'a, ExchangeRow>,
    /// Requests without an answer, and attempts to connect that brought no connection, in order of time.
    #[schemars(with = "Vec<FailureRow>")]
    failures: Rows<'a, FailureRow>,
    /// How gRPC calls ended, by status (of the listed exchanges).
    grpc_statuses: Vec<GrpcRow>,
    /// Requests that a proxy passed on, in the order of its clients' exchanges.
    #[schemars(with = "Vec<HopRow>")]
    hops: Rows<'a, HopRow>,
    /// Exchanges grouped by URL path, those with the largest total time first.
    #[schemars(with = "Vec<PathRow>")]
    paths: Rows<'a, PathRow>,
    /// Time by cause: sums over all exchanges, and over the slowest ones.
    totals: Vec<CauseTotal>,
    /// Limits that the capture reached, so that this report leaves something out.
    limits: Vec<ReachedLimit>,
    /// Connections and exchanges that are too many to be listed; `totals` over `all` include them.
    not_listed: NotListed,
}

impl format::Document for Document<'_> {
    const FORMAT: Format = Format::first("ackwise-explain");
    const ABOUT: &'static str =
        "What `ackwise explain --json` prints: where each millisecond of each exchange went.";
}

/// One connection.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "Connection")]
struct ConnectionRow {
    /// Number of the connection: 0 for the first one in the capture.
    id: u32,
    /// Address and port of the client.
    client: String,
    /// Address and port of the server.
    server: String,
    /// Application protocol; null if not recognised.
    protocol: Option<String>,
    /// Whether TLS was decrypted: `yes`, or why not (docs/explain/protocols.md): `no-handshake`, `no-secret`, `cipher-suite`,
    /// `nothing-opens`, `lost`; null without TLS or without `--keys`.
    #[schemars(schema_with = "decrypted")]
    decrypted: Option<&'static str>,
    /// Whether the server asked for another key share (HelloRetryRequest): the TLS handshake took a round trip more.
    hello_retried: bool,
    /// Number of exchanges.
    exchanges: u32,
    /// When its first packet was captured, in seconds since the first packet of the capture.
    start: f64,
    /// The same in UTC (RFC 3339).
    start_time: String,
    /// From its first packet to its last.
    duration_ms: f64,
    /// Number of bytes sent to the server and to the client.
    bytes: [u64; 2],
    /// The end that sent the first FIN or RST.
    #[schemars(schema_with = "parties")]
    closed_first: Option<&'static str>,
    /// The end that held TIME-WAIT.
    #[schemars(schema_with = "parties")]
    time_wait: Option<&'static str>,
    /// Why that end held it: `closed-first`, `client-close` (the client closed first, as its CLIENT_CLOSE request
    /// said), `swap` (it closed second, and took TIME-WAIT over by an RST) or `negotiated` (it closed second, and both
    /// ends had agreed in their SYNs); null if no end held it.
    #[schemars(schema_with = "rules")]
    time_wait_by: Option<&'static str>,
    /// The TCP option that negotiates TIME-WAIT, in the SYN and in the SYN-ACK: `mine`, `yours`, or `none`.
    time_wait_option: [&'static str; 2],
    /// Whether the client sent a CLIENT_CLOSE request, which is not counted as an exchange.
    client_close: bool,
    /// Number of GETWEB requests: each asks for a page and all its files.
    getweb_requests: u32,
    /// Whether an RST ended the connection.
    reset: bool,
    /// Whether a live capture stopped following the connection before its end.
    abandoned: bool,
    /// The server's initial window in segments; null if it did not limit a response.
    initial_window_segments: Option<u32>,
    /// How long the client delays its ACKs: median of the last few that the server waited for; null if there
    /// are none.
    delayed_ack_ms: Option<f64>,
    /// Where the connection was captured: `client`, `server`, `between` (the two), `both` (with `--pair`),
    /// `one-host` (the round trip is below 60 µs) or `unknown`.
    vantage: &'static str,
    /// Minimum round-trip time.
    round_trip_ms: f64,
    /// Round trips from the capture point to the server and back, delays of ACKs included; null without a
    /// sample.
    round_trips_to_server: Option<RoundTrips>,
    /// The same to the client and back.
    round_trips_to_client: Option<RoundTrips>,
    /// Number of retransmitted segments, from both ends.
    retransmitted: u32,
    /// The same to the server and to the client.
    retransmitted_to: [u32; 2],
    /// Number of segments that were overtaken on their way, to the server and to the client.
    reordered: [u32; 2],
    /// The receive windows that the client advertised; null if their scale is unknown.
    client_windows: Option<Windows>,
    /// Those that the server advertised.
    server_windows: Option<Windows>,
    /// How the client and the server spread their segments; null where nothing shows pacing.
    pacing: [Option<PacingRow>; 2],
    /// Number of this connection's packets that the capture lost: they were acknowledged but never
    /// captured.
    lost_by_capture: u64,
    /// What took the connection or its streams over: time of which nothing is attributed to a cause.
    tunnels: Vec<TunnelRow>,
    /// Requests that Nagle's algorithm held before their first byte, until an ACK: a wait in front of exchanges, which
    /// is in none of them; null if there are none.
    held_requests: Option<HeldRequestsRow>,
    /// How much of the connection the capture has.
    quality: ConnectionQuality,
}

/// Requests whose first byte left with an ACK. When the program wrote them is not visible: times are upper limits.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "HeldRequests")]
struct HeldRequestsRow {
    /// `nagle-delayed-ack`, or `nagle-rtt`: several users share the connection.
    cause: &'static str,
    /// How many.
    count: u32,
    /// The shortest wait.
    shortest_ms: f64,
    /// The longest wait.
    longest_ms: f64,
    /// All of them.
    total_ms: f64,
    /// Confidence of the least sure one: `high` or `medium`.
    confidence: &'static str,
    /// Numbers of the packets that show the longest wait, in ascending order.
    packets: Vec<u64>,
}

/// A distribution of round-trip times. With more than 8 samples, `median_ms` and `p95_ms` are exact to 6 %.
#[derive(Debug, JsonSchema, Serialize)]
struct RoundTrips {
    /// Number of samples.
    samples: u32,
    /// The shortest.
    min_ms: f64,
    /// The median.
    median_ms: f64,
    /// The 95th percentile.
    p95_ms: f64,
}

/// Receive windows of one end, in bytes.
#[derive(Debug, JsonSchema, Serialize)]
struct Windows {
    /// The smallest.
    smallest: u32,
    /// The largest.
    largest: u32,
    /// How often the window became zero.
    closed: u32,
}

/// How much of a connection the capture has. Two numbers are to the server and to the client.
#[derive(Debug, JsonSchema, Serialize)]
struct ConnectionQuality {
    /// Number of packets captured.
    packets: [u64; 2],
    /// Bytes that were acknowledged but never captured.
    missing_bytes: [u64; 2],
    /// Number of packets that held them, at least.
    missing_packets: [u64; 2],
    /// Number of data packets captured only in part: the snap length cut them off.
    cut_packets: [u64; 2],
    /// Number of packets with more data than a segment may have (offloads of the capturing host).
    oversized_packets: [u64; 2],
    /// Number of ACKs without data.
    pure_acks: [u64; 2],
    /// Whether ACKs without data are missing.
    lacks_acks: [bool; 2],
    /// How often the packets go back in time by more than 1 ms: the capture's clock was set back.
    clock_steps: u64,
    /// Whether the connection had begun before the capture: its handshake is missing.
    begun_before_capture: bool,
    /// Whether its packets are in two of the captures that were read, so that its verdicts are wrong.
    in_two_captures: bool,
    /// Whether HTTP/2 flow control may have held data, and frames that would show it are cut, missing or encrypted.
    flow_control_unseen: bool,
    /// Highest confidence of a verdict on this connection: `high`, `medium` or `low`; null if the
    /// capture has one direction only, so that nothing is attributed.
    confidence: Option<&'static str>,
}

/// Time that several exchanges spent on one cause, in one direction.
#[derive(Debug, JsonSchema, Serialize)]
struct CauseTotal {
    /// The exchanges included in the sum: `all`, `p95` or `p99` (at or above that percentile of duration), or
    /// `slower-than-…ms` (with `--slower-than`).
    over: String,
    /// Number of these exchanges.
    of_exchanges: usize,
    /// The cause.
    #[schemars(schema_with = "causes")]
    cause: &'static str,
    /// Number of exchanges with this cause.
    exchanges: usize,
    /// Number of times the cause occurred.
    times: u64,
    /// Direction of the delayed data.
    #[schemars(schema_with = "directions")]
    direction: &'static str,
    /// The end at which a change can remove the cause, or `path`; null if unknown.
    #[schemars(schema_with = "parties")]
    party: Option<&'static str>,
    /// Time lost to the cause in all of them.
    ms: f64,
    /// Confidence of nine tenths of this time or more: `high`, `medium` or `low`.
    confidence: &'static str,
    /// Another cause that the packets do not rule out; null if there is none.
    #[schemars(schema_with = "rivals")]
    rival: Option<&'static str>,
}

fn causes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ackwise_cause::Cause::ALL.map(|cause| cause.name()) })
}

fn rivals(_: &mut SchemaGenerator) -> Schema {
    let names = ackwise_cause::Cause::ALL.map(|cause| Some(cause.name()));
    let names: Vec<_> = names.into_iter().chain([None]).collect();
    json_schema!({ "type": ["string", "null"], "enum": names })
}

fn directions(_: &mut SchemaGenerator) -> Schema {
    let names = [Direction::ToServer, Direction::ToClient].map(Direction::name);
    json_schema!({ "type": "string", "enum": names })
}

fn parties(_: &mut SchemaGenerator) -> Schema {
    let [client, server, path] = [Party::Client, Party::Server, Party::Path].map(Party::name);
    json_schema!({ "type": ["string", "null"], "enum": [client, server, path, null] })
}

fn decrypted(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = decryption::NAMES.into_iter().map(Some).chain([None]).collect();
    json_schema!({ "type": ["string", "null"], "enum": names })
}

fn rules(_: &mut SchemaGenerator) -> Schema {
    let names = TimeWaitRule::ALL.map(|rule| Some(rule.name()));
    let names: Vec<_> = names.into_iter().chain([None]).collect();
    json_schema!({ "type": ["string", "null"], "enum": names })
}

/// Everything that is known, as one JSON document. `start` is in seconds since the first packet.
#[must_use]
pub fn json(explained: &Explained, options: &ReportOptions) -> String {
    format::to_json(&Lists::of(&explained.analysis).document(explained, options))
}

/// Writes the same piece by piece: it may be many times as large as what is known.
///
/// # Errors
///
/// If `output` takes no more.
pub fn write_json(
    explained: &Explained,
    options: &ReportOptions,
    output: impl Write,
) -> io::Result<()> {
    format::write_json(&Lists::of(&explained.analysis).document(explained, options), output)
}

/// What the document lists and the analysis does not.
struct Lists<'a> {
    paths: Vec<PathGroup<'a>>,
    failures: Vec<Failure>,
    /// How many there are of each group.
    alike: BTreeMap<Key, u64>,
    hops: Vec<Hop>,
}

impl<'a> Lists<'a> {
    fn of(analysis: &'a Analysis) -> Self {
        let failures = Failure::all(analysis);
        let mut alike = BTreeMap::new();
        failures.iter().for_each(|it| *alike.entry(it.key()).or_default() += 1);
        Self {
            alike,
            paths: PathGroup::all(analysis, &failures),
            failures,
            hops: Fronts::of(analysis).hops(analysis),
        }
    }

    fn document(&'a self, explained: &'a Explained, options: &ReportOptions) -> Document<'a> {
        let analysis = &explained.analysis;
        let connections = analysis.connections.iter().map(|it| connection(explained, it));
        let failure = |it: &Failure| FailureRow::of(explained, it, self.alike[&it.key()]);
        let failures = self.failures.iter().map(failure);
        let exchanges = (0..).zip(&analysis.exchanges);
        let exchanges = exchanges.map(|(id, it)| ExchangeRow::of(explained, id, it));
        Document {
            summary: of_totals(analysis, &Totals::of(analysis, TotalsScope::All), &self.failures),
            quality: CaptureQuality::of(explained),
            first_packet_time: (analysis.segments > 0).then(|| utc(analysis.first)),
            packets: explained.packets,
            segments: analysis.segments,
            lost_by_capture: explained.drops.packets(),
            left_out: left_out(explained),
            joined: explained.joined.as_ref().map(Joined::of),
            until_acknowledged_ms: Unarrived::of(analysis).map(|it| millis(it.until_acknowledged)),
            warnings: explained.warnings.clone(),
            servers: Server::all(analysis).iter().map(ServerFacts::of).collect(),
            connections: Rows::new(connections),
            exchanges: Rows::new(exchanges),
            failures: Rows::new(failures),
            grpc_statuses: GrpcRow::all(&Statuses::of(analysis.exchanges.iter())),
            hops: Rows::new(self.hops.iter().map(HopRow::of)),
            paths: Rows::new(self.paths.iter().map(PathRow::of)),
            totals: options.totals(explained).iter().flat_map(totals).collect(),
            limits: ReachedLimit::all(&explained.reached()),
            not_listed: NotListed::of(&analysis.folded),
        }
    }
}

fn left_out(explained: &Explained) -> BTreeMap<&'static str, u64> {
    let by_filter = Some(("filter", explained.filtered_out)).filter(|(_, count)| *count > 0);
    explained.left_out.iter().map(|(why, count)| (why.name(), count)).chain(by_filter).collect()
}

fn connection(explained: &Explained, it: &ConnectionResult) -> ConnectionRow {
    let [to_server, to_client] = it.measures().round_trips;
    let [client_windows, server_windows] = it.measures().windows;
    ConnectionRow {
        id: it.id,
        client: it.client.to_string(),
        server: it.server.to_string(),
        protocol: it.protocol.map(|it| it.name().to_owned()),
        decrypted: it.opened.map(decryption::name),
        hello_retried: it.hello_retried,
        exchanges: it.exchanges,
        start: it.first_seen.saturating_since(explained.analysis.first).as_secs_f64(),
        start_time: utc(it.first_seen),
        duration_ms: millis(duration(it)),
        bytes: it.bytes,
        closed_first: it.closed_first.map(Party::name),
        time_wait: it.time_wait.map(Party::name),
        time_wait_by: it.time_wait_rule.map(TimeWaitRule::name),
        time_wait_option: it.closing.offers.map(offer),
        client_close: it.closing.client_close,
        getweb_requests: it.closing.getwebs,
        reset: it.reset,
        abandoned: it.abandoned,
        initial_window_segments: it.initial_window,
        delayed_ack_ms: it.delayed_ack.map(millis),
        vantage: it.vantage.name(),
        round_trip_ms: millis(it.round_trip),
        round_trips_to_server: to_server.as_ref().map(round_trips),
        round_trips_to_client: to_client.as_ref().map(round_trips),
        retransmitted: it.repeated.iter().sum(),
        retransmitted_to: it.repeated,
        reordered: it.measures().reordered,
        client_windows: client_windows.as_ref().map(windows),
        server_windows: server_windows.as_ref().map(windows),
        pacing: it.pacing.each_ref().map(|it| it.as_deref().map(PacingRow::of)),
        lost_by_capture: it.quality.missing_packets(),
        tunnels: it.tunnels.iter().map(|it| TunnelRow::of(explained, it)).collect(),
        held_requests: it.held_requests.as_deref().map(held_requests),
        quality: quality(it),
    }
}

fn held_requests(it: &HeldRequests) -> HeldRequestsRow {
    let mut packets: Vec<u64> = it.evidence.packets().collect();
    packets.sort_unstable();
    HeldRequestsRow {
        cause: it.cause.name(),
        count: it.count,
        shortest_ms: millis(it.shortest),
        longest_ms: millis(it.longest),
        total_ms: millis(it.total),
        confidence: it.confidence.name(),
        packets,
    }
}

fn round_trips(it: &RoundTripTimes) -> RoundTrips {
    RoundTrips {
        samples: it.samples(),
        min_ms: millis(it.least()),
        median_ms: millis(it.median()),
        p95_ms: millis(it.p95()),
    }
}

fn windows(it: &AdvertisedWindows) -> Windows {
    Windows { smallest: it.smallest, largest: it.largest, closed: it.closed }
}

fn quality(it: &ConnectionResult) -> ConnectionQuality {
    let count = |value: fn(&DirectionQuality) -> u32| {
        it.quality.directions.each_ref().map(|it| u64::from(value(it)))
    };
    ConnectionQuality {
        packets: count(|it| it.packets),
        missing_bytes: it.quality.directions.map(|it| it.missing_bytes),
        missing_packets: count(|it| it.missing_packets),
        cut_packets: count(|it| it.cut),
        oversized_packets: count(|it| it.oversized),
        pure_acks: count(|it| it.pure_acks),
        lacks_acks: it.quality.directions.map(|it| it.lacks_acks),
        clock_steps: it.quality.clock_steps.into(),
        begun_before_capture: it.quality.begins_in_middle,
        in_two_captures: it.quality.in_two_captures,
        flow_control_unseen: it.quality.flow_control_unseen,
        confidence: it.quality.confidence().map(Confidence::name),
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
        confidence: total.confidence.name(),
        rival: total.rival.map(ackwise_cause::Cause::name),
    };
    totals.causes.iter().map(one).collect()
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}
