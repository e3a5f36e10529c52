//! Captures in: files and pipes to frames.

mod frame;

pub use frame::{Direction, Frame, LARGEST_PACKET, LinkType};
