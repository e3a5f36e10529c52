//! From what a vantage point sees to why an exchange takes the time it takes.
//!
//! Time is divided at the ends, not at the vantage point: each packet is put back to when it left and
//! on to when it arrives, by the least round-trip times to both ends. Between two departures of data the
//! sender waited for something; what released the later one says for what (`hold`). With what links
//! and the receiver did meanwhile that makes [`Moment`](ackwise_cause::Moment)s, and the one
//! function that the simulator uses too makes causes of them.
//!
//! | module | its one idea |
//! | --- | --- |
//! | `path` | where the vantage point stands, and how fast the path is |
//! | `vantage` | where a capture was taken |
//! | `alike` | whether round trips vary, as behind a queue that others keep filled |
//! | `known_paces` | what connections between the same hosts tell each other of that |
//! | `sender` | one end as a sender: its departures, and the acknowledgements it had then |
//! | `acknowledgement` | what acknowledgements say, on their way to it and there |
//! | `round_trips` | which of them tell the length of a round trip |
//! | `clock` | when segments left by their timestamps |
//! | `spacing` | whether it is a link that keeps segments apart |
//! | `pacing` | whether it is paced, and what it shows of BBR |
//! | `window` | what its flights show of its congestion window |
//! | `nagle` | what its small segments show of Nagle's algorithm |
//! | `cork` | the timer that ends a cork |
//! | `ticks` | whether the kernel's coarse timer sent what was sent |
//! | `rule` | the rules that decide, by name |
//! | `decide` | how: the first row that applies, and the strictest doubt |
//! | `hold` | why a segment left when it did and not earlier |
//! | `think` | what the time before the first byte of a response was |
//! | `loss_kind` | what was lost, or was not |
//! | `stall` | a path that delivers nothing |
//! | `gap` | the time between two departures, divided |
//! | `later` | what packets that come after it show of it |
//! | `train` | when a link was busy that nothing shows the place of |
//! | `account` | the time of an exchange, without a rest |
//! | `verdict` | the cause of some time, its evidence, and the confidence |
//! | `stretch` | which time went where, for a report to draw |
//! | `shares` | what is kept of that, in few bytes |

mod account;
mod acknowledgement;
mod alike;
pub(crate) mod clock;
mod cork;
mod decide;
pub(crate) mod gap;
mod hold;
mod known_paces;
pub(crate) mod later;
mod loss_kind;
mod nagle;
mod pacing;
mod path;
mod round_trips;
mod rule;
pub(crate) mod sender;
mod shares;
mod spacing;
mod stall;
mod stretch;
pub(crate) mod think;
mod ticks;
mod train;
mod vantage;
mod verdict;
mod window;

pub use account::Account;
pub(crate) use acknowledgement::Acknowledgement;
pub(crate) use ackwise_tcp::units::Nanos;
pub(crate) use alike::Alike;
pub(crate) use cork::CorkTimer;
pub(crate) use hold::Loss;
pub(crate) use known_paces::{KnownPaces, Paces};
pub use loss_kind::LossKind;
pub use pacing::Pacing;
pub(crate) use path::Distances;
pub use rule::{Rule, RuleKind};
pub use shares::{Shares, SharesIter};
pub(crate) use stall::Stall;
pub use stretch::Stretch;
pub(crate) use ticks::TickRecord;
pub use vantage::Vantage;
pub use verdict::{Confidence, Evidence, Share, Verdict};
