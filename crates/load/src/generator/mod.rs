//! A load generator: many connections to one server, each with its requests and a chosen way to end.
//!
//! | module | its one idea |
//! | --- | --- |
//! | `schedule` | who starts when: slots in a closed loop, or a number of starts per second; pure |
//! | `plan` | what each connection says, encoded once |
//! | `client_connection` | one connection's client, without I/O |
//! | `failure` | why a request has no response |
//! | `transport` | whose TCP carries it: a small trait, polled |
//! | `kernel`, `sources` | the kernel's sockets, and the addresses they start from |
//! | `tally` | what came of it: counts by reason, latencies from the intended start |
//! | `run` | drives them, and has the bounds |
//!
//! ```
//! use std::time::Duration;
//!
//! use ackwise_http::Behaviour;
//! use ackwise_load::generator::{
//!     Close, KernelTransport, Load, NextCall, Pace, Plan, Schedule, Sources, run,
//! };
//! use ackwise_serve::{Config, Server};
//!
//! let server = Server::start(Config::loopback(Behaviour::FIXED))?;
//! let plan = Plan::new("localhost", "/300", Close::Server)?;
//! let schedule = Schedule::new(Pace::Closed, 4).connections(20);
//! let load = Load { plan, schedule, timeout: Duration::from_secs(5) };
//! let mut transport = KernelTransport::new(server.local_addr(), Sources::Any, 4)?;
//!
//! let result = run(&mut transport, load, |_, _| NextCall::Never)?;
//! assert_eq!((result.tally.answered(), result.tally.failed()), (20, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Not here: who waits in TIME-WAIT afterwards (`ackwise_linux::sockets`), TLS, and content: a body is
//! counted, not kept.

mod client_connection;
mod failure;
mod kernel;
mod plan;
mod run;
mod schedule;
mod sources;
mod tally;
mod transport;

pub use failure::Failure;
pub use kernel::KernelTransport;
#[cfg(target_os = "linux")]
pub(crate) use kernel::is_port_in_use;
pub use plan::{Close, Drain, Plan};
pub use run::{EndReason, Load, LoadResult, NextCall, RunError, run};
pub use schedule::{Pace, Schedule};
pub use sources::{Sources, local_ports};
pub use tally::{Quantiles, Tally};
pub use transport::{AfterWrite, ConnectError, ConnectionError, Read, Slot, Transport};
