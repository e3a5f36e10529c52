//! A connection comes to be, and its place is given back.

use std::{collections::VecDeque, sync::Arc};

use ackwise_http::behaviour::{Behaviour, Nagle};
use ackwise_tcp::{
    Config, Endpoint, Instant, SeqNumber, State, Timer,
    policy::{BufferTuning, HoldPolicy},
};

use super::{Event, Rest, START, World, host::Host};
use crate::{
    connection::{Client, Connection, End, Owner, Server},
    error::RunError,
    network::Way,
    observe::{ConnectionId, Observer, Side},
    scenario::NodeId,
    table::Counted,
    watch::Watched,
};

/// Why there is no new connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NotOpened {
    /// The client's host has no memory for another one, as BSD says by ENOBUFS.
    NoMemory,
    /// There are more than the scenario allows.
    RunEnds,
}

impl<O: Observer> Rest<'_, O> {
    /// Counts an end as what it has become.
    #[inline]
    pub(super) fn count(&mut self, end: &mut End) {
        let counted = match end.endpoint.state() {
            State::Closed | State::Listen => Counted::Not,
            State::TimeWait => Counted::TimeWait,
            _ => Counted::Open,
        };
        if counted != end.counted {
            count_otherwise(end, self.hosts, counted, self.now);
        }
    }
}

fn count_otherwise(end: &mut End, hosts: &mut [Host], counted: Counted, now: Instant) {
    let host = &mut hosts[end.host.0 as usize];
    host.count(end.counted, counted);
    end.counted = counted;
    if let Some(table) = &mut host.table {
        end.entry = table.change(end.entry, counted, now);
    }
}

impl<O: Observer> World<'_, O> {
    /// Opens a connection of an application, if it can.
    ///
    /// The listening end exists from now on, so that a SYN costs no look-up of a listener.
    pub(super) fn open(&mut self, owner: Owner, application: u32) -> Result<u32, NotOpened> {
        let setting = &self.scenario.applications[application as usize];
        let hosts = [setting.client, setting.server];
        self.open_between(owner, application, hosts, |_| {})
    }

    /// The same between two hosts; `prepare` sets the opening end's socket options.
    pub(super) fn open_between(
        &mut self,
        owner: Owner,
        application: u32,
        hosts: [NodeId; 2],
        prepare: impl FnOnce(&mut Endpoint),
    ) -> Result<u32, NotOpened> {
        if self.connections.len() >= self.scenario.max_connections as usize {
            let (limit, since_start) = (self.scenario.max_connections, self.now.since(START));
            self.failure = Some(RunError::TooManyConnections { limit, since_start });
            return Err(NotOpened::RunEnds);
        }
        if !self.admits(hosts[0]) {
            self.collector.failed(application);
            return Err(NotOpened::NoMemory);
        }
        let place = u32::try_from(self.connections.vacant_key()).expect("below max_connections");
        let id = ConnectionId(self.opened);
        self.opened += 1;
        let [client, server] = self.configs(application, hosts);
        let ways = [hosts, [hosts[1], hosts[0]]]
            .map(|[from, to]| self.network.way(from, to).expect("found when the run began"));
        let mut client = Endpoint::connect(client, initial_sequence(id, 0), self.now);
        let mut server = Endpoint::listen(server, initial_sequence(id, 1));
        prepare(&mut client);
        self.inherit(&mut client, place, hosts);
        self.inherit(&mut server, place, [hosts[1], hosts[0]]);
        let [at_client, at_server] = hosts.map(|NodeId(host)| &self.hosts[host as usize]);
        let early = at_client.sends_data_with_syn(at_server, hosts[1]);
        if early {
            client.allow_data_with_syn();
            server.allow_data_with_syn();
        }
        let slow_reader = self.slow_reader(application);
        self.connections.insert(Connection {
            id,
            ends: [end(client, hosts[0], ways[0]), end(server, hosts[1], ways[1])],
            owner,
            application,
            in_flight: 0,
            client: Client { connected: early, slow_reader, ..Client::new(self.now) },
            exchanges: VecDeque::with_capacity(1),
            server: Server::NEW,
            watched: self.scenario.watch_causes.then(|| Box::new(Watched::new(self.now))),
        });
        self.collector.opened(application, self.connections.len());
        self.settle(place, Side::Client);
        Ok(place)
    }

    /// Whether a host has memory for another connection.
    fn admits(&mut self, NodeId(host): NodeId) -> bool {
        self.hosts[host as usize].admits()
    }

    /// What the two ends are created with: the same for all connections of an application between two
    /// hosts.
    fn configs(&mut self, application: u32, hosts: [NodeId; 2]) -> [Arc<Config>; 2] {
        if let Some([client, server]) = self.configs.get(&(application, hosts)) {
            return [Arc::clone(client), Arc::clone(server)];
        }
        let configs = self.configs_of(application, hosts).map(Arc::new);
        self.configs.insert((application, hosts), configs.clone());
        configs
    }

    fn configs_of(&self, application: u32, hosts: [NodeId; 2]) -> [Config; 2] {
        let setting = &self.scenario.applications[application as usize];
        let [client, mut server] =
            hosts.map(|node| self.hosts[node.0 as usize].tcp.expect("the scenario was checked"));
        let behaviour = setting.kind.behaviour();
        if behaviour.nagle == Nagle::Off {
            server.policies.hold = HoldPolicy::Off;
        }
        if let Some(bytes) = behaviour.send_buffer {
            server.send_buffer = u32::try_from(bytes.get()).unwrap_or(u32::MAX);
            server.policies.send_tuning = BufferTuning::Off;
        }
        [client, server]
    }

    /// When the server's end holds small segments: as its host does, unless Nagle is switched off.
    pub(super) fn server_hold(&self, application: u32, behaviour: &Behaviour) -> HoldPolicy {
        let server = self.scenario.applications[application as usize].server;
        let host = self.hosts[server.0 as usize].tcp.expect("the scenario was checked");
        match behaviour.nagle {
            Nagle::On => host.policies.hold,
            Nagle::Off => HoldPolicy::Off,
        }
    }

    /// What a new end takes over from its host's other connections to the same peer.
    fn inherit(&mut self, endpoint: &mut Endpoint, place: u32, [host, peer]: [NodeId; 2]) {
        let host_state = &mut self.hosts[host.0 as usize];
        let Some(sharing) = host_state.sharing() else { return };
        let block = host_state.peers.entry(peer).or_default();
        // What the concurrent ones have now: there are few, where anybody shares.
        for (live, connection) in &self.connections {
            if let Some(end) = connection.ends.iter().find(|end| end.host == host) {
                block.update(live as u64, end.endpoint.heritage());
            }
        }
        endpoint.inherit(&block.begin(u64::from(place), sharing));
    }

    /// Gives the place of a connection back if nothing more can happen on it. What is left of one in
    /// TIME-WAIT is a number at its host: no segment is under way that it could have to answer.
    #[inline]
    pub(super) fn forget_if_over(&mut self, place: u32) {
        if self.connections[place as usize].is_over() {
            self.forget(place);
        }
    }

    /// Apart from the question that every segment asks.
    #[inline(never)]
    fn forget(&mut self, place: u32) {
        let connection = self.connections.remove(place as usize);
        self.observer.on_over(connection.id, self.now);
        self.proxy_forgets(&connection, place);
        let hosts = [connection.ends[0].host, connection.ends[1].host];
        for (end, peer) in connection.ends.iter().zip([hosts[1], hosts[0]]) {
            let host = &mut self.hosts[end.host.0 as usize];
            if let Some(block) = host.peers.get_mut(&peer) {
                block.end(u64::from(place), end.endpoint.heritage());
            }
            match end.endpoint.poll_timeout() {
                Some(deadline) if deadline.timer == Timer::TimeWait => {
                    let over = deadline.at.max(self.now);
                    self.queue.push(over, Event::TimeWaitOver(end.host.0));
                    if let (Some(table), Some(entry)) = (&mut host.table, end.entry) {
                        table.leave(entry, over);
                    }
                }
                _ => {
                    host.count(end.counted, Counted::Not);
                    if let Some(table) = &mut host.table {
                        table.change(end.entry, Counted::Not, self.now);
                    }
                }
            }
        }
        self.connection_is_over(place, &connection);
    }
}

const fn end(endpoint: Endpoint, host: NodeId, way: Way) -> End {
    End { endpoint, host, way, armed: Instant::FAR_FUTURE, counted: Counted::Not, entry: None }
}

/// Spread over the circle, so that runs meet its end; nobody guesses numbers here.
const fn initial_sequence(id: ConnectionId, side: u64) -> SeqNumber {
    SeqNumber(((id.0 * 2 + side).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32)
}
