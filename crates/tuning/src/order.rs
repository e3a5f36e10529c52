//! A list in the order of a time, linked through a slab: O(1) to append, to remove anywhere and to
//! find the oldest.

use core::num::NonZeroU32;

use ackwise_tcp::Instant;
use slab::Slab;

/// Values in the order of their times, the oldest first. Equal times stay in the order in which
/// they came.
#[derive(Clone, Debug)]
pub(crate) struct Order<T> {
    nodes: Slab<Node<T>>,
    oldest: Option<Slot>,
    newest: Option<Slot>,
}

/// Where a value is. Valid until the value is removed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Slot(NonZeroU32);

#[derive(Clone, Debug)]
struct Node<T> {
    value: T,
    at: Instant,
    older: Option<Slot>,
    newer: Option<Slot>,
}

impl<T> Order<T> {
    pub(crate) const fn new() -> Self {
        Self { nodes: Slab::new(), oldest: None, newest: None }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds a value. O(1) if no value is newer, else a step for each that is.
    pub(crate) fn insert(&mut self, value: T, at: Instant) -> Slot {
        let mut older = self.newest;
        while let Some(place) = older.filter(|place| self.node(*place).at > at) {
            older = self.node(place).older;
        }
        let newer = older.map_or(self.oldest, |older| self.node(older).newer);
        let place = Slot::of(self.nodes.insert(Node { value, at, older, newer }));
        *self.link_to_newer(older) = Some(place);
        *self.link_to_older(newer) = Some(place);
        place
    }

    pub(crate) fn remove(&mut self, place: Slot) -> T {
        let Node { value, at: _, older, newer } = self.nodes.remove(place.index());
        *self.link_to_newer(older) = newer;
        *self.link_to_older(newer) = older;
        value
    }

    pub(crate) fn oldest(&self) -> Option<Slot> {
        self.oldest
    }

    pub(crate) fn value(&self, place: Slot) -> &T {
        &self.node(place).value
    }

    /// The oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        let mut next = self.oldest;
        core::iter::from_fn(move || {
            let node = self.node(next?);
            next = node.newer;
            Some(&node.value)
        })
    }

    fn node(&self, place: Slot) -> &Node<T> {
        &self.nodes[place.index()]
    }

    /// The link that leads from this value, or from before the oldest, towards the newest.
    fn link_to_newer(&mut self, from: Option<Slot>) -> &mut Option<Slot> {
        match from {
            Some(place) => &mut self.nodes[place.index()].newer,
            None => &mut self.oldest,
        }
    }

    /// The link that leads from this value, or from behind the newest, towards the oldest.
    fn link_to_older(&mut self, from: Option<Slot>) -> &mut Option<Slot> {
        match from {
            Some(place) => &mut self.nodes[place.index()].older,
            None => &mut self.newest,
        }
    }
}

impl Slot {
    fn of(index: usize) -> Self {
        let number = u32::try_from(index).ok().and_then(|index| index.checked_add(1));
        Self(number.and_then(NonZeroU32::new).expect("fewer than 2^32 - 1 connections"))
    }

    const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}
