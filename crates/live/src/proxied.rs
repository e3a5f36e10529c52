//! Clients, a proxy and Web servers on the kernel (Okamoto et al. 2001, section 4): one namespace with the
//! addresses of all clients, one of the proxy, one with the addresses of all servers.
//!
//! | file | one idea |
//! | --- | --- |
//! | `clients` | a client asks for one document after the other |
//! | `servers` | every Web server answers with as many bytes as the request's path says |
//! | `relay` | the reference relay: the paper's four schemes by `ackwise-tuning`'s rules |
//! | `message` | the few lines of HTTP that these three need |
//!
//! Clients are those of the simulator (`ackwise_sim::requests`), so both ask for the same documents. Each
//! thread blocks in the kernel: a client, a connection to a server and a connection to a client are a thread
//! each, with a small stack.

mod clients;
mod message;
mod relay;
mod servers;

use std::{
    any::Any,
    collections::BTreeMap,
    io,
    net::{Ipv4Addr, SocketAddrV4, TcpListener},
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, Scope},
    time::{Duration, Instant},
};

use ackwise_linux::{
    Namespace, SocketTable,
    emulator::{EmulatedNetwork, Hosts, Port, Scheduling, Way, Wire},
    sockets::{Family, Query},
};
use ackwise_sim::{
    Scenario,
    measure::ProxyMeasures,
    scenario::{Application, ApplicationKind, NodeId, Proxy},
};
use ackwise_tcp::State;
use socket2::{Domain, Socket, Type};

pub use message::Form;

use crate::{PlayError, groups};

/// Who relays.
#[derive(Clone, Copy)]
pub enum Relaying<'a> {
    /// The reference relay, by the scenario's scheme.
    Reference,
    /// A program.
    Program(&'a dyn Program),
}

/// A proxy that others have written.
pub trait Program: Sync {
    /// How clients write the address of a document.
    fn form(&self) -> Form;

    /// Starts it; the calling thread is in the proxy's namespace, and stays until the run ends. Returns when it
    /// answers. Dropping the value ends it.
    ///
    /// # Errors
    ///
    /// If it is not installed, or does not answer.
    fn start(&self, place: &Addresses) -> io::Result<Box<dyn Any>>;
}

/// Where a proxy listens, and where documents are.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// Where it listens.
    pub listen: SocketAddrV4,
    /// The Web servers. `/N` is a document of N bytes.
    pub servers: Vec<SocketAddrV4>,
    /// A server beside the proxy with the documents that the proxy has: `/hit/N` has N bytes, and `/hit` has
    /// [`Addresses::LARGEST`], of which a cache serves the first N.
    pub hits: SocketAddrV4,
}

impl Addresses {
    /// Bytes of `/hit`: no document of SURGE, as the experiment clips it, is larger.
    pub const LARGEST: u64 = 10_000_000;
}

/// What came out of a run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Proxied {
    /// As the simulator's; connections and divisions are counted for the reference relay only.
    pub measures: ProxyMeasures,
    /// Requests that were sent again because their connection ended without a response.
    pub repeated: u64,
    /// What disturbed the run; `None` if nothing did.
    pub disturbed: Option<String>,
}

/// Plays a scenario with a proxy in real time, which takes its duration and a few seconds. `progress` hears several
/// times in a second how far it is, and may unwind to end the run. Nothing is left afterwards.
///
/// # Errors
///
/// If the scenario has no proxy, or the kernel or the program refuses something.
///
/// # Panics
///
/// If one of its threads panics.
pub fn play_proxied(
    scenario: &Scenario,
    by: Relaying<'_>,
    progress: &mut dyn FnMut(Duration),
) -> Result<Proxied, PlayError> {
    scenario.check()?;
    let (application, proxy) = the_proxy(scenario).ok_or(PlayError::NoProxy)?;
    let [clients, middle, servers] =
        [Namespace::create()?, Namespace::create()?, Namespace::create()?];
    let groups = [
        (&clients, proxy.clients.as_slice()),
        (&middle, std::slice::from_ref(&application.server)),
        (&servers, proxy.servers.as_slice()),
    ];
    let ports = groups.map(|(namespace, hosts)| port(namespace, hosts));
    let network = EmulatedNetwork::open(&ports)?;
    let wires = scenario.wires().into_iter().zip(scenario.links.iter().flat_map(|it| [it, it]));
    let wires = wires.map(|(config, link)| Wire { config, overhead: link.overhead }).collect();
    let network = network.start(wires, ways(scenario, application, proxy)?, Duration::ZERO)?;
    let address = |node: &NodeId| SocketAddrV4::new(groups::address(*node), PORT);
    let place = Addresses {
        listen: address(&application.server),
        servers: proxy.servers.iter().map(address).collect(),
        hits: SocketAddrV4::new(Ipv4Addr::LOCALHOST, HITS_PORT),
    };
    let form = match by {
        Relaying::Reference => Form::Path,
        Relaying::Program(program) => program.form(),
    };
    let run = Run::new(scenario, application, proxy, (place, form));
    let end = act(&run, by, [&clients, &middle, &servers], progress);
    let report = network.stop()?;
    let queued = end?;
    let mut measures = std::mem::take(&mut *run.measures());
    measures.bytes_to_clients = run.to_clients.load(Ordering::Relaxed);
    measures.bytes_from_servers = run.from_servers.load(Ordering::Relaxed).saturating_sub(queued);
    let disturbed = report.disturbance(SHORTEST_ROUND_TRIP).map(|it| it.to_string());
    let repeated = run.repeated.load(Ordering::Relaxed);
    Ok(Proxied { measures, repeated, disturbed })
}

/// What all threads of a run look at.
struct Run<'a> {
    scenario: &'a Scenario,
    application: &'a Application,
    proxy: &'a Proxy,
    place: Addresses,
    form: Form,
    measures: Mutex<ProxyMeasures>,
    to_clients: AtomicU64,
    from_servers: AtomicU64,
    repeated: AtomicU64,
    over: AtomicBool,
    /// The clock: set when clients begin.
    ends: Mutex<Option<Instant>>,
    changed: Condvar,
}

impl<'a> Run<'a> {
    fn new(
        scenario: &'a Scenario,
        application: &'a Application,
        proxy: &'a Proxy,
        (place, form): (Addresses, Form),
    ) -> Self {
        let [to_clients, from_servers, repeated] = Default::default();
        let (measures, over, ends, changed) = Default::default();
        Self {
            scenario,
            application,
            proxy,
            place,
            form,
            measures,
            to_clients,
            from_servers,
            repeated,
            over,
            ends,
            changed,
        }
    }

    fn measures(&self) -> MutexGuard<'_, ProxyMeasures> {
        // Nothing panics while it is held.
        self.measures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn end(&self) {
        let _held = self.ends.lock();
        self.over.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    /// Sleeps; false if the run is over.
    fn sleeps(&self, span: Duration) -> bool {
        let until = Instant::now() + span;
        let mut held = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.is_over() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            let woken = self.changed.wait_timeout(held, left);
            held = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }

    /// Time until the end.
    fn left(&self) -> Duration {
        let ends = *self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.map_or(PREPARED_WITHIN, |ends| ends.saturating_duration_since(Instant::now()))
    }
}

/// Ends a run when it is dropped, also by unwinding: its threads are waited for.
struct Ending<'a>(&'a Run<'a>);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Lets everyone act until the time is over. Returns what servers had written and the proxy had not acknowledged.
fn act(
    run: &Run<'_>,
    by: Relaying<'_>,
    [clients, middle, servers]: [&Namespace; 3],
    progress: &mut dyn FnMut(Duration),
) -> Result<u64, PlayError> {
    let listen = |at: SocketAddrV4| listener(at).map_err(PlayError::Program);
    let anywhere = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, PORT);
    let web = servers.run(|| listen(anywhere))??;
    let hits = middle.run(|| listen(run.place.hits))??;
    let mut table = SocketTable::of(servers)?;
    let relay = relay::Relay::new(run, [SocketTable::of(middle)?, SocketTable::of(servers)?]);
    thread::scope(|scope| {
        let ending = Ending(run);
        spawn(scope, move || servers::accept(scope, run, &web, servers::Counted::Yes))?;
        spawn(scope, move || servers::accept(scope, run, &hits, servers::Counted::No))?;
        let guard = match by {
            Relaying::Reference => {
                let listener = middle.run(|| listen(run.place.listen))??;
                // Connections to servers are opened in the proxy's namespace.
                let entered = middle.enter()?;
                relay.start(scope, listener).map_err(PlayError::Program)?;
                drop(entered);
                None
            }
            Relaying::Program(program) => {
                let entered = middle.enter()?;
                let guard = program.start(&run.place).map_err(PlayError::Program)?;
                drop(entered);
                Some(guard)
            }
        };
        run.from_servers.store(0, Ordering::Relaxed);
        let began = Instant::now();
        *run.ends.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(began + run.scenario.duration);
        let entered = clients.enter()?;
        for number in (0..).take(run.proxy.clients.len()) {
            spawn(scope, move || clients::act(run, number))?;
        }
        drop(entered);
        while began.elapsed() < run.scenario.duration {
            progress(began.elapsed());
            thread::sleep(LOOK.min(run.left()));
        }
        let queued = queued(&mut table).map_err(PlayError::Program)?;
        drop(ending);
        drop(guard);
        Ok(queued)
    })
}

fn queued(table: &mut SocketTable) -> io::Result<u64> {
    let mut queued = 0;
    let query = Query::local_port(PORT).in_family(Family::V4).in_states(&[State::Established]);
    table.each(query, |socket| queued += u64::from(socket.send_queue))?;
    Ok(queued)
}

/// A thread with a small stack, as there are more than a thousand.
fn spawn<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    work: impl FnOnce() + Send + 'scope,
) -> Result<(), PlayError> {
    let work = move || {
        // As the emulator's thread: programs that wait for others disturb the run.
        let _ = Scheduling::prefer_round_robin();
        work();
    };
    let spawned = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
    spawned.map(drop).map_err(PlayError::Program)
}

fn listener(at: SocketAddrV4) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    socket.bind(&at.into())?;
    socket.listen(BACKLOG)?;
    // accept(2) keeps to it.
    socket.set_read_timeout(Some(LOOK))?;
    Ok(socket.into())
}

fn the_proxy(scenario: &Scenario) -> Option<(&Application, &Proxy)> {
    scenario.applications.iter().find_map(|application| match &application.kind {
        ApplicationKind::Proxy(proxy) => Some((application, &**proxy)),
        _ => None,
    })
}

/// Hosts with Linux's own TCP: nothing of the scenario's is set.
fn port<'a>(namespace: &'a Namespace, hosts: &[NodeId]) -> Port<'a> {
    Port {
        namespace,
        addresses: hosts.iter().copied().map(groups::address).collect(),
        hosts: Hosts::Kernel,
        mtu: MTU,
        initial_window: None,
        quick_ack: false,
    }
}

fn ways(
    scenario: &Scenario,
    application: &Application,
    proxy: &Proxy,
) -> Result<BTreeMap<[Ipv4Addr; 2], Way>, PlayError> {
    let ends = proxy.clients.iter().chain(&proxy.servers);
    let pairs: Vec<_> =
        ends.flat_map(|&it| [[it, application.server], [application.server, it]]).collect();
    let no_way = || PlayError::NoWay(application.name.clone());
    let ways = scenario.ways(&pairs).into_iter().zip(&pairs).map(|(wires, pair)| {
        Ok((pair.map(groups::address), Way { wires: wires.ok_or_else(no_way)?, full: MTU }))
    });
    ways.collect()
}

/// The port of proxy and servers (our choice).
const PORT: u16 = 8_080;
/// The port of the server beside the proxy (our choice).
const HITS_PORT: u16 = 9_000;
/// Ethernet's.
const MTU: u16 = 1_500;
/// More than there are clients.
const BACKLOG: i32 = 4_096;
/// How often a blocked thread looks whether the run is over (our choice).
const LOOK: Duration = Duration::from_millis(200);
/// What a proxy takes to start and to fill its cache, at most (our choice).
const PREPARED_WITHIN: Duration = Duration::from_secs(30);
/// Of a thread: it keeps two buffers of 16 KB (our choice).
const STACK: usize = 256 * 1_024;
/// Clients are at least 10 ms from the proxy, as printed.
const SHORTEST_ROUND_TRIP: Duration = Duration::from_millis(20);
