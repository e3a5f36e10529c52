//! The results for one server or client: what `check` found, as data.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

pub use crate::checks::{
    close::{End, SwapResult},
    nagle_delayed_ack::{ByRequest, ReceiverName, ReleasedBy, TriedSize},
    send_buffer::Bound,
    stream_held::HeldBy,
    *,
};
pub use crate::{
    client::observed::Ending,
    http_client::Protocol,
    stack::StackName,
    verdict::{Reason, Verdict},
};

/// The results for one server or client.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Card {
    /// The checked URL, as given; for a client its command.
    pub target: String,
    /// The version of HTTP.
    pub protocol: Protocol,
    /// What was checked; omitted for a server.
    #[serde(skip_serializing_if = "is_server")]
    #[schemars(schema_with = "roles")]
    pub role: Role,
    /// Which built-in server it is; null for other servers.
    pub server: Option<BuiltIn>,
    /// The status of the page; null for a built-in server.
    pub status: Option<u16>,
    /// The status with which a gRPC call ended; omitted if it is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grpc_status: Option<u16>,
    /// The TCP stack of the end that Ackwise plays.
    pub stack: StackName,
    /// The congestion control of the server's listening socket (a route may set another for a connection); omitted if the server is
    /// not on this host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_congestion: Option<String>,
    /// Restrictions on these results, one sentence each: a redirect that was not followed, a small
    /// page, a busy machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The path that was put between the client and the server; omitted if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulated: Option<Emulated>,
    /// One for each check that was run.
    pub findings: Vec<Finding>,
}

/// An emulated path, and how long the page takes over it.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Emulated {
    /// Share of the packets that is lost in each direction while the page is timed; null if none.
    pub loss_percent: Option<f64>,
    /// Times of the pages that could be timed.
    pub pages: Vec<FarPage>,
    /// Bytes that the queue of each direction holds; null if nothing queues.
    pub queue_bytes: Option<u64>,
    /// Rate of each direction; null if infinite.
    pub rate_bits_per_second: Option<u64>,
    /// Round-trip time.
    pub rtt_ms: f64,
}

/// How long a page takes over an emulated path, from the SYN or the request to its last byte.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct FarPage {
    /// Size of the content.
    pub bytes: u64,
    /// Median of the second requests on the same connections; null if they did not persist.
    pub kept_connection_ms: Option<f64>,
    /// Loads on new connections.
    pub loads: u32,
    /// Median of the loads on new connections.
    pub new_connection_ms: Option<f64>,
    /// The requested path.
    pub path: String,
}

/// The two built-in servers.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, PartialEq, Serialize)]
pub enum BuiltIn {
    /// As the papers of 1996 and 1997 describe it.
    #[serde(rename = "1996")]
    Paper1996,
    /// With every fix.
    #[serde(rename = "fixed")]
    Fixed,
}

fn roles(_: &mut SchemaGenerator) -> Schema {
    let names = [Role::Server, Role::Client, Role::Stream].map(Role::name);
    json_schema!({ "type": "string", "enum": names, "default": Role::Server.name() })
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_server(role: &Role) -> bool {
    *role == Role::Server
}
