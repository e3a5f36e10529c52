#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | its one idea |
//! | --- | --- |
//! | [`request`] | build a request; parse requests as a server |
//! | [`response`] | build a head; parse responses and say at which byte of the stream each thing is |
//! | [`framing`] | where a body ends (RFC 9112, section 6.3) |
//! | [`persistence`] | whether the connection outlives a response (RFC 9112, section 9.3) |
//! | [`behaviour`] | how a server writes its responses, as data, and the plan of its writes |
//! | [`range`] | one range of bytes |
//! | [`client_close`] | the request by which a client says that it closes, and when it may |
//! | [`workload`] | how long, how large, how many: distributions as data |
//! | [`page`] | how the files of a page travel, as data, and the plan of its requests |
//!
//! Everything that comes off the wire may be hostile: parsers take bytes in pieces of any size, have
//! named limits, and answer with an error that says what, where and what was expected.
//!
//! Not here: sockets (`serve`), content codings, HTTP/2, and anything that reads a clock.

#![no_std]

extern crate alloc;

pub mod behaviour;
mod body;
mod chunked;
pub mod client_close;
mod cursor;
mod encode;
mod fields;
pub mod framing;
mod head;
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
