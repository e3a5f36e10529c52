//! Gaps whose cause only later packets show.
//!
//! After a hole in the stream, it is not known yet what happened to the missing data. If it is
//! retransmitted, the network lost it; if it arrives late, it was reordered; if it is acknowledged but
//! never captured, the capture lost it. A retransmission of captured data counts if more of the
//! response follows.

use crate::attribution::gap::{Gap, Resolution};

/// Gaps that wait for a decision, oldest first.
#[derive(Debug, Default)]
pub(super) struct Unsettled {
    waiting: Vec<Waiting>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    gap: Gap,
    /// The gap ends with data that had been captured already.
    again: bool,
}

impl Unsettled {
    /// Most gaps that wait: a window of 1.4 MB after a hole. Our choice.
    const MAX_WAITING: usize = 1_024;

    /// Adds a gap, `again` if it ends with data that had been captured already. Whether there is room.
    pub(super) fn put_off(&mut self, gap: Gap, again: bool) -> bool {
        let has_room = self.waiting.len() < Self::MAX_WAITING;
        if has_room {
            self.waiting.push(Waiting { gap, again });
        }
        has_room
    }

    /// Records what happened to missing data.
    pub(super) fn resolve(&mut self, resolution: Resolution) {
        for Waiting { gap, .. } in &mut self.waiting {
            gap.resolve(resolution);
        }
    }

    /// All of them.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Gap> + use<> {
        std::mem::take(&mut self.waiting).into_iter().map(|it| it.gap)
    }

    /// All except the last ones that end with data captured already: nothing followed, so it delayed
    /// nothing.
    pub(super) fn take_needed(&mut self) -> impl Iterator<Item = Gap> + use<> {
        let needed = self.waiting.iter().rposition(|it| !it.again).map_or(0, |last| last + 1);
        self.waiting.truncate(needed);
        self.take()
    }
}
