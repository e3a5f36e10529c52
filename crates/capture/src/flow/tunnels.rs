//! What took a connection or a stream over, and for how long: time in which nobody can tell who waits.

use std::collections::BTreeMap;

use ackwise_tcp::Instant;

use crate::{
    conversation::{ExchangeId, MessageNews, Tunnel},
    flow::{message_hold::MessageDeparture, message_watch::MessageWatch},
    results::TunnelResult,
};
use ackwise_cause::Direction;

/// The tunnels of a connection.
#[derive(Debug, Default)]
pub(super) struct Tunnels {
    begun: Vec<Begun>,
    /// The places of those that are open.
    open: BTreeMap<ExchangeId, usize>,
}

#[derive(Debug)]
struct Begun {
    is_open: bool,
    result: TunnelResult,
    /// When the exchange began that opened it.
    asked: Instant,
    /// Its messages, by direction, if they can be read.
    watches: Option<Box<[MessageWatch; 2]>>,
}

impl Tunnels {
    /// The most that are remembered of a connection. Our choice.
    const MAX: usize = 1_024;

    /// The response to `exchange`, whose request is on `stream` and began in `packet`, opens one.
    pub(super) fn begin(
        &mut self,
        exchange: ExchangeId,
        kind: Tunnel,
        (stream, packet): (u32, u64),
        asked: Instant,
        now: Instant,
    ) {
        if self.begun.len() < Self::MAX {
            let (messages, first_message_after) = (None, None);
            let result = TunnelResult {
                kind,
                stream,
                packet,
                from: now,
                until: now,
                messages,
                first_message_after,
            };
            self.open.insert(exchange, self.begun.len());
            self.begun.push(Begun { is_open: true, result, asked, watches: None });
        }
    }

    /// The tunnel that `exchange` opened is over.
    pub(super) fn end(&mut self, exchange: ExchangeId, now: Instant) {
        if let Some(place) = self.open.remove(&exchange) {
            let tunnel = &mut self.begun[place];
            tunnel.is_open = false;
            tunnel.result.until = now;
        }
    }

    /// Data of the tunnel that `exchange` opened has left so, and this is what it holds.
    pub(super) fn note_messages(
        &mut self,
        exchange: ExchangeId,
        direction: Direction,
        news: MessageNews,
        departure: Option<&MessageDeparture>,
        now: Instant,
    ) {
        let Some(&place) = self.open.get(&exchange) else { return };
        let watches = self.begun[place].watches.get_or_insert_default();
        watches[direction as usize].note(news, departure, now);
    }

    /// Whether there may be messages.
    #[inline]
    pub(super) fn are_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Bytes that they take in memory, about.
    pub(super) fn held(&self) -> usize {
        self.begun.len() * (size_of::<Begun>() + 2 * MessageWatch::USUAL)
    }

    /// What goes through the tunnel can be read.
    pub(super) fn look_into(&mut self) {
        self.begun.retain(|it| !it.is_open);
        self.open.clear();
    }

    /// All of them; those that are open end now.
    pub(super) fn finish(self, now: Instant) -> Box<[TunnelResult]> {
        self.begun.into_iter().map(|it| it.finish(now)).collect()
    }
}

impl Begun {
    fn finish(self, now: Instant) -> TunnelResult {
        let Self { is_open, result, asked, watches } = self;
        let first = watches.as_ref().and_then(|it| it[Direction::ToClient as usize].first_end());
        TunnelResult {
            until: if is_open { now } else { result.until },
            messages: watches.map(|it| Box::new(it.each_ref().map(MessageWatch::counts))),
            first_message_after: first.map(|at| at.saturating_since(asked)),
            ..result
        }
    }
}
