//! Captures in: files and pipes to frames.
//!
//! [`Source`] reads one capture out of any number of files: pcap and pcapng in either byte order,
//! as they are or compressed by gzip or zstd, regular or a pipe into which `tcpdump -U -w -`
//! writes. A packet is handed on as soon as it is there; what is kept is one buffer for each file
//! that is open.
//!
//! | file | its one idea |
//! | --- | --- |
//! | `source` | several files, one capture, by time |
//! | `capture` | one file: which format, and which packet is the current one |
//! | `pcap`, `pcapng/` | the formats |
//! | `window` | whole records as slices, however the bytes arrive |
//! | `input` | where bytes come from, and what they were compressed with |
//! | `interfaces` | one number for each interface, over all sections and files |
//!
//! The formats are ours instead of `pcap-parser`'s, because a report has to say where a file is
//! broken and how: see `docs/decisions/dependencies.md`.
//!
//! *Not* here: what is in a frame ([`decode`](crate::decode)), and a live interface, which
//! is no file.

mod capture;
mod error;
mod frame;
mod input;
mod interfaces;
mod order;
mod pcap;
mod pcapng;
mod source;
mod window;

pub use error::{MOST_INTERFACES, MOST_OPEN, Problem, ReadError, Unread};
pub use frame::{Frame, HostDirection, LARGEST_PACKET, LinkType};
pub use interfaces::{Drops, Interface};
pub use source::Source;
