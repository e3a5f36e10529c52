//! A capture file under construction: raw IP packets, one microsecond apart.

/// A pcap file of limited size.
pub(crate) struct File {
    bytes: Vec<u8>,
    most: usize,
    micros: u64,
    /// Microseconds from one packet to the next.
    pub(crate) step: u64,
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct End {
    pub(crate) host: u32,
    pub(crate) port: u16,
}

/// Both ends of a connection, and the next sequence number of each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Talk {
    pub(crate) ends: [End; 2],
    pub(crate) next: [u32; 2],
}

/// Who sends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum By {
    Client,
    Server,
}

pub(crate) const FIN: u8 = 1;
pub(crate) const SYN: u8 = 2;
pub(crate) const RST: u8 = 4;
pub(crate) const ACK: u8 = 16;

/// The most payload of an IPv4 packet without options.
pub(crate) const MOST_PAYLOAD: usize = 65_495;

impl File {
    pub(crate) fn new(most: usize) -> Self {
        let mut bytes = Vec::new();
        bytes.extend(0xa1b2_c3d4_u32.to_le_bytes());
        bytes.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend((1_u32 << 18).to_le_bytes());
        bytes.extend(RAW_IP.to_le_bytes());
        Self { bytes, most, micros: 1_700_000_000_000_000, step: 1 }
    }

    /// Whether this many more bytes fit.
    pub(crate) fn has_room(&self, bytes: usize) -> bool {
        self.bytes.len() + bytes + 4096 <= self.most
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The next packet comes this many microseconds later.
    pub(crate) const fn wait(&mut self, micros: u64) {
        self.micros += micros;
    }

    /// Adds a packet as it is.
    pub(crate) fn packet(&mut self, packet: &[u8]) {
        let length = u32::try_from(packet.len()).expect(FITS);
        self.bytes.extend(u32::try_from(self.micros / 1_000_000).expect(FITS).to_le_bytes());
        self.bytes.extend(u32::try_from(self.micros % 1_000_000).expect(FITS).to_le_bytes());
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(packet);
        self.micros += self.step;
    }

    /// Adds an IPv4 packet of this protocol.
    pub(crate) fn ip(&mut self, [from, to]: [u32; 2], protocol: u8, fragment: u16, payload: &[u8]) {
        self.packet(&ipv4([from, to], protocol, fragment, payload));
    }

    /// Adds a TCP segment; `options` is a multiple of four bytes.
    pub(crate) fn segment(
        &mut self,
        [from, to]: [End; 2],
        [seq, ack]: [u32; 2],
        flags: u8,
        options: &[u8],
        payload: &[u8],
    ) {
        let segment = tcp([from, to], [seq, ack], flags, options, payload);
        self.ip([from.host, to.host], 6, 0, &segment);
    }

    /// The handshake of a connection.
    pub(crate) fn open(&mut self, talk: &mut Talk) {
        let [client, server] = talk.ends;
        let [seq, answer] = talk.next;
        self.segment([client, server], [seq, 0], SYN, MSS, &[]);
        talk.next = [seq.wrapping_add(1), answer.wrapping_add(1)];
        self.segment([server, client], [answer, talk.next[0]], SYN | ACK, MSS, &[]);
        self.segment([client, server], talk.next, ACK, &[], &[]);
    }

    /// Sends `payload`, in as few segments as possible.
    pub(crate) fn say(&mut self, talk: &mut Talk, by: By, payload: &[u8]) {
        for part in payload.chunks(MOST_PAYLOAD) {
            self.send(talk, by, ACK, part);
        }
    }

    /// Sends one segment, which goes on where the last one ended.
    pub(crate) fn send(&mut self, talk: &mut Talk, by: By, flags: u8, payload: &[u8]) {
        let ([from, to], [seq, ack]) = talk.of(by);
        self.segment([from, to], [seq, ack], flags, &[], payload);
        let length = u32::try_from(payload.len()).expect(FITS) + u32::from(flags & FIN);
        let next = &mut talk.next[by as usize];
        *next = next.wrapping_add(length);
    }
}

impl Talk {
    /// The connection of this number: all have other ports.
    pub(crate) fn new(number: u32) -> Self {
        let port = u16::try_from(1024 + number % 60_000).expect(FITS);
        let host = (10 << 24) | (number / 60_000);
        let client = End { host: host + (1 << 16), port };
        Self { ends: [client, End { host: (10 << 24) | 1, port: 80 }], next: [1000, 5000] }
    }

    /// The ends and numbers of a segment.
    pub(crate) fn of(&self, by: By) -> ([End; 2], [u32; 2]) {
        let ([a, b], [c, d]) = (self.ends, self.next);
        match by {
            By::Client => ([a, b], [c, d]),
            By::Server => ([b, a], [d, c]),
        }
    }
}

/// An IPv4 packet that claims more bytes than it has, as one that was cut when it was captured.
pub(crate) fn cut([from, to]: [u32; 2], claimed: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = ipv4([from, to], 6, 0, payload);
    packet[2..4].copy_from_slice(&claimed.to_be_bytes());
    packet
}

/// An IPv4 packet.
pub(crate) fn ipv4([from, to]: [u32; 2], protocol: u8, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(20 + payload.len()).expect(FITS);
    let mut packet = vec![0x45, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([0, 0]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0]);
    packet.extend(from.to_be_bytes());
    packet.extend(to.to_be_bytes());
    packet.extend(payload);
    packet
}

/// A TCP segment.
pub(crate) fn tcp(
    [from, to]: [End; 2],
    [seq, ack]: [u32; 2],
    flags: u8,
    options: &[u8],
    payload: &[u8],
) -> Vec<u8> {
    let mut segment = Vec::with_capacity(20 + options.len() + payload.len());
    segment.extend(from.port.to_be_bytes());
    segment.extend(to.port.to_be_bytes());
    segment.extend(seq.to_be_bytes());
    segment.extend(ack.to_be_bytes());
    let words = u8::try_from((20 + options.len()) / 4).expect(FITS);
    segment.extend([words << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
    segment.extend(options);
    segment.extend(payload);
    segment
}

/// Maximum segment size 1460, and window scale 14.
const MSS: &[u8] = &[2, 4, 5, 180, 1, 3, 3, 14];

const RAW_IP: u32 = 101;

const FITS: &str = "numbers here are small";
