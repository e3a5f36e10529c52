//! The papers' results beside ours.

pub mod analytic;
pub mod claim;
pub mod published;
pub mod table;
