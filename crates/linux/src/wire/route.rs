//! Where a server is found from the TUN device, and what of the host must be changed for that.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpStream},
    time::{Duration, Instant},
};

use ackwise_tcp::{Config, Endpoint, Policies, State};

use super::{is_local, poll};
use crate::{
    HostChanges, TunError, TunStack,
    host_changes::{Change, HostChangeError},
    stack::Tap,
};

/// Whether the host may be changed, and who hears of it before it happens.
pub enum Changes<'a> {
    /// Nothing outside the device.
    Forbidden,
    /// What is needed; each change is announced before it is made, and undone in the end.
    Announced(&'a mut dyn FnMut(&Change)),
}

/// Why our own TCP cannot reach a server here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RouteError {
    /// There is no TUN device.
    #[error(transparent)]
    Device(#[from] TunError),
    /// A system call failed.
    #[error("cannot use the TUN device: {0}")]
    System(io::Error),
    /// The way there needs a change that is not allowed.
    #[error("cannot reach {server} from the TUN device: {why} (--allow-host-changes permits this)")]
    Forbidden {
        /// The server.
        server: SocketAddr,
        /// What would have to be changed.
        why: &'static str,
    },
    /// The way is there, but nobody answers on it.
    #[error(
        "cannot connect to {server} from the TUN device: no reply within {waited:.1?} (a firewall may drop the SYN)"
    )]
    Silent {
        /// The server.
        server: SocketAddr,
        /// How long was waited.
        waited: Duration,
    },
    /// A change failed.
    #[error(transparent)]
    Change(#[from] HostChangeError),
    /// `[::1]` is never routed.
    #[error("cannot reach {0} from the TUN device: it is never routed (expected the kernel stack)")]
    LoopbackV6(SocketAddr),
    /// The kernel's own connection is refused too.
    #[error("cannot connect to {0}: connection refused (no server is listening on that port)")]
    Refused(SocketAddr),
}

impl RouteError {
    /// Whether the kernel's TCP would reach the server all the same.
    pub fn spares_the_kernel(&self) -> bool {
        matches!(self, Self::Device(_) | Self::Forbidden { .. } | Self::LoopbackV6(_))
    }
}

/// The address at which the device finds `server`, and the changes that make it so.
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

/// A server on all addresses is also found at the host's end of the device.
fn find_on_loopback(
    tun: &mut TunStack,
    server: SocketAddr,
    changes: Changes<'_>,
) -> Result<(SocketAddr, Option<HostChanges>), RouteError> {
    if server.is_ipv6() {
        return Err(RouteError::LoopbackV6(server));
    }
    let peer = SocketAddr::new(tun.device().v4().host.into(), server.port());
    if server.ip() == Ipv4Addr::LOCALHOST {
        match knock(tun, peer).map_err(RouteError::System)? {
            Knock::Open => return Ok((peer, None)),
            Knock::Silent => return Err(RouteError::Silent { server, waited: KNOCK_LIMIT }),
            Knock::Refused => {}
        }
    }
    if kernel_is_refused(server) {
        return Err(RouteError::Refused(server));
    }
    let Changes::Announced(announce) = changes else {
        let why = "a server that listens only on loopback needs address translation";
        return Err(RouteError::Forbidden { server, why });
    };
    let made = HostChanges::reach_loopback(tun.device(), server.port(), announce)?;
    Ok((peer, Some(made)))
}

/// Whether nothing listens at `server`: the device cannot tell that from a server on loopback only.
fn kernel_is_refused(server: SocketAddr) -> bool {
    let connected = TcpStream::connect_timeout(&server, CONNECT_LIMIT);
    connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// What a SYN brings.
enum Knock {
    /// A SYN-ACK.
    Open,
    /// An RST: nothing listens there.
    Refused,
    /// Nothing.
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

/// Our port may be one that the server still remembers in TIME-WAIT: then the first SYN draws an ACK,
/// our RST clears it, and the second SYN, a second later, is answered. The rest is for a busy machine.
const KNOCK_LIMIT: Duration = Duration::from_secs(4);

/// Loopback answers at once, or its backlog is full and the server is there.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);
