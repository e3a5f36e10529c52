//! Nodes, links, packets under way, and the shortest ways through.
//!
//! What travels is a few numbers: which packet, how large, where in a list of ways. So a hop is one
//! look-up and one push, whatever the topology, and the packet itself stays in a table that only its
//! hosts look at. Not here: what hosts do with what arrives (`world`).

use std::collections::{BTreeMap, BinaryHeap};
use std::{cmp::Reverse, slice, time::Duration};

use ackwise_link::{Counters, DropReason, Fate, Link, LinkConfig, Outage, Seed};
use ackwise_tcp::{ByteCount, Instant, Segment, Transmit, endpoint::RecoveryPhase};
use prefetch_index::prefetch_index;

use crate::{
    flows::Flows,
    observe::Side,
    scenario::{NodeId, Scenario},
};

/// An IP header without options, and the fixed part of a TCP header.
const HEADERS: u32 = 40;

/// A place in the table of packets under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketId(u32);

/// A segment under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) transmit: Transmit,
    /// Its connection's place, which is not used again while packets are under way.
    pub(crate) connection: u32,
    pub(crate) from: Side,
    /// The sender's window when it left.
    pub(crate) congestion_window: u32,
    /// Where its loss recovery stood.
    pub(crate) recovery: RecoveryPhase,
}

/// What a hop has to know of a packet: little, because it travels through the links' queues.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moving {
    pub(crate) id: PacketId,
    /// Its connection's place, so that both can be fetched at the same time.
    pub(crate) connection: u32,
    /// On the wire, IP and TCP headers included.
    size: u32,
    /// Where it is in [`Network::ways`].
    place: u32,
}

impl Moving {
    const NONE: Self = Self { id: PacketId(u32::MAX), connection: u32::MAX, size: 0, place: 0 };
}

/// A packet in the table: two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Kept {
    packet: Packet,
    /// How often it is under way: faults duplicate.
    copies: u32,
}

/// One direction of a link. What an event needs first is in one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Hop {
    /// When the event queue will look at this link; a busy link has one event.
    armed: Instant,
    /// The packet that arrives then, if the link has no faults.
    next: Moving,
    overhead: u32,
    /// Whether packets may overtake each other or come twice, or their flows may be forgotten.
    faulty: bool,
    link: Link<Moving>,
    /// The place of what both directions of the link remember in [`Network::flows`].
    flows: Option<usize>,
}

/// How a packet passes a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage {
    /// When its turn comes.
    pub(crate) begins: Instant,
    /// When its last bit leaves.
    pub(crate) ends: Instant,
    /// When nothing leaves the link.
    pub(crate) outage: Option<Outage>,
}

/// A link, or the end of the way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Next(u32);

impl Next {
    const ARRIVED: Self = Self(u32::MAX);
}

/// Where a way begins in [`Network::ways`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Way(u32);

/// A packet taken out of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken<'a> {
    /// It can be read there until the next one is sent.
    pub(crate) packet: &'a Packet,
    /// No duplicate of it is still under way.
    pub(crate) last: bool,
}

/// What a link did with a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pushed {
    /// It will arrive.
    Taken(Arm),
    /// It will not; it is still in the table.
    Dropped,
}

/// A link whose first packet arrives at a time that the event queue does not know yet.
pub(crate) type Arm = Option<(u32, Instant)>;

impl Hop {
    /// What a packet takes on this link.
    fn size(&self, moving: Moving) -> ByteCount {
        ByteCount(u64::from(moving.size) + u64::from(self.overhead))
    }

    /// Says when the event queue has to look.
    #[inline]
    fn arm(&mut self) -> Option<Instant> {
        if self.faulty {
            let due = self.link.poll_timeout();
            self.armed = due.unwrap_or(Instant::FAR_FUTURE);
            return due;
        }
        let Some(&(due, next)) = self.link.first() else {
            self.armed = Instant::FAR_FUTURE;
            return None;
        };
        (self.armed, self.next) = (due, next);
        Some(due)
    }
}

/// The links and what is on them.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    hops: Vec<Hop>,
    /// Of links that forget flows.
    flows: Vec<Flows>,
    /// Packets under way, and places that are free.
    packets: Vec<Kept>,
    free: Vec<PacketId>,
    /// All ways in use, one after the other, each ended by [`Next::ARRIVED`].
    ways: Vec<Next>,
    known: BTreeMap<(NodeId, NodeId), Option<Way>>,
    /// By node: the links that leave it, and where they lead.
    neighbours: Vec<Vec<(u32, NodeId)>>,
    delays: Vec<Duration>,
}

impl Network {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let mut neighbours = vec![Vec::new(); scenario.nodes.len()];
        let (mut hops, mut delays, mut all_flows) = (Vec::new(), Vec::new(), Vec::new());
        let mut configs = scenario.wires().into_iter();
        for link in &scenario.links {
            let flows = link.forgets_after.map(|_| all_flows.len());
            all_flows.extend(link.forgets_after.map(Flows::new));
            for direction in 0..link.directions.len() {
                let (from, to) = (link.ends[direction], link.ends[1 - direction]);
                neighbours[from.0 as usize].push((index(hops.len()), to));
                let config = configs.next().expect("two for each link");
                delays.push(config.delay);
                let overhead = u32::try_from(link.overhead.0).unwrap_or(u32::MAX);
                let link = Link::new(config);
                hops.push(Hop {
                    armed: Instant::FAR_FUTURE,
                    next: Moving::NONE,
                    overhead,
                    faulty: link.is_faulty() || flows.is_some(),
                    link,
                    flows,
                });
            }
        }
        let (packets, free) = (Vec::new(), Vec::new());
        let (ways, known) = (Vec::new(), BTreeMap::new());
        Self { hops, flows: all_flows, packets, free, ways, known, neighbours, delays }
    }

    /// The way of least propagation delay, then of fewest links; `None` if there is none.
    pub(crate) fn way(&mut self, from: NodeId, to: NodeId) -> Option<Way> {
        if let Some(known) = self.known.get(&(from, to)) {
            return *known;
        }
        let way = self.shortest(from, to).map(|links| {
            let way = Way(index(self.ways.len()));
            self.ways.extend(links.into_iter().map(Next));
            self.ways.push(Next::ARRIVED);
            way
        });
        self.known.insert((from, to), way);
        way
    }

    /// Dijkstra's algorithm; ties go to the smaller node, so that every machine finds the same way.
    fn shortest(&self, from: NodeId, to: NodeId) -> Option<Vec<u32>> {
        // By node: the link that leads there, and from where.
        let mut reached: Vec<Option<(u32, NodeId)>> = vec![None; self.neighbours.len()];
        let mut candidates = BinaryHeap::from([Reverse((Duration::ZERO, 0, from, from, u32::MAX))]);
        while let Some(Reverse((delay, links, node, before, link))) = candidates.pop() {
            let place = &mut reached[node.0 as usize];
            if place.is_some() {
                continue;
            }
            *place = Some((link, before));
            if node == to {
                return Some(walk_back(&reached, from, to));
            }
            for &(link, next) in &self.neighbours[node.0 as usize] {
                let dead_end = next != to && self.neighbours[next.0 as usize].len() < 2;
                if !dead_end && reached[next.0 as usize].is_none() {
                    let delay = delay + self.delays[link as usize];
                    candidates.push(Reverse((delay, links + 1, next, node, link)));
                }
            }
        }
        None
    }

    /// Puts a segment on its way. The parts of the packet come apart, because a packet is large enough
    /// for a second copy to show.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each segment calls it; the call took 40 instructions"
    )]
    pub(crate) fn send(
        &mut self,
        transmit: &Transmit,
        (connection, from): (u32, Side),
        (congestion_window, recovery): (u32, RecoveryPhase),
        way: Way,
        now: Instant,
    ) -> (PacketId, Pushed) {
        let segment = &transmit.segment;
        let size = HEADERS + segment.options_length() + segment.len;
        let link = self.first_link(way);
        let packet = Packet { transmit: *transmit, connection, from, congestion_window, recovery };
        let id = self.insert(Kept { packet, copies: 1 });
        (id, self.push(Moving { id, connection, size, place: way.0 }, link, now))
    }

    #[inline]
    fn insert(&mut self, kept: Kept) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.packets[id.0 as usize] = kept;
            return id;
        }
        self.packets.push(kept);
        PacketId(index(self.packets.len() - 1))
    }

    /// Offers a packet to the link at its place.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each hop calls it; the call took 8 of 1,044 instructions"
    )]
    pub(crate) fn push(&mut self, moving: Moving, link: u32, now: Instant) -> Pushed {
        let hop = &mut self.hops[link as usize];
        if hop.faulty {
            return self.push_at_risk(moving, link, now);
        }
        match hop.link.push(moving, hop.size(moving), now) {
            // What comes later arrives later.
            Fate::Queued if hop.armed != Instant::FAR_FUTURE => Pushed::Taken(None),
            Fate::Queued => Pushed::Taken(hop.arm().map(|due| (link, due))),
            Fate::Dropped(_) => Pushed::Dropped,
        }
    }

    /// The same where packets may come twice, overtake each other, or belong to a flow that was forgotten.
    #[cold]
    fn push_at_risk(&mut self, moving: Moving, link: u32, now: Instant) -> Pushed {
        let hop = &mut self.hops[link as usize];
        if let Some(flows) = hop.flows {
            let segment = &self.packets[moving.id.0 as usize].packet.transmit.segment;
            if !self.flows[flows].pass(moving.connection, segment, now) {
                hop.link.refuse(DropReason::FlowForgotten);
                return Pushed::Dropped;
            }
        }
        let before = hop.link.counters().duplicated;
        if let Fate::Dropped(_) = hop.link.push(moving, hop.size(moving), now) {
            return Pushed::Dropped;
        }
        if hop.link.counters().duplicated > before {
            self.packets[moving.id.0 as usize].copies += 1;
        }
        let earlier = hop.link.poll_timeout().is_some_and(|due| due < hop.armed);
        Pushed::Taken(if earlier { hop.arm().map(|due| (link, due)) } else { None })
    }

    /// The next packet that has come to the end of `link` by `now`, and when the one after it will, for
    /// which the link is armed now. `None` if an event for `link` at `now` is not the one that was armed
    /// last.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each hop calls it; the call took 12 of 1,044 instructions"
    )]
    pub(crate) fn poll(&mut self, link: u32, now: Instant) -> Option<(Moving, Option<Instant>)> {
        let hop = &mut self.hops[link as usize];
        if hop.armed != now {
            return None;
        }
        let moving = if hop.faulty {
            hop.link.poll(now)?
        } else {
            hop.link.take_first();
            hop.next
        };
        let due = hop.arm();
        if due.is_some() && !hop.faulty {
            let next = hop.next;
            self.prefetch(next);
        }
        Some((Moving { place: moving.place + 1, ..moving }, due))
    }

    /// The packet that comes next to the end of its way is fetched now: with very many packets, it is in
    /// no cache, and its host would wait.
    #[inline]
    fn prefetch(&self, Moving { id, place, .. }: Moving) {
        if self.ways[place as usize + 1] == Next::ARRIVED
            && let Some(kept) = self.packets.get(id.0 as usize)
        {
            prefetch_index(slice::from_ref(&kept.packet), 0);
            prefetch_index(slice::from_ref(&kept.copies), 0);
        }
    }

    /// The link that a packet takes next, unless it is where it was sent.
    #[inline]
    pub(crate) fn next_link(&self, moving: Moving) -> Option<u32> {
        let next = self.ways[moving.place as usize];
        (next != Next::ARRIVED).then_some(next.0)
    }

    /// What the latest packet that a link has taken, this segment, does there.
    pub(crate) fn passage(&self, link: u32, segment: &Segment) -> Passage {
        let hop = &self.hops[link as usize];
        let size = HEADERS + segment.options_length() + segment.len + hop.overhead;
        let ends = hop.link.busy_until();
        let takes = hop.link.serialization_delay(ByteCount(size.into()));
        let (begins, outage) = (ends.saturating_sub(takes), hop.link.outage());
        let interrupted = outage.filter(|it| begins < it.until() && it.until() < ends);
        let begins = interrupted.map_or(begins, |it| begins.saturating_sub(it.lasts));
        Passage { begins, ends, outage }
    }

    /// The link with which a way begins.
    pub(crate) fn first_link(&self, way: Way) -> u32 {
        self.ways[way.0 as usize].0
    }

    pub(crate) fn packet(&self, id: PacketId) -> &Packet {
        &self.packets[id.0 as usize].packet
    }

    /// Takes a packet out of the table, unless a duplicate of it is still under way.
    #[inline]
    pub(crate) fn take(&mut self, id: PacketId) -> Taken<'_> {
        let Kept { packet, copies } = &mut self.packets[id.0 as usize];
        *copies -= 1;
        let last = *copies == 0;
        if last {
            self.free.push(id);
        }
        Taken { packet, last }
    }

    /// Each direction of each link, in the scenario's order.
    pub(crate) fn links(&self) -> impl Iterator<Item = &Link<Moving>> {
        self.hops.iter().map(|hop| &hop.link)
    }

    /// What has happened on each of them.
    pub(crate) fn counters(&self) -> impl Iterator<Item = Counters> + '_ {
        self.links().map(Link::counters)
    }

    /// The longest queue of each direction of each link, in the same order.
    pub(crate) fn most_queued(&self) -> impl Iterator<Item = u64> + '_ {
        self.hops.iter().map(|hop| hop.link.most_queued() as u64)
    }

    /// From now on, the longest queues count anew.
    pub(crate) fn forget_most_queued(&mut self) {
        self.hops.iter_mut().for_each(|hop| hop.link.forget_most_queued());
    }
}

impl Scenario {
    /// Both directions of each link, in order, with the run's seeds and the delays that it draws.
    #[must_use]
    pub fn wires(&self) -> Vec<LinkConfig> {
        let mut wires = Vec::new();
        for link in &self.links {
            let drawn = link.drawn_delay.as_ref().map(|span| {
                let seed = self.seed.named("link").named(&link.name).named("delay");
                span.draw(&mut seed.stream())
            });
            for (direction, config) in link.directions.iter().enumerate() {
                let mut config = config.clone();
                config.delay = drawn.unwrap_or(config.delay);
                // Links count their overhead.
                config.faults.mtu =
                    config.faults.mtu.map(|mtu| ByteCount(mtu.0.saturating_add(link.overhead.0)));
                config.seed = link_seed(self.seed, &link.name, direction);
                wires.push(config);
            }
        }
        wires
    }

    /// For each pair of nodes, the way that packets take from the first to the second, as places in
    /// [`wires`](Self::wires); `None` if there is none.
    #[must_use]
    pub fn ways(&self, pairs: &[[NodeId; 2]]) -> Vec<Option<Vec<u32>>> {
        let network = Network::new(self);
        pairs.iter().map(|&[from, to]| network.shortest(from, to)).collect()
    }
}

fn link_seed(run: Seed, name: &str, direction: usize) -> Seed {
    run.named("link").named(name).named(["there", "back"][direction])
}

fn walk_back(reached: &[Option<(u32, NodeId)>], from: NodeId, mut to: NodeId) -> Vec<u32> {
    let mut links = Vec::new();
    while to != from {
        let (link, before) = reached[to.0 as usize].expect("a way leads here");
        links.push(link);
        to = before;
    }
    links.reverse();
    links
}

fn index(value: usize) -> u32 {
    u32::try_from(value).expect("fewer than 2^32 of anything, by the scenario's limits")
}
