//! `check` against a server that is a model, over a stack that is a model, in virtual time: exact
//! segments, ACKs withheld for 40 and 120 ms, no SACK, and no machine to be busy.
//!
//! The model knows how a TCP sends (Nagle as in Linux, cork, initial window, restart after idle, buffer) and
//! nothing of the checks, which see it through the traits alone.

mod findings;
mod receiver;
mod sender;
mod server;
mod stack;
