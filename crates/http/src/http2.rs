//! HTTP/2 (RFC 9113): frames and field blocks, without the meaning of streams.
//!
//! Bytes in, frames out, for whoever has all bytes ([`Frames`]); a capture with holes reads headers
//! one by one ([`FrameHeader`]).

pub mod frame;
mod frames;
pub mod hpack;
pub mod settings;

pub use frame::{CLIENT_PREFACE, FrameHeader, FrameKind};
pub use frames::{FRAME_LIMIT, Frame, FrameTooLong, Frames};
