//! Starts namespaces, network and programs, waits, and puts the measures together.

use std::{
    collections::BTreeMap,
    io,
    net::IpAddr,
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use ackwise_linux::{
    Namespace, NamespaceError,
    emulator::{
        EmulatedNetwork, EmulatorError, Hosts, NetworkReport, Port, Scheduling, SegmentRecord, Wire,
    },
    ready::Ready,
};
use ackwise_sim::{
    Measures, Scenario,
    measure::{self, DirectionMeasures, FilledSegments, HostMeasures, Work},
    scenario::ApplicationKind,
};

use crate::{
    agreed::{Mailbox, Shared},
    groups::{self, Group},
    playable::{self, Unplayable, World},
    programs::{Counted, Programs, Run},
    sampler::{self, Sampler},
    settings,
};

/// When a run ends early, who hears how far it is, and what else is wanted of it. The default ends no run early, and
/// records nothing.
#[derive(Clone, Debug)]
pub struct Limits {
    /// When this becomes true, the run ends within some milliseconds with [`PlayError::Stopped`].
    pub stop: Arc<AtomicBool>,
    /// Nanoseconds since the run began, for a progress bar.
    pub clock: Arc<AtomicU64>,
    /// Whether [`Played::recorded`] is wanted.
    pub record: bool,
    /// The port of all servers. Whoever traces the kernel tells simultaneous runs apart by it: their namespaces have
    /// the same addresses.
    pub port: u16,
    /// The run does not begin before. What the kernel does at a tick of its clock, two runs see at the same time if
    /// they begin at the same time after a tick.
    pub not_before: Option<Instant>,
}

impl Default for Limits {
    fn default() -> Self {
        let (stop, clock) = Default::default();
        Self { stop, clock, record: false, port: DEFAULT_PORT, not_before: None }
    }
}

/// A run, and why it may be wrong.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Played {
    /// As the simulator's, except for causes and the trace's hash, which need a view into TCP.
    pub measures: Measures,
    /// What disturbed it; `None` if nothing did.
    pub disturbed: Option<String>,
    /// Segments in the order in which they were sent, if [`Limits::record`].
    pub recorded: Vec<SegmentRecord>,
    /// When the run began: times of records count from here.
    pub began: Instant,
}

/// Why a scenario was not played to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlayError {
    /// The kernel cannot play it.
    #[error(transparent)]
    Unplayable(#[from] Unplayable),
    /// The scenario makes no sense.
    #[error(transparent)]
    Scenario(#[from] ackwise_sim::RunError),
    /// No links lead from one host to the other and back.
    #[error("no links lead from the client of \"{0}\" to its server and back")]
    NoWay(String),
    /// The scenario has no application with a proxy.
    #[error("the experiment has no proxy (expected an application of kind \"proxy\")")]
    NoProxy,
    /// A namespace is not available.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// The network is not available.
    #[error(transparent)]
    Network(#[from] EmulatorError),
    /// A program could not go on.
    #[error("cannot play in real time: {0}")]
    Program(#[source] io::Error),
    /// [`Limits::stop`].
    #[error("stopped")]
    Stopped,
}

/// Plays a scenario in real time, which takes its duration at most, and a little to set it up. Nothing of it is left
/// afterwards.
///
/// Needs root, or a user namespace of the process's own.
///
/// # Errors
///
/// If the kernel cannot play it, or refuses something; nothing has started in the first case.
///
/// # Panics
///
/// If one of its threads panics.
pub fn play(scenario: &Scenario, world: World, limits: &Limits) -> Result<Played, PlayError> {
    playable::check(scenario, world)?;
    scenario.check()?;
    let (groups, group_of) = groups::groups(scenario, world);
    let ways = groups::ways(scenario).map_err(PlayError::NoWay)?;
    let namespaces: Vec<Namespace> =
        groups.iter().map(|_| Namespace::create()).collect::<Result<_, _>>()?;
    for (group, namespace) in groups.iter().zip(&namespaces) {
        if !group.ours {
            let done = namespace.run(|| settings::configure_namespace(&group.tcp))?;
            done.map_err(PlayError::Program)?;
        }
    }
    let ports: Vec<Port<'_>> =
        groups.iter().zip(&namespaces).map(|(group, namespace)| port(group, namespace)).collect();
    let mut network = EmulatedNetwork::open(&ports)?;
    if limits.record {
        network = network.recorded();
    }
    let mut ready = Vec::new();
    for _ in &groups {
        ready.push(Ready::new().map_err(PlayError::Program)?);
    }
    let wires = scenario.wires().into_iter().zip(scenario.links.iter().flat_map(|it| [it, it]));
    let wires = wires.map(|(config, link)| Wire { config, overhead: link.overhead }).collect();
    let round_trip = shortest_round_trip(scenario);
    if let Some(begin) = limits.not_before {
        thread::sleep(begin.saturating_duration_since(Instant::now()));
    }
    let network = network.start(wires, ways, scenario.warm_up)?;
    let shared = Shared {
        start: network.began(),
        opening: Mutex::default(),
        boxes: ready
            .iter()
            .map(|ready| Mailbox { mail: Mutex::default(), bell: ready.bell() })
            .collect(),
    };
    let (unfinished, open) = (AtomicU64::new(users(scenario)), AtomicU64::new(0));
    let over = AtomicBool::new(false);
    let run = Run {
        scenario,
        groups: &groups,
        group_of: &group_of,
        shared: &shared,
        unfinished: &unfinished,
        open: &open,
        over: &over,
        port: limits.port,
    };
    let sampler = Sampler::of(&namespaces)?;
    let (counted, sampler, ended) = act(&run, &namespaces, ready, sampler, limits)?;
    let mut report = network.stop()?;
    report.dropped_by_accident += counted.iter().map(|it| it.packets_lost).sum::<u64>();
    let measures = measures(&run, counted, &report, &sampler, ended);
    let disturbed = report.disturbance(round_trip).map(|disturbance| disturbance.to_string());
    Ok(Played { measures, disturbed, recorded: report.recorded, began: shared.start })
}

/// Lets the programs act until all have finished, or the time is over.
fn act(
    run: &Run<'_>,
    namespaces: &[Namespace],
    ready: Vec<Ready>,
    mut sampler: Sampler,
    limits: &Limits,
) -> Result<(Vec<Counted>, Sampler, Duration), PlayError> {
    let listening = Barrier::new(ready.len());
    let inside = |group: usize, ready: Ready| -> io::Result<Counted> {
        let entered = namespaces[group].enter().map_err(io::Error::other);
        // Programs that wait for others are disturbed, with or without it.
        let _ = Scheduling::prefer_round_robin();
        let programs = match &entered {
            Ok(_) => Programs::new(run, group, ready),
            Err(error) => Err(io::Error::other(error.to_string())),
        };
        // No client connects before all servers listen.
        listening.wait();
        let outcome = programs.and_then(Programs::act);
        run.over.store(outcome.is_err() || run.over.load(Ordering::Relaxed), Ordering::Relaxed);
        drop(entered);
        outcome
    };
    let result = thread::scope(|scope| {
        let inside = &inside;
        let threads: Vec<_> = ready
            .into_iter()
            .enumerate()
            .map(|(group, ready)| scope.spawn(move || inside(group, ready)))
            .collect();
        let watched = watch(run, &mut sampler, limits);
        run.over.store(true, Ordering::Relaxed);
        run.shared.boxes.iter().for_each(|mailbox| mailbox.bell.ring());
        let counted: Result<Vec<Counted>, _> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        let counted = counted.map_err(PlayError::Program)?;
        Ok((counted, watched?))
    });
    result.map(|(counted, ended)| (counted, sampler, ended))
}

/// Waits until the run is over, and samples meanwhile. Says when it ended.
fn watch(run: &Run<'_>, table: &mut Sampler, limits: &Limits) -> Result<Duration, PlayError> {
    let (start, duration) = (run.shared.start, run.scenario.duration);
    let mut sampled = Instant::now();
    loop {
        let now = start.elapsed();
        let nanos = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        limits.clock.store(nanos, Ordering::Relaxed);
        if limits.stop.load(Ordering::Relaxed) {
            return Err(PlayError::Stopped);
        }
        let idle =
            run.unfinished.load(Ordering::Relaxed) == 0 && run.open.load(Ordering::Relaxed) == 0;
        if now >= duration || idle || run.over.load(Ordering::Relaxed) {
            // The last FINs and ACKs pass.
            thread::sleep((2 * longest_round_trip(run.scenario) + SETTLE).min(LONGEST_SETTLE));
            table.sample().map_err(PlayError::Program)?;
            return Ok(now.min(duration));
        }
        if sampled.elapsed() >= sampler::EVERY {
            table.sample().map_err(PlayError::Program)?;
            sampled = Instant::now();
        }
        thread::sleep(LOOK_EVERY.min(duration.saturating_sub(now)));
    }
}

fn measures(
    run: &Run<'_>,
    counted: Vec<Counted>,
    report: &NetworkReport,
    sampler: &Sampler,
    ended: Duration,
) -> Measures {
    let scenario = run.scenario;
    let measured = ended.saturating_sub(scenario.warm_up);
    let seconds = measured.as_secs_f64();
    let most_connections = counted.iter().map(|it| it.most_open).max().unwrap_or(0);
    let mut opened = BTreeMap::new();
    counted.iter().for_each(|it| opened.extend(it.opened.iter().map(|(host, n)| (*host, *n))));
    let ours: BTreeMap<IpAddr, [u64; 2]> = counted.iter().flat_map(|it| it.most.clone()).collect();
    let tallies = counted.into_iter().map(|it| it.tallies);
    let mut measures = Measures {
        applications: measure::applications(scenario, tallies, seconds),
        measured,
        work: Work { packet_hops: report.hops, most_connections, ..Work::default() },
        segments: FilledSegments { all: report.segments[0], full: report.segments[1] },
        ..Measures::default()
    };
    let mut wires = report.wires.iter();
    for link in &scenario.links {
        let both = [0, 1].map(|direction| {
            let wire = wires.next().copied().unwrap_or_default();
            let counts = [&wire.before, &wire.after];
            let most_queued = wire.most_queued;
            let measures = DirectionMeasures::between(link, direction, counts, seconds);
            DirectionMeasures { most_queued, ..measures }
        });
        if !measured.is_zero() {
            measures.links.insert(link.name.clone(), both);
        }
    }
    for (place, node) in (0..).zip(&scenario.nodes).filter(|(_, node)| node.tcp.is_some()) {
        let host = ackwise_sim::scenario::NodeId(place);
        let address = IpAddr::V4(groups::address(host));
        let most = ours.get(&address).or_else(|| sampler.most.get(&address));
        let [most_time_wait, most_open] = most.copied().unwrap_or_default();
        let connections_opened = opened.get(&host).copied().unwrap_or(0);
        let host = HostMeasures { connections_opened, most_open, most_time_wait, table: None };
        measures.hosts.insert(node.name.clone(), host);
    }
    measures
}

fn port<'a>(group: &Group, namespace: &'a Namespace) -> Port<'a> {
    Port {
        namespace,
        addresses: group.hosts.iter().copied().map(groups::address).collect(),
        hosts: if group.ours { Hosts::Forwarded } else { Hosts::Kernel },
        mtu: settings::mtu(&group.tcp),
        initial_window: settings::initial_window(&group.tcp),
        quick_ack: settings::quick_ack(&group.tcp),
    }
}

/// Users, clients and sources.
fn users(scenario: &Scenario) -> u64 {
    let of = |kind: &ApplicationKind| match kind {
        ApplicationKind::Web(web) => web.users.get().into(),
        ApplicationKind::Bulk(bulk) => bulk.clients.get().into(),
        ApplicationKind::Arrivals(_) => 1,
        ApplicationKind::Proxy(_) => 0,
    };
    scenario.applications.iter().map(|it| of(&it.kind)).sum()
}

fn round_trips(scenario: &Scenario) -> impl Iterator<Item = Duration> {
    let wires = scenario.wires();
    let pairs: Vec<_> = scenario
        .applications
        .iter()
        .flat_map(|it| [[it.client, it.server], [it.server, it.client]])
        .collect();
    let one_way = move |way: Option<Vec<u32>>| -> Duration {
        way.unwrap_or_default().iter().map(|&wire| wires[wire as usize].delay).sum()
    };
    let ways: Vec<Duration> = scenario.ways(&pairs).into_iter().map(one_way).collect();
    ways.chunks(2).map(|both| both.iter().sum()).collect::<Vec<_>>().into_iter()
}

fn shortest_round_trip(scenario: &Scenario) -> Duration {
    round_trips(scenario).min().unwrap_or_default()
}

fn longest_round_trip(scenario: &Scenario) -> Duration {
    round_trips(scenario).max().unwrap_or_default()
}

/// The servers' port (our choice).
const DEFAULT_PORT: u16 = 8080;
/// How often it is checked whether all have finished (our choice).
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Beside two round trips (our choice).
const SETTLE: Duration = Duration::from_millis(20);
/// Our choice.
const LONGEST_SETTLE: Duration = Duration::from_secs(2);
