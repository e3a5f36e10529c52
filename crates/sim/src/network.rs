//! Nodes, links, packets under way, and the shortest ways through.
//!
//! A packet is a handle into one table, and carries a place in a list of ways: a hop is one look-up
//! and one push, whatever the topology. Not here: what hosts do with what arrives (`world`).

use std::collections::{BTreeMap, BinaryHeap};
use std::{cmp::Reverse, time::Duration};

use ackwise_link::{Counters, Faults, Link, Seed, Verdict};
use ackwise_tcp::{Instant, Octets, Transmit};
use slab::Slab;

use crate::{
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
}

/// What a hop has to know of a packet: little, so that all of it stays in the nearest cache.
#[derive(Clone, Copy, Debug)]
struct Moving {
    /// On the wire, IP and TCP headers included.
    size: u32,
    /// Where it is in [`Network::ways`].
    place: u32,
    /// How often it is under way: faults duplicate.
    copies: u8,
}

/// One direction of a link.
#[derive(Clone, Debug)]
struct Hop {
    link: Link<PacketId>,
    overhead: u32,
    /// Whether packets may overtake each other or come twice.
    faulty: bool,
    /// When the event queue will look at this link; a busy link has one event.
    armed: Instant,
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

/// What came to the end of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Polled {
    /// A packet that is where it was sent.
    Here(PacketId),
    /// A packet that the next link took.
    Forwarded { id: PacketId, link: u32, arm: Arm },
    /// A packet that the next link dropped; it is still in the table.
    Dropped(PacketId),
    /// Nothing more by now.
    Later(Arm),
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

/// The links and what is on them.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    hops: Vec<Hop>,
    /// Packets under way, as hops see them.
    moving: Slab<Moving>,
    /// The same packets, in the same places, as hosts see them.
    packets: Vec<Packet>,
    /// By connection: how many of them are its.
    under_way: Vec<u32>,
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
        let (mut hops, mut delays) = (Vec::new(), Vec::new());
        for link in &scenario.links {
            for (direction, config) in link.directions.iter().enumerate() {
                let (from, to) = (link.ends[direction], link.ends[1 - direction]);
                neighbours[from.0 as usize].push((index(hops.len()), to));
                delays.push(config.delay);
                let mut config = config.clone();
                config.seed = link_seed(scenario.seed, &link.name, direction);
                hops.push(Hop {
                    faulty: config.faults != Faults::NONE,
                    link: Link::new(config),
                    overhead: u32::try_from(link.overhead.0).unwrap_or(u32::MAX),
                    armed: Instant::FAR_FUTURE,
                });
            }
        }
        let (moving, packets, under_way) = (Slab::new(), Vec::new(), Vec::new());
        let (ways, known) = (Vec::new(), BTreeMap::new());
        Self { hops, moving, packets, under_way, ways, known, neighbours, delays }
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
                if reached[next.0 as usize].is_none() {
                    let delay = delay + self.delays[link as usize];
                    candidates.push(Reverse((delay, links + 1, next, node, link)));
                }
            }
        }
        None
    }

    /// Puts a segment on its way.
    pub(crate) fn send(
        &mut self,
        transmit: Transmit,
        (connection, from): (u32, Side),
        congestion_window: u32,
        way: Way,
        now: Instant,
    ) -> (PacketId, Pushed) {
        let segment = &transmit.segment;
        let size = HEADERS + segment.options.wire_length() + segment.len;
        let moving = Moving { size, place: way.0, copies: 1 };
        if self.ways[moving.place as usize] == Next::ARRIVED {
            unreachable!("a host does not send to itself: the scenario was checked");
        }
        let id = self.insert(moving, Packet { transmit, connection, from, congestion_window });
        (id, self.push(id, now))
    }

    fn insert(&mut self, moving: Moving, packet: Packet) -> PacketId {
        let connection = packet.connection as usize;
        if self.under_way.len() <= connection {
            self.under_way.resize(connection + 1, 0);
        }
        self.under_way[connection] += 1;
        let place = self.moving.insert(moving);
        match self.packets.get_mut(place) {
            Some(unused) => *unused = packet,
            None => self.packets.push(packet),
        }
        PacketId(index(place))
    }

    /// Packets of a connection that are under way.
    pub(crate) fn under_way(&self, connection: u32) -> u32 {
        self.under_way.get(connection as usize).copied().unwrap_or(0)
    }

    /// Offers a packet to the link at its place.
    fn push(&mut self, id: PacketId, now: Instant) -> Pushed {
        let moving = &mut self.moving[id.0 as usize];
        let link = self.ways[moving.place as usize].0;
        let hop = &mut self.hops[link as usize];
        let before = if hop.faulty { hop.link.counters().duplicated } else { 0 };
        match hop.link.push(id, Octets(u64::from(moving.size + hop.overhead)), now) {
            Verdict::Queued => {
                if hop.faulty && hop.link.counters().duplicated > before {
                    moving.copies += 1;
                }
                Pushed::Taken(self.arm(link))
            }
            Verdict::Dropped(_) => Pushed::Dropped,
        }
    }

    /// Whether the event queue must look at a link earlier than it knows.
    fn arm(&mut self, link: u32) -> Arm {
        let hop = &mut self.hops[link as usize];
        if hop.armed != Instant::FAR_FUTURE && !hop.faulty {
            // What comes later arrives later.
            return None;
        }
        let due = hop.link.poll_timeout().filter(|due| *due < hop.armed)?;
        hop.armed = due;
        Some((link, due))
    }

    /// Whether an event for `link` at `now` is the one that was armed last.
    pub(crate) fn is_armed(&self, link: u32, now: Instant) -> bool {
        self.hops[link as usize].armed == now
    }

    /// What comes to the end of `link` next: a packet by `now`, or else when the event queue must look
    /// again.
    pub(crate) fn poll(&mut self, link: u32, now: Instant) -> Polled {
        let hop = &mut self.hops[link as usize];
        let id = match hop.link.poll_timeout() {
            Some(due) if due <= now => hop.link.poll(now).expect("it is due"),
            later => {
                hop.armed = later.unwrap_or(Instant::FAR_FUTURE);
                return Polled::Later(later.map(|due| (link, due)));
            }
        };
        let moving = &mut self.moving[id.0 as usize];
        // A duplicate goes on by itself from here: the two are at different places.
        let id = if moving.copies > 1 {
            moving.copies -= 1;
            let twin = Moving { copies: 1, ..*moving };
            self.insert(twin, self.packets[id.0 as usize])
        } else {
            id
        };
        let moving = &mut self.moving[id.0 as usize];
        moving.place += 1;
        let next = self.ways[moving.place as usize];
        if next == Next::ARRIVED {
            return Polled::Here(id);
        }
        match self.push(id, now) {
            Pushed::Taken(arm) => Polled::Forwarded { id, link: next.0, arm },
            Pushed::Dropped => Polled::Dropped(id),
        }
    }

    /// When the last bit of what a link has taken so far will have left.
    pub(crate) fn busy_until(&self, link: u32) -> Instant {
        self.hops[link as usize].link.busy_until()
    }

    /// The link with which a way begins.
    pub(crate) fn first_link(&self, way: Way) -> u32 {
        self.ways[way.0 as usize].0
    }

    pub(crate) fn packet(&self, id: PacketId) -> &Packet {
        &self.packets[id.0 as usize]
    }

    /// Takes a packet out of the table.
    pub(crate) fn take(&mut self, id: PacketId) -> Packet {
        self.moving.remove(id.0 as usize);
        let packet = self.packets[id.0 as usize];
        self.under_way[packet.connection as usize] -= 1;
        packet
    }

    /// What has happened on each direction of each link, in the scenario's order.
    pub(crate) fn counters(&self) -> impl Iterator<Item = Counters> + '_ {
        self.hops.iter().map(|hop| hop.link.counters())
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
