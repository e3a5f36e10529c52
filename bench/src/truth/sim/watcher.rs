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

use super::super::case::{Connection, Interval, Place};

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
    /// When each end sent something again, in order.
    repairs: Vec<Repair>,
    /// What each end, the client first, has sent and heard.
    senders: [Heard; 2],
}

/// What tells a tail-loss probe from a fast retransmit.
#[derive(Clone, Copy, Default)]
struct Heard {
    /// Up to where it has sent.
    highest: u64,
    /// The latest acknowledgement that it has received reports data behind a hole.
    sacked: bool,
}

/// A retransmission.
struct Repair {
    at: Instant,
    from: Side,
    /// The retransmission timer released it, or that of a tail-loss probe.
    by_timer: bool,
    /// It is a probe.
    probes: bool,
}

impl Waits {
    /// What is true of some time. Several causes if `explain` calls one by the name of the other.
    fn causes(&self, blame: &Blame) -> Vec<Cause> {
        let from = match blame.direction {
            Direction::ToServer => Side::Client,
            Direction::ToClient => Side::Server,
        };
        let first = self.repairs.partition_point(|it| it.at < blame.until);
        let repair = self.repairs[first..].iter().find(|it| it.from == from);
        let last = self.repairs[..first].iter().rfind(|it| it.from == from);
        // As on the kernel: a loss that its sender does not know of yet, and the window that it waits for.
        let window = Some(blame.unaware).filter(|it| WINDOWS.contains(it));
        let repaired = |causes: &[Cause]| causes.iter().copied().chain(window).collect();
        match blame.cause {
            // While a loss lasts, the simulator has to guess what will repair it.
            Cause::RetransmissionTimeout | Cause::LossRecovery => match repair {
                Some(Repair { by_timer: true, .. }) => vec![Cause::RetransmissionTimeout],
                // A probe has begun it.
                Some(Repair { by_timer: false, .. }) if last.is_some_and(|it| it.probes) => {
                    repaired(&[Cause::RetransmissionTimeout, Cause::LossRecovery])
                }
                Some(Repair { by_timer: false, .. }) => repaired(&[Cause::LossRecovery]),
                // It was not repaired before the end of the run.
                None => vec![Cause::RetransmissionTimeout, Cause::LossRecovery],
            },
            // The data had arrived, and its ACKs were lost: the simulator blames what they would have
            // opened.
            cause if repair.is_some_and(|it| it.by_timer && it.at == blame.until) => {
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
                        Direction::ToServer => Place::Client,
                        Direction::ToClient => Place::Server,
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

/// The default of experiments, which no family changes; `draw` has no congestion control that goes
/// back to one segment without a timeout.
const SEGMENT: u32 = 1460;

/// What an acknowledgement opens.
const WINDOWS: [Cause; 5] = [
    Cause::SlowStart,
    Cause::CongestionWindow,
    Cause::IdleRestart,
    Cause::ReceiveWindow,
    Cause::Pacing,
];

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
        let end = transmit.offset + u64::from(transmit.segment.len);
        if sighting.transmit.retransmission {
            // RFC 5681, section 3.1: after a timeout, the window is one segment; during fast
            // retransmit, it is at least two. A SYN has no other repair.
            let by_timer =
                sighting.transmit.segment.flags.syn || sighting.congestion_window < 2 * SEGMENT;
            // RFC 8985, section 7.3: a probe is the last segment, and nothing has told of a loss.
            let Heard { highest, sacked } = waits.senders[sighting.from as usize];
            let probes = !by_timer && end == highest && !sacked;
            let by_timer = by_timer || probes;
            waits.repairs.push(Repair { at: now, from: sighting.from, by_timer, probes });
        }
        let highest = &mut waits.senders[sighting.from as usize].highest;
        *highest = end.max(*highest);
    }

    fn on_received(&mut self, sighting: &Sighting<'_>, now: Instant) {
        self.captures.iter_mut().for_each(|it| it.on_received(sighting, now));
        let waits = self.connections.entry(sighting.connection).or_default();
        let heard = &mut waits.senders[1 - sighting.from as usize];
        heard.sacked = sighting.transmit.segment.options.sack.iter().next().is_some();
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
