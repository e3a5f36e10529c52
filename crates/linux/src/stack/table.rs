//! All connections, by id and by addresses.

use std::{collections::HashMap, fmt};

use super::{connection::Connection, tuple::Tuple};

/// Identifies a connection of one [`super::TunStack`]. Ids are not reused; an outdated one refers
/// to no connection.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ConnectionId {
    slot: u32,
    generation: u32,
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.slot, self.generation)
    }
}

/// Reused slots, each with a generation counter.
#[derive(Debug, Default)]
pub(super) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Keyed by remote input, so it needs std's random hash keys. Never iterated over.
    by_tuple: HashMap<Tuple, u32>,
}

#[derive(Debug, Default)]
struct Slot {
    generation: u32,
    connection: Option<Box<Connection>>,
}

impl Table {
    pub(super) fn insert(&mut self, connection: Connection) -> ConnectionId {
        let tuple = *connection.tuple();
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            u32::try_from(self.slots.len() - 1).expect("the stack limits its connections")
        });
        self.slots[slot as usize].connection = Some(Box::new(connection));
        self.by_tuple.insert(tuple, slot);
        self.id(slot)
    }

    /// Frees the slot and invalidates its id.
    pub(super) fn remove(&mut self, slot: u32) {
        let Some(connection) = self.slots[slot as usize].connection.take() else { return };
        self.unbind(slot, connection.tuple());
        self.slots[slot as usize].generation = self.slots[slot as usize].generation.wrapping_add(1);
        self.free.push(slot);
    }

    /// Frees the connection's addresses for another one. It stays reachable by its id.
    pub(super) fn unbind(&mut self, slot: u32, tuple: &Tuple) {
        if self.by_tuple.get(tuple) == Some(&slot) {
            self.by_tuple.remove(tuple);
        }
    }

    pub(super) fn find(&self, tuple: &Tuple) -> Option<u32> {
        self.by_tuple.get(tuple).copied()
    }

    /// The slot of `id`, if the connection still exists.
    pub(super) fn slot(&self, id: ConnectionId) -> Option<u32> {
        let slot = self.slots.get(id.slot as usize)?;
        (slot.generation == id.generation && slot.connection.is_some()).then_some(id.slot)
    }

    pub(super) fn id(&self, slot: u32) -> ConnectionId {
        ConnectionId { slot, generation: self.slots[slot as usize].generation }
    }

    pub(super) fn at(&self, slot: u32) -> Option<&Connection> {
        self.slots.get(slot as usize)?.connection.as_deref()
    }

    pub(super) fn at_mut(&mut self, slot: u32) -> Option<&mut Connection> {
        self.slots.get_mut(slot as usize)?.connection.as_deref_mut()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Connection> {
        self.slots.iter().filter_map(|slot| slot.connection.as_deref())
    }

    pub(super) fn occupied(&self) -> Vec<u32> {
        (0..)
            .zip(&self.slots)
            .filter(|(_, slot)| slot.connection.is_some())
            .map(|(at, _)| at)
            .collect()
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
