//! A newcomer that was told what is known of its path is judged later, and as if it had been judged at once.

use ackwise_cause::Direction;

use super::*;
use crate::{
    attribution::KnownPaces,
    flow::{
        batch::Located, connection::ObservedConnection, endpoint_pair::EndpointPair, ends::Ends,
        newcomer::Newcomer, packet, shard::Shard,
    },
    results::Results,
};

const BODY: &[u8] = b"12345";

/// What comes after a handshake, a request and the head of its response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Event {
    /// Both acknowledge all that the other end has sent, or what it had sent before its last segment.
    Fin(Direction, Heard),
    Ack(Direction, Heard),
    Rst(Direction),
    /// The body, in order.
    Body,
    /// The same after longer than segments are put off.
    LateBody,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Heard {
    All,
    NotTheLast,
}

fn all_events() -> Vec<Event> {
    let mut events = vec![Event::Body, Event::LateBody];
    for direction in [Direction::ToServer, Direction::ToClient] {
        events.push(Event::Rst(direction));
        for heard in [Heard::All, Heard::NotTheLast] {
            events.extend([Event::Fin(direction, heard), Event::Ack(direction, heard)]);
        }
    }
    events
}

/// The packets of a connection, as they are captured.
struct Talk {
    packets: Vec<Seen<'static>>,
    at: u64,
    /// What each end sends next, and before its last segment: by direction.
    next: [u32; 2],
    before: [u32; 2],
}

impl Talk {
    fn new() -> Self {
        let mut talk = Self { packets: Vec::new(), at: 0, next: [7_000, 90_000], before: [0; 2] };
        talk.send(Direction::ToServer, None, Flags::SYN, b"");
        talk.say(Direction::ToClient, Heard::All, Flags::SYN, b"");
        talk.say(Direction::ToServer, Heard::All, Flags::NONE, b"");
        talk.say(Direction::ToServer, Heard::All, Flags::PSH, REQUEST);
        talk.say(Direction::ToClient, Heard::All, Flags::PSH, HEAD);
        talk
    }

    fn of(events: &[Event]) -> Self {
        let mut talk = Self::new();
        events.iter().for_each(|it| talk.take(*it));
        talk
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Fin(direction, heard) => self.say(direction, heard, Flags::FIN, b""),
            Event::Ack(direction, heard) => self.say(direction, heard, Flags::NONE, b""),
            Event::Rst(direction) => self.say(direction, Heard::All, Flags::RST, b""),
            Event::Body => self.say(Direction::ToClient, Heard::All, Flags::PSH, BODY),
            Event::LateBody => {
                self.at += 3_000_000;
                self.say(Direction::ToClient, Heard::All, Flags::PSH, BODY);
            }
        }
    }

    fn say(&mut self, direction: Direction, heard: Heard, flags: Flags, payload: &'static [u8]) {
        let other = direction.opposite() as usize;
        let ack = match heard {
            Heard::All => self.next[other],
            Heard::NotTheLast => self.before[other],
        };
        self.send(direction, Some(SeqNumber(ack)), flags, payload);
    }

    fn send(
        &mut self,
        direction: Direction,
        ack: Option<SeqNumber>,
        flags: Flags,
        payload: &'static [u8],
    ) {
        self.at += 300;
        let ends = [BEFORE_NAT.client, BEFORE_NAT.server].map(|it| it.parse().unwrap());
        let [client, server]: [SocketAddr; 2] = ends;
        let (source, destination) = match direction {
            Direction::ToServer => (client, server),
            Direction::ToClient => (server, client),
        };
        let len = u32::try_from(payload.len()).unwrap();
        let seq = SeqNumber(self.next[direction as usize]);
        let options = Options { mss: flags.syn.then_some(1_460), ..Options::NONE };
        self.packets.push(Seen {
            number: self.packets.len() as u64 + 1,
            at: Instant::from_nanos(self.at * 1_000),
            interface: 0,
            source,
            destination,
            segment: Segment { seq, ack, flags, window: 1_000, options, len, ..Segment::default() },
            payload,
            hop_limit: 64,
            identification: 0,
            fragment: false,
            options_cut: false,
            station: None,
        });
        self.before[direction as usize] = seq.0;
        self.next[direction as usize] = seq.0 + len + u32::from(flags.syn || flags.fin);
    }

    fn pair(&self) -> EndpointPair {
        EndpointPair::of(self.packets[0].source, self.packets[0].destination)
    }
}

/// What a shard has taken, and what it says of it.
fn put_off(talk: &Talk) -> (Shard, KnownPaces) {
    let (mut shard, mut known) = (Shard::default(), KnownPaces::default());
    for (seen, ordinal) in talk.packets.iter().zip(0..) {
        shard.handle(Located { ordinal, pair: talk.pair() }, seen, &mut known);
    }
    (shard, known)
}

fn finished((mut shard, mut known): (Shard, KnownPaces)) -> Results {
    for unfinished in shard.take_unfinished() {
        shard.finish(unfinished, &mut known);
    }
    shard.take_results().0
}

/// The same, judged at once.
fn judged_immediately(talk: &Talk) -> Results {
    let (mut results, mut known) = (Results::default(), KnownPaces::default());
    let (mut newcomer, mut trial) = (Newcomer::default(), Ends::default());
    let first = &talk.packets[0];
    newcomer.renew(0, first.source, first.destination, first.at);
    let mut connection: Option<ObservedConnection> = None;
    let mut closed = None;
    for seen in &talk.packets {
        let (packet, direction) = (packet::Packet::of(seen), newcomer.direction(seen.source));
        match (&mut connection, &closed) {
            (_, Some(closed)) => {
                let closed: &crate::flow::closed::Closed = closed;
                closed.handle(seen, &mut results);
                continue;
            }
            (Some(connection), None) => connection.handle(&packet, direction, &mut results),
            (None, None) => {
                newcomer.handle(&packet, direction, &mut trial);
                if let Some((hosts, seen)) = newcomer.awaits_paces() {
                    let paces = known.add(hosts, seen);
                    let begun = connection.insert(ObservedConnection::default());
                    begun.begin(&newcomer, &paces, &mut results);
                }
            }
        }
        if let Some(connection) = connection.as_mut().filter(|it| it.is_over()) {
            closed = Some(connection.finish(&mut results));
        }
    }
    if closed.is_none() {
        newcomer.survey(&mut trial);
        let connection = connection.get_or_insert_with(|| {
            let paces = newcomer.awaits_paces().map(|(hosts, seen)| known.add(hosts, seen));
            let mut begun = ObservedConnection::default();
            begun.begin(&newcomer, &paces.unwrap_or_default(), &mut results);
            begun
        });
        connection.finish(&mut results);
    }
    results
}

#[test]
fn whatever_follows_is_judged_as_if_nothing_had_been_put_off() {
    let events = all_events();
    for first in &events {
        for second in &events {
            for third in &events {
                for fourth in &events {
                    let events = [*first, *second, *third, *fourth];
                    let talk = Talk::of(&events);
                    let said = |it: &Results| format!("{it:?}");
                    let (late, immediate) = (finished(put_off(&talk)), judged_immediately(&talk));
                    assert_eq!(said(&late), said(&immediate), "{events:?}");
                }
            }
        }
    }
}

#[test]
fn a_connection_takes_little_memory_until_it_says_more_than_a_brief_one() {
    use Direction::{ToClient, ToServer};
    use Event::{Ack, Body, Fin, LateBody, Rst};
    let all = Heard::All;
    let (fins, acks) = ([ToClient, ToServer].map(|it| Fin(it, all)), [Ack(ToServer, all); 13]);
    for (why, events, expected) in [
        ("it stops", &[][..], Some(false)),
        ("one end has closed", &fins[..1], Some(false)),
        ("so has the other", &fins, Some(false)),
        ("both know it", &[fins[0], fins[1], Ack(ToClient, all)], None),
        ("it is broken off", &[Rst(ToClient)], None),
        ("after a FIN", &[fins[0], Rst(ToServer)], None),
        ("it is slow", &[LateBody], Some(false)),
        ("it is slow and goes on", &[LateBody, Body, Body], Some(false)),
        ("it is slow and long", &[&[LateBody][..], &acks].concat(), Some(true)),
        ("long after a FIN", &[&fins[..1], &acks].concat(), Some(true)),
        ("long, but its path may still show more", &acks, Some(false)),
    ] {
        let (shard, _) = put_off(&Talk::of(events));
        let bytes = Some(shard.load().live_bytes).filter(|it| *it > 0);
        let is_large = bytes.map(|it| it >= size_of::<ObservedConnection>());
        assert_eq!(is_large, expected, "{why}: {bytes:?}");
    }
}

/// A SYN may begin another connection, which only a judged one can tell.
#[test]
fn a_syn_after_a_fin_is_another_connection() {
    use Direction::{ToClient, ToServer};
    let fin = Event::Fin(ToClient, Heard::All);
    for (why, events, initial, connections) in [
        ("the same again", &[][..], 7_000, 1),
        ("the same again, late", &[Event::LateBody], 7_000, 1),
        ("another", &[], 8_000, 2),
        ("another, late", &[Event::LateBody], 8_000, 2),
        ("the same after a FIN", &[fin], 7_000, 2),
        ("another after a FIN", &[fin], 8_000, 2),
        ("another after both", &[fin, Event::Fin(ToServer, Heard::All)], 8_000, 2),
    ] {
        let mut talk = Talk::of(events);
        talk.next[0] = initial;
        talk.send(ToServer, None, Flags::SYN, b"");
        talk.say(ToClient, Heard::All, Flags::NONE, b"");
        let (mut shard, known) = put_off(&talk);
        let begun = shard.take_unfinished();
        assert_eq!(begun.len(), 1, "{why}");
        drop(begun);
        let (_, numbers) = shard.take_results();
        assert_eq!(numbers.len(), connections, "{why}: {known:?}");
    }
}
