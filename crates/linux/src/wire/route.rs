//! Finds the route from the TUN device to a server, and the changes to the host that it needs.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use ackwise_tcp::{Config, Endpoint, Policies, State};

use super::{is_local, poll};
use crate::{
    HostChanges, TunError, TunStack,
    host_changes::{Change, HostChangeError},
    stack::Tap,
};

/// Whether the host may be changed, and how changes are announced.
pub enum Changes<'a> {
    /// No changes outside the device.
    Forbidden,
    /// Necessary changes; each is announced first, and undone at the end.
    Announced(&'a mut dyn FnMut(&Change)),
}

/// Why Ackwise's TCP cannot reach a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// The TUN device is not available.
    #[error(transparent)]
    Device(#[from] TunError),
    /// A system call failed.
    #[error("cannot use the TUN device: {0}")]
    System(io::Error),
    /// The route needs a change that is not allowed.
    #[error(
        "cannot reach {server} from the TUN device: {why} (--allow-host-changes permits this, as root)"
    )]
    Forbidden {
        /// The server.
        server: SocketAddr,
        /// The necessary change.
        why: &'static str,
    },
    /// The route exists, but there is no reply.
    #[error(
        "cannot connect to {server} from the TUN device: no reply within {waited:.1?} (a firewall may drop the SYN)"
    )]
    Silent {
        /// The server.
        server: SocketAddr,
        /// The time waited.
        waited: Duration,
    },
    /// A change failed.
    #[error(transparent)]
    Change(#[from] HostChangeError),
    /// `[::1]` is never forwarded.
    #[error(
        "cannot reach {0} from the TUN device: a server that listens only on [::1] is never routed to (expected the \
         kernel stack, or a server that listens on all addresses)"
    )]
    LoopbackV6(SocketAddr),
    /// The kernel's own connection was also refused.
    #[error("cannot connect to {0}: connection refused (no server is listening on that port)")]
    Refused(SocketAddr),
}

impl RouteError {
    /// Whether the kernel's TCP could still reach the server.
    pub fn spares_the_kernel(&self) -> bool {
        matches!(self, Self::Device(_) | Self::Forbidden { .. } | Self::LoopbackV6(_))
    }
}

/// The address at which the device reaches `server`, and the changes for it.
pub(super) fn find(
    tun: &mut TunStack,
    server: SocketAddr,
    changes: Changes<'_>,
) -> Result<(SocketAddr, Option<HostChanges>), RouteError> {
    if server.ip().is_loopback() {
        return find_on_loopback(tun, server, changes);
    }
    if is_local(server) {
        return Ok((server, None));
    }
    let Changes::Announced(announce) = changes else {
        let why = "another host needs IP forwarding and masquerading";
        return Err(RouteError::Forbidden { server, why });
    };
    let made = HostChanges::reach_remote(tun.device(), server, announce)?;
    Ok((server, Some(made)))
}

/// A server that listens on all addresses is also reachable at the host's end of the device.
fn find_on_loopback(
    tun: &mut TunStack,
    server: SocketAddr,
    changes: Changes<'_>,
) -> Result<(SocketAddr, Option<HostChanges>), RouteError> {
    let host = match server {
        SocketAddr::V4(_) => Some(tun.device().v4().host.into()),
        SocketAddr::V6(_) => tun.device().v6().map(|addresses| addresses.host.into()),
    };
    let host: IpAddr = host.ok_or(RouteError::LoopbackV6(server))?;
    let peer = SocketAddr::new(host, server.port());
    if server.ip() == Ipv4Addr::LOCALHOST || server.is_ipv6() {
        match knock(tun, peer).map_err(RouteError::System)? {
            Knock::Open => return Ok((peer, None)),
            Knock::Silent => return Err(RouteError::Silent { server, waited: KNOCK_LIMIT }),
            Knock::Refused => {}
        }
    }
    if kernel_is_refused(server) {
        return Err(RouteError::Refused(server));
    }
    if server.is_ipv6() {
        return Err(RouteError::LoopbackV6(server));
    }
    let Changes::Announced(announce) = changes else {
        let why = "a server that listens only on loopback needs address translation";
        return Err(RouteError::Forbidden { server, why });
    };
    let made = HostChanges::reach_loopback(tun.device(), server.port(), announce)?;
    Ok((peer, Some(made)))
}

/// Whether `server` has no listener: from the device this looks the same as a listener on loopback
/// only.
fn kernel_is_refused(server: SocketAddr) -> bool {
    let connected = TcpStream::connect_timeout(&server, CONNECT_LIMIT);
    connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Response to a SYN.
enum Knock {
    /// A SYN-ACK.
    Open,
    /// An RST: no listener.
    Refused,
    /// No response.
    Silent,
}

fn knock(tun: &mut TunStack, peer: SocketAddr) -> io::Result<Knock> {
    let deadline = Instant::now() + KNOCK_LIMIT;
    let config = Config::new(Policies::RFC);
    let id = tun.connect(peer, config, Tap::Off).map_err(io::Error::other)?;
    let state = loop {
        poll(tun, deadline)?;
        let state = tun.endpoint(id).map_or(State::Closed, Endpoint::state);
        if state != State::SynSent || Instant::now() >= deadline {
            break state;
        }
    };
    tun.abort(id);
    tun.release(id);
    Ok(match state {
        State::Closed => Knock::Refused,
        State::SynSent => Knock::Silent,
        _ => Knock::Open,
    })
}

/// Maximum wait for a response (our choice). The server may still hold the local port in TIME-WAIT:
/// the first SYN then gets an ACK, the RST clears the state, and the second SYN is answered a
/// second later. The rest is a margin for a busy machine.
const KNOCK_LIMIT: Duration = Duration::from_secs(4);

/// Timeout of the kernel's connection on loopback (our choice). A longer wait means that the
/// backlog of an existing listener is full.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);
