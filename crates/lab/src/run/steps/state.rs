//! What a run in steps stops at, and how it stands there.

use std::{collections::BTreeMap, time::Duration};

use ackwise_sim::{
    Scenario,
    observe::Side,
    pause::{LiveConnection, LiveDirection, Pause, PauseReason},
    scenario::NodeId,
};
use ackwise_tcp::Endpoint;
use serde::Serialize;

/// What a congestion control that is set from outside hears.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct CongestionStep {
    /// What has happened, as [`CongestionEventKind`](ackwise_tcp::congestion::CongestionEventKind) names it.
    pub kind: &'static str,
    /// Virtual time.
    pub time_ms: f64,
    /// Of which connection, counted from 0 in the order of opening.
    pub connection: u64,
    /// The host whose end of it that is.
    pub host: String,
    /// Newly acknowledged by the ACK number.
    pub acked_bytes: u32,
    /// Newly acknowledged by the ACK number or by SACK blocks.
    pub delivered_bytes: u32,
    /// Sent and not acknowledged.
    pub in_flight_bytes: u32,
    /// What the ACK has measured, if it has.
    pub round_trip_ms: Option<f64>,
    /// Whether the window was used, so that it may grow.
    pub window_limited: bool,
    /// cwnd.
    pub window_bytes: u64,
    /// ssthresh.
    pub threshold_bytes: u64,
    /// Data of a full segment.
    pub segment_bytes: u32,
}

/// How a run stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunState {
    /// Virtual time.
    pub time_ms: f64,
    /// Whether the run is over.
    pub ended: bool,
    /// By name; routers are none.
    pub hosts: BTreeMap<String, HostState>,
    /// By name: from the first end to the second, and back.
    pub links: BTreeMap<String, BTreeMap<&'static str, DirectionState>>,
    /// Those that are not over, oldest first.
    pub connections: Vec<ConnectionState>,
}

/// What a host holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct HostState {
    /// TIME-WAIT not counted.
    pub open_connections: u64,
    /// In TIME-WAIT.
    pub time_wait_connections: u64,
}

/// What is on one direction of a link, and what it has carried since the beginning.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DirectionState {
    /// On it, queued ones included.
    pub in_flight_packets: usize,
    /// How long the queue takes to empty.
    pub queue_ms: f64,
    /// Taken.
    pub taken_packets: u64,
    /// Of those, link overhead included.
    pub taken_bytes: u64,
    /// Dropped, for whatever reason.
    pub dropped_packets: u64,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ConnectionState {
    /// Counted from 0 in the order of opening.
    pub connection: u64,
    /// The application's name.
    pub application: String,
    /// The end that opened it.
    pub client: EndState,
    /// The other one.
    pub server: EndState,
}

/// One end of a connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct EndState {
    /// Its host.
    pub host: String,
    /// The state of RFC 9293.
    pub tcp_state: &'static str,
    /// Where loss recovery stands, as Linux names it.
    pub recovery: &'static str,
    /// Why nothing more is sent.
    pub waits_for: Option<&'static str>,
    /// cwnd.
    pub window_bytes: u64,
    /// ssthresh.
    pub threshold_bytes: u64,
    /// What the peer allows.
    pub peer_window_bytes: u64,
    /// Sent and not acknowledged.
    pub in_flight_bytes: u64,
    /// By the application.
    pub written_bytes: u64,
    /// By the peer.
    pub acknowledged_bytes: u64,
    /// In order.
    pub received_bytes: u64,
    /// SRTT, once there is a sample.
    pub smoothed_round_trip_ms: Option<f64>,
    /// RTO.
    pub timeout_ms: f64,
}

impl CongestionStep {
    /// Why the run pauses, if it is that.
    pub(super) fn of(pause: &dyn Pause, scenario: &Scenario) -> Option<Self> {
        let PauseReason::Congestion { connection, host, side, event } = *pause.reason() else {
            return None;
        };
        let endpoint = pause.connection(connection)?.ends[side as usize];
        let windows = endpoint.windows();
        Some(Self {
            kind: event.kind.name(),
            time_ms: millis(pause.time()),
            connection: connection.0,
            host: name(scenario, host),
            acked_bytes: event.acknowledged,
            delivered_bytes: event.delivered,
            in_flight_bytes: endpoint.flight(),
            round_trip_ms: event.round_trip.map(millis),
            window_limited: event.window_limited,
            window_bytes: windows.congestion.into(),
            threshold_bytes: windows.threshold.into(),
            segment_bytes: endpoint.segment_size(),
        })
    }
}

impl RunState {
    pub(super) fn of(pause: &dyn Pause, scenario: &Scenario) -> Self {
        let nodes = scenario.nodes.iter().zip(pause.hosts());
        let hosts =
            nodes.filter(|(node, _)| node.tcp.is_some()).map(|(node, [open, time_wait])| {
                let state = HostState { open_connections: open, time_wait_connections: time_wait };
                (node.name.clone(), state)
            });
        let mut directions = pause.directions().into_iter().map(|it| DirectionState::of(&it));
        let links = scenario.links.iter().map(|link| {
            let both = ["there", "back"].into_iter().zip(directions.by_ref());
            (link.name.clone(), both.collect())
        });
        let mut connections: Vec<_> =
            pause.connections().iter().map(|it| ConnectionState::of(it, scenario)).collect();
        connections.sort_unstable_by_key(|it| it.connection);
        Self {
            time_ms: millis(pause.time()),
            ended: *pause.reason() == PauseReason::End,
            hosts: hosts.collect(),
            links: links.collect(),
            connections,
        }
    }
}

impl DirectionState {
    fn of(direction: &LiveDirection) -> Self {
        let LiveDirection { counters, in_flight, queue } = direction;
        Self {
            in_flight_packets: *in_flight,
            queue_ms: millis(*queue),
            taken_packets: counters.queued,
            taken_bytes: counters.bytes,
            dropped_packets: counters.dropped(),
        }
    }
}

impl ConnectionState {
    fn of(connection: &LiveConnection<'_>, scenario: &Scenario) -> Self {
        let LiveConnection { id, application, hosts, ends } = connection;
        let end =
            |side: Side| EndState::of(ends[side as usize], name(scenario, hosts[side as usize]));
        Self {
            connection: id.0,
            application: scenario.applications[*application as usize].name.clone(),
            client: end(Side::Client),
            server: end(Side::Server),
        }
    }
}

impl EndState {
    fn of(endpoint: &Endpoint, host: String) -> Self {
        let windows = endpoint.windows();
        Self {
            host,
            tcp_state: endpoint.state().name(),
            recovery: endpoint.recovery_phase().name(),
            waits_for: endpoint.wait().map(|wait| wait.name()),
            window_bytes: windows.congestion.into(),
            threshold_bytes: windows.threshold.into(),
            peer_window_bytes: endpoint.peer_window().into(),
            in_flight_bytes: endpoint.flight().into(),
            written_bytes: endpoint.written(),
            acknowledged_bytes: endpoint.acknowledged(),
            received_bytes: endpoint.received(),
            smoothed_round_trip_ms: endpoint.smoothed_round_trip().map(millis),
            timeout_ms: millis(endpoint.rto()),
        }
    }
}

fn name(scenario: &Scenario, node: NodeId) -> String {
    scenario.nodes[node.0 as usize].name.clone()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
