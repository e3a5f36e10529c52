//! What a run is made of, as data. An experiment file becomes this; nothing here is random yet.
//!
//! Nodes, links and applications are named by their place in their list. [`Scenario::check`] finds
//! what cannot be run, so that the world may rely on it.

mod proxy;

use std::{num::NonZeroU32, time::Duration};

use ackwise_http::{
    Behaviour,
    behaviour::KeepAlivePolicy,
    page::{Page, Transfer},
    workload::{Pages, Span},
};
use ackwise_link::{LinkConfig, Seed};
use ackwise_tcp::{ByteCount, Config};

use crate::table::TableModel;

pub(crate) use proxy::ERROR_BYTES;
pub use proxy::{Counted, Divides, IdleMemory, Persistence, Proxy, Refused, Route, Upward};

/// Everything that a run is made of: the same scenario gives the same trace.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Hosts and routers.
    pub nodes: Vec<Node>,
    /// What joins them.
    pub links: Vec<DuplexLink>,
    /// Who talks to whom.
    pub applications: Vec<Application>,
    /// How long the run lasts, in virtual time, warm-up included.
    pub duration: Duration,
    /// What happens before this is not measured.
    pub warm_up: Duration,
    /// Whether to find out why exchanges take their time, which takes time too.
    pub watch_causes: bool,
    /// Where all random streams begin.
    pub seed: Seed,
    /// More events than this end the run with an error: it does not get anywhere.
    pub max_events: u64,
    /// More connections alive at once than this end the run with an error.
    pub max_connections: u32,
}

/// A place in [`Scenario::nodes`].
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct NodeId(pub u32);

/// A host or a router.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// As reports call it.
    pub name: String,
    /// Its TCP, if it is a host; a router has none.
    pub tcp: Option<Config>,
    /// What its work costs it.
    pub cost: CostModel,
    /// Its table of connections; `None` costs nothing and has no end.
    pub table: Option<TableModel>,
}

impl Node {
    /// A host that takes no time and has room for any number of connections.
    #[must_use]
    pub fn host(name: &str, tcp: Config) -> Self {
        Self { name: name.to_owned(), tcp: Some(tcp), cost: CostModel::default(), table: None }
    }
}

/// What a host's processor is busy with; all zero is a host that takes no time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct CostModel {
    /// For each segment that arrives.
    pub per_segment: Duration,
    /// For each look-up of a segment's connection.
    pub per_lookup: Duration,
    /// For each entry of its [`TableModel`] that a look-up examines.
    pub per_entry: Duration,
    /// For each RST that arrives, beside what every segment costs.
    pub per_reset: Duration,
    /// For each request that a server begins to answer.
    pub per_request: Duration,
}

/// A link with two directions.
#[derive(Clone, Debug, PartialEq)]
pub struct DuplexLink {
    /// As reports call it.
    pub name: String,
    /// Its ends.
    pub ends: [NodeId; 2],
    /// From the first end to the second, and back. The seed is replaced by one of the run's. An MTU is that of IP:
    /// `overhead` comes on top.
    pub directions: [LinkConfig; 2],
    /// Bytes that each packet takes on the link beside its IP datagram.
    pub overhead: ByteCount,
    /// The propagation delay, drawn once in each run, the same in both directions; `None` leaves the
    /// directions' own.
    pub drawn_delay: Option<Span>,
    /// A NAT or a firewall on the link forgets a flow without packets for this long, and then drops all of it without
    /// an RST until a SYN begins it anew.
    pub forgets_after: Option<Duration>,
}

impl DuplexLink {
    /// A link that is the same in both directions.
    #[must_use]
    pub fn symmetric(name: &str, ends: [NodeId; 2], direction: LinkConfig) -> Self {
        Self {
            name: name.to_owned(),
            ends,
            directions: [direction.clone(), direction],
            overhead: ByteCount(0),
            drawn_delay: None,
            forgets_after: None,
        }
    }
}

/// Who talks to whom.
#[derive(Clone, Debug, PartialEq)]
pub struct Application {
    /// As reports call it. Several may share a name: they are measured together.
    pub name: String,
    /// The host that opens connections; of a [`Proxy`], the first of them.
    pub client: NodeId,
    /// The host that answers; the proxy's host, if there is one.
    pub server: NodeId,
    /// When it begins, drawn once for each user.
    pub start: Span,
    /// What it does.
    pub kind: ApplicationKind,
}

/// What an application does.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "there are a few of them in a run")]
pub enum ApplicationKind {
    /// Users who fetch pages.
    Web(Web),
    /// Clients who fetch files one after the other on one connection (the thesis' FTP).
    Bulk(Bulk),
    /// Connections that arrive whatever becomes of the earlier ones (open loop).
    Arrivals(Arrivals),
    /// Clients, a proxy and servers.
    Proxy(Box<Proxy>),
}

impl ApplicationKind {
    /// How the server answers; what serves bulk clients and arrivals does it in the simplest way.
    #[must_use]
    pub const fn behaviour(&self) -> &Behaviour {
        match self {
            Self::Web(web) => &web.behaviour,
            Self::Bulk(bulk) => &bulk.behaviour,
            Self::Arrivals(_) | Self::Proxy(_) => &Behaviour::FIXED,
        }
    }

    /// Which connections its server keeps open; `None` where the client alone decides, because it sends without a
    /// request or closes after its only response.
    #[must_use]
    pub const fn keep_alive(&self) -> Option<KeepAlivePolicy> {
        match self {
            Self::Web(web) => Some(web.behaviour.keep_alive),
            Self::Bulk(Bulk { sender: BulkSender::Server, behaviour, .. }) => {
                Some(behaviour.keep_alive)
            }
            Self::Bulk(_) | Self::Arrivals(_) | Self::Proxy(_) => None,
        }
    }
}

/// Users who fetch pages, each one at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Web {
    /// How many users do this.
    pub users: NonZeroU32,
    /// Pages for each user at most; `None` goes on until the end of the run.
    pub pages: Option<NonZeroU32>,
    /// What a page consists of.
    pub workload: Pages,
    /// Pages and think times in place of those that `workload` and `think` draw.
    pub replay: Option<Replay>,
    /// How its files travel.
    pub transfer: Transfer,
    /// Which connections outlive a document.
    pub connections: Connections,
    /// What a request weighs.
    pub request: ByteCount,
    /// What the head of a response weighs; 0 if the workload's lengths include it.
    pub response_head: ByteCount,
    /// The user's think time.
    pub think: Span,
    /// Before what the user thinks.
    pub think_scope: ThinkScope,
    /// The client's own work before each request.
    pub client_delay: Span,
    /// Between the opening of parallel connections.
    pub open_gap: Span,
    /// How the server answers.
    pub behaviour: Behaviour,
    /// GETWEB: how long the server parses a document to find its files.
    pub parse: Span,
    /// How likely a file is in the client's cache, in millionths.
    pub cached_per_million: u32,
    /// If the client asks the server about what it has cached, by conditional requests: what an answer
    /// weighs that says that a copy is still good (304). If not, copies are used without asking.
    pub not_modified: Option<ByteCount>,
    /// Who closes a connection that the transfer plan leaves open, when it is not kept.
    pub closer: Closer,
    /// What a client that closes first says before it does: a CLIENT_CLOSE. It has no response.
    pub client_close: ByteCount,
    /// As [`Arrivals::prompt_acks`].
    pub prompt_acks: bool,
    /// How the client's program reads what arrives; `None` for at once.
    pub slow_reader: Option<SlowReader>,
    /// How long a client waits for a response, since it asked for it or had the one before, until it resets the
    /// connection and asks again on another one; `None` waits as long as TCP does.
    pub response_timeout: Option<Duration>,
}

/// A client's program that pauses between reads, so that its receive window closes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SlowReader {
    /// The most that it reads at a time.
    pub size: NonZeroU32,
    /// How long it then does something else.
    pub pause: Duration,
}

impl Web {
    /// One user who fetches one page after the other, with connections for each of its own, and does nothing in
    /// between: no pauses, no cache, no time of the client's. Requests and heads of responses weigh 200 bytes (our
    /// choice).
    #[must_use]
    pub const fn plain(workload: Pages, transfer: Transfer, behaviour: Behaviour) -> Self {
        Self {
            users: NonZeroU32::MIN,
            pages: None,
            workload,
            replay: None,
            transfer,
            connections: Connections::PerDocument,
            request: ByteCount(200),
            response_head: ByteCount(200),
            think: Span::ZERO,
            think_scope: ThinkScope::Document,
            client_delay: Span::ZERO,
            open_gap: Span::ZERO,
            behaviour,
            parse: Span::ZERO,
            cached_per_million: 0,
            not_modified: None,
            closer: Closer::Client,
            client_close: ByteCount(0),
            prompt_acks: false,
            slow_reader: None,
            response_timeout: None,
        }
    }
}

/// What each user of a [`Web`] fetches and how long it thinks, in this order; after the end of a list
/// it begins again. So another simulator can be given the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replay {
    /// Files of each page, the primary first; none of the lists may be empty.
    pub pages: Vec<Page>,
    /// Before each document or file, as [`ThinkScope`] says.
    pub think: Vec<Duration>,
}

impl Replay {
    /// The page number `nth` of a user.
    pub(crate) fn page(&self, nth: usize) -> Page {
        self.pages[nth % self.pages.len()].clone()
    }

    /// The think time number `nth` of a user.
    pub(crate) fn think(&self, nth: usize) -> Duration {
        self.think[nth % self.think.len()]
    }
}

/// Which connections outlive a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Connections {
    /// None: a new document begins with a new connection.
    PerDocument,
    /// All that the transfer plan leaves open.
    Kept,
}

/// Who closes a connection that its transfer plan leaves open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Closer {
    /// The client, when its document is there.
    Client,
    /// The client, by an RST: nobody waits in TIME-WAIT, and nobody keeps old segments away.
    ClientByReset,
    /// The server, at that moment: as if the last request had said that it is the last.
    Server,
}

/// Before what a user thinks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ThinkScope {
    /// Before each document.
    Document,
    /// Before each file (the thesis' serial case: reference T2).
    File,
}

/// Clients who fetch files one after the other on one connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Bulk {
    /// How many clients do this.
    pub clients: NonZeroU32,
    /// What a request weighs.
    pub request: ByteCount,
    /// How long a file is; `None` never ends.
    pub file: Option<ByteCount>,
    /// Files for each client at most.
    pub files: Option<NonZeroU32>,
    /// Between a file's end and the next request.
    pub pause: Span,
    /// How the server answers: its Nagle algorithm and its writes.
    pub behaviour: Behaviour,
    /// Who sends. FTP's data connection is opened by the one who sends (Heidemann 1997, section 3).
    pub sender: BulkSender,
}

/// Who sends the data of a [`Bulk`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BulkSender {
    /// The server, asked by a request.
    Server,
    /// The client, who opens the connection and sends without a request.
    Client,
}

/// Connections that arrive whatever becomes of the earlier ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    /// From one arrival to the next.
    pub interarrival: Span,
    /// What a request weighs.
    pub request: ByteCount,
    /// What a response weighs.
    pub response: ByteCount,
    /// How long the client keeps the connection open when the response is there.
    pub hold: Span,
    /// Whether a SYN-ACK and a FIN are acknowledged before the program hears of them, as where it first
    /// has to be woken, and in ns-2's FullTcp; otherwise what the program sends carries the ACK.
    pub prompt_acks: bool,
    /// Connections at most.
    pub limit: Option<NonZeroU32>,
}
