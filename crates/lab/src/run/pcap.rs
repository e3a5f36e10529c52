//! A capture of a simulated run, as tcpdump would take it at one of the hosts.

mod addresses;

use std::{
    io::{self, Write},
    net::SocketAddr,
};

use ackwise_capture::{PcapError, PcapWriter, SegmentError, SegmentWriter, StreamContents};
use ackwise_sim::{
    Observer,
    observe::{ConnectionId, Message, Side, Sighting},
    scenario::NodeId,
};
use ackwise_tcp::Instant;

use self::addresses::{Addresses, Subnet, addresses};
use super::open_connections::OpenConnections;

/// Writes what one host sends and receives, as frames with their times; HTTP heads stand where the
/// applications wrote them, bodies are zeros.
///
/// The first error ends the run early; [`Capture::finish`] tells it.
#[derive(Debug)]
pub struct Capture<W> {
    file: SegmentWriter<W>,
    vantage: NodeId,
    open_connections: OpenConnections<Streams>,
    addresses: Addresses,
    failure: Option<CaptureError>,
}

/// What the client and the server say; and since the SYN, who the client is and where it says it.
#[derive(Debug, Default)]
struct Streams {
    contents: [StreamContents; 2],
    client: Option<(NodeId, Subnet)>,
}

impl<W: Write> Capture<W> {
    /// Watches the host `vantage`; of each frame, `snap_length` bytes at most go to `output`.
    ///
    /// # Errors
    ///
    /// If `output` takes nothing.
    pub fn new(output: W, snap_length: u32, vantage: NodeId) -> Result<Self, CaptureError> {
        let file = SegmentWriter::new(PcapWriter::new(output, snap_length)?);
        let (open_connections, addresses) = (OpenConnections::default(), Addresses::default());
        Ok(Self { file, vantage, open_connections, addresses, failure: None })
    }

    /// Flushes, and says how many frames there are.
    ///
    /// # Errors
    ///
    /// What ended the capture before its time, or that the output cannot be flushed.
    pub fn finish(self) -> Result<u64, CaptureError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let file = self.file.into_file();
        let frames = file.frames();
        file.finish()?;
        Ok(frames)
    }

    /// The addresses of the client and of the server that a segment goes between; `None` before the
    /// connection's SYN, or if there are more hosts than addresses.
    #[must_use]
    pub fn ends(&mut self, sighting: &Sighting<'_>) -> Option<[SocketAddr; 2]> {
        let Sighting { connection, from, hosts, .. } = *sighting;
        let (_, subnet) = self.open_connections.find(connection).notes.client?;
        addresses(connection, client_first(from, hosts), subnet)
    }

    fn write(&mut self, sighting: &Sighting<'_>, now: Instant) {
        if self.failure.is_none() {
            self.failure = self.try_write(sighting, now).err();
        }
    }

    fn try_write(&mut self, sighting: &Sighting<'_>, now: Instant) -> Result<(), CaptureError> {
        let Sighting { connection, from, hosts, transmit, .. } = *sighting;
        let streams = &self.open_connections.find(connection).notes;
        let subnet = streams.client.map_or_else(Subnet::default, |(_, subnet)| subnet);
        let ends = addresses(connection, client_first(from, hosts), subnet);
        let [client, server] = ends.ok_or(CaptureError::TooManyHosts)?;
        let way = match from {
            Side::Client => [client, server],
            Side::Server => [server, client],
        };
        Ok(self.file.write(way, transmit, &streams.contents[from as usize], now)?)
    }
}

impl<W: Write> Observer for Capture<W> {
    fn on_sent(&mut self, sighting: &Sighting<'_>, now: Instant) {
        let Sighting { connection, from, hosts, .. } = *sighting;
        let [client, _] = client_first(from, hosts);
        let streams = &mut self.open_connections.on_sent(sighting).notes;
        streams.client.get_or_insert_with(|| (client, self.addresses.take(connection, client)));
        if hosts[0] == self.vantage {
            self.write(sighting, now);
        }
    }

    fn on_received(&mut self, sighting: &Sighting<'_>, now: Instant) {
        if sighting.hosts[1] == self.vantage {
            self.write(sighting, now);
        }
        let connection = self.open_connections.find(sighting.connection);
        if let Some(acknowledged) = connection.acknowledged(sighting) {
            let receiver = sighting.from.other() as usize;
            connection.notes.contents[receiver].acknowledge(acknowledged);
        }
    }

    fn on_over(&mut self, connection: ConnectionId, _now: Instant) {
        let over = self.open_connections.on_over(connection);
        if let Some((client, subnet)) = over.and_then(|connection| connection.notes.client) {
            self.addresses.release(connection, client, subnet);
        }
    }

    fn on_message(&mut self, message: &Message, _now: Instant) {
        let Message { connection, from, offset, head, body, file } = *message;
        let contents = &mut self.open_connections.find(connection).notes.contents[from as usize];
        match from {
            Side::Client => contents.insert_request(offset, u64::from(head) + body, file),
            Side::Server => contents.insert_response(offset, head, body),
        }
    }

    fn goes_on(&mut self, _now: Instant) -> bool {
        self.failure.is_none()
    }
}

const fn client_first(from: Side, [source, destination]: [NodeId; 2]) -> [NodeId; 2] {
    match from {
        Side::Client => [source, destination],
        Side::Server => [destination, source],
    }
}

/// Why a capture ends before its run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file does not take the segment.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The file cannot be begun or ended.
    #[error(transparent)]
    File(#[from] PcapError),
    /// There is no pipe for the packets.
    #[error("cannot create a pipe: {0}")]
    Pipe(#[source] io::Error),
    /// The scenario is too large for a capture.
    #[error("cannot capture the run: too many hosts (expected at most 65,534)")]
    TooManyHosts,
}
