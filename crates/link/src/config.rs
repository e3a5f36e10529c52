//! What a link is like, as data.

use core::{num::NonZeroU32, time::Duration};

use ackwise_tcp::ByteCount;

use crate::{pick::Pick, rate::Rate, red::Red, seed::Seed};

/// What one direction of a link is like.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LinkConfig {
    /// How fast packets leave; `None` is infinitely fast, and nothing waits.
    pub rate: Option<Rate>,
    /// Propagation: from the last bit sent to the packet's arrival.
    pub delay: Duration,
    /// What happens to packets that have to wait.
    pub queue: Queue,
    /// What goes wrong on purpose.
    pub faults: Faults,
    /// Where the random faults' streams begin. Two links of one run have different ones:
    /// [`Seed::named`].
    pub seed: Seed,
}

impl LinkConfig {
    /// No delay, no limit to the rate, no faults.
    pub const IDEAL: Self = Self {
        rate: None,
        delay: Duration::ZERO,
        queue: Queue::DropTail(Limit::Packets(NonZeroU32::MAX)),
        faults: Faults::NONE,
        seed: Seed(0),
    };
}

/// Which packets wait and which are dropped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Queue {
    /// First come, first served; a packet that finds no room is dropped.
    DropTail(Limit),
    /// First come, first served; drops become more likely as the average queue grows.
    Red(Red),
}

impl Queue {
    /// Drop-tail with room for `limit` packets; `None` for zero, which would let nothing pass.
    #[must_use]
    pub const fn packets(limit: u32) -> Option<Self> {
        match NonZeroU32::new(limit) {
            Some(limit) => Some(Self::DropTail(Limit::Packets(limit))),
            None => None,
        }
    }

    /// Drop-tail with room for `limit` bytes. A larger packet never passes.
    #[must_use]
    pub const fn bytes(limit: u64) -> Self {
        Self::DropTail(Limit::Bytes(ByteCount(limit)))
    }
}

/// How much may wait. The packet that is being sent counts until its last bit has left: so does ns-2
/// (`queue/drop-tail.cc` refuses at `length + 1 >= limit` what waits beside it).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Limit {
    /// In packets, whatever their size.
    Packets(NonZeroU32),
    /// In bytes, whatever their number.
    Bytes(ByteCount),
}

/// What goes wrong on purpose. Each fault picks by a stream and a count of its own.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Faults {
    /// These are dropped before the queue: they take none of the link's time.
    pub loss: Pick,
    /// These arrive twice, the second right behind the first, without taking time to send.
    pub duplication: Pick,
    /// These arrive late by `lateness`, so later ones may overtake them.
    pub reordering: Pick,
    /// How much later than in order.
    pub lateness: Duration,
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Self = Self {
        loss: Pick::Never,
        duplication: Pick::Never,
        reordering: Pick::Never,
        lateness: Duration::ZERO,
    };
}
