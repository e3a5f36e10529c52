#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | its one idea |
//! | --- | --- |
//! | [`experiment`] | what is run, as TOML that a person writes |
//! | [`measures`] | what a run measures, by name |
//! | [`model`] | a page's time by transport, from equations alone |
//! | [`run`] | runs the cases of an experiment on all cores, and what comes out of them |
//! | [`reproduce`] | the papers' results: every published value, and every claim, beside ours |

pub mod experiment;
pub mod measures;
pub mod model;
pub mod reproduce;
pub mod run;
