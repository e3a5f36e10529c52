#![doc = include_str!("../README.md")]
//!
//! As a library it is the command line and nothing else, for programs that contain it.

mod cli;

pub use cli::{model, run, schema, schema_names};
