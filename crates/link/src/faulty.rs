//! Injected faults of a link, and the packets that are late because of them.
//!
//! Separate from the link because most links have no faults, and the path of a busy link must stay
//! short.

use alloc::collections::BTreeMap;
use core::time::Duration;

use ackwise_tcp::{ByteCount, Instant};

use crate::{
    config::Faults,
    pick::{Pick, Picker},
    seed::Seed,
};

#[derive(Clone, Debug)]
pub(crate) struct Faulty<T> {
    lateness: Duration,
    mtu: ByteCount,
    loss: Picker,
    duplication: Picker,
    reordering: Picker,
    /// Late packets in flight, by arrival, then by number.
    late: BTreeMap<(Instant, u64), T>,
}

/// The faults applied to one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fate {
    pub(crate) lost: bool,
    pub(crate) too_large: bool,
    pub(crate) twice: bool,
    pub(crate) late: bool,
}

impl<T> Faulty<T> {
    /// `None` if all faults are disabled.
    pub(crate) fn new(faults: Faults, seed: Seed) -> Option<Self> {
        // The transmitter knows of outages.
        let Faults { loss, duplication, reordering, lateness, outage: _, mtu } = faults;
        let harmless = [&loss, &duplication, &reordering].into_iter().all(|p| *p == Pick::Never);
        (!harmless || mtu.is_some()).then(|| Self {
            lateness,
            mtu: mtu.unwrap_or(ByteCount(u64::MAX)),
            loss: Picker::new(loss, seed.named("loss")),
            duplication: Picker::new(duplication, seed.named("duplication")),
            reordering: Picker::new(reordering, seed.named("reordering")),
            late: BTreeMap::new(),
        })
    }

    /// Each fault draws for every packet, so that faults do not affect each other's random numbers.
    pub(crate) fn next(&mut self, size: ByteCount) -> Fate {
        Fate {
            lost: self.loss.next(),
            too_large: size > self.mtu,
            twice: self.duplication.next(),
            late: self.reordering.next(),
        }
    }

    /// Stores the `number`th packet, whose in-order arrival would be `in_order`.
    pub(crate) fn delay(&mut self, packet: T, number: u64, in_order: Instant) {
        self.late.insert((in_order + self.lateness, number), packet);
    }

    /// Arrival of the next late packet.
    #[cold]
    pub(crate) fn next_late(&self) -> Option<Instant> {
        self.late.first_key_value().map(|((arrives, _), _)| *arrives)
    }

    pub(crate) fn pop_late(&mut self) -> Option<T> {
        self.late.pop_first().map(|(_, packet)| packet)
    }

    pub(crate) fn late(&self) -> usize {
        self.late.len()
    }
}
