//! Asks, at each event, why the oldest exchange of a connection does not go on.
//!
//! Each moment of a connection on which something is asked for counts once, for its oldest exchange:
//! what waits behind that one is not counted again, and what its own message does not wait for does not
//! count.

use ackwise_cause::{Direction, InFlight, Moment, Phase, Writer};
use ackwise_tcp::{Instant, State, Transmit, Wait};

use super::{World, transfer::Sent};
use crate::{
    connection::{Connection, End, Exchange},
    network::{Packet, PacketId},
    observe::{Observer, Side},
    watch::Watched,
};

impl<O: Observer> World<'_, O> {
    /// Something may have changed on a connection: what has passed is accounted for, and what is true
    /// from now on is found out.
    #[inline]
    pub(super) fn watch(&mut self, place: u32) {
        if self.scenario.watch_causes {
            self.watch_on(place);
        }
    }

    fn watch_on(&mut self, place: u32) {
        self.change_watched(place, |_| {});
        let connection = &mut self.connections[place as usize];
        let oldest = connection.exchanges.front().map(|it| {
            let phase = phase(connection, it);
            let end = if phase.direction() == Direction::ToServer {
                it.request_end
            } else {
                it.response_end
            };
            (moment(connection, it, phase, end), end)
        });
        let sender = oldest.map_or(Side::Server, |(moment, _)| match moment.phase.direction() {
            Direction::ToServer => Side::Client,
            Direction::ToClient => Side::Server,
        });
        let recovery = connection.end(sender).endpoint.recovery_phase();
        let received = connection.ends.each_ref().map(|it| it.endpoint.received());
        if let Some(watched) = &mut connection.watched {
            watched.has_arrived(Side::Client, received[Side::Server as usize]);
            watched.has_arrived(Side::Server, received[Side::Client as usize]);
            watched.now_is(oldest, recovery);
        }
    }

    /// Something may leave on a connection: an idle time may then cut the window.
    #[inline]
    pub(super) fn watch_window(&mut self, place: u32) {
        if self.scenario.watch_causes {
            let connection = &mut self.connections[place as usize];
            let window = connection.end(Side::Server).endpoint.windows().congestion;
            if let Some(watched) = &mut connection.watched {
                watched.window_was(window);
            }
        }
    }

    /// Accounts for the time that has passed, and then lets the watcher know of something.
    pub(super) fn change_watched(&mut self, place: u32, change: impl FnOnce(&mut Watched)) {
        let connection = &mut self.connections[place as usize];
        let Some(watched) = &mut connection.watched else { return };
        let (collector, observer, id) = (&mut self.collector, &mut self.observer, connection.id);
        watched.account(self.now, |blame| {
            collector.blame(blame.cause, blame.span());
            observer.on_blame(id, blame, self.now);
        });
        change(watched);
    }

    /// A segment has left; its first link is busy with it, and what came before it, for some time, unless
    /// it dropped it.
    pub(super) fn watch_sent(&mut self, place: u32, side: Side, transmit: &Transmit, sent: Sent) {
        let End { endpoint, way, .. } = self.connections[place as usize].end(side);
        let passage = self.network.passage(self.network.first_link(*way), &transmit.segment);
        let alone = endpoint.flight() == transmit.segment.sequence_length();
        let window = endpoint.windows().congestion;
        let now = self.now;
        self.change_watched(place, |watched| {
            watched.sent(side, transmit);
            if !sent.dropped {
                watched.passes(side, transmit, passage, now);
            }
            if side == Side::Server && transmit.segment.len > 0 {
                if transmit.retransmission {
                    watched.repairs();
                } else {
                    watched.window_is(window, alone);
                }
            }
        });
    }

    /// A segment has arrived.
    #[cold]
    pub(super) fn watch_received(&mut self, id: PacketId) {
        let Packet { connection, from, transmit, .. } = *self.network.packet(id);
        self.change_watched(connection, |it| it.received(from, &transmit));
    }

    pub(super) fn watch_dropped(&mut self, place: u32, side: Side, transmit: &Transmit) {
        let endpoint = &self.connections[place as usize].end(side).endpoint;
        let sent_end = 1 + endpoint.acknowledged() + u64::from(endpoint.flight());
        let mss = endpoint.segment_size();
        self.change_watched(place, |watched| watched.dropped(side, transmit, sent_end, mss));
    }
}

/// What is true of an exchange whose message ends at `end` of its stream, but for what is in flight.
fn moment(connection: &Connection, exchange: &Exchange, phase: Phase, end: u64) -> Moment {
    let sender = match phase {
        Phase::Handshake | Phase::Request => Side::Client,
        _ => Side::Server,
    };
    let endpoint = &connection.end(sender).endpoint;
    // What follows the message may wait for anything.
    let has_left = endpoint.acknowledged() + u64::from(endpoint.flight()) >= end;
    let wait = endpoint.wait().filter(|_| !has_left).unwrap_or(Wait::Application);
    // The window waits for what is on its way already, not for what is still delayed.
    let opens = matches!(wait, Wait::SlowStart | Wait::CongestionWindow)
        && acknowledgement_is_coming(connection, sender);
    let ack_wait = connection.end(sender.other()).endpoint.ack_wait();
    Moment {
        phase,
        wait,
        ack_wait: ack_wait.filter(|_| !opens),
        in_flight: InFlight::Nothing,
        writer: writer(connection, exchange, phase),
        cut_by_idle: false,
        paced: false,
    }
}

/// Whether an acknowledgement of what `sender` has sent is on its way to it.
fn acknowledgement_is_coming(connection: &Connection, sender: Side) -> bool {
    let endpoint = &connection.end(sender).endpoint;
    #[expect(clippy::cast_possible_truncation, reason = "sequence numbers are modulo 2^32")]
    let unacknowledged = endpoint.initial_sequence() + 1 + endpoint.acknowledged() as u32;
    let watched = connection.watched.as_ref();
    watched.is_some_and(|it| it.acknowledges(sender.other(), unacknowledged))
}

fn phase(connection: &Connection, exchange: &Exchange) -> Phase {
    let server = &connection.end(Side::Server).endpoint;
    let response_start = exchange.response_end - exchange.response();
    match connection.end(Side::Client).endpoint.state() {
        State::SynSent | State::SynReceived => Phase::Handshake,
        _ if server.received() < exchange.request_end => Phase::Request,
        _ if server.written() <= response_start => Phase::ServerThink,
        _ => Phase::Response,
    }
}

fn writer(connection: &Connection, exchange: &Exchange, phase: Phase) -> Writer {
    let (done, blocked) = match phase {
        Phase::Handshake | Phase::Request => {
            let written = connection.end(Side::Client).endpoint.written();
            let is_busy = connection.client.due != Instant::FAR_FUTURE;
            (written >= exchange.request_end, !is_busy && connection.client.to_write > 0)
        }
        _ => {
            let written = connection.end(Side::Server).endpoint.written();
            (written >= exchange.response_end, connection.server.blocked > 0)
        }
    };
    match (done, blocked) {
        (true, _) => Writer::Done,
        (false, true) => Writer::SendBufferFull,
        (false, false) => Writer::Working,
    }
}
