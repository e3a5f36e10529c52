#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | one idea |
//! | --- | --- |
//! | [`scenario`] | what a run is made of, as data |
//! | `world` | the loop: links, hosts and applications act on events |
//! | `queue` | the events, by time |
//! | `flows` | what a NAT on a link remembers |
//! | `network` | packets under way, and the shortest ways through |
//! | [`table`] | a host's table of connections |
//! | `connection` | two endpoints, and what the applications above them know |
//! | [`user`] | what a user who fetches pages does next, in any world |
//! | [`bulk`] | the same of a client who transfers files one after the other |
//! | [`arrivals`] | the same of connections that arrive whatever becomes of the earlier ones |
//! | [`requests`] | the same of a client who asks a proxy for documents |
//! | [`measure`] | what a run measures |
//! | [`observe`] | who watches a run: captures, plots, traces |
//! | `ids` | names of connections and their ends |
//! | [`pause`] | a run that has paused: what can be seen of it, and set |
//! | `watch` | what is known of a connection to say why it waits |
//! | `trace` | a hash of all that happened |
//!
//! A run has one thread and no clock; many runs at once are the caller's business.

pub mod arrivals;
pub mod bulk;
mod check;
mod connection;
mod error;
mod flows;
mod ids;
pub mod measure;
mod network;
pub mod observe;
pub mod pause;
mod queue;
pub mod requests;
pub mod scenario;
pub mod table;
mod trace;
pub mod user;
mod watch;
mod world;

pub use error::RunError;
pub use measure::Measures;
pub use observe::{Nobody, Observer};
pub use scenario::Scenario;
pub use world::run;
