//! Checks of the repository that no compiler makes.
//!
//! These are plain tests, so that `cargo test` reports locally what CI would report. Each checks
//! the files tracked by git, and names the file and line of every complaint.

mod arrows;
mod circles;
mod conformance;
mod dependencies;
mod files;
mod fuzz;
mod include;
mod linked;
mod links;
mod metadata;
mod pages;
mod ratchet;
mod readmes;
mod repository;
mod words;
