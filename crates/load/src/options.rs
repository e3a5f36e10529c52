//! Options, and their invalid combinations.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket},
    num::NonZeroU64,
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

use ackwise_http::{Method, workload::Pages};
use ackwise_link::Seed;
use ackwise_net::{Sources, Target};
use ackwise_tcp::policy::Preset;
use ipnet::IpNet;

use super::LoadError;
use crate::generator::{Arrivals, Close, ContentCheck, Drain, Pace, Pattern, Schedule, Think};

/// Options of a run of the load generator.
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The requested page.
    pub target: Target,
    /// Further pages of the same server, which are requested in turn with the first one.
    pub more: Vec<Target>,
    /// The method of the requests.
    pub method: Method,
    /// Further fields of the requests, in their order.
    pub fields: Vec<(String, String)>,
    /// The content of the requests.
    pub content: Option<Vec<u8>>,
    /// Draws the sizes of the responses; the page must have `{bytes}` in its path, or be long enough.
    pub workload: Option<Workload>,
    /// How long each user of a closed loop thinks; `None`: not at all.
    pub think: Option<Think>,
    /// What the content of the responses must be.
    pub check: ContentCheck,
    /// Number of connections; `None`: as many as the requests need.
    pub connections: Option<u64>,
    /// Number of requests; `None`: those of the connections, or until `duration` has passed.
    pub requests: Option<u64>,
    /// Maximum number of concurrent connections.
    pub concurrency: usize,
    /// Requests on each connection; `None`: any number.
    pub requests_per_connection: Option<NonZeroU64>,
    /// Requests per second; `None`: the next request follows the response before it.
    pub rate: Option<f64>,
    /// How requests at a rate are spaced.
    pub arrivals: Pattern,
    /// The rate, or the number of concurrent connections, rises during this time.
    pub ramp: Duration,
    /// Requests before this time are not counted.
    pub warm_up: Duration,
    /// No request starts after this time, counted from the end of the warm-up.
    pub duration: Option<Duration>,
    /// Timeout of a response, and of the close.
    pub timeout: Duration,
    /// Whether a request that crossed the server's close is sent again, if its method is idempotent.
    pub retry_closed: bool,
    /// Which end closes first.
    pub close: CloseMode,
    /// What follows a CLIENT_CLOSE.
    pub drain: Drain,
    /// The clients' TCP stack; `None`: Ackwise's for a swap, a negotiation or a preset, else the kernel's.
    pub stack: Option<StackMode>,
    /// What Ackwise's TCP copies; `None`: `linux-6`.
    pub preset: Option<Preset>,
    /// Local addresses; if empty, the kernel chooses, with further addresses on loopback.
    pub sources: Vec<SourceNet>,
    /// A process of the server, if it runs in another network namespace of this host.
    pub server_process: Option<u32>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// PEM file of the certificates to trust; `None`: the system's.
    pub ca_file: Option<PathBuf>,
    /// Whether the host may be changed so that Ackwise's TCP can reach the server.
    pub allow_host_changes: bool,
}

/// Pages of a published workload, whose files are requested one after the other.
///
/// A target with `{bytes}` in its path is requested with each file's size in that place. Otherwise, a
/// range of that size is requested, from its beginning.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The pages.
    pub pages: Pages,
    /// Selects the pages.
    pub seed: Seed,
}

/// Which end closes a connection first, and which end then holds TIME-WAIT.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CloseMode {
    /// The server.
    Server,
    /// The client, without an announcement.
    Client,
    /// The client, after a CLIENT_CLOSE.
    ClientClose,
    /// The server, and Ackwise's TCP takes over TIME-WAIT
    /// ([`ackwise_tcp::policy::ClosePolicy::Swap`]).
    Swap,
    /// The server, and Ackwise's TCP offers in its SYN to hold TIME-WAIT
    /// ([`ackwise_tcp::policy::ClosePolicy::Negotiated`]).
    Negotiated,
}

/// The clients' TCP stack.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StackMode {
    /// The kernel's sockets.
    Kernel,
    /// Ackwise's TCP on a TUN device.
    Ackwise,
}

impl CloseMode {
    /// The name on the command line and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
            Self::ClientClose => "client-close",
            Self::Swap => "swap",
            Self::Negotiated => "negotiated",
        }
    }
}

impl StackMode {
    /// The name on the command line and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Ackwise => "ackwise",
        }
    }
}

impl LoadOptions {
    /// One request on each of a thousand connections, 64 of them concurrent; the server closes (our
    /// choice).
    #[must_use]
    pub const fn new(target: Target) -> Self {
        Self {
            target,
            more: Vec::new(),
            method: Method::Get,
            fields: Vec::new(),
            content: None,
            workload: None,
            think: None,
            check: ContentCheck::Any,
            connections: Some(1000),
            requests: None,
            concurrency: 64,
            requests_per_connection: Some(NonZeroU64::MIN),
            rate: None,
            arrivals: Pattern::Constant,
            ramp: Duration::ZERO,
            warm_up: Duration::ZERO,
            duration: None,
            timeout: Duration::from_secs(10),
            retry_closed: false,
            close: CloseMode::Server,
            drain: Drain::HalfClose,
            stack: None,
            preset: None,
            sources: Vec::new(),
            server_process: None,
            insecure: false,
            ca_file: None,
            allow_host_changes: false,
        }
    }

    /// The clients' TCP stack.
    ///
    /// # Errors
    ///
    /// If it does not support the other options, or would ignore them.
    pub fn stack(&self) -> Result<StackMode, LoadError> {
        let refuse = |why: &str| Err(LoadError::Options(why.to_owned()));
        if self.drain == Drain::Plain && self.close != CloseMode::ClientClose {
            return refuse(
                "cannot use --drain: it applies after a CLIENT_CLOSE (expected --close client-close)",
            );
        }
        if !self.target.is_secure() && (self.insecure || self.ca_file.is_some()) {
            return refuse("cannot use --insecure or --ca-file without TLS (expected https://)");
        }
        if self.preset.is_some() && self.stack == Some(StackMode::Kernel) {
            return refuse("cannot use --tcp with the kernel stack (expected --stack ackwise)");
        }
        let ours = self.stack.or_else(|| self.preset.map(|_| StackMode::Ackwise));
        match (ours, self.close) {
            (Some(StackMode::Kernel), CloseMode::Swap | CloseMode::Negotiated) => refuse(&format!(
                "cannot use --close {} with the kernel stack (expected --stack ackwise)",
                self.close.as_str()
            )),
            (Some(StackMode::Ackwise), _) | (None, CloseMode::Swap | CloseMode::Negotiated)
                if !self.sources.is_empty() =>
            {
                refuse(
                    "cannot use --source: the ackwise stack has one address (expected --stack kernel)",
                )
            }
            (None, CloseMode::Swap | CloseMode::Negotiated) => Ok(StackMode::Ackwise),
            (None | Some(StackMode::Kernel), _) if self.allow_host_changes => refuse(
                "cannot use --allow-host-changes: the kernel stack needs none (expected --stack ackwise)",
            ),
            (stack, _) => Ok(stack.unwrap_or(StackMode::Kernel)),
        }
    }

    /// The client's part; a swap and a negotiation are done by TCP.
    pub(super) const fn close(&self) -> Close {
        match self.close {
            CloseMode::Server | CloseMode::Swap | CloseMode::Negotiated => Close::Server,
            CloseMode::Client => Close::Client,
            CloseMode::ClientClose => Close::ClientClose(self.drain),
        }
    }

    /// When requests are due.
    ///
    /// # Errors
    ///
    /// If the options contradict each other, or the run would have no end.
    pub(super) fn schedule(&self) -> Result<Schedule, LoadError> {
        let refuse = |why: &str| Err(LoadError::Options(why.to_owned()));
        if self.duration.is_none() && !self.warm_up.is_zero() {
            return refuse("cannot use --warmup without an end by time (expected --duration)");
        }
        if self.rate.is_none() && self.arrivals != Pattern::Constant {
            return refuse("cannot use --arrivals: requests follow responses (expected --rate)");
        }
        if self.rate.is_some() && self.think.is_some() {
            return refuse(
                "cannot use --think: --rate says when requests are due (expected one of them)",
            );
        }
        let limit = match (self.requests, self.connections, self.requests_per_connection) {
            (Some(_), Some(_), _) => {
                return refuse(
                    "cannot use --connections with --requests: they limit the same requests (expected one of them)",
                );
            }
            (None, Some(_), None) => {
                return refuse(
                    "cannot limit --connections that carry requests without limit (expected --requests or --duration)",
                );
            }
            (None, None, None) if self.duration.is_none() => {
                return refuse("the run would not end (expected --requests or --duration)");
            }
            (None, Some(connections), Some(each)) => Some(connections.saturating_mul(each.get())),
            (requests, None, _) => requests,
        };
        // Without a limit for each connection, those of a closed loop share the requests.
        let share = || limit.map_or(u64::MAX, |all| all.div_ceil(self.concurrency.max(1) as u64));
        let (pace, shared) = match self.rate {
            None => (Pace::Closed, share()),
            Some(rate) => {
                let arrivals = Arrivals { rate, pattern: self.arrivals, ramp: self.ramp };
                (Pace::Open(arrivals), u64::MAX)
            }
        };
        let each = self.requests_per_connection.map_or(shared, NonZeroU64::get);
        let mut schedule =
            Schedule::new(pace, self.concurrency).per_connection(each).ramp(self.ramp);
        if let Some(requests) = limit {
            schedule = schedule.requests(requests);
        }
        if let Some(duration) = self.duration {
            schedule = schedule.duration(duration.saturating_add(self.warm_up));
        }
        Ok(schedule)
    }

    /// Local addresses of connections to `server`.
    pub(super) fn sources(&self, server: SocketAddr) -> Result<Sources, LoadError> {
        if self.sources.is_empty() {
            let loopback = server.is_ipv4() && server.ip().is_loopback();
            return Ok(if loopback { Sources::Loopback } else { towards(server) });
        }
        let addresses: Vec<IpAddr> = self.source_addresses().collect();
        match addresses.iter().find(|source| source.is_ipv4() != server.is_ipv4()) {
            None => Ok(Sources::These(addresses)),
            Some(other) => {
                let text = format!(
                    "cannot connect from {other} to {server}: different IP versions (expected the same)"
                );
                Err(LoadError::Options(text))
            }
        }
    }

    /// Local addresses of the probe. The run uses the last address last.
    pub(super) fn probe_starts(&self, server: SocketAddr) -> Vec<Option<IpAddr>> {
        let last = self.source_addresses().last();
        let loopback = server.is_ipv4() && server.ip().is_loopback();
        match (last, loopback) {
            (Some(last), _) => vec![Some(last)],
            (None, true) => vec![None, Some(SPARE_LOOPBACK.into())],
            (None, false) => vec![None],
        }
    }

    fn source_addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.sources.iter().flat_map(|SourceNet(net)| net.hosts()).take(SOURCES_LIMIT)
    }
}

/// The address from which the kernel connects to `server`, so that its ports can be used in turn; if
/// there is none, the kernel says why when connecting.
fn towards(server: SocketAddr) -> Sources {
    let unspecified: SocketAddr = match server.is_ipv4() {
        true => (Ipv4Addr::UNSPECIFIED, 0).into(),
        false => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    // Connecting a UDP socket sends nothing, and selects the route.
    let address = UdpSocket::bind(unspecified).and_then(|socket| {
        socket.connect(server)?;
        Ok(socket.local_addr()?.ip())
    });
    match address {
        // A link-local address needs its interface, which a source does not have.
        Ok(IpAddr::V6(address)) if address.is_unicast_link_local() => Sources::Any,
        Ok(address) => Sources::These(vec![address]),
        Err(_) => Sources::Any,
    }
}

/// Local addresses: one, or the hosts of a net.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SourceNet(IpNet);

impl FromStr for SourceNet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let net = match text.parse::<IpAddr>() {
            Ok(address) => Some(address.into()),
            Err(_) => text.parse().ok(),
        };
        net.map(Self).ok_or_else(|| {
            "expected an address or network, such as 10.0.0.1 or 10.0.0.0/24".to_owned()
        })
    }
}

impl fmt::Display for SourceNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Maximum number of addresses (our choice): with more, ports last longer than TIME-WAIT.
const SOURCES_LIMIT: usize = 4096;
/// Not used by any run.
const SPARE_LOOPBACK: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 254);

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> LoadOptions {
        LoadOptions::new("http://127.0.0.1/".parse().unwrap())
    }

    #[test]
    fn a_swap_needs_our_own_tcp_and_picks_it() {
        let with = |close, stack| LoadOptions { close, stack, ..options() }.stack();
        assert_eq!(with(CloseMode::Server, None).unwrap(), StackMode::Kernel);
        assert_eq!(with(CloseMode::Swap, None).unwrap(), StackMode::Ackwise);
        assert_eq!(with(CloseMode::Client, Some(StackMode::Ackwise)).unwrap(), StackMode::Ackwise);
        let preset = Some(Preset::Linux6Bbr);
        let chosen = LoadOptions { preset, ..options() };
        assert_eq!(chosen.stack().unwrap(), StackMode::Ackwise);
        let refused = LoadOptions { stack: Some(StackMode::Kernel), ..chosen }.stack().unwrap_err();
        assert!(refused.to_string().contains("--stack ackwise"), "{refused}");
        let refused = with(CloseMode::Swap, Some(StackMode::Kernel)).unwrap_err();
        assert!(refused.to_string().contains("--stack ackwise"), "{refused}");
    }

    #[test]
    fn what_has_no_use_is_refused() {
        let plain = LoadOptions { drain: Drain::Plain, ..options() };
        assert!(plain.stack().is_err());
        assert!(LoadOptions { close: CloseMode::ClientClose, ..plain }.stack().is_ok());
        let changes = LoadOptions { allow_host_changes: true, ..options() };
        assert!(changes.stack().is_err());
        assert!(LoadOptions { close: CloseMode::Swap, ..changes }.stack().is_ok());
    }

    #[test]
    fn sources_are_addresses_and_nets_of_the_server_s_family() {
        let sources = |texts: &[&str]| {
            let sources = texts.iter().map(|text| text.parse().unwrap()).collect();
            LoadOptions { sources, ..options() }.sources(([127, 0, 0, 1], 80).into())
        };
        let addresses: Vec<IpAddr> = ["127.0.1.9", "127.0.2.1", "127.0.2.2"]
            .map(|address| address.parse().unwrap())
            .to_vec();
        assert_eq!(sources(&["127.0.1.9", "127.0.2.0/30"]).unwrap(), Sources::These(addresses));
        assert_eq!(sources(&[]).unwrap(), Sources::Loopback);
        assert!(sources(&["::1"]).is_err());
        assert!("10.0.0.0/99".parse::<SourceNet>().is_err());
        let Ok(Sources::These(many)) = sources(&["10.0.0.0/8"]) else { panic!("a list") };
        assert_eq!(many.len(), SOURCES_LIMIT);
    }

    #[test]
    fn a_run_without_an_end_is_refused() {
        let unlimited =
            LoadOptions { connections: None, requests_per_connection: None, ..options() };
        let duration = Some(Duration::from_secs(1));
        for (given, complaint) in [
            (unlimited.clone(), Some("--duration")),
            (LoadOptions { duration, ..unlimited.clone() }, None),
            (LoadOptions { requests: Some(9), ..unlimited.clone() }, None),
            (LoadOptions { connections: Some(9), ..unlimited.clone() }, Some("--requests")),
            (LoadOptions { requests: Some(9), ..options() }, Some("one of them")),
            (LoadOptions { warm_up: Duration::from_secs(1), ..options() }, Some("--duration")),
            (LoadOptions { arrivals: Pattern::Poisson(Seed(1)), ..options() }, Some("--rate")),
        ] {
            let refused = given.schedule().err().map(|error| error.to_string());
            match complaint {
                None => assert_eq!(refused, None),
                Some(word) => assert!(refused.as_ref().unwrap().contains(word), "{refused:?}"),
            }
        }
    }

    #[test]
    fn the_kernel_s_own_address_is_used_port_by_port() {
        assert_eq!(
            towards(([127, 0, 0, 1], 9).into()),
            Sources::These(vec![[127, 0, 0, 1].into()])
        );
    }
}
