//! What took a connection or a stream over, and for how long: time in which nobody can tell who waits.

use std::collections::BTreeMap;

use ackwise_tcp::Instant;

use crate::{
    conversation::{ExchangeId, MessageNews, Tunnel},
    flow::{message_hold::MessageDeparture, message_watch::MessageWatch},
    results::TunnelResult,
};
use ackwise_cause::{Direction, GrpcStatus};

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
    times: TunnelTimes,
    /// Its messages, by direction, if they can be read.
    watches: Option<Box<[MessageWatch; 2]>>,
}

/// When what led to a tunnel was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct TunnelTimes {
    /// The exchange began that opened it.
    pub asked: Instant,
    /// The first message to the client ended, if it was one that an exchange waited for.
    pub answered: Option<Instant>,
    /// It was known to be a tunnel.
    pub begun: Instant,
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
        times: TunnelTimes,
    ) {
        if self.begun.len() < Self::MAX {
            let from = times.answered.unwrap_or(times.begun);
            let result = TunnelResult {
                kind,
                stream,
                packet,
                from,
                until: times.begun,
                messages: None,
                first_message_after: None,
                grpc_status: None,
            };
            self.open.insert(exchange, self.begun.len());
            self.begun.push(Begun { is_open: true, result, times, watches: None });
        }
    }

    /// Whether `exchange` has turned out to be a stream of gRPC.
    pub(super) fn is_call(&self, exchange: ExchangeId) -> bool {
        let place = self.open.get(&exchange);
        place.is_some_and(|&place| self.begun[place].result.kind == Tunnel::GrpcStream)
    }

    /// The stream that `exchange` opened has ended with this.
    pub(super) fn note_status(&mut self, exchange: ExchangeId, status: GrpcStatus) {
        if let Some(&place) = self.open.get(&exchange) {
            self.begun[place].result.grpc_status = Some(status);
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
        let tunnel = &mut self.begun[place];
        let watch = &mut tunnel.watches.get_or_insert_default()[direction as usize];
        let mut news = news;
        // Messages until the stream was known to be one: the first of each direction came earlier.
        let first = match direction {
            Direction::ToServer => Some(tunnel.times.asked),
            Direction::ToClient => tunnel.times.answered,
        };
        let is_earlier = tunnel.result.kind == Tunnel::GrpcStream && watch.has_none();
        if let (Some(first), true, 1..) = (first, is_earlier, news.ended) {
            let one = MessageNews { begun: 1, ended: 1, ..MessageNews::default() };
            watch.note(one, None, first);
            (news.begun, news.ended) = (news.begun.saturating_sub(1), news.ended - 1);
        }
        watch.note(news, departure, now);
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
        let Self { is_open, result, times, watches } = self;
        let first = watches.as_ref().and_then(|it| it[Direction::ToClient as usize].first_end());
        TunnelResult {
            until: if is_open { now } else { result.until },
            messages: watches.map(|it| Box::new(it.each_ref().map(MessageWatch::counts))),
            first_message_after: first.map(|at| at.saturating_since(times.asked)),
            ..result
        }
    }
}
