//! Clients, a proxy and servers: Okamoto, Terai, Hasegawa, Murata 2001, section 4.
//!
//! Not here: a cache's contents (the paper sets the hit ratio), pages of several documents, and what
//! work costs the proxy's processor.

use std::{num::NonZeroU64, time::Duration};

use ackwise_http::workload::{Size, Span};
use ackwise_tcp::ByteCount;
use ackwise_tuning::{Scheme, Spare};

use super::NodeId;

/// Clients that fetch documents from servers, by way of a proxy or without it.
///
/// Each client asks for one document after the other. Size, server, hit and think time of its nth
/// request come from streams of their own, so they are the same whatever the proxy does.
#[derive(Clone, Debug, PartialEq)]
pub struct Proxy {
    /// The hosts of the clients, one client on each; the first is the application's client.
    pub clients: Vec<NodeId>,
    /// The servers; each request goes to one of them at random.
    pub servers: Vec<NodeId>,
    /// Whether the application's server, which is the proxy's host, takes part.
    pub route: Route,
    /// Before each request.
    pub think: Span,
    /// Of documents.
    pub size: Size,
    /// What a request weighs.
    pub request: ByteCount,
    /// How likely the proxy has a document, in millionths.
    pub hits_per_million: u32,
    /// How buffers are assigned, and what happens at the limit of connections.
    pub scheme: Scheme,
    /// The memory for socket buffers.
    pub pool: ByteCount,
    /// N_max.
    pub n_max: NonZeroU64,
    /// Which connections count towards it.
    pub counted: Counted,
    /// Of N_max, places that connections to clients do not take. Only where both directions count.
    pub reserved: u64,
    /// What becomes of a connection that is refused.
    pub refused: Refused,
    /// Who shares a connection to a server.
    pub upward: Upward,
    /// Whether connections outlive a document.
    pub persistence: Persistence,
    /// From one division of the pool to the next.
    pub interval: Duration,
    /// Whether the pool is also divided when a connection that was idle becomes active.
    pub divides: Divides,
    /// What happens to memory that nobody can use.
    pub spare: Spare,
    /// Whether the buffer of an idle connection counts.
    pub idle_memory: IdleMemory,
}

/// The way of a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Route {
    /// Through the proxy.
    Proxy,
    /// From the server to the client: no hits, no limit of connections, the hosts' own buffers.
    Direct,
}

/// Which connections count towards N_max.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Counted {
    /// All: "the maximum number of connections which can be established simultaneously" (section 4).
    Both,
    /// Those to clients: section 4.1 compares N_max with the number of clients. Then neither N_max
    /// nor the memory of fixed buffers limits those to servers.
    Downward,
}

/// What becomes of a connection that is refused. The paper says that it waits (2.1, 4.2) and that it
/// is rejected (4).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Refused {
    /// A client's SYN is dropped, so its TCP tries again. A miss waits for a place upward.
    Retry,
    /// A client's SYN is answered by an RST, and a miss by an error message: the request fails, and
    /// the client thinks before its next one.
    Reject,
    /// A client's SYN waits at the proxy for a place, first come, first served. So does a miss.
    Queue,
}

/// Who shares a connection to a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Upward {
    /// All clients.
    PerServer,
    /// Each client has its own.
    PerClient,
}

/// Whether connections outlive a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Persistence {
    /// The proxy closes them when they have been idle for this long.
    Timeouts {
        /// To clients.
        client: Duration,
        /// To servers.
        server: Duration,
    },
    /// The proxy closes them behind each document: HTTP/1.0.
    Off,
}

/// When the pool is divided, beside every interval and when there is no memory for a new connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Divides {
    /// Not.
    Interval,
    /// When an idle connection becomes active and has less than it last could use.
    Reuse,
}

/// Whether the buffer of an idle connection counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IdleMemory {
    /// It is reserved, as the paper assumes.
    Reserved,
    /// An empty buffer takes no memory, as on Linux, where a buffer's size is only a limit. Idle
    /// connections then take no part in the division, in any scheme.
    Free,
}

/// The body of an error message (our choice; a short page).
pub(crate) const ERROR_BYTES: u64 = 500;
