//! HTTP over several transports, as equations.
//!
//! After Heidemann, Obraczka and Touch, "Modeling the Performance of HTTP Over Several Transport
//! Protocols", IEEE/ACM Transactions on Networking 5(5), 1997, whose equations are rebuilt here
//! from its abstract and from what Heidemann 1996 and 1997 say about it: the round trips and the
//! bytes of each exchange, and TCP's set-up and slow start on top. Times are seconds, rates bytes
//! a second.
//!
//! Not here: loss, queues, Nagle, delayed-ACK stalls after the first segment. Where a simulated run
//! differs, one of these is the reason.

mod network;
mod path;
mod scenario;
mod slow_start;
mod transport;
mod workload;

pub use network::{Confidence, Network};
pub use path::{Exchange, Path};
pub use scenario::of_scenario;
pub use slow_start::{Acks, Round, Rounds, Schedule, Start};
pub use transport::{COMPARED, Compared, Transport, compare, page_time};
pub use workload::Workload;
