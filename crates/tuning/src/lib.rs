#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! Measurements become demands, demands become shares of one pool; beside that, idle connections
//! wait in a register until something is short. "The paper" is Okamoto, Terai, Hasegawa, Murata, "A
//! Resource/Connection Management Scheme for HTTP Proxy Servers", 2001.
//!
//! | module | one idea |
//! | --- | --- |
//! | `loss` | how often a connection loses a segment |
//! | `pftk` | the throughput that follows from losses and round trip |
//! | `demand` | a buffer size with its reason |
//! | `eatbt` | E-ATBT: the send buffer of one connection |
//! | `utilisation` | a buffer size from how much of it is used |
//! | `e2atbt` | E2-ATBT: both directions of a proxy |
//! | `outside` | the send buffer of another program's connection |
//! | `shares` | a pool divided max-min fairly |
//! | `held` | whether Nagle's algorithm holds the end of a response, seen from outside |
//! | `idle` | what an idle connection's buffer keeps |
//! | `order` | a list in the order of a time, O(1) |
//! | `register` | idle connections in the order of idleness |
//! | `limits` | when a resource is short |
//! | `relief` | which idle connections close for it |
//! | `admission` | whether a new connection gets a place |
//! | `places` | a newcomer waits for a place, and an idle connection closes for it |
//! | `tokio` | the same for streams of tokio (feature `tokio`) |
//! | `scheme` | the paper's four schemes |
//! | `quiet` | whether a connection of an unmodified server is idle, seen from outside |
//! | `ratio` | percentages, and the gain of an average |

#![no_std]

extern crate alloc;
#[cfg(any(test, feature = "tokio"))]
extern crate std;

mod admission;
mod demand;
mod e2atbt;
mod eatbt;
mod held;
mod idle;
mod limits;
mod loss;
mod order;
mod outside;
mod pftk;
mod places;
mod quiet;
mod ratio;
mod register;
mod relief;
mod scheme;
mod shares;
#[cfg(feature = "tokio")]
pub mod tokio;
mod utilisation;

pub use admission::{Admission, Limit, Refusal, WhenFull};
pub use demand::{Demand, DemandReason};
pub use e2atbt::{Downward, DownwardPolicy, E2Atbt, Source, Supply, Upward, UpwardPolicy};
pub use eatbt::{BeforeLoss, Eatbt, Sender, Sizing};
pub use held::SendSide;
pub use idle::{Halving, IdleBuffers, Step};
pub use limits::{Load, Resource, Shortage, Threshold, Thresholds, Usage};
pub use loss::{Loss, LossEstimate, LossRate, Sent};
pub use outside::{SeenSender, Shown};
pub use pftk::{Model, Path, Throughput};
pub use places::{Answer, Places};
pub use quiet::{Busy, Observed, Order, Patience, Quiet, Side};
pub use ratio::{Gain, Percent};
pub use register::{Idle, Register};
pub use relief::{CloseReason, Closing, Outcome, Reclaim, Relief};
pub use scheme::{Buffers, Scheme};
pub use shares::{Division, Share, ShareReason, Spare};
pub use utilisation::{Use, UseRule};
