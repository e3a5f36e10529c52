//! The relay thread: sleeps, takes packets, delivers packets.

use std::{
    io,
    os::fd::AsFd,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{self, Duration},
};

use nix::sys::eventfd::{EfdFlags, EventFd};

use super::{
    EmulatorOptions, ProcessorWatch, Report, Scheduling,
    forwarder::Forwarder,
    holds::Holds,
    log::Log,
    processor_watch::Pauses,
    report::LatenessRecord,
    setup::{End, Ends},
    unread::Unread,
};
use crate::{clock::Clock, wake::Wake};

/// Signals the relay to stop.
#[derive(Debug)]
pub(super) struct Stop {
    asked: AtomicBool,
    /// Wakes the thread. It is never read, so it stays readable once signalled.
    pub(super) bell: EventFd,
}

impl Stop {
    pub(super) fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self { asked: AtomicBool::new(false), bell: EventFd::from_flags(flags)? })
    }

    pub(super) fn ask(&self) {
        self.asked.store(true, Ordering::Release);
        // Fails only after 2^64 writes, when it is readable anyway.
        let _ = self.bell.write(1);
    }

    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }
}

/// Starts the thread, which owns both devices.
pub(super) fn spawn(
    ends: Ends,
    options: &EmulatorOptions,
    stop: Arc<Stop>,
) -> io::Result<JoinHandle<io::Result<Report>>> {
    let relay = Relay::new(ends, options, stop)?;
    thread::Builder::new().name("link".to_owned()).spawn(move || relay.run())
}

struct Relay {
    to_server: Forwarder,
    to_client: Forwarder,
    /// The kernel's drops of incoming packets, in the same order.
    unread: [Unread; 2],
    lateness: LatenessRecord,
    clock: Clock,
    wake: Wake,
    stop: Arc<Stop>,
    buffer: Vec<u8>,
}

impl Relay {
    fn new(ends: Ends, options: &EmulatorOptions, stop: Arc<Stop>) -> io::Result<Self> {
        let Ends { client: End { device: client, unread: from_client }, server } = ends;
        let End { device: server, unread: from_server } = server;
        let wake = Wake::new(&[client.as_fd(), server.as_fd(), stop.bell.as_fd()])?;
        let (client, server) = (Arc::new(client), Arc::new(server));
        let [to_server, to_client] = options.seeded_links();
        let clock = Clock::new();
        let holds = Holds::new(&options.holds, clock);
        let log = |to_server| options.log.then(|| Log::new(to_server));
        let (input, output) = (Arc::clone(&client), Arc::clone(&server));
        Ok(Self {
            to_server: Forwarder::new(input, output, to_server, holds.clone(), log(true)),
            to_client: Forwarder::new(server, client, to_client, holds, log(false)),
            unread: [from_client, from_server],
            lateness: LatenessRecord::new(),
            clock,
            wake,
            stop,
            buffer: vec![0; LARGEST_PACKET],
        })
    }

    fn run(mut self) -> io::Result<Report> {
        let scheduling = Scheduling::prefer_round_robin();
        let watch = ProcessorWatch::start()?;
        let began = time::Instant::now();
        while !self.stop.is_asked() {
            self.turn()?;
            self.wake.sleep(self.next_turn())?;
        }
        let ran = began.elapsed();
        Ok(self.report(scheduling, watch.stop_and_list(), ran))
    }

    /// Delivers due packets first, because taking packets delays them.
    fn turn(&mut self) -> io::Result<()> {
        self.deliver();
        for forwarder in [&mut self.to_server, &mut self.to_client] {
            forwarder.take(PACKETS_PER_TURN, &mut self.buffer, self.clock)?;
        }
        self.deliver();
        Ok(())
    }

    fn deliver(&mut self) {
        let now = self.clock.now();
        for forwarder in [&mut self.to_server, &mut self.to_client] {
            forwarder.deliver(&mut self.lateness, self.clock, now);
        }
    }

    fn next_turn(&self) -> time::Instant {
        let deadlines = [self.to_server.poll_timeout(), self.to_client.poll_timeout()];
        let due = deadlines.into_iter().flatten().min().and_then(|due| self.clock.outside(due));
        due.unwrap_or_else(|| time::Instant::now() + IDLE)
    }

    fn report(mut self, scheduling: Scheduling, pauses: Pauses, ran: Duration) -> Report {
        let [from_client, from_server] = &mut self.unread;
        let mut to_server = self.to_server.report();
        to_server.unread = from_client.packets().unwrap_or(0);
        let mut to_client = self.to_client.report();
        to_client.unread = from_server.packets().unwrap_or(0);
        let lateness = self.lateness.summary();
        let mut packets = self.to_server.into_log(self.clock);
        packets.append(&mut self.to_client.into_log(self.clock));
        let Pauses { longest: longest_pause, long: pauses } = pauses;
        Report { to_server, to_client, lateness, scheduling, longest_pause, pauses, ran, packets }
    }
}

/// Packets taken from one device between reads of the clock (our choice): each may delay due
/// packets by about 3 us.
const PACKETS_PER_TURN: usize = 16;
/// IPv4's limit, whatever the device's current MTU: packets are never truncated.
const LARGEST_PACKET: usize = 65_535;
/// Sleep when nothing is in flight (our choice); packets and the stop signal wake earlier.
const IDLE: Duration = Duration::from_secs(1);
