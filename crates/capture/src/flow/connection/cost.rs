//! What a connection takes, and whether it is worth that.

use super::{DeferredGap, ObservedConnection, OpenExchange, Unsettled};

impl ObservedConnection {
    /// Bytes that it takes in memory, about.
    pub(in crate::flow) fn cost(&self) -> usize {
        /// What is behind the pointers of an open exchange, mostly.
        const BEHIND: usize = 500;
        let [one, other] = &self.reassembly;
        size_of::<Self>()
            + one.held()
            + other.held()
            + self.open.len() * (size_of::<OpenExchange>() + BEHIND)
            + self.held_beside
            + self.deferred.len() * DeferredGap::USUAL
            + self.unsettled.iter().map(Unsettled::held).sum::<usize>()
            + self.conversation.cost()
            + self.tunnels.held()
            + self.ends.halves.iter().map(|it| it.sender.held()).sum::<usize>()
    }

    /// Whether both ends have sent something.
    pub(in crate::flow) fn is_mutual(&self) -> bool {
        self.ends.halves.iter().all(|it| it.packets > 0)
    }
}
