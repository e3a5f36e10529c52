#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | purpose |
//! | --- | --- |
//! | `link` | accepts packets, delivers them at their arrival time, counts |
//! | `config` | link configuration as data |
//! | `transmitter` | sends one packet at a time at a rate; the others wait or are dropped |
//! | `red` | drops early, by the average queue length |
//! | `rate` | bits per second |
//! | `faulty` | injected faults, and the packets that are late because of them |
//! | `pick` | which packets a fault selects: none, some at random, or the nth |
//! | `seed` | a named stream of random numbers for each purpose |
//! | `fate` | outcome of each packet, and totals |

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod config;
mod fate;
mod faulty;
mod link;
mod pick;
mod rate;
mod red;
mod seed;
mod transmitter;

pub use ackwise_units::Probability;
pub use config::{Faults, Limit, LinkConfig, Outage, Queue, RateChange};
pub use fate::{Counters, DropReason, Fate};
pub use link::Link;
pub use pick::Pick;
pub use rate::Rate;
pub use red::{BeyondMax, Red, Spacing};
pub use seed::{Seed, Stream};
