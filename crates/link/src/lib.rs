//! One direction of a link, sans-IO: rate, propagation delay, a bounded queue, and faults.
//!
//! The simulator advances `now` as it likes, the emulator takes it from the clock; the model is the
//! same. A [`Link`] does not look into its packets and does not care what they are.
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
//!
//! ```
//! use core::time::Duration;
//! use ackwise_link::{Link, LinkConfig, Queue, Rate, Verdict};
//! use ackwise_tcp::{ByteCount, Instant};
//!
//! // The bottleneck of the thesis: 1.5 Mb/s, 50 ms, 25 packets.
//! let mut link = Link::new(LinkConfig {
//!     rate: Rate::bits_per_second(1_500_000),
//!     delay: Duration::from_millis(50),
//!     queue: Queue::packets(25).expect("25 is not 0"),
//!     ..LinkConfig::IDEAL
//! });
//! assert_eq!(link.push("segment", ByteCount(1_500), Instant::EPOCH), Verdict::Queued);
//! let due = link.poll_timeout().expect("one is under way"); // 8 ms to send, 50 ms to arrive
//! assert_eq!(due, Instant::EPOCH + Duration::from_millis(58));
//! assert_eq!(link.poll(due), Some("segment"));
//! ```

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
