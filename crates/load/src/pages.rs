//! Users who load whole pages by a plan: serial, parallel, persistent, pipelined, segment-filled or GETWEB.
//!
//! The plans are crate `http`'s ([`ackwise_http::page`]), as in the simulator: which request follows which response, and
//! on which connection. Here is what a plan's step is on the wire.
//!
//! | module | purpose |
//! | --- | --- |
//! | `web_page` | what is requested for a page, and the bytes of each request; pure |
//! | `connection` | one connection, without I/O: requests out, complete exchanges in |
//! | `user` | a user, and the page that it loads |
//! | `run` | drives all users over a transport, within the limits |
//! | `wire` | their connections: opened, written, read, lost and closed |
//! | `loaded` | what became of the pages |
//! | `find` | the files that a page shows, found before the run |
//! | `start` | from options to a report: which pages, over which TCP |
//! | `report` | text and JSON |
//!
//! A step for several files is one exchange of the plan. With [`Transfer::SegmentFilled`], it is as many requests,
//! sent together, whose responses a server may send as one stream (`ackwise serve --fill-segments`). With
//! [`Transfer::GetWeb`], it is one request, whose response has all files.
//!
//! ```
//! use std::{ops::ControlFlow, time::Duration};
//!
//! use ackwise_http::{Behaviour, page::Transfer};
//! use ackwise_load::pages::{PageFile, PageLoad, WebPage, load_pages};
//! use ackwise_net::{KernelTransport, Sources};
//! use ackwise_serve::{Config, Server};
//!
//! let server = Server::start(Config::loopback(Behaviour::FIXED))?;
//! let files = [6651, 3883, 1866].map(|size| PageFile::sized("/{bytes}", size)).into();
//! let page = WebPage { host: "localhost".to_owned(), fields: Vec::new(), files };
//! let load = PageLoad { pages: Some(4), ..PageLoad::new(vec![page], Transfer::Pipelined) };
//! let mut transport = KernelTransport::new(server.local_addr(), Sources::Any, load.slots())?;
//!
//! let result = load_pages(&mut transport, &load, |_| ControlFlow::Continue(()))?;
//! let page = result.pages[0];
//! assert_eq!((page.connections, page.requests, page.files, page.content), (1, 3, 3, 12_400));
//! assert_eq!((result.pages.len(), page.failure), (4, None));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Transfer::SegmentFilled`]: ackwise_http::page::Transfer::SegmentFilled
//! [`Transfer::GetWeb`]: ackwise_http::page::Transfer::GetWeb

mod connection;
mod find;
mod loaded;
mod options;
mod report;
mod run;
mod start;
mod user;
mod web_page;
mod wire;

pub use loaded::{LoadedPage, LoadedPages, PAGES_LIMIT};
pub use options::{Cache, CachedFiles, KeptConnections, PageClose, PageLoad};
pub use report::{PageTimes, PagesReport};
pub use run::{WATCH_INTERVAL, load_pages};
pub use start::{PlanOptions, load_site};
pub use web_page::{PageFile, Sizing, WebPage};
