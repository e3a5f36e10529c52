//! The places of a server: who gets one, and which idle connection closes for it.
//!
//! Unlike [`Limit::admit`], which decides once, a newcomer keeps waiting here until a connection that was asked to
//! close is gone, so that there are never more than the limit. Okamoto et al. 2001, section 4, terminates the
//! connection instead; a server that writes to it at that moment would lose a response.

use core::{hash::Hash, num::NonZeroU64};

use ackwise_tcp::{ByteCount, Instant, Nanos};
use hashbrown::HashSet;

use crate::{
    admission::{Admission, Limit, WhenFull},
    idle::IdleBuffers,
    register::{Idle, Register},
    relief::Closing,
};

/// Places, and the idle connections that have some of them. `K` identifies a connection.
///
/// ```
/// use core::num::NonZeroU64;
/// use ackwise_tcp::{Instant, Nanos};
/// use ackwise_tuning::{Answer, Places};
///
/// let now = Instant::EPOCH;
/// let mut places = Places::new(NonZeroU64::MIN, Nanos::ZERO);
/// assert_eq!(places.ask(1, now), Answer::Admit);
/// places.became_idle("a", now);
/// // The only place is taken by an idle connection.
/// let Answer::Close(closing) = places.ask(1, now) else { panic!("it may close") };
/// assert_eq!(closing.key, "a");
/// places.gone(&"a");
/// assert_eq!(places.ask(1, now), Answer::Admit);
/// ```
#[derive(Clone, Debug)]
pub struct Places<K> {
    limit: NonZeroU64,
    idle_at_least: Nanos,
    open: u64,
    idle: Register<K>,
    closing: HashSet<K>,
}

/// What a newcomer gets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Answer<K> {
    /// A place, until [`Places::gone`].
    Admit,
    /// This connection is to close: ask again when it is gone.
    Close(Closing<K>),
    /// Nothing yet: ask again when a connection becomes idle or is gone, or at this time, when one has been idle for
    /// long enough.
    Wait(Option<Instant>),
}

impl<K: Copy + Eq + Hash> Places<K> {
    /// `limit` places. A connection closes when it has been idle for `idle_at_least`.
    #[must_use]
    pub fn new(limit: NonZeroU64, idle_at_least: Nanos) -> Self {
        let (idle, closing) = (Register::new(), HashSet::new());
        Self { limit, idle_at_least, open: 0, idle, closing }
    }

    /// A newcomer asks for a place; `waiting` do so, this one included. O(1).
    pub fn ask(&mut self, waiting: u64, now: Instant) -> Answer<K> {
        if self.open < self.limit.get() {
            self.open += 1;
            return Answer::Admit;
        }
        // Those that close are enough for all who wait.
        if self.closing.len() as u64 >= waiting {
            return Answer::Wait(None);
        }
        let Some(oldest) = self.idle.oldest() else { return Answer::Wait(None) };
        let due = oldest.since + self.idle_at_least;
        if due > now {
            return Answer::Wait(Some(due));
        }
        let limit = Limit {
            connections: self.limit,
            when_full: WhenFull::CloseOldestIdle,
            idle: IdleBuffers::KeepShare,
        };
        match limit.admit(&mut self.idle, self.open, None, now) {
            Admission::AdmitInsteadOf(closing) => {
                self.closing.insert(closing.key);
                Answer::Close(closing)
            }
            Admission::Admit | Admission::Refuse(_) => Answer::Wait(None),
        }
    }

    /// A connection has answered everything, and nothing more has come.
    pub fn became_idle(&mut self, key: K, now: Instant) {
        if !self.closing.contains(&key) {
            self.idle.insert(Idle { key, since: now, held: ByteCount(0) });
        }
    }

    /// Something came or went on a connection. If it was to close, it stays.
    pub fn became_busy(&mut self, key: &K) {
        if self.idle.remove(key).is_none() {
            self.closing.remove(key);
        }
    }

    /// Whether a connection is to close.
    #[must_use]
    pub fn is_closing(&self, key: &K) -> bool {
        self.closing.contains(key)
    }

    /// A connection has ended: its place is free.
    pub fn gone(&mut self, key: &K) {
        self.became_busy(key);
        self.open -= 1;
    }

    /// How many places are taken.
    #[must_use]
    pub const fn open(&self) -> u64 {
        self.open
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, vec::Vec};

    use proptest::prelude::*;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::EPOCH + Nanos::from_millis(ms)
    }

    #[test]
    fn the_longest_idle_one_closes_and_its_place_is_free_when_it_is_gone() {
        let mut places = Places::new(NonZeroU64::new(2).unwrap(), Nanos::from_millis(100));
        assert_eq!([places.ask(1, at(0)), places.ask(1, at(0))], [Answer::Admit; 2]);
        assert_eq!(places.ask(1, at(0)), Answer::Wait(None), "both are busy");
        places.became_idle('a', at(10));
        places.became_idle('b', at(20));
        assert_eq!(places.ask(1, at(109)), Answer::Wait(Some(at(110))));
        let Answer::Close(closing) = places.ask(1, at(110)) else { panic!("a may close") };
        assert_eq!((closing.key, closing.idle_for), ('a', Nanos::from_millis(100)));
        // One closes for one who waits.
        assert_eq!(places.ask(1, at(500)), Answer::Wait(None));
        assert!(matches!(places.ask(2, at(500)), Answer::Close(Closing { key: 'b', .. })));
        places.gone(&'a');
        assert_eq!((places.open(), places.ask(2, at(500))), (1, Answer::Admit));
        // A request has come on the other: it stays, and another has to close.
        places.became_busy(&'b');
        assert!(!places.is_closing(&'b'));
        assert_eq!(places.ask(1, at(500)), Answer::Wait(None));
        places.became_idle('b', at(600));
        assert!(matches!(places.ask(1, at(700)), Answer::Close(Closing { key: 'b', .. })));
        // It reports once more before it sees that.
        places.became_idle('b', at(701));
        assert!(places.is_closing(&'b'));
    }

    proptest! {
        /// Whatever happens: no more than the limit, no busy one closes, and whoever waits beside an idle one is served.
        #[test]
        fn places_are_never_exceeded(steps in proptest::collection::vec((0..4_u8, 0..6_u8), 0..200)) {
            let mut places = Places::new(NonZeroU64::new(3).unwrap(), Nanos::ZERO);
            let mut open: BTreeMap<u8, bool> = BTreeMap::new();
            for (time, (step, key)) in steps.into_iter().enumerate() {
                let now = at(time as u64);
                match (step, open.contains_key(&key)) {
                    (0, false) => match places.ask(1, now) {
                        Answer::Admit => drop(open.insert(key, false)),
                        Answer::Close(closing) => prop_assert!(open[&closing.key], "it is idle"),
                        Answer::Wait(_) => {
                            let idle: Vec<_> = open.iter().filter(|(_, idle)| **idle).collect();
                            let is_under_way = open.keys().any(|key| places.is_closing(key));
                            prop_assert!(idle.is_empty() || is_under_way);
                        }
                    },
                    (1, true) => {
                        places.became_idle(key, now);
                        open.insert(key, true);
                    }
                    (2, true) => {
                        places.became_busy(&key);
                        open.insert(key, false);
                    }
                    (3, true) => {
                        places.gone(&key);
                        open.remove(&key);
                    }
                    _ => {}
                }
                prop_assert!(open.len() <= 3);
                prop_assert_eq!(places.open(), open.len() as u64);
            }
        }
    }
}
