//! Segments of endpoints that keep no bytes, into a capture file.

use std::{fmt, io::Write, net::SocketAddr};

use ackwise_tcp::{Instant, Transmit, wire};

use crate::{
    StreamContents, frame,
    pcap::{PcapError, PcapWriter},
};

/// Writes what one vantage point sees of TCP connections. Its memory is three packets.
pub struct SegmentWriter<W> {
    file: PcapWriter<W>,
    packet: Vec<u8>,
    payload: Vec<u8>,
}

impl<W: Write> SegmentWriter<W> {
    /// Writes into `file`.
    pub const fn new(file: PcapWriter<W>) -> Self {
        Self { file, packet: Vec::new(), payload: Vec::new() }
    }

    /// Adds a segment on its way from the first address to the second; its data is what `contents`,
    /// the sender's stream, says about its place there.
    ///
    /// # Errors
    ///
    /// See [`SegmentError`].
    pub fn write(
        &mut self,
        [source, destination]: [SocketAddr; 2],
        transmit: &Transmit,
        contents: &StreamContents,
        at: Instant,
    ) -> Result<(), SegmentError> {
        let Transmit { segment, offset, .. } = transmit;
        let bytes = segment.len as usize;
        if bytes > MAX_DATA {
            // Before room is made for it.
            let source = wire::WriteError::TooLong { bytes };
            return Err(SegmentError::Packet { source, at });
        }
        self.payload.resize(bytes, 0);
        contents.fill(*offset, &mut self.payload);
        let link = frame::write(&mut self.packet, source, destination, segment, &self.payload)
            .map_err(|source| SegmentError::Packet { source, at })?;
        Ok(self.file.write(&link, &self.packet, at)?)
    }

    /// The file, for its counts and for its end.
    #[must_use]
    pub fn into_file(self) -> PcapWriter<W> {
        self.file
    }
}

impl<W> fmt::Debug for SegmentWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SegmentWriter").field("file", &self.file).finish_non_exhaustive()
    }
}

/// Why a segment is not in the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// The file does not take it.
    #[error(transparent)]
    File(#[from] PcapError),
    /// The caller's segment does not make a packet.
    #[error("no packet can hold the segment at {at} s: {source}")]
    Packet {
        /// What is wrong with it.
        source: wire::WriteError,
        /// When it was seen.
        at: Instant,
    },
}

/// No IP packet holds more data than an IP header can say bytes.
const MAX_DATA: usize = u16::MAX as usize;

#[cfg(test)]
mod tests {
    use ackwise_tcp::{Flags, Segment, SeqNumber};

    use super::*;
    use crate::{frame::ETHERNET_HEADER, pcap::WHOLE_FRAMES, testing::frames};

    fn transmit(offset: u64, len: u32) -> Transmit {
        let seq = SeqNumber(1_001) + u32::try_from(offset).unwrap();
        let segment = Segment {
            seq,
            ack: Some(SeqNumber(5)),
            flags: Flags::PSH,
            window: 100,
            len,
            ..Segment::default()
        };
        Transmit { segment, offset, retransmission: false, ack_reason: None }
    }

    #[test]
    fn data_stands_where_the_stream_has_it() {
        let mut contents = StreamContents::default();
        contents.insert(4, b"HTTP");
        let addresses = ["10.0.0.1:80".parse().unwrap(), "10.0.0.2:49152".parse().unwrap()];
        let file = PcapWriter::new(Vec::new(), WHOLE_FRAMES).unwrap();
        let mut writer = SegmentWriter::new(file);
        for (offset, len) in [(6, 4), (0, 6), (0, 12)] {
            writer.write(addresses, &transmit(offset, len), &contents, Instant::EPOCH).unwrap();
        }
        let file = writer.into_file().finish().unwrap();
        let payloads: Vec<_> = frames(&file)
            .iter()
            .map(|frame| {
                let packet = wire::parse(&frame.bytes[ETHERNET_HEADER..]).unwrap();
                assert_eq!(packet.source, addresses[0]);
                packet.payload.to_vec()
            })
            .collect();
        assert_eq!(payloads, [&b"TP\0\0"[..], b"\0\0\0\0HT", b"\0\0\0\0HTTP\0\0\0\0"]);
    }

    #[test]
    fn a_segment_that_no_packet_holds_is_refused_before_room_is_made() {
        let file = PcapWriter::new(Vec::new(), WHOLE_FRAMES).unwrap();
        let mut writer = SegmentWriter::new(file);
        let addresses = ["10.0.0.1:80".parse().unwrap(), "10.0.0.2:49152".parse().unwrap()];
        for len in [65_500, 65_536, u32::MAX] {
            let refused = writer.write(
                addresses,
                &transmit(0, len),
                &StreamContents::default(),
                Instant::EPOCH,
            );
            assert!(matches!(refused, Err(SegmentError::Packet { .. })), "{len}: {refused:?}");
        }
        assert!(writer.payload.capacity() <= MAX_DATA);
        assert_eq!(writer.into_file().frames(), 0);
    }
}
