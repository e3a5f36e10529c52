//! A host: its TCP, its processor, what it remembers of its peers, and its counts.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use ackwise_link::Seed;
use ackwise_tcp::{
    Config, Flags, Instant,
    policy::{ControlBlocks, OpenPolicy, Sharing, TimerPolicy},
};

use super::{Event, START, World};
use crate::{
    measure::HostMeasures,
    network::{Packet, PacketId},
    observe::Observer,
    scenario::{CostModel, Node, NodeId},
    table::{Counted, Entry, Table},
};

/// A node with its state. A router's stays as it is.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(super) tcp: Option<Config>,
    pub(super) cost: CostModel,
    /// What it remembers of its connections to each peer (RFC 9040).
    pub(super) peers: BTreeMap<NodeId, ControlBlocks>,
    /// Peers to which it had a connection: they pass the TAO test, or hold a cookie (RFC 1644, 7413).
    known: BTreeSet<NodeId>,
    /// When its processor is free, if it has work.
    busy_until: Instant,
    /// Segments that wait for the processor, and when each will have been worked on.
    waiting: VecDeque<(Instant, PacketId)>,
    pub(super) table: Option<Table>,
    open: u64,
    time_wait: u64,
    measures: HostMeasures,
}

impl Host {
    /// Segments that wait for the processor at most; further ones are dropped, as by a full ring of a
    /// network card.
    const MAX_WAITING: usize = 4_096;

    pub(super) fn new(node: &Node, seed: Seed) -> Self {
        Self {
            tcp: node.tcp.map(|tcp| with_tick_phase(tcp, seed.named("tick").named(&node.name))),
            cost: node.cost,
            peers: BTreeMap::new(),
            known: BTreeSet::new(),
            busy_until: Instant::EPOCH,
            waiting: VecDeque::new(),
            table: node.table.map(Table::new),
            open: 0,
            time_wait: 0,
            measures: HostMeasures::default(),
        }
    }

    pub(super) fn measures(&self, now: Instant) -> HostMeasures {
        let table = self.table.as_ref().map(|table| table.measures(now));
        HostMeasures { table, ..self.measures }
    }

    /// How many connections it has open, and in TIME-WAIT.
    pub(super) const fn holds(&self) -> [u64; 2] {
        [self.open, self.time_wait]
    }

    /// Whether it has memory for another connection.
    pub(super) fn admits(&mut self) -> bool {
        self.table.as_mut().is_none_or(Table::admits)
    }

    /// What a new connection takes over, if anything.
    pub(super) fn sharing(&self) -> Option<Sharing> {
        self.tcp.map(|tcp| tcp.policies.sharing).filter(|&sharing| sharing != Sharing::Off)
    }

    /// What it does about data with a SYN.
    fn open_policy(&self) -> OpenPolicy {
        self.tcp.map_or(OpenPolicy::Handshake, |tcp| tcp.policies.open)
    }

    /// Whether data may travel with a SYN to `peer`, which is `node`: both want it, in the same way, and had
    /// a connection before.
    pub(super) fn sends_data_with_syn(&self, peer: &Self, node: NodeId) -> bool {
        let policy = self.open_policy();
        policy == peer.open_policy() && policy.sends_data_with_syn() && self.known.contains(&node)
    }

    /// A connection to `peer` is open.
    pub(super) fn knows(&mut self, peer: NodeId) {
        if self.open_policy() != OpenPolicy::Handshake {
            self.known.insert(peer);
        }
    }

    /// An end of a connection is counted otherwise than before.
    pub(super) fn count(&mut self, before: Counted, after: Counted) {
        match before {
            Counted::Not => {}
            Counted::Open => self.open -= 1,
            Counted::TimeWait => self.time_wait -= 1,
        }
        match after {
            Counted::Not => {}
            Counted::Open => {
                self.open += 1;
                self.measures.connections_opened += 1;
            }
            Counted::TimeWait => self.time_wait += 1,
        }
        self.measures.most_open = self.measures.most_open.max(self.open);
        self.measures.most_time_wait = self.measures.most_time_wait.max(self.time_wait);
    }

    /// A connection of which only TIME-WAIT was left has left that too.
    pub(super) fn time_wait_over(&mut self, now: Instant) {
        self.time_wait -= 1;
        if let Some(table) = &mut self.table {
            table.left(now);
        }
    }

    /// What a segment costs whose connection has this entry.
    fn segment_cost(&mut self, entry: Option<Entry>, flags: Flags) -> Duration {
        let CostModel { per_segment, per_lookup, per_entry, per_reset, per_request: _ } = self.cost;
        let examined = self.table.as_mut().map_or(0, |table| table.look_up(entry));
        let look_up = per_lookup + per_entry * u32::try_from(examined).unwrap_or(u32::MAX);
        let reset = if flags.rst { per_reset } else { Duration::ZERO };
        per_segment + look_up + reset
    }

    /// When work of `cost` that comes at `now` will be done.
    fn work(&mut self, cost: Duration, now: Instant) -> Instant {
        self.busy_until = self.busy_until.max(now) + cost;
        self.busy_until
    }
}

impl<O: Observer> World<'_, O> {
    /// A segment is at its host: at once, or when the processor gets to it. False if there is no room
    /// for it to wait.
    pub(super) fn reach_host(&mut self, node: NodeId, packet: PacketId) -> bool {
        let host = &mut self.hosts[node.0 as usize];
        let Packet { connection, from, transmit, .. } = self.network.packet(packet);
        let entry = self.connections[*connection as usize].end(from.other()).entry;
        let cost = host.segment_cost(entry, transmit.segment.flags);
        if cost.is_zero() && host.busy_until <= self.now {
            self.receive(*connection, packet);
            return true;
        }
        if host.waiting.len() >= Host::MAX_WAITING {
            return false;
        }
        let done = host.work(cost, self.now);
        host.waiting.push_back((done, packet));
        if host.waiting.len() == 1 {
            self.queue.push(done, Event::Host(node.0));
        }
        true
    }

    /// The processor has finished the segment that waited longest.
    pub(super) fn processor_is_free(&mut self, node: u32) {
        let host = &mut self.hosts[node as usize];
        let Some((_, packet)) = host.waiting.pop_front() else { return };
        if let Some(&(done, _)) = host.waiting.front() {
            self.queue.push(done, Event::Host(node));
        }
        self.receive(self.network.packet(packet).connection, packet);
    }

    /// A dummy of a host's table comes.
    pub(super) fn dummy_comes(&mut self, node: u32) {
        let host = &mut self.hosts[node as usize];
        let span = host.tcp.map_or(Duration::ZERO, |tcp| tcp.time_wait);
        let (now, end) = (self.now, self.now + span);
        let Some(table) = &mut host.table else { return };
        let next = table.add_dummy(end, now);
        host.count(Counted::Not, Counted::TimeWait);
        self.queue.push(end, Event::TimeWaitOver(node));
        if let Some(every) = next {
            self.after(every, Event::Dummy(node));
        }
    }

    /// How long a host takes to begin an answer, its other work included.
    pub(super) fn request_cost(&mut self, node: NodeId) -> Duration {
        let host = &mut self.hosts[node.0 as usize];
        let cost = host.cost.per_request;
        if cost.is_zero() { Duration::ZERO } else { host.work(cost, self.now).since(self.now) }
    }
}
/// Where the ticks of a host's clock stand, if that counts: drawn if it is not given, because hosts are not switched on at
/// once. Endpoints count from zero, and a run from [`START`].
fn with_tick_phase(tcp: Config, seed: Seed) -> Config {
    if tcp.policies.timers != TimerPolicy::Linux {
        return tcp;
    }
    let drawn = || Duration::from_nanos(seed.stream().below(LONGEST_PHASE));
    let phase = tcp.tick_phase.unwrap_or_else(drawn).as_nanos() + u128::from(LONGEST_PHASE);
    let at_zero =
        (phase - u128::from(START.as_nanos() % LONGEST_PHASE)) % u128::from(LONGEST_PHASE);
    let at_zero = u64::try_from(at_zero).expect("less than the longest phase");
    Config { tick_phase: Some(Duration::from_nanos(at_zero)), ..tcp }
}

/// The coarsest timers of Linux that TCP has count 512 ticks of 4 ms.
const LONGEST_PHASE: u64 = 2_048_000_000;
