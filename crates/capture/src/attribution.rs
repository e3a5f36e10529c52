//! From what a vantage point sees to why an exchange takes the time it takes.
//!
//! Time is divided at the ends, not at the vantage point: each packet is put back to when it left and
//! on to when it arrives, by the least round-trip times to both ends. Between two departures of data the
//! sender waited for something; what released the later one says for what (`hold`). With what links
//! and the receiver did meanwhile that makes [`Moment`](ackwise_http::cause::Moment)s, and the one
//! function that the simulator uses too makes causes of them.
//!
//! | module | its one idea |
//! | --- | --- |
//! | `path` | where the vantage point stands, and how fast the path is |
//! | `sender` | one end as a sender: its departures, and the acknowledgements it had then |
//! | `window` | what its flights show of its congestion window |
//! | `hold` | why a segment left when it did and not earlier |
//! | `gap` | the time between two departures, divided |
//! | `account` | the time of an exchange, without a rest |

mod account;
pub(crate) mod gap;
mod hold;
mod path;
pub(crate) mod sender;
mod window;

pub use account::{Account, Confidence, Evidence, Share, Verdict};
pub(crate) use hold::Loss;
pub use path::Vantage;
pub(crate) use path::{Distances, Paces};
