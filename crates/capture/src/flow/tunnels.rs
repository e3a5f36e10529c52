//! What took a connection or a stream over, and for how long: time in which nobody can tell who waits.

use std::collections::BTreeMap;

use ackwise_tcp::Instant;

use crate::{
    conversation::{ExchangeId, Tunnel},
    results::TunnelResult,
};

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
        now: Instant,
    ) {
        if self.begun.len() < Self::MAX {
            let result = TunnelResult { kind, stream, packet, from: now, until: now };
            self.open.insert(exchange, self.begun.len());
            self.begun.push(Begun { is_open: true, result });
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

    /// What goes through the tunnel can be read.
    pub(super) fn look_into(&mut self) {
        self.begun.retain(|it| !it.is_open);
        self.open.clear();
    }

    /// All of them; those that are open end now.
    pub(super) fn finish(self, now: Instant) -> Box<[TunnelResult]> {
        let until = |it: Begun| TunnelResult {
            until: if it.is_open { now } else { it.result.until },
            ..it.result
        };
        self.begun.into_iter().map(until).collect()
    }
}
