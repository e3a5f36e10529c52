//! How long, how large, how many: distributions as data, and the published workloads made of them.
//!
//! A distribution draws from a [`Stream`](ackwise_link::Stream) that the caller names, so that one
//! workload does not shift another's dice. Each draw inverts the distribution function at one uniform
//! number (a mixture: one to choose, one for what is chosen), with the functions of `libm` and not
//! with the machine's, so that a seed gives the same workload everywhere and from one version to
//! the next: a list of draws in the tests holds it.
//!
//! | module | one idea |
//! | --- | --- |
//! | `span` | durations: think times, delays, interarrival times |
//! | `size` | bytes of a file |
//! | `count` | files beside the primary |
//! | `pages` | a primary file and its inlines |
//! | `published` | the papers' workloads |
//! | `inverse`, `normal` | inverted distribution functions |
//! | `unusable` | why a distribution cannot be drawn from |
//!
//! What is not here: popularity and locality (Zipf, stack distance). They matter where something is
//! cached, and nothing is yet.

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
