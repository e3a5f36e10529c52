//! The exchanges of a connection that are open, oldest first.

use std::collections::VecDeque;

use super::exchange::OpenExchange;
use crate::conversation::ExchangeId;

/// They stay where they are in memory, and their numbers, by which they are found, stand beside each other: a thousand may be
/// open, and any of them may be over next.
#[derive(Debug, Default)]
pub(super) struct OpenExchanges(VecDeque<(ExchangeId, Box<OpenExchange>)>);

impl OpenExchanges {
    pub(super) fn push(&mut self, exchange: OpenExchange) {
        if self.0.is_empty() {
            // Most connections have one exchange at a time.
            self.0.reserve_exact(1);
        }
        self.0.push_back((exchange.id, Box::new(exchange)));
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &OpenExchange> {
        self.0.iter().map(|(_, it)| &**it)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut OpenExchange> {
        self.0.iter_mut().map(|(_, it)| &mut **it)
    }

    pub(super) fn front(&self) -> Option<&OpenExchange> {
        self.0.front().map(|(_, it)| &**it)
    }

    pub(super) fn front_mut(&mut self) -> Option<&mut OpenExchange> {
        self.0.front_mut().map(|(_, it)| &mut **it)
    }

    pub(super) fn pop_front(&mut self) -> Option<Box<OpenExchange>> {
        self.0.pop_front().map(|(_, it)| it)
    }

    pub(super) fn get_mut(&mut self, id: ExchangeId) -> Option<&mut OpenExchange> {
        let place = self.place(id)?;
        self.0.get_mut(place).map(|(_, it)| &mut **it)
    }

    pub(super) fn take(&mut self, id: ExchangeId) -> Option<Box<OpenExchange>> {
        let place = self.place(id)?;
        self.0.remove(place).map(|(_, it)| it)
    }

    /// None is left.
    pub(super) fn clear(&mut self) {
        self.0.clear();
        self.0.shrink_to(1);
    }

    /// Exchanges are numbered as they begin; it is mostly the oldest.
    fn place(&self, id: ExchangeId) -> Option<usize> {
        match self.0.front() {
            Some((oldest, _)) if *oldest == id => Some(0),
            _ => self.0.binary_search_by_key(&id, |it| it.0).ok(),
        }
    }
}
