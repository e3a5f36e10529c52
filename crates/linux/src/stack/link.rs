//! The device with its buffers: sends segments and receives packets.

use std::{io, net::IpAddr};

use ackwise_tcp::{
    Segment,
    wire::{self, WriteError},
};

use super::{Counters, Tuple};
use crate::TunDevice;

/// The device with its buffers.
pub(super) struct Link {
    pub(super) device: TunDevice,
    pub(super) counters: Counters,
    packet: Vec<u8>,
}

impl Link {
    pub(super) fn new(device: TunDevice) -> Self {
        let packet = Vec::with_capacity(usize::from(device.mtu()));
        Self { device, counters: Counters::default(), packet }
    }

    /// Sends a segment. One that the kernel does not accept is lost, as on any link.
    pub(super) fn send(
        &mut self,
        tuple: &Tuple,
        segment: &Segment,
        payload: &[u8],
    ) -> Result<(), WriteError> {
        wire::write(&mut self.packet, tuple.ours, tuple.peer, segment, payload)?;
        match self.device.send(&self.packet) {
            Ok(()) => self.counters.packets_out += 1,
            Err(_) => self.counters.send_failures += 1,
        }
        Ok(())
    }

    /// Sends a packet that was turned into its own response.
    pub(super) fn return_packet(&mut self, packet: &[u8]) {
        match self.device.send(packet) {
            Ok(()) => self.counters.packets_out += 1,
            Err(_) => self.counters.send_failures += 1,
        }
    }

    /// The next packet, if there is one.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let len = self.device.receive(buffer)?;
        self.counters.packets_in += u64::from(len.is_some());
        Ok(len)
    }

    pub(super) fn is_for_us(&self, packet: &[u8]) -> bool {
        destination(packet).is_some_and(|address| self.device.is_ours(address))
    }
}

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
