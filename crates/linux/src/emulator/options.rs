//! What is emulated.

use ackwise_link::{LinkConfig, Seed};

/// What is emulated, and between what kind of hosts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EmulatorOptions {
    /// From client to server. Its own seed is not used: see [`seed`](Self::seed).
    pub to_server: LinkConfig,
    /// From server to client. Its own seed is not used.
    pub to_client: LinkConfig,
    /// Where the random faults of both directions begin, at `seed.named("to server")` and
    /// `seed.named("to client")`: the same packets in the same order meet the same fate.
    pub seed: Seed,
    /// The congestion control of all connections over the link, from both sides, whatever the programs ask
    /// for. `None` leaves it to the kernel and the programs.
    pub congestion_control: Option<String>,
    /// Largest packet in bytes, IP header included. A TCP segment has 40 bytes less, or 52 less with
    /// time stamps.
    pub mtu: u16,
}

impl EmulatorOptions {
    /// The same link in both directions; else the default.
    #[must_use]
    pub fn symmetric(link: LinkConfig) -> Self {
        Self { to_server: link.clone(), to_client: link, ..Self::default() }
    }

    /// To the server and to the client, each with dice of its own.
    pub(super) fn seeded_links(&self) -> [LinkConfig; 2] {
        let seeded =
            |link: &LinkConfig, name| LinkConfig { seed: self.seed.named(name), ..link.clone() };
        [seeded(&self.to_server, "to server"), seeded(&self.to_client, "to client")]
    }
}

impl Default for EmulatorOptions {
    /// A link without delay, limits and faults; an MTU of 1500 bytes as on Ethernet; CUBIC, because a
    /// kernel may default to something else (RFC 9438: it is "the default TCP congestion control algorithm
    /// in Linux, Windows, and Apple stacks").
    fn default() -> Self {
        Self {
            to_server: LinkConfig::IDEAL,
            to_client: LinkConfig::IDEAL,
            seed: Seed(0),
            congestion_control: Some(CUBIC.to_owned()),
            mtu: 1500,
        }
    }
}

/// The kernel's name of RFC 9438.
pub const CUBIC: &str = "cubic";
