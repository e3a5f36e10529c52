//! The world: takes events out of the queue and lets links, hosts and applications act on them.
//!
//! | file | one idea |
//! | --- | --- |
//! | `mod` | the loop, and what an event is |
//! | `host` | a host's configuration, processor and counts |
//! | `standstill` | whether virtual time passes |
//! | `steer` | the run pauses, and windows are set from outside |
//! | `open` | a connection comes to be, and its place is given back |
//! | `transfer` | segments leave and arrive, timers fire |
//! | `server` | answers requests by a plan of writes |
//! | `keep_alive` | which connections persist, and what either end does about it |
//! | `client` | writes requests, sees responses, whoever the client is |
//! | `web`, `bulk`, `arrivals`, `proxy` | the applications |
//! | `cause` | why an exchange takes the time it takes |

mod arrivals;
mod bulk;
mod cause;
mod client;
mod host;
mod keep_alive;
mod open;
mod proxy;
mod server;
mod standstill;
mod steer;
mod transfer;
mod web;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use ackwise_link::Stream;
use ackwise_tcp::{Config, Instant};
use slab::Slab;

use crate::{
    connection::Connection,
    error::RunError,
    measure::{Collector, Measures},
    network::Network,
    observe::{Observer, Side, Unwatched, Watched},
    queue::Queue,
    scenario::{Application, ApplicationKind, CostModel, Node, NodeId, Scenario},
    trace::TraceHash,
};
use arrivals::Opener;
use bulk::FileClient;
use host::Host;
use standstill::Standstill;
use web::WebUser;

/// When the clock starts: above zero, because a timestamp of zero means "none" to some.
pub(crate) const START: Instant = Instant::from_nanos(1_000_000_000);

/// How many events pass before the observer is asked whether to go on.
const ASK_EVERY: u64 = 1 << 16;

/// Runs a scenario to its end.
///
/// # Errors
///
/// If the scenario cannot be run, runs away, or the observer ends it: see [`RunError`].
pub fn run(scenario: &Scenario, observer: &mut dyn Observer) -> Result<Measures, RunError> {
    scenario.check()?;
    if observer.pauses_at().is_none() {
        scenario.check_unsteered()?;
    }
    // The world is generic and compiled for these two, not in every crate for each of its observers.
    if observer.watches() || observer.pauses_at().is_some() {
        World::new(scenario, &mut Watched(observer))?.run()
    } else {
        World::new(scenario, &mut Unwatched(observer))?.run()
    }
}

/// What can happen. Places are those of links, connections, users and so on in their tables.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A packet may have come to the end of a link.
    Link(u32),
    /// A timer of the connecting end may be due.
    ClientTimer(u32),
    /// A timer of the listening end may be due.
    ServerTimer(u32),
    /// The client has worked long enough to write its requests, or to close.
    Client(u32),
    /// A client that reads slowly goes on reading.
    Reads(u32),
    /// A client may have waited long enough for a response.
    GivesUp(u32),
    /// The server has thought.
    Server(u32),
    /// A connection may have been without a request for as long as its server waits.
    Idle(u32),
    /// A host's processor has time for the next segment.
    Host(u32),
    /// A connection of a host leaves TIME-WAIT, when nothing else is left of it.
    TimeWaitOver(u32),
    /// A dummy of a host's table comes.
    Dummy(u32),
    /// A web user has thought.
    User(u32),
    /// A bulk client begins or goes on.
    Bulk(u32),
    /// The next connection of an application arrives.
    Arrival(u32),
    /// A client of a proxy has thought, or tries again.
    ProxyClient(u32),
    /// A proxy's interval is over.
    ProxyInterval(u32),
    /// A place of a proxy may be free for one who waits.
    ProxyOffers(u32),
    /// A proxy's connection may have been idle for long enough.
    ProxyIdle(u32),
    /// A proxy's connection to a client has more room to write.
    ProxyWrites(u32),
    /// The warm-up is over.
    WarmedUp,
}

pub(crate) struct World<'a, O> {
    scenario: &'a Scenario,
    observer: &'a mut O,
    now: Instant,
    queue: Queue<Event>,
    network: Network,
    hosts: Vec<Host>,
    connections: Slab<Connection>,
    users: Vec<WebUser<'a>>,
    bulk_clients: Vec<FileClient<'a>>,
    sources: Vec<Opener<'a>>,
    proxies: Vec<proxy::State>,
    proxy_clients: Vec<proxy::Client>,
    /// What the two ends of an application's connections are created with, once there was one.
    configs: BTreeMap<(u32, [NodeId; 2]), [Arc<Config>; 2]>,
    collector: Collector,
    trace: TraceHash,
    opened: u64,
    /// Users, clients and sources so far, by their application's name.
    numbers: BTreeMap<String, u32>,
    /// Users, clients and sources that have not finished.
    unfinished: u32,
    standstill: Standstill,
    /// A host's processor may make segments wait, or its table wants to know of them.
    hosts_take_time: bool,
    /// What ends the run early.
    failure: Option<RunError>,
}

/// All that a connection meets when it sends and receives.
pub(crate) struct Rest<'w, O> {
    observer: &'w mut O,
    queue: &'w mut Queue<Event>,
    network: &'w mut Network,
    hosts: &'w mut [Host],
    collector: &'w mut Collector,
    trace: &'w mut TraceHash,
    now: Instant,
    watches_causes: bool,
}

fn takes_time(node: &Node) -> bool {
    node.cost != CostModel::default() || node.table.is_some()
}

impl<'a, O: Observer> World<'a, O> {
    fn new(scenario: &'a Scenario, observer: &'a mut O) -> Result<Self, RunError> {
        let mut world = Self {
            scenario,
            observer,
            now: START,
            queue: Queue::new(START),
            network: Network::new(scenario),
            hosts: scenario.nodes.iter().map(|node| Host::new(node, scenario.seed)).collect(),
            connections: Slab::new(),
            users: Vec::new(),
            bulk_clients: Vec::new(),
            sources: Vec::new(),
            proxies: Vec::new(),
            proxy_clients: Vec::new(),
            configs: BTreeMap::new(),
            collector: Collector::new(scenario),
            trace: TraceHash::default(),
            opened: 0,
            numbers: BTreeMap::new(),
            unfinished: 0,
            standstill: Standstill::new(0),
            hosts_take_time: scenario.nodes.iter().any(takes_time),
            failure: None,
        };
        world.queue.push(START + scenario.warm_up, Event::WarmedUp);
        for (place, node) in (0..).zip(&scenario.nodes) {
            if let Some(dummies) = node.table.and_then(|table| table.dummies) {
                world.queue.push(START + dummies.at, Event::Dummy(place));
            }
        }
        for (place, application) in (0..).zip(&scenario.applications) {
            let hosts = [application.client, application.server];
            let ways = [hosts, [hosts[1], hosts[0]]].map(|[from, to]| world.network.way(from, to));
            if ways.contains(&None) {
                return Err(RunError::NoWay { application: application.name.clone() });
            }
            match &application.kind {
                ApplicationKind::Web(web) => world.add_users(place, application, web),
                ApplicationKind::Bulk(bulk) => world.add_bulk_clients(place, application, bulk),
                ApplicationKind::Arrivals(arrivals) => {
                    world.add_source(place, application, arrivals)
                }
                ApplicationKind::Proxy(proxy) => world.add_proxy(place, application, proxy)?,
            }
        }
        world.standstill = Standstill::new(world.unfinished);
        Ok(world)
    }

    fn run(mut self) -> Result<Measures, RunError> {
        let end = START + self.scenario.duration;
        let mut events = 0;
        while let Some((now, event)) = self.next(end) {
            self.now = now;
            events += 1;
            if events % ASK_EVERY == 0 {
                self.may_go_on(events)?;
            }
            self.handle(event);
            if self.failure.is_some() {
                break;
            }
            if self.unfinished == 0 && self.connections.is_empty() {
                return Ok(self.finish(now, events));
            }
        }
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => Ok(self.finish(end, events)),
        }
    }

    fn may_go_on(&mut self, events: u64) -> Result<(), RunError> {
        if events > self.scenario.max_events {
            let since_start = self.now.since(START);
            return Err(RunError::TooManyEvents { limit: self.scenario.max_events, since_start });
        }
        self.takes_steps(ASK_EVERY);
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.observer.goes_on(self.now) { Ok(()) } else { Err(RunError::Stopped) }
    }

    /// Counts `steps` that take no time; too many end the run.
    fn takes_steps(&mut self, steps: u64) {
        if let Some(limit) = self.standstill.after(steps, self.now) {
            let since_start = self.now.since(START);
            self.failure = Some(RunError::TimeStandsStill { limit, since_start });
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Link(link) => self.link_is_due(link),
            Event::ClientTimer(place) => self.timer_is_due(place, Side::Client),
            Event::ServerTimer(place) => self.timer_is_due(place, Side::Server),
            Event::Client(place) => self.client_is_due(place),
            Event::Reads(place) => self.client_reads(place),
            Event::GivesUp(place) => self.client_has_waited(place),
            Event::Server(place) => self.server_has_thought(place),
            Event::Idle(place) => self.connection_has_idled(place),
            Event::Host(node) => self.processor_is_free(node),
            Event::TimeWaitOver(node) => self.hosts[node as usize].time_wait_over(self.now),
            Event::Dummy(node) => self.dummy_comes(node),
            Event::User(user) => self.user_is_due(user),
            Event::Bulk(client) => self.bulk_client_is_due(client),
            Event::Arrival(source) => self.connection_arrives(source),
            Event::ProxyClient(client) => self.proxy_client_is_due(client),
            Event::ProxyInterval(proxy) => self.proxy_interval(proxy),
            Event::ProxyOffers(proxy) => self.offer_places(proxy),
            Event::ProxyIdle(place) => self.member_has_idled(place),
            Event::ProxyWrites(place) => self.member_has_room(place),
            Event::WarmedUp => self.warmed_up(),
        }
    }

    /// A connection, and apart from it what it meets: so a segment looks it up once.
    #[inline]
    fn apart(&mut self, place: u32) -> (&mut Connection, Rest<'_, O>) {
        let rest = Rest {
            observer: self.observer,
            queue: &mut self.queue,
            network: &mut self.network,
            hosts: &mut self.hosts,
            collector: &mut self.collector,
            trace: &mut self.trace,
            now: self.now,
            watches_causes: self.scenario.watch_causes,
        };
        (&mut self.connections[place as usize], rest)
    }

    fn warmed_up(&mut self) {
        self.collector.warmed_up(self.network.counters(), self.now);
        self.network.forget_most_queued();
        for table in self.hosts.iter_mut().filter_map(|host| host.table.as_mut()) {
            table.warmed_up(self.now);
        }
    }

    fn finish(mut self, now: Instant, events: u64) -> Measures {
        self.pause_at_end(now);
        let Self {
            mut collector,
            network,
            hosts,
            trace,
            scenario,
            users,
            bulk_clients,
            sources,
            proxies,
            proxy_clients,
            ..
        } = self;
        for state in &proxies {
            state.record_end(&proxy_clients, &mut collector, now);
        }
        for WebUser { application, user } in &users {
            collector.record_progress(*application, user.progress());
        }
        for (application, progress) in bulk_clients.iter().map(|it| it.progress(now)) {
            collector.record_progress(application, progress);
        }
        for (application, progress) in sources.iter().map(Opener::progress) {
            collector.record_progress(application, progress);
        }
        collector.measures.work.events = events;
        collector.measures.work.trace_hash = trace.value();
        let hosts = hosts.iter().map(|host| host.measures(now));
        let links = network.counters().zip(network.most_queued());
        collector.finish(scenario, links, hosts, now)
    }

    /// A stream of random numbers for the next user, client or source of an application: by the
    /// application's name, so that others do not shift its dice.
    fn stream(&mut self, application: &Application) -> Stream {
        let number = self.numbers.entry(application.name.clone()).or_default();
        *number += 1;
        let seed = self.scenario.seed.named("application").named(&application.name);
        seed.named(&number.to_string()).stream()
    }

    /// Asks for an event after `span`.
    fn after(&mut self, span: Duration, event: Event) {
        self.queue.push(self.now + span, event);
    }
}
