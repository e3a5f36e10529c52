//! What a shard knows of a connection.

use std::net::SocketAddr;

use crate::{
    decode::Seen,
    flow::{closed::Closed, connection::ObservedConnection, newcomer::Newcomer},
};

#[derive(Debug)]
pub(super) enum Slot {
    OnePacket(Box<OnePacket>),
    New(Box<Newcomer>),
    Alive(Box<ObservedConnection>),
    Over(Closed),
    /// It was forgotten when memory was short; both ends had sent something, or one.
    LetGo {
        is_mutual: bool,
    },
}

/// A connection of which one packet was seen: a flood of those should cost little.
#[derive(Debug)]
pub(super) struct OnePacket {
    pub id: u32,
    /// Without its payload.
    pub seen: Seen<'static>,
    pub payload: Box<[u8]>,
}

impl OnePacket {
    pub(super) fn seen(&self) -> Seen<'_> {
        Seen { payload: &self.payload, ..self.seen }
    }
}

impl Slot {
    /// The number of the connection, unless it is over.
    pub(super) const fn id(&self) -> Option<u32> {
        match self {
            Self::New(newcomer) => Some(newcomer.id),
            Self::Alive(connection) => Some(connection.id()),
            Self::OnePacket(one_packet) => Some(one_packet.id),
            Self::Over(_) | Self::LetGo { .. } => None,
        }
    }

    /// Both ends.
    pub(super) const fn ends(&self) -> Option<[SocketAddr; 2]> {
        match self {
            Self::New(it) => Some([it.client, it.server]),
            Self::Alive(connection) => Some(connection.both_ends()),
            Self::OnePacket(it) => Some([it.seen.source, it.seen.destination]),
            Self::Over(_) | Self::LetGo { .. } => None,
        }
    }
}
