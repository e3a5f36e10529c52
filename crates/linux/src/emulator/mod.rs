//! The link of `ackwise-link` in real time, between two namespaces.
//!
//! Each namespace gets a TUN device with an address in one network, as if a cable joined them. What the
//! kernel sends into one device is offered to the link; what arrives by the link is handed to the kernel
//! by the other device. The model alone decides the fate and the time of a packet: this here moves bytes
//! and waits, in one thread. How late it was is part of every [`Report`].
//!
//! | file | one idea |
//! | --- | --- |
//! | `options` | what is emulated |
//! | `setup` | devices, addresses and routes on both sides |
//! | `relay` | the thread: sleep, take packets, deliver packets |
//! | `forwarder` | a device, a link, the other device |
//! | `scheduling` | SCHED_RR where that is allowed |
//! | `processor_watch` | whether the machine itself paused |
//! | `unread` | what the kernel dropped because we did not read it in time |
//! | `report` | what happened, and how late we were |
//! | `disturbance` | what may make a measurement over the link unreliable |
//!
//! Left out: IPv6, which would disturb the count of packets with its own (they are counted, and stay
//! here), and headers below IP: a packet is as large as its IPv4 header says, without Ethernet's 14 bytes.
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

use std::{io, net::Ipv4Addr, sync::Arc, thread::JoinHandle};

use crate::{Namespace, NamespaceError, TunError};

mod disturbance;
mod forwarder;
mod options;
mod processor_watch;
mod relay;
mod report;
mod scheduling;
mod setup;
mod unread;

pub use disturbance::Disturbance;
pub use options::{CUBIC, EmulatorOptions};
pub use processor_watch::ProcessorWatch;
pub use report::{DirectionReport, Lateness, Report};
pub use scheduling::Scheduling;

use relay::Stop;
use setup::Plug;

/// A running link between two namespaces. Dropping it stops it, and removes its devices.
#[derive(Debug)]
#[must_use = "dropping it ends the link"]
pub struct Emulator {
    client: Plug,
    server: Plug,
    stop: Arc<Stop>,
    /// `None` once it was joined.
    relay: Option<JoinHandle<io::Result<Report>>>,
}

impl Emulator {
    /// The most bytes in flight in each direction; further packets are dropped, and counted as
    /// [`DirectionReport::dropped_memory_full`]. Ours: a second at 537 Mb/s.
    pub const MAX_BYTES_IN_FLIGHT: usize = 64 << 20;

    /// Joins two namespaces by a link.
    ///
    /// The network is a /30 of the benchmarking range (RFC 2544: 198.18.0.0/15) that is free in both. The
    /// rest of the namespaces is left as it is; the devices' names are the next free ones (`tun0`).
    ///
    /// # Errors
    ///
    /// If the kernel refuses: the message says what is missing and how to grant it. Nothing is left then.
    pub fn between(
        client: &Namespace,
        server: &Namespace,
        options: &EmulatorOptions,
    ) -> Result<Self, EmulatorError> {
        let ends = setup::connect(client, server, options)?;
        let stop = Arc::new(Stop::new().map_err(EmulatorError::Thread)?);
        let (client, server) = (ends.client.plug(), ends.server.plug());
        let relay = relay::spawn(ends, options, Arc::clone(&stop));
        Ok(Self { client, server, stop, relay: Some(relay.map_err(EmulatorError::Thread)?) })
    }

    /// The address of the client's end.
    #[must_use]
    pub const fn client_address(&self) -> Ipv4Addr {
        self.client.address
    }

    /// The address of the server's end.
    #[must_use]
    pub const fn server_address(&self) -> Ipv4Addr {
        self.server.address
    }

    /// The name of the device in the client's namespace, such as `tun0`: what to capture from.
    #[must_use]
    pub fn client_device(&self) -> &str {
        &self.client.device
    }

    /// The name of the device in the server's namespace.
    #[must_use]
    pub fn server_device(&self) -> &str {
        &self.server.device
    }

    /// Ends the link. Packets in flight are lost, and counted in the report.
    ///
    /// # Errors
    ///
    /// If the link had ended before: somebody removed a device or took it down.
    ///
    /// # Panics
    ///
    /// If its thread did.
    pub fn stop(mut self) -> Result<Report, EmulatorError> {
        self.stop.ask();
        let relay = self.relay.take().expect("only this and `drop` join it, and both end it");
        match relay.join() {
            Ok(result) => result.map_err(EmulatorError::Ended),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.stop.ask();
        if let Some(relay) = self.relay.take() {
            // Whoever wanted to know how it ended would have called `stop`.
            let _ = relay.join();
        }
    }
}

/// Why there is no link. The host's settings are at fault, or the options.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmulatorError {
    /// Both ends are in one namespace, where the kernel would not use the link.
    #[error("cannot emulate a link: client and server are in one namespace (expected two)")]
    OneNamespace,
    /// A namespace could not be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A device could not be made.
    #[error(transparent)]
    Device(#[from] TunError),
    /// The route with the congestion control was refused.
    #[error(
        "cannot set congestion control `{name}`: {source}; load it with `modprobe tcp_{name}`, or choose \
         one of /proc/sys/net/ipv4/tcp_available_congestion_control"
    )]
    CongestionControl {
        /// What the options ask for.
        name: String,
        /// What the kernel says.
        source: io::Error,
    },
    /// No thread, no timer or no statistics.
    #[error("cannot start the link emulator: {0}")]
    Thread(#[source] io::Error),
    /// It ran, and then a device was gone or down.
    #[error("emulated link stopped: {0}")]
    Ended(#[source] io::Error),
}
