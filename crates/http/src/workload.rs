//! Distributions of durations, sizes and counts as data, and the published workloads built from
//! them.
//!
//! A distribution draws from a [`Stream`](ackwise_link::Stream) named by the caller, so that
//! workloads do not affect each other's random numbers. Each draw inverts the distribution function
//! at one uniform number (a mixture takes one more to choose the part). It uses `libm` instead of
//! the platform's functions, so that a seed gives the same workload on every platform and in every
//! version; a list of draws in the tests checks this.
//!
//! | module | purpose |
//! | --- | --- |
//! | `span` | durations: think times, delays, interarrival times |
//! | `size` | bytes of a file |
//! | `count` | files beside the primary |
//! | `pages` | a primary file and its inlines |
//! | `published` | the papers' workloads |
//! | `inverse`, `normal` | inverted distribution functions |
//! | `unusable` | why a distribution cannot be drawn from |
//!
//! Not here: popularity and locality (Zipf, stack distance). They matter only with a cache, which
//! is not modelled.

mod count;
mod inverse;
mod normal;
mod pages;
mod published;
mod size;
mod span;
mod unusable;

pub use count::Count;
pub use inverse::Truncation;
pub use pages::Pages;
pub use size::{Size, Weighted};
pub use span::Span;
pub use unusable::Unusable;

#[cfg(test)]
mod tests;
