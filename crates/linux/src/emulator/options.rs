//! Configuration of the emulated link.

use std::time::Duration;

use ackwise_link::{LinkConfig, Seed};

/// Configuration of the emulated link and its hosts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EmulatorOptions {
    /// From client to server. Its seed is ignored: see [`seed`](Self::seed).
    pub to_server: LinkConfig,
    /// From server to client. Its seed is ignored.
    pub to_client: LinkConfig,
    /// Seed of the random faults, split into `seed.named("to server")` and `seed.named("to
    /// client")`: the same packets in the same order get the same faults.
    pub seed: Seed,
    /// Congestion control of all connections over the link, in both directions; programs cannot
    /// override it. `None` leaves it to the kernel and the programs.
    pub congestion_control: Option<String>,
    /// Maximum packet size in bytes, IP header included. A TCP segment has 40 bytes less, or 52
    /// less with timestamps.
    pub mtu: u16,
    /// Times at which nothing is delivered, as on a path that stalls. In order, and not overlapping.
    pub holds: Vec<Hold>,
    /// Whether to keep a [`PacketRecord`](super::PacketRecord) of each packet.
    pub log: bool,
}

/// A time without deliveries: packets that arrive within it are delivered at its end. Counts from
/// the start of the link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Hold {
    /// Beginning.
    pub from: Duration,
    /// End.
    pub until: Duration,
    /// The directions in which it holds.
    pub ways: Ways,
}

/// Directions of a link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ways {
    /// To the server and to the client.
    Both,
    /// From client to server only.
    ToServer,
    /// From server to client only.
    ToClient,
}

impl Ways {
    /// Whether this direction is one of them.
    #[expect(clippy::fn_params_excessive_bools, reason = "the direction, as the fields have it")]
    pub(super) const fn has(self, to_server: bool) -> bool {
        match self {
            Self::Both => true,
            Self::ToServer => to_server,
            Self::ToClient => !to_server,
        }
    }
}

impl EmulatorOptions {
    /// The same link in both directions, and defaults.
    #[must_use]
    pub fn symmetric(link: LinkConfig) -> Self {
        Self { to_server: link.clone(), to_client: link, ..Self::default() }
    }

    /// The links to the server and to the client, each with its own seed.
    pub(super) fn seeded_links(&self) -> [LinkConfig; 2] {
        let seeded =
            |link: &LinkConfig, name| LinkConfig { seed: self.seed.named(name), ..link.clone() };
        [seeded(&self.to_server, "to server"), seeded(&self.to_client, "to client")]
    }
}

impl Default for EmulatorOptions {
    /// A link without delay, rate limit and faults; an MTU of 1500 bytes as on Ethernet; CUBIC,
    /// because a kernel may default to something else (RFC 9438: it is "the default TCP congestion
    /// control algorithm in Linux, Windows, and Apple stacks").
    fn default() -> Self {
        Self {
            to_server: LinkConfig::IDEAL,
            to_client: LinkConfig::IDEAL,
            seed: Seed(0),
            congestion_control: Some(CUBIC.to_owned()),
            mtu: 1500,
            holds: Vec::new(),
            log: false,
        }
    }
}

/// The kernel's name for RFC 9438.
pub const CUBIC: &str = "cubic";
