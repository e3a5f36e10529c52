#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | its one idea |
//! | --- | --- |
//! | `reading` | a capture, read until it ends or nobody wants more |
//! | `live` | what passes an interface now, as a capture |
//! | `joined` | what two captures have in common, and how their clocks differ |
//! | `pair` | two captures of the same connections, one at each end |
//! | `failures` | requests without an answer, and connections that never came about |
//! | `grpc` | how gRPC calls ended |
//! | `held_requests` | requests that Nagle's algorithm held before their first byte |
//! | `hops` | a request on both sides of a proxy |
//! | `totals` | what all exchanges owe to each cause, and the slow ones |
//! | `close_waits` | clients that read on after a complete response, until the server closes |
//! | `pacing` | who is paced, and who behaves like BBR |
//! | `servers` | who closes connections, and who waits idle, by server |
//! | `tunnels` | WebSockets and CONNECT tunnels, which are not judged |
//! | `sentence` | the one that comes first: who waited for whom |
//! | `quality` | how much of its connections the capture has |
//! | `arrival` | what a capture away from the client leaves out: the last bytes on their way |
//! | `messages` | messages within WebSockets and streams, and those that were held |
//! | `connections` | the table of connections |
//! | `ports` | clients that run out of ports |
//! | `path_streams` | what streams carried, by path |
//! | `paths` | exchanges by URL path |
//! | `exchanges` | single exchanges, with their numbers |
//! | `clock_time` | points in time |
//! | `rules` | the rules of attribution, listed |
//! | `notes` | what a report does not cover |
//! | `followed` | which part of all connections a live capture followed |
//! | `shown` | which part of a capture the reports show, and in which words |
//! | `text`, `markdown`, `json`, `html`, [`columns`] | the report |

mod arrival;
mod clock_time;
mod close_waits;
pub mod columns;
mod connections;
mod decryption;
mod exchanges;
mod failures;
mod followed;
mod grpc;
mod held_requests;
mod hops;
mod html;
mod joined;
mod json;
mod key_shares;
#[cfg(target_os = "linux")]
mod live;
mod markdown;
mod messages;
mod notes;
mod pacing;
mod pair;
mod path_streams;
mod paths;
mod ports;
mod quality;
mod reading;
mod rules;
mod sentence;
mod servers;
mod shown;
mod text;
mod totals;
mod tunnels;

pub use clock_time::TimeFormat;
pub use failures::{Failure, OnTheWay};
pub use followed::{Followed, FollowedPart, PartTime};
pub use html::{html, timeline, totals_table};
pub use joined::{Clocks, Counts, Joined};
pub use json::{Document, json, write_json};
#[cfg(target_os = "linux")]
pub use live::{Budget, Live, LiveError};
pub use markdown::markdown;
pub use pair::{End, PairError, RecordedFrames};
pub use quality::CaptureQuality;
pub use reading::{Explained, Frames, Packets, Reading, Step, UnreadFiles};
pub use rules::{rules, rules_markdown};
pub use sentence::sentence;
pub use servers::{Ends, Idle, Server};
pub use shown::ReportOptions;
pub use text::text;
pub use totals::{Total, Totals, TotalsScope};
