#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | purpose |
//! | --- | --- |
//! | `server` | accepts connections, and stops within a bounded time |
//! | `connection` | serves one connection: read, answer, close |
//! | `config` | the configuration of a server |
//! | `answered` | a reply before the fields that every reply has |
//! | `reply` | maps a request to a head and a range of a document; pure |
//! | `site` | documents on disk, and which files a page shows |
//! | `getweb` | answers a GETWEB: the page and its files as one content |
//! | `content` | the parts of a reply's content: generated, in memory, in files |
//! | `document` | documents generated from their length, so that a client can check them |
//! | `send` | executes a plan of writes on a socket |
//! | `pace` | restart after idle by rate |
//! | `send_buffer` | the send buffer of one connection, by E-ATBT |
//! | `close` | closes without an RST that would destroy data in flight |
//! | `counters` | event counts, updated by all threads |
//! | `limits` | limits on a hostile client |
//! | [`references`] | the files that an HTML page names |
//! | `stack_server` | the server on Ackwise's own TCP over a TUN device |
//!
//! Each connection has a thread, at most [`Limits::connections`] of them. With blocking reads and
//! writes, the order of events on the wire is the order in the source. The server is a measurement
//! target, not a fast server; thousands of connections are out of scope.

mod answered;
mod close;
mod config;
mod connection;
mod content;
mod counters;
mod document;
mod getweb;
mod limits;
mod pace;
pub mod references;
mod reply;
mod send;
mod send_buffer;
mod server;
mod site;
#[cfg(target_os = "linux")]
mod stack_server;
mod stop;

pub use config::{AfterIdle, Config, Copies, Documents, Remedy, RemedyBy, SendBuffers};
pub use counters::Stats;
pub use document::Document;
pub use limits::Limits;
pub use pace::kernel_keeps_the_window;
pub use server::Server;
pub use site::Site;
#[cfg(target_os = "linux")]
pub use stack_server::StackServer;
