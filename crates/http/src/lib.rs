#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | purpose |
//! | --- | --- |
//! | [`request`] | build a request; parse requests as a server |
//! | [`response`] | build a head; parse responses and report stream offsets |
//! | [`framing`] | where a body ends (RFC 9112, section 6.3) |
//! | [`persistence`] | whether the connection outlives a response (RFC 9112, section 9.3) |
//! | [`behaviour`] | how a server writes its responses, as data, and the plan of its writes |
//! | [`range`] | one range of bytes |
//! | [`client`] | the client's end of a connection: which response belongs to which request |
//! | [`client_close`] | the request by which a client announces its close, and when it is allowed |
//! | [`getweb`] | a page and all its files in one exchange |
//! | [`workload`] | distributions of durations, sizes and counts, as data |
//! | `http2` | frames and field blocks of HTTP/2 (feature `http2`) |
//! | [`page`] | how the files of a page are transferred, as data, and the plan of its requests |
//!
//! All input from the network may be hostile: parsers take bytes in pieces of any size, have named
//! limits, and return an error with the fault, its offset and the expected input.
//!
//! Not here: sockets (`serve`), content codings, streams of HTTP/2 and clocks.

#![no_std]

extern crate alloc;

pub mod behaviour;
mod body;
mod chunked;
pub mod client;
pub mod client_close;
mod cursor;
mod encode;
mod fields;
pub mod framing;
pub mod getweb;
mod head;
#[cfg(feature = "http2")]
pub mod http2;
mod keep_alive;
mod message;
mod padded;
pub mod page;
pub mod persistence;
pub mod range;
pub mod request;
pub mod response;
pub mod workload;

pub use behaviour::Behaviour;
pub use body::{BodyEnd, Missing};
pub use chunked::{CHUNK_OVERHEAD_LIMIT, ChunkError, ChunkPart, ChunkSyntax};
pub use encode::EncodeError;
pub use fields::Fields;
pub use framing::{Framing, FramingError};
pub use head::FIELD_LIMIT;
pub use keep_alive::KeepAlive;
pub use message::{Method, Version, reason_phrase};
pub use padded::{padded_request_head, padded_response_head};
pub use persistence::{CloseReason, ConnectionOptions, Persistence};
pub use range::RangeRequest;
pub use request::{
    ConnectionOption, Request, RequestBuilder, RequestError, RequestErrorKind, RequestParser,
};
pub use response::{
    Response, ResponseBuilder, ResponseError, ResponseErrorKind, ResponseEvent, ResponseHead,
    ResponseParser,
};
