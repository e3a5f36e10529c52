//! Checks of a client: Ackwise plays the server, runs the client's command once for each check, and grades what it did.
//!
//! | file | purpose |
//! | --- | --- |
//! | `command` | the client's command |
//! | `wire` | the server's TCP: the kernel's, or our own on a TUN device |
//! | `script` | what the server does in a check |
//! | `http` | HTTP/1 and HTTP/2 on a connection, at the server's end |
//! | `play` | one run: the script on the wire, and the record of it |
//! | `runs` | the runs of a check of a client, in each version of HTTP |
//! | `observed` | the record |
//! | `session`, `authority` | TLS, and the CA of a run |
//! | `request_nagle`, … | one file for each check: a pure function from the record to the finding |
//!
//! Not here: HTTP/3, and `Upgrade: h2c`, which RFC 9113 has dropped.

mod authority;
mod close_race;
mod command;
mod connection_reuse;
mod expect_continue;
mod first_close;
mod happy_eyeballs;
mod http;
mod judged;
mod observed;
mod play;
mod refused_upload;
mod request_nagle;
mod runs;
mod script;
mod session;
mod window_updates;
mod wire;

#[cfg(target_os = "linux")]
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::{
    collections::BTreeSet, ffi::OsString, io, net::SocketAddr, path::PathBuf, time::Duration,
};

#[cfg(target_os = "linux")]
use ackwise_linux::{PrivateHosts, TunDevice, TunError, device::TunOptions};

#[cfg(target_os = "linux")]
use self::wire::OwnWire;
use self::{
    authority::Authority,
    observed::Observed,
    runs::{Runs, how_it_ended},
    wire::{KernelWire, Wire},
};
use crate::{
    HttpChoice,
    card::{Card, FindingId, Protocol},
};

/// What the caller of [`check_client`] can choose.
#[derive(Debug)]
pub struct ListenOptions {
    /// Where the server listens; in a private network, only the port counts.
    pub address: SocketAddr,
    /// Who the client is.
    pub client: ListenClient,
    /// In which versions of HTTP.
    pub http: HttpChoice,
    /// Only these findings; `None` for all.
    pub only: Option<BTreeSet<FindingId>>,
    /// Time for each run.
    pub time: Duration,
    /// Whose TCP plays the server.
    pub network: ListenNetwork,
    /// Whether it speaks TLS.
    pub tls: ListenTls,
}

/// Who the client is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ListenClient {
    /// A command, program and arguments, which is run for each check. `{url}` in them stands for the server's URL.
    Command(Vec<OsString>),
    /// Whoever connects: one run, which ends after that number of requests. Only what every server would see is graded.
    Any {
        /// How many.
        requests: usize,
    },
}

/// Whether the server speaks TLS.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ListenTls {
    /// HTTP in the clear.
    Off,
    /// With a certificate of a CA made for the run.
    On {
        /// Where its certificate is written, and kept.
        ca_out: Option<PathBuf>,
    },
}

/// Whose TCP plays the server.
#[derive(Debug)]
pub enum ListenNetwork {
    /// The kernel's sockets.
    Host,
    /// Our own, in the private network that the process has entered.
    #[cfg(target_os = "linux")]
    Private {
        /// Its file of names, or why there is none.
        hosts: Result<PrivateHosts, String>,
    },
}

impl ListenNetwork {
    /// Moves this process into a network of its own, for good. To be called before any thread is started.
    ///
    /// # Errors
    ///
    /// If the kernel does not let it.
    pub fn private() -> Result<Self, ListenError> {
        #[cfg(target_os = "linux")]
        return match ackwise_linux::namespace::enter_private_network() {
            Ok(()) => Ok(Self::Private {
                hosts: PrivateHosts::mount().map_err(|error| error.to_string()),
            }),
            Err(error) => Err(ListenError::Network(error.to_string())),
        };
        #[cfg(not(target_os = "linux"))]
        Err(ListenError::Network("only Linux has them".to_owned()))
    }
}

/// What is being done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ListenProgress {
    /// Everything that needs privileges is open.
    Ready,
    /// Any client may connect to this address now.
    Listening(SocketAddr),
    /// Working on a finding.
    Checking(FindingId),
}

/// Whether the check is to go on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Wish {
    /// It is.
    GoOn,
    /// It is to end with what it has found.
    End,
}

/// Checks the client that a command runs, in each version of HTTP that is asked for and that it offers.
///
/// # Errors
///
/// If the server cannot listen, the command cannot be started, or it sends no request in the first run; and if the
/// check is to end before there is anything to report.
pub fn check_client(
    options: &ListenOptions,
    progress: &mut dyn FnMut(ListenProgress) -> Wish,
) -> Result<Vec<Card>, ListenError> {
    let Opened { mut wire, name } = open(options)?;
    progress(ListenProgress::Ready);
    let authority = match &options.tls {
        ListenTls::Off => None,
        ListenTls::On { ca_out } => {
            let names = name.as_ref().ok().copied();
            let ip = wire.address().ip();
            let made = Authority::new(ip, names.as_slice(), ca_out.as_deref());
            Some(made.map_err(ListenError::Authority)?)
        }
    };
    if let ListenClient::Any { .. } = options.client {
        progress(ListenProgress::Listening(wire.address()));
    }
    let mut checking = |id| progress(ListenProgress::Checking(id));
    Runs::new(&mut *wire, name, authority, options, &mut checking).cards()
}

/// A server that listens, and a name with another address that does not answer, or why there is none.
struct Opened {
    wire: Box<dyn Wire>,
    name: Result<&'static str, String>,
}

fn open(options: &ListenOptions) -> Result<Opened, ListenError> {
    let address = options.address;
    let listen = |error| ListenError::Listen(address, error);
    match &options.network {
        ListenNetwork::Host => Ok(Opened {
            wire: Box::new(KernelWire::bind(address).map_err(listen)?),
            name: Err("needs a private network (leave out --host-network)".to_owned()),
        }),
        #[cfg(target_os = "linux")]
        ListenNetwork::Private { hosts } => {
            let without = |error: TunError| ListenError::Network(error.to_string());
            let device = TunDevice::open(TunOptions::default()).map_err(without)?;
            let options = TunOptions { v6: true, ..TunOptions::default() };
            let silent = TunDevice::open_preferred(options).map_err(without)?;
            let name = add_names(hosts, &device, &silent);
            let port = if address.port() == 0 { PRIVATE_PORT } else { address.port() };
            let wire = OwnWire::on(device, silent, port).map_err(listen)?;
            Ok(Opened { wire: Box::new(wire), name })
        }
    }
}

/// Gives [`NAME`] the address that does not answer, and the server's.
#[cfg(target_os = "linux")]
fn add_names(
    hosts: &Result<PrivateHosts, String>,
    device: &TunDevice,
    silent: &TunDevice,
) -> Result<&'static str, String> {
    let hosts =
        hosts.as_ref().map_err(|error| format!("needs an /etc/hosts of its own: {error}"))?;
    let silent = silent.v6().ok_or("needs IPv6, which this host does not have")?.ours;
    let server = device.v4().ours;
    let local: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let names = ["localhost", own.trim()].into_iter().filter(|name| !name.is_empty());
    let entries = names.flat_map(|name| local.map(|it| (it, name)));
    let entries: Vec<_> = entries.chain([(silent.into(), NAME), (server.into(), NAME)]).collect();
    hosts.add(&entries).map_err(|error| format!("cannot write /etc/hosts: {error}"))?;
    Ok(NAME)
}

/// Why a client could not be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// There is no server.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, #[source] io::Error),
    /// There is no private network.
    #[error("cannot make a private network: {0} (--host-network uses kernel sockets instead)")]
    Network(String),
    /// There is no CA.
    #[error("cannot make a CA: {0}")]
    Authority(String),
    /// There is no such program.
    #[error("cannot run {}: {_1}", _0.display())]
    Start(OsString, #[source] io::Error),
    /// It was to end before there was anything to report.
    #[error("interrupted")]
    Interrupted,
    /// Nobody sent a request.
    #[error("no client sent a request within {} s (--timeout)", _0.as_secs_f64())]
    Nobody(Duration),
    /// The first run sent no request.
    #[error("the command {how}{}", said(output))]
    NoRequest {
        /// What it did instead.
        how: String,
        /// Its last lines of output.
        output: String,
    },
}

impl ListenError {
    /// `output` is what the command wrote at last.
    fn no_request(seen: &Observed, wanted: Protocol, limit: Duration, output: String) -> Self {
        let how = how_it_ended(seen.exit, limit);
        let (wanted, other) = match wanted {
            Protocol::Http1 => ("HTTP/1", Protocol::Http2),
            Protocol::Http2 => ("HTTP/2", Protocol::Http1),
        };
        let not_http = seen.connections.iter().find_map(|it| it.not_http.as_deref());
        let what = match (seen.connections.is_empty(), not_http) {
            (true, _) => {
                "never connected to the server (expected it to request {url}, or the URL in ACKWISE_URL)"
                    .to_owned()
            }
            (_, Some(error)) => format!("sent no {wanted} request: {error}"),
            _ if seen.has(other) => {
                format!("sent no {wanted} request, but one in another version (see --http)")
            }
            (_, None) => {
                "connected, and sent no complete request (over TLS, it may not trust the CA: see --ca-out)"
                    .to_owned()
            }
        };
        Self::NoRequest { how: format!("{what}, and {how}"), output }
    }
}

/// What the command wrote at last.
fn said(output: &str) -> String {
    match output.is_empty() {
        true => String::new(),
        false => format!("; its last output: {}", output.replace('\n', " | ")),
    }
}

/// The port in a private network, where all are free.
const PRIVATE_PORT: u16 = 8080;

/// The name with two addresses; RFC 6761, section 6.2, keeps `.test` for such uses.
#[cfg(target_os = "linux")]
const NAME: &str = "ackwise.test";
