//! One direction: forwards packets from one device to the other at the times given by the link.

use std::{io, sync::Arc};

use ackwise_link::{Link, LinkConfig};
use ackwise_tcp::{ByteCount, Instant};

use super::{
    DirectionReport, Emulator, PacketRecord, holds::Holds, log::Log, report::LatenessRecord,
};
use crate::{TunDevice, clock::Clock};

pub(super) struct Forwarder {
    input: Arc<TunDevice>,
    output: Arc<TunDevice>,
    link: Link<Packet>,
    holds: Holds,
    log: Option<Log>,
    bytes_in_flight: usize,
    /// Counts that the link does not keep.
    report: DirectionReport,
}

#[derive(Clone)]
struct Packet {
    bytes: Box<[u8]>,
    /// Its place in the log.
    number: usize,
}

impl Forwarder {
    pub(super) fn new(
        input: Arc<TunDevice>,
        output: Arc<TunDevice>,
        config: LinkConfig,
        holds: Holds,
        log: Option<Log>,
    ) -> Self {
        let (link, report) = (Link::new(config), DirectionReport::default());
        Self { input, output, link, holds, log, bytes_in_flight: 0, report }
    }

    /// Arrival of the next packet.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.link.poll_timeout().map(|due| self.holds.released(due))
    }

    /// Offers at most `packets` packets from the kernel to the link.
    pub(super) fn take(
        &mut self,
        packets: usize,
        buffer: &mut [u8],
        clock: Clock,
    ) -> io::Result<()> {
        for _ in 0..packets {
            let Some(len) = self.input.receive(buffer)? else { break };
            self.offer(&buffer[..len], clock.now());
        }
        Ok(())
    }

    /// Passes packets that have arrived by `now` to the kernel.
    pub(super) fn deliver(&mut self, lateness: &mut LatenessRecord, clock: Clock, now: Instant) {
        while let Some(due) = self.poll_timeout().filter(|due| *due <= now) {
            let Some(Packet { bytes, number }) = self.link.poll(now) else { break };
            self.bytes_in_flight -= bytes.len();
            let delivered = clock.now();
            lateness.record(delivered.since(due));
            if let Some(log) = &mut self.log {
                log.delivered(number, delivered, delivered.since(due));
            }
            match self.output.send(&bytes) {
                Ok(()) => {
                    self.report.delivered += 1;
                    self.report.bytes_delivered += bytes.len() as u64;
                }
                Err(_) => self.report.refused += 1,
            }
        }
    }

    /// The report, without the kernel's own counts.
    pub(super) fn report(&self) -> DirectionReport {
        DirectionReport {
            link: self.link.counters(),
            in_flight: self.link.in_flight() as u64,
            ..self.report
        }
    }

    /// The log, if one was asked for.
    pub(super) fn into_log(self, clock: Clock) -> Vec<PacketRecord> {
        self.log.map_or_else(Vec::new, |log| log.into_records(clock))
    }

    fn offer(&mut self, packet: &[u8], now: Instant) {
        if packet.first().is_none_or(|byte| byte >> 4 != 4) {
            self.report.not_ipv4 += 1;
            return;
        }
        // Twice the length, because the link may duplicate the packet.
        if self.bytes_in_flight + 2 * packet.len() > Emulator::MAX_BYTES_IN_FLIGHT {
            self.report.dropped_memory_full += 1;
            return;
        }
        let before = self.link.in_flight();
        let number = self.log.as_ref().map_or(0, Log::len);
        let begins = self.link.busy_until().max(now);
        let copy = Packet { bytes: packet.into(), number };
        let verdict = self.link.push(copy, ByteCount(packet.len() as u64), now);
        if let Some(log) = &mut self.log {
            log.offered(packet, verdict, (now, begins, self.link.busy_until()));
        }
        self.bytes_in_flight += (self.link.in_flight() - before) * packet.len();
    }
}
