//! The middle of a long response: most segments of a busy server, with which nothing happens but that it goes on.

use ackwise_cause::Direction;

use super::{CLOCK_STEP, ObservedConnection, Packet};
use crate::{attribution::Nanos, conversation::Protocol, results::Results};

impl ObservedConnection {
    /// Takes a segment that continues the only open response, behind nothing but a link. False if it does not, or
    /// not for sure: then nothing has happened.
    ///
    /// [`judge`](Self::judge) does the same in more steps. The segment acknowledges what was known, is next in its
    /// stream, and is content that ends no message; nothing waits to be divided, and nobody measures or draws. So
    /// all there is to tell is that a link was busy.
    pub(super) fn run_on(
        &mut self,
        seen: &Packet<'_>,
        direction: Direction,
        results: &mut Results,
    ) -> bool {
        let segment = seen.segment;
        if direction != Direction::ToClient || !self.may_run_on() {
            return false;
        }
        let start = self.ends.half(direction).stream.highest();
        let reassembly = &self.reassembly[direction as usize];
        if !reassembly.is_in_order_at(start)
            || !self.conversation.would_pass(direction, start, segment.len, seen.payload)
        {
            return false;
        }
        let (before, now) = (self.last_seen, seen.at.max(self.last_seen));
        let Some(gap) = self.ends.run_on(seen, direction, now) else { return false };
        self.clock_steps += u32::from(Nanos::between(seen.at, now) > CLOCK_STEP);
        self.last_seen = now;
        self.closed_at = None;
        let is_cut = seen.payload.len() < segment.len as usize;
        self.cut[direction as usize] += u32::from(is_cut);
        self.heard_by_server.note(self.ends.half(Direction::ToServer).stream.acked(), before);
        // One for the only open exchange.
        self.work.grant(seen.payload.len(), 1, &mut results.reserve, seen.number);
        self.work.spend(1);
        self.reassembly[direction as usize].run_on(start, segment.len);
        self.conversation.pass(direction, start, segment.len);
        if let Some(exchange) = self.open.front_mut() {
            exchange.handle_earlier_end(&self.earlier_end);
            exchange.account.add(gap.until, gap.of_link(direction));
        }
        true
    }

    /// Whether a response may go on without anything else to be noted.
    fn may_run_on(&self) -> bool {
        let is_quiet = self.measures.is_none()
            && self.series.is_none()
            && self.lingering.is_none()
            && self.behind_hole.is_none();
        let [to_server, to_client] = &self.unsettled;
        self.protocol == Some(Protocol::Http1)
            && is_quiet
            && to_client.is_empty()
            && !to_server.is_again()
            && self.flow_control[Direction::ToClient as usize].is_open()
            && self.exchanges > 0
            && self.open.len() == 1
            && self.deferred.is_empty()
            && self.open.front().is_some_and(|it| it.is_answered())
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use ackwise_tcp::{Flags, Instant, Options, Segment, SeqNumber, Timestamps, WindowShift};
    use proptest::prelude::*;

    use super::*;
    use crate::{
        attribution::KnownPaces,
        decode::Seen,
        flow::{ends::Ends, newcomer::Newcomer},
    };

    const FULL: u32 = 1_000;
    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\n\r\n";
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 9500\r\n\r\n";
    const BODY: u32 = 9_500;

    /// What is captured next, and how many microseconds later.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        Request {
            after: u64,
        },
        Data {
            after: u64,
            odd: Odd,
        },
        /// All but the given number of bytes are acknowledged.
        Ack {
            after: u64,
            open: u32,
        },
    }

    /// What is unusual about a data segment.
    #[derive(Clone, Copy, Debug, Eq, PartialEq)]
    enum Odd {
        Nothing,
        Short,
        Pushed,
        Cut,
        HeadCut,
        Again,
        BehindHole,
        Fin,
        Echo,
        Window,
        Number,
        Earlier,
    }

    fn any_event() -> impl Strategy<Value = Event> {
        use Odd::{
            Again, BehindHole, Cut, Earlier, Echo, Fin, HeadCut, Number, Pushed, Short, Window,
        };
        let after = || prop_oneof![6 => 0..20_u64, 1 => 20..700_u64, 1 => 700..300_000_u64];
        let odd =
            [Short, Pushed, Cut, HeadCut, Again, BehindHole, Fin, Echo, Window, Number, Earlier];
        let odd = prop_oneof![
            9 => Just(Odd::Nothing),
            1 => proptest::sample::select(odd.to_vec()),
        ];
        prop_oneof![
            12 => (after(), odd).prop_map(|(after, odd)| Event::Data { after, odd }),
            2 => (after(), prop_oneof![Just(0), 0..5 * FULL])
                .prop_map(|(after, open)| Event::Ack { after, open }),
            2 => after().prop_map(|after| Event::Request { after }),
        ]
    }

    /// A connection of which two copies see the same.
    struct Pair {
        /// What both are before they begin.
        newcomer: Newcomer,
        short: Box<ObservedConnection>,
        long: Box<ObservedConnection>,
        results: [Results; 2],
        at: Instant,
        number: u64,
        /// What the server sends, how far it has come, and what is acknowledged of that.
        stream: Vec<u8>,
        sent: u32,
        acked: u32,
        asked: u32,
        window: u16,
        identification: u16,
        short_ways: usize,
    }

    impl Pair {
        fn new() -> Self {
            let [client, server] = Self::ends();
            let mut newcomer = Newcomer::default();
            newcomer.renew(0, client, server, Instant::EPOCH);
            let mut pair = Self {
                newcomer,
                short: Box::default(),
                long: Box::default(),
                results: [Results::default(), Results::default()],
                at: Instant::EPOCH,
                number: 0,
                stream: Vec::new(),
                sent: 0,
                acked: 0,
                asked: 0,
                window: 500,
                identification: 7,
                short_ways: 0,
            };
            pair.shake_hands();
            pair
        }

        fn ends() -> [SocketAddr; 2] {
            ["10.0.0.1:50000", "10.0.0.2:80"].map(|it| it.parse().unwrap())
        }

        fn shake_hands(&mut self) {
            let options = Options {
                mss: Some(1_012),
                window_scale: Some(WindowShift::new(7)),
                timestamps: Some(Timestamps { value: 0, echo: 0 }),
                sack_permitted: true,
                ..Options::NONE
            };
            let syn = Segment {
                seq: SeqNumber(999),
                flags: Flags::SYN,
                window: 60_000,
                options,
                ..Segment::default()
            };
            let reply = Segment { seq: SeqNumber(4_999), ack: Some(SeqNumber(1_000)), ..syn };
            let see = |this: &mut Self, after, direction, segment| {
                let seen = this.seen(after, direction, segment, &[]);
                this.newcomer.handle(&Packet::of(&seen), direction, &mut Ends::default());
            };
            see(self, 10, Direction::ToServer, syn);
            see(self, 10, Direction::ToClient, reply);
            let opening = self.segment(Direction::ToServer);
            see(self, 9_000, Direction::ToServer, opening);
            self.newcomer.survey(&mut Ends::default());
            let awaits = self.newcomer.awaits_paces();
            let paces = awaits.map(|(hosts, seen)| KnownPaces::default().add(hosts, seen));
            for (connection, results) in
                [&mut self.short, &mut self.long].into_iter().zip(&mut self.results)
            {
                connection.begin(&self.newcomer, &paces.unwrap(), results);
            }
        }

        /// The next segment, without data.
        fn segment(&self, direction: Direction) -> Segment {
            let [seq, ack] = [1_000 + self.asked, 5_000 + self.acked].map(SeqNumber);
            let tick = u32::try_from(self.at.as_nanos() / 1_000_000).unwrap();
            let timestamps = Some(Timestamps { value: tick, echo: 0 });
            let (seq, ack) = match direction {
                Direction::ToServer => (seq, ack),
                Direction::ToClient => (SeqNumber(5_000 + self.sent), seq),
            };
            let options = Options { timestamps, ..Options::NONE };
            Segment { seq, ack: Some(ack), window: self.window, options, ..Segment::default() }
        }

        fn seen<'a>(
            &mut self,
            after: u64,
            direction: Direction,
            segment: Segment,
            payload: &'a [u8],
        ) -> Seen<'a> {
            self.at = self.at + Nanos::from_micros(after);
            self.number += 1;
            let [client, server] = Self::ends();
            let (source, destination) = match direction {
                Direction::ToServer => (client, server),
                Direction::ToClient => (server, client),
            };
            let seen = Seen {
                number: self.number,
                at: self.at,
                interface: 0,
                source,
                destination,
                segment,
                payload,
                hop_limit: 64,
                identification: match direction {
                    Direction::ToServer => 0,
                    Direction::ToClient => self.identification,
                },
                fragment: false,
                options_cut: false,
                station: None,
            };
            self.identification += u16::from(direction == Direction::ToClient);
            seen
        }

        fn see(&mut self, after: u64, direction: Direction, segment: Segment, payload: &[u8]) {
            let seen = self.seen(after, direction, segment, payload);
            let packet = Packet::of(&seen);
            let [short, long] = &mut self.results;
            match self.short.run_on(&packet, direction, short) {
                true => self.short_ways += 1,
                false => self.short.handle_in_detail(&packet, direction, short),
            }
            self.long.handle_in_detail(&packet, direction, long);
            let both = |connection: &ObservedConnection, results: &Results| {
                format!("{connection:?} {results:?}")
            };
            assert_eq!(both(&self.short, short), both(&self.long, long), "{seen:?}");
        }

        fn take(&mut self, event: Event) {
            match event {
                Event::Request { after } => {
                    let len = u32::try_from(REQUEST.len()).unwrap();
                    let segment =
                        Segment { len, flags: Flags::PSH, ..self.segment(Direction::ToServer) };
                    self.see(after, Direction::ToServer, segment, REQUEST);
                    self.asked += len;
                    self.stream.extend_from_slice(HEAD);
                    self.stream.resize(self.stream.len() + BODY as usize, b'x');
                }
                Event::Ack { after, open } => {
                    self.acked = self.acked.max(self.sent.saturating_sub(open));
                    let ack = self.segment(Direction::ToServer);
                    self.see(after, Direction::ToServer, ack, &[]);
                }
                Event::Data { after, odd } => self.send(after, odd),
            }
        }

        fn send(&mut self, after: u64, odd: Odd) {
            let before = self.sent;
            match odd {
                Odd::Again => self.sent = self.sent.saturating_sub(FULL),
                Odd::BehindHole => self.sent += FULL,
                _ => {}
            }
            let all = u32::try_from(self.stream.len()).unwrap();
            let most = if odd == Odd::Short { FULL / 3 } else { FULL };
            let len = all.saturating_sub(self.sent).min(most);
            if len == 0 {
                self.sent = before;
                return;
            }
            let mut segment = self.segment(Direction::ToClient);
            segment.len = len;
            segment.flags.psh = odd == Odd::Pushed || self.sent + len == all;
            segment.flags.fin = odd == Odd::Fin;
            match odd {
                Odd::Echo => {
                    segment.options.timestamps = Some(Timestamps { value: 9, echo: 9_999_999 })
                }
                Odd::Window => segment.window += 1,
                Odd::Number => self.identification += 2,
                Odd::Earlier => self.at = self.at - Nanos::from_millis(2),
                _ => {}
            }
            let captured = match odd {
                Odd::Cut => len / 2,
                Odd::HeadCut => len.min(20),
                _ => len,
            };
            let payload = self.stream[self.sent as usize..][..captured as usize].to_vec();
            self.see(after, Direction::ToClient, segment, &payload);
            self.sent = before.max(self.sent + len);
        }
    }

    proptest! {
        #[test]
        fn the_short_way_does_what_the_long_way_does(
            events in proptest::collection::vec(any_event(), 1..80),
        ) {
            let mut pair = Pair::new();
            pair.take(Event::Request { after: 1_000 });
            events.into_iter().for_each(|event| pair.take(event));
        }
    }

    #[test]
    fn the_middle_of_a_response_takes_the_short_way() {
        let mut pair = Pair::new();
        pair.take(Event::Request { after: 1_000 });
        for _ in 0..10 {
            pair.take(Event::Data { after: 5, odd: Odd::Nothing });
        }
        assert_eq!(pair.short_ways, 8, "all but the first and the last");
    }

    #[test]
    fn what_is_drawn_takes_no_short_way() {
        let mut pair = Pair::new();
        pair.short.keep_series(1);
        pair.long.keep_series(1);
        pair.take(Event::Request { after: 1_000 });
        for _ in 0..10 {
            pair.take(Event::Data { after: 5, odd: Odd::Nothing });
        }
        assert_eq!(pair.short_ways, 0);
    }

    /// A response is under way, of which three segments were seen.
    fn under_way() -> Pair {
        let mut pair = Pair::new();
        pair.take(Event::Request { after: 1_000 });
        (0..3).for_each(|_| pair.take(Event::Data { after: 5, odd: Odd::Nothing }));
        assert_eq!(pair.short_ways, 2);
        pair
    }

    #[test]
    fn the_short_way_is_open_where_nothing_waits_and_nobody_measures() {
        use crate::attribution::gap::tests::HELD;
        type Change = fn(&mut ObservedConnection);
        let rows: &[(&str, Change, bool)] = &[
            ("a response is under way", |_| (), true),
            ("measured", |it| it.measures = Some(Box::default()), false),
            ("drawn", |it| it.series = Some(Box::default()), false),
            ("behind a hole", |it| it.behind_hole = last(it), false),
            ("of another protocol", |it| it.protocol = Some(Protocol::Http2), false),
            ("of none", |it| it.protocol = None, false),
            ("a gap waits", |it| _ = it.unsettled[1].put_off(&HELD, false), false),
            ("a request was sent again", |it| _ = it.unsettled[0].put_off(&HELD, true), false),
            ("a request came late", |it| _ = it.unsettled[0].put_off(&HELD, false), true),
            (
                "no window is left",
                |it| it.flow_control[1].close(None, ackwise_cause::H2Window::Connection),
                false,
            ),
            ("no exchange has begun", |it| it.exchanges = 0, false),
            ("none is open", |it| it.open.clear(), false),
            (
                "two are",
                |it| {
                    let second = it.open.front().unwrap().clone();
                    it.open.push(second);
                },
                false,
            ),
            (
                "its request goes on",
                |it| {
                    let mut open = it.open.pop_front().unwrap();
                    let first = last(it).unwrap();
                    let account = open.account.emptied();
                    *open = crate::flow::exchange::OpenExchange::new(open.id, 0, account, 0);
                    let asked = crate::attribution::think::Asked::Known;
                    open.begin_response(&first, asked, None, it.habits);
                    it.open.push(*open);
                },
                false,
            ),
        ];
        for (why, change, may) in rows {
            let mut pair = under_way();
            change(&mut pair.short);
            assert_eq!(pair.short.may_run_on(), *may, "{why}");
        }
    }

    fn last(connection: &ObservedConnection) -> Option<Box<crate::attribution::sender::Departure>> {
        connection.ends.half(Direction::ToClient).sender.last().copied().map(Box::new)
    }

    #[test]
    fn only_a_segment_of_a_response_that_says_nothing_else_takes_the_short_way() {
        type Change = fn(&mut Segment);
        let rows: &[(&str, Change, bool)] = &[
            ("the next", |_| (), true),
            ("a SYN", |it| it.flags.syn = true, false),
            ("a FIN", |it| it.flags.fin = true, false),
            ("an RST", |it| it.flags.rst = true, false),
            ("a report", |it| it.options.sack.push(it.seq, it.seq), false),
            ("another window", |it| it.window += 1, false),
            ("another acknowledgement", |it| it.ack = it.ack.map(|ack| ack + 1), false),
            (
                "an echo of what was not captured",
                |it| it.options.timestamps = Some(Timestamps { value: 9, echo: 9_999_999 }),
                false,
            ),
            ("without timestamps", |it| it.options.timestamps = None, true),
            ("not the next", |it| it.seq = it.seq + 1, false),
            ("a byte", |it| it.len = 1, false),
            ("two", |it| it.len = 2, true),
            ("more than a full one", |it| it.len += 1, false),
        ];
        for (why, change, short) in rows {
            let mut pair = under_way();
            let mut segment = Segment { len: FULL, ..pair.segment(Direction::ToClient) };
            change(&mut segment);
            let payload = vec![b'x'; segment.len as usize];
            let seen = pair.seen(5, Direction::ToClient, segment, &payload);
            let packet = Packet::of(&seen);
            let [results, _] = &mut pair.results;
            let found = pair.short.run_on(&packet, Direction::ToClient, results);
            assert_eq!(found, *short, "{why}");
        }
        let mut pair = under_way();
        let segment = Segment { len: FULL, ..pair.segment(Direction::ToClient) };
        let seen = pair.seen(5, Direction::ToClient, segment, &[]);
        let [results, _] = &mut pair.results;
        assert!(!pair.short.run_on(&Packet::of(&seen), Direction::ToServer, results));
    }
}
