//! A whole network in one thread: hosts in namespaces, and any number of links between them.
//!
//! Each namespace gets one TUN device with the addresses of all its hosts. A packet that the kernel sends
//! into a device goes from link to link on its way, and then into the device of its destination. A packet
//! comes to its next link when the link before it says so, not when this thread wakes: lateness does not
//! add up over the links of a way.
//!
//! Not here: routers that a program could see, and hosts of one namespace that talk to each other, whose
//! packets the kernel would keep to itself.

use std::{
    collections::BTreeMap,
    fs, io,
    net::Ipv4Addr,
    os::fd::{AsFd, BorrowedFd},
    time::{self, Duration},
};

use ackwise_link::{Counters, Fate, Link, LinkConfig};
use ackwise_tcp::{ByteCount, Instant};

use super::{
    Disturbance, Emulator, EmulatorError, Lateness, Scheduling, SegmentRecord,
    headers::{addresses, payload},
    recorder::Recorder,
    relay_thread::{Course, LARGEST_PACKET, PACKETS_PER_TURN, Relay, RelayThread},
    report::LatenessRecord,
    unread::Unread,
};
use crate::{
    Namespace, TunDevice,
    clock::Clock,
    device::{Subnet, TunOptions},
    netlink::{self, NetworkRoute},
};

/// A namespace's connection to the network.
#[derive(Debug)]
pub struct Port<'a> {
    /// The namespace.
    pub namespace: &'a Namespace,
    /// Addresses of its hosts, in 198.18.0.0/16.
    pub addresses: Vec<Ipv4Addr>,
    /// Who has these addresses.
    pub hosts: Hosts,
    /// Maximum packet size in bytes, IP header included.
    pub mtu: u16,
    /// Initial congestion window of its connections, in segments; `None` leaves the kernel's.
    pub initial_window: Option<u32>,
    /// Whether it acknowledges each segment at once.
    pub quick_ack: bool,
}

/// Whose TCP the hosts of a port have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Hosts {
    /// The namespace's own: it gets their addresses.
    Kernel,
    /// A stack on another device of the namespace, to which the kernel forwards their packets
    /// ([`TunDevice::add_host`]).
    Forwarded,
}

/// One direction of a link.
#[derive(Clone, Debug)]
pub struct Wire {
    /// The link; its seed is used as it is.
    pub config: LinkConfig,
    /// Bytes that each packet takes beside its IP datagram.
    pub overhead: ByteCount,
}

/// The way from one host to another.
#[derive(Clone, Debug)]
pub struct Way {
    /// By their places in the list of wires; at least one.
    pub wires: Vec<u32>,
    /// Length of a packet with a full segment, IP header included.
    pub full: u16,
}

/// Namespaces with devices and addresses, not yet joined.
#[derive(Debug)]
pub struct OpenNetwork {
    ports: Vec<OpenPort>,
    recorder: Option<Recorder>,
}

struct OpenPort {
    device: TunDevice,
    unread: Unread,
    addresses: Vec<Ipv4Addr>,
}

impl std::fmt::Debug for OpenPort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenPort").field("addresses", &self.addresses).finish_non_exhaustive()
    }
}

/// A running network. Dropping it stops it, and removes its devices.
#[derive(Debug)]
#[must_use = "dropping it ends the network"]
pub struct EmulatedNetwork {
    began: time::Instant,
    thread: RelayThread<NetworkReport>,
}

/// What a network did.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NetworkReport {
    /// In the order of the wires.
    pub wires: Vec<WireReport>,
    /// Segments with data that hosts sent after the mark, and those of them that were full.
    pub segments: [u64; 2],
    /// Segments in the order in which they were sent, the first [`SegmentRecord::MOST`] of them; only of a
    /// network with [`OpenNetwork::recorded`].
    pub recorded: Vec<SegmentRecord>,
    /// Packets that came to the end of a wire.
    pub hops: u64,
    /// Packets for which there is no way: the kernel's own, and those of hosts that should not talk.
    pub strays: u64,
    /// Packets dropped that the links would have delivered.
    pub dropped_by_accident: u64,
    /// Lateness of all packets at their destination.
    pub lateness: Lateness,
    /// Scheduling of the thread that delivered them.
    pub scheduling: Scheduling,
    /// The longest time for which a processor of this machine did not run its watch thread.
    pub longest_pause: Duration,
    /// When processors paused for longer than [`Disturbance::PAUSE`]: from, until.
    pub pauses: Vec<[time::Instant; 2]>,
    /// Lifetime of the network.
    pub ran: Duration,
}

/// What one wire carried.
#[derive(Clone, Copy, Debug, Default)]
pub struct WireReport {
    /// Counts at the mark.
    pub before: Counters,
    /// Counts at the end.
    pub after: Counters,
    /// The longest queue after the mark, in packets.
    pub most_queued: u64,
}

impl NetworkReport {
    /// Why a measurement over this network may be wrong, if the shortest round trip in it takes
    /// `round_trip`; `None` if there is no known reason.
    ///
    /// A late packet is one thing with a round trip of 1 ms, and another with one of 100 ms; so are
    /// pauses within a short run and a long one.
    #[must_use]
    pub fn disturbance(&self, round_trip: Duration) -> Option<Disturbance> {
        let packets = self.dropped_by_accident;
        if packets > 0 {
            return Some(Disturbance::DroppedByAccident { packets });
        }
        let p99 = self.lateness.p99;
        if p99 > Disturbance::LATE.max(round_trip / LATE_SHARE) {
            return Some(Disturbance::Late { p99, scheduling: self.scheduling.clone() });
        }
        let paused: Duration =
            self.pauses.iter().map(|[from, until]| until.saturating_duration_since(*from)).sum();
        (paused > self.ran / PAUSED_SHARE)
            .then_some(Disturbance::Paused { longest: self.longest_pause })
    }
}

impl EmulatedNetwork {
    /// Most addresses of a network (our choice).
    pub const MAX_ADDRESSES: usize = 4_096;

    /// Opens a device in each namespace, with the addresses of its hosts and a route to all others.
    ///
    /// # Errors
    ///
    /// If the kernel refuses. The message names the missing permission and how to grant it.
    pub fn open(ports: &[Port<'_>]) -> Result<OpenNetwork, EmulatorError> {
        let open = |(number, port): (u16, &Port<'_>)| port.namespace.run(|| port.open(number))?;
        let ports = (0..).zip(ports).map(open).collect::<Result<_, _>>()?;
        Ok(OpenNetwork { ports, recorder: None })
    }

    /// When it began: a link's times count from one second before this, as in the simulator.
    #[must_use]
    pub const fn began(&self) -> time::Instant {
        self.began
    }

    /// Stops the network. Packets in flight are lost.
    ///
    /// # Errors
    ///
    /// If it had already ended, because a device was removed or set down.
    ///
    /// # Panics
    ///
    /// If its thread panicked.
    pub fn stop(self) -> Result<NetworkReport, EmulatorError> {
        self.thread.stop()
    }
}

impl OpenNetwork {
    /// Has segments recorded.
    #[must_use]
    pub fn recorded(mut self) -> Self {
        self.recorder = Some(Recorder::new());
        self
    }

    /// Joins the hosts: packets from here on go their ways. What is before `mark` is counted apart.
    ///
    /// # Errors
    ///
    /// If there is no thread or timer for it.
    pub fn start(
        self,
        wires: Vec<Wire>,
        ways: BTreeMap<[Ipv4Addr; 2], Way>,
        mark: Duration,
    ) -> Result<EmulatedNetwork, EmulatorError> {
        let began = time::Instant::now();
        let relay = NetworkRelay::new(self.ports, wires, ways);
        let mut relay = relay.map_err(EmulatorError::Thread)?;
        relay.recorder = self.recorder;
        relay.began = began;
        relay.mark = Some(relay.clock.instant(began + mark));
        let thread = RelayThread::start("network", relay).map_err(EmulatorError::Thread)?;
        Ok(EmulatedNetwork { began, thread })
    }
}

impl Port<'_> {
    /// Opens the device in the calling thread's namespace.
    fn open(&self, number: u16) -> Result<OpenPort, EmulatorError> {
        let options = TunOptions { mtu: self.mtu, ..TunOptions::default() };
        let device = TunDevice::open_on(Subnet::from_last(number), options)?;
        let index = device.index()?;
        let routed = || {
            match self.hosts {
                Hosts::Kernel => {
                    self.addresses.iter().try_for_each(|it| netlink::add_address(index, *it))?;
                }
                Hosts::Forwarded => fs::write(FORWARDING, "1")?,
            }
            netlink::add_network_route(NetworkRoute {
                to: HOSTS,
                through: index,
                // Programs of others do not bind to a host's address before they connect.
                source: self.addresses.first().copied().filter(|_| self.hosts == Hosts::Kernel),
                initial_window: self.initial_window,
                quick_ack: self.quick_ack,
            })
        };
        routed().map_err(EmulatorError::Address)?;
        let unread = Unread::of(device.name()).map_err(EmulatorError::Thread)?;
        Ok(OpenPort { device, unread, addresses: self.addresses.clone() })
    }
}

#[derive(Clone)]
struct Packet {
    bytes: Box<[u8]>,
    /// Its way, and how many wires of it are behind it.
    way: u32,
    passed: u32,
    /// Its place in the record.
    record: Option<usize>,
}

struct NetworkRelay {
    ports: Vec<OpenPort>,
    wires: Vec<(Link<Packet>, ByteCount)>,
    before: Vec<Counters>,
    ways: Vec<(Way, usize)>,
    /// By addresses of source and destination: a place in `ways`.
    by_addresses: BTreeMap<[Ipv4Addr; 2], u32>,
    began: time::Instant,
    mark: Option<Instant>,
    marked: bool,
    bytes_in_flight: usize,
    segments: [u64; 2],
    recorder: Option<Recorder>,
    hops: u64,
    strays: u64,
    accidents: u64,
    lateness: LatenessRecord,
    clock: Clock,
    buffer: Vec<u8>,
}

impl NetworkRelay {
    fn new(
        ports: Vec<OpenPort>,
        wires: Vec<Wire>,
        ways: BTreeMap<[Ipv4Addr; 2], Way>,
    ) -> io::Result<Self> {
        let port_of = |address: &Ipv4Addr| {
            ports.iter().position(|port| port.addresses.contains(address)).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidInput, format!("no host has {address}"))
            })
        };
        let (mut list, mut by_addresses) = (Vec::new(), BTreeMap::new());
        for (addresses, way) in ways {
            by_addresses.insert(addresses, u32::try_from(list.len()).unwrap_or(u32::MAX));
            list.push((way, port_of(&addresses[1])?));
        }
        let wires: Vec<_> =
            wires.into_iter().map(|wire| (Link::new(wire.config), wire.overhead)).collect();
        Ok(Self {
            before: vec![Counters::default(); wires.len()],
            ports,
            wires,
            ways: list,
            by_addresses,
            began: time::Instant::now(),
            mark: None,
            marked: false,
            bytes_in_flight: 0,
            segments: [0; 2],
            recorder: None,
            hops: 0,
            strays: 0,
            accidents: 0,
            lateness: LatenessRecord::new(),
            clock: Clock::new(),
            buffer: vec![0; LARGEST_PACKET],
        })
    }

    /// Offers packets of the kernel to the first wires of their ways.
    fn take(&mut self, port: usize) -> io::Result<()> {
        for _ in 0..PACKETS_PER_TURN {
            let Some(len) = self.ports[port].device.receive(&mut self.buffer)? else { break };
            let now = self.clock.now();
            let packet = &self.buffer[..len];
            let Some(&way) = addresses(packet).and_then(|both| self.by_addresses.get(&both)) else {
                self.strays += 1;
                continue;
            };
            // Twice the length, because a link may duplicate the packet.
            if self.bytes_in_flight + 2 * len > Emulator::MAX_BYTES_IN_FLIGHT {
                self.accidents += 1;
                continue;
            }
            let full = usize::from(self.ways[way as usize].0.full);
            if self.marked && payload(packet).is_some_and(|bytes| bytes > 0) {
                self.segments[0] += 1;
                self.segments[1] += u64::from(len >= full);
            }
            let since = now.since(self.clock.instant(self.began));
            let record = self.recorder.as_mut().and_then(|it| it.sent(packet, since));
            let packet = Packet { bytes: packet.into(), way, passed: 0, record };
            self.push(packet, now);
        }
        Ok(())
    }

    fn push(&mut self, packet: Packet, now: Instant) {
        let wire = self.ways[packet.way as usize].0.wires[packet.passed as usize];
        let (link, overhead) = &mut self.wires[wire as usize];
        let (len, before, record) = (packet.bytes.len(), link.in_flight(), packet.record);
        let verdict = link.push(packet, ByteCount(len as u64 + overhead.0), now);
        if let (Fate::Dropped(_), Some(recorder), Some(place)) =
            (verdict, &mut self.recorder, record)
        {
            recorder.dropped(place);
        }
        self.bytes_in_flight += (link.in_flight() - before) * len;
    }

    /// Moves what has come to the end of a wire, in the order of time: so no wire sees time go back.
    fn deliver(&mut self) {
        let now = self.clock.now();
        while let Some((due, wire)) = self.first_due().filter(|(due, _)| *due <= now) {
            self.mark_at(due);
            let Some(mut packet) = self.wires[wire].0.poll(due) else { break };
            self.bytes_in_flight -= packet.bytes.len();
            self.hops += 1;
            packet.passed += 1;
            let (way, port) = &self.ways[packet.way as usize];
            if (packet.passed as usize) < way.wires.len() {
                self.push(packet, due);
                continue;
            }
            let delivered = self.clock.now();
            self.lateness.record(delivered.since(due));
            if let (Some(recorder), Some(place)) = (&mut self.recorder, packet.record) {
                recorder.delivered(place, delivered.since(self.clock.instant(self.began)));
            }
            if self.ports[*port].device.send(&packet.bytes).is_err() {
                self.accidents += 1;
            }
        }
        self.mark_at(now);
    }

    /// Counts anew from the mark on.
    fn mark_at(&mut self, now: Instant) {
        if self.mark.take_if(|mark| *mark <= now).is_some() {
            self.before = self.wires.iter().map(|(link, _)| link.counters()).collect();
            self.wires.iter_mut().for_each(|(link, _)| link.forget_most_queued());
            self.marked = true;
        }
    }

    fn first_due(&self) -> Option<(Instant, usize)> {
        let due = |(wire, (link, _)): (usize, &(Link<Packet>, ByteCount))| {
            link.poll_timeout().map(|due| (due, wire))
        };
        self.wires.iter().enumerate().filter_map(due).min()
    }
}

impl Relay for NetworkRelay {
    type Report = NetworkReport;

    fn turn(&mut self) -> io::Result<()> {
        self.deliver();
        for port in 0..self.ports.len() {
            self.take(port)?;
        }
        self.deliver();
        Ok(())
    }

    fn poll_timeout(&self) -> Option<time::Instant> {
        let due = self.first_due().map(|(due, _)| due).into_iter().chain(self.mark).min();
        due.and_then(|due| self.clock.outside(due))
    }

    fn sources(&self) -> Vec<BorrowedFd<'_>> {
        self.ports.iter().map(|port| port.device.as_fd()).collect()
    }

    fn report(mut self, Course { scheduling, pauses, ran }: Course) -> NetworkReport {
        let unread = self.ports.iter_mut().filter_map(|port| port.unread.packets()).sum::<u64>();
        let wires = self.wires.iter().zip(&self.before).map(|((link, _), before)| WireReport {
            before: *before,
            after: link.counters(),
            most_queued: link.most_queued() as u64,
        });
        NetworkReport {
            wires: wires.collect(),
            segments: self.segments,
            recorded: self.recorder.map(Recorder::into_segments).unwrap_or_default(),
            hops: self.hops,
            strays: self.strays,
            dropped_by_accident: self.accidents + unread,
            lateness: self.lateness.summary(),
            scheduling,
            longest_pause: pauses.longest,
            pauses: pauses.long,
            ran,
        }
    }
}

/// Of a namespace, between its devices.
const FORWARDING: &str = "/proc/sys/net/ipv4/ip_forward";
/// Where hosts have their addresses: the first half of the benchmarking range (RFC 2544). Devices have
/// theirs at the end of the other half.
const HOSTS: (Ipv4Addr, u8) = (Ipv4Addr::new(198, 18, 0, 0), 16);
/// One packet in a hundred may be late by this part of the shortest round trip, if that is more than
/// [`Disturbance::LATE`] (our choice).
const LATE_SHARE: u32 = 50;
/// Pauses of the processors, added up, may take this part of a run (our choice: 2 %).
const PAUSED_SHARE: u32 = 50;
