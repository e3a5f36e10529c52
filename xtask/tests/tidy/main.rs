//! The repository checks itself: what no compiler looks at, but a reader stumbles over.
//!
//! These are plain tests, so that `cargo test` says at once what CI would say later. Each looks at
//! the files that git tracks, and names the file and line that it complains about.

mod arrows;
mod circles;
mod conformance;
mod dependencies;
mod files;
mod fuzz;
mod include;
mod links;
mod metadata;
mod readmes;
mod repository;
mod words;
