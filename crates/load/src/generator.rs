//! A load generator: many connections to one server, each with a number of requests and a chosen
//! close.
//!
//! | module | purpose |
//! | --- | --- |
//! | `schedule` | when requests are due, and on how many connections: a closed loop, or a rate; pure |
//! | `arrivals` | when requests are due at a rate: at equal distances, or as a Poisson process; pure |
//! | `users` | the users of a closed loop: what each requests next, and how long it thinks before; pure |
//! | `plan` | the messages of the connections, encoded once |
//! | `planned_connection` | what one connection does next by the plan, without I/O |
//! | `known_response` | recognises a response whose head was parsed before; pure |
//! | `content` | what the content of a response must be; pure |
//! | `failure` | why a request has no response, by the names of `ackwise explain` |
//! | `tally` | results: counts by reason, latencies from the intended start |
//! | `run` | drives the connections, within the limits |
//!
//! ```
//! use std::time::Duration;
//!
//! use ackwise_http::Behaviour;
//! use ackwise_load::generator::{Close, Load, NextCall, Pace, Plan, Schedule, run};
//! use ackwise_net::{KernelTransport, Sources};
//! use ackwise_serve::{Config, Server};
//!
//! let server = Server::start(Config::loopback(Behaviour::FIXED))?;
//! let plan = Plan::new("localhost", "/300", Close::Server)?;
//! let schedule = Schedule::new(Pace::Closed, 4).requests(20);
//! let load = Load::new(plan, schedule, Duration::from_secs(5));
//! let mut transport = KernelTransport::new(server.local_addr(), Sources::Any, 4)?;
//!
//! let result = run(&mut transport, load, |_, _| NextCall::Never)?;
//! assert_eq!((result.tally.answered(), result.tally.failed()), (20, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Not here: which end holds TIME-WAIT afterwards (`ackwise_linux::sockets`), and content: a body is
//! counted, and hashed if wanted, not kept.

mod arrivals;
mod content;
mod failure;
mod known_response;
mod plan;
mod planned_connection;
mod run;
mod schedule;
mod tally;
mod users;

pub use arrivals::{Arrivals, Pattern};
pub use content::ContentCheck;
pub use failure::{Failure, Fault};
pub use plan::{Ask, Close, Drain, Plan};
pub use run::{EndReason, Load, LoadResult, NextCall, RunError, run};
pub use schedule::{Pace, Schedule};
pub use tally::{Quantiles, Tally, WarmUp};
pub use users::{Think, ThinkScope};
