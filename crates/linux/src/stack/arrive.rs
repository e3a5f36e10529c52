//! Assigns each arriving packet to a connection or a listener.

use std::sync::Arc;

use ackwise_tcp::{
    DropReason, Endpoint, Instant, Segment, SeqNumber, State,
    driver::{Cookie, ListenOutcome, Listener},
    endpoint::refuse,
    wire::{self, Packet, ParseError, TooBig},
};

use super::{
    ConnectionId, TunStack, Tuple,
    connection::{Connection, Owner},
    echo,
    listener::Port,
};

impl TunStack {
    /// Processes one packet. Malicious packets only increase counters.
    pub(super) fn handle_packet(&mut self, packet: &mut [u8], now: Instant) {
        if !self.link.is_for_us(packet) {
            self.link.counters.not_ours += 1;
            return;
        }
        match wire::parse(packet) {
            Ok(packet) => self.handle_tcp(&packet, now),
            Err(ParseError::NotTcp { .. }) => self.handle_other(packet, now),
            Err(_) => self.link.counters.malformed += 1,
        }
    }

    fn handle_other(&mut self, packet: &mut [u8], now: Instant) {
        if let Some(too_big) = wire::parse_too_big(packet) {
            self.handle_too_big(&too_big, now);
        } else if echo::answer(packet) {
            self.link.counters.echoes += 1;
            self.link.return_packet(packet);
        } else {
            self.link.counters.not_tcp += 1;
        }
    }

    /// Handles a router's report of a dropped packet. The connection checks its plausibility.
    fn handle_too_big(&mut self, too_big: &TooBig, now: Instant) {
        let tuple = Tuple { ours: too_big.source, peer: too_big.destination };
        let slot = self.table.find(&tuple);
        let endpoint =
            slot.and_then(|slot| self.table.at_mut(slot)).and_then(Connection::endpoint_mut);
        let believed =
            endpoint.is_some_and(|endpoint| endpoint.handle_path_mtu(too_big.report).is_ok());
        let (true, Some(slot)) = (believed, slot) else {
            self.link.counters.path_mtus_ignored += 1;
            return;
        };
        self.link.counters.path_mtus += 1;
        self.paths.learn(tuple.peer.ip(), too_big.report.mtu, now);
        self.settle(slot, now);
    }

    fn handle_tcp(&mut self, packet: &Packet<'_>, now: Instant) {
        let tuple = Tuple { ours: packet.destination, peer: packet.source };
        match self.table.find(&tuple) {
            Some(slot) => self.handle_known(slot, &tuple, packet, now),
            None => self.handle_stranger(&tuple, packet, None, now),
        }
    }

    fn handle_known(&mut self, slot: u32, tuple: &Tuple, packet: &Packet<'_>, now: Instant) {
        let Some(connection) = self.table.at_mut(slot) else { return };
        let endpoint = connection.endpoint();
        let reopens = endpoint.and_then(|endpoint| endpoint.reopens(&packet.segment));
        // Without room it does not: a cookie's sequence number cannot be chosen. TIME-WAIT answers the SYN by an ACK,
        // which the client resets, and with that TIME-WAIT.
        let listener = self.listeners.get(&tuple.ours.port()).map(|port| &port.listener);
        if reopens.is_some() && listener.is_some_and(Listener::has_room) {
            self.hand_over(slot, tuple);
            return self.handle_stranger(tuple, packet, reopens, now);
        }
        match connection.state() {
            None => connection.record_arrival(&packet.segment, None, now),
            Some(State::Closed) => {
                let dropped = Some(DropReason::NoConnection);
                connection.record_arrival(&packet.segment, dropped, now);
                self.handle_stranger(tuple, packet, None, now);
            }
            Some(_) => {
                connection.handle(packet, now);
                self.settle(slot, now);
            }
        }
    }

    /// Frees the addresses of a connection in TIME-WAIT for its next incarnation.
    fn hand_over(&mut self, slot: u32, tuple: &Tuple) {
        self.table.unbind(slot, tuple);
        if self.table.at(slot).is_some_and(|connection| connection.owner == Owner::Nobody) {
            self.remove(slot);
        }
    }

    /// Handles a segment without a connection. `after` is the last sequence number of an earlier
    /// incarnation, if this SYN reopens it.
    fn handle_stranger(
        &mut self,
        tuple: &Tuple,
        packet: &Packet<'_>,
        after: Option<SeqNumber>,
        now: Instant,
    ) {
        let full = self.table.len() >= self.limit;
        let counters = &mut self.link.counters;
        let Some(port) = self.listeners.get_mut(&tuple.ours.port()) else {
            if let Some(reset) = refuse(&packet.segment) {
                self.reset(tuple, &reset);
            }
            return;
        };
        match port.listener.handle_packet(packet, now) {
            ListenOutcome::Open | ListenOutcome::Resume(_) if full => {
                port.listener.end(None);
                counters.overflows += 1;
            }
            ListenOutcome::Answer(_) if full => counters.overflows += 1,
            ListenOutcome::Open => self.open_passively(tuple, packet, after, now),
            ListenOutcome::Answer(cookie) => self.answer(tuple, &cookie, now),
            ListenOutcome::Resume(cookie) => self.resume(tuple, packet, &cookie, now),
            ListenOutcome::Reset(reset) => self.reset(tuple, &reset),
            ListenOutcome::Drop(DropReason::BacklogFull) => counters.overflows += 1,
            ListenOutcome::Drop(_) => counters.dropped += 1,
        }
    }

    fn reset(&mut self, tuple: &Tuple, reset: &Segment) {
        self.link.counters.refused += 1;
        self.link.send(tuple, reset, &[]).expect("an RST fits into a packet");
    }

    fn open_passively(
        &mut self,
        tuple: &Tuple,
        packet: &Packet<'_>,
        after: Option<SeqNumber>,
        now: Instant,
    ) {
        let iss = self.initial_sequence(tuple, after, now);
        let Some(endpoint) = self.listening(tuple, iss, now) else { return };
        self.admit(tuple, packet, endpoint, now);
    }

    /// Answers a SYN for which the listener has no room, and keeps nothing of it.
    fn answer(&mut self, tuple: &Tuple, cookie: &Cookie, now: Instant) {
        let Some(endpoint) = self.listening(tuple, cookie.initial_sequence(), now) else { return };
        self.link.counters.cookies_sent += 1;
        let syn_ack = cookie.syn_ack(endpoint, now);
        self.link.send(tuple, &syn_ack, &[]).expect("a SYN-ACK fits into a packet");
    }

    /// Opens the connection whose cookie `packet` returns.
    fn resume(&mut self, tuple: &Tuple, packet: &Packet<'_>, cookie: &Cookie, now: Instant) {
        let iss = cookie.initial_sequence();
        let Some(mut endpoint) = self.listening(tuple, iss, now) else { return };
        self.link.counters.cookies_accepted += 1;
        cookie.resume(&mut endpoint, now);
        self.admit(tuple, packet, endpoint, now);
    }

    /// A new endpoint for the listener of `tuple`.
    fn listening(&mut self, tuple: &Tuple, iss: SeqNumber, now: Instant) -> Option<Endpoint> {
        let config = Arc::clone(&self.listeners.get(&tuple.ours.port())?.config);
        let mut endpoint = Endpoint::listen(config, iss);
        self.prepare(&mut endpoint, tuple, now);
        Some(endpoint)
    }

    /// Puts a listener's new endpoint into the table, and hands it its first segment.
    fn admit(&mut self, tuple: &Tuple, packet: &Packet<'_>, endpoint: Endpoint, now: Instant) {
        let port = tuple.ours.port();
        let Some(Port { tap, .. }) = self.listeners.get(&port) else { return };
        let tap = *tap;
        if let Some(closed) = self.table.find(tuple) {
            self.table.unbind(closed, tuple);
        }
        let mut connection = Connection::new(*tuple, endpoint, Owner::Listener(port), tap);
        connection.handle(packet, now);
        let id = self.table.insert(connection);
        self.settle(self.table.slot(id).expect("it was inserted just now"), now);
    }

    /// Removes a connection from its listener when its handshake has succeeded or failed.
    pub(super) fn graduate(&mut self, slot: u32) {
        let Some(connection) = self.table.at_mut(slot) else { return };
        let Owner::Listener(port) = connection.owner else { return };
        let over = connection.is_over();
        if connection.state() == Some(State::SynReceived) {
            return;
        }
        connection.owner = if over { Owner::Nobody } else { Owner::Application };
        let id: Option<ConnectionId> = (!over).then(|| self.table.id(slot));
        if let Some(port) = self.listeners.get_mut(&port) {
            port.listener.end(id);
        }
    }

    /// RFC 6528. If an earlier incarnation is in TIME-WAIT: "larger than the largest sequence
    /// number it used on the previous connection incarnation" (RFC 1122, section 4.2.2.13).
    fn initial_sequence(&self, tuple: &Tuple, after: Option<SeqNumber>, now: Instant) -> SeqNumber {
        let drawn = self.secrets.initial_sequence(tuple, now);
        match after {
            Some(last) if !last.precedes(drawn) => last + REOPENING_STEP,
            _ => drawn,
        }
    }
}

/// 4.3BSD's `TCP_ISSINCR`: "iss = tp->rcv_nxt + TCP_ISSINCR" when a SYN reopens TIME-WAIT.
const REOPENING_STEP: u32 = 128 * 1024;

#[cfg(test)]
mod tests {
    use std::{hash::Hasher, time::Duration};

    use ackwise_tcp::{Config, Flags, Options, Policies, policy::Offer};
    use siphasher::sip::SipHasher13;

    use super::*;
    use crate::{
        TunDevice,
        device::TunOptions,
        stack::{Listen, StackOptions, Tap},
    };
    use ackwise_testing::{in_namespace, skip};

    const BACKLOG: usize = 8;

    /// A deterministic random number generator.
    struct Dice(SipHasher13);

    impl Dice {
        fn below(&mut self, sides: u64) -> u64 {
            self.0.write_u8(1);
            self.0.finish() % sides
        }

        fn number(&mut self, sides: u64) -> u32 {
            u32::try_from(self.below(sides)).expect("fewer sides")
        }

        fn coin(&mut self) -> bool {
            self.below(2) == 0
        }

        /// A segment near the beginning of the sequence space, with any flags.
        fn segment(&mut self) -> Segment {
            let flags = Flags {
                syn: self.below(4) == 0,
                fin: self.below(6) == 0,
                rst: self.below(9) == 0,
                psh: self.coin(),
                urg: self.below(9) == 0,
            };
            Segment {
                seq: SeqNumber(self.number(4000)),
                ack: self.coin().then(|| SeqNumber(self.number(1 << 32))),
                flags,
                window: u16::try_from(self.below(65_536)).expect("16 bits"),
                len: self.number(1400),
                ..Segment::default()
            }
        }
    }

    fn with_stack(name: &str, test: impl FnOnce(TunStack) + Send) {
        in_namespace(name, || match TunDevice::open(TunOptions::default()) {
            Ok(device) => {
                let options = StackOptions { seed: Some(1), ..StackOptions::default() };
                test(TunStack::new(device, options).unwrap());
            }
            Err(missing) => skip(name, missing),
        });
    }

    #[test]
    fn whatever_segments_arrive_the_limits_hold() {
        with_stack("whatever_segments_arrive_the_limits_hold", |mut stack| {
            let config = Config::new(Policies::RFC);
            let listen = Listen { config, backlog: BACKLOG, tap: Tap::Last(4) };
            stack.listen(80, listen).unwrap();
            let (host, ours) = (stack.device().v4().host, stack.device().v4().ours);
            let mut dice = Dice(SipHasher13::new());
            let mut packet = Vec::new();
            for _ in 0..20_000 {
                let segment = dice.segment();
                let source = (host, u16::try_from(1000 + dice.below(20)).unwrap()).into();
                let destination = (ours, if dice.below(5) == 0 { 9 } else { 80 }).into();
                let payload = vec![7; segment.len as usize];
                wire::write(&mut packet, source, destination, &segment, &payload).unwrap();
                stack.handle_packet(&mut packet, stack.now());
                assert!(stack.connections() <= BACKLOG);
            }
            let counters = stack.counters();
            assert!(counters.refused > 0 && counters.cookies_sent > 0, "{counters:?}");
            assert_eq!((counters.malformed, counters.send_failures), (0, 0), "{counters:?}");
        });
    }

    #[test]
    fn a_full_backlog_does_not_reopen_time_wait() {
        with_stack("a_full_backlog_does_not_reopen_time_wait", |mut stack| {
            let config = Config::new(Policies { offer: Offer::NONE, ..Policies::RFC });
            stack.listen(80, Listen { config, backlog: 1, tap: Tap::Off }).unwrap();
            let (host, ours) = (stack.device().v4().host, stack.device().v4().ours);
            let mut packet = Vec::new();
            let mut arrive = |stack: &mut TunStack, port: u16, segment: Segment| {
                wire::write(&mut packet, (host, port).into(), (ours, 80).into(), &segment, &[])
                    .unwrap();
                stack.handle_packet(&mut packet, stack.now());
            };
            let syn =
                |seq| Segment { seq: SeqNumber(seq), flags: Flags::SYN, ..Segment::default() };
            arrive(&mut stack, 1000, syn(0));
            let first = stack.table.at(0).unwrap().endpoint().unwrap().initial_sequence();
            let ack = |seq, ack: u32, flags| {
                let ack = Some(first + ack);
                Segment { seq: SeqNumber(seq), ack, flags, window: 999, ..Segment::default() }
            };
            arrive(&mut stack, 1000, ack(1, 1, Flags::NONE));
            let connection = stack.accept(80).unwrap();
            stack.close(connection);
            arrive(&mut stack, 1000, ack(1, 2, Flags::FIN));
            let state = |stack: &TunStack| stack.endpoint(connection).map(Endpoint::state);
            assert_eq!(state(&stack), Some(State::TimeWait));

            arrive(&mut stack, 2000, syn(0));
            arrive(&mut stack, 3000, syn(0));
            assert_eq!(stack.counters().cookies_sent, 1, "the backlog is full");
            arrive(&mut stack, 1000, syn(70_000));
            assert_eq!((state(&stack), stack.connections()), (Some(State::TimeWait), 2));
            arrive(&mut stack, 1000, Segment { ack: None, ..ack(2, 0, Flags::RST) });
            assert_eq!(state(&stack), Some(State::Closed));
            arrive(&mut stack, 1000, syn(70_000));
            assert_eq!((stack.counters().cookies_sent, stack.connections()), (2, 2));
        });
    }

    /// A peer of connections with port 80, one for each of its ports.
    struct Peer {
        stack: TunStack,
        packet: Vec<u8>,
    }

    impl Peer {
        fn of(mut stack: TunStack) -> Self {
            let config = Config::new(Policies { offer: Offer::NONE, ..Policies::RFC });
            stack.listen(80, Listen { config, backlog: 8, tap: Tap::Off }).unwrap();
            Self { stack, packet: Vec::new() }
        }

        fn send(&mut self, port: u16, segment: &Segment, now: Instant) {
            let v4 = self.stack.device().v4();
            let (from, to) = ((v4.host, port).into(), (v4.ours, 80).into());
            wire::write(&mut self.packet, from, to, segment, &[]).unwrap();
            self.stack.handle_packet(&mut self.packet, now);
        }

        /// Acknowledges everything that a connection has sent.
        fn acknowledge(&mut self, id: ConnectionId, window: u16, now: Instant) {
            let Some(endpoint) = self.stack.endpoint(id) else { return };
            let (seq, ack) = (endpoint.next_expected(), Some(endpoint.next_sequence()));
            let port = self.stack.tuple(id).unwrap().peer.port();
            self.send(port, &Segment { seq, ack, window, ..Segment::default() }, now);
        }

        fn open(&mut self, port: u16, window: u16) -> ConnectionId {
            let now = self.stack.now();
            self.send(port, &Segment { flags: Flags::SYN, ..Segment::default() }, now);
            let v4 = self.stack.device().v4();
            let tuple = Tuple { ours: (v4.ours, 80).into(), peer: (v4.host, port).into() };
            let id = self.stack.table.id(self.stack.table.find(&tuple).unwrap());
            self.acknowledge(id, window, now);
            assert_eq!(self.stack.accept(80), Some(id));
            id
        }
    }

    #[test]
    fn a_peer_that_never_closes_holds_a_released_connection_for_a_minute_and_another_for_ever() {
        let name = "a_peer_that_never_closes_holds_a_released_connection_for_a_minute";
        with_stack(name, |stack| {
            let mut peer = Peer::of(stack);
            let [released, held] = [1000, 1001].map(|port| {
                let id = peer.open(port, 999);
                peer.stack.close(id);
                peer.acknowledge(id, 999, peer.stack.now());
                id
            });
            peer.stack.release(released);
            let (now, sent) = (peer.stack.now(), peer.stack.counters().packets_out);
            for (seconds, left) in [(59, 2), (61, 1), (99_999, 1)] {
                peer.stack.fire_timers(now + Duration::from_secs(seconds));
                assert_eq!(peer.stack.connections(), left, "after {seconds} s");
            }
            assert_eq!(peer.stack.endpoint(held).map(Endpoint::state), Some(State::FinWait2));
            let counters = peer.stack.counters();
            assert_eq!((counters.orphans_timed_out, counters.packets_out), (1, sent));
        });
    }

    #[test]
    fn a_closed_window_holds_a_released_connection_for_100_seconds_and_another_for_ever() {
        let name = "a_closed_window_holds_a_released_connection_for_100_seconds";
        with_stack(name, |stack| {
            let mut peer = Peer::of(stack);
            let [released, held] = [1000, 1001].map(|port| {
                let id = peer.open(port, 0);
                assert_eq!(peer.stack.write(id, &[7; 1000]), 1000);
                id
            });
            peer.stack.release(released);
            let (start, mut left_at) = (peer.stack.now(), None);
            while let Some(now) = peer.stack.deadlines.earliest()
                && now.since(start) < Duration::from_secs(1000)
            {
                peer.stack.fire_timers(now);
                for id in [released, held] {
                    let tuple = peer.stack.tuple(id);
                    let Some((endpoint, tuple)) = peer.stack.endpoint(id).zip(tuple) else {
                        left_at.get_or_insert_with(|| now.since(start));
                        continue;
                    };
                    let ack = Some(endpoint.initial_sequence() + 1);
                    let seq = endpoint.next_expected();
                    peer.send(tuple.peer.port(), &Segment { seq, ack, ..Segment::default() }, now);
                }
            }
            // The clock of the first calls went on while the test ran.
            let left_at = left_at.expect("it was given up").as_millis();
            assert!((99_000..=100_000).contains(&left_at), "{left_at} ms");
            assert_eq!(peer.stack.endpoint(held).map(Endpoint::state), Some(State::Established));
            assert_eq!(peer.stack.counters().orphans_timed_out, 1);
        });
    }

    #[test]
    fn a_listener_drops_what_neither_opens_nor_acknowledges() {
        with_stack("a_listener_drops_what_neither_opens_nor_acknowledges", |mut stack| {
            let config = Config::new(Policies::RFC);
            stack.listen(80, Listen { config, backlog: 1, tap: Tap::Off }).unwrap();
            let (host, ours) = (stack.device().v4().host, stack.device().v4().ours);
            let fin = Segment { flags: Flags::FIN, ..Segment::default() };
            let data = Segment { len: 3, ..Segment::default() };
            let ack = Segment { ack: Some(SeqNumber(7)), ..Segment::default() };
            let mut packet = Vec::new();
            // (the segment, its port, RSTs so far, drops so far)
            for (segment, port, refused, dropped) in
                [(fin, 80, 0, 1), (data, 80, 0, 2), (ack, 80, 1, 2), (fin, 9, 2, 2)]
            {
                let (from, to) = ((host, 1000).into(), (ours, port).into());
                wire::write(&mut packet, from, to, &segment, &vec![7; segment.len as usize])
                    .unwrap();
                stack.handle_packet(&mut packet, stack.now());
                let counters = stack.counters();
                assert_eq!((counters.refused, counters.dropped), (refused, dropped), "{segment:?}");
            }
        });
    }

    #[test]
    fn a_report_of_a_router_makes_segments_smaller_for_this_connection_and_the_next() {
        let name = "a_report_of_a_router_makes_segments_smaller_for_this_connection_and_the_next";
        with_stack(name, |mut stack| {
            let peer = (stack.device().v4().host, 80).into();
            let config = Config::new(Policies::RFC);
            let first = stack.connect(peer, config, Tap::Last(9)).unwrap();
            let tuple = stack.tuple(first).unwrap();
            let mut packet = Vec::new();
            let mut arrive = |stack: &mut TunStack, segment: &Segment| {
                wire::write(&mut packet, tuple.peer, tuple.ours, segment, &[]).unwrap();
                stack.handle_packet(&mut packet, stack.now());
            };
            let iss = stack.endpoint(first).unwrap().initial_sequence();
            let options = Options { mss: Some(1460), ..Options::NONE };
            let (flags, window) = (Flags::SYN, 65_535);
            let syn_ack =
                Segment { ack: Some(iss + 1), flags, window, options, ..Segment::default() };
            arrive(&mut stack, &syn_ack);
            assert_eq!(stack.write(first, &[7; 2000]), 2000);

            let report = |sequence| {
                let (mut dropped, mut message) = (Vec::new(), Vec::new());
                let segment = Segment { seq: sequence, len: 1460, ..Segment::default() };
                wire::write(&mut dropped, tuple.ours, tuple.peer, &segment, &[7; 1460]).unwrap();
                assert!(wire::write_too_big(&mut message, tuple.peer.ip(), 1_000, &dropped));
                message
            };
            for (sequence, size, counted) in [(iss + 9_999, 1460, (0, 1)), (iss + 1, 960, (1, 1))] {
                stack.handle_packet(&mut report(sequence), stack.now());
                let counters = stack.counters();
                assert_eq!((counters.path_mtus, counters.path_mtus_ignored), counted);
                assert_eq!(stack.endpoint(first).unwrap().segment_size(), size);
            }
            let last = stack.trace(first).unwrap().since(0).last().copied().unwrap();
            assert_eq!((last.segment.seq, last.segment.len), (iss + 1, 960));

            let second = stack.connect(peer, config, Tap::Off).unwrap();
            assert_eq!(stack.endpoint(second).unwrap().segment_size(), 960);
        });
    }

    #[test]
    fn junk_is_counted_and_nothing_else() {
        with_stack("junk_is_counted_and_nothing_else", |mut stack| {
            let (host, ours) = (stack.device().v4().host, stack.device().v4().ours);
            let mut dice = Dice(SipHasher13::new());
            let mut packet = Vec::new();
            let segment = Segment { len: 10, ..Segment::default() };
            for _ in 0..20_000 {
                wire::write(&mut packet, (host, 1).into(), (ours, 9).into(), &segment, &[7; 10])
                    .unwrap();
                packet.truncate(dice.number(60) as usize);
                for _ in 0..4 {
                    let at = dice.number(60) as usize;
                    if let Some(byte) = packet.get_mut(at) {
                        *byte = u8::try_from(dice.below(256)).unwrap();
                    }
                }
                stack.handle_packet(&mut packet, stack.now());
            }
            let counters = stack.counters();
            let ignored = counters.not_ours + counters.not_tcp + counters.malformed;
            assert!(ignored > 19_000, "{counters:?}");
            assert_eq!(stack.connections(), 0);
        });
    }
}
