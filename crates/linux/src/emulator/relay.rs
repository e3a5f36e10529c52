//! One link between two devices.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
    time,
};

use super::{
    EmulatorOptions, Report,
    forwarder::Forwarder,
    holds::Holds,
    log::Log,
    processor_watch::Pauses,
    relay_thread::{Course, LARGEST_PACKET, PACKETS_PER_TURN, Relay},
    report::LatenessRecord,
    setup::{End, Ends},
    unread::Unread,
};
use crate::{TunDevice, clock::Clock};

/// Moves packets between both devices, which it owns.
pub(super) struct LinkRelay {
    /// By the client's end and the server's.
    devices: [Arc<TunDevice>; 2],
    to_server: Forwarder,
    to_client: Forwarder,
    /// The kernel's drops of incoming packets, in the same order.
    unread: [Unread; 2],
    lateness: LatenessRecord,
    clock: Clock,
    buffer: Vec<u8>,
}

impl LinkRelay {
    pub(super) fn new(ends: Ends, options: &EmulatorOptions) -> Self {
        let Ends { client: End { device: client, unread: from_client }, server } = ends;
        let End { device: server, unread: from_server } = server;
        let (client, server) = (Arc::new(client), Arc::new(server));
        let [to_server, to_client] = options.seeded_links();
        let clock = Clock::new();
        let start = clock.now();
        let holds = |to_server| Holds::new(&options.holds, to_server, start);
        let log = |to_server| options.log.then(|| Log::new(to_server));
        let (input, output) = (Arc::clone(&client), Arc::clone(&server));
        Self {
            devices: [Arc::clone(&client), Arc::clone(&server)],
            to_server: Forwarder::new(input, output, to_server, holds(true), log(true)),
            to_client: Forwarder::new(server, client, to_client, holds(false), log(false)),
            unread: [from_client, from_server],
            lateness: LatenessRecord::new(),
            clock,
            buffer: vec![0; LARGEST_PACKET],
        }
    }

    fn deliver(&mut self) {
        let now = self.clock.now();
        for forwarder in [&mut self.to_server, &mut self.to_client] {
            forwarder.deliver(&mut self.lateness, self.clock, now);
        }
    }
}

impl Relay for LinkRelay {
    type Report = Report;

    /// Delivers due packets first, because taking packets delays them.
    fn turn(&mut self) -> io::Result<()> {
        self.deliver();
        for forwarder in [&mut self.to_server, &mut self.to_client] {
            forwarder.take(PACKETS_PER_TURN, &mut self.buffer, self.clock)?;
        }
        self.deliver();
        Ok(())
    }

    fn poll_timeout(&self) -> Option<time::Instant> {
        let deadlines = [self.to_server.poll_timeout(), self.to_client.poll_timeout()];
        deadlines.into_iter().flatten().min().and_then(|due| self.clock.outside(due))
    }

    fn sources(&self) -> Vec<BorrowedFd<'_>> {
        self.devices.iter().map(|device| device.as_fd()).collect()
    }

    fn report(mut self, course: Course) -> Report {
        let [from_client, from_server] = &mut self.unread;
        let mut to_server = self.to_server.report();
        to_server.unread = from_client.packets().unwrap_or(0);
        let mut to_client = self.to_client.report();
        to_client.unread = from_server.packets().unwrap_or(0);
        let lateness = self.lateness.summary();
        let mut packets = self.to_server.into_log(self.clock);
        packets.append(&mut self.to_client.into_log(self.clock));
        let Course { scheduling, pauses, ran } = course;
        let Pauses { longest: longest_pause, long: pauses } = pauses;
        Report { to_server, to_client, lateness, scheduling, longest_pause, pauses, ran, packets }
    }
}
