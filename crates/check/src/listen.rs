//! Checks of a client: Ackwise plays the server, runs the client's command once for each check, and grades what it did.
//!
//! | file | purpose |
//! | --- | --- |
//! | `command` | the client's command |
//! | `wire` | the server's TCP: the kernel's, or our own on a TUN device |
//! | `script` | what the server does in a check |
//! | `play` | one run: the script on the wire, and the record of it |
//! | `observed` | the record |
//! | `session`, `authority` | TLS, and the CA of a run |
//! | `request_nagle`, … | one file for each check: a pure function from the record to the finding |
//!
//! Not here: HTTP/2. A client that speaks only that is told so.

mod authority;
mod close_race;
mod command;
mod connection_reuse;
mod expect_continue;
mod first_close;
mod happy_eyeballs;
mod judged;
mod observed;
mod play;
mod refused_upload;
mod request_nagle;
mod script;
mod session;
mod wire;

#[cfg(target_os = "linux")]
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::{
    collections::BTreeSet, ffi::OsString, io, net::SocketAddr, path::PathBuf, sync::Arc,
    time::Duration,
};

use ackwise_cause::Role;
#[cfg(target_os = "linux")]
use ackwise_linux::{PrivateHosts, TunDevice, TunError, device::TunOptions};

#[cfg(target_os = "linux")]
use self::wire::OwnWire;
use self::{
    authority::Authority,
    command::Running,
    observed::{Exit, Observed},
    play::{End, Player},
    script::Script,
    wire::{KernelWire, Wire},
};
use crate::card::{Card, Finding, FindingId, Protocol, Reason, Verdict};

/// What the caller of [`check_client`] can choose.
#[derive(Debug)]
pub struct ListenOptions {
    /// Where the server listens; in a private network, only the port counts.
    pub address: SocketAddr,
    /// Who the client is.
    pub client: ListenClient,
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

/// What is being done: a check of the client, or a pause in which the caller may give up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ListenProgress {
    /// Everything that needs privileges is open.
    Ready,
    /// Any client may connect to this address now.
    Listening(SocketAddr),
    /// Working on a finding.
    Checking(FindingId),
    /// Nothing new.
    Waiting,
}

/// Checks the client that a command runs.
///
/// # Errors
///
/// If the server cannot listen, the command cannot be started, or it sends no HTTP/1 request in the first run.
pub fn check_client(
    options: &ListenOptions,
    progress: &mut dyn FnMut(ListenProgress),
) -> Result<Card, ListenError> {
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
    let mut runs = Runs { wire: &mut *wire, name, authority, options, plain: None, begun: false };
    let wants = |id: &FindingId| options.only.as_ref().is_none_or(|only| only.contains(id));
    let mut findings = Vec::new();
    if let ListenClient::Any { .. } = options.client {
        progress(ListenProgress::Listening(runs.wire.address()));
    }
    for id in FindingId::of(Role::Client).filter(wants) {
        progress(ListenProgress::Checking(id));
        findings.push(runs.finding(id, &mut || progress(ListenProgress::Waiting))?);
    }
    let name = wire.name();
    let target = match &options.client {
        ListenClient::Command(words) => {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            words.join(" ")
        }
        ListenClient::Any { .. } => format!("a client of {}", wire.address()),
    };
    Ok(Card {
        target,
        protocol: Protocol::Http1,
        role: Role::Client,
        server: None,
        status: None,
        grpc_status: None,
        stack: name,
        server_congestion: None,
        notes: Vec::new(),
        emulated: None,
        findings,
    })
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
    let local = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let entries = local.map(|it: IpAddr| (it, "localhost")).into_iter();
    let entries: Vec<_> = entries.chain([(silent.into(), NAME), (server.into(), NAME)]).collect();
    hosts.add(&entries).map_err(|error| format!("cannot write /etc/hosts: {error}"))?;
    Ok(NAME)
}

/// The runs of one command.
struct Runs<'a> {
    wire: &'a mut dyn Wire,
    name: Result<&'static str, String>,
    authority: Option<Authority>,
    options: &'a ListenOptions,
    /// A run with a plain server, which several checks judge.
    plain: Option<Observed>,
    /// Whether the command has sent a request.
    begun: bool,
}

impl Runs<'_> {
    fn finding(
        &mut self,
        id: FindingId,
        progress: &mut dyn FnMut(),
    ) -> Result<Finding, ListenError> {
        if let ListenClient::Any { .. } = self.options.client {
            let seen = self.plain(progress)?;
            return Ok(match id {
                FindingId::RequestNagle => request_nagle::judge(std::slice::from_ref(seen)),
                FindingId::ConnectionReuse => connection_reuse::judge(seen),
                FindingId::FirstClose => first_close::judge(seen),
                _ => judged::not_applicable(id, "needs a COMMAND that can be run for this check"),
            });
        }
        Ok(match id {
            FindingId::RequestNagle => self.request_nagle(progress)?,
            FindingId::ExpectContinue => {
                expect_continue::judge(&self.run(Script::WithholdsContinue, 0, progress)?)
            }
            FindingId::ConnectionReuse => connection_reuse::judge(self.plain(progress)?),
            FindingId::FirstClose => first_close::judge(self.plain(progress)?),
            FindingId::CloseRace => {
                let raced = self.run(Script::ClosesReused, 0, progress)?;
                let found = close_race::judge(self.plain(progress)?, &raced);
                match found.verdict {
                    // A client that sends more or less of its own accord is no judge of that.
                    Verdict::Warn => {
                        let again = self.run(Script::Plain, 0, progress)?;
                        close_race::confirm(found, self.plain(progress)?, &again)
                    }
                    _ => found,
                }
            }
            FindingId::RefusedUpload => {
                refused_upload::judge(&self.run(Script::RefusesUploads, 0, progress)?)
            }
            FindingId::HappyEyeballs => match self.name.clone() {
                Ok(name) => {
                    let url = format!("{}://{name}:{}/", self.scheme(), self.wire.address().port());
                    happy_eyeballs::judge(&self.run_with(&url, Script::Plain, 0, progress)?)
                }
                Err(why) => judged::unknown(id, Reason::Stack, why),
            },
            _ => judged::not_applicable(id, "it grades servers"),
        })
    }

    /// One request is too few if it seemed to wait: then the command runs again.
    fn request_nagle(&mut self, progress: &mut dyn FnMut()) -> Result<Finding, ListenError> {
        let mut runs = Vec::new();
        while runs.len() < MOST_RUNS {
            let earlier = runs.iter().flat_map(Observed::requests).count();
            runs.push(self.run(Script::DelaysAcks, earlier, progress)?);
            if !request_nagle::is_open(&runs) {
                break;
            }
        }
        Ok(request_nagle::judge(&runs))
    }

    fn plain(&mut self, progress: &mut dyn FnMut()) -> Result<&Observed, ListenError> {
        if self.plain.is_none() {
            let script = match self.options.client {
                ListenClient::Command(_) => Script::Plain,
                // There is one run for all checks.
                ListenClient::Any { .. } => Script::DelaysAcks,
            };
            self.plain = Some(self.run(script, 0, progress)?);
        }
        Ok(self.plain.as_ref().expect("it was run just now"))
    }

    /// Runs the command once, after `earlier` requests in the same check.
    fn run(
        &mut self,
        script: Script,
        earlier: usize,
        progress: &mut dyn FnMut(),
    ) -> Result<Observed, ListenError> {
        let url = format!("{}://{}/", self.scheme(), self.wire.address());
        self.run_with(&url, script, earlier, progress)
    }

    fn scheme(&self) -> &'static str {
        if self.authority.is_some() { "https" } else { "http" }
    }

    fn run_with(
        &mut self,
        url: &str,
        script: Script,
        earlier: usize,
        progress: &mut dyn FnMut(),
    ) -> Result<Observed, ListenError> {
        let trust = self.authority.as_ref().map(Authority::variables).unwrap_or_default();
        let tls = self.authority.as_ref().map(|it| Arc::clone(&it.server));
        let mut running = None;
        let end = match &self.options.client {
            ListenClient::Any { requests } => End::Requests(*requests),
            ListenClient::Command(command) => {
                let program = || command.first().cloned().unwrap_or_default();
                let started = Running::start(command, url, &trust)
                    .map_err(|error| ListenError::Start(program(), error))?;
                End::Command(running.insert(started))
            }
        };
        let player = Player::new(&mut *self.wire, script, tls, earlier);
        let seen = player
            .run(end, self.options.time, progress)
            .map_err(|error| ListenError::Listen(self.options.address, error))?;
        let silent = seen.unanswered_syns.is_empty() && seen.requests().next().is_none();
        if !self.begun && silent {
            let output = running.as_ref().map(Running::last_lines);
            return Err(ListenError::no_request(&seen, self.options.time, output));
        }
        self.begun = true;
        Ok(seen)
    }
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
    /// Nobody sent a request.
    #[error("no client sent an HTTP/1 request within {} s (--timeout)", _0.as_secs_f64())]
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
    /// `output` is what the command wrote at last, if there was one.
    fn no_request(seen: &Observed, limit: Duration, output: Option<String>) -> Self {
        let Some(output) = output else {
            return Self::Nobody(limit);
        };
        let how = match seen.exit {
            Some(Exit::Success) => "exited with 0".to_owned(),
            Some(Exit::Failure(Some(code))) => format!("exited with {code}"),
            Some(Exit::Failure(None)) => "was ended by a signal".to_owned(),
            None => format!("did not end within {} s (--timeout)", limit.as_secs_f64()),
        };
        let not_http = seen.connections.iter().find_map(|it| it.not_http.as_deref());
        let what = match (seen.connections.is_empty(), not_http) {
            (true, _) => {
                "never connected to the server (expected it to request {url}, or the URL in ACKWISE_URL)"
                    .to_owned()
            }
            (_, Some(error)) => format!("sent no HTTP/1 request: {error}"),
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

/// Runs of one check, if requests of the first seemed to wait. Our choice: three requests have three ACK delays.
const MOST_RUNS: usize = 4;

/// The port in a private network, where all are free.
const PRIVATE_PORT: u16 = 8080;

/// The name with two addresses; RFC 6761, section 6.2, keeps `.test` for such uses.
#[cfg(target_os = "linux")]
const NAME: &str = "ackwise.test";
