#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | one idea |
//! | --- | --- |
//! | `link` | packets in, packets out at their time, and counts |
//! | `config` | what a link is like, as data |
//! | `transmitter` | one packet at a time at a rate, the others wait or are dropped |
//! | `red` | drops early, by the average queue |
//! | `rate` | bits per second |
//! | `faulty` | what goes wrong, and the packets that are late because of it |
//! | `pick` | which packets a fault hits: none, some at random, or the nth |
//! | `seed` | a stream of random numbers for each purpose, by name |
//! | `verdict` | what becomes of packets, one by one and in all |

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod config;
mod faulty;
mod link;
mod pick;
mod rate;
mod red;
mod seed;
mod transmitter;
mod verdict;

pub use config::{Faults, Limit, LinkConfig, Queue};
pub use link::Link;
pub use pick::{Pick, Probability};
pub use rate::Rate;
pub use red::{BeyondMax, Red};
pub use seed::{Seed, Stream};
pub use verdict::{Counters, DropReason, Verdict};
