//! What there is to say about a connection when nothing more comes of it.

use std::sync::Arc;

use ackwise_cause::{ConnectOutcome, Direction, Party};
use ackwise_tcp::{Instant, Segment};

use super::{Closed, ObservedConnection};
use crate::{
    attribution::later::Resolution,
    closing::TimeWaitRule,
    conversation::TlsEnd,
    flow::flow_control::FlowControl,
    limits::Limit,
    results::{ConnectionResult, Results},
};

impl ObservedConnection {
    /// One end closes, or aborts.
    #[inline(never)]
    pub(super) fn handle_end(
        &mut self,
        segment: &Segment,
        direction: Direction,
        now: Instant,
        packet: u64,
        results: &mut Results,
    ) {
        if self.swap().is_some_and(|swap| swap.is_done_by(self.end(direction.sender()), segment)) {
            self.ends.swapped = true;
            return;
        }
        self.closed_first.get_or_insert_with(|| direction.sender());
        self.ends_now = Some((Some(direction.sender()), segment.flags.rst));
        if direction == Direction::ToServer {
            self.client_closed.get_or_insert(now);
        }
        if direction == Direction::ToClient && segment.flags.fin {
            let heard = self.ends.half(Direction::ToServer).stream.acked();
            self.server_closed.get_or_insert((now, heard));
        }
        self.close_shutdowns(direction, segment.flags.rst, results);
        if segment.flags.rst {
            self.conversation.handle_abort();
        } else if self.ends.handle_fin(segment, direction, packet, now)
            <= Some(self.reassembly[direction as usize].next())
        {
            self.conversation.handle_end(direction);
        }
        self.ends.bare_reset |= segment.flags.rst && !self.ends.reset && segment.ack.is_none();
        self.ends.reset |= segment.flags.rst;
        self.handle_events(now, packet, results);
        self.ends_now = None;
    }

    /// The capture is over, or the connection, which has begun.
    pub(crate) fn finish(&mut self, results: &mut Results) -> Closed {
        self.linger_no_more(None, results);
        for direction in [Direction::ToServer, Direction::ToClient] {
            self.unsettled[direction as usize].resolve(Resolution::Never);
            self.divide_unsettled(direction);
        }
        self.finish_shutdowns(results);
        self.ends_now = Some((None, false));
        self.conversation.handle_abort();
        self.handle_events(self.last_seen, 0, results);
        self.catch_up();
        while let Some(mut exchange) = self.open.pop_front() {
            exchange.handle_earlier_end(&self.earlier_end);
            exchange.ending = self.ending(&exchange);
            exchange.abandon(&self.abrupt_end(), self.last_seen);
            self.exchange_abandoned(exchange, results);
        }
        self.close(false, results)
    }

    /// It goes on, but is not captured any more: nobody is to blame for what its open exchanges wait for,
    /// so they are only counted. Whether it has an exchange that is listed.
    pub(crate) fn abandon(&mut self, results: &mut Results) -> bool {
        self.linger_no_more(None, results);
        self.work.give_back(&mut results.reserve);
        let open = u32::try_from(self.open.len()).unwrap_or(u32::MAX);
        results.unfollowed.count(open);
        self.exchanges = self.exchanges.saturating_sub(open);
        let is_listed = self.exchanges > 0;
        if is_listed {
            self.close(true, results);
        } else {
            self.forget();
        }
        is_listed
    }

    /// What there is to say about it. Then it is as new.
    #[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
    fn close(&mut self, abandoned: bool, results: &mut Results) -> Closed {
        if let Some(series) = &mut self.series {
            series.finish();
        }
        results.reached.add(&self.conversation.reached());
        results.reached.count(Limit::Work, self.work.is_spent().into());
        self.work.give_back(&mut results.reserve);
        let (swap, swapped) = (self.swap(), self.ends.swapped);
        let held = self.holds_time_wait(swap.is_some());
        let mut quality = self.ends.quality();
        for (direction, cut) in quality.directions.iter_mut().zip(self.cut) {
            direction.cut = cut;
        }
        quality.clock_steps = self.clock_steps;
        quality.flow_control_unseen = self.flow_control.iter().any(FlowControl::is_doubtful);
        quality.in_two_captures = self.again_elsewhere.is_so();
        let joined = self.multiplexed.take().and_then(|it| it.held()).map(Box::new);
        let held_requests =
            joined.into_iter().chain(self.held_requests.take()).max_by_key(|it| it.total);
        let tunnels = std::mem::take(&mut self.tunnels);
        let [to_server, to_client] = &self.ends.halves;
        // Without the client's ACKs, their delay is unknown.
        let shows_acks = !quality.directions[Direction::ToServer as usize].lacks_acks;
        let delayed_ack = to_client.sender.delayed_ack().filter(|_| shows_acks);
        let tls = self.conversation.tls_end();
        let black_hole = [Direction::ToServer, Direction::ToClient]
            .into_iter()
            .find_map(|it| self.ends.black_hole(it))
            .map(Box::new);
        let result = results.add_connection(ConnectionResult {
            id: self.id,
            client: self.client,
            server: self.server,
            protocol: self.protocol,
            tunnels: tunnels.finish(self.last_seen),
            exchanges: self.exchanges,
            closed_first: self.closed_first,
            reset: self.ends.reset,
            server_closed: self.server_closed.map(|it| it.0),
            client_closed: self.client_closed,
            leaves_unread: self.leaves_unread(),
            connect: self.connect(tls),
            alert: tls.and_then(TlsEnd::alert),
            hello_retried: self.conversation.hello_retried(),
            encrypted: self.conversation.encrypted(),
            opened: self.conversation.opened(),
            client_random: self.conversation.client_random().map(Box::new),
            opening_ignored: self.ends.opening_ignored(),
            answered_again: self.setup.was_answered_again(),
            icmp: None,
            black_hole,
            goaway: self.goaway.take(),
            held_requests,
            time_wait: held.map(|it| it.0),
            time_wait_rule: held.map(|it| it.1),
            closing: self.closing,
            initial_window: to_client.sender.initial_window(),
            delayed_ack: delayed_ack.map(Into::into),
            vantage: self.ends.distances.vantage(),
            round_trip: self.ends.distances.whole().into(),
            distance_in_doubt: self.ends.distances.is_in_doubt(Direction::ToServer),
            round_trips_alike: self.ends.distances.alike(),
            pacing: [to_server, to_client].map(|it| it.sender.pacing().map(Box::new)),
            measures: self.measures.as_ref().map(|it| Box::new(it.finish())),
            repeated: [to_server.repeated, to_client.repeated],
            quality,
            bytes: [to_server.stream.highest(), to_client.stream.highest()],
            first_seen: self.first_seen,
            here: self.here,
            hop_limits: self.hop_limits,
            last_seen: self.last_seen,
            abandoned,
            series: self.series.take().map(Arc::from),
        });
        if let (true, Some(result)) = (swapped, result) {
            results.swap_time_wait(result);
        }
        self.forget();
        Closed { result, swap: swap.filter(|_| !swapped) }
    }

    /// How the attempt to connect ended, if it brought no connection, or no TLS session.
    pub(super) fn connect(&self, tls: Option<TlsEnd>) -> Option<ConnectOutcome> {
        if self.exchanges > 0 {
            return None;
        }
        // What the capture lacks may have ended the handshake.
        let is_whole = self.cut == [0; 2] && self.ends.are_whole();
        match tls.filter(|_| is_whole) {
            None | Some(TlsEnd::Done) => self.ends.connect(self.closed_first),
            Some(TlsEnd::Alert(_)) => Some(ConnectOutcome::TlsAlert),
            Some(TlsEnd::Unfinished) => self.closed_first.map(|_| ConnectOutcome::TlsUnfinished),
        }
    }

    /// The client closed, and reset the last response: it did not want it. A client that only ends its requests
    /// acknowledges what comes.
    pub(super) fn leaves_unread(&self) -> bool {
        let closed = self.ends.fin(Direction::ToServer).is_some();
        let answers = &self.ends.half(Direction::ToClient).stream;
        let unread = answers.acked() <= self.answered_from && answers.flight() > 0;
        closed && unread && self.ends.reset && self.closed_first == Some(Party::Client)
    }

    /// Who holds TIME-WAIT, if both ends have closed in order. The end that relies on the other forgets the connection
    /// and answers what comes late with an RST, which the other ignores.
    pub(super) fn holds_time_wait(&self, in_order: bool) -> Option<(Party, TimeWaitRule)> {
        let held = self.closing.holder(self.closed_first?);
        let relies = held.1 == TimeWaitRule::Negotiated && self.ends.both_closed();
        (in_order || relies).then_some(held)
    }
}
