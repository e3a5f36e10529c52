#![doc = include_str!("../README.md")]
//! # Modules
//!
//! | module | its one idea |
//! | --- | --- |
//! | [`pcap`] | the file: frames with their times |
//! | `pcapng` | the file with interfaces |
//! | [`frame`] | a segment as an Ethernet frame |
//! | [`StreamContents`] | what bytes a stream holds, for those who know only its ranges |
//! | [`SegmentWriter`] | the three together: what a vantage point sees, as a file |
//! | [`Positions`] | where a sequence number stands in a long stream |
//! | [`read`] | files and pipes, any number of them, as one capture: frames in order of time |
//! | [`decode`] | a frame as the TCP segment in it, links and tunnels taken off |
//! | [`conversation`] | from the two streams of a connection to its exchanges |
//! | `flow` | segments to connections, and each connection's streams |
//! | [`attribution`] | what an exchange waited for, from what released each segment |
//! | [`analysis`] | what a whole capture says |
//! | [`keys`] | secrets of TLS connections, as programs log them |
//! | [`quality`] | how much of a connection the capture has |
//! | `measures` | round trips, windows and reordering of a connection |
//! | [`limits`] | what a capture may cost, whoever wrote it |
//! | `held_requests` | requests that Nagle's algorithm held before their first byte |
//! | `message_counts` | messages within WebSockets and streams, and those that were held |
//! | `folded` | what is too much to be listed, added up |
//! | `outcome` | how exchanges and attempts to connect ended |
//! | `results` | what is known of its connections and exchanges so far |
//! | [`strip`] | a capture without contents and addresses, which says the same |
//! | [`filter`] | which segments are analysed |
//! | [`export`] | the packets of one exchange, as they were captured |
//! | [`series`] | what a report draws of a connection, bounded |
//!
//! # Writing a capture
//!
//! ```
//! use ackwise_capture::{PcapWriter, SegmentWriter, StreamContents, WHOLE_FRAMES};
//! use ackwise_tcp::{Instant, Segment, SeqNumber, Transmit};
//!
//! let mut stream = StreamContents::default();
//! stream.insert(0, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
//!
//! let mut capture = SegmentWriter::new(PcapWriter::new(Vec::new(), WHOLE_FRAMES)?);
//! let segment = Segment { seq: SeqNumber(1), len: 35, ..Segment::default() };
//! let transmit = Transmit { segment, offset: 0, retransmission: false, ack_reason: None };
//! let addresses = ["10.0.0.2:49152".parse()?, "10.0.0.1:80".parse()?];
//! capture.write(addresses, &transmit, &stream, Instant::EPOCH)?;
//! let file = capture.into_file().finish()?;
//! assert!(file.ends_with(b"localhost\r\n\r\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Not here: what observes the connections (the simulator's front), reports, and any clock: times
//! are those of the caller or of a file.

pub mod analysis;
#[expect(
    clippy::fn_params_excessive_bools,
    reason = "facts of packets, which have no better names"
)]
pub mod attribution;
mod closing;
mod contents;
pub mod conversation;
pub mod decode;
pub mod export;
pub mod filter;
#[expect(
    clippy::fn_params_excessive_bools,
    reason = "facts of packets, which have no better names"
)]
mod flow;
mod folded;
pub mod frame;
mod held_requests;
mod hop_limits;
pub mod keys;
pub mod limits;
mod measures;
mod message_counts;
mod messages;
mod outcome;
pub mod pcap;
mod pcapng;
mod positions;
pub mod quality;
pub mod read;
mod results;
mod segments;
pub mod series;
pub mod strip;
#[cfg(test)]
mod testing;
mod work;

pub use contents::StreamContents;
pub use pcap::{PcapError, PcapWriter, WHOLE_FRAMES};
pub use positions::Positions;
pub use segments::{SegmentError, SegmentWriter};
