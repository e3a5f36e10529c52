#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | its one idea |
//! | --- | --- |
//! | [`experiment`] | what is run, as TOML that a person writes |
//! | [`measures`] | what a run measures, by name |
//! | [`run`] | runs the cases of an experiment on all cores, and what comes out of them |

pub mod experiment;
pub mod measures;
pub mod run;
