//! Times before data whose reason only later packets show.
//!
//! Behind a hole in the stream nobody knows yet who lost what is missing. If it is sent again, the
//! network did; if it only came late, it was overtaken; if it is acknowledged and never seen, the
//! capture has lost it. Data that is sent again had a reason if more of the response follows.

use crate::attribution::gap::{Gap, Resolution};

/// Times that wait for their reason, oldest first.
#[derive(Debug, Default)]
pub(super) struct Unsettled {
    waiting: Vec<Waiting>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    gap: Gap,
    /// Before data that was seen already.
    again: bool,
}

impl Unsettled {
    /// The most that wait at once: a window of 1.4 MB behind a hole. Our choice.
    const MAX_WAITING: usize = 1_024;

    /// Puts the time before data off, `again` if that was seen already. Whether there is room.
    pub(super) fn put_off(&mut self, gap: Gap, again: bool) -> bool {
        let has_room = self.waiting.len() < Self::MAX_WAITING;
        if has_room {
            self.waiting.push(Waiting { gap, again });
        }
        has_room
    }

    /// It is clear what happened to the oldest hole.
    pub(super) fn resolve(&mut self, resolution: Resolution) {
        for Waiting { gap, .. } in &mut self.waiting {
            gap.resolve(resolution);
        }
    }

    /// All of them.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Gap> + use<> {
        std::mem::take(&mut self.waiting).into_iter().map(|it| it.gap)
    }

    /// All but those at the end before data that was seen already: nothing came after it, so it
    /// delayed nothing.
    pub(super) fn take_needed(&mut self) -> impl Iterator<Item = Gap> + use<> {
        let needed = self.waiting.iter().rposition(|it| !it.again).map_or(0, |last| last + 1);
        self.waiting.truncate(needed);
        self.take()
    }
}
