//! The front of Ackwise: the commands, as a library.

pub mod check;
pub mod reproduce;
