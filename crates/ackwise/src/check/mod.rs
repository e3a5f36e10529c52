//! `check`: plays a client whose TCP we control against a live HTTP server and prints a report card.

pub mod builtin;
pub mod card;
pub mod report;
pub mod stack;
