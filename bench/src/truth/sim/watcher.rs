//! A simulated run, with captures at both ends and what was waited for.

use std::collections::BTreeMap;

use ackwise_capture::WHOLE_FRAMES;
use ackwise_cause::{Cause, Direction};
use ackwise_lab::run::pcap::Capture;
use ackwise_sim::{
    Observer, Scenario,
    observe::{Blame, ConnectionId, Message, Side, Sighting},
    run as simulate,
};
use ackwise_tcp::Instant;

use super::super::case::{Connection, Interval, Peer};
use super::losses::Repairs;

/// What a run leaves.
pub(super) struct Watched {
    /// The files of the client's and of the server's capture.
    pub(super) captures: [Vec<u8>; 2],
    pub(super) intervals: Vec<Interval>,
}

/// Runs a scenario with one client and one server.
///
/// # Errors
///
/// If the run ends with an error, or its packets cannot be written.
pub(super) fn run(scenario: &Scenario) -> anyhow::Result<Watched> {
    let hosts = &scenario.applications[0];
    let mut captures = [Vec::new(), Vec::new()];
    let [client, server] = &mut captures;
    let mut watcher = Watcher {
        captures: [
            Capture::new(client, WHOLE_FRAMES, hosts.client)?,
            Capture::new(server, WHOLE_FRAMES, hosts.server)?,
        ],
        connections: BTreeMap::new(),
    };
    simulate(scenario, &mut watcher)?;
    let Watcher { captures: [client, server], connections } = watcher;
    client.finish()?;
    server.finish()?;
    let intervals = connections.values().flat_map(Waits::intervals).collect();
    Ok(Watched { captures, intervals })
}

struct Watcher<'a> {
    captures: [Capture<&'a mut Vec<u8>>; 2],
    connections: BTreeMap<ConnectionId, Waits>,
}

/// What a connection waited for.
#[derive(Default)]
struct Waits {
    ends: Option<Connection>,
    blamed: Vec<Blame>,
    /// What each end, the client first, has sent again.
    repairs: [Repairs; 2],
}

impl Waits {
    /// What is true of some time. Several causes if `explain` calls one by the name of the other.
    fn causes(&self, blame: &Blame) -> Vec<Cause> {
        let from = match blame.direction {
            Direction::ToServer => Side::Client,
            Direction::ToClient => Side::Server,
        };
        let repairs = &self.repairs[from as usize];
        match blame.cause {
            Cause::RetransmissionTimeout | Cause::LossRecovery => repairs.causes(blame),
            // The data had arrived, and its ACKs were lost: the simulator blames what they would have
            // opened.
            cause
                if repairs
                    .next(blame.until)
                    .is_some_and(|it| it.by_timer() && it.at == blame.until) =>
            {
                vec![Cause::RetransmissionTimeout, cause]
            }
            cause => vec![cause],
        }
    }

    /// One interval for all moments in a row with the same cause.
    fn intervals(&self) -> Vec<Interval> {
        let mut intervals: Vec<Interval> = Vec::new();
        // Without addresses, no capture has anything of the connection.
        let Some(connection) = self.ends else { return intervals };
        for blame in &self.blamed {
            let (causes, Blame { direction, from, until, .. }) = (self.causes(blame), *blame);
            let (from_ns, until_ns) = (from.as_nanos(), until.as_nanos());
            match intervals.last_mut() {
                Some(last)
                    if (&last.causes, last.direction, last.until_ns)
                        == (&causes, direction, from_ns) =>
                {
                    last.until_ns = until_ns;
                }
                _ => intervals.push(Interval {
                    connection,
                    exchange: None,
                    from_ns,
                    until_ns,
                    at: match direction {
                        Direction::ToServer => Peer::Client,
                        Direction::ToClient => Peer::Server,
                    },
                    direction,
                    causes,
                    witness: WITNESS.to_owned(),
                }),
            }
        }
        intervals
    }
}

const WITNESS: &str = "waits of the simulated ends";

impl Observer for Watcher<'_> {
    fn on_sent(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.captures.iter_mut().for_each(|it| it.on_sent(sighting, now));
        let waits = self.connections.entry(sighting.connection).or_default();
        if waits.ends.is_none() {
            let ends = self.captures[0].ends(sighting);
            waits.ends = ends.map(|[client, server]| Connection { client, server });
        }
        let transmit = sighting.transmit;
        if transmit.retransmission {
            waits.repairs[sighting.from as usize].send(transmit, sighting.recovery, now);
        }
    }

    fn on_received(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.captures.iter_mut().for_each(|it| it.on_received(sighting, now));
        let waits = self.connections.entry(sighting.connection).or_default();
        waits.repairs[sighting.from.other() as usize].hear(now);
        if sighting.transmit.retransmission {
            waits.repairs[sighting.from as usize].arrive(sighting.transmit.offset, now);
        }
    }

    fn on_message(&mut self, message: &Message, now: Instant) {
        self.captures.iter_mut().for_each(|it| it.on_message(message, now));
    }

    fn on_blame(&mut self, at: ConnectionId, blame: Blame, _now: Instant) {
        self.connections.entry(at).or_default().blamed.push(blame);
    }

    fn on_over(&mut self, connection: ConnectionId, now: Instant) {
        self.captures.iter_mut().for_each(|it| it.on_over(connection, now));
    }

    fn goes_on(&mut self, now: Instant) -> bool {
        self.captures.iter_mut().all(|it| it.goes_on(now))
    }
}
