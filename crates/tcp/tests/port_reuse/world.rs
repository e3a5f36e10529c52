//! Two hosts, one network between them, and virtual time.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use ackwise_tcp::{
    Endpoint, Instant, SeqNumber, State,
    notation::{Isns, Relative},
};

use crate::{
    case::{Case, Dice, First, MSL, Network},
    host::{Host, Packet, Stale, Task},
};

const CLIENT: usize = 0;
const SERVER: usize = 1;
/// More than any case needs.
const MOST_STEPS: u32 = 100_000;

/// What came of a case.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) connections: u64,
    /// Those of which the client has heard no RST, and has had all bytes.
    pub(crate) orderly: u64,
    /// Segments with data that arrived after their connection.
    pub(crate) late_data: u64,
    /// The first old data that was delivered.
    pub(crate) stale: Option<String>,
}

/// Two hosts and what is on its way between them.
pub(crate) struct World {
    hosts: [Host; 2],
    network: Network,
    dice: Dice,
    now: Instant,
    /// By time of arrival, then in the order of departure.
    in_flight: BTreeMap<(Instant, u64), (usize, Packet)>,
    departures: u64,
    serials: u32,
    to_open: u32,
    opens_at: Instant,
    first: First,
    /// What the client's numbers began with last.
    client_iss: SeqNumber,
    /// What each connection of the server's has to say, in bytes.
    written: BTreeMap<u32, u64>,
    /// Which connections have delivered data, and to which of the other end's.
    delivered: BTreeMap<u32, u32>,
    outcome: Outcome,
    trace: bool,
}

impl World {
    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    pub(crate) fn new(case: &Case, trace: bool) -> Self {
        let mut dice = case.dice.clone();
        let number = |dice: &mut Dice| SeqNumber(dice.number(u32::MAX));
        let (client_iss, server_iss) = (number(&mut dice), number(&mut dice));
        Self {
            hosts: [Host::new(case.client, client_iss), Host::new(case.server, server_iss)],
            network: case.network,
            dice,
            now: Instant::EPOCH,
            in_flight: BTreeMap::new(),
            departures: 0,
            serials: 0,
            to_open: case.connections,
            opens_at: Instant::EPOCH,
            first: First::Server,
            client_iss,
            written: BTreeMap::new(),
            delivered: BTreeMap::new(),
            outcome: Outcome::default(),
            trace,
        }
    }

    pub(crate) fn run(mut self) -> Outcome {
        for _ in 0..MOST_STEPS {
            self.note_end();
            let idle = self.hosts[CLIENT].endpoint.is_none();
            if idle && self.to_open > 0 && self.now >= self.opens_at {
                self.open();
            }
            self.settle();
            // At the end, what is still under way may find the server listening.
            let over = idle && self.to_open == 0 && self.now > self.opens_at + 2 * MSL;
            let next = self.next().filter(|_| !over && self.outcome.stale.is_none());
            let Some(next) = next else { return self.outcome };
            self.now = next;
            self.arrive();
            for host in &mut self.hosts {
                if let Some(endpoint) = &mut host.endpoint {
                    endpoint.handle_timeout(next);
                }
            }
        }
        panic!("no end after {MOST_STEPS} steps at {}", self.now);
    }

    fn next(&self) -> Option<Instant> {
        let timers = self.hosts.iter().filter_map(|host| host.endpoint.as_ref()?.poll_timeout());
        let arrival = self.in_flight.keys().next().map(|(at, _)| *at);
        let opens = Some(self.opens_at).filter(|at| *at > self.now);
        timers.map(|deadline| deadline.at).chain(arrival).chain(opens).min()
    }

    /// The client opens the next connection, with numbers that overlap those of the last one.
    fn open(&mut self) {
        self.to_open -= 1;
        self.outcome.connections += 1;
        let used = self.hosts[CLIENT].unused.distance_from(self.client_iss);
        let overlap = match self.dice.below(4) {
            0 => 0,
            1 => self.dice.number(u32::from(u16::MAX)).wrapping_neg(),
            _ => self.dice.number(used.max(1)),
        };
        self.client_iss = self.client_iss + overlap;
        self.first = self.dice.first_to_close();
        let task = self.task(CLIENT);
        let host = &mut self.hosts[CLIENT];
        let endpoint = Endpoint::connect(host.config, self.client_iss, self.now);
        self.serials += 1;
        host.begin(endpoint, self.serials, task);
    }

    fn task(&mut self, side: usize) -> Task {
        let writes = self.dice.number(3_000);
        let closes_now = matches!(
            (side, self.first),
            (_, First::Both) | (CLIENT, First::Client) | (SERVER, First::Server)
        );
        Task { writes, closes_now }
    }

    /// RFC 9293, section 3.4.1: initial sequence numbers of the server run ahead of those it has used
    /// (MUST-8: "clock-driven"). Unlike the client it may meet an old SYN soon after a close, and then it
    /// is this that keeps the old handshake from being played again.
    fn open_passively(&mut self) {
        let task = self.task(SERVER);
        let host = &mut self.hosts[SERVER];
        let iss = host.unused + 1 + self.dice.number(1_000);
        let endpoint = Endpoint::listen(host.config, iss);
        self.serials += 1;
        self.written.insert(self.serials, task.writes.into());
        host.begin(endpoint, self.serials, task);
    }

    /// After an RST without TIME-WAIT, the host leaves the port alone for as long.
    fn note_end(&mut self) {
        let host = &mut self.hosts[CLIENT];
        let closed = host.endpoint.take_if(|endpoint| endpoint.state() == State::Closed);
        let Some(endpoint) = closed else { return };
        let written = host.peer.and_then(|peer| self.written.get(&peer));
        let whole = !host.reset && written == Some(&endpoint.received());
        self.outcome.orderly += u64::from(whole);
        self.opens_at = if host.reset { self.now + 2 * MSL } else { self.now };
    }

    fn arrive(&mut self) {
        while let Some(entry) = self.in_flight.first_entry().filter(|it| it.key().0 <= self.now) {
            let (to, packet) = entry.remove();
            if to == SERVER && self.hosts[SERVER].opens(&packet.segment) {
                self.open_passively();
            }
            self.show('<', to, &packet);
            let host = &mut self.hosts[to];
            self.outcome.late_data += u64::from(packet.segment.len > 0 && !host.expects(&packet));
            let received = host.endpoint.as_ref().map_or(0, Endpoint::received);
            let taken = host.take(&packet, self.now);
            let took = host.endpoint.as_ref().map_or(0, Endpoint::received) > received;
            let replayed = took && self.is_replayed(to, &packet);
            if let Err(stale) = taken {
                let Stale { origin, expected } = stale;
                let what =
                    format!("at {} host {to} takes data of {origin}, not {expected:?}", self.now);
                self.outcome.stale.get_or_insert(what);
            } else if replayed {
                let what = format!("at {} host {to} takes {} again", self.now, packet.origin);
                self.outcome.stale.get_or_insert(what);
            }
            self.settle();
        }
    }

    /// Whether another connection of this host's has had data of the one that the packet is of.
    fn is_replayed(&mut self, host: usize, packet: &Packet) -> bool {
        let serial = self.hosts[host].serial;
        *self.delivered.entry(packet.origin).or_insert(serial) != serial
    }

    fn settle(&mut self) {
        for from in [CLIENT, SERVER] {
            let mut leaving = Vec::new();
            self.hosts[from].settle(|packet| leaving.push(packet), self.now);
            for packet in leaving {
                self.show('>', from, &packet);
                self.send(1 - from, packet);
            }
        }
    }

    /// Nothing arrives later than an MSL after it has left.
    fn send(&mut self, to: usize, packet: Packet) {
        let Network { lost, repeated, late, delay, jitter } = self.network;
        let anytime = u64::try_from(MSL.as_millis()).unwrap();
        let mut delays = BTreeSet::new();
        if !self.dice.in_a_hundred(lost) {
            delays.insert(match self.dice.in_a_hundred(late) {
                true => self.dice.millis(anytime),
                false => Duration::from_millis(delay) + self.dice.millis(jitter),
            });
        }
        if self.dice.in_a_hundred(repeated) {
            delays.insert(self.dice.millis(anytime));
        }
        for delay in delays {
            self.departures += 1;
            self.in_flight.insert((self.now + delay, self.departures), (to, packet));
        }
    }

    fn show(&self, arrow: char, host: usize, packet: &Packet) {
        if self.trace {
            let segment = Relative { segment: packet.segment, isns: Isns::default() };
            let (name, state) = (["client", "server"][host], self.hosts[host].state());
            println!(
                "{} {name} {arrow} {segment} of {} in {}",
                self.now,
                packet.origin,
                state.name()
            );
        }
    }
}
