#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | purpose |
//! | --- | --- |
//! | `time` | points in time, and spans that saturate |
//! | `bytes` | numbers of bytes |
//! | `rate` | bits per second |
//! | `frequency` | events per second |
//! | `probability` | millionths |
//! | `quantity` | how all of these are written |
//! | `statistics` | medians, quartiles and intervals of samples; feature `std` |

#![no_std]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std;

mod bytes;
mod frequency;
mod probability;
mod quantity;
mod rate;
#[cfg(feature = "std")]
pub mod statistics;
mod time;

pub use bytes::ByteCount;
pub use frequency::Frequency;
pub use probability::Probability;
pub use quantity::{Expected, Quantity, parse};
pub use rate::Rate;
pub use time::{Instant, Nanos};
