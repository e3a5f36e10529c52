//! Segments leave and arrive, timers fire: the driver's contract of an endpoint, in virtual time.

use std::iter;

use ackwise_tcp::{
    Endpoint, Event as Heard, Instant, Segment, State, Transmit,
    endpoint::{RecoveryPhase, refuse},
};

use super::{Event, Rest, World, proxy::Syn};
use crate::{
    connection::{Connection, End},
    network::{Arm, Moving, Packet, PacketId, Pushed, Taken},
    observe::{ConnectionEnd, Observer, Side, Sighting},
    trace::Sight,
};

impl<O: Observer> World<'_, O> {
    /// Packets have come to the end of a link.
    pub(super) fn link_is_due(&mut self, link: u32) {
        while let Some((moving, due)) = self.network.poll(link, self.now) {
            match self.network.next_link(moving) {
                Some(next) => self.forward(moving, next),
                None if self.hosts_take_time => self.arrived(moving.id),
                None => self.receive(moving.connection, moving.id),
            }
            self.collector.measures.work.packet_hops += 1;
            if due != Some(self.now) {
                return self.arm(due.map(|due| (link, due)));
            }
        }
    }

    fn forward(&mut self, moving: Moving, link: u32) {
        match self.network.push(moving, link, self.now) {
            Pushed::Taken(arm) => {
                self.arm(arm);
                if self.scenario.watch_causes {
                    self.forwarded(moving.id, link);
                }
            }
            Pushed::Dropped => {
                let place = self.dropped(moving.id);
                self.forget_if_over(place);
            }
        }
    }

    fn arrived(&mut self, id: PacketId) {
        let packet = self.network.packet(id);
        let node = self.connections[packet.connection as usize].end(packet.from.other()).host;
        if !self.reach_host(node, id) {
            let place = self.dropped(id);
            self.forget_if_over(place);
        }
    }

    fn forwarded(&mut self, id: PacketId, link: u32) {
        let packet = *self.network.packet(id);
        let Packet { connection, from, transmit, .. } = &packet;
        let (passage, now) = (self.network.passage(link, &transmit.segment), self.now);
        self.change_watched(*connection, |it| it.passes(*from, transmit, passage, now));
    }

    fn arm(&mut self, arm: Arm) {
        if let Some((link, at)) = arm {
            self.queue.push(at, Event::Link(link));
        }
    }

    /// An endpoint of a connection takes a segment.
    pub(super) fn receive(&mut self, place: u32, id: PacketId) {
        let mut connection = &mut self.connections[place as usize];
        let Taken { packet, last } = self.network.take(id);
        let &Packet { from, ref transmit, congestion_window, recovery, .. } = packet;
        connection.in_flight -= u32::from(last);
        let mut segment = &transmit.segment;
        self.trace.see(Sight::Received, (connection.id.0, from), segment, self.now);
        let sighting = sighting(connection, from, transmit, (congestion_window, recovery));
        self.observer.on_received(&sighting, self.now);
        if self.scenario.watch_causes {
            self.watch_received(id);
            connection = &mut self.connections[place as usize];
            segment = &self.network.packet(id).transmit.segment;
        }
        let side = from.other();
        let End { endpoint, host, .. } = connection.end_mut(side);
        match endpoint.state() {
            State::Listen => {
                let (host, segment) = (*host, *segment);
                match self.takes_syn(place, host, &segment) {
                    Syn::Taken => {
                        let end = self.connections[place as usize].end_mut(side);
                        let _ = end.endpoint.handle_segment(&segment, self.now);
                        self.act(place, side);
                    }
                    Syn::Dropped => {}
                    Syn::Rejected => self.send_refusal(place, side, refuse(&segment)),
                }
            }
            State::Closed => {
                let answer = refuse(segment);
                self.send_refusal(place, side, answer);
            }
            _ => {
                let _ = endpoint.handle_segment(segment, self.now);
                self.act(place, side);
            }
        }
        self.forget_if_over(place);
    }

    #[cold]
    fn send_refusal(&mut self, place: u32, side: Side, answer: Option<Segment>) {
        let Some(segment) = answer else { return };
        let reset = Transmit { segment, offset: 0, retransmission: false, ack_reason: None };
        let (connection, mut rest) = self.apart(place);
        let sent = rest.transmit(connection, (place, side), &reset);
        self.look_after(sent, (place, side), &reset);
    }

    /// A timer of an end may be due.
    pub(super) fn timer_is_due(&mut self, place: u32, side: Side) {
        // Its connection may be over, and its place another's.
        let Some(connection) = self.connections.get_mut(place as usize) else { return };
        let end = connection.end_mut(side);
        if end.armed != self.now {
            return;
        }
        end.armed = Instant::FAR_FUTURE;
        if end.endpoint.poll_timeout().is_some_and(|deadline| deadline.at <= self.now) {
            end.endpoint.handle_timeout(self.now);
            self.act(place, side);
            self.forget_if_over(place);
        } else {
            let (connection, mut rest) = self.apart(place);
            rest.arm_timer(connection.end_mut(side), (place, side));
        }
    }

    /// Lets the application and then the endpoint do what there is to do.
    #[inline]
    pub(super) fn act(&mut self, place: u32, side: Side) {
        let connection = &mut self.connections[place as usize];
        let most = connection.reads_now(side);
        let endpoint = &mut connection.end_mut(side).endpoint;
        // The reader takes what is there: what is read late is a receive window, not an application.
        let reads = most > 0 && endpoint.readable() > 0;
        let read = if reads { endpoint.read(most) } else { 0 };
        let heard = next_heard(endpoint);
        if read > 0 {
            self.collector.received(connection, side, read);
            if let Some(again) = connection.pauses_reading(side, self.now) {
                self.queue.push(again, Event::Reads(place));
            }
        }
        if heard.is_none() && connection.rests(side) {
            self.settle(place, side);
        } else {
            self.act_on(heard, place, side);
        }
    }

    /// The same where the application has something to do.
    #[inline(never)]
    fn act_on(&mut self, mut heard: Option<Heard>, place: u32, side: Side) {
        while let Some(event) = heard {
            if matches!(event, Heard::Connected | Heard::PeerClosed) && self.acks_promptly(place) {
                self.settle(place, side);
            }
            self.hear(place, side, event);
            heard = next_heard(&mut self.connections[place as usize].end_mut(side).endpoint);
        }
        let settled = match side {
            Side::Client => {
                self.client_looks(place);
                false
            }
            Side::Server => self.server_looks(place),
        };
        if !settled {
            self.settle(place, side);
        }
    }

    fn hear(&mut self, place: u32, side: Side, heard: Heard) {
        match (side, heard) {
            (Side::Client, Heard::Connected) => self.client_is_connected(place),
            (Side::Client, Heard::PeerClosed) => self.server_has_closed(place),
            (Side::Client, Heard::Reset) => self.client_gives_up(place, ConnectionEnd::Reset),
            (Side::Client, Heard::TimedOut(_)) => {
                self.client_gives_up(place, ConnectionEnd::TimedOut);
            }
            (side, Heard::Congestion) => self.hear_of_congestion(place, side),
            (Side::Server, Heard::PeerClosed) => self.client_has_closed(place),
            (Side::Server, Heard::Reset | Heard::TimedOut(_)) => self.server_gives_up(place),
            _ => {}
        }
    }

    /// Puts on the wire what may leave now, and asks for an event when a timer is due.
    pub(super) fn settle(&mut self, place: u32, side: Side) {
        self.watch_window(place);
        let (mut connection, mut rest) = self.apart(place);
        // By reference: a segment is large enough for a copy to show.
        while let Some(transmit) = &connection.end_mut(side).endpoint.poll_transmit(rest.now) {
            let sent = rest.transmit(connection, (place, side), transmit);
            if sent.dropped || rest.watches_causes {
                self.look_after(sent, (place, side), transmit);
                (connection, rest) = self.apart(place);
            }
            if transmit.is_bare_ack() {
                break;
            }
        }
        let end = connection.end_mut(side);
        rest.count(end);
        rest.arm_timer(end, (place, side));
        self.watch(place);
    }

    /// What few segments need when they have left.
    #[cold]
    fn look_after(&mut self, sent: Sent, (place, side): (u32, Side), transmit: &Transmit) {
        if self.scenario.watch_causes {
            self.watch_sent(place, side, transmit, sent);
        }
        if sent.dropped {
            self.dropped(sent.id);
        }
    }

    /// A link has dropped a packet, of the connection whose place is returned.
    #[cold]
    fn dropped(&mut self, id: PacketId) -> u32 {
        let Taken { packet, last } = self.network.take(id);
        let Packet { connection: place, from, transmit, congestion_window, recovery } = *packet;
        let connection = &mut self.connections[place as usize];
        connection.in_flight -= u32::from(last);
        self.trace.see(Sight::Dropped, (connection.id.0, from), &transmit.segment, self.now);
        let sighting = sighting(connection, from, &transmit, (congestion_window, recovery));
        self.observer.on_dropped(&sighting, self.now);
        if self.scenario.watch_causes {
            self.watch_dropped(place, from, &transmit);
        }
        place
    }
}

/// What became of a segment that has left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    id: PacketId,
    /// By the first link.
    pub(super) dropped: bool,
}

impl<O: Observer> Rest<'_, O> {
    /// Puts a segment of an end on its way.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each segment calls it; the call took 40 instructions"
    )]
    fn transmit(
        &mut self,
        connection: &mut Connection,
        (place, side): (u32, Side),
        transmit: &Transmit,
    ) -> Sent {
        let End { endpoint, way, .. } = connection.end(side);
        let (way, state) = (*way, (endpoint.windows().congestion, endpoint.recovery_phase()));
        self.collector.sent(&transmit.segment, endpoint.segment_size());
        self.trace.see(Sight::Sent, (connection.id.0, side), &transmit.segment, self.now);
        let sighting = sighting(connection, side, transmit, state);
        self.observer.on_sent(&sighting, self.now);
        connection.in_flight += 1;
        let (id, pushed) = self.network.send(transmit, (place, side), state, way, self.now);
        if let Pushed::Taken(Some((link, at))) = pushed {
            self.queue.push(at, Event::Link(link));
        }
        Sent { id, dropped: matches!(pushed, Pushed::Dropped) }
    }

    /// Timers are looked at when the event comes, not moved when they move: one that was put off asks
    /// again.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each segment calls it; the call took a third of its instructions"
    )]
    fn arm_timer(&mut self, end: &mut End, (place, side): (u32, Side)) {
        let Some(deadline) = end.endpoint.poll_timeout() else { return };
        if deadline.at < end.armed {
            end.armed = deadline.at.max(self.now);
            let event = match side {
                Side::Client => Event::ClientTimer(place),
                Side::Server => Event::ServerTimer(place),
            };
            self.queue.push(end.armed, event);
        }
    }
}

/// The next event that an application acts on: how much has arrived, and how much room there is, it
/// asks for itself.
#[inline]
fn next_heard(endpoint: &mut Endpoint) -> Option<Heard> {
    let ignored = [Heard::Readable, Heard::Writable, Heard::UrgentIgnored, Heard::Closed];
    iter::from_fn(|| endpoint.poll_event()).find(|event| !ignored.contains(event))
}

fn sighting<'a>(
    connection: &Connection,
    from: Side,
    transmit: &'a Transmit,
    (congestion_window, recovery): (u32, RecoveryPhase),
) -> Sighting<'a> {
    let hosts = [connection.end(from).host, connection.end(from.other()).host];
    Sighting { connection: connection.id, from, hosts, transmit, congestion_window, recovery }
}
