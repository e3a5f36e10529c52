//! The papers' workloads.
