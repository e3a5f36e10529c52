//! What goes wrong on a link, and the packets that are late because of it.
//!
//! Apart from the link itself, because most links have no faults and a busy one has no time.

use alloc::collections::BTreeMap;
use core::time::Duration;

use ackwise_tcp::Instant;

use crate::{
    config::Faults,
    pick::{Pick, Picker},
    seed::Seed,
};

#[derive(Clone, Debug)]
pub(crate) struct Faulty<T> {
    lateness: Duration,
    loss: Picker,
    duplication: Picker,
    reordering: Picker,
    /// In flight and late, by arrival, then by number.
    late: BTreeMap<(Instant, u64), T>,
}

/// What the faults do to one packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fate {
    pub(crate) lost: bool,
    pub(crate) twice: bool,
    pub(crate) late: bool,
}

impl<T> Faulty<T> {
    /// `None` if nothing can go wrong.
    pub(crate) fn new(faults: Faults, seed: Seed) -> Option<Self> {
        let Faults { loss, duplication, reordering, lateness } = faults;
        let harmless = [&loss, &duplication, &reordering].into_iter().all(|p| *p == Pick::Never);
        (!harmless).then(|| Self {
            lateness,
            loss: Picker::new(loss, seed.named("loss")),
            duplication: Picker::new(duplication, seed.named("duplication")),
            reordering: Picker::new(reordering, seed.named("reordering")),
            late: BTreeMap::new(),
        })
    }

    /// Each fault decides for every packet, so that one fault does not shift the others.
    pub(crate) fn next(&mut self) -> Fate {
        Fate {
            lost: self.loss.next(),
            twice: self.duplication.next(),
            late: self.reordering.next(),
        }
    }

    /// Keeps the `number`th packet, which would arrive at `in_order` if it were not late.
    pub(crate) fn delay(&mut self, packet: T, number: u64, in_order: Instant) {
        self.late.insert((in_order + self.lateness, number), packet);
    }

    /// When the next late packet arrives.
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
