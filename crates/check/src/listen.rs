//! Checks of a client: runs its command as often as the checks need, in each version of HTTP.

mod cards;

#[cfg(target_os = "linux")]
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::{collections::BTreeSet, net::SocketAddr, path::PathBuf, time::Duration};

#[cfg(target_os = "linux")]
use ackwise_linux::{PrivateHosts, TunDevice, TunError, device::TunOptions};

pub use crate::client::{ListenClient, ListenError, Wish};

use self::cards::cards;
#[cfg(target_os = "linux")]
use crate::client::wire::OwnWire;
use crate::{
    HttpChoice,
    card::{Card, CheckId},
    client::{
        authority::Authority,
        runs::Setting,
        wire::{KernelWire, Wire},
    },
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
    /// Only these checks; `None` for all.
    pub only: Option<BTreeSet<CheckId>>,
    /// Time for each run.
    pub time: Duration,
    /// Whose TCP plays the server.
    pub network: ListenNetwork,
    /// Whether it speaks TLS.
    pub tls: ListenTls,
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
    /// Making a check.
    Checking(CheckId),
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
    let Opened { wire, name } = open(options)?;
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
    let setting = Setting {
        wire,
        name,
        authority,
        client: &options.client,
        address: options.address,
        time: options.time,
    };
    cards(setting, options, &mut |id| progress(ListenProgress::Checking(id)))
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

/// The port in a private network, where all are free.
const PRIVATE_PORT: u16 = 8080;

/// The name with two addresses; RFC 6761, section 6.2, keeps `.test` for such uses.
#[cfg(target_os = "linux")]
const NAME: &str = "ackwise.test";
