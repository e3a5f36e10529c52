//! Runs a link of `ackwise-link` in real time, between two namespaces.
//!
//! Each namespace gets a TUN device with an address in a common network, as if joined by a cable.
//! Packets that the kernel sends into one device are offered to the link; packets that arrive over
//! the link are passed to the kernel by the other device. The model alone determines loss and
//! timing; this module only moves bytes and waits, in one thread. Every [`Report`] includes its
//! lateness.
//!
//! | file | purpose |
//! | --- | --- |
//! | `options` | configuration of the emulated link |
//! | `setup` | devices, addresses and routes on both sides |
//! | `relay_thread` | the thread: sleep, take a turn, stop when asked |
//! | `relay` | one link between two devices: take packets, deliver packets |
//! | `forwarder` | a device, a link, the other device |
//! | `headers` | what a network reads of a packet's headers |
//! | `network` | many links and hosts: packets go from link to link |
//! | `recorder` | what became of each segment in a network, on request |
//! | `holds` | times at which the link delivers nothing |
//! | `log` | what happened to each packet, on request |
//! | `scheduling` | SCHED_RR if permitted |
//! | `processor_watch` | detects pauses of the machine |
//! | `unread` | packets dropped by the kernel because they were not read in time |
//! | `report` | counts and lateness |
//! | `disturbance` | conditions that make a measurement over the link unreliable |
//!
//! Not here: IPv6, whose own packets would disturb the packet count (they are counted and dropped),
//! and headers below IP: a packet's size is that of its IPv4 header, without Ethernet's 14 bytes.
//!
//! ```
//! use std::{net::{TcpListener, TcpStream}, time::{Duration, Instant}};
//! use ackwise_link::LinkConfig;
//! use ackwise_linux::{Emulator, Namespace, emulator::EmulatorOptions};
//!
//! # let (Ok(client), Ok(server)) = (Namespace::create(), Namespace::create()) else {
//! #     return Ok(()); // Needs rights that a documentation test may lack.
//! # };
//! # if let Err(missing) = Emulator::between(&client, &server, &EmulatorOptions::default()) {
//! #     return Ok(eprintln!("{missing}"));
//! # }
//! // let (client, server) = (Namespace::create()?, Namespace::create()?);
//! let link = LinkConfig { delay: Duration::from_millis(10), ..LinkConfig::IDEAL };
//! let emulator = Emulator::between(&client, &server, &EmulatorOptions::symmetric(link))?;
//!
//! let address = emulator.server_address();
//! let listener = server.run(|| TcpListener::bind((address, 0)))??;
//! let target = listener.local_addr()?;
//! let start = Instant::now();
//! client.run(|| TcpStream::connect(target))??;
//! assert!(start.elapsed() >= Duration::from_millis(20), "SYN and SYN-ACK take 10 ms each");
//!
//! let report = emulator.stop()?;
//! assert_eq!(report.to_server.dropped(), 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{io, net::Ipv4Addr};

use crate::{Namespace, NamespaceError, TunError};

mod disturbance;
mod forwarder;
mod headers;
mod holds;
mod log;
mod network;
mod options;
mod processor_watch;
mod recorder;
mod relay;
mod relay_thread;
mod report;
mod scheduling;
mod setup;
mod unread;

pub use disturbance::Disturbance;
pub use log::PacketRecord;
pub use network::{
    EmulatedNetwork, Hosts, NetworkReport, OpenNetwork, Port, Way, Wire, WireReport,
};
pub use options::{CUBIC, EmulatorOptions, Hold, Ways};
pub use processor_watch::{Pauses, ProcessorWatch};
pub use recorder::SegmentRecord;
pub use report::{DirectionReport, Lateness, Report};
pub use scheduling::Scheduling;

use relay::LinkRelay;
use relay_thread::RelayThread;
use setup::Plug;

/// A running link between two namespaces. Dropping it stops it, and removes its devices.
#[derive(Debug)]
#[must_use = "dropping it ends the link"]
pub struct Emulator {
    client: Plug,
    server: Plug,
    thread: RelayThread<Report>,
}

impl Emulator {
    /// Maximum number of bytes in flight in each direction (our choice: a second at 537 Mb/s).
    /// Further packets are dropped and counted as [`DirectionReport::dropped_memory_full`].
    pub const MAX_BYTES_IN_FLIGHT: usize = 64 << 20;

    /// Connects two namespaces by a link.
    ///
    /// The network is a /30 of the benchmarking range (RFC 2544: 198.18.0.0/15) that is free in
    /// both namespaces. Nothing else in them changes; the devices get the next free names (`tun0`).
    ///
    /// # Errors
    ///
    /// If the kernel refuses. The message names the missing permission and how to grant it. All
    /// changes are undone then.
    pub fn between(
        client: &Namespace,
        server: &Namespace,
        options: &EmulatorOptions,
    ) -> Result<Self, EmulatorError> {
        let ends = setup::connect(client, server, options)?;
        let (client, server) = (ends.client.plug(), ends.server.plug());
        let thread = RelayThread::start("link", LinkRelay::new(ends, options));
        Ok(Self { client, server, thread: thread.map_err(EmulatorError::Thread)? })
    }

    /// Address of the client's end.
    #[must_use]
    pub const fn client_address(&self) -> Ipv4Addr {
        self.client.address
    }

    /// Address of the server's end.
    #[must_use]
    pub const fn server_address(&self) -> Ipv4Addr {
        self.server.address
    }

    /// Name of the device in the client's namespace, such as `tun0`, for captures.
    #[must_use]
    pub fn client_device(&self) -> &str {
        &self.client.device
    }

    /// Name of the device in the server's namespace.
    #[must_use]
    pub fn server_device(&self) -> &str {
        &self.server.device
    }

    /// Stops the link. Packets in flight are lost, and counted in the report.
    ///
    /// # Errors
    ///
    /// If the link had already ended, because a device was removed or set down.
    ///
    /// # Panics
    ///
    /// If its thread panicked.
    pub fn stop(self) -> Result<Report, EmulatorError> {
        self.thread.stop()
    }
}

/// Why a link could not run. The host's settings or the options are at fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulatorError {
    /// Both ends are in one namespace, in which the kernel would not use the link.
    #[error("cannot emulate a link: client and server are in one namespace (expected two)")]
    OneNamespace,
    /// A namespace could not be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A device could not be created.
    #[error(transparent)]
    Device(#[from] TunError),
    /// The kernel rejected the route with the congestion control.
    #[error(
        "cannot set congestion control `{name}`: {source}; load it with `modprobe tcp_{name}`, or choose \
         one of /proc/sys/net/ipv4/tcp_available_congestion_control"
    )]
    CongestionControl {
        /// The requested algorithm.
        name: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// A device could not be given the addresses or the route of a network.
    #[error("cannot give a device its addresses: {0}")]
    Address(#[source] io::Error),
    /// A thread, a timer or the statistics are not available.
    #[error("cannot start the link emulator: {0}")]
    Thread(#[source] io::Error),
    /// A device was removed or set down while the link ran.
    #[error("emulated link stopped: {0}")]
    Ended(#[source] io::Error),
}
