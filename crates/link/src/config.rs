//! Link configuration as data.

use core::{num::NonZeroU32, time::Duration};

use ackwise_tcp::{ByteCount, Instant};

use crate::{pick::Pick, rate::Rate, red::Red, seed::Seed};

/// Configuration of one direction of a link.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LinkConfig {
    /// Transmission rate; `None` is infinite, and nothing queues.
    pub rate: Option<Rate>,
    /// When the rate becomes another, if it does.
    pub rate_change: Option<RateChange>,
    /// Propagation delay, from the last bit sent to the packet's arrival.
    pub delay: Duration,
    /// Queueing of packets that have to wait.
    pub queue: Queue,
    /// Injected faults.
    pub faults: Faults,
    /// Seed of the random faults' streams. Links of one run have different seeds: [`Seed::named`].
    pub seed: Seed,
}

/// A rate that becomes another one, once: the path changes while a connection is open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RateChange {
    /// From when on; packets that were accepted before leave as was planned.
    pub at: Instant,
    /// The rate from then on.
    pub rate: Rate,
}

impl LinkConfig {
    /// No delay, infinite rate, no faults.
    pub const IDEAL: Self = Self {
        rate: None,
        rate_change: None,
        delay: Duration::ZERO,
        queue: Queue::DropTail(Limit::Packets(NonZeroU32::MAX)),
        faults: Faults::NONE,
        seed: Seed(0),
    };
}

/// The queueing discipline: which packets wait and which are dropped.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Queue {
    /// FIFO; a packet that does not fit is dropped.
    DropTail(Limit),
    /// FIFO; the drop probability rises with the average queue length.
    Red(Red),
}

impl Queue {
    /// Drop-tail with room for `limit` packets; `None` for zero, with which nothing could pass.
    #[must_use]
    pub const fn packets(limit: u32) -> Option<Self> {
        match NonZeroU32::new(limit) {
            Some(limit) => Some(Self::DropTail(Limit::Packets(limit))),
            None => None,
        }
    }

    /// Drop-tail with room for `limit` bytes. A larger packet is always dropped.
    #[must_use]
    pub const fn bytes(limit: u64) -> Self {
        Self::DropTail(Limit::Bytes(ByteCount(limit)))
    }
}

/// Size of the queue. The packet being sent counts until its last bit has left, as in ns-2
/// (`queue/drop-tail.cc` drops at `length + 1 >= limit`, where `length` excludes that packet).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Limit {
    /// In packets of any size.
    Packets(NonZeroU32),
    /// In bytes, in any number of packets.
    Bytes(ByteCount),
}

/// Injected faults. Each fault selects packets with its own stream and counter.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Faults {
    /// Packets dropped before the queue, so that they take no transmission time.
    pub loss: Pick,
    /// Packets that arrive twice, the copy right behind the original, without extra transmission
    /// time.
    pub duplication: Pick,
    /// Packets that arrive late by `lateness`, so that later ones may overtake them.
    pub reordering: Pick,
    /// Delay of a reordered packet beyond its in-order arrival.
    pub lateness: Duration,
    /// A time in which nothing leaves.
    pub outage: Option<Outage>,
    /// The largest packet that passes, its size as in [`push`](crate::Link::push). A larger one is
    /// dropped without an ICMP error: a path-MTU black hole (RFC 2923, section 2.1).
    pub mtu: Option<ByteCount>,
}

/// A time in which a link sends nothing: packets wait in its queue. What has left before arrives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Outage {
    /// When it begins.
    pub from: Instant,
    /// How long it lasts.
    pub lasts: Duration,
}

impl Outage {
    /// When it ends.
    #[must_use]
    pub fn until(self) -> Instant {
        self.from + self.lasts
    }

    /// When a packet can begin to leave that could at `ready`.
    pub(crate) fn resume(self, ready: Instant) -> Instant {
        if (self.from..self.until()).contains(&ready) { self.until() } else { ready }
    }

    /// Whether it interrupts a packet.
    pub(crate) fn interrupts(self, begins: Instant, departs: Instant) -> bool {
        (begins..departs).contains(&self.from)
    }
}

impl Faults {
    /// No faults.
    pub const NONE: Self = Self {
        loss: Pick::Never,
        duplication: Pick::Never,
        reordering: Pick::Never,
        lateness: Duration::ZERO,
        outage: None,
        mtu: None,
    };
}
