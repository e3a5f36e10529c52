//! The idle persistent connections, in the order in which they became idle.
//!
//! Okamoto et al. 2001, section 3.2 and Figure 2: a hash table by connection, and a "time scheduling
//! list" to which a connection is added at the end when it becomes idle. A connection that becomes
//! active, or is closed, is removed from both. Connections are closed from the top. So a connection
//! that is busy is not in the register, and cannot be closed by it.
//!
//! The paper's text has two orders, "in order of the time length that they are persistent" and by
//! the time of becoming idle. They are the same if a connection that becomes active loses its
//! place, which the paper requires; so the order is that of idleness.
//!
//! Timeouts of persistent connections are not here, because they differ for clients and servers: the
//! caller has them, and removes the connections that it closes. The number of entries is limited by the number of connections.

use core::hash::Hash;

use ackwise_tcp::{ByteCount, Instant};
use hashbrown::HashMap;

use crate::{
    idle::IdleBuffers,
    order::{Order, Slot},
};

/// Idle connections by key, and by idleness. `K` identifies a connection: an index, a socket's
/// cookie, addresses and ports.
#[derive(Clone, Debug)]
pub struct Register<K> {
    places: HashMap<K, Slot>,
    order: Order<Idle<K>>,
}

/// A connection that is open and unused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Idle<K> {
    /// Which connection.
    pub key: K,
    /// When it became idle.
    pub since: Instant,
    /// The buffer memory that it held then.
    pub held: ByteCount,
}

impl<K: Copy + Eq + Hash> Register<K> {
    /// Without connections.
    #[must_use]
    pub fn new() -> Self {
        Self { places: HashMap::new(), order: Order::new() }
    }

    /// Adds a connection that became idle. If it has an entry, that entry is replaced.
    ///
    /// O(1) if no entry is newer, which is so if each connection is added when it becomes idle.
    /// Otherwise, a step for each newer entry: sort the results of a scan before adding them.
    pub fn insert(&mut self, idle: Idle<K>) {
        self.remove(&idle.key);
        let place = self.order.insert(idle, idle.since);
        self.places.insert(idle.key, place);
    }

    /// Removes a connection that became busy, or was closed. O(1). `None` if it was not idle.
    pub fn remove(&mut self, key: &K) -> Option<Idle<K>> {
        let place = self.places.remove(key)?;
        Some(self.order.remove(place))
    }

    /// The connection that has been idle longest. O(1).
    #[must_use]
    pub fn oldest(&self) -> Option<&Idle<K>> {
        Some(self.order.value(self.order.oldest()?))
    }

    /// Removes and returns the connection that has been idle longest. O(1).
    pub fn pop_oldest(&mut self) -> Option<Idle<K>> {
        let idle = self.order.remove(self.order.oldest()?);
        self.places.remove(&idle.key);
        Some(idle)
    }

    /// All entries, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Idle<K>> {
        self.order.iter()
    }

    /// The buffer memory of all idle connections. O(n), like the division of the pool.
    ///
    /// With [`IdleBuffers::Halve`], subtract it from the pool before a division (our choice; the
    /// paper does not say whether it counts, but memory cannot be assigned twice). With
    /// [`IdleBuffers::KeepShare`], idle connections take part in the division instead.
    #[must_use]
    pub fn memory(&self, rule: IdleBuffers, now: Instant) -> ByteCount {
        let sizes = self.iter().map(|idle| rule.size(idle.held, idle.since, now).0);
        ByteCount(sizes.fold(0, u64::saturating_add))
    }

    /// Whether this connection is idle.
    #[must_use]
    pub fn contains(&self, key: &K) -> bool {
        self.places.contains_key(key)
    }

    /// The number of idle connections.
    #[must_use]
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether no connection is idle.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: Copy + Eq + Hash> Default for Register<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::idle::Halving;

    fn idle(key: char, since: u64) -> Idle<char> {
        Idle { key, since: Instant::from_nanos(since), held: ByteCount(since) }
    }

    fn keys(register: &Register<char>) -> Vec<char> {
        register.iter().map(|idle| idle.key).collect()
    }

    fn register(entries: &[(char, u64)]) -> Register<char> {
        let mut register = Register::default();
        entries.iter().for_each(|(key, since)| register.insert(idle(*key, *since)));
        register
    }

    #[test]
    fn the_longest_idle_comes_first() {
        let mut register = register(&[('a', 1), ('b', 2), ('c', 3)]);
        assert_eq!((register.len(), register.oldest()), (3, Some(&idle('a', 1))));
        assert_eq!(register.pop_oldest(), Some(idle('a', 1)));
        assert!(!register.contains(&'a') && register.contains(&'b'));
        assert_eq!(keys(&register), ['b', 'c']);
        assert_eq!(
            [register.pop_oldest(), register.pop_oldest()],
            [Some(idle('b', 2)), Some(idle('c', 3))]
        );
        assert_eq!(
            (register.pop_oldest(), register.oldest(), register.is_empty()),
            (None, None, true)
        );
    }

    #[test]
    fn a_busy_connection_loses_its_place() {
        let mut register = register(&[('a', 1), ('b', 2), ('c', 3)]);
        assert_eq!(register.remove(&'b'), Some(idle('b', 2)));
        assert_eq!((register.remove(&'b'), keys(&register)), (None, ['a', 'c'].into()));
        register.insert(idle('b', 4));
        assert_eq!(keys(&register), ['a', 'c', 'b']);
    }

    #[test]
    fn a_connection_that_was_busy_between_two_scans_moves() {
        let mut register = register(&[('a', 1), ('b', 2)]);
        register.insert(idle('a', 5));
        assert_eq!((keys(&register), register.len()), (['b', 'a'].into(), 2));
    }

    #[test]
    fn idle_buffers_take_memory_until_they_are_halved() {
        let mut register = Register::new();
        for (key, since) in [('a', 0), ('b', 3_000_000_000)] {
            register.insert(Idle { held: ByteCount(8_000), ..idle(key, since) });
        }
        let memory = |rule| register.memory(rule, Instant::from_nanos(6_000_000_000)).0;
        assert_eq!(memory(IdleBuffers::KeepShare), 16_000);
        assert_eq!(memory(IdleBuffers::Halve(Halving::OKAMOTO_2001)), 2_000 + 4_000);
    }

    #[test]
    fn late_news_find_their_place_and_equal_times_keep_their_order() {
        assert_eq!(
            keys(&register(&[('b', 2), ('d', 4), ('c', 3), ('a', 1)])),
            ['a', 'b', 'c', 'd']
        );
        assert_eq!(
            keys(&register(&[('b', 2), ('a', 2), ('z', 3), ('c', 2)])),
            ['b', 'a', 'c', 'z']
        );
    }
}
