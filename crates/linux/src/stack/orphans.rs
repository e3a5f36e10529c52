//! Connections that no application holds any more, in Linux "orphans": for how long they are kept, and how many.
//!
//! TCP alone would keep one for as long as its peer likes: a peer that never closes, never opens its window, or opens
//! it for a byte at a time. RFC 6429, section 4, leaves it to the host to end such connections if it needs what they
//! hold.
//!
//! | state | is removed |
//! | --- | --- |
//! | TIME-WAIT | by its own timer, or at once if too many are in it, unless its peer relies on it |
//! | FIN-WAIT-2 | after 60 s, silently as in Linux: the peer has everything, and an RST could make it lose what it has not read |
//! | others | by an RST after 100 s in which the peer acknowledged nothing new |
//!
//! If there are too many that are not in TIME-WAIT, or they hold too many bytes, those go first whose peer has
//! acknowledged nothing new for longest: a peer that takes its data is not ended for those that do not.
//!
//! Not here: connections that an application holds. It has its own time limits.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ackwise_tcp::{Instant, State};

/// The connections that no application holds, by slot of the connection table.
#[derive(Debug)]
pub(super) struct Orphans {
    limits: Limits,
    known: BTreeMap<u32, Orphan>,
    /// Those that are not in TIME-WAIT, by when they made progress.
    by_progress: BTreeSet<(Instant, u32)>,
    /// What they hold.
    bytes: usize,
    time_waits: usize,
}

/// How many there may be.
#[derive(Clone, Copy, Debug)]
struct Limits {
    time_waits: usize,
    others: usize,
    bytes: usize,
}

/// What is seen of an orphan.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Orphan {
    pub(super) state: State,
    /// Bytes that the peer has acknowledged.
    pub(super) acknowledged: u64,
    /// Bytes of memory for what the peer has not acknowledged.
    pub(super) bytes: usize,
    /// Whether the peer may have forgotten the connection, because this end is in TIME-WAIT.
    pub(super) is_relied_on: bool,
    /// When state or acknowledged bytes changed.
    pub(super) since: Instant,
}

/// What becomes of an orphan.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fate {
    /// It stays, and is looked at again at this time.
    Stays(Option<Instant>),
    /// It is removed without a segment.
    Forgotten,
    /// It is aborted.
    Reset,
}

impl Orphans {
    /// For a table of `connections`.
    ///
    /// Linux allows half the size of its hash table for each kind (`tcp_max_tw_buckets`, `tcp_max_orphans`). Its table
    /// can hold more than its size, this one cannot: at least a quarter is left for other connections.
    pub(super) const fn of_table(connections: usize) -> Self {
        let limits =
            Limits { time_waits: connections / 2, others: connections / 4, bytes: BYTES_LIMIT };
        Self {
            limits,
            known: BTreeMap::new(),
            by_progress: BTreeSet::new(),
            bytes: 0,
            time_waits: 0,
        }
    }

    /// Decides about the orphan in `slot`, of which `seen` is true now.
    pub(super) fn watch(&mut self, slot: u32, seen: Orphan) -> Fate {
        let now = seen.since;
        let since = match self.forget(slot) {
            Some(before)
                if before.acknowledged == seen.acknowledged && before.state == seen.state =>
            {
                before.since
            }
            _ => now,
        };
        let fate = self.fate(&Orphan { since, ..seen }, now);
        if let Fate::Stays(_) = fate {
            self.insert(slot, Orphan { since, ..seen });
        }
        fate
    }

    /// One that goes because there are too many.
    pub(super) fn excess(&self) -> Option<(u32, Fate)> {
        let others = self.by_progress.len();
        let too_many = others > self.limits.others || self.bytes > self.limits.bytes;
        let (_, slot) = self.by_progress.first().filter(|_| too_many)?;
        Some((*slot, end_of(self.known.get(slot)?.state)))
    }

    /// Removes the orphan in `slot`, if there is one.
    pub(super) fn forget(&mut self, slot: u32) -> Option<Orphan> {
        let orphan = self.known.remove(&slot)?;
        match orphan.state {
            State::TimeWait => self.time_waits -= 1,
            _ => {
                self.by_progress.remove(&(orphan.since, slot));
                self.bytes -= orphan.bytes;
            }
        }
        Some(orphan)
    }

    fn insert(&mut self, slot: u32, orphan: Orphan) {
        match orphan.state {
            State::TimeWait => self.time_waits += 1,
            _ => {
                self.by_progress.insert((orphan.since, slot));
                self.bytes += orphan.bytes;
            }
        }
        self.known.insert(slot, orphan);
    }

    /// Decides about `orphan`, which is not counted.
    fn fate(&self, orphan: &Orphan, now: Instant) -> Fate {
        let patience = match orphan.state {
            // Linux `tcp_time_wait`: beyond `tcp_max_tw_buckets`, the connection closes without TIME-WAIT. A peer that
            // relies on it was promised otherwise, and only if the application chose so (`ClosePolicy`).
            State::TimeWait if self.time_waits < self.limits.time_waits || orphan.is_relied_on => {
                return Fate::Stays(None);
            }
            State::TimeWait => return Fate::Forgotten,
            State::FinWait2 => FIN_TIMEOUT,
            _ => PATIENCE,
        };
        let due = orphan.since + patience;
        if due > now { Fate::Stays(Some(due)) } else { end_of(orphan.state) }
    }
}

fn end_of(state: State) -> Fate {
    if state == State::FinWait2 { Fate::Forgotten } else { Fate::Reset }
}

/// Linux `tcp_fin_timeout`.
const FIN_TIMEOUT: Duration = Duration::from_secs(60);
/// The least that RFC 9293, section 3.8.3, wants data to be sent again for (SHLD-11). Linux gives up after 8
/// retransmissions, "more than 100 seconds" (`tcp_orphan_retries`), and an orphan whose peer keeps the window closed
/// when its probes are 120 s apart, whether they are answered or not (`tcp_probe_timer`).
const PATIENCE: Duration = Duration::from_secs(100);
/// What all of them hold; our choice: about 2,000 send buffers of 64 KB, the size that Linux expects of an orphan
/// (`tcp_max_orphans`).
const BYTES_LIMIT: usize = 128 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Instant {
        Instant::EPOCH + Duration::from_secs(seconds)
    }

    fn seen(state: State, acknowledged: u64, seconds: u64) -> Orphan {
        Orphan { state, acknowledged, bytes: 0, is_relied_on: false, since: at(seconds) }
    }

    #[test]
    fn each_state_has_its_time_and_progress_begins_it_anew() {
        use State::{Closing, FinWait1, FinWait2, LastAck, TimeWait};
        let mut orphans = Orphans::of_table(8);
        // (state, bytes acknowledged, when, what becomes of it)
        for (state, acknowledged, seconds, fate) in [
            (FinWait1, 0, 10, Fate::Stays(Some(at(110)))),
            (FinWait1, 0, 109, Fate::Stays(Some(at(110)))),
            (FinWait1, 1, 109, Fate::Stays(Some(at(209)))),
            (FinWait2, 1, 200, Fate::Stays(Some(at(260)))),
            (FinWait2, 1, 260, Fate::Forgotten),
            (FinWait1, 0, 300, Fate::Stays(Some(at(400)))),
            (FinWait1, 0, 401, Fate::Reset),
            (Closing, 0, 500, Fate::Stays(Some(at(600)))),
            (LastAck, 0, 501, Fate::Stays(Some(at(601)))),
            (TimeWait, 0, 502, Fate::Stays(None)),
            (TimeWait, 0, 9_999, Fate::Stays(None)),
        ] {
            let decided = orphans.watch(0, seen(state, acknowledged, seconds));
            assert_eq!(decided, fate, "{state:?} with {acknowledged} at {seconds} s");
        }
    }

    #[test]
    fn the_one_without_progress_for_longest_goes_first() {
        let mut orphans = Orphans::of_table(8);
        for (slot, state, seconds) in
            [(0, State::FinWait1, 0), (1, State::FinWait2, 1), (2, State::LastAck, 2)]
        {
            assert_eq!(orphans.excess(), None);
            orphans.watch(slot, seen(state, 0, seconds));
        }
        assert_eq!(orphans.excess(), Some((0, Fate::Reset)));
        orphans.watch(0, seen(State::FinWait1, 1, 3));
        assert_eq!(orphans.excess(), Some((1, Fate::Forgotten)));
        orphans.forget(1);
        assert_eq!(orphans.excess(), None);
        assert_eq!(orphans.forget(1), None);
    }

    #[test]
    fn what_they_hold_is_limited() {
        let mut orphans = Orphans::of_table(100_000);
        for slot in 0..3 {
            assert_eq!(orphans.excess(), None);
            let bytes = BYTES_LIMIT / 2;
            orphans.watch(slot, Orphan { bytes, ..seen(State::FinWait1, 0, slot.into()) });
        }
        assert_eq!(orphans.excess(), Some((0, Fate::Reset)));
        orphans.watch(0, seen(State::FinWait1, 1, 9));
        assert_eq!(orphans.excess(), None);
        orphans.watch(1, seen(State::TimeWait, 1, 9));
        orphans.watch(2, seen(State::FinWait2, 1, 9));
        assert_eq!((orphans.bytes, orphans.by_progress.len()), (0, 2));
    }

    #[test]
    fn beyond_the_limit_no_time_wait_begins_unless_the_peer_relies_on_it() {
        let mut orphans = Orphans::of_table(4);
        let time_wait = seen(State::TimeWait, 0, 0);
        let relied_on = Orphan { is_relied_on: true, ..time_wait };
        for (slot, orphan, fate) in [
            (0, time_wait, Fate::Stays(None)),
            (1, time_wait, Fate::Stays(None)),
            (2, time_wait, Fate::Forgotten),
            (3, relied_on, Fate::Stays(None)),
            (0, time_wait, Fate::Forgotten),
            (1, time_wait, Fate::Stays(None)),
        ] {
            assert_eq!(orphans.watch(slot, orphan), fate, "{slot}");
        }
    }
}
