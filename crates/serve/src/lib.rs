//! HTTP on the kernel's sockets: the built-in server, which answers as a [`Behaviour`] says.
//!
//! | module | its one idea |
//! | --- | --- |
//! | `server` | accepting, and stopping within a bounded time |
//! | `connection` | the life of one connection: read, answer, close |
//! | `reply` | from a request to a head and the range of a document; pure |
//! | `document` | documents whose bytes follow from their length, so that a client can check them |
//! | `send` | carries a plan of writes out on a socket |
//! | `close` | closes without an RST that would destroy what was sent |
//! | `counters` | what the server has done so far, counted by all threads |
//! | `limits` | every bound a hostile client meets |
//!
//! ```
//! use std::io::{Read, Write};
//! use std::net::TcpStream;
//!
//! use ackwise_http::{Behaviour, ConnectionOption, RequestBuilder, response::responses};
//! use ackwise_serve::{Config, Server};
//!
//! let server = Server::start(Config::loopback(Behaviour::FIXED))?;
//! let request = RequestBuilder::get("localhost", "/6651").connection(ConnectionOption::Close);
//!
//! let mut client = TcpStream::connect(server.local_addr())?;
//! client.write_all(&request.encode()?)?;
//! let mut stream = Vec::new();
//! client.read_to_end(&mut stream)?;
//!
//! assert_eq!(responses(&stream)?[0].content, 6651);
//! server.stop();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A thread serves each connection: [`Limits::connections`] of them at most, and blocking reads and
//! writes keep the order of what happens on the wire the order of what stands in the source. It is
//! made to be measured, not to be fast; documents from a disk, and many thousand connections, are
//! another server's work.
//!
//! [`Behaviour`]: ackwise_http::Behaviour

mod close;
mod connection;
mod counters;
mod document;
mod limits;
mod reply;
mod send;
mod server;
mod stop;

pub use counters::Stats;
pub use document::Document;
pub use limits::Limits;
pub use server::{Config, Server};
