//! Checks of a client: Ackwise plays the server, runs the client's command once for each check, and grades what it did.
//!
//! | file | purpose |
//! | --- | --- |
//! | `command` | the client's command |
//! | `wire` | the server's TCP: the kernel's, or our own on a TUN device |
//! | `script` | what the server does in a check |
//! | `play` | one run: the script on the wire, and the record of it |
//! | `observed` | the record |
//! | `request_nagle`, … | one file for each check: a pure function from the record to the finding |
//!
//! Not here: HTTP/2 and TLS. A client that speaks them sends no HTTP/1, and is told so.

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
mod wire;

use std::{collections::BTreeSet, ffi::OsString, io, net::SocketAddr, time::Duration};

use ackwise_cause::Role;

use self::{
    command::Running,
    observed::{Exit, Observed},
    play::Player,
    script::Script,
    wire::{KernelWire, Wire},
};
use crate::card::{Card, Finding, FindingId, Reason};

/// What the caller of [`check_client`] can choose.
#[derive(Clone, Debug)]
pub struct ListenOptions {
    /// Where the server listens; in a private network, only the port counts.
    pub address: SocketAddr,
    /// The client's command: program and arguments. `{url}` in them stands for the server's URL.
    pub command: Vec<OsString>,
    /// Only these findings; `None` for all.
    pub only: Option<BTreeSet<FindingId>>,
    /// Time for each run of the command.
    pub time: Duration,
    /// Whose TCP plays the server.
    pub network: ListenNetwork,
}

/// Whose TCP plays the server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ListenNetwork {
    /// The kernel's sockets.
    Host,
    /// Our own, in the private network that the process has entered.
    Private,
}

/// What is being done: a check of the client, or a pause in which the caller may give up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ListenProgress {
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
    let mut wire = open(options)?;
    let mut runs = Runs { wire: &mut *wire, options, plain: None, begun: false };
    let wants = |id: &FindingId| options.only.as_ref().is_none_or(|only| only.contains(id));
    let mut findings = Vec::new();
    for id in FindingId::of(Role::Client).filter(wants) {
        progress(ListenProgress::Checking(id));
        findings.push(runs.finding(id, &mut || progress(ListenProgress::Waiting))?);
    }
    let name = wire.name();
    let words: Vec<_> = options.command.iter().map(|word| word.to_string_lossy()).collect();
    Ok(Card {
        target: words.join(" "),
        role: Role::Client,
        server: None,
        status: None,
        stack: name,
        server_congestion: None,
        notes: Vec::new(),
        emulated: None,
        findings,
    })
}

fn open(options: &ListenOptions) -> Result<Box<dyn Wire>, ListenError> {
    let address = options.address;
    let listen = |error| ListenError::Listen(address, error);
    match options.network {
        ListenNetwork::Host => Ok(Box::new(KernelWire::bind(address).map_err(listen)?)),
        #[cfg(target_os = "linux")]
        ListenNetwork::Private => {
            let device =
                ackwise_linux::TunDevice::open(ackwise_linux::device::TunOptions::default())
                    .map_err(|error| ListenError::Network(error.to_string()))?;
            let port = if address.port() == 0 { PRIVATE_PORT } else { address.port() };
            Ok(Box::new(wire::OwnWire::on(device, port).map_err(listen)?))
        }
        #[cfg(not(target_os = "linux"))]
        ListenNetwork::Private => Err(ListenError::Network("only Linux has them".to_owned())),
    }
}

/// The runs of one command.
struct Runs<'a> {
    wire: &'a mut dyn Wire,
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
        Ok(match id {
            FindingId::RequestNagle => self.request_nagle(progress)?,
            FindingId::ExpectContinue => {
                expect_continue::judge(&self.run(Script::WithholdsContinue, 0, progress)?)
            }
            FindingId::ConnectionReuse => connection_reuse::judge(self.plain(progress)?),
            FindingId::FirstClose => first_close::judge(self.plain(progress)?),
            FindingId::CloseRace => {
                let raced = self.run(Script::ClosesReused, 0, progress)?;
                close_race::judge(self.plain(progress)?, &raced)
            }
            FindingId::RefusedUpload => {
                refused_upload::judge(&self.run(Script::RefusesUploads, 0, progress)?)
            }
            FindingId::HappyEyeballs => {
                let why = "needs a private network (not with --host-network)";
                judged::unknown(id, Reason::Stack, why)
            }
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
            self.plain = Some(self.run(Script::Plain, 0, progress)?);
        }
        Ok(self.plain.as_ref().expect("it was run just now"))
    }

    /// Runs the command once.
    fn run(
        &mut self,
        script: Script,
        earlier: usize,
        progress: &mut dyn FnMut(),
    ) -> Result<Observed, ListenError> {
        let url = format!("http://{}/", self.wire.address());
        let program = || self.options.command.first().cloned().unwrap_or_default();
        let mut running = Running::start(&self.options.command, &url)
            .map_err(|error| ListenError::Start(program(), error))?;
        let player = Player::new(&mut *self.wire, script, earlier);
        let seen = player
            .run(&mut running, self.options.time, progress)
            .map_err(|error| ListenError::Listen(self.options.address, error))?;
        if !self.begun && seen.requests().next().is_none() {
            return Err(ListenError::no_request(&seen, self.options.time, running.last_lines()));
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
    /// There is no such program.
    #[error("cannot run {}: {_1}", _0.display())]
    Start(OsString, #[source] io::Error),
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
    fn no_request(seen: &Observed, limit: Duration, output: String) -> Self {
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
            (_, Some(error)) => format!("sent something that is not HTTP/1: {error}"),
            (_, None) => "connected, and sent no complete request".to_owned(),
        };
        Self::NoRequest { how: format!("{what}, and {how}"), output }
    }
}

/// What the command wrote at last.
fn said(output: &str) -> String {
    match output.is_empty() {
        true => String::new(),
        false => format!("; its last output:\n{output}"),
    }
}

/// Runs of one check, if requests of the first seemed to wait. Our choice: three requests have three ACK delays.
const MOST_RUNS: usize = 4;

/// The port in a private network, where all are free.
const PRIVATE_PORT: u16 = 8080;
