//! What became of each segment in a network, for whoever looks at more than counts.

use std::{net::SocketAddrV4, time::Duration};

use super::headers::{addresses, payload};

/// A TCP segment, as its host sent it, and what became of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SegmentRecord {
    /// Since the network began.
    pub at: Duration,
    /// Its sender.
    pub from: SocketAddrV4,
    /// Its receiver.
    pub to: SocketAddrV4,
    /// Whether it opens its direction.
    pub syn: bool,
    /// Sequence number of its first byte.
    pub seq: u32,
    /// Acknowledgment number; 0 if it acknowledges nothing.
    pub ack: u32,
    /// Bytes of data.
    pub data: u32,
    /// Length of its packet.
    pub packet: u16,
    /// When its receiver got it, the first time if it was duplicated. `None` if a link dropped it, or if it was
    /// on its way when the network ended.
    pub delivered: Option<Duration>,
    /// Whether a link dropped it.
    pub dropped: bool,
}

impl SegmentRecord {
    /// Further segments are not recorded (our choice: 20 MB).
    pub const MOST: usize = 1 << 18;
    /// Room that no packet has to wait for (our choice).
    const RESERVED: usize = 1 << 14;

    /// Reads a packet's headers; `None` if it is not TCP.
    fn read(packet: &[u8], at: Duration) -> Option<Self> {
        let data = u32::try_from(payload(packet)?).ok()?;
        let tcp = packet.get(usize::from(packet.first()? & 15) * 4..)?;
        let port = |at: usize| Some(u16::from_be_bytes(tcp.get(at..at + 2)?.try_into().ok()?));
        let number = |at: usize| Some(u32::from_be_bytes(tcp.get(at..at + 4)?.try_into().ok()?));
        let [source, destination] = addresses(packet)?;
        let flags = *tcp.get(13)?;
        Some(Self {
            at,
            from: SocketAddrV4::new(source, port(0)?),
            to: SocketAddrV4::new(destination, port(2)?),
            syn: flags & SYN != 0,
            seq: number(4)?,
            ack: number(8).filter(|_| flags & ACK != 0).unwrap_or(0),
            data,
            packet: u16::try_from(packet.len()).ok()?,
            delivered: None,
            dropped: false,
        })
    }
}

/// Records segments in the order in which they are sent.
#[derive(Debug)]
pub(super) struct Recorder {
    segments: Vec<SegmentRecord>,
}

impl Recorder {
    pub(super) fn new() -> Self {
        Self { segments: Vec::with_capacity(SegmentRecord::RESERVED) }
    }

    /// A host has sent a packet. Returns its place if it is recorded.
    pub(super) fn sent(&mut self, packet: &[u8], at: Duration) -> Option<usize> {
        if self.segments.len() == SegmentRecord::MOST {
            return None;
        }
        self.segments.push(SegmentRecord::read(packet, at)?);
        Some(self.segments.len() - 1)
    }

    pub(super) fn delivered(&mut self, place: usize, at: Duration) {
        self.segments[place].delivered.get_or_insert(at);
    }

    pub(super) fn dropped(&mut self, place: usize) {
        self.segments[place].dropped = true;
    }

    pub(super) fn into_segments(self) -> Vec<SegmentRecord> {
        self.segments
    }
}

/// Flags of RFC 9293, section 3.1.
const SYN: u8 = 2;
const ACK: u8 = 16;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn packet() -> Vec<u8> {
        let mut packet = vec![0_u8; 52];
        packet[0] = 0x45;
        packet[9] = 6;
        packet[12..16].copy_from_slice(&[198, 18, 0, 1]);
        packet[16..20].copy_from_slice(&[198, 18, 0, 2]);
        packet[20..28].copy_from_slice(&[0x1f, 0x90, 0, 7, 0, 0, 1, 0]);
        packet[28..32].copy_from_slice(&[0, 0, 2, 0]);
        packet[32] = 7 << 4;
        packet
    }

    #[test]
    fn a_record_has_what_the_headers_say() {
        let mut packet = packet();
        let hosts = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 18, 0, 2)];
        let record = SegmentRecord::read(&packet, Duration::from_millis(3)).unwrap();
        assert_eq!(record.from, SocketAddrV4::new(hosts[0], 8080));
        assert_eq!(record.to, SocketAddrV4::new(hosts[1], 7));
        assert_eq!((record.seq, record.data, record.packet), (256, 4, 52));
        assert_eq!((record.ack, record.syn), (0, false), "the number counts with the flag only");
        packet[33] = SYN | ACK;
        let record = SegmentRecord::read(&packet[..48], Duration::ZERO).unwrap();
        assert_eq!((record.ack, record.syn, record.data), (512, true, 0));
        assert_eq!(SegmentRecord::read(&packet[..33], Duration::ZERO), None, "cut off");
        packet[9] = 17;
        assert_eq!(SegmentRecord::read(&packet, Duration::ZERO), None, "UDP");
    }

    #[test]
    fn a_segment_is_delivered_once_or_dropped() {
        let mut recorder = Recorder::new();
        let at = Duration::from_millis;
        let first = recorder.sent(&packet(), at(1)).unwrap();
        assert_eq!(recorder.sent(&[0x45; 12], at(2)), None);
        let second = recorder.sent(&packet(), at(3)).unwrap();
        recorder.delivered(first, at(21));
        recorder.delivered(first, at(22));
        recorder.dropped(second);
        let fates = recorder.into_segments();
        let fates: Vec<_> = fates.iter().map(|it| (it.at, it.delivered, it.dropped)).collect();
        assert_eq!(fates, [(at(1), Some(at(21)), false), (at(3), None, true)]);
    }
}
