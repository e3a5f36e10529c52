//! Clients, a proxy and servers. What the proxy decides, `ackwise-tuning` decides for it: this is its
//! host, which measures, asks and does.
//!
//! | file | one idea |
//! | --- | --- |
//! | `mod` | the proxy's state |
//! | `client` | a client asks for one document after the other |
//! | `answer` | a client's request is answered from the cache or by a server |
//! | `fetch` | a miss takes a connection to a server, and its document is relayed |
//! | `places` | who gets one of the N_max places, and who closes for it |
//! | `buffers` | the pool is divided |
//!
//! A place is free as soon as the proxy has closed: what is left of the connection then (a FIN, TIME-WAIT)
//! needs neither a descriptor nor a buffer. A document is relayed as it arrives: the proxy reads from the
//! server what the send buffer to the client takes, so a slow client fills the receive buffer, and the
//! window closes.

mod answer;
mod buffers;
mod client;
mod fetch;
mod places;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use ackwise_tcp::{ByteCount, Instant, Nanos, Segment};
use ackwise_tuning::{Division, Gain, IdleBuffers, Limit, LossEstimate, Register, Spare};

use super::{Event, START, World};
use crate::{
    connection::{Connection, Owner},
    error::RunError,
    measure::Collector,
    observe::{ConnectionId, Observer},
    scenario::{
        Application, ApplicationKind, Counted, IdleMemory, NodeId, Persistence, Proxy, Route,
        Upward,
    },
};
pub(crate) use client::Client;
pub(super) use places::Syn;

/// The direction of a connection, seen from the proxy.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum ProxySide {
    /// To a client.
    Down,
    /// To a server.
    Up,
}

/// A connection by its place in the world's table, which may be another's later.
type Known = (u32, ConnectionId);

/// Who may use a connection to a server: the server's place in the list, and the client, if each has its
/// own.
type PoolKey = (u32, Option<u32>);

/// A proxy with its state.
#[derive(Clone, Debug)]
pub(crate) struct State {
    application: u32,
    limit: Limit,
    /// Connections that have a place, by their place in the world's table.
    members: BTreeMap<u32, Member>,
    /// How many: to clients, and to servers.
    open: [u64; 2],
    /// Those that are idle, likewise.
    idle: [Register<u32>; 2],
    /// Idle connections to servers; the one used last is used next, as it is the least likely to be closed.
    free_upward: BTreeMap<PoolKey, Vec<u32>>,
    /// Misses that wait for a connection to their server, by their client's connection.
    waiting: VecDeque<Known>,
    /// SYNs that wait for a place.
    syns: VecDeque<(Known, Segment)>,
    /// The event queue will offer places.
    offers: bool,
    division: Division,
}

/// A connection that has a place.
#[derive(Clone, Debug)]
struct Member {
    id: ConnectionId,
    direction: ProxySide,
    work: Work,
    /// Who may use it, of one to a server.
    pool: PoolKey,
    loss: LossEstimate,
    /// Segments with data and loss events of its sender, at the last sample.
    sampled: [u64; 2],
    demand: ByteCount,
    buffer: ByteCount,
    used: Used,
    idle_since: Instant,
    /// When the event queue will look whether it has idled for long enough.
    armed: Instant,
}

/// What a connection is busy with.
#[derive(Clone, Copy, Debug)]
enum Work {
    /// It has had no request yet.
    New,
    /// To a client: so many bytes of the answer are still to be written.
    Answers {
        left: u64,
        source: Source,
    },
    /// To a server: so many bytes of the answer are still to be read, for this client's connection, if it is
    /// still there.
    Fetches {
        left: u64,
        down: Option<Known>,
    },
    Idle,
}

/// Where an answer comes from.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Source {
    Cache,
    /// It waits for a connection to the server.
    NoPlace,
    Upward(Known),
}

/// How much of a buffer was used since the last sample.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    peak: u64,
    /// Of a receive buffer: what has arrived since when.
    arrived: u64,
    since: Instant,
    received: u64,
}

impl Member {
    fn new(id: ConnectionId, direction: ProxySide, pool: PoolKey, buffer: ByteCount) -> Self {
        Self {
            id,
            direction,
            work: Work::New,
            pool,
            loss: LossEstimate::new(Gain::EIGHTH),
            sampled: [0; 2],
            demand: buffer,
            buffer,
            used: Used::default(),
            idle_since: Instant::FAR_FUTURE,
            armed: Instant::FAR_FUTURE,
        }
    }

    const fn is_idle(&self) -> bool {
        matches!(self.work, Work::Idle)
    }
}

impl State {
    fn counted(&self, proxy: &Proxy) -> u64 {
        match proxy.counted {
            Counted::Both => self.open[0] + self.open[1],
            Counted::Downward => self.open[0],
        }
    }

    fn counted_idle(&self, proxy: &Proxy) -> u64 {
        let idle = [0, 1].map(|at| self.idle[at].len() as u64);
        match proxy.counted {
            Counted::Both => idle[0] + idle[1],
            Counted::Downward => idle[0],
        }
    }

    /// What is known when the run ends.
    pub(super) fn record_end(&self, clients: &[Client], collector: &mut Collector, now: Instant) {
        for client in clients.iter().filter(|client| client.is_of(self.application)) {
            collector.record_progress(self.application, client.progress());
            collector.proxied(self.application, |it| it.unfinished.extend(client.unfinished(now)));
        }
        let waiting = self.waiting.len() as u64;
        collector.proxied(self.application, |it| it.misses_waiting = waiting);
    }

    /// What is assigned now, idle connections included as far as they count.
    fn assigned(&self, proxy: &Proxy, now: Instant) -> u64 {
        let active = self.members.values().filter(|member| !member.is_idle());
        let active: u64 = active.map(|member| member.buffer.0).sum();
        active + self.idle_memory(proxy, now).0
    }

    fn idle_memory(&self, proxy: &Proxy, now: Instant) -> ByteCount {
        match proxy.idle_memory {
            IdleMemory::Free => ByteCount(0),
            IdleMemory::Reserved => {
                let both = [0, 1].map(|at| self.idle[at].memory(proxy.scheme.idle, now).0);
                ByteCount(both[0] + both[1])
            }
        }
    }
}

impl<'a, O: Observer> World<'a, O> {
    pub(super) fn add_proxy(
        &mut self,
        place: u32,
        application: &'a Application,
        proxy: &'a Proxy,
    ) -> Result<(), RunError> {
        self.find_ways(application, proxy)?;
        let limit = proxy.scheme.limit(proxy.pool, proxy.n_max).expect("the scenario was checked");
        let limit = match proxy.counted {
            Counted::Both => limit,
            Counted::Downward => Limit { connections: proxy.n_max, ..limit },
        };
        let number = u32::try_from(self.proxies.len()).expect("a few applications");
        self.proxies.push(State {
            application: place,
            limit,
            members: BTreeMap::new(),
            open: [0; 2],
            idle: [Register::new(), Register::new()],
            free_upward: BTreeMap::new(),
            waiting: VecDeque::new(),
            syns: VecDeque::new(),
            offers: false,
            division: Division::new(proxy.pool, std::iter::empty(), Spare::Keep),
        });
        self.add_clients(number, application, proxy);
        if proxy.route == Route::Proxy {
            self.queue.push(START + proxy.interval, Event::ProxyInterval(number));
        }
        Ok(())
    }

    /// The settings outlive the world's state: what they say may be read while it changes.
    fn proxy(&self, proxy: u32) -> &'a Proxy {
        let application = self.proxies[proxy as usize].application;
        match &self.scenario.applications[application as usize].kind {
            ApplicationKind::Proxy(proxy) => proxy,
            kind => unreachable!("a proxy has its own settings, not {kind:?}"),
        }
    }

    fn proxy_host(&self, proxy: u32) -> NodeId {
        let application = self.proxies[proxy as usize].application;
        self.scenario.applications[application as usize].server
    }

    /// The proxy of a connection, if that is still there and is one's.
    fn proxy_of(&self, place: u32) -> Option<u32> {
        self.connections.get(place as usize).and_then(|it| self.owning_proxy(it))
    }

    fn owning_proxy(&self, connection: &Connection) -> Option<u32> {
        match connection.owner {
            Owner::Upward { proxy } => Some(proxy),
            Owner::Downward { client } => Some(self.proxy_clients[client as usize].proxy),
            _ => None,
        }
    }

    /// Links must lead from each client to the proxy and from there to each server.
    fn find_ways(&mut self, application: &Application, proxy: &Proxy) -> Result<(), RunError> {
        let clients = proxy.clients.iter().map(|&client| [client, application.server]);
        let servers = proxy.servers.iter().map(|&server| [application.server, server]);
        for [from, to] in clients.chain(servers) {
            if [[from, to], [to, from]]
                .iter()
                .any(|&[from, to]| self.network.way(from, to).is_none())
            {
                return Err(RunError::NoWay { application: application.name.clone() });
            }
        }
        Ok(())
    }

    /// A member, if `place` is still that connection's.
    fn member(&mut self, proxy: u32, (place, id): Known) -> Option<&mut Member> {
        let member = self.proxies[proxy as usize].members.get_mut(&place);
        member.filter(|member| member.id == id)
    }

    /// The connection is idle: it waits for another request, or the proxy closes it.
    fn becomes_idle(&mut self, proxy: u32, place: u32) {
        let setting = self.proxy(proxy);
        let now = self.now;
        let state = &mut self.proxies[proxy as usize];
        let Some(member) = state.members.get_mut(&place) else { return };
        (member.work, member.idle_since) = (Work::Idle, now);
        let Persistence::Timeouts { client, server } = setting.persistence else {
            self.close_member(proxy, place);
            return self.offer_later(proxy);
        };
        let (direction, pool) = (member.direction, member.pool);
        let idle = ackwise_tuning::Idle { key: place, since: now, held: member.buffer };
        state.idle[direction as usize].insert(idle);
        if direction == ProxySide::Up {
            state.free_upward.entry(pool).or_default().push(place);
        }
        self.collector.proxied(state.application, |it| it.idle_spells += 1);
        let timeout = if direction == ProxySide::Down { client } else { server };
        self.wake_when_idle(proxy, place, timeout);
        self.offer_later(proxy);
    }

    fn wake_when_idle(&mut self, proxy: u32, place: u32, timeout: Duration) {
        let Some(member) = self.proxies[proxy as usize].members.get_mut(&place) else { return };
        let until = member.idle_since + timeout;
        // An event that comes earlier asks again.
        if until < member.armed && until <= START + self.scenario.duration {
            member.armed = until;
            self.queue.push(until, Event::ProxyIdle(place));
        }
    }

    /// A connection of a proxy may have been idle for long enough.
    pub(super) fn member_has_idled(&mut self, place: u32) {
        let Some(proxy) = self.proxy_of(place) else { return };
        let Persistence::Timeouts { client, server } = self.proxy(proxy).persistence else {
            return;
        };
        let now = self.now;
        let Some(member) = self.proxies[proxy as usize].members.get_mut(&place) else { return };
        if member.armed != now {
            return;
        }
        member.armed = Instant::FAR_FUTURE;
        if !member.is_idle() {
            return;
        }
        let timeout = if member.direction == ProxySide::Down { client } else { server };
        if member.idle_since + timeout > now {
            return self.wake_when_idle(proxy, place, timeout);
        }
        let application = self.proxies[proxy as usize].application;
        self.collector.proxied(application, |it| it.closed_by_timeout += 1);
        self.close_member(proxy, place);
        self.forget_if_over(place);
        self.offer_later(proxy);
    }

    /// An idle connection becomes busy with `work`. It has what is left of its buffer, until the next
    /// division.
    fn becomes_busy(&mut self, proxy: u32, place: u32, work: Work) {
        let setting = self.proxy(proxy);
        let now = self.now;
        let state = &mut self.proxies[proxy as usize];
        let Some(member) = state.members.get_mut(&place) else { return };
        let was_idle = member.is_idle();
        member.work = work;
        if !was_idle {
            return;
        }
        let (pool, direction) = (member.pool, member.direction);
        let entry = state.idle[direction as usize].remove(&place);
        if let Some(free) = state.free_upward.get_mut(&pool) {
            free.retain(|&it| it != place);
        }
        if let Some(idle) = entry {
            let size = setting.scheme.idle.size(idle.held, idle.since, now);
            self.note_idle_time(proxy, now.since(idle.since));
            self.reuse_buffer(proxy, place, size);
        }
    }

    /// An idle time is over: one that was long enough for a halving is counted.
    fn note_idle_time(&mut self, proxy: u32, span: Duration) {
        let halved = match self.proxy(proxy).scheme.idle {
            IdleBuffers::KeepShare => false,
            IdleBuffers::Halve(halving) => Nanos::of(span) >= halving.period(),
        };
        let application = self.proxies[proxy as usize].application;
        self.collector.proxied(application, |it| it.halved_spells += u64::from(halved));
    }
}

impl Proxy {
    fn pool_key(&self, server: u32, client: u32) -> PoolKey {
        match self.upward {
            Upward::PerServer => (server, None),
            Upward::PerClient => (server, Some(client)),
        }
    }
}
