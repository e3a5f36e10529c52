//! The device with its buffers: sends segments and receives packets.

use std::{io, net::IpAddr, time};

use ackwise_tcp::{
    Segment,
    wire::{self, WriteError},
};

use super::{Counters, Tuple, path::Path};
use crate::TunDevice;

/// The device with its buffers.
pub(super) struct Link {
    pub(super) device: TunDevice,
    pub(super) counters: Counters,
    /// What lies between the device and this host.
    pub(super) path: Option<Path>,
    packet: Vec<u8>,
}

impl Link {
    pub(super) fn new(device: TunDevice) -> Self {
        let packet = Vec::with_capacity(usize::from(device.mtu()));
        Self { device, counters: Counters::default(), path: None, packet }
    }

    /// Sends a segment. One that the kernel does not accept is lost, as on any link.
    pub(super) fn send(
        &mut self,
        tuple: &Tuple,
        segment: &Segment,
        payload: &[u8],
    ) -> Result<(), WriteError> {
        wire::write(&mut self.packet, tuple.ours, tuple.peer, segment, payload)?;
        match &mut self.path {
            Some(path) => path.depart(&self.packet),
            None => hand_out(&self.device, &self.packet, &mut self.counters),
        }
        self.forward();
        Ok(())
    }

    /// Hands packets to the peers that have passed the path.
    fn forward(&mut self) {
        while let Some(packet) = self.path.as_mut().and_then(Path::poll_to_peer) {
            hand_out(&self.device, &packet, &mut self.counters);
        }
    }

    /// When the path has something to deliver.
    pub(super) fn due(&self) -> Option<time::Instant> {
        self.path.as_ref().and_then(Path::due)
    }

    /// Sends a packet that was turned into its own response.
    pub(super) fn return_packet(&mut self, packet: &[u8]) {
        hand_out(&self.device, packet, &mut self.counters);
    }

    /// The next packet, if there is one.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(path) = &mut self.path else {
            let len = self.device.receive(buffer)?;
            self.counters.packets_in += u64::from(len.is_some());
            return Ok(len);
        };
        for _ in 0..APPROACHING {
            let Some(len) = self.device.receive(buffer)? else { break };
            self.counters.packets_in += 1;
            path.approach(&buffer[..len]);
        }
        let arrived = path.poll_from_peer();
        self.forward();
        Ok(arrived.map(|packet| {
            let len = packet.len().min(buffer.len());
            buffer[..len].copy_from_slice(&packet[..len]);
            len
        }))
    }

    pub(super) fn is_for_us(&self, packet: &[u8]) -> bool {
        destination(packet).is_some_and(|address| self.device.is_ours(address))
    }
}

/// A packet that the kernel does not accept is lost, as on any link.
fn hand_out(device: &TunDevice, packet: &[u8], counters: &mut Counters) {
    match device.send(packet) {
        Ok(()) => counters.packets_out += 1,
        Err(_) => counters.send_failures += 1,
    }
}

/// Packets that enter the path for each one that leaves it: what waits at the device has not begun its way. Our
/// choice.
const APPROACHING: usize = 64;

/// Destination address of a packet, if it can be read.
fn destination(packet: &[u8]) -> Option<IpAddr> {
    match packet.first()? >> 4 {
        4 => packet.get(16..20).and_then(|field| <[u8; 4]>::try_from(field).ok()).map(IpAddr::from),
        6 => {
            packet.get(24..40).and_then(|field| <[u8; 16]>::try_from(field).ok()).map(IpAddr::from)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_is_read_or_is_none() {
        let (client, server) = ("[fd00::1]:1".parse().unwrap(), "[fd00::2]:2".parse().unwrap());
        let mut packet = Vec::new();
        wire::write(&mut packet, client, server, &Segment::default(), &[]).unwrap();
        assert_eq!(destination(&packet), Some(server.ip()));
        let (client, server) = ("10.0.0.1:1".parse().unwrap(), "10.0.0.2:2".parse().unwrap());
        wire::write(&mut packet, client, server, &Segment::default(), &[]).unwrap();
        assert_eq!(destination(&packet), Some(server.ip()));
        assert_eq!(destination(&packet[..19]), None);
        assert_eq!(destination(&[]), None);
    }
}
